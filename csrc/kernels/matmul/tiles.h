/*
 * A product by tiles: of any stack of products, with shares of the depth.
 *
 *     team      the threads that compute a tile: a block, or a warp where matrices are small
 *     group     warps that compute the whole tile together, for a part of the steps of each stage;
 *               the sums of the groups are added in the end, always in the same order
 *     warp      4 x 8 lanes
 *     thread    `rows` x `columns` sums, in vectors: of rows 16 apart, of columns 32 apart
 *     stage     `steps` steps of A and of B in shared memory, lines side by side; there are three
 *               or more, and asynchronous copies fill the next ones while one is computed
 *
 * Groups make small tiles worth a block: with 32 x 32 tiles a product of 256 x 256 is work for 64
 * multiprocessors, whose eight warps each sum an eighth of the steps, and the 256 threads have as
 * many loads in flight as for a large tile.
 *
 *     steps of a stage    0 ... 7   8 ... 15   16 ... 23   ...
 *     32 x 32             warp 0    warp 1     warp 2      ...       8 groups of 1 warp
 *     64 x 64             warps 0 1 warps 2 3  ...                   4 groups of 2
 *
 * Where there are many tiles, a block of two warps computes 64 x 64 or 64 x 32 without groups:
 * there are no sums of groups to add, and while one of a multiprocessor's six or eight blocks waits
 * at a barrier, the others compute.
 *
 * Tiles that are not square may be turned: then the kernel computes the transposed results, of the
 * factors in the other order, and the sums are written column by column.
 */
#ifndef GPUMEM_MATMUL_TILES_H
#define GPUMEM_MATMUL_TILES_H

#include "matmul.h"

template <int height_, int width_, int rows_, int columns_, int groups_, int per_, int stages_,
          int threads_>
struct tiles_shape {
    static constexpr int height = height_, width = width_, threads = threads_;
    static constexpr int rows = rows_, columns = columns_;
    static constexpr int groups = groups_, per = per_, steps = groups * per, stages = stages_;
    static constexpr int block = threads == 32 ? MATMUL_THREADS : threads, teams = block / threads;
    static constexpr int warps_x = width / (columns * 8), warps_y = height / (rows * 4);
    static constexpr int pitch_a = height + 4, pitch_b = width + 4;
    static constexpr int floats = steps * (pitch_a + pitch_b);                /* of a stage */
    static constexpr int sums = groups > 1 ? groups *height *(width + 4) : 0; /* see tiles_left */
    static constexpr int team_floats = stages * floats > sums ? stages *floats : sums;
    static_assert(warps_x * warps_y * groups * 32 == threads, "a part of the tile for each warp");
    static_assert(groups == 1 || threads == MATMUL_THREADS, "all threads add the groups' sums");
};

