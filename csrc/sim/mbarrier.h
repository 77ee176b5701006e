/* mbarriers on the simulator: barriers in shared memory that complete in phases. */
#ifndef GPUMEM_SIM_MBARRIER_H
#define GPUMEM_SIM_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/lane.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The place of the call, where a kernel gives none. */
#ifdef __cplusplus
#define GM_FILE_HERE const char *file = __builtin_FILE()
#define GM_LINE_HERE int line = __builtin_LINE()
#else
#define GM_FILE_HERE const char *file
#define GM_LINE_HERE int line
#endif

/* For one arriving thread. */
GM_HIDDEN void gm_sim_mbarrier_init(uint64_t *barrier, GM_FILE_HERE, GM_LINE_HERE);
/* The thread arrives, and the phase also waits for these bytes. */
GM_HIDDEN void gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, GM_FILE_HERE,
                                      GM_LINE_HERE);
/* These bytes of an engine's copy have arrived. */
GM_HIDDEN void gm_sim_mbarrier_complete(uint64_t *barrier, uint32_t bytes, const char *file,
                                        int line);
GM_HIDDEN void gm_sim_mbarrier_wait(uint64_t *barrier, uint32_t parity, const char *file, int line);
/* Is the phase of this parity complete? */
GM_HIDDEN bool gm_sim_mbarrier_passed(const uint64_t *barrier, uint32_t parity);

#ifdef __cplusplus
}
#endif

#endif
