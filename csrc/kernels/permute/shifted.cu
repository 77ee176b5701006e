/*
 * permute / shifted: rows that begin anywhere, in aligned vectors on both sides.
 *
 * Follows  runs, whose units are as narrow as the least aligned row allows.
 * Idea     the result is one piece of memory, of which a thread writes aligned vectors of 16 bytes.
 *          What belongs in one lies in one row of the input, or at the end of a row and the
 *          beginning of the next. Where it begins in the middle of a vector there, the thread loads
 *          two and joins them:
 *
 *              input     |. . . a b c d e|f g h i j k . .|     aligned vectors, here of 8 bytes
 *              result          |a b c d e f g h|i j k A B C D E|
 *
 *              and of the next row  |. A B C D E F G|H ...
 *
 * Units    of rows that run backwards are joined from the other end, and change places in the
 *          vector.
 * Shift    is another one in every row; words are selected by it, bytes permuted.
 * Block    has a piece of the result. It first finds where the rows of its piece are in the input,
 *          and keeps that in shared memory: a thread then has one division for a vector.
 * Ends     vectors in which a row ends and the next one begins come last, a thread for each of
 *          them: a warp of which one lane had two rows would take twice the time.
 * Memory   a vector that goes beyond the result is stored byte by byte, as one that goes beyond the
 *          memory of the input is loaded.
 * Machine  LD.E.128, SEL, PRMT, ST.E.128
 */
#include "shifted_gaps.h"

enum {
    UNROLL = 2, /* vectors of a thread */
    THREADS = 256,
    PIECE = THREADS * UNROLL * VECTOR,
    ROWS = PIECE / SHIFTED_LEAST + 2 /* that a piece has a part of, at most */
};

/* A block's part of the result. Places are bytes from where its first row begins; the first block
 * begins before that if the result is not aligned. */
struct shifted_piece {
    int32_t begin, end;
    uint32_t rows;
};

/* Bytes of `a` before byte `at`, and of `b` from there on. */
GM_DEVICE uint4 shifted_blend(uint4 a, uint4 b, int at)
{
    const uint32_t from_a[4] = {a.x, a.y, a.z, a.w}, from_b[4] = {b.x, b.y, b.z, b.w};
    uint32_t blend[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int bytes = min(max(at - 4 * i, 0), 4); /* of a */
        const uint32_t mask = bytes == 4 ? 0xffffffffu : (1u << 8 * bytes) - 1;
        blend[i] = (from_a[i] & mask) | (from_b[i] & ~mask);
    }
    return make_uint4(blend[0], blend[1], blend[2], blend[3]);
}

/* Where a row of the result is in the input. */
GM_DEVICE const char *shifted_row(const permute_shifted_args &a, uint32_t row)
{
    const char *at = a.in;
    for (int d = 0; d < a.outer.ndim; d++) {
        at += permute_take(&row, a.outer.extent[d]) * a.outer.from[d];
    }
    return at;
}

/* Vectors that lie in one row. */
template <bool INSIDE, bool BACKWARDS>
GM_DEVICE void shifted_move_rows(const permute_shifted_args &a, const shifted_piece &piece,
                                 const char *const *rows, char *out)
{
    shifted_part part[UNROLL];
    bool whole[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
        const int on = (int)(k * THREADS + threadIdx.x) * VECTOR;
        const uint32_t at = (uint32_t)(piece.begin + on);
        const bool there = piece.begin + on >= 0 && piece.begin + on < piece.end;
        const uint32_t row = there ? gm_divide(at, a.run) : 0;
        whole[k] = there && at + VECTOR <= (row + 1) * a.run.by;
        part[k] = shifted_load_part<INSIDE, BACKWARDS>(a, rows[row], at, 0, whole[k] ? VECTOR : 0);
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
        if (whole[k]) {
            *(uint4 *)(out + (int)(k * THREADS + threadIdx.x) * VECTOR) =
                shifted_join_part<BACKWARDS>(a, part[k]);
        }
    }
}

