/*
 * What the variants with tiles in shared memory share: 128 lines x 16 steps of a factor on their
 * way from global memory through registers, by a block of 256 threads.
 */
#ifndef GPUMEM_SGEMM_TILES_H
#define GPUMEM_SGEMM_TILES_H

#include "sgemm.h"

enum {
    TILE = 128,       /* lines of A and of B per block: 128 x 128 elements of C */
    STEPS = 16,       /* of the sum, per tile */
    PITCH = TILE + 4, /* floats from step to step of a tile; see tile_store */
    HALF = STEPS / 2,
};

/*
 * A thread moves two pieces of four numbers that follow in memory, HALF steps apart. Where the
 * lines run on in memory, a warp takes a step of the tile: 512 bytes in a row. Where the depth
 * does, two lanes take a line and a warp sixteen of them: 32 bytes, a whole sector, of each.
 */
GM_DEVICE int tile_line(const sgemm_factor &x)
{
    return x.along_depth ? threadIdx.x / 2 : threadIdx.x % 32 * 4;
}

GM_DEVICE int tile_step(const sgemm_factor &x)
{
    return x.along_depth ? threadIdx.x % 2 * 4 : threadIdx.x / 32;
}

/* Where a thread loads from. */
typedef struct tile_source {
    const float *at; /* its first piece of the next tile */
    int lines;       /* of a tile that are there */
    bool whole;      /* all of them are, and their vectors are aligned */
} tile_source;

GM_DEVICE tile_source tile_begin(const sgemm_factor &x, int64_t first_line)
{
    tile_source source;
    source.at =
        x.data + (first_line + tile_line(x)) * x.line_stride + tile_step(x) * x.depth_stride;
    source.lines = (int)min(x.lines - first_line, (int64_t)TILE);
    source.whole = x.vectors && source.lines == TILE;
    return source;
}

/* The same, so many steps further on. */
GM_DEVICE tile_source tile_after(tile_source source, const sgemm_factor &x, int64_t steps)
{
    source.at += steps * x.depth_stride;
    return source;
}

/* The thread's pieces of the next tile, of which so many steps are there; zeros for the rest. */
GM_DEVICE void tile_load(float4 (&held)[2], const sgemm_factor &x, tile_source &source,
                         int64_t steps)
{
    const float *first = source.at, *second = first + HALF * x.depth_stride;
    source.at += STEPS * x.depth_stride;
    if (source.whole && steps >= STEPS) {
        held[0] = *(const float4 *)first;
        held[1] = *(const float4 *)second;
        return;
    }
    /* How many of the four are there: they follow along the depth, or along the lines. */
    const int lines = source.lines - tile_line(x);
    const int left = (int)min(steps, (int64_t)STEPS) - tile_step(x);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int along = left - i * HALF;
        held[i] = sgemm_load_some(i ? second : first, x.along_depth ? (lines > 0 ? along : 0)
                                                                    : (along > 0 ? lines : 0));
    }
}

/*
 * Into a tile whose lines are side by side, step by step. Numbers of one line have to be turned,
 * one by one: the two lanes of a line store steps that are four apart, at 4 * PITCH = 16 banks from
 * each other, and the sixteen lines of a warp fill the banks between.
 */
GM_DEVICE void tile_store(float (*tile)[PITCH], const float4 (&held)[2], const sgemm_factor &x)
{
    const int thread = threadIdx.x;
    if (x.along_depth) {
        float *to = &tile[thread % 2 * 4][thread / 2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            to[(i * HALF + 0) * PITCH] = held[i].x;
            to[(i * HALF + 1) * PITCH] = held[i].y;
            to[(i * HALF + 2) * PITCH] = held[i].z;
            to[(i * HALF + 3) * PITCH] = held[i].w;
        }
    } else {
        float *to = &tile[thread / 32][thread % 32 * 4];
        *(float4 *)to = held[0];
        *(float4 *)(to + HALF * PITCH) = held[1];
    }
}

/* A thread's eight lines of one step: two vectors, 64 lines apart. */
GM_DEVICE void tile_read(float (&lines)[8], const float *step, int first)
{
    const float4 low = *(const float4 *)&step[first];
    const float4 high = *(const float4 *)&step[first + TILE / 2];
    lines[0] = low.x, lines[1] = low.y, lines[2] = low.z, lines[3] = low.w;
    lines[4] = high.x, lines[5] = high.y, lines[6] = high.z, lines[7] = high.w;
}

#endif
