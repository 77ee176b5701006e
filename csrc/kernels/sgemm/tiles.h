/*
 * What smem, smem_transposed, hide_smem_latency and hide_global_latency share: tiles of A and B in
 * shared memory, which 256 threads load from global memory through registers.
 *
 *     tile      128 lines x 16 steps of a factor, 8 floats per thread in two vectors of four
 *     C         128 x 128 per block, 8 x 8 per thread: 2 x 2 squares of 4 x 4, 64 apart
 *
 * A thread's two vectors are eight steps apart. Who loads the first one, by the contiguous
 * direction:
 *
 *     lines          step 0    threads  0  1  2 ... 31     a warp takes a step: 512 bytes in a row
 *                    step 1            32 33 34 ... 63
 *                    ...
 *                    step 7           224 225   ... 255
 *
 *     depth          line 0    threads 0  1                two lanes take a line: 32 bytes, a whole
 *                    line 1            2  3                sector of each; a warp 16 lines
 *                    ...
 *                    line 127        254 255
 */
#ifndef GPUMEM_SGEMM_TILES_H
#define GPUMEM_SGEMM_TILES_H

#include "sgemm.h"

enum {
    TILE = 128,       /* lines of A and of B per block: 128 x 128 elements of C */
    STEPS = 16,       /* of the sum, per tile */
    PITCH = TILE + 4, /* floats from step to step in shared memory; see tile_store */
    HALF = STEPS / 2,
};

/* Line and step of a thread's first vector. */
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
    const float *at; /* its first vector of the next tile */
    int lines;       /* that the tile has: fewer at the edge of the matrix */
    bool whole;      /* all 128 of them, with aligned vectors */
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

/* The source, a number of steps further on. */
GM_DEVICE tile_source tile_after(tile_source source, const sgemm_factor &x, int64_t steps)
{
    source.at += steps * x.depth_stride;
    return source;
}

/* Loads the thread's vectors of the next tile, of which `steps` steps exist; zeros for the rest. */
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
    /* How many numbers of a vector exist: it lies along the depth, or along the lines. */
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
 * Stores them to a tile in shared memory whose lines are side by side, step by step. Vectors along
 * the depth are transposed, number by number: the two lanes of a line store steps that are four
 * apart, which is 4 * PITCH = 16 banks, and the sixteen lines of a warp fill the banks between.
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

/* Reads a thread's eight lines of one step: two vectors, 64 lines apart. */
GM_DEVICE void tile_read(float (&lines)[8], const float *step, int first)
{
    const float4 low = *(const float4 *)&step[first];
    const float4 high = *(const float4 *)&step[first + TILE / 2];
    lines[0] = low.x, lines[1] = low.y, lines[2] = low.z, lines[3] = low.w;
    lines[4] = high.x, lines[5] = high.y, lines[6] = high.z, lines[7] = high.w;
}

#endif
