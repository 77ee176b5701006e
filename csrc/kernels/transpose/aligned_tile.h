/*
 * A tile whose stores begin with sectors although rows of the matrix begin anywhere: elements of 1,
 * 2 or 4 bytes.
 *
 * A run is what a tile has of one row of the output. Where a run begins or ends inside of a sector,
 * the memory has to merge the parts of two tiles. So runs are shifted back to begin at multiples of
 * 32 bytes, each by its own amount, and a tile also reads the last rows of the tile before it:
 *
 *      rows of the input       |<-- HALO -->|<------------- STEP ------------->|
 *      row c of the output     .    |#######|#######|#######|#####.            |
 *      row c + 1               .  |#######|#######|#######|#######.            |
 *                                 a sector begins where that of the memory does
 *
 * thread  loads a strip: N rows by one load, of 8 bytes (E elements) or one element of 4 bytes.
 *         Loads of 8 bytes begin at multiples of 8 and are shifted, with the 8 that follow, to give
 *         those that are wanted. It transposes the strip in registers into vectors of the output.
 * warp    loads neighbours in a row; stores neighbouring vectors of a run.
 * block   the tile. Its row c in shared memory is column c of the input, HIGH vectors with those of
 *         the halo; vector p of it is at place p ^ swizzle(c). A vector of the output is shifted
 *         from two of these.
 * edge    of elements of 1 or 2 bytes: strips beyond the matrix are neither loaded nor stored. What
 *         rows of the output have of a vector where they begin or end is stored last, element by
 *         element: a warp would go that longer way in each of its rows. Of words there are few.
 */
#ifndef GPUMEM_TRANSPOSE_ALIGNED_TILE_H
#define GPUMEM_TRANSPOSE_ALIGNED_TILE_H

#include "register_tile.h"

/* Elements of a type; the tile, in vectors down and loads across; the threads of a block. */
template <typename type, int high, int wide, int threads> struct aligned_tile {
    typedef type unit;
    enum {
        HIGH = high,
        WIDE = wide,
        THREADS = threads,
        N = 16 / sizeof(unit),
        SMALL = sizeof(unit) < 4,               /* elements: a vector has many */
        LOAD = SMALL ? 8 : 4,                   /* bytes */
        E = LOAD / sizeof(unit),                /* elements of that */
        HALO = TRANSPOSE_SECTOR / sizeof(unit), /* rows of the tile before */
        ROWS = HIGH * N,
        STEP = ROWS - HALO, /* rows from a tile to the next */
        COLS = WIDE * E,
        STRIPS = HIGH * WIDE / THREADS,        /* of a thread */
        GROUP = SMALL ? 1 : 4,                 /* strips in flight together */
        STORED = HIGH - TRANSPOSE_SECTOR / 16, /* vectors of a run */
        SIZE = HIGH * COLS,                    /* of the tile in shared memory, in vectors */
    };
    static_assert(HIGH % 8 == 0 && WIDE % 8 == 0, "the swizzle is over eight places");
    static_assert(THREADS % WIDE == 0 && THREADS % HIGH == 0, "a thread keeps to its column");
    static_assert(STRIPS * THREADS == HIGH * WIDE, "every thread has the same work");
    static_assert(STRIPS % GROUP == 0, "groups are whole");
};

/* ---- load ---------------------------------------------------------------------------------- */

/* Where a tile is; there is code of its own for each. */
enum {
    TILE_INSIDE,      /* in the matrix: nothing is checked */
    TILE_OVER_EDGE,   /* over an edge of the matrix: rows and columns are checked */
    TILE_OVER_CORNER, /* its loads of whole words go over an end of the input's memory */
};

typedef struct transpose_edge {
    const char *begin, *end; /* of the input's memory, gaps between its rows included */
    unsigned first;          /* row of the tile that is the first of the matrix */
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
template <int WHERE, bool LINES>
GM_DEVICE uint2 aligned_tile_fetch(const char *address, const transpose_edge &edge)
{
    if (WHERE == TILE_OVER_CORNER) {
        return make_uint2(transpose_word(address, edge), transpose_word(address + 4, edge));
    }
    return LINES ? gm_load_kept_line((const uint2 *)address) : gm_load_kept((const uint2 *)address);
}

/* N rows of one word: a vector for each column of the word. */
GM_DEVICE void aligned_tile_transpose(const uint32_t (&rows)[16], uint32_t (*vectors)[4])
{
#pragma unroll
    for (int m = 0; m < 4; m++) {
        uint32_t square[4];
        transpose_bytes(rows[4 * m], rows[4 * m + 1], rows[4 * m + 2], rows[4 * m + 3], square);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            vectors[i][m] = square[i];
        }
    }
}

