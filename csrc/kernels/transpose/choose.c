/* transpose: which variant "auto" is. Limits are what was measured on an H200. */
#include "transpose/choose.h"

#include <string.h>

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

/*
 * Elements of 1 byte whose rows do not all begin at 16 bytes. A multiple of four rows, if they are
 * few, is turned in squares; any others take an instruction for each element. Large matrices like
 * tiles with long runs, small ones need many tiles.
 */
static const char *choose_bytes(const gm_call *call)
{
    enum { LARGE = 88 << 20 /* bytes */ };
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    bool aligned = ((uintptr_t)in->data | (uintptr_t)in->strides[0]) % 4 == 0;
    if (is_narrow(in, 96, 127) || (rows <= 256 && rows % 4 == 0 && cols > rows && aligned)) {
        return "narrow_words";
    }
    double dearer = in->bytes >= LARGE ? 0.98 : 1.08;
    bool long_runs = covered(call, "shifted_spans") * dearer < covered(call, "shifted_bytes");
    return long_runs ? "shifted_spans" : "shifted_bytes";
}

/* Elements of 4 bytes in tiles: the wider one reads longer runs, if there are enough of them. */
static const char *choose_words(const gm_call *call)
{
    const int64_t LARGE = (int64_t)256 << 20; /* bytes */
    bool wide = call->in[0].bytes > LARGE &&
                covered(call, "tile_vec4_wide") <= 1.02 * covered(call, "tile_vec4");
    return wide ? "tile_vec4_wide" : "tile_vec4";
}

/* Rows of the output that do not begin at 16 bytes are written best from tiles that are shifted so
 * that each store fills its sectors. */
static const char *choose_tiles(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    bool whole = transpose_is_whole(call);
    bool out_whole = ((uintptr_t)call->out.data | (uintptr_t)(rows * in->itemsize)) % 16 == 0;

    switch (in->itemsize) {
    case 1: return whole && !is_narrow(in, 32, 64) ? "tile_vec16" : choose_bytes(call);
    case 2:
        if (whole && !is_narrow(in, 32, 64)) {
            return "tile_vec8";
        }
        return is_narrow(in, 64, 128) ? "narrow_words" : "shifted_halves";
    case 4:
        if (is_narrow(in, 16, 26) || (rows <= 36 && !out_whole) ||
            (in->contiguous && (cols <= 23 || (cols > 32 && cols <= 40 && !out_whole)))) {
            return "narrow";
        }
        if (out_whole ? cols >= 32 : rows <= 72) {
            return choose_words(call);
        }
        return cols <= 48 || (cols <= 192 && (cols - 1) % 64 < 32) ? "shifted_strips"
                                                                   : "shifted_words";
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
