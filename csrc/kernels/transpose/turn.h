/*
 * Tiles turned in two steps: small squares in registers, whole tiles in shared memory.
 *
 * 16 bytes hold N elements. A thread that loads 16 bytes from each of N rows has a square of
 * N x N, turns it in registers, and has N pieces of 16 bytes of the output's rows. So every
 * access, global or shared, is one of 128 bits. A side whose rows do not all begin and end at
 * multiples of 16 bytes is accessed element by element; the tile in shared memory is the same.
 */
#ifndef GPUMEM_TRANSPOSE_TURN_H
#define GPUMEM_TRANSPOSE_TURN_H

#include "transpose.h"

/* Rows r of the input that are one 16-byte piece of the output, for N columns c: words[r][.] to
 * words[c][.]. */
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

/* Four rows of four bytes. */
GM_DEVICE void transpose_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                               uint32_t (&turned)[4])
{
    const uint32_t low_ab = __byte_perm(a, b, 0x5140); /* a0 b0 a1 b1 */
    const uint32_t low_cd = __byte_perm(c, d, 0x5140);
    const uint32_t high_ab = __byte_perm(a, b, 0x7362); /* a2 b2 a3 b3 */
    const uint32_t high_cd = __byte_perm(c, d, 0x7362);
    turned[0] = __byte_perm(low_ab, low_cd, 0x5410);
    turned[1] = __byte_perm(low_ab, low_cd, 0x7632);
    turned[2] = __byte_perm(high_ab, high_cd, 0x5410);
    turned[3] = __byte_perm(high_ab, high_cd, 0x7632);
}

GM_DEVICE void transpose_square(uint32_t (&words)[8][4])
{
    uint32_t turned[8][4];
#pragma unroll
    for (int k = 0; k < 4; k++) { /* columns 2 k and 2 k + 1 */
#pragma unroll
        for (int m = 0; m < 4; m++) { /* rows 2 m and 2 m + 1 */
            turned[2 * k][m] = __byte_perm(words[2 * m][k], words[2 * m + 1][k], 0x5410);
            turned[2 * k + 1][m] = __byte_perm(words[2 * m][k], words[2 * m + 1][k], 0x7632);
        }
    }
#pragma unroll
    for (int i = 0; i < 32; i++) {
        words[i / 4][i % 4] = turned[i / 4][i % 4];
    }
}

