/*
 * The order of a thread's products in which hardly any of them waits for its registers.
 *
 * Registers have two banks, the even and the odd ones, and each delivers one register per cycle. A
 * product needs three: a number of A, one of B, and the sum. One of them is reused from the product
 * before, so that the other two have to be in different banks:
 *
 *     row 0, forward     a0 b0 s1   a0 b1 s0   a0 b2 s3   a0 b3 s2      a0 is reused
 *     row 1, backward    a1 b3 s2   a1 b2 s3   a1 b1 s0   a1 b0 s1      b3 is reused once, then a1
 *
 * b and s are register quads, so that b0 and s0 are in the even bank: neighbouring sums change
 * places, and sum n belongs to column n ^ 1.
 */
#ifndef GPUMEM_SGEMM_BANKS_H
#define GPUMEM_SGEMM_BANKS_H

#include "device.h"

/* Sums are loaded from shared memory and stored to it in quads, which makes the compiler keep them
 * in consecutive registers. */
GM_DEVICE void banks_take_quad(float *sum, const float4 *from)
{
#ifdef __CUDACC__
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
                 : "r"(gm_shared_address(from))
                 : "memory");
#else
    const float4 four = *from;
    sum[0] = four.x, sum[1] = four.y, sum[2] = four.z, sum[3] = four.w;
#endif
}

GM_DEVICE void banks_leave_quad(const float *sum, float4 *to)
{
#ifdef __CUDACC__
    asm volatile("st.shared.v4.f32 [%4], {%0, %1, %2, %3};" ::"f"(sum[0]), "f"(sum[1]), "f"(sum[2]),
                 "f"(sum[3]), "r"(gm_shared_address(to))
                 : "memory");
#else
    *to = make_float4(sum[0], sum[1], sum[2], sum[3]);
#endif
}

/* Four sums in the order of their columns, through shared memory that only this thread uses. */
GM_DEVICE void banks_in_order(float (&in_order)[4], const float *sum, float4 *own)
{
    banks_leave_quad(sum, own);
    const float4 four = *own;
    in_order[0] = four.y, in_order[1] = four.x, in_order[2] = four.w, in_order[3] = four.z;
}

/*
 * The index of the n-th sum in a row of a step. Rows run forward and backward in turn: the next row
 * begins with the number of B that the last one ended with, which is reused. The new number of A
 * and the sum then have to be in different banks: where they are not, the last two sums of the row
 * change places. even, odd: the bank of the numbers of A in even and in odd rows.
 */
template <int columns> GM_DEVICE int banks_nth(int row, int n, int even, int odd)
{
    const int last = columns - 1, to = row % 2 ? last - n : n;
    if (to < 2) { /* where an even row begins */
        return even ? to : 1 - to;
    }
    return odd && to > last - 2 ? 2 * last - 1 - to : to;
}

#endif
