/*
 * A product by tiles of warps: the body of warp_tile, for any sizes of its tiles.
 *
 * A block's tile is made of tiles of warps, and a warp's of 32 threads in rows of lanes. A thread
 * has vectors of four lines of A and of B, and between them are those of the warp's other threads.
 */
#ifndef GPUMEM_WARP_TILE_H
#define GPUMEM_WARP_TILE_H

#include "sgemm.h"

/* How a factor gets from global to shared memory, where its lines are side by side. */
enum {
    BY_VECTORS, /* the lines run on in memory: 16 bytes at a time */
    BY_LINES,   /* the same, one by one: the vectors are not aligned, or not whole */
    BY_DEPTH,   /* the depth runs on: they are turned on their way, one by one */
};

/*
 * One factor's share of a stage lies step by step, with four floats of padding: where the depth
 * runs on in memory, eight lanes take eight steps of a line, a whole sector, and a warp four lines:
 * at 4 banks from step to step, and one from line to line, they fill the 32 banks.
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

template <int way, int lines, int steps, int threads>
GM_DEVICE warp_tile_source warp_tile_begin(const sgemm_factor &x, int64_t first_line)
{
    const int thread = threadIdx.x;
    warp_tile_source source;
    if (way == BY_DEPTH) {
        source.line = thread / 8;
        source.step = thread % 8;
        source.apart = threads / 8 * x.line_stride;
    } else {
        const int wide = way == BY_VECTORS ? 4 : 1;
        source.line = thread % (lines / wide) * wide;
        source.step = thread / (lines / wide);
        source.apart = threads / (lines / wide) * x.depth_stride;
    }
    source.at = x.data + (first_line + source.line) * x.line_stride + source.step * x.depth_stride;
    source.advance = steps * x.depth_stride;
    source.lines = (int)min(x.lines - first_line, (int64_t)lines);
    return source;
}

/*
 * The thread's copies of a tile of which the first `left` steps are there. In the loop all are,
 * and the compiler knows it: left is then a constant.
 */
template <int way, int lines, int steps, int threads>
GM_DEVICE void warp_tile_copy(float *stage, const warp_tile_source &source, int64_t offset,
                              int64_t depth_stride, int left)
{
    enum { pitch = lines + WARP_TILE_PADDING };
    float *to = stage + source.step * pitch + source.line;
    const float *from = source.at + offset;
    if (way == BY_DEPTH) {
        enum { rows = threads / 8, count = lines / rows };
        static_assert(lines % rows == 0 && steps % 8 == 0, "whole copies");
#pragma unroll
        for (int k = 0; k < steps; k += 8) {
            const float *of_line = from + k * depth_stride;
#pragma unroll
            for (int i = 0; i < count; i++) {
                gm_copy_async<4>(to + k * pitch + i * rows, of_line,
                                 source.line + i * rows < source.lines && source.step + k < left);
                of_line += source.apart;
            }
        }
    } else {
        enum {
            wide = way == BY_VECTORS ? 4 : 1,
            per_step = lines / wide,
            rows = threads / per_step,
            count = steps / rows,
        };
        static_assert(threads % per_step == 0 && steps % rows == 0, "whole copies");
        const bool there = source.line < source.lines;
#pragma unroll
        for (int i = 0; i < count; i++) {
            gm_copy_async<wide * 4>(to + i * rows * pitch, from,
                                    there && source.step + i * rows < left);
            from += source.apart;
        }
    }
}

/* Lines of a thread in one step: vectors, `lanes` vectors apart. */
template <int count, int lanes>
GM_DEVICE void warp_tile_read(float (&held)[count], const float *from)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 four = *(const float4 *)(from + i * lanes);
        held[i + 0] = four.x, held[i + 1] = four.y, held[i + 2] = four.z, held[i + 3] = four.w;
    }
}

/* One step, to and fro: from product to product one of the two numbers stays, and with it the
 * port of the registers that it was read through. */
