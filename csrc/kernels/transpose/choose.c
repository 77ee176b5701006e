/* transpose: which variant "auto" is. Limits are what was measured on an H200. */
#include "transpose/choose.h"

#include "permute/plan_channels.h"
#include "transpose/plan_vectors.h"

/* So few columns, or rows, that most of a tile would be beside the matrix. */
static bool is_narrow(const gm_array *in, int64_t columns, int64_t rows)
{
    return in->shape[1] <= columns || in->shape[0] <= rows;
}

/* Elements of all tiles of a row or instance, those beside the matrix included. */
static double covered(const gm_call *call, int row)
{
    const gm_array *in = &call->in[0];
    const gm_dim tile = gm_row(call, row)->tile;
    int64_t across = transpose_divide_up(in->shape[1], tile.x) * tile.x;
    int64_t down = transpose_divide_up(in->shape[0], tile.y) * tile.y;
    return (double)across * (double)down;
}

/* Do all rows of the output begin at 16 bytes? */
static bool writes_whole(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    return ((uintptr_t)call->out.data | (uintptr_t)(in->shape[0] * in->itemsize)) % 16 == 0;
}

enum { MUCH = 64 << 20 /* bytes: more than stays in the L2 */ };

/* ---- instances of a row -------------------------------------------------------------------- */

/* b32_wide reads longer runs, if there are enough tiles. Where rows do not begin with lines of the
 * L2, that is worth the elements that the tiles have beside the matrix. */
static int pick_vector_b32(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t cols = in->shape[1];
    bool lines = in->strides[0] % 128 == 0 || cols < 80 || (cols > 128 && cols < 168);
    int64_t large = (int64_t)(lines ? 256 : 48) << 20; /* bytes */
    double missed = lines ? 1.02 : 1.34;
    bool wide = in->bytes > large && in->shape[0] >= 96 &&
                covered(call, transpose_row_tile_vector_b32_wide) <=
                    missed * covered(call, transpose_row_tile_vector_b32);
    return wide ? transpose_row_tile_vector_b32_wide : transpose_row_tile_vector_b32;
}

int transpose_pick_vector(const gm_call *call)
{
    switch (call->in[0].itemsize) {
    case 1: return transpose_row_tile_vector_b8;
    case 2: return transpose_row_tile_vector_b16;
    case 4: return pick_vector_b32(call);
    case 8: return transpose_row_tile_vector_b64;
    default: return transpose_row_tile_vector_b128;
    }
}

/* Large matrices like b8_wide, which has longer runs; small ones need many tiles. */
static int pick_shifted_b8(const gm_call *call)
{
    enum { LARGE = 88 << 20, SMALL = 4 << 20, NOT_MANY = 1024 /* rows */ };
    const gm_array *in = &call->in[0];
    double dearer = in->bytes >= LARGE ? 0.98 : 1.08;
    bool flat = in->shape[1] > in->shape[0] && in->shape[0] <= NOT_MANY && in->bytes >= SMALL;
    bool long_runs = covered(call, transpose_row_shifted_b8_wide) * dearer <
                     covered(call, transpose_row_shifted_b8);
    return flat || long_runs ? transpose_row_shifted_b8_wide : transpose_row_shifted_b8;
}

/* Most of b32's tiles would be beside a matrix with so few columns. */
static int pick_shifted_b32(const gm_call *call)
{
    int64_t cols = call->in[0].shape[1];
    bool tall = cols <= 48 || (cols > 64 && cols <= 68) ||
                (cols <= 192 && (cols - 1) % 64 < 32 && cols % 16 == 0 && !writes_whole(call));
    return tall ? transpose_row_shifted_b32_tall : transpose_row_shifted_b32;
}

