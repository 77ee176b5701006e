/* Asynchronous copies: <cuda_pipeline.h>. */
#ifndef GPUMEM_CUDA_ASYNC_H
#define GPUMEM_CUDA_ASYNC_H

#include "sim/cuda/language.h"
#include "sim/pipeline.h"

static __forceinline__ void __pipeline_memcpy_async(void *shared, const void *global, size_t size,
                                                    size_t zfill = 0,
                                                    const char *file = __builtin_FILE(),
                                                    int line = __builtin_LINE())
{
    gm_sim_pipeline_copy(shared, global, size, zfill, file, line);
}

static __forceinline__ void __pipeline_commit(const char *file = __builtin_FILE(),
                                              int line = __builtin_LINE())
{
    gm_sim_pipeline_commit(file, line);
}

static __forceinline__ void __pipeline_wait_prior(size_t pending,
                                                  const char *file = __builtin_FILE(),
                                                  int line = __builtin_LINE())
{
    gm_sim_pipeline_wait(pending, file, line);
}

#endif
