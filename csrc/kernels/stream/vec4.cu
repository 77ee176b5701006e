/*
 * stream / vec4: 128-bit accesses, four loads in flight per thread.
 *
 * Follows  scalar.
 * Idea     16 bytes is the widest access of one instruction, and independent loads wait together.
 *          The vectors of a thread are a grid apart, so all blocks together walk through memory in
 *          steps of the whole grid. Rows must begin and end at multiples of 16 bytes.
 * Machine  LDG.E.128, STG.E.128
 */
#include "stream.h"

template <int reads, bool writing> GM_DEVICE void walk(const stream_args &a)
{
    enum { UNROLL = stream_unroll<reads>::value };
    const int64_t vectors = a.length / 4, grid = gm_grid_stride();
    int64_t i = gm_grid_index();
    uint32_t seen = 0;
#pragma unroll 1 /* as many loads as the row says, no more */
    for (; i + (UNROLL - 1) * grid < vectors; i += UNROLL * grid) {
        stream_step<reads, writing, UNROLL>(a, i, grid, vectors, seen);
    }
#pragma unroll 1
    for (; i < vectors; i += grid) {
        stream_step<reads, writing, 1>(a, i, grid, vectors, seen);
    }
    if (!writing) {
        stream_join(a, seen);
    }
}

GM_KERNEL_BOUNDED(stream_vec4, stream_args, STREAM_THREADS, STREAM_BLOCKS)
{
    STREAM_BY_READS(walk, a)
}
