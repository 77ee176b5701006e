/* permute: the plan of words, for a piece of the result that numbers of 32 bits are enough for. */
#include "permute/plan_pieces.h"

#include "near.h"

enum { WIDEST = 4 /* bytes of a unit */, LANES = 32, SAMPLES = 4 };

words_way permute_words_way(const permute_layout *layout)
{
    const int64_t units = layout->extent[0], unit = layout->unit;
    if (layout->from[0] == 0 && units * unit >= WORDS_BYTES(unit, WORDS_SAME)) {
        return WORDS_SAME;
    }
    if (layout->ndim == 1 || units * unit >= WORDS_BYTES(unit, WORDS_ANY)) {
        return WORDS_ANY;
    }
    return units * layout->extent[1] * unit >= WORDS_BYTES(unit, WORDS_SHORT) ? WORDS_SHORT
                                                                              : WORDS_SINGLE;
}

/* Bytes from the input's begin to a unit of the result. */
static int64_t offset_of(const permute_layout *layout, int64_t unit)
{
    int64_t offset = 0;
    for (int d = 0; d < layout->ndim; d++) {
        offset += unit % layout->extent[d] * layout->from[d];
        unit /= layout->extent[d];
    }
    return offset;
}

/* Lines of memory in which the lanes of a warp load one unit each, from a unit of the result on. */
static int lines_of_load(const permute_layout *layout, int64_t first)
{
    enum { LINE = 128 };
    const int64_t each = WORDS_BYTES(layout->unit, permute_words_way(layout)) / layout->unit;
    const char *lines[LANES];
    int count = 0;
    for (int lane = 0; lane < LANES; lane++) {
        const int64_t unit = (first + lane * each) % layout->units;
        const char *at = layout->in + offset_of(layout, unit);
        const char *line = at - (uintptr_t)at % LINE;
        int i = 0;
        while (i < count && lines[i] != line) {
            i++;
        }
        lines[i] = line;
        count += i == count;
    }
    return count;
}

double permute_words_least_time(const permute_layout *layout)
{
    static const double COPIED = 7.2; /* bytes that are copied while the L1 finds a line's, */
    static const double HALF = 8 << 20, LITTLE = 4 << 20; /* bytes */
    const double bytes = (double)layout->units * layout->unit;
    if (bytes < LITTLE) {
        return 0;
    }
    double lines = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        lines += lines_of_load(layout, layout->units / SAMPLES * i + i);
    }
    const double time = lines / SAMPLES * COPIED / (LANES * layout->unit);
    return 1 + (time - 1) * bytes / (bytes + HALF);
}

int64_t permute_words_piece(const permute_layout *layout)
{
    const int outer = layout->ndim - 1;
    const int64_t extent = layout->extent[outer], from = permute_magnitude(layout->from[outer]);
    const int64_t inner = layout->units / extent;
    int64_t reach = 0;
    for (int d = 0; d < outer; d++) {
        reach = gm_reach(reach, layout->extent[d], layout->from[d]);
    }
    if (layout->unit > WIDEST || inner > INT32_MAX || reach > INT32_MAX) {
        return 0;
    }
    const int64_t near = from > 0 ? (INT32_MAX - reach) / from + 1 : extent;
    const int64_t counted = INT32_MAX / inner;
    const int64_t most = near < counted ? near : counted;
    return extent < most ? extent : most;
}

bool permute_words_cut(const permute_layout *layout, int64_t from, permute_layout *piece)
{
    const int outer = layout->ndim - 1;
    const int64_t extent = layout->extent[outer], left = extent - from;
    const int64_t most = permute_words_piece(layout);
    if (left <= 0) {
        return false;
    }
    *piece = *layout;
    piece->in += from * layout->from[outer];
    piece->out += from * layout->to[outer];
    piece->extent[outer] = left < most ? left : most;
    piece->units = layout->units / extent * piece->extent[outer];
    return true;
}

void permute_plan_words(const permute_layout *piece, const gm_variant *variant, gm_plan *plan)
{
    permute_words_args *args = (permute_words_args *)plan->args;
    const int word = WORDS_BYTES(piece->unit, permute_words_way(piece));
    *args = (permute_words_args){
        .in = piece->in,
        .out = piece->out,
        .units = piece->units,
        .reciprocal = (uint32_t)(((int64_t)1 << 32) / piece->extent[0] + 1),
        .lead = (int)((uintptr_t)piece->out % (uintptr_t)word) / piece->unit,
        .unit = piece->unit,
        .ndim = piece->ndim,
    };
    for (int d = 0; d < piece->ndim; d++) {
        args->extent[d] = permute_divisor_of(piece->extent[d]);
        args->from[d] = (int32_t)piece->from[d];
    }
    plan->args_size = sizeof *args;
    const int64_t words = permute_divide_up(piece->units + args->lead, word / piece->unit);
    plan->grid.x = (unsigned)permute_divide_up(words, (int64_t)variant->block.x * WORDS_EACH);
}

/* Do the two innermost axes together end within many words? Then warps work out where the next
 * units are. */
bool permute_words_end_often(const permute_layout *layout)
{
    enum { WORD = 8, SELDOM = 1024 /* bytes */ };
    if (layout->ndim <= 2 || layout->extent[1] > SELDOM) {
        return false;
    }
    const int64_t bytes = layout->extent[0] * layout->extent[1] * layout->unit;
    return bytes < SELDOM && bytes % WORD != 0;
}