template <typename shape> GM_DEVICE void tiles_meet(void)
{
    if (shape::teams > 1) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/* ---- copy ------------------------------------------------------------------------------------ */

/* How neighbours in memory are copied: lines by fours or one by one, or steps one by one. */
enum { BY_FOURS, BY_LINES, BY_STEPS };

/* What a thread copies of a factor's part of a stage: numbers that are `lines_apart` and
 * `steps_apart`. A warp that copies by steps has 8 of them, a whole sector, of four lines; in
 * shared memory steps are 4 banks apart, so that its 32 numbers go to 32 banks. */
template <typename shape, int lines, int by> struct tiles_part {
    static constexpr int wide = by == BY_FOURS ? 4 : 1;
    static constexpr int steps = by == BY_STEPS ? 8 : 1; /* side by side */
    static constexpr int at_once = shape::threads * wide / steps;
    static constexpr int lines_apart = at_once < lines ? at_once : lines;
    static constexpr int steps_apart = at_once / lines_apart * steps;
    static_assert(lines % lines_apart == 0 && at_once % lines_apart == 0, "whole copies");
    static_assert(shape::steps % steps_apart == 0, "whole copies");
};

/* Where a thread copies its first number of the next stage. */
typedef struct tiles_source {
    const float *at;
    int by;
    int line, step;
    int lines;       /* of the tile: fewer at the edge of the matrix */
    int64_t advance; /* elements from stage to stage */
} tiles_source;

template <typename shape, int lines, int by>
GM_DEVICE void tiles_find(tiles_source &source, int thread)
{
    typedef tiles_part<shape, lines, by> part;
    const int across = thread / part::steps;
    source.line = across * part::wide % part::lines_apart;
    source.step = thread % part::steps + across * part::wide / part::lines_apart * part::steps;
}

template <typename shape, int lines>
GM_DEVICE tiles_source tiles_begin(const matmul_factor &x, int64_t first_line, int64_t first_step,
                                   int thread)
{
    tiles_source source;
    source.by = x.along_depth ? BY_STEPS : x.vectors ? BY_FOURS : BY_LINES;
    if (source.by == BY_STEPS) {
        tiles_find<shape, lines, BY_STEPS>(source, thread);
    } else if (source.by == BY_FOURS) {
        tiles_find<shape, lines, BY_FOURS>(source, thread);
    } else {
        tiles_find<shape, lines, BY_LINES>(source, thread);
    }
    source.at = x.data + (first_line + source.line) * x.line_stride +
                (first_step + source.step) * x.depth_stride;
    source.lines = (int)min(x.lines - first_line, (int64_t)lines);
    source.advance = shape::steps * x.depth_stride;
    return source;
}

/* Starts the thread's copies of a stage, lines side by side. Unless `whole`, `left` steps exist and
 * not all lines; zeros take the place of the others, which are not read. */
template <typename shape, int lines, int by, bool whole>
GM_DEVICE void tiles_copy_by(float *stage, const matmul_factor &x, const tiles_source &source,
                             int left)
{
    typedef tiles_part<shape, lines, by> part;
    constexpr int pitch = lines + 4, bytes = part::wide * 4;
    float *to = stage + source.step * pitch + source.line;
#pragma unroll
    for (int line = 0; line < lines; line += part::lines_apart) {
        const float *from = source.at + line * x.line_stride;
#pragma unroll
        for (int step = 0; step < shape::steps; step += part::steps_apart) {
            const int numbers = source.lines - source.line - line;
            const int some =
                part::wide == 1 ? (numbers > 0) * bytes : min(max(numbers * 4, 0), bytes);
            const int there = whole ? bytes : source.step + step < left ? some : 0;
            gm_copy_async<bytes>(to + step * pitch + line, from, there);
            from += part::steps_apart * x.depth_stride;
        }
    }
}

template <typename shape, int lines, bool whole>
GM_DEVICE void tiles_copy_some(float *stage, const matmul_factor &x, const tiles_source &source,
                               int left)
{
    if (source.by == BY_STEPS) {
        tiles_copy_by<shape, lines, BY_STEPS, whole>(stage, x, source, left);
    } else if (source.by == BY_FOURS) {
        tiles_copy_by<shape, lines, BY_FOURS, whole>(stage, x, source, left);
    } else {
        tiles_copy_by<shape, lines, BY_LINES, whole>(stage, x, source, left);
    }
}

template <typename shape, int lines>
GM_DEVICE void tiles_copy(float *stage, const matmul_factor &x, tiles_source &source, int left)
{
    if (source.lines == lines && left >= shape::steps) {
        tiles_copy_some<shape, lines, true>(stage, x, source, left);
    } else {
        tiles_copy_some<shape, lines, false>(stage, x, source, left);
    }
    source.at += source.advance;
}

/* ---- compute --------------------------------------------------------------------------------- */

/* A thread's lines of one step: vectors, `apart` lines from one to the next. */
template <int count, int apart> GM_DEVICE void tiles_read(float (&lines)[count], const float *from)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 four = *(const float4 *)(from + i / 4 * apart);
        lines[i] = four.x, lines[i + 1] = four.y, lines[i + 2] = four.z, lines[i + 3] = four.w;
    }
}

