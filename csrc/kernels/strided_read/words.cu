/*
 * strided_read / words: whole words of the result, of elements that are smaller.
 *
 * Follows  unroll4, of which a request for bytes brings 32 of them.
 * Idea     a thread has four words of the result, of four bytes or two halves each: it loads that
 *          many times more before it waits, and stores a quarter or half as often. Neighbouring
 *          elements are in the same lines, which the L1 has by then.
 * Machine  four LDG.U8, or two LDG.U16, for each STG.E
 */
#include "strided_read.h"

template <typename unit> GM_DEVICE void move(const strided_read_args &a)
{
    enum { WORDS = 4, EACH = 4 / sizeof(unit) };
    const unit *in = (const unit *)a.in + a.start;
    unit *out = (unit *)a.out;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * WORDS + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * WORDS;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t i = first; i * EACH < a.count; i += step) {
        unit held[WORDS][EACH];
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const int64_t at = (i + k * (int64_t)blockDim.x) * EACH;
            const unit *from = in + at * a.step;
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                if (at + j < a.count) {
                    held[k][j] = __ldca(from + j * a.step);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const int64_t at = (i + k * (int64_t)blockDim.x) * EACH;
            if (at + EACH <= a.count) {
                *(uint32_t *)(out + at) = access_join(held[k]);
                continue;
            }
#pragma unroll
            for (int j = 0; j + 1 < EACH; j++) { /* the last word has fewer */
                if (at + j < a.count) {
                    out[at + j] = held[k][j];
                }
            }
        }
    }
}

GM_KERNEL(strided_read_words, strided_read_args)
{
    switch (a.itemsize) {
        ACCESS_CASE(1, unsigned char, unit, move<unit>(a))
        ACCESS_CASE(2, unsigned short, unit, move<unit>(a))
        ACCESS_CASE(4, unsigned, unit, move<unit>(a))
    }
}
