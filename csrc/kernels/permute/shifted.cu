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
 * Ends     vectors in which a row ends and the next one begins come last: a warp of which one lane
 *          had two rows would take twice the time. A few of them have a thread for each byte, many
 *          a thread for each.
 * Memory   a vector that goes beyond the result is stored byte by byte, as one that goes beyond the
 *          memory of the input is loaded.
 * Machine  LD.E.128, SEL, PRMT, ST.E.128
 */
#include "shifted_gaps.h"
#include "shifted_picked.h"

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

/* In shared memory, of the rows of which a block has a part. */
struct shifted_rows {
    __align__(16) uint32_t select[SHIFTED_PIXEL][4]; /* of pixels: see permute_shifted_args */
    const char *at[ROWS]; /* where their bytes are in the input, less their places */
    uint32_t first, first_at;
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

/* COUNT of a thread's vectors that lie in one row, from `first` on. */
template <bool INSIDE, typename way, int COUNT>
GM_DEVICE void shifted_move_some(const permute_shifted_args &a, const shifted_piece &piece,
                                 const shifted_rows &rows, char *out, int first)
{
    typename way::part part[COUNT];
    bool whole[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int on = (int)((first + k) * THREADS + threadIdx.x) * VECTOR;
        const uint32_t at = (uint32_t)(piece.begin + on);
        const bool there = piece.begin + on >= 0 && piece.begin + on < piece.end;
        const uint32_t row = there ? gm_divide(at, a.run) : 0;
        whole[k] = there && at + VECTOR <= (row + 1) * a.run.by;
        part[k] = shifted_load_part<INSIDE>(way(), a, rows.at[row], at, 0, whole[k] ? VECTOR : 0);
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        if (whole[k]) {
            const int on = (int)((first + k) * THREADS + threadIdx.x) * VECTOR;
            *(uint4 *)(out + on) =
                shifted_join_part(way(), a, rows.select, part[k], piece.begin + on);
        }
    }
}

/* Few blocks are close to the memory's ends: their threads have one vector after the other. */
template <bool INSIDE, typename way>
GM_DEVICE void shifted_move_rows(const permute_shifted_args &a, const shifted_piece &piece,
                                 const shifted_rows &rows, char *out)
{
    if constexpr (INSIDE) {
        shifted_move_some<true, way, UNROLL>(a, piece, rows, out, 0);
        return;
    }
#pragma unroll 1
    for (int k = 0; k < UNROLL; k++) {
        shifted_move_some<false, way, 1>(a, piece, rows, out, k);
    }
}

/* The vectors in which a row ends, and the next one begins: a thread for each end. */
template <bool INSIDE, typename way>
GM_DEVICE void shifted_move_ends(const permute_shifted_args &a, const shifted_piece &piece,
                                 const shifted_rows &rows, char *out)
{
    for (uint32_t row = threadIdx.x; row <= piece.rows; row += THREADS) {
        const int64_t end = (int64_t)row * a.run.by, on = end - piece.begin;
        const int cut = (int)on % VECTOR; /* bytes of the row before */
        if (on < 0 || on >= PIECE || cut == 0) {
            continue;
        }
        const bool before = row > 0, behind = end < piece.end;
        const int last = behind ? VECTOR : cut;
        const char *from = before ? rows.at[row - 1] : a.in, *next = behind ? rows.at[row] : a.in;
        const typename way::part head =
            shifted_load_part<INSIDE>(way(), a, from, end - cut, 0, before ? cut : 0);
        const typename way::part tail =
            shifted_load_part<INSIDE>(way(), a, next, end - cut, cut, last);
        const uint4 v =
            shifted_blend(shifted_join_part(way(), a, rows.select, head, end - cut),
                          shifted_join_part(way(), a, rows.select, tail, end - cut), cut);
        shifted_store(out + (on - cut), v, before ? 0 : cut, last);
    }
}

/* The same, of a few ends: a thread for each byte. */
enum { FEW = THREADS / VECTOR };

template <typename way>
GM_DEVICE void shifted_move_bytes(const permute_shifted_args &a, const shifted_piece &piece,
                                  const shifted_rows &rows, char *out)
{
    const uint32_t row = threadIdx.x / VECTOR;
    if (row > piece.rows) {
        return;
    }
    const int64_t end = (int64_t)row * a.run.by, on = end - piece.begin;
    const int byte = threadIdx.x % VECTOR, cut = (int)on % VECTOR;
    const bool before = byte < cut;
    if (on >= 0 && on < PIECE && cut > 0 && (before ? row > 0 : end < piece.end)) {
        const char *from = rows.at[before ? row - 1 : row];
        out[on - cut + byte] = *shifted_byte(way(), a, from, end - cut + byte);
    }
}

template <bool INSIDE, typename way>
GM_DEVICE void shifted_move_piece(const permute_shifted_args &a, const shifted_piece &piece,
                                  const shifted_rows &rows, char *out)
{
    shifted_move_rows<INSIDE, way>(a, piece, rows, out);
    if (piece.rows < FEW) {
        shifted_move_bytes<way>(a, piece, rows, out);
    } else {
        shifted_move_ends<INSIDE, way>(a, piece, rows, out);
    }
}

/* `forwards`, and the way of rows that run backwards; the same if none do. */
template <bool INSIDE, typename forwards, typename backwards>
GM_DEVICE void shifted_move(const permute_shifted_args &a, const shifted_piece &piece,
                            const shifted_rows &rows, char *out)
{
    if (backwards::BACKWARDS && a.backwards > 0) {
        shifted_move_piece<INSIDE, backwards>(a, piece, rows, out);
    } else {
        shifted_move_piece<INSIDE, forwards>(a, piece, rows, out);
    }
}

template <typename way, typename backwards = way>
GM_DEVICE void shifted_move_block(const permute_shifted_args &a, shifted_rows &rows)
{
    const int64_t first = (int64_t)blockIdx.x * PIECE - a.lead; /* byte of the result */
    if constexpr (way::PIXELS) {
        shifted_keep_select(a, rows.select);
    }
    const uint64_t at = first < 0 ? 0 : (uint64_t)first;
    uint32_t first_row, first_at;
    if (a.bytes <= INT32_MAX) {
        first_row = gm_divide((uint32_t)at, a.run);
        first_at = (uint32_t)at - first_row * a.run.by;
    } else { /* a division of 64 bits takes as long as all else */
        if (threadIdx.x == 0) {
            rows.first = (uint32_t)(at / a.run.by);
            rows.first_at = (uint32_t)(at - (uint64_t)rows.first * a.run.by);
        }
        __syncthreads();
        first_row = rows.first;
        first_at = rows.first_at;
    }
    shifted_piece piece;
    piece.begin = (int32_t)(first < 0 ? first : first_at);
    piece.end = piece.begin + (int32_t)min((int64_t)PIECE, a.bytes - first);
    piece.rows = gm_divide((uint32_t)piece.end - 1, a.run) + 1;
    bool near = false; /* to an end of the input's memory */
    for (uint32_t i = threadIdx.x; i < piece.rows; i += THREADS) {
        enum { BESIDE = way::BESIDE, PICKED = way::PICKED, OF = way::OF };
        const char *row = shifted_row(a, first_row + i);
        const int64_t begin = (int64_t)i * a.run.by;
        const int64_t low = max(begin, (int64_t)piece.begin) / PICKED * OF;
        const int64_t high = min(begin + a.run.by, (int64_t)piece.end) / PICKED * OF;
        const char *from = a.backwards > 0 ? row + a.backwards + begin : row - begin / PICKED * OF;
        rows.at[i] = from;
        near = near || (a.backwards > 0 ? from - high : from + low) - a.begin < BESIDE ||
               a.end - (a.backwards > 0 ? from - low : from + high) < BESIDE;
    }
    gm_wait_for_previous();
    near = __syncthreads_or(near);
    char *out = a.out + first;
    if (near) {
        shifted_move<false, way, backwards>(a, piece, rows, out);
    } else {
        shifted_move<true, way, backwards>(a, piece, rows, out);
    }
}

GM_KERNEL_BOUNDED(permute_shifted, permute_shifted_args, THREADS, 6)
{
    __shared__ shifted_rows rows;
    shifted_move_block<shifted_units<false>, shifted_units<true>>(a, rows);
}

GM_KERNEL_BOUNDED(permute_shifted_gaps, permute_shifted_args, GAPS_THREADS, 5)
{
    gm_wait_for_previous();
    gaps_move<shifted_units>(a, nullptr);
}

GM_KERNEL_BOUNDED(permute_shifted_pixels, permute_shifted_args, THREADS, 6)
{
    __shared__ shifted_rows rows;
    shifted_move_block<shifted_pixels<false>, shifted_pixels<true>>(a, rows);
}

GM_KERNEL_BOUNDED(permute_shifted_picked, permute_shifted_args, THREADS, 5)
{
    __shared__ shifted_rows rows;
    switch (a.picked) {
    case 2: shifted_move_block<shifted_picked<1, 2>>(a, rows); break;
    case 3: shifted_move_block<shifted_picked<2, 3>>(a, rows); break;
    default: shifted_move_block<shifted_picked<3, 4>>(a, rows); break;
    }
}

GM_KERNEL_BOUNDED(permute_shifted_pixels_gaps, permute_shifted_args, GAPS_THREADS, 4)
{
    __shared__ __align__(16) uint32_t select[SHIFTED_PIXEL][4];
    shifted_keep_select(a, select);
    __syncthreads();
    gm_wait_for_previous();
    gaps_move<shifted_pixels>(a, select);
}
