"""half and bfloat16: every one of their numbers, rounded as exact fractions are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from host_library import COMPILERS, build, call, loop

FORMATS = {"half": ("__half", 10), "bfloat16": ("__nv_bfloat16", 7)}
DIRECTIONS = ("rn", "rz", "ru", "rd")
OPERATIONS = {
    "add": "__hadd(a, b)", "sub": "a - b", "mul": "__hmul(a, b)", "div": "a / b",
    "less": "a < b", "ltu": "__hltu(a, b)", "ne": "__hne(a, b)", "neu": "a != b",
    "min": "__hmin(a, b)", "max": "__hmax(a, b)", "max_nan": "__hmax_nan(a, b)",
    "add_sat": "__hadd_sat(a, b)",
}  # fmt: skip
COMPARISONS = ("less", "ltu", "ne", "neu")


def source() -> str:
    parts = ["#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"]
    for word, (kind, _) in FORMATS.items():
        for direction in DIRECTIONS:
            for name in ("float", "int", "ull"):
                type_ = {"float": "float", "int": "int", "ull": "unsigned long long"}[name]
                function = f"__{name}2{word}_{direction}"
                parts.append(loop(f"x_{name}2{word}_{direction}", f"{function}(a)", kind, type_))
            function = f"__{word}2int_{direction}"
            parts.append(loop(f"x_{word}2int_{direction}", f"{function}(a)", "int", kind))
        parts.append(loop(f"x_{word}_from_double", f"{kind}(a)", kind, "double"))
        parts.append(loop(f"x_{word}_to_float", "a", "float", kind))
        for name, expression in OPERATIONS.items():
            result = "bool" if name in COMPARISONS else kind
            parts.append(loop(f"x_{word}_{name}", expression, result, kind, kind))
        parts.append(loop(f"x_{word}_fma", "__hfma(a, b, c)", kind, kind, kind, kind))
        parts.append(loop(f"x_{word}_sqrt", "hsqrt(a)", kind, kind))
        parts.append(loop(f"x_{word}_fma2", "__hfma2(a, b, c)", f"{kind}2", *[f"{kind}2"] * 3))
    return "".join(parts)


@pytest.fixture(scope="module", params=COMPILERS)
def library(request, tmp_path_factory):
    return build(source(), tmp_path_factory.mktemp("sixteen"), request.param)


@pytest.fixture(params=FORMATS)
def word(request):
    return request.param


def value(code: int, mantissa: int) -> Fraction | float:
    """The number that 16 bits stand for."""
    bias = (1 << (14 - mantissa)) - 1
    exponent, rest = (code & 0x7FFF) >> mantissa, code & ((1 << mantissa) - 1)
    sign = -1 if code >> 15 else 1
    if exponent == 2 * bias + 1:
        return float("nan") if rest else sign * float("inf")
    whole = rest if exponent == 0 else rest + (1 << mantissa)
    return sign * whole * Fraction(2) ** (max(exponent, 1) - bias - mantissa)


def encode(exact: Fraction, mantissa: int, direction: str = "rn", negative: bool = False) -> int:
    """The 16 bits nearest to a number; `negative` is the sign of a zero."""
    bias = (1 << (14 - mantissa)) - 1
    infinite = 0x7FFF >> mantissa << mantissa
    sign = 0x8000 if exact < 0 or (exact == 0 and negative) else 0
    size = abs(exact)
    if size == 0:
        return sign
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    exponent = max(exponent, 1 - bias)
    whole, rest = divmod(size / Fraction(2) ** (exponent - mantissa), 1)
    away = direction == ("rd" if sign else "ru")
    half = Fraction(1, 2)
    up = rest > half or (rest == half and whole % 2 == 1) if direction == "rn" else rest and away
    code = (exponent + bias - 1 << mantissa) + whole + bool(up)
    if code >= infinite:
        code = infinite if direction == "rn" or away else infinite - 1
    return sign | code


def codes(rng, count=2000):
    return rng.integers(0, 1 << 16, count, dtype=np.uint16)


def finite(codes_, mantissa):
    infinite = 0x7FFF >> mantissa << mantissa
    return codes_[(codes_ & 0x7FFF) < infinite]


def test_every_number_as_a_float(library, word):
    mantissa = FORMATS[word][1]
    every = np.arange(1 << 16, dtype=np.uint16)
    got = call(library, f"x_{word}_to_float", np.float32, every)
    want = np.array([float(value(int(c), mantissa)) for c in every], np.float32)
    np.testing.assert_array_equal(got, want)
    number = got == got
    assert np.array_equal(np.signbit(got[number]), every[number] >> 15 == 1)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_numbers_are_rounded_once(library, word, rng, direction):
    mantissa = FORMATS[word][1]
    a = rng.integers(0, 1 << 32, 1000, dtype=np.uint32).view(np.float32)
    # Halfway between two, and next to it.
    below = call(library, f"x_{word}_to_float", np.float32, finite(codes(rng, 500), mantissa))
    above = np.nextafter(below, np.float32(np.inf))
    scale = np.float32(1 + 2.0 ** (-mantissa - 1))
    a = np.concatenate([a, below, above, below * scale, np.nextafter(below * scale, below)])
    a = np.concatenate([a, rng.normal(size=500).astype(np.float32) * np.float32(2.0**-20)])
    a = a[np.isfinite(a)]
    got = call(library, f"x_float2{word}_{direction}", np.uint16, a)
    want = [encode(Fraction(float(x)), mantissa, direction, np.signbit(x)) for x in a]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_integers_are_rounded_once(library, word, rng, direction):
    mantissa = FORMATS[word][1]
    for name, kind in (("int", np.int32), ("ull", np.uint64)):
        info = np.iinfo(kind)
        a = rng.integers(info.min, info.max, 500, dtype=kind, endpoint=True)
        a >>= rng.integers(0, info.bits - 1, 500).astype(kind)
        if kind == np.uint64:
            a[:2] = (0x8080 << 48) + 1, 0x8080 << 48  # above a tie by the last bit; a tie
        got = call(library, f"x_{name}2{word}_{direction}", np.uint16, a)
        np.testing.assert_array_equal(
            got, [encode(Fraction(int(x)), mantissa, direction) for x in a]
        )


def test_doubles_are_not_rounded_to_float_first(library, word):
    mantissa = FORMATS[word][1]
    tie = 1 + 2.0 ** (-mantissa - 1)
    a = np.array([tie, tie + 2.0**-40, tie - 2.0**-40, 1e300, -1e-300])
    got = call(library, f"x_{word}_from_double", np.uint16, a)
    np.testing.assert_array_equal(got, [encode(Fraction(x), mantissa) for x in a[:3]] + [
        0x7FFF >> mantissa << mantissa, 0x8000])  # fmt: skip


def test_arithmetic_is_rounded_once(library, word, rng):
    mantissa = FORMATS[word][1]
    a, b = finite(codes(rng), mantissa), finite(codes(rng), mantissa)
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    b[(b & 0x7FFF) == 0] |= 1
    functions = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
    }  # fmt: skip
    for name, function in functions.items():
        got = call(library, f"x_{word}_{name}", np.uint16, a, b)
        for result, x, y in zip(got, a, b, strict=True):
            exact = function(value(int(x), mantissa), value(int(y), mantissa))
            negative = name in ("mul", "div") and (x ^ y) >> 15 == 1
            assert result & 0x7FFF == encode(exact, mantissa) & 0x7FFF, (name, x, y)
            assert exact == 0 or result == encode(exact, mantissa, "rn", negative), (name, x, y)


def test_fused_products_are_rounded_once(library, word, rng):
    mantissa = FORMATS[word][1]
    a, b, c = (finite(codes(rng, 4000), mantissa) for _ in range(3))
    n = min(map(len, (a, b, c)))
    a, b, c = a[:n], b[:n], c[:n]
    # Products near a tie, and a tiny number that breaks it.
    one = encode(Fraction(1), mantissa)
    a[:64] = one + np.arange(1, 65) * 2 - 1
    b[:64] = one + (1 << (mantissa - 1))
    c[:64] = np.where(np.arange(64) % 2, 0x8001, 0x0001)
    got = call(library, f"x_{word}_fma", np.uint16, a, b, c)
    for result, *of in zip(got, a, b, c, strict=True):
        x, y, z = (value(int(code), mantissa) for code in of)
        exact = x * y + z
        assert exact == 0 or result == encode(exact, mantissa), of
    pairs = [x[: n // 2 * 2] for x in (a, b, c)]
    both = call(library, f"x_{word}_fma2", np.uint32, *(x.view(np.uint32) for x in pairs))
    np.testing.assert_array_equal(both.view(np.uint16), got[: n // 2 * 2])


def test_comparisons_with_nan(library, word):
    mantissa = FORMATS[word][1]
    one, two = (encode(Fraction(x), mantissa) for x in (1, 2))
    a = np.array([one, two, one, 0x7FFF, 0x7FFF, 0, 0x8000], np.uint16)
    b = np.array([two, one, one, one, 0x7FFF, 0x8000, 0], np.uint16)

    def got(name, dtype=bool):
        return call(library, f"x_{word}_{name}", dtype, a, b).tolist()

    assert got("less") == [True, False, False, False, False, False, False]
    assert got("ltu") == [True, False, False, True, True, False, False]
    assert got("ne") == [True, True, False, False, False, False, False]
    assert got("neu") == [True, True, False, True, True, False, False]
    assert got("min", np.uint16) == [one, one, one, one, 0x7FFF, 0x8000, 0x8000]
    assert got("max", np.uint16) == [two, two, one, one, 0x7FFF, 0, 0]
    assert got("max_nan", np.uint16)[3] == 0x7FFF
    assert got("add_sat", np.uint16) == [one, one, one, 0, 0, 0, 0]


def test_to_integers(library, word):
    mantissa = FORMATS[word][1]
    a = [Fraction(x) for x in ("5/2", "7/2", "-5/2", "1/4", "-1/4")]
    bits = np.array([encode(x, mantissa) for x in a] + [0x7FFF], np.uint16)
    want = {"rn": [2, 4, -2, 0, 0], "rz": [2, 3, -2, 0, 0], "ru": [3, 4, -2, 1, 0],
            "rd": [2, 3, -3, 0, -1]}  # fmt: skip
    for direction, integers in want.items():
        got = call(library, f"x_{word}2int_{direction}", np.int32, bits)
        assert got.tolist() == [*integers, 0], direction
