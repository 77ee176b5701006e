/*
 * The order of a thread's products in which hardly one of them waits for its registers.
 *
 * Registers have two banks, the even and the odd ones, and each gives one per cycle. A product
 * reads three: the number of A is kept from the product before, so that the sum and the number of B
 * have to be of different banks. Numbers of B come four at a time, and so lie in order. The sums of
 * two neighbours change places: sum n is of column n ^ 1.
 */
#ifndef GPUMEM_SGEMM_BANKS_H
#define GPUMEM_SGEMM_BANKS_H

#include "device.h"

/* Sums move to shared memory and back four at a time as well: that holds the compiler to their
 * order. */
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

/* Four sums in the order of their columns, by way of a place of the thread's own. */
GM_DEVICE void banks_in_order(float (&in_order)[4], const float *sum, float4 *own)
{
    banks_leave_quad(sum, own);
    const float4 four = *own;
    in_order[0] = four.y, in_order[1] = four.x, in_order[2] = four.w, in_order[3] = four.z;
}

/*
 * Which sum comes n-th in a step's row: they are walked to and fro, so that where a row ends the
 * next begins with the same number of B, kept from the product before. What is read then is a
 * number of A and a sum, which has to be of the other bank: the last two sums change places where
 * that asks for it. even, odd: the bank of the numbers of A in even and in odd rows.
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
