/* transpose: which variant "auto" is. Limits are what was measured on an H200. */
#include "transpose/choose.h"

#include "transpose/plan_vectors.h"

/* Few enough columns, or rows, that tiles would hang over the edge with most of them. */
static bool is_narrow(const gm_array *in, int64_t columns, int64_t rows)
{
    return in->shape[1] <= columns || in->shape[0] <= rows;
}

/* Elements that a variant's tiles cover: some hang over the edges. */
static double covered(const gm_call *call, int row)
{
    const gm_array *in = &call->in[0];
    const gm_dim tile = gm_row(call, row)->tile;
    int64_t across = transpose_divide_up(in->shape[1], tile.x) * tile.x;
    int64_t down = transpose_divide_up(in->shape[0], tile.y) * tile.y;
    return (double)across * (double)down;
}

enum { MUCH = 64 << 20 /* bytes: more than stays in the L2 */ };

/* Tiles that are shifted, for elements of 1 or 2 bytes. Of those for bytes large matrices like the
 * ones with long runs, small ones need many; rows that are not many all like the former. */
static int choose_shifted(const gm_call *call)
{
    enum { LARGE = 88 << 20, SMALL = 4 << 20, NOT_MANY = 1024 };
    const gm_array *in = &call->in[0];
    if (in->itemsize == 2) {
        return transpose_row_shifted_halves;
    }
    double dearer = in->bytes >= LARGE ? 0.98 : 1.08;
    bool flat = in->shape[1] > in->shape[0] && in->shape[0] <= NOT_MANY && in->bytes >= SMALL;
    bool long_runs = covered(call, transpose_row_shifted_spans) * dearer <
                     covered(call, transpose_row_shifted_bytes);
    return flat || long_runs ? transpose_row_shifted_spans : transpose_row_shifted_bytes;
}

/* Few rows of elements of 1 or 2 bytes: do vectors that are gathered beat words that are turned, or
 * tiles? Words like rows in fours, and little to do; tiles of bytes have no row twice, and are 128
 * high, where all columns begin with a sector. */
static bool gathers_rows(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], size = in->itemsize, down = transpose_divide_up(rows, 128) * 128;
    uintptr_t bits = (uintptr_t)in->data | (uintptr_t)in->strides[0];
    bool fours = size == 1 && rows % 4 == 0;
    if (in->bytes < MUCH && (rows < 12 || (fours && rows <= 40))) {
        return false;
    }
    if (size == 1 && rows % 32 == 0 && (uintptr_t)call->out.data % 32 == 0 && 5 * rows > 4 * down) {
        return false;
    }
    return !(fours && rows <= 64 && bits % 4 == 0);
}

/* The same of few columns: words like those that all begin with a sector, and tiles are as good
 * where they are full. Vectors need banks that are not much in demand. */
static bool gathers_columns(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t cols = in->shape[1], size = in->itemsize, pitch = in->strides[0];
    uintptr_t bits = (uintptr_t)call->out.data | (uintptr_t)(in->shape[0] * size);
    if (in->bytes < MUCH
            ? pitch > 160 * size
            : size == 2 && cols > 64 &&
                  (double)in->size > 0.8 * covered(call, transpose_row_shifted_halves)) {
        return false;
    }
    if (bits % GM_SECTOR == 0) {
        return cols > 64;
    }
    int most = size == 2 ? 6 : cols > 48 && cols < 192 ? 4 : 3;
    return cols > 23 && transpose_vectors_passes(call) <= most;
}

/* Elements of 1 or 2 bytes: tiles of vectors if both sides are made of them, and tiles are full. */
static int choose_small(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    bool bytes = in->itemsize == 1, much = in->bytes >= MUCH;
    int64_t columns = bytes ? (much ? 79 : 63) : (much ? 63 : 39);
    int64_t rows = bytes ? 64 : (much ? 63 : 47);
    if (transpose_is_whole(call) && !is_narrow(in, columns, rows)) {
        return bytes ? transpose_row_tile_vec16 : transpose_row_tile_vec8;
    }
    if (gm_variant_can(gm_row(call, transpose_row_narrow_vectors), call) &&
        (in->shape[1] > in->shape[0] ? gathers_rows(call) : gathers_columns(call))) {
        return transpose_row_narrow_vectors;
    }
    bool words =
        is_narrow(in, bytes ? 96 : 64, transpose_rows_follow(in) ? 128 : NARROW_WORDS_MOST);
    return words ? transpose_row_narrow_words : choose_shifted(call);
}

/* Elements of 4 bytes in tiles: the wider one reads longer runs, if there are enough of them. Where
 * rows do not begin with lines of the L2, this is worth the elements that it misses. */
static int choose_words(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t cols = in->shape[1];
    bool lines = in->strides[0] % 128 == 0 || cols < 80 || (cols > 128 && cols < 168);
    int64_t large = (int64_t)(lines ? 256 : 48) << 20; /* bytes */
    double missed = lines ? 1.02 : 1.34;
    bool wide = in->bytes > large && in->shape[0] >= 96 &&
                covered(call, transpose_row_tile_vec4_wide) <=
                    missed * covered(call, transpose_row_tile_vec4);
    return wide ? transpose_row_tile_vec4_wide : transpose_row_tile_vec4;
}

/* The same where the output's rows do not all begin at 16 bytes, in tiles that are shifted. */
static int choose_shifted_words(const gm_array *in)
{
    int64_t cols = in->shape[1];
    bool strips = cols <= 48 || (cols > 64 && cols <= 68) ||
                  (cols <= 192 && (cols - 1) % 64 < 32 && cols % 16 == 0);
    return strips ? transpose_row_shifted_strips : transpose_row_shifted_words;
}

/* Rows of the output that do not begin at 16 bytes are written best from tiles that are shifted so
 * that each store fills its sectors. */
static int choose_tiles(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    bool out_whole = ((uintptr_t)call->out.data | (uintptr_t)(rows * in->itemsize)) % 16 == 0;

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
            return halves ? transpose_row_shifted_words : choose_words(call);
        }
        return choose_shifted_words(in);
    case 8: return is_narrow(in, 32, 32) ? transpose_row_narrow : transpose_row_tile_vec2;
    default: return is_narrow(in, 16, 16) ? transpose_row_narrow : transpose_row_tile_vec1;
    }
}

const gm_variant *transpose_choose(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    /* A single row is the same memory as a single column: a copy. */
    if (transpose_smaller(in->shape[0], in->shape[1]) <= 1) {
        return gm_row(call, transpose_row_strided);
    }
    int best = choose_tiles(call);
    if (best != transpose_row_narrow_words) {
        return gm_first_that_fits(call, GM_ROWS(best, transpose_row_strided));
    }
    int shifted = in->itemsize == 1 ? transpose_row_shifted_bytes : transpose_row_shifted_halves;
    return gm_first_that_fits(call,
                              GM_ROWS(best, transpose_row_narrow, shifted, transpose_row_strided));
}
