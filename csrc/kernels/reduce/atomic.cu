/*
 * reduce / atomic: one atomic addition per element.
 *
 * Idea     every thread adds its element to the result. All of them go to one address, and the L2
 *          does them one after another: the rate of that address, not of the memory, is the limit.
 * Cost     the order is that of arrival: sums of floats differ from run to run.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_elements(const reduce_args &a)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.count) {
        atomicAdd((number *)a.out, ((const number *)a.in)[i]);
    }
}

GM_KERNEL(reduce_atomic, reduce_args)
{
    REDUCE_BY_TYPE(add_elements, a)
}
