"""Operations with a direction of rounding, against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from host_library import COMPILERS, build, call, loop

BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = ("rcp", "sqrt")
DIRECTIONS = ("rn", "rz", "ru", "rd")


def numbers(dtype, rng, count=300):
    """Return numbers of all sizes, among them subnormal ones and the largest."""
    integer = np.uint32 if dtype == np.float32 else np.uint64
    bits = np.dtype(integer).itemsize * 8
    drawn = rng.integers(0, 2**bits, count, dtype=integer).view(dtype)
    near = rng.normal(size=count).astype(dtype)
    info = np.finfo(dtype)
    special = [0, -0.0, 1, -1, 3, info.max, -info.max, info.smallest_subnormal, info.tiny, 1.5]
    found = np.concatenate([drawn, near, np.array(special, dtype)])
    return found[np.isfinite(found)]


def exact_root(a: Fraction) -> tuple[Fraction, bool]:
    """The root cut after 300 bits, and whether that is all of it."""
    scaled = a * (1 << 3000)
    root = isqrt(scaled.numerator // scaled.denominator)
    return Fraction(root, 1 << 1500), Fraction(root * root, 1 << 3000) == a


def rounded(exact: Fraction, complete: bool, direction: str, dtype) -> float:
    """Round a fraction, of which something small and positive was cut if it is not complete."""
    info = np.finfo(dtype)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    place = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    whole, rest = divmod(exact / place, 1)  # whole: rounded down
    inexact = rest != 0 or not complete
    above = {
        "rd": False,
        "ru": inexact,
        "rz": inexact and exact < 0,
        "rn": rest > Fraction(1, 2)
        or (rest == Fraction(1, 2) and (whole % 2 == 1 or not complete)),
    }[direction]
    result = (whole + above) * place
    largest = Fraction(float(info.max))
    if abs(result) > largest:
        inwards = direction == "rz" or (direction == "ru") == (result < 0)
        outside = direction == "rn" or not inwards
        return float("inf" if outside else info.max) * (1 if result > 0 else -1)
    return float(result)


def source() -> str:
    parts = []
    for letter, kind in (("f", "float"), ("d", "double")):
        fma = "__fmaf_" if letter == "f" else "__fma_"
        for direction in DIRECTIONS:
            for name in BINARY:
                function = f"__{letter}{name}_{direction}"
                parts.append(loop(f"x{function}", f"{function}(a, b)", kind, kind, kind))
            for name in UNARY:
                function = f"__{letter}{name}_{direction}"
                parts.append(loop(f"x{function}", f"{function}(a)", kind, kind))
            expression = f"{fma}{direction}(a, b, c)"
            parts.append(loop(f"x__{letter}fma_{direction}", expression, kind, kind, kind, kind))
    for direction in DIRECTIONS:
        for word, kind in (("int", "int"), ("ull", "unsigned long long"), ("ll", "long long")):
            function = f"__{word}2float_{direction}"
            parts.append(loop(f"x{function}", f"{function}(a)", "float", kind))
        function = f"__double2float_{direction}"
        parts.append(loop(f"x{function}", f"{function}(a)", "float", "double"))
    return "".join(parts)


@pytest.fixture(scope="module", params=COMPILERS)
def library(request, tmp_path_factory):
    return build(source(), tmp_path_factory.mktemp("rounding"), request.param)


def check(got, exact, direction, dtype, of):
    for value, (fraction, complete), *where in zip(got, exact, *of, strict=True):
        want = rounded(fraction, complete, direction, dtype)
        assert value == want, (direction, where)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float", "double"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_operations_round_as_they_say(library, rng, dtype, direction):
    letter = "f" if dtype == np.float32 else "d"
    a, b, c = numbers(dtype, rng), numbers(dtype, rng), numbers(dtype, rng)
    n = min(map(len, (a, b, c)))
    a, b, c = (rng.permutation(x)[:n] for x in (a, b, c))
    b = np.where(b == 0, dtype(1), b)
    fractions = [[Fraction(float(v)) for v in x] for x in (a, b, c)]
    compute = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
    }  # fmt: skip
    for name, function in compute.items():
        got = call(library, f"x__{letter}{name}_{direction}", dtype, a, b)
        exact = [(function(x, y), True) for x, y in zip(*fractions[:2], strict=True)]
        check(got, exact, direction, dtype, (a, b))
    got = call(library, f"x__{letter}fma_{direction}", dtype, a, b, c)
    check(got, [(x * y + z, True) for x, y, z in zip(*fractions, strict=True)], direction, dtype,
          (a, b, c))  # fmt: skip
    got = call(library, f"x__{letter}rcp_{direction}", dtype, b)
    check(got, [(1 / x, True) for x in fractions[1]], direction, dtype, (b,))
    got = call(library, f"x__{letter}sqrt_{direction}", dtype, abs(a))
    check(got, [exact_root(abs(x)) for x in fractions[0]], direction, dtype, (a,))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_conversions_round_as_they_say(library, rng, direction):
    for word, kind in (("int", np.int32), ("ll", np.int64), ("ull", np.uint64)):
        info = np.iinfo(kind)
        a = rng.integers(info.min, info.max, 300, dtype=kind, endpoint=True)
        a[:3] = info.min, info.max, 1 << 24
        got = call(library, f"x__{word}2float_{direction}", np.float32, a)
        check(got, [(Fraction(int(x)), True) for x in a], direction, np.float32, (a,))
    a = numbers(np.float64, rng)
    a = np.concatenate([a, (a.view(np.uint64) & ~np.uint64(0x7FF << 52)).view(np.float64) + 1])
    a = a[np.isfinite(a)]
    got = call(library, f"x__double2float_{direction}", np.float32, a)
    check(got, [(Fraction(float(x)), True) for x in a], direction, np.float32, (a,))


def test_the_direction_of_the_host_is_left_as_it_was(library, rng):
    ones = np.ones(1, np.float32)
    third = call(library, "x__fdiv_rn", np.float32, ones, 3 * ones)
    call(library, "x__fdiv_ru", np.float32, ones, 3 * ones)
    assert call(library, "x__fdiv_rn", np.float32, ones, 3 * ones) == third


def test_signs_of_zeros(library):
    zero = np.zeros(1, np.float32)
    assert not np.signbit(call(library, "x__fsub_rn", np.float32, zero + 1, zero + 1))
    assert np.signbit(call(library, "x__fsub_rd", np.float32, zero + 1, zero + 1))
