/*
 * copy / shifted: arrays that begin anywhere, such as a[1:], in aligned vectors on both sides.
 *
 * Follows  vec4_unrolled, whose addresses are multiples of 16 bytes on both sides.
 * Idea     a vector of the result is the end of one aligned vector of the input and the beginning
 *          of the next:
 *
 *              input    |. . . a b c d e|f g h i j k l m|        aligned vectors, here of 8 bytes
 *              result         |a b c d e f g h|i j k l ..|        the shift is the same for all
 *
 *          A lane loads one vector of the input and has the next from its neighbour; the last lane
 *          of a warp loads it itself. The words of the two that it needs are known from the shift;
 *          a byte permutation joins two of them. Where the shift is 0, vectors stay as they are.
 *
 * unrolled for copies that the L2 holds: a thread has two vectors, whose loads are in flight
 *          together.
 * stream   for larger ones, as in vec4_prefetch: one vector per thread, blocks in the order of
 *          addresses, long runs prefetched to the L2.
 * Ends     what is before the first line of the result, and after whole vectors on both sides,
 *          less than 256 bytes, one block copies byte by byte.
 * Machine  LDG.E.EF.128, SHFL, PRMT, STG.E.EF.128; stream: LDG.E.128, STG.E.128, UBLKPF
 */
#include "copy.h"
#include "stream.h"

enum {
    UNROLL = 2,  /* of unrolled, times 4 words: `elements` in the ladder */
    ALIGNED = 4, /* in place of the words of a shift, where it is 0 */
};

/* The vector that begins `WORDS` words and some bytes after `low` does; `select` are the bytes. */
template <int WORDS> GM_DEVICE uint4 shifted_join(uint4 low, uint4 high, uint32_t select)
{
    const uint32_t both[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    return make_uint4(__byte_perm(both[WORDS], both[WORDS + 1], select),
                      __byte_perm(both[WORDS + 1], both[WORDS + 2], select),
                      __byte_perm(both[WORDS + 2], both[WORDS + 3], select),
                      __byte_perm(both[WORDS + 3], both[WORDS + 4], select));
}

/* Of the next lane's vector the words that shifted_join takes. */
template <int WORDS> GM_DEVICE uint4 shifted_down(uint4 v)
{
    const unsigned all = 0xffffffffu;
    return make_uint4(__shfl_down_sync(all, v.x, 1), WORDS > 0 ? __shfl_down_sync(all, v.y, 1) : 0,
                      WORDS > 1 ? __shfl_down_sync(all, v.z, 1) : 0,
                      WORDS > 2 ? __shfl_down_sync(all, v.w, 1) : 0);
}

/* Vectors of a thread, `step` from one to the next. `shift` bytes of the input's vectors belong to
 * the vector of the result before: WORDS words, and up to 3 bytes. */
template <int WORDS>
GM_DEVICE void shifted_unrolled(const uint4 *in, uint4 *out, int64_t n, uint32_t shift)
{
    const uint32_t select = 0x3210 + shift % 4 * 0x1111;
    const int64_t step = blockDim.x, tile = UNROLL * step;
    const bool last = threadIdx.x % 32 == 31;

    for (int64_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
        const int64_t i = base + threadIdx.x;
        uint4 held[UNROLL], next[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const int64_t at = i + k * step;
            if (at < n) {
                held[k] = __ldcs(&in[at]);
            }
            if (WORDS != ALIGNED && at < n && (last || at + 1 == n)) {
                next[k] = __ldcs(&in[at + 1]);
            }
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const int64_t at = i + k * step;
            if constexpr (WORDS != ALIGNED) {
                const uint4 beside = shifted_down<WORDS>(held[k]);
                held[k] =
                    shifted_join<WORDS>(held[k], last || at + 1 == n ? next[k] : beside, select);
            }
            if (at < n) {
                __stcs(&out[at], held[k]);
            }
        }
    }
}

/* The same, one vector at a time. */
template <int WORDS>
GM_DEVICE void shifted_stream(const uint4 *in, uint4 *out, int64_t n, uint32_t shift)
{
    const uint32_t select = 0x3210 + shift % 4 * 0x1111;
    const int64_t step = blockDim.x, size = sizeof(uint4);

    for (int64_t base = blockIdx.x * step; base < n; base += gridDim.x * step) {
        const int64_t i = base + threadIdx.x;
        const bool alone = threadIdx.x % 32 == 31 || i + 1 == n;
        uint4 held, next;
        stream_prefetch((const char *)in, base * size, n * size);
        if (i < n) {
            held = gm_load_kept(&in[i]);
        }
        if constexpr (WORDS != ALIGNED) {
            if (i < n && alone) {
                next = gm_load_kept(&in[i + 1]);
            }
            const uint4 beside = shifted_down<WORDS>(held);
            held = shifted_join<WORDS>(held, alone ? next : beside, select);
        }
        if (i < n) {
            out[i] = held;
        }
    }
}

template <bool STREAM, int WORDS>
GM_DEVICE void shifted_move(const uint4 *in, uint4 *out, int64_t n, uint32_t shift)
{
    if constexpr (STREAM) {
        shifted_stream<WORDS>(in, out, n, shift);
    } else {
        shifted_unrolled<WORDS>(in, out, n, shift);
    }
}

template <bool STREAM> GM_DEVICE void shifted_copy(const copy_shifted_args &a)
{
    const char *from = a.in + a.head;
    const uint32_t shift = (uint32_t)((uintptr_t)from % sizeof(uint4));
    const int words = shift == 0 ? (int)ALIGNED : (int)(shift / 4);
    const uint4 *in = (const uint4 *)(from - shift);
    uint4 *out = (uint4 *)(a.out + a.head);
    const int64_t body = a.vectors * (int64_t)sizeof(uint4);

    gm_wait_for_previous();
    switch (words) {
    case 0: shifted_move<STREAM, 0>(in, out, a.vectors, shift); break;
    case 1: shifted_move<STREAM, 1>(in, out, a.vectors, shift); break;
    case 2: shifted_move<STREAM, 2>(in, out, a.vectors, shift); break;
    case 3: shifted_move<STREAM, 3>(in, out, a.vectors, shift); break;
    case ALIGNED: shifted_move<STREAM, ALIGNED>(in, out, a.vectors, shift); break;
    }
    const int64_t from_last = gm_grid_stride() - 1 - gm_grid_index();
#pragma unroll 1
    for (int64_t i = from_last; i < a.bytes - body; i += gm_grid_stride()) {
        const int64_t at = i < a.head ? i : i + body;
        a.out[at] = a.in[at];
    }
}

GM_KERNEL(copy_shifted_unrolled, copy_shifted_args)
{
    shifted_copy<false>(a);
}

GM_KERNEL(copy_shifted_stream, copy_shifted_args)
{
    shifted_copy<true>(a);
}
