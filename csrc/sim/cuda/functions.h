/*
 * The functions of CUDA's mathematics that C does not have, and its fast ones. Those with less
 * precision on a device are as precise here as C's. Most compute in a wider type, and round once.
 */
#ifndef GPUMEM_CUDA_FUNCTIONS_H
#define GPUMEM_CUDA_FUNCTIONS_H

#include <math.h>

#include "sim/cuda/arithmetic.h"

#define GM_PI 3.14159265358979323846264338327950288L
#define GM_SQRT_PI 1.77245385090551602729816748334114518L
#define GM_SQRT_HALF 0.707106781186547524400844362104849039L

/*
 * name(double), and name(float) and namef through it. Linkage and noexcept are those of C's
 * <math.h>, which has some of them from C23 on (sinpi and rsqrt in glibc); these take their place.
 */
#define GM_FUNCTION(name, expression)                                                              \
    extern "C" inline double name(double x) noexcept                                               \
    {                                                                                              \
        return (double)(expression);                                                               \
    }                                                                                              \
    static inline float name(float x)                                                              \
    {                                                                                              \
        return (float)name((double)x);                                                             \
    }                                                                                              \
    extern "C" inline float name##f(float x) noexcept                                              \
    {                                                                                              \
        return (float)name((double)x);                                                             \
    }

/* ---- roots and lengths ------------------------------------------------------------------- */

GM_FUNCTION(rsqrt, 1.0L / __builtin_sqrtl(x))
GM_FUNCTION(rcbrt, 1.0L / cbrtl(x))

/* An infinite member makes the length infinite, whatever the others are. */
template <typename type> static inline long double gm_length(int count, const type *members)
{
    long double sum = 0;
    bool infinite = false;
    for (int i = 0; i < count; i++) {
        sum += (long double)members[i] * members[i];
        infinite |= __builtin_isinf(members[i]) != 0;
    }
    return infinite ? (long double)__builtin_inf() : __builtin_sqrtl(sum);
}

#define GM_LENGTHS(type, f)                                                                        \
    static inline type norm##f(int count, const type *members)                                     \
    {                                                                                              \
        return (type)gm_length(count, members);                                                    \
    }                                                                                              \
    static inline type rnorm##f(int count, const type *members)                                    \
    {                                                                                              \
        return (type)(1 / gm_length(count, members));                                              \
    }                                                                                              \
    static inline type rhypot##f(type a, type b)                                                   \
    {                                                                                              \
        const type members[] = {a, b};                                                             \
        return rnorm##f(2, members);                                                               \
    }                                                                                              \
    static inline type norm3d##f(type a, type b, type c)                                           \
    {                                                                                              \
        const type members[] = {a, b, c};                                                          \
        return norm##f(3, members);                                                                \
    }                                                                                              \
    static inline type rnorm3d##f(type a, type b, type c)                                          \
    {                                                                                              \
        const type members[] = {a, b, c};                                                          \
        return rnorm##f(3, members);                                                               \
    }                                                                                              \
    static inline type norm4d##f(type a, type b, type c, type d)                                   \
    {                                                                                              \
        const type members[] = {a, b, c, d};                                                       \
        return norm##f(4, members);                                                                \
    }                                                                                              \
    static inline type rnorm4d##f(type a, type b, type c, type d)                                  \
    {                                                                                              \
        const type members[] = {a, b, c, d};                                                       \
        return rnorm##f(4, members);                                                               \
    }
GM_LENGTHS(double, )
GM_LENGTHS(float, f)

/* ---- multiples of pi --------------------------------------------------------------------- */

/* x is reduced to [-1/4, 1/4] before it is multiplied by pi, which is exact. */
static inline long double gm_sin_of_turns(double x)
{
    double rest = x - 2 * __builtin_rint(x / 2);
    if (rest > 0.5 || rest < -0.5) {
        rest = __builtin_copysign(1.0, rest) - rest;
    }
    if (rest > 0.25 || rest < -0.25) {
        return __builtin_copysignl(cosl(GM_PI * (0.5 - __builtin_fabs(rest))), rest);
    }
    return rest == 0 ? (long double)__builtin_copysign(0.0, x) : sinl(GM_PI * rest);
}

