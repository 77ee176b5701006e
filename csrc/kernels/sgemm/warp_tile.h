/*
 * A product by tiles of warps: the body of warp_tile, for any sizes of its tiles.
 */
#ifndef GPUMEM_WARP_TILE_H
#define GPUMEM_WARP_TILE_H

#include "sgemm.h"
#include "warp.h"

/* How a factor gets from global to shared memory. */
enum {
    BY_VECTORS, /* the lines run on in memory: four lines at a time */
    BY_LINES,   /* the same, one by one: the vectors are not aligned, or not whole */
    BY_STEPS,   /* the depth runs on: four steps at a time */
    BY_DEPTH,   /* the same, one by one */
};

/*
 * Where the depth of B runs on, it is turned on its way: eight lanes take eight steps of a line, a
 * whole sector, and a warp four lines. With four floats of padding, that is 4 banks from step to
 * step and one from line to line: they fill the 32 banks. A lies as it does in global memory.
 */
enum { WARP_TILE_PADDING = 4 };

/* What a thread copies of a factor. */
typedef struct warp_tile_source {
    const float *at; /* its first element of the next tile */
    int64_t apart;   /* elements from one of its copies to the next */
    int64_t advance; /* and from tile to tile */
    int line, step;  /* of its first element in the tile */
    int lines;       /* of the tile that are there */
} warp_tile_source;

/* The numbers of one copy, and the threads that take a line or a step together. */
template <int way, int lines> struct warp_tile_way {
    enum {
        along_depth = way == BY_STEPS || way == BY_DEPTH,
        wide = way == BY_VECTORS || way == BY_STEPS ? 4 : 1,
        together = (along_depth ? WARP_STEPS : lines) / wide,
    };
};

template <int way, int lines, int threads>
GM_DEVICE warp_tile_source warp_tile_begin(const sgemm_factor &x, int64_t first_line)
{
    typedef warp_tile_way<way, lines> copy;
    const int along = threadIdx.x % copy::together * copy::wide;
    const int across = threadIdx.x / copy::together;
    warp_tile_source source;
    source.line = copy::along_depth ? across : along;
    source.step = copy::along_depth ? along : across;
    const int64_t stride = copy::along_depth ? x.line_stride : x.depth_stride;
    source.apart = threads / copy::together * stride;
    source.advance = WARP_STEPS * (copy::along_depth ? 1 : stride);
    source.at = x.data + (copy::along_depth ? (first_line + source.line) * stride + source.step
                                            : first_line + source.line + source.step * stride);
    source.lines = (int)min(x.lines - first_line, (int64_t)lines);
    return source;
}

/*
 * The thread's copies of a tile of which the first `left` steps are there. In the loop all are,
 * and the compiler knows it: left is then a constant.
 */
template <int way, bool kept, int lines, int threads>
GM_DEVICE void warp_tile_copy(float *stage, const warp_tile_source &source, int64_t offset,
                              int left)
{
    typedef warp_tile_way<way, lines> copy;
    enum {
        line = kept ? WARP_STEPS : 1, /* floats from line to line, and from step to step */
        step = kept ? 1 : lines + WARP_TILE_PADDING,
        at_once = threads / copy::together,
        count = (copy::along_depth ? lines : WARP_STEPS) / at_once,
    };
    static_assert(way != BY_STEPS || kept, "vectors cannot be turned");
    static_assert(threads % copy::together == 0 &&
                      (copy::along_depth ? lines : WARP_STEPS) % at_once == 0,
                  "whole copies");
    float *to = stage + source.line * line + source.step * step;
    const float *from = source.at + offset;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int across = i * at_once;
        const bool there = copy::along_depth
                               ? source.line + across < source.lines && source.step < left
                               : source.line < source.lines && source.step + across < left;
        gm_copy_async<copy::wide * 4>(to + across * (copy::along_depth ? line : step), from,
                                      there ? copy::wide * 4 : 0);
        from += source.apart;
    }
}

/*
 * height, width   of a block's tile, and so many stages of eight steps
 * rows, columns   of a thread
 */
