/* The bulk copy engine and its barriers, as kernels/bulk.h uses them on the simulator. */
#ifndef GPUMEM_SIM_BULK_H
#define GPUMEM_SIM_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/lane.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where no line is handed over, it is that of the call. */
#ifdef __cplusplus
#define GM_FILE_HERE const char *file = __builtin_FILE()
#define GM_LINE_HERE int line = __builtin_LINE()
#else
#define GM_FILE_HERE const char *file
#define GM_LINE_HERE int line
#endif

GM_HIDDEN void gm_sim_mbarrier_init(uint64_t *barrier, GM_FILE_HERE, GM_LINE_HERE);
GM_HIDDEN void gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, GM_FILE_HERE,
                                      GM_LINE_HERE);
/* So many bytes have come. */
GM_HIDDEN void gm_sim_mbarrier_complete(uint64_t *barrier, uint32_t bytes, const char *file,
                                        int line);
GM_HIDDEN void gm_sim_mbarrier_wait(uint64_t *barrier, uint32_t parity, const char *file, int line);
/* So many bytes of an engine's copy have come. */
GM_HIDDEN void gm_sim_mbarrier_complete(uint64_t *barrier, uint32_t bytes, const char *file,
                                        int line);
/* Is the phase of this parity complete? */
GM_HIDDEN bool gm_sim_mbarrier_passed(const uint64_t *barrier, uint32_t parity);
GM_HIDDEN void gm_sim_bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                                const char *file, int line);
GM_HIDDEN void gm_sim_bulk_store(void *global, const void *shared, uint32_t bytes, const char *file,
                                 int line);
GM_HIDDEN void gm_sim_bulk_wait_read(GM_FILE_HERE, GM_LINE_HERE);
GM_HIDDEN void gm_sim_bulk_prefetch(const void *global, uint32_t bytes, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