static inline long double gm_cos_of_turns(double x)
{
    double rest = __builtin_fabs(x - 2 * __builtin_rint(x / 2));
    if (rest <= 0.25) {
        return cosl(GM_PI * rest);
    }
    return rest < 0.75 ? sinl(GM_PI * (0.5 - rest)) : -cosl(GM_PI * (1 - rest));
}

GM_FUNCTION(sinpi, gm_sin_of_turns(x))
GM_FUNCTION(cospi, gm_cos_of_turns(x))

static inline void sincospi(double x, double *sine, double *cosine)
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}

static inline void sincospif(float x, float *sine, float *cosine)
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}

/* ---- the error function ------------------------------------------------------------------- */

/* Halley's steps to the x for which erfc(x), or for small ones 1 - erf(x), is `tail`; tail is at
 * most 1. The first x is that of Abramowitz and Stegun, 26.2.23, right to 0.0005. */
static inline long double gm_inverse_erfc(long double tail, long double one_less_tail)
{
    if (tail <= 0) {
        return tail == 0 ? (long double)__builtin_inf() : (long double)__builtin_nan("");
    }
    if (one_less_tail < 1e-5L) {
        return GM_SQRT_PI / 2 * one_less_tail * (1 + GM_PI / 12 * one_less_tail * one_less_tail);
    }
    long double t = __builtin_sqrtl(-2 * logl(tail / 2));
    long double x = (t - (2.515517L + t * (0.802853L + t * 0.010328L)) /
                             (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L)))) *
                    GM_SQRT_HALF;
    for (int i = 0; i < 4; i++) {
        long double error = one_less_tail < 0.5L ? erfl(x) - one_less_tail : tail - erfcl(x);
        long double step = error * expl(x * x) * GM_SQRT_PI / 2;
        x -= step / (1 + x * step);
    }
    return x;
}

static inline long double gm_inverse_erf(double y)
{
    long double size = __builtin_fabs(y);
    return y != y ? y : __builtin_copysignl(gm_inverse_erfc(1 - size, size), y);
}

static inline long double gm_inverse_erfc_of(long double y)
{
    if (y != y) {
        return y;
    }
    return y <= 1 ? gm_inverse_erfc(y, 1 - y) : -gm_inverse_erfc(2 - y, y - 1);
}

/* exp(x * x) * erfc(x); for large x by its asymptotic series. */
static inline long double gm_scaled_erfc(long double x)
{
    if (x < 10 || x != x) {
        return expl(x * x) * erfcl(x);
    }
    long double term = 1, sum = 1;
    for (int k = 1; k < 20; k++) {
        term *= -(2 * k - 1) / (2 * x * x);
        sum += term;
    }
    return sum / (x * GM_SQRT_PI);
}

GM_FUNCTION(erfinv, gm_inverse_erf(x))
GM_FUNCTION(erfcinv, gm_inverse_erfc_of(x))
GM_FUNCTION(erfcx, gm_scaled_erfc(x))
GM_FUNCTION(normcdf, erfcl(-x *GM_SQRT_HALF) / 2)
GM_FUNCTION(normcdfinv, -2 * GM_SQRT_HALF * gm_inverse_erfc_of(2.0L * x))

/* ---- modified Bessel functions ------------------------------------------------------------ */

/* By their power series, whose terms are all positive; for large x by the asymptotic one. */
static inline long double gm_bessel_i(int order, long double x)
{
    long double size = __builtin_fabsl(x), sum = 1, term = 1;
    if (size < 30) {
        for (int k = 1; k < 100; k++) {
            term *= size * size / 4 / k / (k + order);
            sum += term;
        }
        return order == 0 ? sum : sum * x / 2;
    }
    for (int k = 1; k < 40; k++) {
        term *= -(4.0L * order - (2 * k - 1) * (2 * k - 1)) / (k * 8 * size);
        sum += term;
    }
    long double large = expl(size) / __builtin_sqrtl(2 * GM_PI * size) * sum;
    return order == 0 ? large : __builtin_copysignl(large, x);
}

GM_FUNCTION(cyl_bessel_i0, gm_bessel_i(0, x))
GM_FUNCTION(cyl_bessel_i1, gm_bessel_i(1, x))

/* ---- powers of ten ------------------------------------------------------------------------ */

/* glibc's own are less precise. */
GM_FUNCTION(gm_exp10, __builtin_powl(10.0L, x))
#define exp10(x) gm_exp10(x)
#define exp10f(x) gm_exp10f(x)