/* Where a thread is in its team. The two lanes of a pair share their columns, the 16 of a half warp
 * two rows of lanes: the halves of a request for 16 bytes per lane are each served in one pass. */
typedef struct tiles_place {
    int group, row, column;
} tiles_place;

template <typename shape> GM_DEVICE tiles_place tiles_find_place(int thread)
{
    const int warp = thread / 32, lane = thread % 32;
    tiles_place place;
    place.group = warp / (shape::warps_x * shape::warps_y);
    place.row =
        warp / shape::warps_x % shape::warps_y * (shape::rows * 4) + (lane / 16 * 2 + lane % 2) * 4;
    place.column = warp % shape::warps_x * (shape::columns * 8) + lane / 2 % 8 * 4;
    return place;
}

/* The group's part of a stage, for the first `rows` of each thread. */
template <typename shape, int rows>
GM_DEVICE void tiles_multiply(float (&sum)[shape::rows][shape::columns], const float *stage,
                              const tiles_place &place)
{
    const float *at_a = stage + place.group * shape::per * shape::pitch_a + place.row;
    const float *at_b = stage + shape::steps * shape::pitch_a +
                        place.group * shape::per * shape::pitch_b + place.column;
    float of_a[2][rows], of_b[2][shape::columns];
    tiles_read<rows, 16>(of_a[0], at_a);
    tiles_read<shape::columns, 32>(of_b[0], at_b);
#pragma unroll
    for (int k = 0; k < shape::per; k++) {
        if (k + 1 < shape::per) {
            tiles_read<rows, 16>(of_a[(k + 1) % 2], at_a + (k + 1) * shape::pitch_a);
            tiles_read<shape::columns, 32>(of_b[(k + 1) % 2], at_b + (k + 1) * shape::pitch_b);
        }
#pragma unroll
        for (int i = 0; i < rows; i++) {
#pragma unroll
            for (int n = 0; n < shape::columns; n++) {
                const int j = i % 2 ? shape::columns - 1 - n : n;
                sum[i][j] += of_a[k % 2][i] * of_b[k % 2][j];
            }
        }
    }
}

template <typename shape>
GM_DEVICE void tiles_sum(float (&sum)[shape::rows][shape::columns], float *shared,
                         const matmul_factor &a, const matmul_factor &b, int64_t row,
                         int64_t column, int64_t first, int64_t depth, int thread)
{
    constexpr int ahead = shape::stages - 1, of_a = shape::steps * shape::pitch_a;
    const tiles_place place = tiles_find_place<shape>(thread);
    tiles_source from_a = tiles_begin<shape, shape::height>(a, row, first, thread);
    tiles_source from_b = tiles_begin<shape, shape::width>(b, column, first, thread);
    /* At the edge of the matrix a warp may have no rows or columns, or only the first of each
     * thread's two vectors of rows. */
    const int rows = from_a.lines - place.row / (shape::rows * 4) * (shape::rows * 4);
    const int columns = from_b.lines - place.column / (shape::columns * 8) * (shape::columns * 8);
    const bool is_half = shape::rows == 8 && rows <= 16;
    float *const end = shared + shape::stages * shape::floats;
    float *now = shared, *next = shared;
    int64_t left = depth; /* that are not being copied yet */

#pragma unroll 1
    for (int i = -ahead; depth > 0; i++) {
        if (i >= 0) {
            gm_pipeline_wait_prior<ahead - 1>();
            tiles_meet<shape>();
        }
        if (left > 0) {
            const int some = (int)min(left, (int64_t)shape::steps);
            tiles_copy<shape, shape::height>(next, a, from_a, some);
            tiles_copy<shape, shape::width>(next + of_a, b, from_b, some);
            left -= shape::steps;
            next = next + shape::floats == end ? shared : next + shape::floats;
        }
        __pipeline_commit();
        if (i >= 0) {
            if (rows <= 0 || columns <= 0 || place.group * shape::per >= depth) {
                /* nothing of it is the warp's */
            } else if (is_half) {
                tiles_multiply<shape, 4>(sum, now, place);
            } else {
                tiles_multiply<shape, shape::rows>(sum, now, place);
            }
            depth -= shape::steps;
            now = now + shape::floats == end ? shared : now + shape::floats;
        }
    }
}

