/* Bits, bytes and integers: the integer intrinsics. */
#ifndef GPUMEM_CUDA_BITS_H
#define GPUMEM_CUDA_BITS_H

#include <stdint.h>

#include "sim/cuda/vectors.h"

/* ---- bits ------------------------------------------------------------------------------- */

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

static inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

static inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

static inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

/* The position of the offset-th set bit of mask, counted from bit `base` upwards; downwards if
 * offset is negative; ~0 if there is none. */
static inline unsigned __fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0) {
        return mask >> (base & 31) & 1 ? base : ~0u;
    }
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    for (int bit = (int)base; bit >= 0 && bit < 32; bit += step) {
        if (mask >> bit & 1 && --left == 0) {
            return (unsigned)bit;
        }
    }
    return ~0u;
}

/* Four of the eight bytes of b:a, selected by the hexadecimal digits of the selector. */
static __forceinline__ unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++) {
        picked |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return picked;
}

/* The low word of high:low shifted right by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (bits & 31));
}

/* The high word of high:low shifted left by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)((((uint64_t)high << 32 | low) << (bits & 31)) >> 32);
}

/* The same by 0 to 32 bits; more are 32. */
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned bits)
{
    return bits >= 32 ? high : __funnelshift_r(low, high, bits);
}

static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned bits)
{
    return bits >= 32 ? low : __funnelshift_l(low, high, bits);
}

/* ---- products --------------------------------------------------------------------------- */

static inline int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

static inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}

static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

static inline int __mul24(int a, int b)
{
    int low_a = (int)((unsigned)a << 8) >> 8, low_b = (int)((unsigned)b << 8) >> 8;
    return (int)((int64_t)low_a * low_b);
}

static inline unsigned __umul24(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)(a & 0xffffffu) * (b & 0xffffffu));
}

/* ---- sums ------------------------------------------------------------------------------- */

static inline unsigned __sad(int a, int b, unsigned sum)
{
    return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + sum;
}

static inline unsigned __usad(unsigned a, unsigned b, unsigned sum)
{
    return (a < b ? b - a : a - b) + sum;
}

static inline int __hadd(int a, int b)
{
    return (int)(((int64_t)a + b) >> 1);
}

static inline unsigned __uhadd(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a + b) >> 1);
}

static inline int __rhadd(int a, int b)
{
    return (int)(((int64_t)a + b + 1) >> 1);
}

static inline unsigned __urhadd(unsigned a, unsigned b)
{
    return (unsigned)(((uint64_t)a + b + 1) >> 1);
}

/* ---- products of bytes, added up --------------------------------------------------------- */

/* Byte i of a word and of a vector, in the type that it is taken as. */
#define GM_BYTE(type, word, i) ((type)((unsigned)(word) >> 8 * (i)))
#define GM_HALFWORD(type, word, i) ((type)((unsigned)(word) >> 16 * (i)))

#define GM_DOT_PRODUCTS(word, byte, halfword, bytes, halfwords)                                    \
    static inline word __dp4a(word a, word b, word sum)                                            \
    {                                                                                              \
        unsigned total = (unsigned)sum;                                                            \
        for (int i = 0; i < 4; i++) {                                                              \
            total += (unsigned)((word)GM_BYTE(byte, a, i) * (word)GM_BYTE(byte, b, i));            \
        }                                                                                          \
        return (word)total;                                                                        \
    }                                                                                              \
    static inline word __dp4a(bytes a, bytes b, word sum)                                          \
    {                                                                                              \
        return sum + (word)a.x * (word)b.x + (word)a.y * (word)b.y + (word)a.z * (word)b.z +       \
               (word)a.w * (word)b.w;                                                              \
    }                                                                                              \
    static inline word gm_dp2a(word a, word b, word sum, int from)                                 \
    {                                                                                              \
        unsigned total = (unsigned)sum;                                                            \
        for (int i = 0; i < 2; i++) {                                                              \
            total +=                                                                               \
                (unsigned)((word)GM_HALFWORD(halfword, a, i) * (word)GM_BYTE(byte, b, from + i));  \
        }                                                                                          \
        return (word)total;                                                                        \
    }                                                                                              \
    static inline word __dp2a_lo(word a, word b, word sum)                                         \
    {                                                                                              \
        return gm_dp2a(a, b, sum, 0);                                                              \
    }                                                                                              \
    static inline word __dp2a_hi(word a, word b, word sum)                                         \
    {                                                                                              \
        return gm_dp2a(a, b, sum, 2);                                                              \
    }                                                                                              \
    static inline word __dp2a_lo(halfwords a, bytes b, word sum)                                   \
    {                                                                                              \
        return sum + (word)a.x * (word)b.x + (word)a.y * (word)b.y;                                \
    }                                                                                              \
    static inline word __dp2a_hi(halfwords a, bytes b, word sum)                                   \
    {                                                                                              \
        return sum + (word)a.x * (word)b.z + (word)a.y * (word)b.w;                                \
    }

GM_DOT_PRODUCTS(int, signed char, short, char4, short2)
GM_DOT_PRODUCTS(unsigned, unsigned char, unsigned short, uchar4, ushort2)

#endif
