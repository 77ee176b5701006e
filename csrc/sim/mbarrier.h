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

/* For this many arrivals in each phase; for one. */
GM_HIDDEN void gm_sim_mbarrier_init_count(uint64_t *barrier, uint32_t count, GM_FILE_HERE,
                                          GM_LINE_HERE);
GM_HIDDEN void gm_sim_mbarrier_init(uint64_t *barrier, GM_FILE_HERE, GM_LINE_HERE);
/* These functions return the parity of the phase in which the thread arrives. */
GM_HIDDEN uint32_t gm_sim_mbarrier_arrive(uint64_t *barrier, uint32_t count, GM_FILE_HERE,
                                          GM_LINE_HERE);
/* The thread arrives, and the phase also waits for these bytes. */
GM_HIDDEN uint32_t gm_sim_mbarrier_expect(uint64_t *barrier, uint32_t bytes, GM_FILE_HERE,
                                          GM_LINE_HERE);
/* The thread arrives for the last time: later phases wait for one arrival less. */
GM_HIDDEN void gm_sim_mbarrier_drop(uint64_t *barrier, GM_FILE_HERE, GM_LINE_HERE);
/* A copy to shared memory that is complete with the phase in which the thread arrives next. */
GM_HIDDEN void gm_sim_mbarrier_copy(void *shared, const void *global, uint32_t bytes,
                                    uint64_t *barrier, const char *file, int line);
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
