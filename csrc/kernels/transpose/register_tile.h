/*
 * A tile that is transposed in two steps: squares in registers, the whole tile in shared memory.
 *
 * A vector is 16 bytes, N elements. Every access, global or shared, is one of a vector.
 *
 *            input                          shared memory                     output
 *        WIDE squares across              HIGH vectors across             HIGH vectors across
 *      +-----+-----+-- - --+            +----+----+-- - --+            +----+----+-- - --+
 *      | 0   | 1   |       |  HIGH    c |    |    |       |  WIDE * N  | l0 | l1 |       |
 *      +-----+-----+       |  squares   +----+----+       |  columns   +----+----+       |
 *      |                   |  down      |                 |  of the    |                 |
 *
 * thread  loads a vector from each of N rows, which is a square of N x N elements, transposes it in
 *         registers and has N vectors of the output.
 * warp    loads squares that are neighbours in a row of tiles; stores vectors that are neighbours
 *         in a row of the output.
 * block   the tile. Its row c in shared memory is column c of the input; vector p of that row is
 *         kept at place p ^ swizzle(c).
 *
 * A side whose rows do not all begin and end at multiples of 16 bytes is accessed element by
 * element; the tile in shared memory is the same.
 *
 * Loads ask the L2 to give up the lines last, here and in the headers of the other tiles. Measured
 * on an H200: 1 to 2 % for every shape, though most of the input is read once. A kernel that
 * follows and lives in the L2 has its lines there after one more pass. LINES: the L2 fetches whole
 * lines, where it still has them for the next column of tiles: 0 to 4 % for rows that begin inside
 * of lines.
 */
#ifndef GPUMEM_TRANSPOSE_REGISTER_TILE_H
#define GPUMEM_TRANSPOSE_REGISTER_TILE_H

#include "lines.h"
#include "squares.h"
#include "transpose.h"

/* ---- squares in registers ------------------------------------------------------------------ */

/* words[r] is a vector of row r of the input; afterwards words[c] is one of row c of the output. */
GM_DEVICE void transpose_square(uint32_t (&)[1][4])
{
}

GM_DEVICE void transpose_swap(uint32_t &a, uint32_t &b)
{
    uint32_t held = a;
    a = b;
    b = held;
}

GM_DEVICE void transpose_square(uint32_t (&words)[2][4])
{
    transpose_swap(words[0][2], words[1][0]);
    transpose_swap(words[0][3], words[1][1]);
}

GM_DEVICE void transpose_square(uint32_t (&words)[4][4])
{
#pragma unroll
    for (int r = 0; r < 4; r++) {
#pragma unroll
        for (int c = 0; c < r; c++) {
            transpose_swap(words[r][c], words[c][r]);
        }
    }
}

GM_DEVICE void transpose_square(uint32_t (&words)[8][4])
{
    uint32_t transposed[8][4];
#pragma unroll
    for (int k = 0; k < 4; k++) { /* columns 2 k and 2 k + 1 */
#pragma unroll
        for (int m = 0; m < 4; m++) { /* rows 2 m and 2 m + 1 */
            transposed[2 * k][m] = __byte_perm(words[2 * m][k], words[2 * m + 1][k], 0x5410);
            transposed[2 * k + 1][m] = __byte_perm(words[2 * m][k], words[2 * m + 1][k], 0x7632);
        }
    }
#pragma unroll
    for (int i = 0; i < 32; i++) {
        words[i / 4][i % 4] = transposed[i / 4][i % 4];
    }
}

GM_DEVICE void transpose_square(uint32_t (&words)[16][4])
{
    uint32_t transposed[16][4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int m = 0; m < 4; m++) {
            uint32_t square[4];
            transpose_bytes(words[4 * m][k], words[4 * m + 1][k], words[4 * m + 2][k],
                            words[4 * m + 3][k], square);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                transposed[4 * k + i][m] = square[i];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 64; i++) {
        words[i / 4][i % 4] = transposed[i / 4][i % 4];
    }
}

/* ---- geometry ------------------------------------------------------------------------------ */

/*
 * The place of vector p in row c of shared memory is p ^ swizzle(c). Eight lanes are served at a
 * time (8 x 16 bytes fill the banks): those that write have eight neighbouring c, or eight c that
 * are N apart, and both kinds get eight different places; those that read have one c.
 */
template <int N> GM_DEVICE unsigned transpose_swizzle(unsigned c)
{
    return (N == 1 ? c : c ^ c / N) & 7;
}

