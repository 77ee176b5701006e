"""CUDA's functions that C does not have, to the units in the last place that CUDA states."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from host_library import COMPILERS, build, call, loop


def sine_of(x: Decimal) -> Decimal:
    """The sine of a small number by its series."""
    term = total = x
    for k in range(1, 60):
        term *= -x * x / (2 * k * (2 * k + 1))
        total += term
    return total


def erf_of(x: Decimal) -> Decimal:
    """The error function by its series, for |x| < 7 and 120 digits."""
    term = total = x
    for k in range(1, 900):
        term *= -x * x / k
        total += term / (2 * k + 1)
    return 2 * total / PI_LONG.sqrt()


def bessel_of(order: int, x: Decimal) -> Decimal:
    term = total = (x / 2) ** order if order else Decimal(1)
    for k in range(1, 600):
        term *= x * x / 4 / k / (k + order)
        total += term
    return total


with localcontext() as context:
    context.prec = 130
    # By Machin's formula: 16 atan(1/5) - 4 atan(1/239).
    PI_LONG = sum(
        Decimal(weight * (-1) ** k) / (2 * k + 1) / Decimal(of) ** (2 * k + 1)
        for weight, of in ((16, 5), (-4, 239))
        for k in range(100)
    )

# name: (Python's exact value, arguments, units in the last place that CUDA states for double)
FUNCTIONS = {
    "rsqrt": (lambda x: 1 / x.sqrt(), [1e-300, 0.1, 2, 3, 7e200], 1),
    "rcbrt": (lambda x: (-(x.ln() / 3)).exp(), [1e-300, 0.1, 2, 3, 7e200], 1),
    "exp10": (lambda x: (x * Decimal(10).ln()).exp(), [-300.5, -0.1, 0.3, 2.5, 300.25], 1),
    "sinpi": (lambda x: sine_of(PI_LONG * (x - 2 * (x / 2).to_integral_value())),
              [1e-10, 0.3, 0.7, 123.4, -2.25, 1e9 + 0.125], 2),
    "cospi": (lambda x: sine_of(PI_LONG * (x + Decimal("0.5")
              - 2 * ((x + Decimal("0.5")) / 2).to_integral_value())),
              [1e-5, 0.3, 0.7, 123.4, -2.25, 1e9 + 0.125], 2),
    "normcdf": (lambda x: (1 + erf_of(x / Decimal(2).sqrt())) / 2, [-9.5, -3, -0.1, 0.7, 2], 5),
    "erfcx": (lambda x: (x * x).exp() * (1 - erf_of(x)), [-2, 0.1, 1, 3.3, 6.5], 4),
    "cyl_bessel_i0": (lambda x: bessel_of(0, x), [0.001, 1, 5, 29.9, 30.1, 200], 6),
    "cyl_bessel_i1": (lambda x: bessel_of(1, x), [0.001, 1, 5, 29.9, 30.1, 200], 6),
}  # fmt: skip
# name: (function that it inverts, arguments, units in the last place)
INVERSES = {
    "erfinv": (erf_of, [1e-12, 1e-4, 0.1, -0.4, 0.6, 0.999, 0.9999999999], 5),
    "erfcinv": (lambda x: 1 - erf_of(x), [1e-20, 1e-5, 0.3, 0.9, 1.4, 1.9999], 6),
    "normcdfinv": (lambda x: (1 + erf_of(x / Decimal(2).sqrt())) / 2, [1e-15, 0.1, 0.6, 0.99], 7),
}  # fmt: skip


@pytest.fixture(scope="module", params=COMPILERS)
def library(request, tmp_path_factory):
    parts = [
        loop(f"x{name}{f}", f"{name}{f}(a)", kind, kind)
        for name in (*FUNCTIONS, *INVERSES, "j0", "y1", "lgamma", "tgamma", "cbrt")
        for f, kind in (("", "double"), ("f", "float"))
    ]
    fast = {"__expf": "exp", "__logf": "log", "__log2f": "log2", "__log10f": "log10",
            "__sinf": "sin", "__cosf": "cos", "__tanf": "tan", "__tanhf": "tanh"}  # fmt: skip
    parts += [loop(f"x{name}", f"{name}(a)", "float", "float") for name in fast]
    for name in ("__fdividef", "__powf", "fdividef"):
        parts.append(loop(f"x{name}", f"{name}(a, b)", "float", "float", "float"))
    parts.append(loop("x__saturatef", "__saturatef(a)", "float", "float"))
    parts.append(loop("x__exp10f", "__exp10f(a)", "float", "float"))
    parts.append(loop("x__frsqrt_rn", "__frsqrt_rn(a)", "float", "float"))
    parts.append(loop("xnorm3d", "norm3d(a, b, c)", "double", *["double"] * 3))
    parts.append(loop("xrnorm3d", "rnorm3d(a, b, c)", "double", *["double"] * 3))
    parts.append(loop("xrhypotf", "rhypotf(a, b)", "float", "float", "float"))
    for kind, from_ in (("int", "float"), ("unsigned", "float"), ("long long", "double")):
        word = {"int": "int", "unsigned": "uint", "long long": "ll"}[kind]
        for direction in ("rn", "rz", "ru", "rd"):
            function = f"__{from_}2{word}_{direction}"
            parts.append(loop(f"x{function}", f"{function}(a)", kind, from_))
    parts.append(loop("xhilo", "__hiloint2double(__double2hiint(a), __double2loint(a))",
                      "double", "double"))  # fmt: skip
    parts.append(POINTERS)
    return build("".join(parts), tmp_path_factory.mktemp("functions"), request.param)


POINTERS = """
#include <cuComplex.h>
#include <cuda_profiler_api.h>

