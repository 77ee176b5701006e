/*
 * A type of 16-bit numbers, GM_HALF, and a pair of them, GM_HALF2. No include guard: half.h and
 * bfloat16.h include this, each with its own names.
 */
#include "sim/cuda/sixteen.h"

#define GM_PASTE_AGAIN(a, b, c) a##b##c
#define GM_PASTE(a, b, c) GM_PASTE_AGAIN(a, b, c)
/* GM_NAMED(__float2, _rn) is __float2half_rn or __float2bfloat16_rn. */
#define GM_NAMED(before, after) GM_PASTE(before, GM_HALF_WORD, after)

struct GM_PASTE(GM_HALF, _raw, ) {
    unsigned short x;
};
struct __attribute__((aligned(4))) GM_PASTE(GM_HALF2, _raw, ) {
    unsigned short x, y;
};

struct GM_HALF {
    unsigned short __x;

    GM_HALF() = default;
    GM_HALF(float value) : __x((unsigned short)gm_encode<GM_HALF_MANTISSA>(value, GM_NEAREST))
    {
    }
    template <typename type, typename gm_if<__is_same(type, double)>::type = 0>
    GM_HALF(type value) : __x((unsigned short)gm_encode<GM_HALF_MANTISSA>(value, GM_NEAREST))
    {
    }
    template <typename type, typename gm_if<gm_is_number<type>::value>::type = 0>
    GM_HALF(type value)
        : __x((unsigned short)gm_encode<GM_HALF_MANTISSA>(gm_exact_double(value), GM_NEAREST))
    {
    }
    constexpr GM_HALF(GM_PASTE(GM_HALF, _raw, ) raw) : __x(raw.x)
    {
    }
    operator GM_PASTE(GM_HALF, _raw, )() const
    {
        return {__x};
    }
    operator float() const
    {
        return gm_decode<GM_HALF_MANTISSA>(__x);
    }
    template <typename type, typename gm_if<gm_is_number<type>::value>::type = 0>
    operator type() const
    {
        if constexpr ((type)2 == (type)1) { /* bool */
            return (__x & 0x7fff) != 0;
        } else {
            return gm_saturate<type>(__builtin_truncf(gm_decode<GM_HALF_MANTISSA>(__x)));
        }
    }
};

/* One access of 4 bytes. */
typedef gm_vector<GM_HALF, 2, 4, unsigned short> GM_HALF2;