int transpose_pick_shifted(const gm_call *call)
{
    switch (call->in[0].itemsize) {
    case 1: return pick_shifted_b8(call);
    case 2: return transpose_row_shifted_b16;
    default: return pick_shifted_b32(call);
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Few rows of elements of 1 or 2 bytes: is narrow_vectors faster than narrow_words, and than tiles?
 * narrow_words is fast for rows in fours and for small matrices; shifted:b8, where all columns
 * begin with a sector, reads no row twice and has tiles 128 high. */
static bool gathers_rows(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], size = in->itemsize, down = transpose_divide_up(rows, 128) * 128;
    uintptr_t bits = (uintptr_t)in->data | (uintptr_t)in->strides[0];
    bool fours = size == 1 && rows % 4 == 0;
    const int64_t fewest = size == 2 && bits % 4 != 0 ? 7 : 12;
    if (in->bytes < MUCH && (rows < fewest || (fours && rows <= 40))) {
        return false;
    }
    if (size == 1 && rows % 32 == 0 && (uintptr_t)call->out.data % 32 == 0 && 5 * rows > 4 * down) {
        return false;
    }
    return !(fours && rows <= 64 && bits % 4 == 0);
}

/* Does narrow_words find the words of few columns as they are in memory? Otherwise it takes up to
 * twice as long. */
static bool begins_in_words(const gm_array *in)
{
    const uintptr_t pitch = transpose_rows_follow(in) ? 0 : (uintptr_t)in->strides[0];
    return ((uintptr_t)in->data | pitch) % 4 == 0;
}

/* The same for few columns: narrow_words is fast where all columns begin with a sector, tiles where
 * they are full. narrow_vectors needs few bank conflicts; of narrow matrices it is faster for rows
 * of an odd number of bytes, and of many halves. */
static bool gathers_columns(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t cols = in->shape[1], size = in->itemsize, pitch = in->strides[0];
    uintptr_t bits = (uintptr_t)call->out.data | (uintptr_t)(in->shape[0] * size);
    if (in->bytes < MUCH ? pitch > 160 * size
                         : size == 2 && cols > 64 &&
                               (double)in->size > 0.8 * covered(call, transpose_row_shifted_b16)) {
        return false;
    }
    if (bits % GM_SECTOR == 0) {
        return cols > 64;
    }
    if (cols <= 23) {
        return size == 2 ? cols >= 12 : in->bytes >= MUCH && cols >= 9 && cols % 2 != 0;
    }
    int most = size == 2 ? 6 : cols > 48 && cols < 192 ? 4 : 3;
    return transpose_vectors_passes(call) <= most;
}

/* Channels, to planes or back, that permute moves in registers, or gathers. */
static bool is_image(const gm_call *call)
{
    permute_layout layout;
    if (transpose_smaller(call->in[0].shape[0], call->in[0].shape[1]) > CHANNELS_MOST) {
        return false;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    return permute_has_channels(&layout, call);
}

/* Elements of 1 or 2 bytes: tile_vector if both sides are made of vectors and tiles are full. */
static int choose_small(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    bool bytes = in->itemsize == 1, much = in->bytes >= MUCH;
    int64_t columns = bytes ? (much ? 79 : 63) : (much ? 63 : 39);
    int64_t rows = bytes ? 64 : (much ? 63 : 47);
    if (transpose_is_whole(call) && !is_narrow(in, columns, rows)) {
        return transpose_row_tile_vector;
    }
    const bool few_columns = in->shape[1] <= in->shape[0];
    const bool words =
        is_narrow(in, bytes ? 96 : 64, transpose_rows_follow(in) ? 128 : NARROW_WORDS_MOST);
    const bool slow = words && few_columns && !begins_in_words(in);
    if (gm_variant_can(gm_row(call, transpose_row_narrow_vectors), call) &&
        (slow || (few_columns ? gathers_columns(call) : gathers_rows(call)))) {
        return transpose_row_narrow_vectors;
    }
    return words ? transpose_row_narrow_words : transpose_row_shifted;
}

/* Where rows of the output do not begin at 16 bytes, shifted tiles write whole sectors. */
static int choose_tiles(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    bool out_whole = writes_whole(call);

    if (is_image(call)) {
        return transpose_row_strided;
    }
    switch (in->itemsize) {
    case 1:
    case 2: return choose_small(call);
    case 4:
        if (is_narrow(in, 16, 26) || (rows <= 36 && !out_whole) ||
            (in->contiguous && (cols <= 23 || (cols > 32 && cols <= 40 && !out_whole)))) {
            return transpose_row_narrow;
        }
        if (out_whole ? cols >= 32 : rows <= 72) {
            bool halves = rows % 8 != 0 && rows >= 96 && rows <= 1024 && cols > rows; /* sectors */
            return halves ? transpose_row_shifted : transpose_row_tile_vector;
        }
        return transpose_row_shifted;
    case 8: return is_narrow(in, 32, 32) ? transpose_row_narrow : transpose_row_tile_vector;
    default: return is_narrow(in, 16, 16) ? transpose_row_narrow : transpose_row_tile_vector;
    }
}

const gm_variant *transpose_choose(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    /* A single row is the same memory as a single column: a copy. */
    if (in->ndim > 2 || transpose_smaller(in->shape[0], in->shape[1]) <= 1) {
        return gm_row(call, transpose_row_strided);
    }
    int best = choose_tiles(call);
    if (best != transpose_row_narrow_words) {
        return gm_first_that_fits(call, GM_ROWS(best, transpose_row_strided));
    }
    int shifted = in->itemsize == 1 ? transpose_row_shifted_b8 : transpose_row_shifted_b16;
    return gm_first_that_fits(call,
                              GM_ROWS(best, transpose_row_narrow, shifted, transpose_row_strided));
}
