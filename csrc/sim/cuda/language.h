/* The words that CUDA adds to C++: qualifiers, and the indices of a thread. */
#ifndef GPUMEM_CUDA_LANGUAGE_H
#define GPUMEM_CUDA_LANGUAGE_H

#include "sim/lane.h"

#ifdef GM_BUILD_TRACED
#define GM_UNTRACED __attribute__((no_sanitize_thread))
/* Hides a value from the optimiser, which would otherwise load only the members that are used. */
#define GM_WHOLE(value) __asm__("" : "+m"(value))
#else
#define GM_UNTRACED
#define GM_WHOLE(value) ((void)0)
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
/* Empty: the standard library writes __attribute__((__noinline__)). */
#define __noinline__
#define __inline_hint__ inline
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __block_size__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
/* A copy per host thread, since a host thread runs one block at a time. */
#define __shared__ static thread_local
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define threadIdx (gm_lane.thread_index)
#define blockIdx (gm_lane.block_index)
#define blockDim (gm_lane.block_dim)
#define gridDim (gm_lane.grid_dim)

static constexpr int warpSize = 32;

#endif