/* ---- the result ------------------------------------------------------------------------------ */

/* How sums get to the result: those of `height` x `width` lie in shared memory, with so many floats
 * from row to row, or from column to column, once for each group. The threads that write them take
 * neighbours of the result, `wide` each, which are neighbours in a row of the tile, or in a column
 * where it is turned. Where they are `swapped`, column n has the place of n ^ 1. */
template <int height_, int width_, int groups_, int threads_, bool by_columns_ = false,
          bool swapped_ = false>
struct tiles_left {
    static constexpr int height = height_, width = width_, groups = groups_, threads = threads_;
    static constexpr bool by_columns = by_columns_, swapped = swapped_;
    static constexpr int pitch = (by_columns ? height : width) + 4;
    static constexpr int sums = (by_columns ? width : height) * pitch; /* of a group */
};

/* Reads the next neighbours of one group, which are `apart` floats apart. */
template <int wide, int apart> GM_DEVICE void tiles_take(float (&sums)[wide], const float *from)
{
    if constexpr (apart == 1 && wide == 4) {
        tiles_read<4, 4>(sums, from);
    } else {
#pragma unroll
        for (int j = 0; j < wide; j++) {
            sums[j] = from[j * apart];
        }
    }
}

/* Adds the sums of all groups, the first one's first. */
template <typename left, int wide, int apart>
GM_DEVICE void tiles_total(float (&total)[wide], const float *from)
{
    float more[wide];
    tiles_take<wide, apart>(total, from);
#pragma unroll
    for (int group = 1; group < left::groups; group++) {
        tiles_take<wide, apart>(more, from + group * left::sums);
#pragma unroll
        for (int j = 0; j < wide; j++) {
            total[j] += more[j];
        }
    }
}

template <bool swapped> GM_DEVICE void tiles_store(float *to, const float (&total)[4])
{
    sgemm_store_at(to, swapped ? make_float4(total[1], total[0], total[3], total[2])
                               : make_float4(total[0], total[1], total[2], total[3]));
}

template <bool swapped> GM_DEVICE void tiles_store(float *to, const float (&total)[1])
{
    sgemm_store_at(to, total[0]);
}

/* The sums to the result. `wide` is 4 where its rows are made of aligned vectors. Those of a batch
 * are all read before the first is stored, so that they do not wait for each other. */
template <typename left, bool turned, int wide>
GM_DEVICE void tiles_write_by(const matmul_args &a, float *out, int64_t row, int64_t column,
                              const float *shared, int thread)
{
    constexpr int run = (turned ? left::height : left::width) / wide;
    constexpr int count = left::height * left::width / wide, each = count / left::threads;
    constexpr int batch = each % 4 == 0 ? 4 : each % 2 == 0 ? 2 : 1;
    constexpr bool across = turned != left::by_columns; /* neighbours lie in other rows there */
    constexpr int apart = across ? left::pitch : 1;
    static_assert(!left::swapped || (!turned && !across), "of rows that are written as they lie");
    static_assert(count % left::threads == 0, "all threads write as many");
    const int64_t columns = turned ? a.a.lines : a.b.lines;
    const int down_left = (int)min(a.a.lines - row, (int64_t)left::height);
    const int along_left = (int)min(a.b.lines - column, (int64_t)left::width);
    float *to = out + (turned ? column * columns + row : row * columns + column);
    gm_settle(to);
#pragma unroll 1
    for (int first = thread; first < count; first += batch * left::threads) {
        float total[batch][wide];
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int i = first + k * left::threads, down = i / run, along = i % run * wide;
            const int x = left::swapped && wide == 1 ? along ^ 1 : along;
            tiles_total<left, wide, apart>(
                total[k], shared + (across ? x * left::pitch + down : down * left::pitch + x));
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int i = first + k * left::threads, down = i / run, along = i % run * wide;
            if (down < (turned ? along_left : down_left) &&
                along < (turned ? down_left : along_left)) {
                tiles_store<left::swapped>(to + (unsigned)down * columns + (unsigned)along,
                                           total[k]);
            }
        }
    }
}

