/*
 * What CUDA computes with GM_HALF. No include guard: half.h and bfloat16.h include this, each with
 * its own names.
 *
 * Sums, products, quotients and roots are computed in double, which has more than twice the bits,
 * and rounded from there: that is what one rounding of the exact result gives.
 */

/* ---- conversions ------------------------------------------------------------------------- */

#ifndef GM_FROM_NUMBER
#define GM_FROM_NUMBER(name, type, direction)                                                      \
    static inline GM_HALF name(type value)                                                         \
    {                                                                                              \
        GM_HALF result;                                                                            \
        result.__x =                                                                               \
            (unsigned short)gm_encode<GM_HALF_MANTISSA>(gm_exact_double(value), direction);        \
        return result;                                                                             \
    }
#define GM_FROM_NUMBER_ROUNDED(type, from)                                                         \
    GM_FROM_NUMBER(GM_NAMED(from, _rn), type, GM_NEAREST)                                          \
    GM_FROM_NUMBER(GM_NAMED(from, _rz), type, GM_TO_ZERO)                                          \
    GM_FROM_NUMBER(GM_NAMED(from, _ru), type, GM_UPWARD)                                           \
    GM_FROM_NUMBER(GM_NAMED(from, _rd), type, GM_DOWNWARD)
#define GM_TO_INTEGER(name, type, round)                                                           \
    static inline type name(GM_HALF a)                                                             \
    {                                                                                              \
        return gm_saturate<type>(round((float)a));                                                 \
    }
