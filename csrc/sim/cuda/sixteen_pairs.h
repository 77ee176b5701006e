/*
 * What CUDA computes with GM_HALF2: what it does with GM_HALF, for both members. No include guard:
 * half.h and bfloat16.h include this, each with its own names.
 */

/* ---- conversions ------------------------------------------------------------------------- */

static inline GM_HALF2 GM_PASTE(make_, GM_HALF_WORD, 2)(GM_HALF x, GM_HALF y)
{
    return {x, y};
}

static inline GM_HALF2 GM_NAMED(__halves2, 2)(GM_HALF x, GM_HALF y)
{
    return {x, y};
}

static inline GM_HALF2 GM_PASTE(GM_NAMED(__, 2), GM_HALF_WORD, 2)(GM_HALF x)
{
    return {x, x};
}

static inline GM_HALF2 GM_NAMED(__float2, 2_rn)(float x)
{
    return {GM_HALF(x), GM_HALF(x)};
}

static inline GM_HALF2 GM_NAMED(__floats2, 2_rn)(float x, float y)
{
    return {GM_HALF(x), GM_HALF(y)};
}

static inline GM_HALF2 GM_NAMED(__float22, 2_rn)(float2 a)
{
    return {GM_HALF(a.x), GM_HALF(a.y)};
}

static inline float2 GM_NAMED(__, 22float2)(GM_HALF2 a)
{
    return {(float)a.x, (float)a.y};
}

static inline GM_HALF GM_NAMED(__low2, )(GM_HALF2 a)
{
    return a.x;
}

static inline GM_HALF GM_NAMED(__high2, )(GM_HALF2 a)
{
    return a.y;
}

static inline float __low2float(GM_HALF2 a)
{
    return a.x;
}

static inline float __high2float(GM_HALF2 a)
{
    return a.y;
}

static inline GM_HALF2 GM_NAMED(__low2, 2)(GM_HALF2 a)
{
    return {a.x, a.x};
}

static inline GM_HALF2 GM_NAMED(__high2, 2)(GM_HALF2 a)
{
    return {a.y, a.y};
}

static inline GM_HALF2 GM_NAMED(__lows2, 2)(GM_HALF2 a, GM_HALF2 b)
{
    return {a.x, b.x};
}

static inline GM_HALF2 GM_NAMED(__highs2, 2)(GM_HALF2 a, GM_HALF2 b)
{
    return {a.y, b.y};
}

static inline GM_HALF2 __lowhigh2highlow(GM_HALF2 a)
{
    return {a.y, a.x};
}

/* ---- arithmetic --------------------------------------------------------------------------- */

#ifndef GM_PAIR_UNARY
#define GM_PAIR_UNARY(name, function)                                                              \
    static inline GM_HALF2 name(GM_HALF2 a)                                                        \
    {                                                                                              \
        return {function(a.x), function(a.y)};                                                     \
    }
#define GM_PAIR_BINARY(name, function)                                                             \
    static inline GM_HALF2 name(GM_HALF2 a, GM_HALF2 b)                                            \
    {                                                                                              \
        return {function(a.x, b.x), function(a.y, b.y)};                                           \
    }
#define GM_PAIR_TERNARY(name, function)                                                            \
    static inline GM_HALF2 name(GM_HALF2 a, GM_HALF2 b, GM_HALF2 c)                                \
    {                                                                                              \
        return {function(a.x, b.x, c.x), function(a.y, b.y, c.y)};                                 \
    }
