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
typedef struct tile_source {
    const float *at; /* the thread's first piece */
    int64_t line;    /* its first line, and */
    int k;           /* step within the tile */
    bool whole;      /* all lines of the tile are there, and their vectors are aligned */
} tile_source;

GM_DEVICE tile_source tile_begin(const sgemm_factor &x, int64_t first_line)
{
    const int thread = threadIdx.x;
    tile_source source;
    source.line = first_line + (x.along_depth ? thread / 2 : thread % 32 * 4);
    source.k = x.along_depth ? thread % 2 * 4 : thread / 32;
    source.at = x.data + source.line * x.line_stride + source.k * x.depth_stride;
    source.whole = x.vectors && first_line + TILE <= x.lines;
    return source;
}

/* The thread's pieces of the tile that starts at step `first`; zeros for what is not there. */
GM_DEVICE void tile_load(float4 (&held)[2], const sgemm_factor &x, const tile_source &source,
                         int64_t first, int64_t depth)
{
    if (source.whole && first + STEPS <= depth) {
        const float *from = source.at + first * x.depth_stride;
        held[0] = *(const float4 *)from;
        held[1] = *(const float4 *)(from + HALF * x.depth_stride);
        return;
    }
    const int along = x.along_depth, across = !along;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int64_t k = first + source.k + i * HALF;
        held[i].x = sgemm_element(x, source.line, k, depth);
        held[i].y = sgemm_element(x, source.line + across, k + along, depth);
        held[i].z = sgemm_element(x, source.line + 2 * across, k + 2 * along, depth);
        held[i].w = sgemm_element(x, source.line + 3 * across, k + 3 * along, depth);
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
