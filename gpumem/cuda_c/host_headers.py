"""Headers of the host's C and C++ libraries for NVRTC, which has none: what kernels use of them."""

from __future__ import annotations

__all__ = ["HOST_HEADERS", "PREAMBLE"]

# nvcc finds these names without an include.
PREAMBLE = """#line 1 "gpumem"
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
"""

_INTEGERS = """#pragma once
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32767 - 1)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX UINT64_MAX
"""
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32767 - 1)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOATS = """#pragma once
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-7f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_DIG 15
#define DBL_MANT_DIG 53
"""
_MATHEMATICS = """#pragma once
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000)
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000)
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
"""
# NVRTC puts the functions into the global namespace.
_NAMES = (
    "abs acos asin atan atan2 cbrt ceil cos cosh erf exp exp2 expm1 fabs floor fma fmax fmin fmod "
    "hypot isfinite isinf isnan lgamma log log10 log1p log2 max min pow round rsqrt sin sinh sqrt "
    "tan tanh tgamma trunc"
)
_STANDARD_FUNCTIONS = (
    "#pragma once\nnamespace std {\n"
    + "".join(f"using ::{name};\n" for name in _NAMES.split())
    + "}\n"
)
_FROM_CUDA = """#pragma once
#include <cuda/std/{0}>
namespace std {{ using namespace cuda::std; }}
"""
_NUMBERS = (
    _INTEGERS
    + "namespace std {\n"
    + "".join(f"using ::{sign}int{bits}_t;\n" for bits in (8, 16, 32, 64) for sign in ("", "u"))
    + "}\n"
)

HOST_HEADERS = {
    "stdint.h": _INTEGERS,
    "inttypes.h": _INTEGERS,
    "cstdint": _NUMBERS,
    "limits.h": _LIMITS,
    "climits": _LIMITS,
    "float.h": _FLOATS,
    "cfloat": _FLOATS,
    "math.h": _MATHEMATICS,
    "cmath": _MATHEMATICS + _STANDARD_FUNCTIONS,
    "algorithm": _STANDARD_FUNCTIONS,
    **{
        name: _FROM_CUDA.format(name)
        for name in ("type_traits", "limits", "utility", "tuple", "array", "functional", "complex")
    },
}
