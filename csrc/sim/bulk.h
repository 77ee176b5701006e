/* The bulk copy engine on the simulator, as kernels/bulk.h uses it. */
#ifndef GPUMEM_SIM_BULK_H
#define GPUMEM_SIM_BULK_H

#include <stdint.h>

#include "sim/mbarrier.h"

#ifdef __cplusplus
extern "C" {
#endif

GM_HIDDEN void gm_sim_bulk_load(void *shared, const void *global, uint32_t bytes, uint64_t *barrier,
                                const char *file, int line);
GM_HIDDEN void gm_sim_bulk_store(void *global, const void *shared, uint32_t bytes, const char *file,
                                 int line);
/* Waits until the engine has read the shared memory of the thread's stores. */
GM_HIDDEN void gm_sim_bulk_wait_read(GM_FILE_HERE, GM_LINE_HERE);
/* Between a thread's accesses to shared memory and the engine's. */
GM_HIDDEN void gm_sim_bulk_fence(GM_FILE_HERE, GM_LINE_HERE);
GM_HIDDEN void gm_sim_bulk_prefetch(const void *global, uint32_t bytes, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