#define GM_TO_INTEGER_ROUNDED(type, word)                                                          \
    GM_TO_INTEGER(GM_NAMED(__, 2##word##_rn), type, __builtin_nearbyintf)                          \
    GM_TO_INTEGER(GM_NAMED(__, 2##word##_rz), type, __builtin_truncf)                              \
    GM_TO_INTEGER(GM_NAMED(__, 2##word##_ru), type, __builtin_ceilf)                               \
    GM_TO_INTEGER(GM_NAMED(__, 2##word##_rd), type, __builtin_floorf)
#endif

GM_FROM_NUMBER(GM_NAMED(__float2, ), float, GM_NEAREST)
GM_FROM_NUMBER(GM_NAMED(__double2, ), double, GM_NEAREST)
GM_FROM_NUMBER_ROUNDED(float, __float2)
GM_FROM_NUMBER_ROUNDED(short, __short2)
GM_FROM_NUMBER_ROUNDED(unsigned short, __ushort2)
GM_FROM_NUMBER_ROUNDED(int, __int2)
GM_FROM_NUMBER_ROUNDED(unsigned, __uint2)
GM_FROM_NUMBER_ROUNDED(long long, __ll2)
GM_FROM_NUMBER_ROUNDED(unsigned long long, __ull2)
GM_TO_INTEGER_ROUNDED(short, short)
GM_TO_INTEGER_ROUNDED(unsigned short, ushort)
GM_TO_INTEGER_ROUNDED(int, int)
GM_TO_INTEGER_ROUNDED(unsigned, uint)
GM_TO_INTEGER_ROUNDED(long long, ll)
GM_TO_INTEGER_ROUNDED(unsigned long long, ull)
GM_TO_INTEGER(GM_NAMED(__, 2char_rz), signed char, __builtin_truncf)
GM_TO_INTEGER(GM_NAMED(__, 2uchar_rz), unsigned char, __builtin_truncf)

static inline float GM_NAMED(__, 2float)(GM_HALF a)
{
    return a;
}

static inline short GM_NAMED(__, _as_short)(GM_HALF a)
{
    return (short)a.__x;
}

static inline unsigned short GM_NAMED(__, _as_ushort)(GM_HALF a)
{
    return a.__x;
}

static inline GM_HALF GM_NAMED(__ushort_as_, )(unsigned short bits)
{
    GM_HALF result;
    result.__x = bits;
    return result;
}

static inline GM_HALF GM_NAMED(__short_as_, )(short bits)
{
    return GM_NAMED(__ushort_as_, )((unsigned short)bits);
}

/* ---- arithmetic --------------------------------------------------------------------------- */

static inline GM_HALF __hneg(GM_HALF a)
{
    return GM_NAMED(__ushort_as_, )(a.__x ^ 0x8000);
}

static inline GM_HALF __habs(GM_HALF a)
{
    return GM_NAMED(__ushort_as_, )(a.__x & 0x7fff);
}

/* Between 0 and 1; 0 for a NaN. */
static inline GM_HALF gm_saturated(GM_HALF a)
{
    return (float)a > 0 ? (float)a < 1 ? a : GM_HALF(1.0f) : GM_HALF(0.0f);
}

static inline GM_HALF __hdiv(GM_HALF a, GM_HALF b)
{
    return (double)a / (double)b;
}

static inline GM_HALF __hfma(GM_HALF a, GM_HALF b, GM_HALF c)
{
    return gm_fma_to_odd(a, b, c);
}

static inline GM_HALF __hfma_sat(GM_HALF a, GM_HALF b, GM_HALF c)
{
    return gm_saturated(__hfma(a, b, c));
}

static inline GM_HALF __hfma_relu(GM_HALF a, GM_HALF b, GM_HALF c)
{
    const GM_HALF result = __hfma(a, b, c);
    return (float)result < 0 ? GM_HALF(0.0f) : result;
}

#ifndef GM_HALF_ARITHMETIC
#define GM_HALF_ARITHMETIC(name, sign)                                                             \
    static inline GM_HALF __h##name(GM_HALF a, GM_HALF b)                                          \
    {                                                                                              \
        return (double)a sign(double) b;                                                           \
    }                                                                                              \
    static inline GM_HALF __h##name##_rn(GM_HALF a, GM_HALF b)                                     \
    {                                                                                              \
        return __h##name(a, b);                                                                    \
    }                                                                                              \
    static inline GM_HALF __h##name##_sat(GM_HALF a, GM_HALF b)                                    \
    {                                                                                              \
        return gm_saturated(__h##name(a, b));                                                      \
    }
#define GM_HALF_OPERATOR(sign, function)                                                           \
    static inline GM_HALF operator sign(const GM_HALF &a, const GM_HALF &b)                        \
    {                                                                                              \
        return function(a, b);                                                                     \
    }                                                                                              \
    static inline GM_HALF &operator sign##=(GM_HALF &a, const GM_HALF &b)                          \
    {                                                                                              \
        return a = function(a, b);                                                                 \
    }
#define GM_HALF_STEP(sign, function)                                                               \
    static inline GM_HALF &operator sign(GM_HALF &a)                                               \
    {                                                                                              \
        return a = function(a, GM_HALF(1.0f));                                                     \
    }                                                                                              \
    static inline GM_HALF operator sign(GM_HALF &a, int)                                           \
    {                                                                                              \
        const GM_HALF before = a;                                                                  \
        a = function(a, GM_HALF(1.0f));                                                            \
        return before;                                                                             \
    }
/* The u at the end: true if one of the two is a NaN. */
#define GM_HALF_COMPARISON(name, sign)                                                             \
    static inline bool __h##name(GM_HALF a, GM_HALF b)                                             \
    {                                                                                              \
        return __builtin_isunordered((float)a, (float)b) == 0 && (float)a sign(float) b;           \
    }                                                                                              \
    static inline bool __h##name##u(GM_HALF a, GM_HALF b)                                          \
    {                                                                                              \
        return __builtin_isunordered((float)a, (float)b) != 0 || (float)a sign(float) b;           \
    }
#define GM_HALF_RELATION(sign)                                                                     \
    static inline bool operator sign(const GM_HALF &a, const GM_HALF &b)                           \
    {                                                                                              \
        return (float)a sign(float) b;                                                             \
    }
/* Of a number and a NaN, the number; with _nan, the NaN. Of two zeros, -0 is the smaller. */
#define GM_HALF_EXTREME(name, sign, zero)                                                          \
    static inline GM_HALF __h##name(GM_HALF a, GM_HALF b)                                          \
    {                                                                                              \
        if (__hisnan(a) || __hisnan(b)) {                                                          \
            return !__hisnan(a) ? a : !__hisnan(b) ? b : GM_NAMED(__ushort_as_, )(0x7fff);         \
        }                                                                                          \
        if ((float)a == (float)b) {                                                                \
            return a.__x >> 15 == zero ? a : b;                                                    \
        }                                                                                          \
        return (float)a sign(float) b ? a : b;                                                     \
    }                                                                                              \
    static inline GM_HALF __h##name##_nan(GM_HALF a, GM_HALF b)                                    \
    {                                                                                              \
        const bool nan = __hisnan(a) || __hisnan(b);                                               \
        return nan ? GM_NAMED(__ushort_as_, )(0x7fff) : __h##name(a, b);                           \
    }
#define GM_HALF_FUNCTION(name, expression)                                                         \
    static inline GM_HALF name(GM_HALF a)                                                          \
    {                                                                                              \
        const double x = (float)a;                                                                 \
        return expression;                                                                         \
    }
#endif

GM_HALF_ARITHMETIC(add, +)
GM_HALF_ARITHMETIC(sub, -)
GM_HALF_ARITHMETIC(mul, *)
GM_HALF_OPERATOR(+, __hadd)
GM_HALF_OPERATOR(-, __hsub)
GM_HALF_OPERATOR(*, __hmul)
GM_HALF_OPERATOR(/, __hdiv)
GM_HALF_STEP(++, __hadd)
GM_HALF_STEP(--, __hsub)

static inline GM_HALF operator+(const GM_HALF &a)
{
    return a;
}

static inline GM_HALF operator-(const GM_HALF &a)
{
    return __hneg(a);
}

/* ---- comparisons -------------------------------------------------------------------------- */

static inline bool __hisnan(GM_HALF a)
{
    return (float)a != (float)a;
}

/* 1 or -1 for an infinity, by its sign; else 0. */
static inline int __hisinf(GM_HALF a)
{
    return __builtin_isinf_sign((float)a);
}

GM_HALF_COMPARISON(eq, ==)
GM_HALF_COMPARISON(ne, !=)
GM_HALF_COMPARISON(lt, <)
GM_HALF_COMPARISON(le, <=)
GM_HALF_COMPARISON(gt, >)
GM_HALF_COMPARISON(ge, >=)
GM_HALF_RELATION(==)
GM_HALF_RELATION(!=)
GM_HALF_RELATION(<)
GM_HALF_RELATION(<=)
GM_HALF_RELATION(>)
GM_HALF_RELATION(>=)
GM_HALF_EXTREME(min, <, 1)
GM_HALF_EXTREME(max, >, 0)

/* ---- functions ---------------------------------------------------------------------------- */

GM_HALF_FUNCTION(hsqrt, __builtin_sqrt(x))
GM_HALF_FUNCTION(hrsqrt, 1 / __builtin_sqrt(x))
GM_HALF_FUNCTION(hrcp, 1 / x)
GM_HALF_FUNCTION(hexp, __builtin_exp(x))
GM_HALF_FUNCTION(hexp2, __builtin_exp2(x))
GM_HALF_FUNCTION(hexp10, __builtin_pow(10.0, x))
GM_HALF_FUNCTION(hlog, __builtin_log(x))
GM_HALF_FUNCTION(hlog2, __builtin_log2(x))
GM_HALF_FUNCTION(hlog10, __builtin_log10(x))
GM_HALF_FUNCTION(hsin, __builtin_sin(x))
GM_HALF_FUNCTION(hcos, __builtin_cos(x))
GM_HALF_FUNCTION(htanh, __builtin_tanh(x))
GM_HALF_FUNCTION(htanh_approx, __builtin_tanh(x))
GM_HALF_FUNCTION(hfloor, __builtin_floor(x))
GM_HALF_FUNCTION(hceil, __builtin_ceil(x))
GM_HALF_FUNCTION(htrunc, __builtin_trunc(x))
GM_HALF_FUNCTION(hrint, __builtin_nearbyint(x))
