/*
 * Elements of 1 byte whose rows begin anywhere: whole words in and out, a warp to a row.
 *
 * A lane has four columns in each span of 128 bytes of a row. It reads the word that they begin in;
 * what of them is in the next word it has from the next lane, and the last lane from the first
 * one's next span, so that it has no columns of its own in the last. Rows that are four apart are
 * shifted alike. Four rows of four columns are turned at a time, and sixteen rows of a
 * column written at a time to the column's row in shared memory. That begins four banks later from
 * every four columns to the next, so that neither the lanes that write (four columns apart) nor
 * those that read (neighbours in a row) meet in a bank.
 *
 * The tile's runs of the output are shifted back to sectors, as in words.h, by shifting once more
 * from two words of a row. Columns that are 32 apart are shifted alike. As rows of the output that
 * begin at multiples of 2, 4, ... bytes need shifts of as many bytes only, so many fewer rows, of
 * the 32 of a sector, does a tile share with the one before.
 */
#ifndef GPUMEM_TRANSPOSE_SQUARES_H
#define GPUMEM_TRANSPOSE_SQUARES_H

#include "words.h"

/* A tile of TALL times 128 rows, WIDE times 128 columns less four, for so many WARPS; BATCH rows
 * are in flight together. */
template <int WIDE, int TALL, int WARPS, int BATCH> struct transpose_squares {
    enum {
        ROWS = TALL * 128,
        WORDS = ROWS / 4, /* of a column */
        SPAN = 128,
        LANES = 31, /* that have columns in the last span */
        COLS = (WIDE - 1) * SPAN + LANES * 4,
        SHARE = ROWS / WARPS,             /* rows of a warp */
        ALIKE = TRANSPOSE_SECTOR,         /* columns from one to the next that is shifted alike */
        TILE = (COLS * WORDS + COLS) / 4, /* pieces of 16 bytes */
    };
    static_assert(SHARE % BATCH == 0 && BATCH % 16 == 0, "a warp writes whole pieces");
    static_assert(ALIKE % WARPS == 0, "a warp keeps to columns that are shifted alike");
};

/* Where a column begins in the tile, in words. */
template <int WORDS> GM_DEVICE unsigned transpose_squares_column(unsigned c)
{
    return c * WORDS + c / 4 * 4;
}

template <int CARE, bool LINES>
GM_DEVICE uint32_t transpose_aligned_word(const char *address, const transpose_edge &edge)
{
    const uint32_t *word = (const uint32_t *)address;
    if (CARE == TRANSPOSE_CORNER) {
        return transpose_word(address, edge);
    }
    return LINES && CARE == TRANSPOSE_INSIDE ? gm_load_kept_line(word) : gm_load_kept(word);
}

template <int WIDE, int TALL, int WARPS, int BATCH, int CARE, bool LINES>
GM_DEVICE void transpose_load_squares(const transpose_window &window, const transpose_edge &edge,
                                      unsigned warp, uint4 *tile)
{
    typedef transpose_squares<WIDE, TALL, WARPS, BATCH> squares;
    const unsigned lane = threadIdx.x % 32, col = lane * 4;
    const unsigned first = warp * squares::SHARE;
    const int64_t step = window.in_pitch * 4;
    uint4 *to = tile + (transpose_squares_column<squares::WORDS>(col) + first / 4) / 4;
    const char *from[4];
    unsigned over[4]; /* bytes by which the columns begin after a word does */

#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        from[j] = window.in + (first + j) * window.in_pitch + col;
        over[j] = (unsigned)(uintptr_t)from[j] & 3;
        from[j] -= over[j];
    }
#pragma unroll 1
    for (unsigned k = 0; k < squares::SHARE; k += BATCH) {
        uint32_t word[BATCH][WIDE];

#pragma unroll
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned r = first + k + i, j = i % 4;
#pragma unroll
            for (unsigned w = 0; w < WIDE; w++) {
                const unsigned at = w * squares::SPAN;
                word[i][w] = 0;
                if (CARE == TRANSPOSE_INSIDE ||
                    (r >= edge.first && r < window.rows && col + at < window.cols + over[j])) {
                    word[i][w] = transpose_aligned_word<CARE, LINES>(from[j] + at, edge);
                }
            }
            from[j] += step;
        }
#pragma unroll
        for (unsigned i = 0; i < BATCH; i++) {
#pragma unroll
            for (unsigned w = 0; w < WIDE; w++) {
                /* The first lane's next span is what the last lane goes on with. */
                const uint32_t shown = lane == 0 ? word[i][w + (w + 1 < WIDE)] : word[i][w];
                const uint32_t next = __shfl_sync(0xffffffffu, shown, lane + 1);
                word[i][w] = __funnelshift_r(word[i][w], next, over[i % 4] * 8);
            }
        }
#pragma unroll
        for (unsigned w = 0; w < WIDE; w++) {
            if (w + 1 == WIDE && lane == squares::LANES) {
                break;
            }
#pragma unroll
            for (unsigned i = 0; i < BATCH; i += 16) {
                uint32_t turned[4][4];
#pragma unroll
                for (unsigned m = 0; m < 4; m++) {
                    const uint32_t(*rows)[WIDE] = word + i + m * 4;
                    transpose_bytes(rows[0][w], rows[1][w], rows[2][w], rows[3][w], turned[m]);
                }
#pragma unroll
                for (unsigned j = 0; j < 4; j++) {
                    const unsigned c = w * squares::SPAN + j;
                    to[transpose_squares_column<squares::WORDS>(c) / 4 + i / 16] =
                        make_uint4(turned[0][j], turned[1][j], turned[2][j], turned[3][j]);
                }
            }
        }
        to += BATCH / 16;
    }
}

