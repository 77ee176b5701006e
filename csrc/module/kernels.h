/*
 * The first thing that a module of kernels includes: CUDA C for the host compiler, and how the
 * simulator calls a kernel of any signature.
 */
#ifndef GPUMEM_MODULE_KERNELS_H
#define GPUMEM_MODULE_KERNELS_H

#include "sim/module_kernel.h"

#include "module/describe.h"
#include "sim/simt.h"

#include "sim/cuda/atomics.h"
#include "sim/cuda/fences.h"

/* ---- variables ------------------------------------------------------------------------------ */

template <typename type> constexpr gm_module_variable gm_variable_of(const char *name, type &it)
{
    gm_module_variable variable = {name, (void *)&it, gm_describe<type>::parameter, 0, {}};
    return variable;
}
template <typename type, unsigned long count>
constexpr gm_module_variable gm_variable_of(const char *name, type (&it)[count])
{
    gm_module_variable variable = gm_variable_of(name, it[0]);
    for (int i = variable.dimensions; i > 0; i--) {
        variable.shape[i] = variable.shape[i - 1];
    }
    variable.shape[0] = count;
    variable.dimensions++;
    return variable;
}

/* ---- calls ---------------------------------------------------------------------------------- */

template <int... numbers> struct gm_numbers {
};
template <int count, int... numbers>
struct gm_count_to : gm_count_to<count - 1, count - 1, numbers...> {
};
template <int... numbers> struct gm_count_to<0, numbers...> {
    typedef gm_numbers<numbers...> type;
};

template <auto kernel> struct gm_launcher;

template <typename... types, void (*kernel)(types...)> struct gm_launcher<kernel> {
    template <int... numbers>
    static GM_UNTRACED void call(void *const *args, gm_numbers<numbers...>)
    {
        kernel(*static_cast<types *>(args[numbers])...);
    }
    static GM_UNTRACED void run(const void *args, const gm_lane_state *)
    {
        call(static_cast<void *const *>(args), typename gm_count_to<sizeof...(types)>::type());
        GM_THREAD_END();
    }
    /* One more, so that there is an array for kernels without parameters. */
    static constexpr gm_module_parameter parameters[] = {gm_describe<types>::parameter..., {}};
    static constexpr gm_module_kernel describe(const char *name, gm_module_limits limits = {})
    {
        return {name, run, parameters, sizeof...(types), limits};
    }
};

/* The limits in a kernel's declaration: what is in the parentheses of __launch_bounds__ and of
 * __cluster_dims__. */
constexpr int32_t gm_bounds()
{
    return 0;
}
template <typename... types> constexpr int32_t gm_bounds(long long threads, types...)
{
    return (int32_t)threads;
}

struct gm_cluster {
    int32_t x = 0, y = 0, z = 0;
    constexpr gm_cluster() = default;
    constexpr gm_cluster(long long x, long long y = 1, long long z = 1)
        : x((int32_t)x), y((int32_t)y), z((int32_t)z)
    {
    }
};

constexpr gm_module_limits gm_limits(int32_t threads, const gm_cluster &cluster)
{
    return {threads, {cluster.x, cluster.y, cluster.z}};
}

/* ---- local variables without initialiser ------------------------------------------------------
 * What has a constructor is not marked: it may have written. Nor are arrays and structures if Clang
 * compiles: it does not report accesses to parts of them, unless by a pointer. */

template <typename type> static __forceinline__ void gm_unwritten(type &variable)
{
    constexpr bool is_structure = __is_class(type) || __is_union(type);
#ifdef __clang__
    constexpr bool known = !is_structure && !__is_array(type);
#else
    constexpr bool known = true;
#endif
    if constexpr (__is_trivially_constructible(type) && known) {
        gm_sim_local(&reinterpret_cast<const volatile char &>(variable), sizeof(type),
                     is_structure ? GM_LOCAL_STRUCTURE : GM_LOCAL_PLAIN);
    }
}

/* Before and behind local arrays that are used by pointer. An array's initialiser may write there,
 * too, so that the guards live no longer than the array. */
struct gm_guard {
    char bytes[64];
    __forceinline__ gm_guard()
    {
    }
};

template <typename type> struct gm_local_guards {
    type &holder;
    __forceinline__ explicit gm_local_guards(type &holder) : holder(holder)
    {
        gm_sim_local(holder.gm_before.bytes, sizeof holder.gm_before, GM_LOCAL_GUARD);
        gm_sim_local(holder.gm_behind.bytes, sizeof holder.gm_behind, GM_LOCAL_GUARD);
    }
    __forceinline__ ~gm_local_guards()
    {
        gm_sim_local(holder.gm_before.bytes, sizeof holder.gm_before, GM_LOCAL_GUARD_END);
        gm_sim_local(holder.gm_behind.bytes, sizeof holder.gm_behind, GM_LOCAL_GUARD_END);
    }
};

/* ---- specifiers ------------------------------------------------------------------------------
 * They stay in the preprocessed text, where gpumem/cuda_c/rewrite.py reads them. */

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __launch_bounds__
#undef __cluster_dims__

#endif
