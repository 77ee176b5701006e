/*
 * A tile of bytes whose rows begin anywhere: whole words in and out, a warp to a row.
 *
 *      a row of the tile           word of lane 0 | lane 1 | ... | lane 31
 *      in spans of 128 bytes       4 columns      | 4      |     | 4, but none in the last span
 *
 * lane    has four columns in each of the WIDE spans of a row. It loads the word that they begin
 *         in; what of them is in the next word it has from the next lane, and lane 31 from lane 0's
 *         next span, which is why it has no columns of its own in the last.
 * warp    loads ROWS / WARPS rows, BATCH of them in flight together. Rows that are four apart are
 *         shifted alike; four rows of four columns are transposed at a time, and sixteen rows of a
 *         column stored at a time to the column's row in shared memory.
 * block   the tile. Its row c in shared memory is column c of the input, four banks further for
 *         every four columns: neither lanes that write (four columns apart) nor lanes that read
 *         (neighbours in a row) share a bank.
 *
 * Runs of the output are shifted back to sectors as in aligned_tile.h, once more from two words of
 * a row. Columns that are 32 apart are shifted alike. Where rows of the output begin at multiples
 * of 2, 4, ... bytes, shifts are multiples of these, too, and the tile shares so many fewer of the
 * 32 rows of a sector with the tile before it. At the edges of the matrix, what rows of the output
 * have of a word is stored last, as in aligned_tile.h.
 */
#ifndef GPUMEM_TRANSPOSE_BYTE_TILE_H
#define GPUMEM_TRANSPOSE_BYTE_TILE_H

#include "aligned_tile.h"

/* The tile, in spans across and multiples of 128 rows down; the warps of a block; the rows that a
 * warp has in flight. */
template <int wide, int tall, int warps, int batch> struct byte_tile {
    enum {
        WIDE = wide,
        TALL = tall,
        WARPS = warps,
        BATCH = batch,
        THREADS = WARPS * 32,
        ROWS = TALL * 128,
        WORDS = ROWS / 4, /* of a column */
        SPAN = 128,
        LANES = 31, /* that have columns in the last span */
        COLS = (WIDE - 1) * SPAN + LANES * 4,
        SHARE = ROWS / WARPS,             /* rows of a warp */
        ALIKE = TRANSPOSE_SECTOR,         /* columns from one to the next that is shifted alike */
        SIZE = (COLS * WORDS + COLS) / 4, /* of the tile in shared memory, in vectors */
    };
    static_assert(SHARE % BATCH == 0 && BATCH % 16 == 0, "a warp writes whole vectors");
    static_assert(ALIKE % WARPS == 0, "a warp keeps to columns that are shifted alike");
};

/* Where a column begins in the tile, in words. */
template <int WORDS> GM_DEVICE unsigned byte_tile_column(unsigned c)
{
    return c * WORDS + c / 4 * 4;
}

/* ---- load ---------------------------------------------------------------------------------- */

template <int WHERE, bool LINES>
GM_DEVICE uint32_t byte_tile_fetch(const char *address, const transpose_edge &edge)
{
    const uint32_t *word = (const uint32_t *)address;
    if (WHERE == TILE_OVER_CORNER) {
        return transpose_word(address, edge);
    }
    return LINES && WHERE == TILE_INSIDE ? gm_load_kept_line(word) : gm_load_kept(word);
}

template <typename geometry, int WHERE, bool LINES>
GM_DEVICE void byte_tile_load(const transpose_window &window, const transpose_edge &edge,
                              unsigned warp, uint4 *tile)
{
    const unsigned lane = threadIdx.x % 32, col = lane * 4;
    const unsigned first = warp * geometry::SHARE;
    const int64_t step = window.in_pitch * 4;
    uint4 *to = tile + (byte_tile_column<geometry::WORDS>(col) + first / 4) / 4;
    const char *from[4];
    unsigned over[4]; /* bytes from the word's begin to that of the columns */

#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        from[j] = window.in + (first + j) * window.in_pitch + col;
        over[j] = (unsigned)(uintptr_t)from[j] & 3;
        from[j] -= over[j];
    }
