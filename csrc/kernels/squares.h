/*
 * Squares of small elements in registers: N rows of a word each become N columns of a word each,
 * of 4 bytes or of 2 halves.
 */
#ifndef GPUMEM_SQUARES_H
#define GPUMEM_SQUARES_H

#include "device.h"

/* Four rows of four bytes, a word each. */
GM_DEVICE void transpose_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                               uint32_t (&transposed)[4])
{
    const uint32_t low_ab = __byte_perm(a, b, 0x5140); /* a0 b0 a1 b1 */
    const uint32_t low_cd = __byte_perm(c, d, 0x5140);
    const uint32_t high_ab = __byte_perm(a, b, 0x7362); /* a2 b2 a3 b3 */
    const uint32_t high_cd = __byte_perm(c, d, 0x7362);
    transposed[0] = __byte_perm(low_ab, low_cd, 0x5410);
    transposed[1] = __byte_perm(low_ab, low_cd, 0x7632);
    transposed[2] = __byte_perm(high_ab, high_cd, 0x5410);
    transposed[3] = __byte_perm(high_ab, high_cd, 0x7632);
}

GM_DEVICE void transpose_words(const uint32_t (&rows)[4], uint32_t (&square)[4])
{
    transpose_bytes(rows[0], rows[1], rows[2], rows[3], square);
}

GM_DEVICE void transpose_words(const uint32_t (&rows)[2], uint32_t (&square)[2])
{
    square[0] = __byte_perm(rows[0], rows[1], 0x5410);
    square[1] = __byte_perm(rows[0], rows[1], 0x7632);
}

#endif