/* Elements of a type, the tile in squares, and the threads of a block. */
template <typename type, int high, int wide, int threads> struct register_tile {
    typedef type unit;
    enum {
        HIGH = high,
        WIDE = wide,
        THREADS = threads,
        N = 16 / sizeof(unit), /* elements of a vector, rows of a square */
        ROWS = HIGH * N,
        COLS = WIDE * N,
        SQUARES = HIGH * WIDE / THREADS, /* of a thread */
        VECTORS = SQUARES * N,           /* of a thread */
        SIZE = HIGH * COLS,              /* of the tile in shared memory, in vectors */
    };
    static_assert(HIGH % 8 == 0 && WIDE % 8 == 0, "the swizzle is over eight places");
    static_assert(THREADS % HIGH == 0 && THREADS % WIDE == 0, "a thread keeps to its column");
    static_assert(SQUARES * THREADS == HIGH * WIDE, "every thread has the same work");
};

/* Are all rows on this side made of whole, aligned vectors? */
GM_DEVICE bool transpose_whole(const void *base, int64_t pitch, int64_t row_bytes)
{
    return ((uintptr_t)base | (uintptr_t)pitch | (uintptr_t)row_bytes) % 16 == 0;
}

/* A tile's place in the matrix, and how much of it there is: multiplied once, then stepped. */
typedef struct transpose_window {
    const char *in; /* its first element */
    char *out;
    int64_t in_pitch, out_pitch; /* bytes */
    unsigned rows, cols;         /* of the input, at most the tile's */
} transpose_window;

template <typename unit>
GM_DEVICE transpose_window transpose_window_at(const transpose_args &a, int64_t row, int64_t col,
                                               unsigned rows, unsigned cols)
{
    const int64_t size = sizeof(unit);
    transpose_window window;
    window.in_pitch = a.pitch;
    window.out_pitch = a.out_pitch;
    window.in = a.in + row * window.in_pitch + col * size;
    window.out = a.out + col * window.out_pitch + row * size;
    window.rows = (unsigned)min(a.rows - row, (int64_t)rows);
    window.cols = (unsigned)min(a.cols - col, (int64_t)cols);
    return window;
}

/* ---- load ---------------------------------------------------------------------------------- */

/* By vectors: squares, which are transposed on the way. */
template <typename geometry, bool LINES>
GM_DEVICE void register_tile_load_vectors(const transpose_window &window, uint4 *tile)
{
    const unsigned N = geometry::N, step = geometry::THREADS / geometry::WIDE * N;
    const unsigned first = threadIdx.x / geometry::WIDE * N; /* row */
    const unsigned col = threadIdx.x % geometry::WIDE * N;
    const char *from = window.in + first * window.in_pitch + col * sizeof(typename geometry::unit);
    uint32_t words[geometry::SQUARES][N][4];

#pragma unroll
    for (unsigned k = 0; k < geometry::SQUARES; k++) {
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            uint4 vector = make_uint4(0, 0, 0, 0);
            if (first + k * step + i < window.rows && col < window.cols) {
                vector = LINES ? gm_load_kept_line((const uint4 *)from)
                               : gm_load_kept((const uint4 *)from);
            }
            from += window.in_pitch;
            words[k][i][0] = vector.x, words[k][i][1] = vector.y;
            words[k][i][2] = vector.z, words[k][i][3] = vector.w;
        }
        from += (step - N) * window.in_pitch;
    }
#pragma unroll
    for (unsigned k = 0; k < geometry::SQUARES; k++) {
        transpose_square(words[k]);
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            const unsigned c = col + i;
            const unsigned place = (first + k * step) / N ^ transpose_swizzle<N>(c);
            const uint32_t *word = words[k][i];
            tile[c * geometry::HIGH + place] = make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

/* By elements: lanes are neighbours in a row of the input, a thread collects vectors down its
 * column. */
template <typename geometry, bool LINES>
GM_DEVICE void register_tile_load_elements(const transpose_window &window, uint4 *tile)
{
    typedef typename geometry::unit unit;
    static_assert(geometry::THREADS % geometry::COLS == 0, "a thread keeps to its column");
    const unsigned N = geometry::N, step = geometry::THREADS / geometry::COLS * N;
    const unsigned first = threadIdx.x / geometry::COLS * N;
    const unsigned col = threadIdx.x % geometry::COLS;
    const char *from = window.in + first * window.in_pitch + col * sizeof(unit);
    unit held[geometry::VECTORS][N];

#pragma unroll
    for (unsigned k = 0; k < geometry::VECTORS; k++) {
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            held[k][i] = 0;
            if (first + k * step + i < window.rows && col < window.cols) {
                held[k][i] = LINES ? gm_load_kept_line((const unit *)from)
                                   : gm_load_kept((const unit *)from);
            }
            from += window.in_pitch;
        }
        from += (step - N) * window.in_pitch;
    }
#pragma unroll
    for (unsigned k = 0; k < geometry::VECTORS; k++) {
        const unsigned place = (first + k * step) / N ^ transpose_swizzle<N>(col);
        uint4 vector;
        memcpy((void *)&vector, held[k], sizeof vector);
        tile[col * geometry::HIGH + place] = vector;
    }
}