#pragma unroll 1
    for (unsigned k = 0; k < geometry::SHARE; k += geometry::BATCH) {
        uint32_t word[geometry::BATCH][geometry::WIDE];
        if (WHERE != TILE_INSIDE && first + k >= window.rows) {
            break;
        }

#pragma unroll
        for (unsigned i = 0; i < geometry::BATCH; i++) {
            const unsigned r = first + k + i, j = i % 4;
#pragma unroll
            for (unsigned w = 0; w < geometry::WIDE; w++) {
                const unsigned at = w * geometry::SPAN;
                word[i][w] = 0;
                if (WHERE == TILE_INSIDE ||
                    (r >= edge.first && r < window.rows && col + at < window.cols + over[j])) {
                    word[i][w] = byte_tile_fetch<WHERE, LINES>(from[j] + at, edge);
                }
            }
            from[j] += step;
        }
#pragma unroll
        for (unsigned i = 0; i < geometry::BATCH; i++) {
#pragma unroll
            for (unsigned w = 0; w < geometry::WIDE; w++) {
                /* The last lane goes on with the first lane's next span. */
                const uint32_t shown =
                    lane == 0 ? word[i][w + (w + 1 < geometry::WIDE)] : word[i][w];
                const uint32_t next = __shfl_sync(0xffffffffu, shown, lane + 1);
                word[i][w] = __funnelshift_r(word[i][w], next, over[i % 4] * 8);
            }
        }
#pragma unroll
        for (unsigned w = 0; w < geometry::WIDE; w++) {
            if (w + 1 == geometry::WIDE && lane == geometry::LANES) {
                break;
            }
#pragma unroll
            for (unsigned i = 0; i < geometry::BATCH; i += 16) {
                uint32_t square[4][4];
#pragma unroll
                for (unsigned m = 0; m < 4; m++) {
                    const uint32_t(*rows)[geometry::WIDE] = word + i + m * 4;
                    transpose_bytes(rows[0][w], rows[1][w], rows[2][w], rows[3][w], square[m]);
                }
#pragma unroll
                for (unsigned j = 0; j < 4; j++) {
                    const unsigned c = w * geometry::SPAN + j;
                    to[byte_tile_column<geometry::WORDS>(c) / 4 + i / 16] =
                        make_uint4(square[0][j], square[1][j], square[2][j], square[3][j]);
                }
            }
        }
        to += geometry::BATCH / 16;
    }
}

/* ---- store --------------------------------------------------------------------------------- */

/* One word of the output, of rows from r on, shifted from two. STREAM: past the L2. */
template <bool INSIDE, bool STREAM>
GM_DEVICE void byte_tile_store_word(const transpose_window &window, const transpose_edge &edge,
                                    unsigned r, const uint32_t *low, const uint32_t *high,
                                    unsigned bits, char *to)
{
    if (INSIDE || (r >= edge.first && r + 4 <= window.rows)) {
        const uint32_t word = __funnelshift_r(*low, *high, bits);
        if (STREAM) {
            __stcs((uint32_t *)to, word);
        } else {
            *(uint32_t *)to = word;
        }
    }
}

/* Bytes from the begin of a sector to that of a row of the output. */
GM_DEVICE unsigned byte_tile_over(const char *row)
{
    return (unsigned)(uintptr_t)row & (TRANSPOSE_SECTOR - 1);
}

/* Whole words of the rows of the output. */
template <typename geometry, bool INSIDE, bool STREAM>
GM_DEVICE void byte_tile_store(const transpose_window &window, const transpose_edge &edge,
                               unsigned warp, const uint32_t *tile)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned cols = INSIDE ? (unsigned)geometry::COLS : window.cols;
    const int64_t step = window.out_pitch * geometry::ALIKE;

#pragma unroll 1
    for (unsigned first = warp; first < min(cols, (unsigned)geometry::ALIKE);
         first += geometry::WARPS) {
        char *row = window.out + first * window.out_pitch;
        const unsigned over = byte_tile_over(row);
        /* The tile before stores the first sector, unless this tile has all of it. */
        const unsigned own = over == 0 ? 0 : TRANSPOSE_SECTOR / 4;
        const uint32_t *high = tile + byte_tile_column<geometry::WORDS>(first) + lane - over / 4;
        const uint32_t *low = high - (over % 4 != 0);
        const unsigned bits = 0u - over * 8; /* counts modulo 32 */
        const unsigned r = lane * 4 - over;
        char *to = row - over + lane * 4;
#pragma unroll
        for (unsigned i = 0; i < geometry::COLS; i += geometry::ALIKE) {
            const unsigned at = i * geometry::WORDS + i;
            const bool all = INSIDE && i + geometry::ALIKE <= geometry::COLS;
            if (!all && first + i >= cols) {
                break;
            }
            if (lane >= own) {
                byte_tile_store_word<INSIDE, STREAM>(window, edge, r, low + at, high + at, bits,
                                                     to);
            }
#pragma unroll
            for (unsigned k = 1; k < geometry::TALL; k++) {
                byte_tile_store_word<INSIDE, STREAM>(window, edge, r + k * 128, low + at + k * 32,
                                                     high + at + k * 32, bits, to + k * 128);
            }
            to += step;
        }
    }
}