template <int rows, int columns>
GM_DEVICE void warp_tile_multiply(float (&sum)[rows][columns], const float (&a)[rows],
                                  const float (&b)[columns])
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int j = 0; j < columns; j++) {
            const int column = i % 2 ? columns - 1 - j : j;
            sum[i][column] += a[i] * b[column];
        }
    }
}

/*
 * height, width   of a block's tile; steps of the sum per stage, and so many stages
 * rows, columns   of a thread: a warp's lanes are lanes_y high and 32 / lanes_y wide
 */
template <int height, int width, int steps, int stages, int rows, int columns, int lanes_y>
struct warp_tile {
    enum {
        lanes_x = 32 / lanes_y,
        warps_x = width / (columns * lanes_x),
        warps_y = height / (rows * lanes_y),
        threads = warps_x * warps_y * 32,
        pitch_a = height + WARP_TILE_PADDING,
        pitch_b = width + WARP_TILE_PADDING,
        stage = steps * (pitch_a + pitch_b), /* floats */
    };
    static_assert(warps_x * columns * lanes_x == width && warps_y * rows * lanes_y == height,
                  "whole tiles of warps");
};

template <int way_a, int way_b, int height, int width, int steps, int stages, int rows, int columns,
          int lanes_y>
GM_DEVICE void warp_tile_sum(float (&sum)[rows][columns], float *shared, const sgemm_args &a,
                             int64_t row, int64_t column, int x, int y)
{
    typedef warp_tile<height, width, steps, stages, rows, columns, lanes_y> tile;
    const warp_tile_source source_a =
        warp_tile_begin<way_a, height, steps, tile::threads>(a.a, row);
    const warp_tile_source source_b =
        warp_tile_begin<way_b, width, steps, tile::threads>(a.b, column);
    const int64_t tiles = (a.depth + steps - 1) / steps;
    float of_a[2][rows], of_b[2][columns];

    /* The last tile goes first: it alone may lack steps, and the loop need not ask for them. */
    warp_tile_source from_a = source_a, from_b = source_b;
    if (tiles > 0) {
        const int left = (int)(a.depth - (tiles - 1) * steps);
        warp_tile_copy<way_a, height, steps, tile::threads>(
            shared, source_a, (tiles - 1) * source_a.advance, a.a.depth_stride, left);
        warp_tile_copy<way_b, width, steps, tile::threads>(shared + steps * tile::pitch_a, source_b,
                                                           (tiles - 1) * source_b.advance,
                                                           a.b.depth_stride, left);
    }
    __pipeline_commit();
#pragma unroll
    for (int i = 1; i < stages - 1; i++) {
        if (i < tiles) {
            float *to = shared + i * tile::stage;
            warp_tile_copy<way_a, height, steps, tile::threads>(to, from_a, 0, a.a.depth_stride,
                                                                steps);
            warp_tile_copy<way_b, width, steps, tile::threads>(to + steps * tile::pitch_a, from_b,
                                                               0, a.b.depth_stride, steps);
            from_a.at += from_a.advance;
            from_b.at += from_b.advance;
        }
        __pipeline_commit();
    }
    gm_pipeline_wait_prior<stages - 2>();
    __syncthreads();

    int now = 0, next = (stages - 1) * tile::stage; /* where is computed, where is copied to */
    const float *at_a = shared + y, *at_b = shared + steps * tile::pitch_a + x;
    if (tiles > 0) {
        warp_tile_read<rows, lanes_y>(of_a[0], at_a);
        warp_tile_read<columns, tile::lanes_x>(of_b[0], at_b);
    }
    for (int64_t left = tiles; left > 0; left--) {
#pragma unroll
        for (int k = 0; k < steps; k++) {
            if (k + 1 == steps) {
                gm_pipeline_wait_prior<stages - 2>();
                __syncthreads();
                now = now + tile::stage == stages * tile::stage ? 0 : now + tile::stage;
            }
            /* After the last tile this reads a stage that is there, for nothing. */
            const float *step_a = at_a + now + (k + 1) % steps * tile::pitch_a;
            const float *step_b = at_b + now + (k + 1) % steps * tile::pitch_b;
            if (k + 1 < steps || left > 1) {
                warp_tile_read<rows, lanes_y>(of_a[(k + 1) % 2], step_a);
                warp_tile_read<columns, tile::lanes_x>(of_b[(k + 1) % 2], step_b);
            }
            if (k == 0) {
                if (left > stages - 1) {
                    float *to = shared + next;
                    warp_tile_copy<way_a, height, steps, tile::threads>(to, from_a, 0,
                                                                        a.a.depth_stride, steps);
                    warp_tile_copy<way_b, width, steps, tile::threads>(
                        to + steps * tile::pitch_a, from_b, 0, a.b.depth_stride, steps);
                    from_a.at += from_a.advance;
                    from_b.at += from_b.advance;
                }
                __pipeline_commit();
                next = now; /* all will have read it when the next tile begins */
            }
            warp_tile_multiply(sum, of_a[k % 2], of_b[k % 2]);
        }
    }
}