/* ---- store --------------------------------------------------------------------------------- */

template <typename geometry>
GM_DEVICE void register_tile_store_vectors(const transpose_window &window, const uint4 *tile)
{
    const unsigned N = geometry::N, HIGH = geometry::HIGH;
    const unsigned p = threadIdx.x % HIGH;
    const unsigned first = threadIdx.x / HIGH; /* column of the input */
    const unsigned step = geometry::THREADS / HIGH;
    char *to = window.out + first * window.out_pitch + p * 16;

#pragma unroll
    for (unsigned k = 0; k < geometry::VECTORS; k++) {
        const unsigned c = first + k * step;
        if (c < window.cols && p * N < window.rows) {
            *(uint4 *)to = tile[c * HIGH + (p ^ transpose_swizzle<N>(c))];
        }
        to += step * window.out_pitch;
    }
}

template <typename geometry>
GM_DEVICE void register_tile_store_elements(const transpose_window &window, const uint4 *tile)
{
    typedef typename geometry::unit unit;
    static_assert(geometry::THREADS % geometry::ROWS == 0, "a thread keeps to its place in a row");
    const unsigned N = geometry::N, ROWS = geometry::ROWS;
    const unsigned r = threadIdx.x % ROWS;
    const unsigned first = threadIdx.x / ROWS; /* column of the input */
    const unsigned step = geometry::THREADS / ROWS;
    char *to = window.out + first * window.out_pitch + r * sizeof(unit);

#pragma unroll
    for (unsigned k = 0; k < geometry::VECTORS * N; k++) {
        const unsigned c = first + k * step;
        if (c < window.cols && r < window.rows) {
            const uint4 *vector = &tile[c * geometry::HIGH + (r / N ^ transpose_swizzle<N>(c))];
            *(unit *)to = ((const unit *)vector)[r % N];
        }
        to += step * window.out_pitch;
    }
}

/* ---- the tile of a block ------------------------------------------------------------------- */

/* Elements of 4 or 8 bytes: each side by vectors or by elements, as its alignment allows. */
template <typename geometry, bool LINES>
GM_DEVICE void register_tile_move_at(const transpose_args &a, transpose_place at, uint4 *tile)
{
    const int64_t size = sizeof(typename geometry::unit);
    const transpose_window window = transpose_window_at<typename geometry::unit>(
        a, (int64_t)at.y * geometry::ROWS, (int64_t)at.x * geometry::COLS, geometry::ROWS,
        geometry::COLS);

    gm_wait_for_previous();
    if (transpose_whole(a.in, a.pitch, a.cols * size)) {
        register_tile_load_vectors<geometry, LINES>(window, tile);
    } else {
        register_tile_load_elements<geometry, LINES>(window, tile);
    }
    __syncthreads();
    if (transpose_whole(a.out, a.out_pitch, a.rows * size)) {
        register_tile_store_vectors<geometry>(window, tile);
    } else {
        register_tile_store_elements<geometry>(window, tile);
    }
}

template <typename geometry> GM_DEVICE void register_tile_move(const transpose_args &a, uint4 *tile)
{
    const transpose_place at = transpose_place_of(a);
    if (at.x < a.tiles_x) {
        if (a.lines) {
            register_tile_move_at<geometry, true>(a, at, tile);
        } else {
            register_tile_move_at<geometry, false>(a, at, tile);
        }
    }
}

/* Elements of any size, both sides by vectors. */
template <typename geometry, bool LINES>
GM_DEVICE void register_tile_move_vectors_at(const transpose_args &a, transpose_place at,
                                             uint4 *tile)
{
    const transpose_window window = transpose_window_at<typename geometry::unit>(
        a, (int64_t)at.y * geometry::ROWS, (int64_t)at.x * geometry::COLS, geometry::ROWS,
        geometry::COLS);

    gm_wait_for_previous();
    register_tile_load_vectors<geometry, LINES>(window, tile);
    __syncthreads();
    register_tile_store_vectors<geometry>(window, tile);
}

template <typename geometry>
GM_DEVICE void register_tile_move_vectors(const transpose_args &a, uint4 *tile)
{
    const transpose_place at = transpose_place_of(a);
    if (at.x < a.tiles_x) {
        if (a.lines) {
            register_tile_move_vectors_at<geometry, true>(a, at, tile);
        } else {
            register_tile_move_vectors_at<geometry, false>(a, at, tile);
        }
    }
}

#endif