template <typename left, bool turned>
GM_DEVICE void tiles_write_some(const matmul_args &a, float *out, int64_t row, int64_t column,
                                const float *shared, int thread)
{
    if (a.out_vectors) {
        tiles_write_by<left, turned, 4>(a, out, row, column, shared, thread);
    } else {
        tiles_write_by<left, turned, 1>(a, out, row, column, shared, thread);
    }
}

template <typename left>
GM_DEVICE void tiles_write(const matmul_args &a, float *out, int64_t row, int64_t column,
                           const float *shared, int thread)
{
    if (a.turned) {
        tiles_write_some<left, true>(a, out, row, column, shared, thread);
    } else {
        tiles_write_some<left, false>(a, out, row, column, shared, thread);
    }
}

/* A thread leaves its sums, from its first row and column on. */
template <int pitch, int rows, int columns>
GM_DEVICE void tiles_leave(float *at, const float (&sum)[rows][columns])
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
        float *to = at + (i / 4 * 16 + i % 4) * pitch;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            *(float4 *)(to + j * 8) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        }
    }
}

/* Where there are groups, each leaves its sums, and every thread adds some of all groups. Else each
 * warp leaves and writes its own. */
template <typename shape>
GM_DEVICE void tiles_result(const matmul_args &a, float *out, int64_t row, int64_t column,
                            const float (&sum)[shape::rows][shape::columns], float *shared,
                            int thread)
{
    const tiles_place place = tiles_find_place<shape>(thread);
    tiles_meet<shape>(); /* all have read the last stage */
    if constexpr (shape::groups > 1) {
        typedef tiles_left<shape::height, shape::width, shape::groups, shape::threads> left;
        float *at = shared + (place.group * shape::height + place.row) * left::pitch + place.column;
        tiles_leave<left::pitch>(at, sum);
        __syncthreads();
        tiles_write<left>(a, out, row, column, shared, thread);
    } else {
        constexpr int height = shape::rows * 4, width = shape::columns * 8;
        typedef tiles_left<height, width, 1, 32> left;
        static_assert(shape::warps_x * shape::warps_y * height * left::pitch <= shape::team_floats,
                      "room for the sums of all warps");
        const int y = place.row % height, x = place.column % width;
        float *const own = shared + thread / 32 * (height * left::pitch);
        tiles_leave<left::pitch>(own + y * left::pitch + x, sum);
        __syncwarp();
        tiles_write<left>(a, out, row + place.row - y, column + place.column - x, own, thread % 32);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

template <typename shape> GM_DEVICE void tiles_product(const matmul_args &a, float *shared)
{
    const int team = threadIdx.x / shape::threads, thread = threadIdx.x % shape::threads;
    const unsigned tiles = (unsigned)(a.tiles_x * a.tiles_y);
    const unsigned item = blockIdx.x * shape::teams + team; /* fits: see the ladder's hook */
    const unsigned product = item / tiles, tile = item % tiles;
    const int64_t row = tile / (unsigned)a.tiles_x * (int64_t)shape::height;
    const int64_t column = tile % (unsigned)a.tiles_x * (int64_t)shape::width;
    const int64_t first = blockIdx.y * a.share;
    float sum[shape::rows][shape::columns] = {};
    matmul_factor left, right;

    if (product >= a.products) {
        return; /* in the last block, for a team that is a warp */
    }
    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(a, product, &left, &right);
    shared += team * shape::team_floats;
    tiles_sum<shape>(sum, shared, left, right, row, column, first, min(a.depth - first, a.share),
                     thread);
    float *out = a.out + blockIdx.y * a.partial + product * a.a.lines * a.b.lines;
    tiles_result<shape>(a, out, row, column, sum, shared, thread);
}

#endif
