/*
 * permute / words: whole words of the result, of units that are smaller.
 *
 * Follows  runs, of which a request for bytes brings 32 of them.
 * Idea     a thread has two words of the result, of 8 or 16 bytes. For each it divides to find the
 *          first unit's row, and its place in that; the others follow in that row, or where it
 *          ends, in the next ones. All units are in flight together. Those that are near each other
 *          in memory are in lines that the L1 has by then: every third byte, pixels in reverse, or
 *          channels in another order.
 * Same     of a row that is one unit again and again a word needs that, and the next row's.
 * Short    rows of fewer units than a word has: which one a unit is in is a product for each.
 * Single   two axes of fewer units than that: each unit is found by itself.
 * Ends     words in which the result begins or ends are stored unit by unit.
 * Machine  LDG.E.U8, PRMT, STG.E.64
 */
#include "access.h"
#include "permute.h"

enum { THREADS = 256 };

template <typename unit_, int way_> struct words_shape {
    typedef unit_ unit;
    static constexpr int way = way_, size = sizeof(unit);
    static constexpr int bytes = WORDS_BYTES(size, way), units = bytes / size;
    static constexpr int held = way == WORDS_SAME ? 2 : units; /* units, of a word */
};

/* Where units lie, in bytes from the input's first, by their places along the axes from `first` on;
 * along one after the other for all of them: what is known of an axis is loaded once, and the
 * divisions overlap. */
template <int count>
GM_DEVICE void words_find(const permute_words_args &a, int first, uint32_t (&rest)[count],
                          int32_t (&offset)[count])
{
#pragma unroll 1
    for (int d = first; d < a.ndim - 1; d++) {
#pragma unroll
        for (int k = 0; k < count; k++) {
            offset[k] += (int32_t)permute_take(&rest[k], a.extent[d]) * a.from[d];
        }
    }
    if (first < a.ndim) {
#pragma unroll
        for (int k = 0; k < count; k++) {
            offset[k] += (int32_t)rest[k] * a.from[a.ndim - 1];
        }
    }
}

/* ---- the units of a word -------------------------------------------------------------------- */

/* A word's first unit. */
struct words_place {
    uint32_t place, row; /* its place in its row, and which one that is */
    int32_t offset;      /* where it lies */
    bool whole;          /* all of the word is of the result */
};

template <typename shape>
GM_DEVICE uint32_t words_load_unit(const permute_words_args &a, int32_t offset)
{
    return __ldca((const typename shape::unit *)(a.in + offset));
}

template <typename shape>
GM_DEVICE void words_load_single(const permute_words_args &a, uint32_t first,
                                 uint32_t (&held)[shape::held])
{
    uint32_t rest[shape::units];
    int32_t offset[shape::units] = {};
#pragma unroll
    for (int j = 0; j < shape::units; j++) {
        rest[j] = first + j;
    }
    words_find(a, 0, rest, offset);
#pragma unroll
    for (int j = 0; j < shape::units; j++) {
        held[j] = words_load_unit<shape>(a, offset[j]);
    }
}

/* All units of one row. */
template <typename shape>
GM_DEVICE void words_load_row(const permute_words_args &a, const words_place &first,
                              uint32_t (&held)[shape::held])
{
    if (!first.whole) {
        return;
    }
    const char *const from = a.in + first.offset;
#pragma unroll
    for (int j = 0; j < shape::held; j++) {
        held[j] = shape::way == WORDS_SAME && j > 0
                      ? held[0]
                      : __ldca((const typename shape::unit *)(from + j * a.from[0]));
    }
}

/* How many rows after that of a word's first unit a unit is, `along` units from that row's begin.
 * Of a row that is as long as a word, one. */
template <typename shape>
GM_DEVICE uint32_t words_rows(const permute_words_args &a, int32_t along, uint32_t reciprocal)
{
    return shape::way == WORDS_SHORT ? __umulhi((uint32_t)along, reciprocal)
                                     : along >= (int32_t)a.extent[0].by;
}