/* The vectors in which a row ends, and the next one begins: a thread for each end. */
template <bool INSIDE, bool BACKWARDS>
GM_DEVICE void shifted_move_ends(const permute_shifted_args &a, const shifted_piece &piece,
                                 const char *const *rows, char *out)
{
    for (uint32_t row = threadIdx.x; row <= piece.rows; row += THREADS) {
        const int64_t end = (int64_t)row * a.run.by, on = end - piece.begin;
        const int cut = (int)on % VECTOR; /* bytes of the row before */
        if (on < 0 || on >= PIECE || cut == 0) {
            continue;
        }
        const bool before = row > 0, behind = end < piece.end;
        const int last = behind ? VECTOR : cut;
        const char *from = before ? rows[row - 1] : a.in, *next = behind ? rows[row] : a.in;
        const shifted_part head =
            shifted_load_part<INSIDE, BACKWARDS>(a, from, end - cut, 0, before ? cut : 0);
        const shifted_part tail =
            shifted_load_part<INSIDE, BACKWARDS>(a, next, end - cut, cut, last);
        const uint4 v = shifted_blend(shifted_join_part<BACKWARDS>(a, head),
                                      shifted_join_part<BACKWARDS>(a, tail), cut);
        shifted_store(out + (on - cut), v, before ? 0 : cut, last);
    }
}

template <bool INSIDE>
GM_DEVICE void shifted_move(const permute_shifted_args &a, const shifted_piece &piece,
                            const char *const *rows, char *out)
{
    if (a.backwards > 0) {
        shifted_move_rows<INSIDE, true>(a, piece, rows, out);
        shifted_move_ends<INSIDE, true>(a, piece, rows, out);
    } else {
        shifted_move_rows<INSIDE, false>(a, piece, rows, out);
        shifted_move_ends<INSIDE, false>(a, piece, rows, out);
    }
}

GM_KERNEL_BOUNDED(permute_shifted, permute_shifted_args, THREADS, 6)
{
    __shared__ const char *rows[ROWS]; /* where their bytes are in the input, less their places */
    __shared__ uint32_t first_row, first_at;
    const int64_t first = (int64_t)blockIdx.x * PIECE - a.lead; /* byte of the result */
    if (threadIdx.x == 0) {
        const uint64_t at = first < 0 ? 0 : (uint64_t)first, row = at / a.run.by;
        first_row = (uint32_t)row;
        first_at = (uint32_t)(at - row * a.run.by);
    }
    __syncthreads();
    shifted_piece piece;
    piece.begin = first < 0 ? (int32_t)first : (int32_t)first_at;
    piece.end = piece.begin + (int32_t)min((int64_t)PIECE, a.bytes - first);
    piece.rows = gm_divide((uint32_t)piece.end - 1, a.run) + 1;
    bool near = false; /* to an end of the input's memory */
    for (uint32_t i = threadIdx.x; i < piece.rows; i += THREADS) {
        const char *row = shifted_row(a, first_row + i);
        const char *low = a.backwards > 0 ? row + a.backwards - a.run.by : row;
        rows[i] = a.backwards > 0 ? row + a.backwards + (int64_t)i * a.run.by
                                  : row - (int64_t)i * a.run.by;
        near = near || low - a.begin < VECTOR || a.end - low - a.run.by < VECTOR;
    }
    gm_wait_for_previous();
    near = __syncthreads_or(near);
    char *out = a.out + first;
    if (near) {
        shifted_move<false>(a, piece, rows, out);
    } else {
        shifted_move<true>(a, piece, rows, out);
    }
}

GM_KERNEL_BOUNDED(permute_shifted_gaps, permute_shifted_args, GAPS_THREADS, 5)
{
    gm_wait_for_previous();
    if (a.backwards > 0) {
        gaps_move<true>(a);
    } else {
        gaps_move<false>(a);
    }
}
