/*
 * reduce / vec4: 128-bit loads, four of them in flight per thread.
 *
 * Follows  grid_stride, which has few bytes in flight: a load of 4 bytes, then its addition.
 * Idea     by Little's law the bytes in flight are bandwidth times latency. Four independent loads
 *          of 16 bytes before the first addition are 64 bytes per thread, 128 KiB per
 *          multiprocessor. A block reads 32 KiB in a row, then the next such tile that is its own.
 *          The addresses must be multiples of 16.
 * Machine  LDG.E.128
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_vectors(const reduce_args &a)
{
    enum { PER_VECTOR = sizeof(vector) / sizeof(number) };
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t vectors = a.count / PER_VECTOR, rear = vectors * PER_VECTOR;
    number sum = reduce_vectors<number, vector>(a, a.in, vectors);
    if (i < a.count - rear) {
        sum += ((const number *)a.in)[rear + i];
    }
    sum = gm_block_sum<REDUCE_WIDE>(sum);
    if (threadIdx.x == 0) {
        atomicAdd((number *)a.out, sum);
    }
}

GM_KERNEL_BOUNDED(reduce_vec4, reduce_args, REDUCE_WIDE, REDUCE_BLOCKS)
{
    REDUCE_BY_TYPE(add_vectors, a)
}