/* Which unit of a word is held as number j: of two rows that are one unit each, the first of
 * either, unless the word ends before the second row, which may not exist. */
template <typename shape> GM_DEVICE int words_unit(int j, int of_row)
{
    return shape::way != WORDS_SAME || j == 0 ? j : of_row < shape::units ? of_row : 0;
}

/* The number is worked out here: sums of it are not replaced by products. */
GM_DEVICE void words_settle(uint32_t &number)
{
#ifdef __CUDACC__
    asm("" : "+r"(number));
#else
    (void)number;
#endif
}

/* Units of several rows, which follow each other along the next axis; where that ends, too, after
 * `left` units, others do, `behind` bytes from the input's begin. On the way to a unit's distance
 * sums may wrap around. */
template <typename shape>
GM_DEVICE void words_load_rows(const permute_words_args &a, const words_place &first,
                               uint32_t (&held)[shape::held])
{
    const int32_t extent = (int32_t)a.extent[0].by, place = (int32_t)first.place;
    const uint32_t step = (uint32_t)a.from[0];
    /* From a row's end to where the next one begins. */
    const uint32_t on = (uint32_t)a.from[1] - (uint32_t)extent * step;
    int32_t left = shape::units;
    uint32_t next[1] = {first.row};
    int32_t behind[1] = {};
    if (a.ndim > 2) {
        const int32_t at = (int32_t)permute_take(&next[0], a.extent[1]);
        left = min(((int32_t)a.extent[1].by - at) * extent - place, shape::units);
    }
    const bool crosses = first.whole && left < shape::units;
    const bool any = __any_sync(0xffffffffu, crosses);
    if (!first.whole) {
        return;
    }
    if (!any) {
        const char *from = a.in + first.offset;
        const uint32_t reciprocal = a.reciprocal;
        uint32_t along = 0; /* bytes to the unit, if it is in the same row */
        gm_settle(from);
#pragma unroll
        for (int j = 0; j < shape::held; j++) {
            const int unit = words_unit<shape>(j, extent - place);
            const uint32_t rows = words_rows<shape>(a, place + unit, reciprocal);
            held[j] = __ldca((const typename shape::unit *)(from + (int32_t)(along + rows * on)));
            along += step;
            words_settle(along);
        }
        return;
    }
    next[0] += crosses;
    words_find(a, 2, next, behind);
#pragma unroll
    for (int j = 0; j < shape::held; j++) {
        const int unit = words_unit<shape>(j, extent - place);
        const bool is_behind = unit >= left;
        const uint32_t rows =
            words_rows<shape>(a, is_behind ? unit - left : place + unit, a.reciprocal);
        const uint32_t from = (uint32_t)(is_behind ? behind[0] : first.offset) +
                              (uint32_t)(is_behind ? unit - left : unit) * step;
        held[j] = words_load_unit<shape>(a, (int32_t)(from + rows * on));
    }
}

/* ---- a word of the result -------------------------------------------------------------------- */

