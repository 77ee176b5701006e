/*
 * Rows that begin anywhere, elements of 1, 2 or 4 bytes: whole words in, whole sectors out.
 *
 * A run of the output that begins or ends inside of a sector leaves a part of it to the next
 * tile, and the memory has to merge the parts. So a tile's runs are shifted back, each row of the
 * output by its own amount, to begin at multiples of 32 bytes; for that a tile takes the last
 * rows of the tile before it along.
 *
 * A warp that moves single bytes asks for 32 bytes at a time. So elements of 1 or 2 bytes are
 * read 8 bytes at a time, which begin at a multiple of 8 and are shifted, with the 8 that follow,
 * to give those that are wanted. The tile is turned as in turn.h, and 16 bytes of the output are
 * shifted from two pieces of it.
 */
#ifndef GPUMEM_TRANSPOSE_WORDS_H
#define GPUMEM_TRANSPOSE_WORDS_H

#include "turn.h"

/* A tile of HIGH pieces of 16 bytes by WIDE loads of 8 bytes, or of one element of 4 bytes, for
 * THREADS threads. */
template <typename unit, int HIGH, int WIDE, int THREADS> struct transpose_words {
    enum {
        N = 16 / sizeof(unit),
        LOAD = sizeof(unit) < 4 ? 8 : 4,        /* bytes */
        E = LOAD / sizeof(unit),                /* elements of that */
        HALO = TRANSPOSE_SECTOR / sizeof(unit), /* rows of the tile before */
        ROWS = HIGH * N,
        STEP = ROWS - HALO, /* rows from a tile to the next */
        COLS = WIDE * E,
        STRIPS = HIGH * WIDE / THREADS,         /* of N rows by one load, per thread */
        GROUP = sizeof(unit) < 4 ? 1 : 4,       /* strips in flight together */
        LEAVING = HIGH - TRANSPOSE_SECTOR / 16, /* pieces of a row of the output */
        TILE = HIGH * COLS,
    };
    static_assert(HIGH % 8 == 0 && WIDE % 8 == 0, "the swizzle is over eight places");
    static_assert(THREADS % WIDE == 0 && THREADS % HIGH == 0, "a thread keeps to its column");
    static_assert(STRIPS * THREADS == HIGH * WIDE, "every thread has the same work");
    static_assert(STRIPS % GROUP == 0, "groups are whole");
};

/* How much care a tile needs, each by code of its own. */
enum {
    TRANSPOSE_INSIDE, /* none: it is full */
    TRANSPOSE_EDGE,   /* it hangs over an edge of the matrix */
    TRANSPOSE_CORNER, /* what it reads in whole words hangs over an end of the input's memory */
};

typedef struct transpose_edge {
    const char *begin,
        *end;       /* between these all memory is the input's, gaps of its rows included */
    unsigned first; /* row of the tile that is the first of the matrix */
} transpose_edge;

/* An aligned word of the input; zeros for what lies outside of it. */
GM_DEVICE uint32_t transpose_word(const char *word, const transpose_edge &edge)
{
    if (word >= edge.begin && word + 4 <= edge.end) {
        return *(const uint32_t *)word;
    }
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        if (word + i >= edge.begin && word + i < edge.end) {
            bits |= (uint32_t)(unsigned char)word[i] << 8 * i;
        }
    }
    return bits;
}

/* Eight aligned bytes of the input. */
template <int CARE>
GM_DEVICE uint2 transpose_words_at(const char *address, const transpose_edge &edge)
{
    if (CARE == TRANSPOSE_CORNER) {
        return make_uint2(transpose_word(address, edge), transpose_word(address + 4, edge));
    }
    return gm_load_kept((const uint2 *)address);
}

/* N rows of one word: pieces of N elements, one for each column of the word. */
GM_DEVICE void transpose_strip(const uint32_t (&rows)[16], uint32_t (*turned)[4])
{
#pragma unroll
    for (int m = 0; m < 4; m++) {
        uint32_t square[4];
        transpose_bytes(rows[4 * m], rows[4 * m + 1], rows[4 * m + 2], rows[4 * m + 3], square);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            turned[i][m] = square[i];
        }
    }
}

GM_DEVICE void transpose_strip(const uint32_t (&rows)[8], uint32_t (*turned)[4])
{
#pragma unroll
    for (int m = 0; m < 4; m++) {
        turned[0][m] = __byte_perm(rows[2 * m], rows[2 * m + 1], 0x5410);
        turned[1][m] = __byte_perm(rows[2 * m], rows[2 * m + 1], 0x7632);
    }
}