/* What rows of the output have before their first whole word, where they begin, and behind the last
 * one, where they end: a thread for each byte of a word. */
template <typename geometry>
GM_DEVICE void byte_tile_store_ends(const transpose_window &window, const transpose_edge &edge,
                                    const uint32_t *tile)
{
    const unsigned j = threadIdx.x % 4;
    for (unsigned c = threadIdx.x / 4; c < window.cols; c += geometry::THREADS / 4) {
        char *row = window.out + c * window.out_pitch;
        const char *column = (const char *)(tile + byte_tile_column<geometry::WORDS>(c));
        const unsigned over = byte_tile_over(row);
        const unsigned begin = edge.first + j, end = window.rows - 1 - j;
        /* The tile's first byte, and its first one of a whole word. */
        const unsigned own = over == 0 ? 0 : TRANSPOSE_SECTOR - over;
        const unsigned next = edge.first + ((0u - edge.first - over) & 3);
        if (edge.first > 0 && begin < min(next, window.rows)) {
            row[begin] = column[begin];
        }
        if (((window.rows + over) & 3) > j && end < window.rows && end >= max(own, next) &&
            end + over < geometry::ROWS) {
            row[end] = column[end];
        }
    }
}

/* ---- the tile of a block ------------------------------------------------------------------- */

template <typename geometry>
GM_DEVICE int64_t byte_tile_row(const transpose_args &a, transpose_place at)
{
    return at.y * (int64_t)(geometry::ROWS - a.halo) - a.halo;
}

/* Loads may read what is beside the tile, up to 3 bytes on the left and 7 on the right. `where`
 * says whether that, and the tile, are there. LINES: the L2 fetches whole lines, and still has them
 * for the next column of tiles. */
template <typename geometry, bool LINES, bool STREAM>
GM_DEVICE void byte_tile_move_at(const transpose_args &a, transpose_place at, transpose_edge edge,
                                 int where, uint4 *tile)
{
    const int64_t row = byte_tile_row<geometry>(a, at), col = (int64_t)at.x * geometry::COLS;
    const transpose_window window =
        transpose_window_at<uint8_t>(a, row, col, geometry::ROWS, geometry::COLS);
    edge.first = row < 0 ? a.halo : 0;

    gm_wait_for_previous();
    /* The same in all lanes, and the compiler is told so. */
    const unsigned warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    const uint32_t *words = (const uint32_t *)tile;
    if (where == TILE_INSIDE) {
        byte_tile_load<geometry, TILE_INSIDE, LINES>(window, edge, warp, tile);
        __syncthreads();
        byte_tile_store<geometry, true, STREAM>(window, edge, warp, words);
        return;
    }
    if (where == TILE_OVER_EDGE) {
        byte_tile_load<geometry, TILE_OVER_EDGE, LINES>(window, edge, warp, tile);
    } else {
        byte_tile_load<geometry, TILE_OVER_CORNER, LINES>(window, edge, warp, tile);
    }
    __syncthreads();
    byte_tile_store<geometry, false, STREAM>(window, edge, warp, words);
    if (edge.first > 0 || window.rows < geometry::ROWS) {
        byte_tile_store_ends<geometry>(window, edge, words);
    }
}

template <typename geometry, bool LINES, bool STREAM>
GM_DEVICE void byte_tile_move(const transpose_args &a, uint4 *tile)
{
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const int64_t row = byte_tile_row<geometry>(a, at), col = (int64_t)at.x * geometry::COLS;
    transpose_edge edge;
    const int64_t last = (a.rows - 1) * a.pitch; /* the rows may run backwards */
    edge.begin = a.in + min(last, (int64_t)0);
    edge.end = a.in + max(last, (int64_t)0) + a.cols;

    /* What is read beside the tile is the row before or after, but for the first row's left end and
     * the right end of the last rows (of 8 rows, if they are as short as that). Rows that run
     * backwards, or are all the same memory, have their ends elsewhere: all their tiles are read
     * with care. */
    const bool top = at.y == 0, bottom = row + geometry::ROWS > a.rows - 8 || a.pitch <= 0;
    const bool right = col + geometry::COLS + 8 > a.cols;
    const bool forwards = a.pitch > 0;
    const int where = !top && !right && !bottom                               ? TILE_INSIDE
                      : !(top && at.x == 0) && !(bottom && right) && forwards ? TILE_OVER_EDGE
                                                                              : TILE_OVER_CORNER;
    byte_tile_move_at<geometry, LINES, STREAM>(a, at, edge, where, tile);
}

#endif