template <int height, int width, int stages, int rows, int columns> struct warp_tile {
    enum {
        warp_rows = rows * WARP_LANES_Y,
        warp_columns = columns * WARP_LANES_X,
        warps_x = width / warp_columns,
        threads = warps_x * (height / warp_rows) * 32,
        pitch_a = height + WARP_TILE_PADDING,
        pitch_b = width + WARP_TILE_PADDING,
        floats_a = WARP_STEPS * pitch_a,
        stage = floats_a + WARP_STEPS * pitch_b, /* floats */
        stage_bytes = stage * 4,
    };
    static_assert(width % warp_columns == 0 && height % warp_rows == 0, "whole tiles of warps");
};

/* The warp's tile begins at first_row of the block's. The thread's own first row is lane_y rows
 * further down where A is kept, lane_y vectors otherwise; its first column is x. */
template <int way_a, int way_b, int height, int width, int stages, int rows, int columns>
GM_DEVICE void warp_tile_sum(float (&sum)[rows][columns], float *shared, const sgemm_args &a,
                             int64_t row, int64_t column, int first_row, int lane_y, int x)
{
    typedef warp_tile<height, width, stages, rows, columns> tile;
    enum { kept = warp_tile_way<way_a, height>::along_depth, steps = WARP_STEPS };
    warp_tile_source from_a = warp_tile_begin<way_a, height, tile::threads>(a.a, row);
    warp_tile_source from_b = warp_tile_begin<way_b, width, tile::threads>(a.b, column);
    const int64_t tiles = (a.depth + steps - 1) / steps;
    /* Of A, four steps of each row, or the rows of a step, and of the next; of B the same. */
    float of_a[kept ? 4 * rows : 2 * rows], of_b[2][columns];

    /* The last tile goes first: it alone may lack steps, and the loop need not ask for them. */
    if (tiles > 0) {
        const int left = (int)(a.depth - (tiles - 1) * steps);
        warp_tile_copy<way_a, kept, height, tile::threads>(shared, from_a,
                                                           (tiles - 1) * from_a.advance, left);
        warp_tile_copy<way_b, false, width, tile::threads>(shared + tile::floats_a, from_b,
                                                           (tiles - 1) * from_b.advance, left);
    }
    __pipeline_commit();
#pragma unroll
    for (int i = 1; i < stages - 1; i++) {
        if (i < tiles) {
            float *to = shared + i * tile::stage;
            warp_tile_copy<way_a, kept, height, tile::threads>(to, from_a, 0, steps);
            warp_tile_copy<way_b, false, width, tile::threads>(to + tile::floats_a, from_b, 0,
                                                               steps);
            from_a.at += from_a.advance;
            from_b.at += from_b.advance;
        }
        __pipeline_commit();
    }
    gm_pipeline_wait_prior<stages - 2>();
    __syncthreads();

    int now = 0, next = (stages - 1) * tile::stage_bytes; /* is computed, is copied to */
    const float *at_a = shared + (kept ? (first_row + lane_y) * steps : first_row + lane_y * 4);
    const float *at_b = shared + tile::floats_a + x;
    const float *step_a = at_a, *step_b = at_b;
    if (tiles > 0) {
        if (kept) {
#pragma unroll
            for (int i = 0; i < rows; i++) {
                warp_read_steps(of_a, step_a, i);
            }
        } else {
            warp_read<rows, WARP_LANES_Y>(of_a, step_a);
        }
        warp_read<columns, WARP_LANES_X>(of_b[0], step_b);
    }
    for (int64_t left = tiles; left > 0; left--) {
#pragma unroll
        for (int k = 0; k < steps; k++) {
            const int then = (k + 1) % steps;
            if (k == 1) {
                from_a.at += from_a.advance;
                from_b.at += from_b.advance;
            }
            if (then == 0) {
                gm_pipeline_wait_prior<stages - 2>();
                __syncthreads();
                if (left > 1) { /* else the same is read once more, for nothing */
                    now += tile::stage_bytes;
                    now = now == stages * tile::stage_bytes ? 0 : now;
                }
                step_a = (const float *)((const char *)at_a + now);
                step_b = (const float *)((const char *)at_b + now);
            }
            warp_read<columns, WARP_LANES_X>(of_b[(k + 1) % 2], step_b + then * tile::pitch_b);
            if (!kept) {
                warp_read<rows, WARP_LANES_Y>(&of_a[(k + 1) % 2 * rows],
                                              step_a + then * tile::pitch_a);
            }
            if (k == 0) {
                if (left > stages - 1) {
                    float *to = (float *)((char *)shared + next);
                    warp_tile_copy<way_a, kept, height, tile::threads>(to, from_a, 0, steps);
                    warp_tile_copy<way_b, false, width, tile::threads>(to + tile::floats_a, from_b,
                                                                       0, steps);
                }
                __pipeline_commit();
                next = now; /* all will have read it when the next tile begins */
            }
            warp_multiply<kept>(sum, of_a, of_b[k % 2], k, step_a + then);
        }
    }
}

