/* __pipeline_memcpy_async, its commit and its wait on the simulator, as cuda/async.h uses them. */
#ifndef GPUMEM_SIM_PIPELINE_H
#define GPUMEM_SIM_PIPELINE_H

#include <stddef.h>

#include "sim/lane.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies at once. The last zfill bytes become zero and are not read. */
GM_HIDDEN void gm_sim_pipeline_copy(void *shared, const void *global, size_t size, size_t zfill,
                                    const char *file, int line);
GM_HIDDEN void gm_sim_pipeline_commit(const char *file, int line);
GM_HIDDEN void gm_sim_pipeline_wait(size_t pending, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
