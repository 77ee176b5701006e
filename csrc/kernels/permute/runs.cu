/*
 * permute / runs: what runs on in both arrays is moved in the widest units.
 *
 * Follows  elementwise, which divides for each element.
 * Idea     axes that are contiguous on both sides are a run of bytes. A unit is as wide as the runs
 *          and their addresses allow, up to 16 bytes: fewer divisions, wider accesses. A division
 *          by a number that is known before the launch is a multiplication and a shift. A thread
 *          finds its four units, of 16 bytes two, before it loads any of them: their loads are in
 *          flight together.
 * Near     inputs, whose offsets are numbers of 32 bits, have kernels of their own for units of 4
 *          bytes and more, those of 16 bytes with blocks of 128 threads: on an H200 they took 1 to
 *          2 percent less time on average, 5 at most.
 */
#include "permute.h"

GM_DEVICE uint32_t take(const permute_runs_args &a, uint32_t &rest, int d)
{
    return permute_take(&rest, a.extent[d]);
}

GM_DEVICE uint64_t take(const permute_runs_args &a, uint64_t &rest, int d)
{
    const uint64_t extent = (uint64_t)a.long_extent[d], quotient = rest / extent,
                   remainder = rest - quotient * extent;
    rest = quotient;
    return remainder;
}

enum {
    MOST_STEPS = 4,
    THREADS = 256,
    BLOCKS = 5, /* per multiprocessor: divisions of 64 bits would take the registers of one */
    FEWER = 128 /* threads, for units of 16 bytes */
};

/* Where a thread's units begin in the input, those that exist. Along one axis after the other for
 * all of them: what is known of the axis is loaded once, and the divisions overlap. */
template <typename index_type, typename offset_type, int most_steps>
GM_DEVICE void find_units(const permute_runs_args &a, int64_t first, int steps,
                          int64_t (&found)[most_steps])
{
    index_type rest[most_steps];
    offset_type offset[most_steps] = {};

#pragma unroll
    for (int k = 0; k < most_steps; k++) {
        const int64_t i = first + k * (int64_t)blockDim.x;
        rest[k] = k < steps && i < a.units ? (index_type)i : 0;
    }
    for (int d = 0; d < a.ndim - 1; d++) {
#pragma unroll
        for (int k = 0; k < most_steps; k++) {
            offset[k] += (offset_type)take(a, rest[k], d) * (offset_type)a.from[d];
        }
    }
#pragma unroll
    for (int k = 0; k < most_steps; k++) {
        offset[k] += (offset_type)rest[k] * (offset_type)a.from[a.ndim - 1];
        found[k] = offset[k];
    }
}

template <typename unit, int steps, int most_steps>
GM_DEVICE void move_units(const permute_runs_args &a, int64_t first,
                          const int64_t (&offset)[most_steps])
{
    unit held[steps];

#pragma unroll
    for (int k = 0; k < steps; k++) {
        if (first + k * (int64_t)blockDim.x < a.units) {
            held[k] = __ldca((const unit *)(a.in + offset[k]));
        }
    }
#pragma unroll
    for (int k = 0; k < steps; k++) {
        const int64_t i = first + k * (int64_t)blockDim.x;
        if (i < a.units) {
            ((unit *)a.out)[i] = held[k];
        }
    }
}

GM_KERNEL_BOUNDED(permute_runs, permute_runs_args, THREADS, BLOCKS)
{
    const int steps = a.unit == 16 ? 2 : MOST_STEPS;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * steps + threadIdx.x;
    int64_t offset[MOST_STEPS];

    if (a.is_near) {
        find_units<uint32_t, int32_t>(a, first, steps, offset);
    } else if (a.units <= INT32_MAX) {
        find_units<uint32_t, int64_t>(a, first, steps, offset);
    } else {
        find_units<uint64_t, int64_t>(a, first, steps, offset);
    }
    switch (a.unit) {
    case 1: move_units<uint8_t, 4>(a, first, offset); break;
    case 2: move_units<uint16_t, 4>(a, first, offset); break;
    case 4: move_units<uint32_t, 4>(a, first, offset); break;
    case 8: move_units<uint2, 4>(a, first, offset); break;
    case 16: move_units<uint4, 2>(a, first, offset); break;
    }
}

template <typename unit, int steps, int threads>
GM_DEVICE void move_near(const permute_runs_args &a)
{
    const int64_t first = (int64_t)blockIdx.x * threads * steps + threadIdx.x;
    int64_t offset[steps];
    find_units<uint32_t, int32_t>(a, first, steps, offset);
    move_units<unit, steps>(a, first, offset);
}

GM_KERNEL_BOUNDED(permute_runs_near_b32, permute_runs_args, THREADS, 8)
{
    move_near<uint32_t, MOST_STEPS, THREADS>(a);
}

GM_KERNEL_BOUNDED(permute_runs_near_b64, permute_runs_args, THREADS, 8)
{
    move_near<uint2, MOST_STEPS, THREADS>(a);
}

GM_KERNEL_BOUNDED(permute_runs_near_b128, permute_runs_args, FEWER, 16)
{
    move_near<uint4, 2, FEWER>(a);
}