GM_DEVICE void aligned_tile_transpose(const uint32_t (&rows)[8], uint32_t (*vectors)[4])
{
#pragma unroll
    for (int m = 0; m < 4; m++) {
        vectors[0][m] = __byte_perm(rows[2 * m], rows[2 * m + 1], 0x5410);
        vectors[1][m] = __byte_perm(rows[2 * m], rows[2 * m + 1], 0x7632);
    }
}

/* Elements of 1 or 2 bytes, 8 bytes at a time. */
template <typename geometry, int WHERE, bool LINES>
GM_DEVICE void aligned_tile_load_small(const transpose_window &window, const transpose_edge &edge,
                                       uint4 *tile)
{
    typedef typename geometry::unit unit;
    const unsigned col = threadIdx.x % geometry::WIDE * geometry::E;

#pragma unroll 1
    for (unsigned k = 0; k < geometry::STRIPS; k++) {
        const unsigned strip =
            threadIdx.x / geometry::WIDE + k * (geometry::THREADS / geometry::WIDE);
        const unsigned first = strip * geometry::N;
        if (WHERE != TILE_INSIDE && (first >= window.rows || col >= window.cols)) {
            break;
        }
        const char *from = window.in + first * window.in_pitch + col * sizeof(unit);
        unsigned place = (unsigned)(uintptr_t)from; /* its low bits say how far to shift */
        uint2 low[geometry::N], high[geometry::N];

#pragma unroll
        for (unsigned i = 0; i < geometry::N; i++) {
            const char *aligned = from - ((uintptr_t)from & 7);
            const bool here =
                WHERE == TILE_INSIDE ||
                (first + i >= edge.first && first + i < window.rows && col < window.cols);
            low[i] = high[i] = make_uint2(0, 0);
            if (here) {
                low[i] = aligned_tile_fetch<WHERE, LINES>(aligned, edge);
            }
            if (here && aligned != from) {
                high[i] = aligned_tile_fetch<WHERE, LINES>(aligned + 8, edge);
            }
            from += window.in_pitch;
        }
        uint32_t left[geometry::N], right[geometry::N], vectors[geometry::E][4];
#pragma unroll
        for (unsigned i = 0; i < geometry::N; i++) {
            const bool one = place & 4;
            const uint32_t a = one ? low[i].y : low[i].x;
            const uint32_t b = one ? high[i].x : low[i].y;
            const uint32_t c = one ? high[i].y : high[i].x;
            left[i] = __funnelshift_r(a, b, place * 8); /* counts modulo 32 */
            right[i] = __funnelshift_r(b, c, place * 8);
            place += (unsigned)window.in_pitch;
        }
        aligned_tile_transpose(left, vectors);
        aligned_tile_transpose(right, vectors + geometry::E / 2);
#pragma unroll
        for (unsigned i = 0; i < geometry::E; i++) {
            const unsigned c = col + i;
            const uint32_t *word = vectors[i];
            tile[c * geometry::HIGH + (strip ^ transpose_swizzle<geometry::E>(c))] =
                make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

/* Elements of 4 bytes, one at a time. */
template <typename geometry, int WHERE, bool LINES>
GM_DEVICE void aligned_tile_load_words(const transpose_window &window, const transpose_edge &edge,
                                       uint4 *tile)
{
    const unsigned col = threadIdx.x % geometry::WIDE;

#pragma unroll 1
    for (unsigned group = 0; group < geometry::STRIPS; group += geometry::GROUP) {
        uint32_t held[geometry::GROUP][4];

#pragma unroll
        for (unsigned k = 0; k < geometry::GROUP; k++) {
            const unsigned strip =
                threadIdx.x / geometry::WIDE + (group + k) * (geometry::THREADS / geometry::WIDE);
            const unsigned first = strip * 4;
            const char *from = window.in + first * window.in_pitch + col * 4;
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
                const bool here =
                    WHERE == TILE_INSIDE ||
                    (first + i >= edge.first && first + i < window.rows && col < window.cols);
                held[k][i] = 0;
                if (here) {
                    held[k][i] = LINES ? gm_load_kept_line((const uint32_t *)from)
                                       : gm_load_kept((const uint32_t *)from);
                }
                from += window.in_pitch;
            }
        }
#pragma unroll
        for (unsigned k = 0; k < geometry::GROUP; k++) {
            const unsigned strip =
                threadIdx.x / geometry::WIDE + (group + k) * (geometry::THREADS / geometry::WIDE);
            tile[col * geometry::HIGH + (strip ^ transpose_swizzle<1>(col))] =
                make_uint4(held[k][0], held[k][1], held[k][2], held[k][3]);
        }
    }
}

/* ---- store --------------------------------------------------------------------------------- */

/* The 16 bytes that begin `from` bytes into two vectors; whole words are not shifted further. */
template <bool WHOLE_WORDS>
GM_DEVICE uint4 aligned_tile_between(const uint4 a, const uint4 b, unsigned from)
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

/* The vector that begins `from` bytes into row c of the tile. */
template <typename geometry>
GM_DEVICE uint4 aligned_tile_vector(const uint4 *tile, unsigned c, unsigned from)
{
    const unsigned swizzle = transpose_swizzle<geometry::E>(c);
    const uint4 low = tile[c * geometry::HIGH + (from / 16 ^ swizzle)];
    const uint4 high = tile[c * geometry::HIGH + ((from + 15) / 16 ^ swizzle)];
    return aligned_tile_between<sizeof(typename geometry::unit) == 4>(low, high, from);
}

/* Bytes of a row of the tile up to the first sector that is its own. */
GM_DEVICE unsigned aligned_tile_skip(const char *row)
{
    return TRANSPOSE_SECTOR - ((unsigned)(uintptr_t)row & (TRANSPOSE_SECTOR - 1));
}

/* The vector that begins `from` bytes into a row of the output, if it is whole; of words, those
 * that are there. */
template <typename geometry>
GM_DEVICE void aligned_tile_store_vector(const transpose_window &window, const transpose_edge &edge,
                                         const uint4 *tile, unsigned c, unsigned from, char *row)
{
    const unsigned r = from / (unsigned)sizeof(typename geometry::unit);
    const bool whole = r >= edge.first && r + geometry::N <= window.rows;
    if (geometry::SMALL && !whole) {
        return;
    }
    const uint4 vector = aligned_tile_vector<geometry>(tile, c, from);
    if (whole) {
        *(uint4 *)(row + from) = vector;
        return;
    }
    const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        if (r + i >= edge.first && r + i < window.rows) {
            ((uint32_t *)(row + from))[i] = words[i];
        }
    }
}

/* Vectors of the rows of the output. */
template <typename geometry, bool INSIDE>
GM_DEVICE void aligned_tile_store(const transpose_window &window, const transpose_edge &edge,
                                  const uint4 *tile)
{
    const unsigned p = threadIdx.x % geometry::HIGH, step = geometry::THREADS / geometry::HIGH;
    const unsigned first = threadIdx.x / geometry::HIGH; /* column of the input */
    char *row = window.out + first * window.out_pitch;

    if (p >= geometry::STORED) {
        return;
    }
#pragma unroll 4
    for (unsigned i = 0; i < geometry::COLS / step; i++) {
        const unsigned c = first + i * step, from = aligned_tile_skip(row) + p * 16;
        if constexpr (INSIDE) {
            *(uint4 *)(row + from) = aligned_tile_vector<geometry>(tile, c, from);
        } else if (c < window.cols) {
            aligned_tile_store_vector<geometry>(window, edge, tile, c, from, row);
        }
        row += step * window.out_pitch;
    }
}

/* The same of a tile that has at most half of its rows: few lanes to a row, so that few rest. */
template <typename geometry>
GM_DEVICE void aligned_tile_store_low(const transpose_window &window, const transpose_edge &edge,
                                      const uint4 *tile)
{
    unsigned lanes = geometry::HIGH / 2;
    while (lanes > 1 && lanes * 8 >= window.rows * (unsigned)sizeof(typename geometry::unit)) {
        lanes /= 2;
    }
    const unsigned first = threadIdx.x / lanes, step = geometry::THREADS / lanes;
    char *row = window.out + first * window.out_pitch;
#pragma unroll 1
    for (unsigned c = first; c < window.cols; c += step) {
        const unsigned from = aligned_tile_skip(row) + threadIdx.x % lanes * 16;
        aligned_tile_store_vector<geometry>(window, edge, tile, c, from, row);
        row += step * window.out_pitch;
    }
}

/* An element of the tile: row r of column c of the input. */
template <typename geometry>
GM_DEVICE typename geometry::unit aligned_tile_element(const uint4 *tile, unsigned r, unsigned c)
{
    const unsigned place = r / geometry::N ^ transpose_swizzle<geometry::E>(c);
    return ((const typename geometry::unit *)(tile + c * geometry::HIGH + place))[r % geometry::N];
}

/* What rows of the output have before their first whole vector, where they begin, and behind the
 * last one, where they end: a thread for each element of a vector. */
template <typename geometry>
GM_DEVICE void aligned_tile_store_ends(const transpose_window &window, const transpose_edge &edge,
                                       const uint4 *tile)
{
    typedef typename geometry::unit unit;
    const unsigned N = geometry::N, j = threadIdx.x % N;
    for (unsigned c = threadIdx.x / N; c < window.cols; c += geometry::THREADS / N) {
        unit *row = (unit *)(window.out + c * window.out_pitch);
        const unsigned over = (unsigned)((uintptr_t)row / sizeof(unit)); /* elements, modulo N */
        const unsigned begin = edge.first + j, end = window.rows - 1 - j;
        /* The tile's first vector, and the first one that is whole. */
        const unsigned own = 2 * N - over % (2 * N),
                       next = edge.first + (0u - edge.first - over) % N;
        if (edge.first > 0 && begin < min(next, window.rows)) {
            row[begin] = aligned_tile_element<geometry>(tile, begin, c);
        }
        if ((window.rows + over) % N > j && end < window.rows && end >= max(own, next) &&
            end < own + geometry::STORED * N) {
            row[end] = aligned_tile_element<geometry>(tile, end, c);
        }
    }
}

/* ---- the tile of a block ------------------------------------------------------------------- */

template <typename geometry, int WHERE, bool LINES>
GM_DEVICE void aligned_tile_load(const transpose_window &window, const transpose_edge &edge,
                                 uint4 *tile)
{
    if constexpr (sizeof(typename geometry::unit) < 4) {
        aligned_tile_load_small<geometry, WHERE, LINES>(window, edge, tile);
    } else {
        aligned_tile_load_words<geometry, WHERE, LINES>(window, edge, tile);
    }
}

template <typename geometry>
GM_DEVICE void aligned_tile_store_edge(const transpose_window &window, const transpose_edge &edge,
                                       const uint4 *tile)
{
    if (!geometry::SMALL || window.rows > geometry::ROWS / 2) {
        aligned_tile_store<geometry, false>(window, edge, tile);
    } else {
        aligned_tile_store_low<geometry>(window, edge, tile);
    }
    if (geometry::SMALL && (edge.first > 0 || window.rows < geometry::ROWS)) {
        aligned_tile_store_ends<geometry>(window, edge, tile);
    }
}

template <typename geometry> GM_DEVICE int64_t aligned_tile_row(transpose_place at)
{
    return (int64_t)at.y * geometry::STEP - geometry::HALO;
}

/* Loads may read what is beside the tile, up to 8 bytes on the left and 16 on the right. `where`
 * says whether that, and the tile, are there. */
template <typename geometry, bool LINES>
GM_DEVICE void aligned_tile_move_at(const transpose_args &a, transpose_place at,
                                    transpose_edge edge, int where, uint4 *tile)
{
    const int64_t row = aligned_tile_row<geometry>(at), col = (int64_t)at.x * geometry::COLS;
    const transpose_window window =
        transpose_window_at<typename geometry::unit>(a, row, col, geometry::ROWS, geometry::COLS);
    edge.first = row < 0 ? geometry::HALO : 0;

    gm_wait_for_previous();
    if (where == TILE_INSIDE) {
        aligned_tile_load<geometry, TILE_INSIDE, LINES>(window, edge, tile);
        __syncthreads();
        aligned_tile_store<geometry, true>(window, edge, tile);
        return;
    }
    if (where == TILE_OVER_EDGE) {
        aligned_tile_load<geometry, TILE_OVER_EDGE, LINES>(window, edge, tile);
    } else {
        aligned_tile_load<geometry, TILE_OVER_CORNER, LINES>(window, edge, tile);
    }
    __syncthreads();
    aligned_tile_store_edge<geometry>(window, edge, tile);
}

template <typename geometry> GM_DEVICE void aligned_tile_move(const transpose_args &a, uint4 *tile)
{
    typedef typename geometry::unit unit;
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const int64_t row = aligned_tile_row<geometry>(at), col = (int64_t)at.x * geometry::COLS;
    transpose_edge edge;
    edge.begin = a.in;
    edge.end = a.in + (a.rows - 1) * a.pitch + a.cols * (int64_t)sizeof(unit);

    /* What is read beside the tile is the row before or after, but for the first row's left end and
     * the right end of the last rows (of 16 rows, if they are as short as that). */
    const bool top = at.y == 0, bottom = row + geometry::ROWS > a.rows - 16;
    const bool right = col + geometry::COLS + 16 / (int)sizeof(unit) > a.cols;
    const int where = !top && !right && !bottom                   ? TILE_INSIDE
                      : !(top && at.x == 0) && !(bottom && right) ? TILE_OVER_EDGE
                                                                  : TILE_OVER_CORNER;
    if (a.lines) {
        aligned_tile_move_at<geometry, true>(a, at, edge, where, tile);
    } else {
        aligned_tile_move_at<geometry, false>(a, at, edge, where, tile);
    }
}

#endif
