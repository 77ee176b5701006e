/* transpose: which variant "auto" is. Limits are what was measured on an H200. */
#include "transpose/choose.h"

#include <string.h>

#include "transpose/plan_vectors.h"

bool transpose_is_whole(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    uintptr_t bits = (uintptr_t)in->data | (uintptr_t)call->out.data |
                     (uintptr_t)(in->shape[0] * in->itemsize) |
                     (uintptr_t)(in->shape[1] * in->itemsize) | (uintptr_t)in->strides[0];
    return bits % 16 == 0;
}

bool transpose_rows_follow(const gm_array *in)
{
    return in->shape[0] <= 1 || in->strides[0] >= in->shape[1] * in->itemsize;
}

/* Few enough columns, or rows, that tiles would hang over the edge with most of them. */
static bool is_narrow(const gm_array *in, int64_t columns, int64_t rows)
{
    return in->shape[1] <= columns || in->shape[0] <= rows;
}

/* Elements that a variant's tiles cover: some hang over the edges. */
static double covered(const gm_call *call, const char *name)
{
    const gm_array *in = &call->in[0];
    const gm_variant *variant = gm_find_variant(call->family, name);
    int64_t across = transpose_divide_up(in->shape[1], variant->tile.x) * variant->tile.x;
    int64_t down = transpose_divide_up(in->shape[0], variant->tile.y) * variant->tile.y;
    return (double)across * (double)down;
}

enum { MUCH = 64 << 20 /* bytes: more than stays in the L2 */ };

/* Tiles that are shifted, for elements of 1 or 2 bytes. Of those for bytes large matrices like the
 * ones with long runs, small ones need many; rows that are not many all like the former. */
static const char *choose_shifted(const gm_call *call)
{
    enum { LARGE = 88 << 20, SMALL = 4 << 20, NOT_MANY = 1024 };
    const gm_array *in = &call->in[0];
    if (in->itemsize == 2) {
        return "shifted_halves";
    }
    double dearer = in->bytes >= LARGE ? 0.98 : 1.08;
    bool flat = in->shape[1] > in->shape[0] && in->shape[0] <= NOT_MANY && in->bytes >= SMALL;
    bool long_runs = covered(call, "shifted_spans") * dearer < covered(call, "shifted_bytes");
    return flat || long_runs ? "shifted_spans" : "shifted_bytes";
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
    if (rows > NARROW_VECTORS_MOST || !transpose_rows_follow(in)) {
        return false;
    }
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
    if (pitch > NARROW_WORDS_ROW || !transpose_rows_follow(in)) {
        return false;
    }
    if (in->bytes < MUCH
            ? pitch > 160 * size
            : size == 2 && cols > 64 && (double)in->size > 0.8 * covered(call, "shifted_halves")) {
        return false;
    }
    if (bits % GM_SECTOR == 0) {
        return cols > 64;
    }
    int most = size == 2 ? 6 : cols > 48 && cols < 192 ? 4 : 3;
    return cols > 23 && transpose_vectors_passes(call) <= most;
}

/* Elements of 1 or 2 bytes: tiles of vectors if both sides are made of them, and tiles are full. */
static const char *choose_small(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    bool bytes = in->itemsize == 1, much = in->bytes >= MUCH;
    int64_t columns = bytes ? (much ? 79 : 63) : (much ? 63 : 39);
    int64_t rows = bytes ? 64 : (much ? 63 : 47);
    if (transpose_is_whole(call) && !is_narrow(in, columns, rows)) {
        return bytes ? "tile_vec16" : "tile_vec8";
    }
    if (in->shape[1] > in->shape[0] ? gathers_rows(call) : gathers_columns(call)) {
        return "narrow_vectors";
    }
    bool words =
        is_narrow(in, bytes ? 96 : 64, transpose_rows_follow(in) ? 128 : NARROW_WORDS_MOST);
    return words ? "narrow_words" : choose_shifted(call);
}

/* Elements of 4 bytes in tiles: the wider one reads longer runs, if there are enough of them. Where
 * rows do not begin with lines of the L2, this is worth the elements that it misses. */
static const char *choose_words(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t cols = in->shape[1];
    bool lines = in->strides[0] % 128 == 0 || cols < 80 || (cols > 128 && cols < 168);
    int64_t large = (int64_t)(lines ? 256 : 48) << 20; /* bytes */
    double missed = lines ? 1.02 : 1.34;
    bool wide = in->bytes > large && in->shape[0] >= 96 &&
                covered(call, "tile_vec4_wide") <= missed * covered(call, "tile_vec4");
    return wide ? "tile_vec4_wide" : "tile_vec4";
}

/* The same where the output's rows do not all begin at 16 bytes, in tiles that are shifted. */
static const char *choose_shifted_words(const gm_array *in)
{
    int64_t cols = in->shape[1];
    bool strips = cols <= 48 || (cols > 64 && cols <= 68) ||
                  (cols <= 192 && (cols - 1) % 64 < 32 && cols % 16 == 0);
    return strips ? "shifted_strips" : "shifted_words";
}

/* Rows of the output that do not begin at 16 bytes are written best from tiles that are shifted so
 * that each store fills its sectors. */
static const char *choose_tiles(const gm_call *call)
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
            return "narrow";
        }
        if (out_whole ? cols >= 32 : rows <= 72) {
            bool halves = rows % 8 != 0 && rows >= 96 && rows <= 1024 && cols > rows; /* sectors */
            return halves ? "shifted_words" : choose_words(call);
        }
        return choose_shifted_words(in);
    case 8: return is_narrow(in, 32, 32) ? "narrow" : "tile_vec2";
    default: return is_narrow(in, 16, 16) ? "narrow" : "tile_vec1";
    }
}

/* May a variant with such a grid have the input? Its row of the ladder does not say so. */
static bool takes(int grid, const gm_array *in)
{
    int64_t rows = in->shape[0], cols = in->shape[1], few = transpose_smaller(rows, cols);
    switch (grid) {
    case GRID_SHIFTED: return transpose_rows_follow(in);
    case GRID_NARROW: return few <= NARROW_MOST;
    case GRID_NARROW_WORDS: /* a piece has the gaps between short rows */
        return few <= NARROW_WORDS_MOST &&
               (cols > rows || (transpose_rows_follow(in) && in->strides[0] <= NARROW_WORDS_ROW));
    default: return true;
    }
}

const gm_variant *transpose_choose(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    const char *names[4] = {NULL};
    int count = 0;
    /* A single row is the same memory as a single column: a copy. */
    if (transpose_smaller(in->shape[0], in->shape[1]) > 1) {
        const char *shifted = in->itemsize == 1 ? "shifted_bytes" : "shifted_halves";
        const char *best = choose_tiles(call);
        const char *wanted[] = {best, "narrow", shifted};
        int others = strcmp(best, "narrow_words") == 0 ? 3 : 1; /* that do, where it does not */
        for (int i = 0; i < others; i++) {
            if (takes(gm_find_variant(call->family, wanted[i])->grid, in)) {
                names[count++] = wanted[i];
            }
        }
    }
    return gm_first_that_fits(call, names, "strided");
}
