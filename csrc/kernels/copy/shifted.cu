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
 *          A lane loads one vector of the input and has the next from its neighbour. The words of
 *          the two that it needs are known from the shift; a byte permutation joins two of them.
 * thread   two vectors, both loads in flight; the last lane of a warp loads its next one itself.
 * Ends     what is before the first line of the result, and after whole vectors on both sides, less
 *          than 256 bytes, the first threads copy one by one.
 * Machine  LDG.E.EF.128, SHFL, PRMT, STG.E.EF.128
 */
#include "copy.h"

enum { UNROLL = 2 }; /* times 4 words: `elements` in the ladder */

/* The vector that begins `WORDS` words and some bytes after `low` does; `select` are the bytes. */
template <int WORDS> GM_DEVICE uint4 shifted_join(uint4 low, uint4 high, uint32_t select)
{
    const uint32_t both[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    return make_uint4(__byte_perm(both[WORDS], both[WORDS + 1], select),
                      __byte_perm(both[WORDS + 1], both[WORDS + 2], select),
                      __byte_perm(both[WORDS + 2], both[WORDS + 3], select),
                      __byte_perm(both[WORDS + 3], both[WORDS + 4], select));
}

GM_DEVICE uint4 shifted_down(uint4 v)
{
    const unsigned all = 0xffffffffu;
    return make_uint4(__shfl_down_sync(all, v.x, 1), __shfl_down_sync(all, v.y, 1),
                      __shfl_down_sync(all, v.z, 1), __shfl_down_sync(all, v.w, 1));
}

/* `shift` bytes of the input's vectors belong to the vector of the result before: WORDS words, and
 * up to 3 bytes. */
template <int WORDS>
GM_DEVICE void shifted_move(const uint4 *in, uint4 *out, int64_t n, uint32_t shift)
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
            if (at < n && shift > 0 && (last || at + 1 == n)) {
                next[k] = __ldcs(&in[at + 1]);
            }
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const int64_t at = i + k * step;
            const uint4 beside = shifted_down(held[k]);
            if (!last && at + 1 != n) {
                next[k] = beside;
            }
            if (at < n) {
                __stcs(&out[at],
                       shift > 0 ? shifted_join<WORDS>(held[k], next[k], select) : held[k]);
            }
        }
    }
}

GM_KERNEL(copy_shifted, copy_shifted_args)
{
    const char *from = a.in + a.head;
    const uint32_t shift = (uint32_t)((uintptr_t)from % sizeof(uint4));
    const uint4 *in = (const uint4 *)(from - shift);
    uint4 *out = (uint4 *)(a.out + a.head);
    const int64_t body = a.vectors * (int64_t)sizeof(uint4), i = gm_grid_index();

    gm_wait_for_previous();
    switch (shift / 4) {
    case 0: shifted_move<0>(in, out, a.vectors, shift); break;
    case 1: shifted_move<1>(in, out, a.vectors, shift); break;
    case 2: shifted_move<2>(in, out, a.vectors, shift); break;
    case 3: shifted_move<3>(in, out, a.vectors, shift); break;
    }
    if (i < a.bytes - body) {
        const int64_t at = i < a.head ? i : i + body;
        a.out[at] = a.in[at];
    }
}
