/*
 * stream / tiles: blocks take contiguous tiles, one after the other.
 *
 * Follows  vec4, whose blocks touch all parts of memory in each step.
 * Idea     512 threads with four loads of 16 bytes in flight read 32 KiB in a row, and go on with
 *          the tile that is a grid of them further on. Four such blocks fill a multiprocessor, and
 *          have 128 KiB in flight there. Several rows share the 32 KiB.
 * Machine  LDG.E.128, STG.E.128
 */
#include "stream.h"

template <int reads, bool writing> GM_DEVICE void take_tiles(const stream_args &a)
{
    enum { UNROLL = stream_unroll<reads>::value, TILE = UNROLL * STREAM_TILE_THREADS };
    const int64_t vectors = a.length / 4, step = (int64_t)gridDim.x * TILE;
    int64_t i = (int64_t)blockIdx.x * TILE + threadIdx.x;
    uint32_t seen = 0;
#pragma unroll 1 /* more loads in flight would take more registers than four blocks have */
    for (; i + (UNROLL - 1) * STREAM_TILE_THREADS < vectors; i += step) {
        stream_step<reads, writing, UNROLL>(a, i, STREAM_TILE_THREADS, vectors, seen);
    }
    /* The last tile, where it ends before the thread's last vector. */
#pragma unroll 1
    for (int u = 0; u < UNROLL - 1 && i < vectors; u++, i += STREAM_TILE_THREADS) {
        stream_step<reads, writing, 1>(a, i, STREAM_TILE_THREADS, vectors, seen);
    }
    if (!writing) {
        stream_join(a, seen);
    }
}

GM_KERNEL_BOUNDED(stream_tiles, stream_args, STREAM_TILE_THREADS, STREAM_TILE_RESIDENT)
{
    STREAM_BY_READS(take_tiles, a)
}
