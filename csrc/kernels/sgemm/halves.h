/*
 * A factor as halves: what fp16x3 multiplies, and the numbers that the kernels which prepare it
 * share.
 *
 * Each line (a row of op(A), a column of op(B)) is multiplied by a power of two, so that its
 * largest number is in [2^14, 2^15), and each number is split: high is the nearest half, low the
 * nearest half to 2^11 times the rest. Together they have 22 bits and a sign:
 *
 *     x 2^scale = high + low / 2^11 + error,  |error| <= 2^-23 |x 2^scale|, or 2^-36 if that is
 * more
 *
 * It is more for numbers under 2^-13, which are far below the largest, by more than 27 binades. The
 * kernels count them, and also the numbers that are missing among the large ones: those under 2^4,
 * and zeros. From both, halves_suit() tells whether a product of halves is accurate enough.
 *
 *     depth       0 ... 31            | 32 ... 63           | ...
 *     a line      32 high, 32 low     | 32 high, 32 low     | ...     128 bytes each
 *
 * Up to a multiple of 32 steps there are zeros.
 *
 * Where the depth is contiguous, a block splits a line, which it reads twice, the second time from
 * a cache. Where the lines are, a block takes 64 of them and a slab of the depth, and two kernels
 * are needed: one finds the largest numbers, the next one splits.
 */
#ifndef GPUMEM_SGEMM_HALVES_H
#define GPUMEM_SGEMM_HALVES_H

#include "sgemm/sgemm.h"

enum {
    HALVES_STEPS = 32,      /* of the depth in 128 bytes */
    HALVES_LINES = 64,      /* of a block, where lines are contiguous */
    HALVES_LOW = 2048,      /* times the rest of a number: its low half */
    HALVES_SCALE = 14,      /* the exponent of the largest number of a line */
    HALVES_SPLITTERS = 256, /* threads of a block that splits, */
    HALVES_JUDGES = 1024,   /* and of the one that judges: as many slabs, at most */
};

/* How many numbers are missing, and far, in the line of a block that has most. */
typedef struct halves_count {
    uint32_t missing, far;
} halves_count;

typedef struct sgemm_halves_args {
    sgemm_factor from;
    int64_t depth;
    uint16_t *to;
    int64_t pitch; /* halves from line to line */
    int64_t slab;  /* steps of the depth per block, a multiple of 64; or all */
    int slabs;
    uint32_t *largest;     /* of each slab and line: the bits of the largest absolute value */
    halves_count *counted; /* of each block, slab by slab */
    int *scales;           /* of each line: the exponent of what it is multiplied by */
} sgemm_halves_args;

/* The counts of a factor. */
typedef struct halves_counts {
    const halves_count *counted;
    int64_t blocks; /* of a slab */
    int slabs;
} halves_counts;

typedef struct sgemm_judge_args {
    halves_counts a, b;
    int64_t depth;
    uint32_t *verdict; /* 1 where a product of halves would be less accurate than one in FP32 */
} sgemm_judge_args;

#ifdef __cplusplus
#include "half.h"

enum : uint32_t { HALVES_INFINITE = 0x7f800000u, HALVES_NEVER = 0xffffffffu };

/* The exponent of a positive number from its bits. */
GM_DEVICE int halves_exponent(uint32_t bits)
{
    return bits >> 23 ? (int)(bits >> 23) - 127 : 31 - __clz((int)bits) - 149;
}

/* For a line whose largest number has these bits; zeros stay as they are. */
GM_DEVICE int halves_scale(uint32_t largest)
{
    return largest == 0 || largest >= HALVES_INFINITE ? 0 : HALVES_SCALE - halves_exponent(largest);
}

/* 2^exponent, from -126 to 127. */
GM_DEVICE float halves_power(int exponent)
{
    return __uint_as_float((uint32_t)(127 + exponent) << 23);
}

GM_DEVICE uint32_t halves_magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

/* x 2^scale, in two steps: one power may be too large for a float. */
typedef struct halves_scaler {
    float first, second;
} halves_scaler;

GM_DEVICE halves_scaler halves_scale_by(int scale)
{
    const halves_scaler by = {halves_power(scale / 2), halves_power(scale - scale / 2)};
    return by;
}

/* Four numbers of a line as halves, the first in the lowest bits; and what is counted of them. */
typedef struct halves_four {
    uint64_t high, low;
} halves_four;

GM_DEVICE halves_four halves_split(const float (&x)[4], const halves_scaler &by,
                                   halves_count &count)
{
    halves_four four = {0, 0};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float scaled = x[i] * by.first * by.second, size = fabsf(scaled);
        const uint16_t high = gm_half_from_float(scaled);
        const float rest = (scaled - gm_float_from_half(high)) * (float)HALVES_LOW;
        four.high |= (uint64_t)high << 16 * i;
        four.low |= (uint64_t)gm_half_from_float(rest) << 16 * i;
        count.missing += size < 16.0f;
        count.far += size < 1.0f / 8192 && x[i] != 0.0f;
    }
    return four;
}

/* Stores four numbers of a line, from step k on, a multiple of four. */
GM_DEVICE void halves_store(const sgemm_halves_args &a, int64_t line, int64_t k,
                            const halves_four &four)
{
    uint16_t *to = a.to + line * a.pitch + k / HALVES_STEPS * 2 * HALVES_STEPS + k % HALVES_STEPS;
    *(uint64_t *)to = four.high;
    *(uint64_t *)(to + HALVES_STEPS) = four.low;
}

/* Steps up to which a line is stored. */
GM_DEVICE int64_t halves_padded(int64_t depth)
{
    return (depth + HALVES_STEPS - 1) / HALVES_STEPS * HALVES_STEPS;
}

/* The count of a line, or of a slab of it, of which `padding` numbers are none of the factor's. A
 * line of zeros has no error, one that is not finite more far numbers than any sum allows. */
GM_DEVICE halves_count halves_settle(halves_count count, uint32_t padding, uint32_t largest)
{
    if (largest == 0 || largest >= HALVES_INFINITE) {
        count.missing = 0;
        count.far = largest == 0 ? uint32_t{0} : uint32_t{HALVES_NEVER};
    } else {
        count.missing -= padding;
    }
    return count;
}

GM_DEVICE halves_count halves_most(const halves_count &x, const halves_count &y)
{
    const halves_count most = {max(x.missing, y.missing), max(x.far, y.far)};
    return most;
}

/*
 * Is a product of halves accurate enough? All numbers here are scaled. The far ones of a sum, of
 * both factors, add less than far 2^-36 2^15 to its error. In at least depth - missing of its terms
 * neither number is missing, so that the sum of absolute terms is at least (depth - missing) 2^8.
 * The condition keeps the first below 2^-26 of the second; FP32 rounds a single term by up to
 * 2^-24.
 */
GM_DEVICE bool halves_suit(int64_t far, int64_t missing, int64_t depth)
{
    return far == 0 || (far < HALVES_NEVER && 8 * (depth - missing) >= far);
}
#endif

#endif
