/* Two halfwords or four bytes of a word at a time: __vadd2 and its like; and the minima and maxima
 * of dynamic programming: __vimax3_s32 and its like. */
#ifndef GPUMEM_CUDA_SIMD_H
#define GPUMEM_CUDA_SIMD_H

#include "sim/cuda/arithmetic.h"

/* Applies a function to the parts of two words, as numbers of this type. */
template <typename type, typename function>
static inline unsigned gm_each_part(unsigned a, unsigned b, function apply)
{
    unsigned result = 0;
    for (int shift = 0; shift < 32; shift += 8 * (int)sizeof(type)) {
        unsigned part = (unsigned)apply((type)(a >> shift), (type)(b >> shift));
        result |= (part & 0xffffffffu >> (32 - 8 * (int)sizeof(type))) << shift;
    }
    return result;
}

template <typename type, typename function>
static inline unsigned gm_sum_of_parts(unsigned a, unsigned b, function apply)
{
    unsigned sum = 0;
    for (int shift = 0; shift < 32; shift += 8 * (int)sizeof(type)) {
        sum += (unsigned)apply((type)(a >> shift), (type)(b >> shift));
    }
    return sum;
}

template <typename type> static inline int gm_clamp_to(int x)
{
    const int bits = 8 * (int)sizeof(type);
    const int low = (type)-1 < 0 ? -(1 << (bits - 1)) : 0;
    const int high = (type)-1 < 0 ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    return min(max(x, low), high);
}

#define GM_UNARY_PARTS(name, type, expression)                                                     \
    static inline unsigned name(unsigned word)                                                     \
    {                                                                                              \
        return gm_each_part<type>(word, 0, [](int a, int) { return expression; });                 \
    }
#define GM_BINARY_PARTS(name, type, expression)                                                    \
    static inline unsigned name(unsigned first, unsigned second)                                   \
    {                                                                                              \
        return gm_each_part<type>(first, second, [](int a, int b) { return expression; });         \
    }
#define GM_SUMMED_PARTS(name, type, expression)                                                    \
    static inline unsigned name(unsigned first, unsigned second)                                   \
    {                                                                                              \
        return gm_sum_of_parts<type>(first, second, [](int a, int b) { return expression; });      \
    }