/* Whole vectors alone: of a part of one, memory checkers see all 16 bytes read. */
GM_DEVICE bool warp_tile_vectors(const sgemm_factor &x, int64_t depth, int64_t first, int lines)
{
    const bool whole = x.lines - first >= lines || x.lines % 4 == 0;
    return x.vectors && (x.along_depth ? depth % 4 == 0 : whole);
}

template <int way_a, int height, int width, int stages, int rows, int columns>
GM_DEVICE void warp_tile_by_way(float (&sum)[rows][columns], float *shared, const sgemm_args &a,
                                int64_t row, int64_t column, int first_row, int lane_y, int x)
{
    if (a.b.along_depth) {
        warp_tile_sum<way_a, BY_DEPTH, height, width, stages>(sum, shared, a, row, column,
                                                              first_row, lane_y, x);
    } else if (warp_tile_vectors(a.b, a.depth, column, width)) {
        warp_tile_sum<way_a, BY_VECTORS, height, width, stages>(sum, shared, a, row, column,
                                                                first_row, lane_y, x);
    } else {
        warp_tile_sum<way_a, BY_LINES, height, width, stages>(sum, shared, a, row, column,
                                                              first_row, lane_y, x);
    }
}

template <int height, int width, int stages, int rows, int columns>
GM_DEVICE void warp_tile_product(const sgemm_args &a, float *shared)
{
    typedef warp_tile<height, width, stages, rows, columns> tile;
    int64_t row, column;
    float sum[rows][columns];
    float4 *own = (float4 *)(shared + stages * tile::stage) + threadIdx.x;

    const int warp = threadIdx.x / 32, lane_x = warp_lane_x(), lane_y = warp_lane_y();
    const int x = warp % tile::warps_x * tile::warp_columns + lane_x * 4;
    const int first_row = warp / tile::warps_x * tile::warp_rows;

    sgemm_find_tile(a, height, width, &row, &column);
    *own = make_float4(0, 0, 0, 0);
    warp_begin(sum, own);
    const bool vectors = warp_tile_vectors(a.a, a.depth, row, height);
    if (a.a.along_depth) {
        if (vectors) {
            warp_tile_by_way<BY_STEPS, height, width, stages>(sum, shared, a, row, column,
                                                              first_row, lane_y, x);
        } else {
            warp_tile_by_way<BY_DEPTH, height, width, stages>(sum, shared, a, row, column,
                                                              first_row, lane_y, x);
        }
    } else if (vectors) {
        warp_tile_by_way<BY_VECTORS, height, width, stages>(sum, shared, a, row, column, first_row,
                                                            lane_y, x);
    } else {
        warp_tile_by_way<BY_LINES, height, width, stages>(sum, shared, a, row, column, first_row,
                                                          lane_y, x);
    }

    row += first_row + (a.a.along_depth ? lane_y : lane_y * 4);
    column += x;
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const int down = a.a.along_depth ? i * WARP_LANES_Y : i / 4 * (WARP_LANES_Y * 4) + i % 4;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            float in_order[4];
            banks_in_order(in_order, &sum[i][j], own);
            sgemm_store4(a, row + down, column + j * WARP_LANES_X, in_order);
        }
    }
}

#endif
