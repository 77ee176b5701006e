/*
 * CUDA C for the host compiler: enough of it, under CUDA's names, that unmodified kernel sources
 * run as threads of the simulator. What CUDA defines is in cuda/, what gpumem's kernels use beside
 * it is here.
 */
#ifndef GPUMEM_SIMT_H
#define GPUMEM_SIMT_H

#include <math.h>
#include <string.h>

#include "sim/bulk.h"
#include "sim/cuda/arithmetic.h"
#include "sim/cuda/async.h"
#include "sim/cuda/bits.h"
#include "sim/cuda/language.h"
#include "sim/cuda/loads.h"
#include "sim/cuda/vectors.h"
#include "sim/cuda/warp.h"
#ifdef GM_USER_MODULE /* gpumem's own kernels use none of it, and compile faster without */
#include "sim/cuda/atomic_builtins.h"
#include "sim/cuda/atomics.h"
#include "sim/cuda/fences.h"
#include "sim/cuda/refused.h"
#include "sim/cuda/texture.h"
#endif
#include "sim/lane.h"
#include "sim/tensor.h"
#include "sim/texture.h"

#ifdef GM_USER_MODULE
#include "sim/cuda/dialect.h"
#endif

#ifdef GM_BUILD_TRACED
#define GM_SYMBOL(name) gm_traced_##name
#define GM_THREAD_END() gm_sim_thread_end()
#else
#define GM_SYMBOL(name) gm_plain_##name
#define GM_THREAD_END() ((void)0)
#endif

/* The body takes its arguments by value, as on a device: they are private and never traced. */
#define GM_KERNEL(name, args_type)                                                                 \
    static void name(const args_type a, const gm_lane_state &gm_lane);                             \
    extern "C" GM_UNTRACED __attribute__((visibility("hidden"))) void GM_SYMBOL(name)(             \
        const void *args, const gm_lane_state *lane)                                               \
    {                                                                                              \
        name(*static_cast<const args_type *>(args), *lane);                                        \
        GM_THREAD_END();                                                                           \
    }                                                                                              \
    static void name(const args_type a, [[maybe_unused]] const gm_lane_state &gm_lane)

#define GM_KERNEL_BOUNDED(name, args_type, threads, blocks) GM_KERNEL(name, args_type)

/* In sections, so that the trace can tell their addresses from others. */
#define GM_DEFINE_SYMBOL(kind, type, name, count)                                                  \
    static type name[count] __attribute__((section(kind), used));                                  \
    extern "C" GM_HIDDEN void *GM_SYMBOL(name##_symbol)(void)                                      \
    {                                                                                              \
        return name;                                                                               \
    }
#define GM_CONSTANT(type, name, count) GM_DEFINE_SYMBOL("gm_constant", type, name, count)
#define GM_VARIABLE(type, name, count) GM_DEFINE_SYMBOL("gm_variable", type, name, count)
#define GM_MANAGED GM_VARIABLE

#define GM_DYNAMIC_SHARED(type, name)                                                              \
    type *const name = reinterpret_cast<type *>(gm_lane.dynamic_shared)

#endif