#define GM_COMPARED_PARTS(relation, parts, type, operator)                                         \
    GM_BINARY_PARTS(__vcmp##relation##parts, type, a operator b ? -1 : 0)                          \
    GM_BINARY_PARTS(__vset##relation##parts, type, a operator b)

#define GM_PARTS(parts, signed_type, unsigned_type)                                                \
    GM_UNARY_PARTS(__vabs##parts, signed_type, a < 0 ? -a : a)                                     \
    GM_UNARY_PARTS(__vabsss##parts, signed_type, gm_clamp_to<signed_type>(a < 0 ? -a : a))         \
    GM_UNARY_PARTS(__vneg##parts, signed_type, -a)                                                 \
    GM_UNARY_PARTS(__vnegss##parts, signed_type, gm_clamp_to<signed_type>(-a))                     \
    GM_BINARY_PARTS(__vadd##parts, signed_type, a + b)                                             \
    GM_BINARY_PARTS(__vaddss##parts, signed_type, gm_clamp_to<signed_type>(a + b))                 \
    GM_BINARY_PARTS(__vaddus##parts, unsigned_type, gm_clamp_to<unsigned_type>(a + b))             \
    GM_BINARY_PARTS(__vsub##parts, signed_type, a - b)                                             \
    GM_BINARY_PARTS(__vsubss##parts, signed_type, gm_clamp_to<signed_type>(a - b))                 \
    GM_BINARY_PARTS(__vsubus##parts, unsigned_type, gm_clamp_to<unsigned_type>(a - b))             \
    GM_BINARY_PARTS(__vavgs##parts, signed_type, (a + b + (a + b >= 0)) >> 1)                      \
    GM_BINARY_PARTS(__vavgu##parts, unsigned_type, (a + b + 1) >> 1)                               \
    GM_BINARY_PARTS(__vhaddu##parts, unsigned_type, (a + b) >> 1)                                  \
    GM_BINARY_PARTS(__vmaxs##parts, signed_type, max(a, b))                                        \
    GM_BINARY_PARTS(__vmaxu##parts, unsigned_type, max(a, b))                                      \
    GM_BINARY_PARTS(__vmins##parts, signed_type, min(a, b))                                        \
    GM_BINARY_PARTS(__vminu##parts, unsigned_type, min(a, b))                                      \
    GM_BINARY_PARTS(__vabsdiffs##parts, signed_type, a < b ? b - a : a - b)                        \
    GM_BINARY_PARTS(__vabsdiffu##parts, unsigned_type, a < b ? b - a : a - b)                      \
    GM_SUMMED_PARTS(__vsads##parts, signed_type, a < b ? b - a : a - b)                            \
    GM_SUMMED_PARTS(__vsadu##parts, unsigned_type, a < b ? b - a : a - b)                          \
    GM_COMPARED_PARTS(eq, parts, unsigned_type, ==)                                                \
    GM_COMPARED_PARTS(ne, parts, unsigned_type, !=)                                                \
    GM_COMPARED_PARTS(ges, parts, signed_type, >=)                                                 \
    GM_COMPARED_PARTS(geu, parts, unsigned_type, >=)                                               \
    GM_COMPARED_PARTS(gts, parts, signed_type, >)                                                  \
    GM_COMPARED_PARTS(gtu, parts, unsigned_type, >)                                                \
    GM_COMPARED_PARTS(les, parts, signed_type, <=)                                                 \
    GM_COMPARED_PARTS(leu, parts, unsigned_type, <=)                                               \
    GM_COMPARED_PARTS(lts, parts, signed_type, <)                                                  \
    GM_COMPARED_PARTS(ltu, parts, unsigned_type, <)

GM_PARTS(2, short, unsigned short)
GM_PARTS(4, signed char, unsigned char)

/* ---- dynamic programming ----------------------------------------------------------------- */

/* For whole words, and for two halfwords each. Names end in the type. */
#define GM_EXTREMES(which, type, suffix)                                                           \
    static inline type __vi##which##3_##suffix(type a, type b, type c)                             \
    {                                                                                              \
        return which(which(a, b), c);                                                              \
    }                                                                                              \
    static inline type __viadd##which##_##suffix(type a, type b, type c)                           \
    {                                                                                              \
        return which((type)((unsigned)a + (unsigned)b), c);                                        \
    }                                                                                              \
    static inline type __vib##which##_##suffix(type a, type b, bool *first)                        \
    {                                                                                              \
        *first = which(a, b) == a;                                                                 \
        return which(a, b);                                                                        \
    }
#define GM_EXTREMES_OF_PARTS(which, type, add, extreme, suffix)                                    \
    static inline unsigned __vi##which##3_##suffix(unsigned a, unsigned b, unsigned c)             \
    {                                                                                              \
        return extreme(extreme(a, b), c);                                                          \
    }                                                                                              \
    static inline unsigned __viadd##which##_##suffix(unsigned a, unsigned b, unsigned c)           \
    {                                                                                              \
        return extreme(add(a, b), c);                                                              \
    }                                                                                              \
    static inline unsigned __vib##which##_##suffix(unsigned a, unsigned b, bool *first_high,       \
                                                   bool *first_low)                                \
    {                                                                                              \
        unsigned result = extreme(a, b);                                                           \
        *first_high = result >> 16 == a >> 16;                                                     \
        *first_low = (result & 0xffff) == (a & 0xffff);                                            \
        return result;                                                                             \
    }
/* relu: what is below 0 becomes 0. */
#define GM_EXTREMES_RELU(which, type, suffix, relu)                                                \
    static inline type __vi##which##_##suffix##_relu(type a, type b)                               \
    {                                                                                              \
        return relu(__vi##which##3_##suffix(a, b, b), 0);                                          \
    }                                                                                              \
    static inline type __vi##which##3_##suffix##_relu(type a, type b, type c)                      \
    {                                                                                              \
        return relu(__vi##which##3_##suffix(a, b, c), 0);                                          \
    }                                                                                              \
    static inline type __viadd##which##_##suffix##_relu(type a, type b, type c)                    \
    {                                                                                              \
        return relu(__viadd##which##_##suffix(a, b, c), 0);                                        \
    }

GM_EXTREMES(max, int, s32)
GM_EXTREMES(min, int, s32)
GM_EXTREMES(max, unsigned, u32)
GM_EXTREMES(min, unsigned, u32)
GM_EXTREMES_OF_PARTS(max, short, __vadd2, __vmaxs2, s16x2)
GM_EXTREMES_OF_PARTS(min, short, __vadd2, __vmins2, s16x2)
GM_EXTREMES_OF_PARTS(max, unsigned short, __vadd2, __vmaxu2, u16x2)
GM_EXTREMES_OF_PARTS(min, unsigned short, __vadd2, __vminu2, u16x2)
GM_EXTREMES_RELU(max, int, s32, max)
GM_EXTREMES_RELU(min, int, s32, max)
GM_EXTREMES_RELU(max, unsigned, s16x2, __vmaxs2)
GM_EXTREMES_RELU(min, unsigned, s16x2, __vmaxs2)

#endif