/* left: units of the first of two rows. */
template <typename shape>
GM_DEVICE void words_store(char *to, const uint32_t (&held)[shape::held], int32_t left)
{
    enum { WORDS = shape::bytes / 4, EACH = 4 / shape::size };
    uint32_t word[WORDS] = {};
#pragma unroll
    for (int j = 0; j < shape::units; j++) {
        const uint32_t unit = shape::way != WORDS_SAME ? held[j % shape::held]
                              : j < left               ? held[0]
                                                       : held[1];
        word[j / EACH] |= unit << 8 * shape::size * (j % EACH);
    }
    if constexpr (WORDS == 2) {
        *(uint2 *)to = make_uint2(word[0], word[1]);
    } else {
        *(uint4 *)to = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

/* The units of words that are not whole: of the first one, and of the last. A thread has one. */
template <typename shape> GM_DEVICE void words_move_ends(const permute_words_args &a)
{
    typedef typename shape::unit unit;
    const int64_t head = min((int64_t)((shape::units - a.lead) % shape::units), a.units);
    const int64_t tail = (a.units - head) % shape::units;
    const bool first = threadIdx.x < shape::units;
    const int64_t i = first ? threadIdx.x : a.units - 1 - (threadIdx.x - shape::units);
    if (first ? i < head : i >= a.units - tail) {
        uint32_t rest[1] = {(uint32_t)i};
        int32_t offset[1] = {};
        words_find(a, 0, rest, offset);
        ((unit *)a.out)[i] = *(const unit *)(a.in + offset[0]);
    }
}

template <typename shape> GM_DEVICE void words_move(const permute_words_args &a)
{
    enum { WORDS = WORDS_EACH, UNITS = shape::units };
    const int64_t begin = (int64_t)blockIdx.x * (THREADS * WORDS) + threadIdx.x;
    const uint32_t extent = a.extent[0].by;
    words_place at[WORDS];
    uint32_t held[WORDS][shape::held], rest[WORDS];
    int32_t offset[WORDS];

#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const int64_t first = (begin + k * THREADS) * UNITS - a.lead;
        at[k].whole = first >= 0 && first + UNITS <= a.units;
        rest[k] = at[k].whole ? (uint32_t)first : 0;
        if (shape::way != WORDS_SINGLE) {
            at[k].place = a.ndim > 1 ? permute_take(&rest[k], a.extent[0]) : rest[k];
            at[k].row = rest[k] = a.ndim > 1 ? rest[k] : 0;
            offset[k] = (int32_t)at[k].place * a.from[0];
        }
    }
    if (shape::way != WORDS_SINGLE) {
        words_find(a, 1, rest, offset);
    }
    gm_wait_for_previous();
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        at[k].offset = offset[k];
        if constexpr (shape::way == WORDS_SINGLE) {
            if (at[k].whole) {
                words_load_single<shape>(a, rest[k], held[k]);
            }
            continue;
        }
        /* All lanes take the way that is good for any, where some have several rows: they would
         * wait for these in any case. */
        const bool ends = at[k].whole && at[k].place + UNITS > extent;
        if (shape::way == WORDS_SHORT || __any_sync(0xffffffffu, ends)) {
            words_load_rows<shape>(a, at[k], held[k]);
        } else {
            words_load_row<shape>(a, at[k], held[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        if (at[k].whole) {
            const int64_t first = (begin + k * THREADS) * UNITS - a.lead;
            words_store<shape>(a.out + first * shape::size, held[k],
                               shape::way == WORDS_SAME ? (int32_t)(extent - at[k].place) : 0);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x < 2 * UNITS) {
        words_move_ends<shape>(a);
    }
}

/* Of units of 2 and 4 bytes. */
template <int way> GM_DEVICE void words_of_wide(const permute_words_args &a)
{
    if (a.unit == 2) {
        words_move<words_shape<uint16_t, way>>(a);
    } else {
        words_move<words_shape<uint32_t, way>>(a);
    }
}

template <int way> GM_DEVICE void words_of_any(const permute_words_args &a)
{
    if (a.unit == 1) {
        words_move<words_shape<uint8_t, way>>(a);
    } else {
        words_of_wide<way>(a);
    }
}

GM_KERNEL_BOUNDED(permute_words, permute_words_args, THREADS, 6)
{
    words_of_any<WORDS_ANY>(a);
}

GM_KERNEL_BOUNDED(permute_words_same, permute_words_args, THREADS, 6)
{
    words_of_any<WORDS_SAME>(a);
}

GM_KERNEL_BOUNDED(permute_words_short, permute_words_args, THREADS, 6)
{
    words_of_wide<WORDS_SHORT>(a);
}

GM_KERNEL_BOUNDED(permute_words_short_b8, permute_words_args, THREADS, 4)
{
    words_move<words_shape<uint8_t, WORDS_SHORT>>(a);
}

GM_KERNEL_BOUNDED(permute_words_single, permute_words_args, THREADS, 4)
{
    words_of_any<WORDS_SINGLE>(a);
}