GM_DEVICE void transpose_square(uint32_t (&words)[16][4])
{
    uint32_t turned[16][4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
        for (int m = 0; m < 4; m++) {
            uint32_t square[4];
            transpose_bytes(words[4 * m][k], words[4 * m + 1][k], words[4 * m + 2][k],
                            words[4 * m + 3][k], square);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                turned[4 * k + i][m] = square[i];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 64; i++) {
        words[i / 4][i % 4] = turned[i / 4][i % 4];
    }
}

/*
 * The tile in shared memory has a row of HIGH pieces for each column c of the input. Piece p is
 * kept at place p ^ swizzle(c). Eight lanes are served at a time (8 x 16 bytes fill the banks):
 * those that write have eight neighbouring c, or eight c that are N apart, and both kinds get
 * eight different places; those that read have one c.
 */
template <int N> GM_DEVICE int transpose_swizzle(int c)
{
    return (N == 1 ? c : c ^ c / N) & 7;
}

/* A tile of HIGH x WIDE squares for THREADS threads; a square is N x N units of 16 / N bytes. */
template <typename unit, int HIGH, int WIDE, int THREADS> struct transpose_turn {
    enum {
        N = 16 / sizeof(unit),
        ROWS = HIGH * N,
        COLS = WIDE * N,
        SQUARES = HIGH * WIDE / THREADS, /* per thread */
        PIECES = SQUARES * N,
        TILE = HIGH * COLS, /* in pieces of 16 bytes */
    };
    static_assert(HIGH % 8 == 0 && WIDE % 8 == 0, "the swizzle is over eight places");
    static_assert(SQUARES * THREADS == HIGH * WIDE, "every thread has the same work");
};

/* Is every row on this side made of whole, aligned pieces? */
GM_DEVICE bool transpose_whole(const void *base, int64_t pitch, int64_t row_bytes)
{
    return ((uintptr_t)base | (uintptr_t)pitch | (uintptr_t)row_bytes) % 16 == 0;
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_load_pieces(const transpose_args &a, const transpose_place &at,
                                     uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    uint32_t words[turn::SQUARES][turn::N][4];

#pragma unroll
    for (int k = 0; k < turn::SQUARES; k++) {
        const int square = (int)threadIdx.x + k * THREADS;
        const int64_t row = at.y * turn::ROWS + square / WIDE * turn::N;
        const int64_t col = at.x * turn::COLS + square % WIDE * turn::N;
#pragma unroll
        for (int i = 0; i < turn::N; i++) {
            uint4 piece = make_uint4(0, 0, 0, 0);
            if (row + i < a.rows && col < a.cols) {
                piece = *(const uint4 *)(transpose_in<unit>(a, row + i) + col);
            }
            words[k][i][0] = piece.x, words[k][i][1] = piece.y;
            words[k][i][2] = piece.z, words[k][i][3] = piece.w;
        }
    }
#pragma unroll
    for (int k = 0; k < turn::SQUARES; k++) {
        const int square = (int)threadIdx.x + k * THREADS;
        transpose_square(words[k]);
#pragma unroll
        for (int i = 0; i < turn::N; i++) {
            const int c = square % WIDE * turn::N + i;
            const uint32_t *word = words[k][i];
            tile[c * HIGH + (square / WIDE ^ transpose_swizzle<turn::N>(c))] =
                make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

/* Lanes are neighbours in a row of the input; a thread gathers a piece down a column. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_load_units(const transpose_args &a, const transpose_place &at, uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    unit held[turn::PIECES][turn::N];

#pragma unroll
    for (int k = 0; k < turn::PIECES; k++) {
        const int piece = (int)threadIdx.x + k * THREADS;
        const int64_t row = at.y * turn::ROWS + piece / turn::COLS * turn::N;
        const int64_t col = at.x * turn::COLS + piece % turn::COLS;
#pragma unroll
        for (int i = 0; i < turn::N; i++) {
            held[k][i] = row + i < a.rows && col < a.cols ? transpose_in<unit>(a, row + i)[col] : 0;
        }
    }
#pragma unroll
    for (int k = 0; k < turn::PIECES; k++) {
        const int piece = (int)threadIdx.x + k * THREADS;
        const int c = piece % turn::COLS;
        uint4 whole;
        memcpy((void *)&whole, held[k], sizeof whole);
        tile[c * HIGH + (piece / turn::COLS ^ transpose_swizzle<turn::N>(c))] = whole;
    }
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_store_pieces(const transpose_args &a, const transpose_place &at,
                                      const uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;

#pragma unroll
    for (int k = 0; k < turn::PIECES; k++) {
        const int piece = (int)threadIdx.x + k * THREADS;
        const int c = piece / HIGH;
        const int64_t row = at.y * turn::ROWS + piece % HIGH * turn::N;
        const int64_t col = at.x * turn::COLS + c;
        if (row < a.rows && col < a.cols) {
            *(uint4 *)(transpose_out<unit>(a, col) + row) =
                tile[c * HIGH + (piece % HIGH ^ transpose_swizzle<turn::N>(c))];
        }
    }
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_store_units(const transpose_args &a, const transpose_place &at,
                                     const uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;

#pragma unroll
    for (int k = 0; k < turn::PIECES * turn::N; k++) {
        const int index = (int)threadIdx.x + k * THREADS;
        const int c = index / turn::ROWS;
        const int r = index % turn::ROWS;
        const int64_t row = at.y * turn::ROWS + r;
        const int64_t col = at.x * turn::COLS + c;
        if (row < a.rows && col < a.cols) {
            const uint4 *piece = &tile[c * HIGH + (r / turn::N ^ transpose_swizzle<turn::N>(c))];
            transpose_out<unit>(a, col)[row] = ((const unit *)piece)[r % turn::N];
        }
    }
}

/* Elements of 4, 8 or 16 bytes: either side as its alignment allows. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_turn_tile(const transpose_args &a, uint4 *tile)
{
    const transpose_place at = transpose_place_of(a, blockIdx.x);
    const int64_t size = sizeof(unit);

    gm_wait_for_previous();
    if (transpose_whole(a.in, a.pitch, a.cols * size)) {
        transpose_load_pieces<unit, HIGH, WIDE, THREADS>(a, at, tile);
    } else {
        transpose_load_units<unit, HIGH, WIDE, THREADS>(a, at, tile);
    }
    __syncthreads();
    if (transpose_whole(a.out, 0, a.rows * size)) {
        transpose_store_pieces<unit, HIGH, WIDE, THREADS>(a, at, tile);
    } else {
        transpose_store_units<unit, HIGH, WIDE, THREADS>(a, at, tile);
    }
}

/* Elements of any size, both sides made of whole pieces. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_turn_whole_tile(const transpose_args &a, uint4 *tile)
{
    const transpose_place at = transpose_place_of(a, blockIdx.x);

    gm_wait_for_previous();
    transpose_load_pieces<unit, HIGH, WIDE, THREADS>(a, at, tile);
    __syncthreads();
    transpose_store_pieces<unit, HIGH, WIDE, THREADS>(a, at, tile);
}

#endif