/* ---- results by pointer ------------------------------------------------------------------- */

/* C's functions would write to the pointers without being traced. */
#define GM_SINCOS(name, type, sine, cosine)                                                        \
    static inline void name(type x, type *to_sine, type *to_cosine)                                \
    {                                                                                              \
        *to_sine = sine(x);                                                                        \
        *to_cosine = cosine(x);                                                                    \
    }
GM_SINCOS(gm_sincos, double, __builtin_sin, __builtin_cos)
GM_SINCOS(gm_sincosf, float, __builtin_sinf, __builtin_cosf)

#define GM_SECOND_RESULT(name, type, second, f)                                                    \
    static inline type gm_##name(type x, second *to)                                               \
    {                                                                                              \
        second other;                                                                              \
        type result = __builtin_##name##f(x, &other);                                              \
        *to = other;                                                                               \
        return result;                                                                             \
    }
GM_SECOND_RESULT(frexp, double, int, )
GM_SECOND_RESULT(frexp, float, int, f)
GM_SECOND_RESULT(modf, double, double, )
GM_SECOND_RESULT(modf, float, float, f)

static inline double gm_remquo(double x, double y, int *to)
{
    int quotient;
    double result = __builtin_remquo(x, y, &quotient);
    *to = quotient;
    return result;
}

static inline float gm_remquo(float x, float y, int *to)
{
    int quotient;
    float result = __builtin_remquof(x, y, &quotient);
    *to = quotient;
    return result;
}

/* For std::frexp and its like: the macros replace the name alone. */
namespace std {
using ::gm_frexp;
using ::gm_modf;
using ::gm_remquo;
} // namespace std

#define sincos(x, sine, cosine) gm_sincos(x, sine, cosine)
#define sincosf(x, sine, cosine) gm_sincosf(x, sine, cosine)
#define frexp(x, exponent) gm_frexp(x, exponent)
#define frexpf(x, exponent) gm_frexp((float)(x), exponent)
#define modf(x, whole) gm_modf(x, whole)
#define modff(x, whole) gm_modf((float)(x), whole)
#define remquo(x, y, quotient) gm_remquo(x, y, quotient)
#define remquof(x, y, quotient) gm_remquo((float)(x), (float)(y), quotient)

/* ---- min and max by their older names ------------------------------------------------------ */

#define GM_NAMED_EXTREMES(prefix, type)                                                            \
    static inline type prefix##min(type a, type b)                                                 \
    {                                                                                              \
        return min(a, b);                                                                          \
    }                                                                                              \
    static inline type prefix##max(type a, type b)                                                 \
    {                                                                                              \
        return max(a, b);                                                                          \
    }
GM_NAMED_EXTREMES(u, unsigned)
GM_NAMED_EXTREMES(ll, long long)
GM_NAMED_EXTREMES(ull, unsigned long long)

/* ---- fast functions ----------------------------------------------------------------------- */

static inline float fdividef(float x, float y)
{
    return x / y;
}

static inline double fdivide(double x, double y)
{
    return x / y;
}

/* As documented: 0 for a divisor above 2^126, whose reciprocal a device flushes to 0. */
static inline float __fdividef(float x, float y)
{
    const float size = __builtin_fabsf(y);
    return 0x1p126f < size && size <= __FLT_MAX__ ? x * __builtin_copysignf(0.0f, y) : x / y;
}

static inline float __saturatef(float x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

static inline float gm_powf(float x, float y)
{
    return __builtin_exp2f(y * __builtin_log2f(x)); /* NaN for negative x, unlike powf */
}

/* glibc declares these names for itself, in <math.h>, and does not export them. */
#define __expf(x) __builtin_expf(x)
#define __exp10f(x) gm_exp10f(x)
#define __logf(x) __builtin_logf(x)
#define __log2f(x) __builtin_log2f(x)
#define __log10f(x) __builtin_log10f(x)
#define __sinf(x) __builtin_sinf(x)
#define __cosf(x) __builtin_cosf(x)
#define __tanf(x) __builtin_tanf(x)
#define __tanhf(x) __builtin_tanhf(x)
#define __powf(x, y) gm_powf(x, y)
#define __sincosf(x, sine, cosine) gm_sincosf(x, sine, cosine)

#endif