#define GM_PAIR_ARITHMETIC(name)                                                                   \
    GM_PAIR_BINARY(__h##name##2, __h##name)                                                        \
    GM_PAIR_BINARY(__h##name##2_rn, __h##name)                                                     \
    GM_PAIR_BINARY(__h##name##2_sat, __h##name##_sat)
#define GM_PAIR_OPERATOR(sign, function)                                                           \
    static inline GM_HALF2 operator sign(const GM_HALF2 &a, const GM_HALF2 &b)                     \
    {                                                                                              \
        return function(a, b);                                                                     \
    }                                                                                              \
    static inline GM_HALF2 &operator sign##=(GM_HALF2 &a, const GM_HALF2 &b)                       \
    {                                                                                              \
        return a = function(a, b);                                                                 \
    }
#define GM_PAIR_STEP(sign, function)                                                               \
    static inline GM_HALF2 &operator sign(GM_HALF2 &a)                                             \
    {                                                                                              \
        return a = function(a, GM_HALF2(GM_HALF(1.0f), GM_HALF(1.0f)));                            \
    }                                                                                              \
    static inline GM_HALF2 operator sign(GM_HALF2 &a, int)                                         \
    {                                                                                              \
        const GM_HALF2 before = a;                                                                 \
        sign a;                                                                                    \
        return before;                                                                             \
    }
/* Per member as 1 or 0, as a mask of bits, and both at once; likewise with u, which is true of
 * NaNs. */
#define GM_PAIR_COMPARISON(name)                                                                   \
    static inline GM_HALF2 __h##name##2(GM_HALF2 a, GM_HALF2 b)                                    \
    {                                                                                              \
        return {GM_HALF(__h##name(a.x, b.x)), GM_HALF(__h##name(a.y, b.y))};                       \
    }                                                                                              \
    static inline GM_HALF2 __h##name##u2(GM_HALF2 a, GM_HALF2 b)                                   \
    {                                                                                              \
        return {GM_HALF(__h##name##u(a.x, b.x)), GM_HALF(__h##name##u(a.y, b.y))};                 \
    }                                                                                              \
    static inline unsigned __h##name##2_mask(GM_HALF2 a, GM_HALF2 b)                               \
    {                                                                                              \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);      \
    }                                                                                              \
    static inline unsigned __h##name##u2_mask(GM_HALF2 a, GM_HALF2 b)                              \
    {                                                                                              \
        return (__h##name##u(a.x, b.x) ? 0xffffu : 0) |                                            \
               (__h##name##u(a.y, b.y) ? 0xffff0000u : 0);                                         \
    }                                                                                              \
    static inline bool __hb##name##2(GM_HALF2 a, GM_HALF2 b)                                       \
    {                                                                                              \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                         \
    }                                                                                              \
    static inline bool __hb##name##u2(GM_HALF2 a, GM_HALF2 b)                                      \
    {                                                                                              \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                   \
    }
#define GM_PAIR_RELATION(sign, function)                                                           \
    static inline bool operator sign(const GM_HALF2 &a, const GM_HALF2 &b)                         \
    {                                                                                              \
        return function(a, b);                                                                     \
    }
#endif

GM_PAIR_UNARY(__hneg2, __hneg)
GM_PAIR_UNARY(__habs2, __habs)
GM_PAIR_ARITHMETIC(add)
GM_PAIR_ARITHMETIC(sub)
GM_PAIR_ARITHMETIC(mul)
GM_PAIR_BINARY(__h2div, __hdiv)
GM_PAIR_TERNARY(__hfma2, __hfma)
GM_PAIR_TERNARY(__hfma2_sat, __hfma_sat)
GM_PAIR_TERNARY(__hfma2_relu, __hfma_relu)
GM_PAIR_BINARY(__hmin2, __hmin)
GM_PAIR_BINARY(__hmax2, __hmax)
GM_PAIR_BINARY(__hmin2_nan, __hmin_nan)
GM_PAIR_BINARY(__hmax2_nan, __hmax_nan)
GM_PAIR_OPERATOR(+, __hadd2)
GM_PAIR_OPERATOR(-, __hsub2)
GM_PAIR_OPERATOR(*, __hmul2)
GM_PAIR_OPERATOR(/, __h2div)
GM_PAIR_STEP(++, __hadd2)
GM_PAIR_STEP(--, __hsub2)

static inline GM_HALF2 operator+(const GM_HALF2 &a)
{
    return a;
}

static inline GM_HALF2 operator-(const GM_HALF2 &a)
{
    return __hneg2(a);
}

/* a * b + c of complex numbers. */
static inline GM_HALF2 __hcmadd(GM_HALF2 a, GM_HALF2 b, GM_HALF2 c)
{
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
            __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

/* ---- comparisons -------------------------------------------------------------------------- */

static inline GM_HALF2 __hisnan2(GM_HALF2 a)
{
    return {GM_HALF(__hisnan(a.x)), GM_HALF(__hisnan(a.y))};
}

GM_PAIR_COMPARISON(eq)
GM_PAIR_COMPARISON(ne)
GM_PAIR_COMPARISON(lt)
GM_PAIR_COMPARISON(le)
GM_PAIR_COMPARISON(gt)
GM_PAIR_COMPARISON(ge)
GM_PAIR_RELATION(==, __hbeq2)
GM_PAIR_RELATION(!=, __hbneu2)
GM_PAIR_RELATION(<, __hblt2)
GM_PAIR_RELATION(<=, __hble2)
GM_PAIR_RELATION(>, __hbgt2)
GM_PAIR_RELATION(>=, __hbge2)

/* ---- functions ---------------------------------------------------------------------------- */

GM_PAIR_UNARY(h2sqrt, hsqrt)
GM_PAIR_UNARY(h2rsqrt, hrsqrt)
GM_PAIR_UNARY(h2rcp, hrcp)
GM_PAIR_UNARY(h2exp, hexp)
GM_PAIR_UNARY(h2exp2, hexp2)
GM_PAIR_UNARY(h2exp10, hexp10)
GM_PAIR_UNARY(h2log, hlog)
GM_PAIR_UNARY(h2log2, hlog2)
GM_PAIR_UNARY(h2log10, hlog10)
GM_PAIR_UNARY(h2sin, hsin)
GM_PAIR_UNARY(h2cos, hcos)
GM_PAIR_UNARY(h2tanh, htanh)
GM_PAIR_UNARY(h2tanh_approx, htanh_approx)
GM_PAIR_UNARY(h2floor, hfloor)
GM_PAIR_UNARY(h2ceil, hceil)
GM_PAIR_UNARY(h2trunc, htrunc)
GM_PAIR_UNARY(h2rint, hrint)