/* One word of the output, of rows from r on, shifted from two. STREAM: the L2 is told that nobody
 * waits for it. */
template <int CARE, bool STREAM>
GM_DEVICE void transpose_store_shifted(const transpose_window &window, const transpose_edge &edge,
                                       unsigned r, const uint32_t *low, const uint32_t *high,
                                       unsigned bits, char *to)
{
    const uint32_t word = __funnelshift_r(*low, *high, bits);
    if (CARE == TRANSPOSE_INSIDE || (r >= edge.first && r + 4 <= window.rows)) {
        if (STREAM) {
            __stcs((uint32_t *)to, word);
        } else {
            *(uint32_t *)to = word;
        }
    } else {
#pragma unroll
        for (unsigned j = 0; j < 4; j++) {
            if (r + j >= edge.first && r + j < window.rows) {
                to[j] = (char)(word >> 8 * j);
            }
        }
    }
}

template <int WIDE, int TALL, int WARPS, int BATCH, int CARE, bool STREAM>
GM_DEVICE void transpose_store_squares(const transpose_window &window, const transpose_edge &edge,
                                       unsigned warp, const uint32_t *tile)
{
    typedef transpose_squares<WIDE, TALL, WARPS, BATCH> squares;
    const unsigned lane = threadIdx.x % 32;
    const unsigned cols = CARE == TRANSPOSE_INSIDE ? (unsigned)squares::COLS : window.cols;
    const int64_t step = window.out_pitch * squares::ALIKE;

#pragma unroll 1
    for (unsigned first = warp; first < squares::ALIKE; first += WARPS) {
        char *row = window.out + first * window.out_pitch;
        /* Bytes by which it begins after a sector does. */
        const unsigned over = (unsigned)(uintptr_t)row & (TRANSPOSE_SECTOR - 1);
        /* Its first sector is of the tile before, unless it is whole. */
        const unsigned own = over == 0 ? 0 : TRANSPOSE_SECTOR / 4;
        const uint32_t *high =
            tile + transpose_squares_column<squares::WORDS>(first) + lane - over / 4;
        const uint32_t *low = high - (over % 4 != 0);
        const unsigned bits = 0u - over * 8; /* counts modulo 32 */
        const unsigned r = lane * 4 - over;
        char *to = row - over + lane * 4;
#pragma unroll
        for (unsigned i = 0; i < squares::COLS; i += squares::ALIKE) {
            const unsigned at = i * squares::WORDS + i;
            const bool all = CARE == TRANSPOSE_INSIDE && i + squares::ALIKE <= squares::COLS;
            if (all || first + i < cols) {
                if (lane >= own) {
                    transpose_store_shifted<CARE, STREAM>(window, edge, r, low + at, high + at,
                                                          bits, to);
                }
#pragma unroll
                for (unsigned k = 1; k < TALL; k++) {
                    transpose_store_shifted<CARE, STREAM>(window, edge, r + k * 128,
                                                          low + at + k * 32, high + at + k * 32,
                                                          bits, to + k * 128);
                }
            }
            to += step;
        }
    }
}

template <int WIDE, int TALL, int WARPS, int BATCH, int CARE, bool LINES, bool STREAM>
GM_DEVICE void transpose_move_squares(const transpose_window &window, const transpose_edge &edge,
                                      uint4 *tile)
{
    /* The same in all lanes, and the compiler is told so. */
    const unsigned warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    transpose_load_squares<WIDE, TALL, WARPS, BATCH, CARE, LINES>(window, edge, warp, tile);
    __syncthreads();
    transpose_store_squares<WIDE, TALL, WARPS, BATCH, CARE, STREAM>(window, edge, warp,
                                                                    (const uint32_t *)tile);
}

/* LINES: the L2 fetches whole lines; what of them the next column of tiles reads is still there. */
template <int WIDE, int TALL, int WARPS, int BATCH, bool LINES, bool STREAM>
GM_DEVICE void transpose_squares_tile(const transpose_args &a, uint4 *tile)
{
    typedef transpose_squares<WIDE, TALL, WARPS, BATCH> squares;
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const int64_t row = at.y * (int64_t)(squares::ROWS - a.halo) - a.halo;
    const int64_t col = (int64_t)at.x * squares::COLS;
    const transpose_window window =
        transpose_window_at<uint8_t>(a, row, col, squares::ROWS, squares::COLS);
    transpose_edge edge;
    const int64_t last = (a.rows - 1) * a.pitch; /* the rows may run backwards */
    edge.begin = a.in + min(last, (int64_t)0);
    edge.end = a.in + max(last, (int64_t)0) + a.cols;
    edge.first = row < 0 ? a.halo : 0;

    /* What is read beside the tile, up to 3 bytes on the left and 7 on the right, is the row
     * before or after, but for the first row's left end and the right end of the last rows (of 8
     * rows, if they are as short as that). Rows that run backwards, or are all the same memory,
     * have their ends elsewhere: all their tiles are read with care. */
    const bool top = at.y == 0, bottom = row + squares::ROWS > a.rows - 8 || a.pitch <= 0;
    const bool right = col + squares::COLS + 8 > a.cols;

    gm_wait_for_previous();
    if (!top && !right && !bottom) {
        transpose_move_squares<WIDE, TALL, WARPS, BATCH, TRANSPOSE_INSIDE, LINES, STREAM>(
            window, edge, tile);
    } else if (!(top && at.x == 0) && !(bottom && right) && a.pitch > 0) {
        transpose_move_squares<WIDE, TALL, WARPS, BATCH, TRANSPOSE_EDGE, LINES, STREAM>(window,
                                                                                        edge, tile);
    } else {
        transpose_move_squares<WIDE, TALL, WARPS, BATCH, TRANSPOSE_CORNER, LINES, STREAM>(
            window, edge, tile);
    }
}

#endif