/* Elements of 1 or 2 bytes. */
template <typename unit, int HIGH, int WIDE, int THREADS, int CARE>
GM_DEVICE void transpose_load_shifted(const transpose_window &window, const transpose_edge &edge,
                                      uint4 *tile)
{
    typedef transpose_words<unit, HIGH, WIDE, THREADS> words;
    const unsigned col = threadIdx.x % WIDE * words::E;

#pragma unroll 1
    for (unsigned k = 0; k < words::STRIPS; k++) {
        const unsigned strip = threadIdx.x / WIDE + k * (THREADS / WIDE);
        const unsigned first = strip * words::N;
        const char *from = window.in + first * window.in_pitch + col * sizeof(unit);
        unsigned place = (unsigned)(uintptr_t)from; /* its low bits say how far to shift */
        uint2 low[words::N], high[words::N];

#pragma unroll
        for (unsigned i = 0; i < words::N; i++) {
            const char *aligned = from - ((uintptr_t)from & 7);
            const bool here =
                CARE == TRANSPOSE_INSIDE ||
                (first + i >= edge.first && first + i < window.rows && col < window.cols);
            low[i] = high[i] = make_uint2(0, 0);
            if (here) {
                low[i] = transpose_words_at<CARE>(aligned, edge);
            }
            if (here && aligned != from) {
                high[i] = transpose_words_at<CARE>(aligned + 8, edge);
            }
            from += window.in_pitch;
        }
        uint32_t left[words::N], right[words::N], turned[words::E][4];
#pragma unroll
        for (unsigned i = 0; i < words::N; i++) {
            const bool one = place & 4;
            const uint32_t a = one ? low[i].y : low[i].x;
            const uint32_t b = one ? high[i].x : low[i].y;
            const uint32_t c = one ? high[i].y : high[i].x;
            left[i] = __funnelshift_r(a, b, place * 8); /* counts modulo 32 */
            right[i] = __funnelshift_r(b, c, place * 8);
            place += (unsigned)window.in_pitch;
        }
        transpose_strip(left, turned);
        transpose_strip(right, turned + words::E / 2);
#pragma unroll
        for (unsigned i = 0; i < words::E; i++) {
            const unsigned c = col + i;
            const uint32_t *word = turned[i];
            tile[c * HIGH + (strip ^ transpose_swizzle<words::E>(c))] =
                make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

/* Elements of 4 bytes. */
template <typename unit, int HIGH, int WIDE, int THREADS, int CARE>
GM_DEVICE void transpose_load_words(const transpose_window &window, const transpose_edge &edge,
                                    uint4 *tile)
{
    typedef transpose_words<unit, HIGH, WIDE, THREADS> words;
    const unsigned col = threadIdx.x % WIDE;

#pragma unroll 1
    for (unsigned group = 0; group < words::STRIPS; group += words::GROUP) {
        uint32_t held[words::GROUP][4];

#pragma unroll
        for (unsigned k = 0; k < words::GROUP; k++) {
            const unsigned strip = threadIdx.x / WIDE + (group + k) * (THREADS / WIDE);
            const unsigned first = strip * 4;
            const char *from = window.in + first * window.in_pitch + col * 4;
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
                const bool here =
                    CARE == TRANSPOSE_INSIDE ||
                    (first + i >= edge.first && first + i < window.rows && col < window.cols);
                held[k][i] = 0;
                if (here) {
                    held[k][i] = gm_load_kept((const uint32_t *)from);
                }
                from += window.in_pitch;
            }
        }
#pragma unroll
        for (unsigned k = 0; k < words::GROUP; k++) {
            const unsigned strip = threadIdx.x / WIDE + (group + k) * (THREADS / WIDE);
            tile[col * HIGH + (strip ^ transpose_swizzle<1>(col))] =
                make_uint4(held[k][0], held[k][1], held[k][2], held[k][3]);
        }
    }
}

/* The 16 bytes that begin `from` bytes into two pieces; words only are shifted if it is known
 * that they are whole. */
template <bool WHOLE_WORDS>
GM_DEVICE uint4 transpose_between(const uint4 a, const uint4 b, unsigned from)
{
    const bool one = from & 4, two = from & 8;
    const uint32_t x0 = one ? a.y : a.x, x1 = one ? a.z : a.y, x2 = one ? a.w : a.z;
    const uint32_t x3 = one ? b.x : a.w, x4 = one ? b.y : b.x, x5 = one ? b.z : b.y;
    const uint32_t x6 = one ? b.w : b.z;
    const uint32_t y0 = two ? x2 : x0, y1 = two ? x3 : x1, y2 = two ? x4 : x2, y3 = two ? x5 : x3;
    const uint32_t y4 = two ? x6 : x4;
    const unsigned bits = WHOLE_WORDS ? 0 : from * 8; /* counts modulo 32 */
    return make_uint4(__funnelshift_r(y0, y1, bits), __funnelshift_r(y1, y2, bits),
                      __funnelshift_r(y2, y3, bits), __funnelshift_r(y3, y4, bits));
}

template <typename unit, int HIGH, int WIDE, int THREADS, int CARE>
GM_DEVICE void transpose_store_words(const transpose_window &window, const transpose_edge &edge,
                                     const uint4 *tile)
{
    typedef transpose_words<unit, HIGH, WIDE, THREADS> words;
    const unsigned p = threadIdx.x % HIGH;
    const unsigned first = threadIdx.x / HIGH; /* column of the input */
    const unsigned step = THREADS / HIGH;
    char *row = window.out + first * window.out_pitch;

    if (p >= words::LEAVING) {
        return;
    }
#pragma unroll 4
    for (unsigned i = 0; i < words::COLS / step; i++) {
        const unsigned c = first + i * step;
        const unsigned swizzle = transpose_swizzle<words::E>(c);
        /* Bytes of the tile's row up to the first sector that is its own, and to this piece. */
        const unsigned skip = TRANSPOSE_SECTOR - ((unsigned)(uintptr_t)row & 31);
        const unsigned from = skip + p * 16;
        if (CARE == TRANSPOSE_INSIDE || c < window.cols) {
            const uint4 low = tile[c * HIGH + (from / 16 ^ swizzle)];
            const uint4 high = tile[c * HIGH + ((from + 15) / 16 ^ swizzle)];
            const uint4 piece = transpose_between<sizeof(unit) == 4>(low, high, from);
            const unsigned r = from / (unsigned)sizeof(unit);
            if (CARE == TRANSPOSE_INSIDE || (r >= edge.first && r + words::N <= window.rows)) {
                *(uint4 *)(row + from) = piece;
            } else {
                const uint32_t bits[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
                for (unsigned j = 0; j < words::N; j++) {
                    if (r + j >= edge.first && r + j < window.rows) {
                        ((unit *)(row + from))[j] =
                            (unit)(bits[j * sizeof(unit) / 4] >> 8 * (j * sizeof(unit) % 4));
                    }
                }
            }
        }
        row += step * window.out_pitch;
    }
}

template <typename unit, int HIGH, int WIDE, int THREADS, int CARE>
GM_DEVICE void transpose_move_words(const transpose_window &window, const transpose_edge &edge,
                                    uint4 *tile)
{
    if constexpr (sizeof(unit) < 4) {
        transpose_load_shifted<unit, HIGH, WIDE, THREADS, CARE>(window, edge, tile);
    } else {
        transpose_load_words<unit, HIGH, WIDE, THREADS, CARE>(window, edge, tile);
    }
    __syncthreads();
    transpose_store_words<unit, HIGH, WIDE, THREADS, CARE>(window, edge, tile);
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_words_tile(const transpose_args &a, uint4 *tile)
{
    typedef transpose_words<unit, HIGH, WIDE, THREADS> words;
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const int64_t row = (int64_t)at.y * words::STEP - words::HALO;
    const int64_t col = (int64_t)at.x * words::COLS;
    const transpose_window window =
        transpose_window_at<unit>(a, row, col, words::ROWS, words::COLS);
    transpose_edge edge;
    edge.begin = a.in;
    edge.end = a.in + (a.rows - 1) * a.pitch + a.cols * (int64_t)sizeof(unit);
    edge.first = row < 0 ? words::HALO : 0;

    /* What is read beside the tile, up to 8 bytes on the left and 16 on the right, is the row
     * before or after, but for the first row's left end and the right end of the last rows (of 16
     * rows, if they are as short as that). */
    const bool top = at.y == 0, bottom = row + words::ROWS > a.rows - 16;
    const bool right = col + words::COLS + 16 / (int)sizeof(unit) > a.cols;

    gm_wait_for_previous();
    if (!top && !right && !bottom) {
        transpose_move_words<unit, HIGH, WIDE, THREADS, TRANSPOSE_INSIDE>(window, edge, tile);
    } else if (!(top && at.x == 0) && !(bottom && right)) {
        transpose_move_words<unit, HIGH, WIDE, THREADS, TRANSPOSE_EDGE>(window, edge, tile);
    } else {
        transpose_move_words<unit, HIGH, WIDE, THREADS, TRANSPOSE_CORNER>(window, edge, tile);
    }
}

#endif