/* As in <math.h> of newer C libraries. */
extern "C" double sinpi(double) noexcept;
extern "C" float cospif(float) noexcept;
extern "C" double rsqrt(double) noexcept;

extern "C" int complex_numbers(void)
{
    cuFloatComplex a = make_cuFloatComplex(3, 4), b = make_cuComplex(1, -2);
    cuDoubleComplex huge = make_cuDoubleComplex(3e200, 4e200);
    cuFloatComplex product = cuCmulf(a, b), back = cuCdivf(product, b), sum = cuCfmaf(a, b, a);
    return product.x == 11 && product.y == -2 && fabsf(back.x - 3) < 1e-5f && sum.y == 2 &&
           cuCabsf(a) == 5 && fabs(cuCabs(huge) / 5e200 - 1) < 1e-15 &&
           fabs(cuCdiv(huge, huge).x - 1) < 1e-15 &&
           cuConjf(a).y == -4 && cuCimagf(cuCsubf(a, b)) == 6 && cuComplexFloatToDouble(a).y == 4;
}

extern "C" int pointers(void)
{
    float sine, cosine, whole;
    double s, c;
    int exponent, quotient;
    sincosf(1, &sine, &cosine);
    sincos(1.0, &s, &c);
    bool right = sine == sinf(1) && cosine == cosf(1) && s == sin(1.0) && c == cos(1.0);
    sincospi(0.5, &s, &c);
    right = right && s == 1 && c == 0;
    right = right && frexpf(12, &exponent) == 0.75f && exponent == 4;
    right = right && std::frexp(3.0, &exponent) == 0.75 && exponent == 2;
    right = right && modff(2.5f, &whole) == 0.5f && whole == 2;
    right = right && remquo(7.0, 2.0, &quotient) == -1 && (quotient & 7) == 4;
    return right && isnan(nanf("")) && !isinf(1.0f) && signbit(-0.0f) && abs(-2.5f) == 2.5f &&
           min(3, 4u) == 3 && min(-1, 4u) == 4 && max(1.0f, 2.0) == 2.0 && umin(1, 2) == 1 &&
           llmax(1, 2) == 2 && min(nanf(""), 1.0f) == 1 && fminf(1, nanf("")) == 1 &&
           pow(2.0f, 3) == 8 && __float_as_int(1.0f) == 0x3f800000 && CUDART_VERSION >= 12000;
}
"""


def distance(got: float, exact: Decimal, dtype=np.float64) -> float:
    """How far a number is from the exact one, in units in the last place."""
    unit = np.spacing(abs(dtype(float(exact))))
    return abs(float((Decimal(float(got)) - exact) / Decimal(float(unit))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(library, name):
    function, arguments, limit = FUNCTIONS[name]
    a = np.array(arguments, np.float64)
    got = call(library, f"x{name}", np.float64, a)
    with localcontext() as context:
        context.prec = 120
        for x, y in zip(a, got, strict=True):
            assert distance(y, function(Decimal(float(x)))) <= limit, x
        narrow = a[(abs(a) > 1e-30) & (abs(a) < 1e5)].astype(np.float32)
        narrow = narrow[
            (abs(narrow) < 30) | (name not in ("exp10", "cyl_bessel_i0", "cyl_bessel_i1"))
        ]
        for x, y in zip(narrow, call(library, f"x{name}f", np.float32, narrow), strict=True):
            assert distance(y, function(Decimal(float(x))), np.float32) <= 1, x


@pytest.mark.parametrize("name", INVERSES)
def test_inverse_functions(library, name):
    function, arguments, limit = INVERSES[name]
    a = np.array(arguments, np.float64)
    with localcontext() as context:
        context.prec = 120
        for x, y in zip(a, call(library, f"x{name}", np.float64, a), strict=True):
            unit = Decimal(float(np.spacing(abs(y)))) * limit
            ends = sorted(function(Decimal(float(y)) + side * unit) for side in (-1, 1))
            assert ends[0] <= Decimal(float(x)) <= ends[1], x


def test_ends_of_the_inverse_functions(library):
    inf = math.inf
    ends = {"erfinv": ([-1, 1, 2, 0], [-inf, inf, math.nan, 0]),
            "erfcinv": ([0, 2, 1, -1], [inf, -inf, 0, math.nan]),
            "normcdfinv": ([0, 1, 0.5, 2], [-inf, inf, 0, math.nan])}  # fmt: skip
    for name, (arguments, want) in ends.items():
        got = call(library, f"x{name}", np.float64, np.array(arguments, np.float64))
        np.testing.assert_array_equal(got, want, err_msg=name)


def test_fast_functions(library):
    a = np.array([0.01, 0.5, 1.25, 3.0], np.float32)
    for name, function in {
        "__expf": np.exp, "__logf": np.log, "__log2f": np.log2, "__log10f": np.log10,
        "__sinf": np.sin, "__cosf": np.cos, "__tanf": np.tan, "__tanhf": np.tanh,
    }.items():  # fmt: skip
        got = call(library, f"x{name}", np.float32, a)
        np.testing.assert_allclose(got, function(a.astype(np.float64)), rtol=3e-7, err_msg=name)
    np.testing.assert_allclose(call(library, "x__exp10f", np.float32, a), 10.0**a, rtol=3e-7)
    power = call(library, "x__powf", np.float32, a, a)
    np.testing.assert_allclose(power, a.astype(np.float64) ** a, rtol=1e-6)
    inf = np.float32(np.inf)
    clamped = np.array([-1, 0.5, 2, np.nan, inf], np.float32)
    assert call(library, "x__saturatef", np.float32, clamped).tolist() == [0, 0.5, 1, 0, 1]
    of, by = np.array([6, 6, inf], np.float32), np.array([3, 1.5e38, 1.5e38], np.float32)
    np.testing.assert_array_equal(
        call(library, "x__fdividef", np.float32, of, by), np.array([2, 0, np.nan], np.float32)
    )
    roots = np.array([1e-40, 0.3, 2, 5, 1e30], np.float32)
    got = call(library, "x__frsqrt_rn", np.float32, roots)
    np.testing.assert_array_equal(got, (1 / np.sqrt(roots.astype(np.float64))).astype(np.float32))


def test_lengths(library):
    a, b, c = (np.array(x, np.float64) for x in ([3, 1e200, math.inf], [4, 1e200, 1], [12, 0, 2]))
    np.testing.assert_allclose(call(library, "xnorm3d", np.float64, a, b, c),
                               [13, math.sqrt(2) * 1e200, math.inf], rtol=1e-15)  # fmt: skip
    np.testing.assert_allclose(
        call(library, "xrnorm3d", np.float64, a, b, c),
        [1 / 13, 1e-200 / math.sqrt(2), 0],
        rtol=1e-15,
    )


def test_integers_saturate(library):
    a = np.array([2.5, -2.5, 3e9, -3e9, np.nan], np.float32)
    top, low = 2**31 - 1, -(2**31)
    for direction, pair in {"rn": [2, -2], "rz": [2, -2], "ru": [3, -2], "rd": [2, -3]}.items():
        got = call(library, f"x__float2int_{direction}", np.int32, a)
        assert got.tolist() == [*pair, top, low, 0], direction
    got = call(library, "x__float2uint_rz", np.uint32, a)
    assert got.tolist() == [2, 0, 3_000_000_000, 0, 0]
    got = call(library, "x__double2ll_rz", np.int64, np.array([1e30, -1e30, -7.9, np.nan]))
    assert got.tolist() == [2**63 - 1, -(2**63), -7, -(2**63)]


def test_halves_of_a_double(library, rng):
    a = rng.normal(size=100)
    np.testing.assert_array_equal(call(library, "xhilo", np.float64, a), a)


def test_complex_numbers(library):
    assert library.complex_numbers() == 1


def test_results_by_pointer_and_overloads(library):
    assert library.pointers() == 1