GM_DEVICE bool warp_tile_vectors(const sgemm_factor &x, int64_t first, int lines)
{
    return x.vectors && !x.along_depth && (x.lines - first >= lines || x.lines % 4 == 0);
}

template <int height, int width, int steps, int stages, int rows, int columns, int lanes_y>
GM_DEVICE void warp_tile_product(const sgemm_args &a, float *shared)
{
    typedef warp_tile<height, width, steps, stages, rows, columns, lanes_y> tile;
    int64_t row, column;
    float sum[rows][columns] = {};

    /* Neighbours share their lines of B if one is even, and of A in runs of a row of lanes: the
     * halves of a warp's request for 16 bytes each are then served at once. */
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int lane_x, lane_y;
    if (lanes_y == 4) {
        lane_x = lane / 2 % 8;
        lane_y = lane / 16 * 2 + lane % 2;
    } else {
        lane_y = lane / 2 % 8;
        lane_x = lane / 16 * 2 + lane % 2;
    }
    const int x = warp % tile::warps_x * (columns * tile::lanes_x) + lane_x * 4;
    const int y = warp / tile::warps_x * (rows * lanes_y) + lane_y * 4;

    sgemm_find_tile(a, height, width, &row, &column);
    const bool vectors_a = warp_tile_vectors(a.a, row, height);
    const bool vectors_b = warp_tile_vectors(a.b, column, width);
#define WARP_TILE_SUM(way_a, way_b)                                                                \
    warp_tile_sum<way_a, way_b, height, width, steps, stages, rows, columns, lanes_y>(             \
        sum, shared, a, row, column, x, y)
    if (a.a.along_depth) {
        if (vectors_b) {
            WARP_TILE_SUM(BY_DEPTH, BY_VECTORS);
        } else if (a.b.along_depth) {
            WARP_TILE_SUM(BY_DEPTH, BY_DEPTH);
        } else {
            WARP_TILE_SUM(BY_DEPTH, BY_LINES);
        }
    } else if (vectors_a) {
        if (vectors_b) {
            WARP_TILE_SUM(BY_VECTORS, BY_VECTORS);
        } else if (a.b.along_depth) {
            WARP_TILE_SUM(BY_VECTORS, BY_DEPTH);
        } else {
            WARP_TILE_SUM(BY_VECTORS, BY_LINES);
        }
    } else {
        if (vectors_b) {
            WARP_TILE_SUM(BY_LINES, BY_VECTORS);
        } else if (a.b.along_depth) {
            WARP_TILE_SUM(BY_LINES, BY_DEPTH);
        } else {
            WARP_TILE_SUM(BY_LINES, BY_LINES);
        }
    }
#undef WARP_TILE_SUM

    row += y;
    column += x;
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            sgemm_store4(a, row + i / 4 * (lanes_y * 4) + i % 4, column + j * tile::lanes_x,
                         &sum[i][j]);
        }
    }
}

#endif
