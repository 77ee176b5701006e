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
 * Shift    is another one in every row; words are selected by it, bytes permuted.
 * Ends     a vector that goes beyond the result is stored byte by byte, as one that goes beyond the
 *          memory of the input is loaded.
 * Machine  LDG.E.128, SEL, PRMT, STG.E.128
 */
#include "join.h"

enum {
    VECTOR = 16, /* bytes */
    UNROLL = 2,  /* vectors of a thread */
    THREADS = 256,
};

/* What a vector of the result has of a row: bytes `begin` to `end` of it are at from + begin. */
struct shifted_part {
    const char *from;
    int begin, end;
    uint4 low, high;
};

/* Byte by byte: the last byte becomes `in`, all others move down by one. */
GM_DEVICE void shifted_push(uint4 &v, uint32_t in)
{
    v.x = __funnelshift_r(v.x, v.y, 8);
    v.y = __funnelshift_r(v.y, v.z, 8);
    v.z = __funnelshift_r(v.z, v.w, 8);
    v.w = v.w >> 8 | in << 24;
}

/* An aligned vector, if it has any of the bytes that are wanted. */
GM_DEVICE uint4 shifted_load(const permute_shifted_args &a, const char *at, bool wanted)
{
    uint4 v = make_uint4(0, 0, 0, 0);
    if (!wanted) {
        return v;
    }
    if (at >= a.begin && at + VECTOR <= a.end) {
        return *(const uint4 *)at;
    }
#pragma unroll 1
    for (int i = 0; i < VECTOR; i++) {
        shifted_push(v, at + i >= a.begin && at + i < a.end ? (unsigned char)at[i] : 0);
    }
    return v;
}

GM_DEVICE void shifted_load_part(const permute_shifted_args &a, shifted_part &part)
{
    const int shift = (int)((uintptr_t)part.from % VECTOR);
    const char *aligned = part.from - shift;
    part.low = shifted_load(a, aligned, part.begin < part.end && part.begin < VECTOR - shift);
    part.high =
        shifted_load(a, aligned + VECTOR, part.begin < part.end && part.end > VECTOR - shift);
}

GM_DEVICE uint4 shifted_join_part(const shifted_part &part)
{
    return permute_join(part.low, part.high, (uint32_t)((uintptr_t)part.from % VECTOR));
}

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

GM_DEVICE void shifted_store(char *to, uint4 v, int begin, int end)
{
    if (begin == 0 && end == VECTOR) {
        *(uint4 *)to = v;
        return;
    }
#pragma unroll 1
    for (int i = 0; i < end; i++) {
        if (i >= begin) {
            to[i] = (char)v.x;
        }
        shifted_push(v, 0);
    }
}

GM_KERNEL(permute_shifted, permute_shifted_args)
{
    __shared__ uint32_t first_row, first_at;
    /* The block's first vector begins before the result where that is not aligned. */
    const int64_t first = (int64_t)blockIdx.x * (THREADS * UNROLL * VECTOR) - a.lead;
    if (threadIdx.x == 0) {
        const uint64_t at = first < 0 ? 0 : (uint64_t)first, row = at / a.run.by;
        first_row = (uint32_t)row;
        first_at = (uint32_t)(at - row * a.run.by);
    }
    gm_wait_for_previous();
    __syncthreads();
    shifted_part head[UNROLL], tail[UNROLL]; /* in the row where it begins, and in the next */
    int end[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
        const int on = (int)(k * THREADS + threadIdx.x) * VECTOR;
        const int64_t place = first + on, left = a.bytes - place;
        const int begin = place < 0 ? (int)-place : 0;
        end[k] = left < VECTOR ? (int)max(left, (int64_t)0) : VECTOR;
        /* In rows: of the vector's byte `begin`. */
        uint32_t at = first_at + (uint32_t)(on + begin) - (first < 0 ? (uint32_t)-first : 0);
        const uint32_t rows = gm_divide(at, a.run);
        at -= rows * a.run.by;
        const uint32_t row = first_row + rows;
        head[k].begin = begin;
        head[k].end = (int)min((uint32_t)end[k], begin + (a.run.by - at));
        tail[k].begin = head[k].end;
        tail[k].end = end[k];
        head[k].from = tail[k].from = a.in;
        if (begin < end[k]) {
            head[k].from = shifted_row(a, row) + at - begin;
        }
        if (tail[k].begin < tail[k].end) {
            tail[k].from = shifted_row(a, row + 1) - tail[k].begin;
        }
        shifted_load_part(a, head[k]);
        shifted_load_part(a, tail[k]);
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
        const int64_t place = first + (int)(k * THREADS + threadIdx.x) * VECTOR;
        uint4 v = shifted_join_part(head[k]);
        if (tail[k].begin < tail[k].end) {
            v = shifted_blend(v, shifted_join_part(tail[k]), tail[k].begin);
        }
        if (head[k].begin < end[k]) {
            shifted_store(a.out + place, v, head[k].begin, end[k]);
        }
    }
}
