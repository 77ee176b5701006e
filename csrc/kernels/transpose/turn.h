/*
 * Tiles turned in two steps: small squares in registers, whole tiles in shared memory.
 *
 * 16 bytes hold N elements. A thread that loads 16 bytes from each of N rows has a square of
 * N x N, turns it in registers, and has N pieces of 16 bytes of the output's rows. So every
 * access, global or shared, is one of 128 bits. A side whose rows do not all begin and end at
 * multiples of 16 bytes is accessed element by element; the tile in shared memory is the same.
 *
 * What is read is the last that the L2 gives up, here and in words.h and squares.h: measured on an
 * H200, 1 to 2 % for every shape, though most of it is read once. A kernel that comes after and
 * lives in the L2 has its lines there after one pass more.
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
template <int N> GM_DEVICE unsigned transpose_swizzle(unsigned c)
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
    static_assert(THREADS % HIGH == 0 && THREADS % WIDE == 0, "a thread keeps to its column");
    static_assert(SQUARES * THREADS == HIGH * WIDE, "every thread has the same work");
};

/* Is every row on this side made of whole, aligned pieces? */
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
    window.out_pitch = a.rows * size;
    window.in = a.in + row * window.in_pitch + col * size;
    window.out = a.out + col * window.out_pitch + row * size;
    window.rows = (unsigned)min(a.rows - row, (int64_t)rows);
    window.cols = (unsigned)min(a.cols - col, (int64_t)cols);
    return window;
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_load_pieces(const transpose_window &window, uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    const unsigned first = threadIdx.x / WIDE * turn::N; /* row */
    const unsigned col = threadIdx.x % WIDE * turn::N;
    const unsigned step = THREADS / WIDE * turn::N;
    const char *from = window.in + first * window.in_pitch + col * sizeof(unit);
    uint32_t words[turn::SQUARES][turn::N][4];

#pragma unroll
    for (unsigned k = 0; k < turn::SQUARES; k++) {
#pragma unroll
        for (unsigned i = 0; i < turn::N; i++) {
            uint4 piece = make_uint4(0, 0, 0, 0);
            if (first + k * step + i < window.rows && col < window.cols) {
                piece = gm_load_kept((const uint4 *)from);
            }
            from += window.in_pitch;
            words[k][i][0] = piece.x, words[k][i][1] = piece.y;
            words[k][i][2] = piece.z, words[k][i][3] = piece.w;
        }
        from += (step - turn::N) * window.in_pitch;
    }
#pragma unroll
    for (unsigned k = 0; k < turn::SQUARES; k++) {
        transpose_square(words[k]);
#pragma unroll
        for (unsigned i = 0; i < turn::N; i++) {
            const unsigned c = col + i;
            const unsigned place = (first + k * step) / turn::N ^ transpose_swizzle<turn::N>(c);
            const uint32_t *word = words[k][i];
            tile[c * HIGH + place] = make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

/* Lanes are neighbours in a row of the input; a thread gathers pieces down its column. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_load_units(const transpose_window &window, uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    static_assert(THREADS % turn::COLS == 0, "a thread keeps to its column");
    const unsigned first = threadIdx.x / turn::COLS * turn::N;
    const unsigned col = threadIdx.x % turn::COLS;
    const unsigned step = THREADS / turn::COLS * turn::N;
    const char *from = window.in + first * window.in_pitch + col * sizeof(unit);
    unit held[turn::PIECES][turn::N];

#pragma unroll
    for (unsigned k = 0; k < turn::PIECES; k++) {
#pragma unroll
        for (unsigned i = 0; i < turn::N; i++) {
            held[k][i] = 0;
            if (first + k * step + i < window.rows && col < window.cols) {
                held[k][i] = gm_load_kept((const unit *)from);
            }
            from += window.in_pitch;
        }
        from += (step - turn::N) * window.in_pitch;
    }
#pragma unroll
    for (unsigned k = 0; k < turn::PIECES; k++) {
        const unsigned place = (first + k * step) / turn::N ^ transpose_swizzle<turn::N>(col);
        uint4 piece;
        memcpy((void *)&piece, held[k], sizeof piece);
        tile[col * HIGH + place] = piece;
    }
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_store_pieces(const transpose_window &window, const uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    const unsigned p = threadIdx.x % HIGH;
    const unsigned first = threadIdx.x / HIGH; /* column of the input */
    const unsigned step = THREADS / HIGH;
    char *to = window.out + first * window.out_pitch + p * 16;

#pragma unroll
    for (unsigned k = 0; k < turn::PIECES; k++) {
        const unsigned c = first + k * step;
        if (c < window.cols && p * turn::N < window.rows) {
            *(uint4 *)to = tile[c * HIGH + (p ^ transpose_swizzle<turn::N>(c))];
        }
        to += step * window.out_pitch;
    }
}

template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_store_units(const transpose_window &window, const uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    static_assert(THREADS % turn::ROWS == 0, "a thread keeps to its place in a row");
    const unsigned r = threadIdx.x % turn::ROWS;
    const unsigned first = threadIdx.x / turn::ROWS; /* column of the input */
    const unsigned step = THREADS / turn::ROWS;
    char *to = window.out + first * window.out_pitch + r * sizeof(unit);

#pragma unroll
    for (unsigned k = 0; k < turn::PIECES * turn::N; k++) {
        const unsigned c = first + k * step;
        if (c < window.cols && r < window.rows) {
            const uint4 *piece = &tile[c * HIGH + (r / turn::N ^ transpose_swizzle<turn::N>(c))];
            *(unit *)to = ((const unit *)piece)[r % turn::N];
        }
        to += step * window.out_pitch;
    }
}

/* Elements of 4 or 8 bytes: either side as its alignment allows. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_turn_tile(const transpose_args &a, uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    const int64_t size = sizeof(unit);
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const transpose_window window = transpose_window_at<unit>(
        a, (int64_t)at.y * turn::ROWS, (int64_t)at.x * turn::COLS, turn::ROWS, turn::COLS);

    gm_wait_for_previous();
    if (transpose_whole(a.in, a.pitch, a.cols * size)) {
        transpose_load_pieces<unit, HIGH, WIDE, THREADS>(window, tile);
    } else {
        transpose_load_units<unit, HIGH, WIDE, THREADS>(window, tile);
    }
    __syncthreads();
    if (transpose_whole(a.out, 0, a.rows * size)) {
        transpose_store_pieces<unit, HIGH, WIDE, THREADS>(window, tile);
    } else {
        transpose_store_units<unit, HIGH, WIDE, THREADS>(window, tile);
    }
}

/* Elements of any size, both sides made of whole pieces. */
template <typename unit, int HIGH, int WIDE, int THREADS>
GM_DEVICE void transpose_turn_whole_tile(const transpose_args &a, uint4 *tile)
{
    typedef transpose_turn<unit, HIGH, WIDE, THREADS> turn;
    const transpose_place at = transpose_place_of(a);
    if (at.x >= a.tiles_x) {
        return;
    }
    const transpose_window window = transpose_window_at<unit>(
        a, (int64_t)at.y * turn::ROWS, (int64_t)at.x * turn::COLS, turn::ROWS, turn::COLS);

    gm_wait_for_previous();
    transpose_load_pieces<unit, HIGH, WIDE, THREADS>(window, tile);
    __syncthreads();
    transpose_store_pieces<unit, HIGH, WIDE, THREADS>(window, tile);
}

#endif
