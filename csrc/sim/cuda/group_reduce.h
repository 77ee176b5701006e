/* Reductions and scans of cooperative groups of lanes, in the order of CUDA's, so that sums of
 * floats have the same rounding. */
#ifndef GPUMEM_CUDA_GROUP_REDUCE_H
#define GPUMEM_CUDA_GROUP_REDUCE_H

#include "sim/cuda/cooperative_groups.h"

namespace cooperative_groups {

#define GM_GROUP_OPERATION(name, result)                                                           \
    template <typename type> struct name {                                                         \
        __forceinline__ type operator()(type a, type b) const                                      \
        {                                                                                          \
            return result;                                                                         \
        }                                                                                          \
    };

GM_GROUP_OPERATION(plus, a + b)
GM_GROUP_OPERATION(less, b < a ? b : a)
GM_GROUP_OPERATION(greater, a < b ? b : a)
GM_GROUP_OPERATION(bit_and, a &b)
GM_GROUP_OPERATION(bit_or, a | b)
GM_GROUP_OPERATION(bit_xor, a ^ b)

template <typename group, typename type, typename function>
static inline type inclusive_scan(const group &threads, type value, function &&combine, GM_PLACE)
{
    for (unsigned delta = 1; delta < threads.size(); delta *= 2) {
        type other = threads.shfl_up(value, delta, file, line);
        if (delta <= threads.thread_rank()) {
            value = combine(other, value);
        }
    }
    return value;
}

/* The first thread gets a value of zero. */
template <typename group, typename type, typename function>
static inline type exclusive_scan(const group &threads, type value, function &&combine, GM_PLACE)
{
    type sum = inclusive_scan(threads, value, combine, file, line);
    sum = threads.shfl_up(sum, 1, file, line);
    return threads.thread_rank() == 0 ? type{} : sum;
}

template <typename group, typename type>
static inline type inclusive_scan(const group &threads, type value)
{
    return inclusive_scan(threads, value, plus<type>());
}

template <typename group, typename type>
static inline type exclusive_scan(const group &threads, type value)
{
    return exclusive_scan(threads, value, plus<type>());
}

template <unsigned Size, typename Parent, typename type, typename function>
static inline type reduce(const thread_block_tile<Size, Parent> &tile, type value,
                          function &&combine, GM_PLACE)
{
    for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) {
        value = combine(value, tile.shfl_xor(value, lanes, file, line));
    }
    return value;
}

template <typename type, typename function>
static inline type reduce(const coalesced_group &group, type value, function &&combine, GM_PLACE)
{
    if (group.size() == 32) {
        return reduce(thread_block_tile<32>(0, 1), value, combine, file, line);
    }
    value = inclusive_scan(group, value, combine, file, line);
    return group.shfl(value, group.size() - 1, file, line);
}

} // namespace cooperative_groups

#endif
