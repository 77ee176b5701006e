"""Features of arithmetic: vector types, half precision, intrinsics, rounding, bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from features_memory import bfloat16_bits
from kernel_cases import Case, f32, f64, fixed, floats, i32, i64, integers, u32, u64, words, zeros

f16 = np.float16


def cast(values, dtype):
    """Return Python or wide integers modulo the size of the type."""
    bits = np.iinfo(dtype).bits
    unsigned = np.dtype(f"u{bits // 8}")
    wrapped = [int(v) & ((1 << bits) - 1) for v in np.ravel(np.asarray(values, object))]
    return np.array(wrapped, unsigned).view(dtype).reshape(np.shape(values))


def each(function, *arrays):
    """Apply a function of Python integers, element by element."""
    rows = zip(*(a.tolist() for a in arrays), strict=True)
    return np.array([function(*row) for row in rows], object)


def columns(*parts):
    """Put the parts side by side: element i of each part, then i + 1."""
    return np.stack([np.asarray(part) for part in parts], axis=1)


# ---- vector types -------------------------------------------------------------------------


def add4(a, b, out, n):
    x, y = a.T, b.T
    return np.stack([x[0] + y[0], x[1] - y[1], x[2] * y[2], np.maximum(x[3], y[3])], axis=1)


def points(a, out, length):
    return a[:, [1, 2, 0]] + np.array([1, 2, 3], f32), np.sqrt((a.astype(f64) ** 2).sum(axis=1))


def pixels(a, out, grey):
    c = a.astype(i32)
    turned = a[:, [2, 1, 0, 3]].copy()
    turned[:, 3] = 255
    return turned, (c[:, 0] * 77 + c[:, 1] * 150 + c[:, 2] * 29) >> 8


def small_types(a, b, c, out):
    x, y, z = a.astype(i32).T, b.astype(i32).T, c.astype(i32).T
    return x[0] * x[1] + y[0] + y[1] - y[2] + y[3] + z[0] - z[1]


def wide_types(a, b, c, out):
    return a[:, 0] * a[:, 1] + (b[:, 0] - b[:, 1]) + c[:, 0] % 7 + c[:, 3] % 5


SIZES = [3, 12, 4, 16, 16, 16, 16, 4, 4, 6, 4, 16, 12, 32, 8]

VECTORS = [
    Case("vectors.cu", "add4", 2, 64, [floats(100, 4), floats(100, 4), zeros(100, 4), i32(100)],
         add4),
    Case("vectors.cu", "points", 2, 32, [floats(64, 3), zeros(64, 3), zeros(64)], points,
         rtol=1e-6),
    Case("vectors.cu", "pixels", 2, 32,
         [words(64, 4, dtype=np.uint8), zeros(64, 4, dtype=np.uint8), zeros(64, dtype=np.uint8)],
         pixels),
    Case("vectors.cu", "small_types", 1, 32,
         [words(32, 2, dtype=np.int8), words(32, 4, dtype=np.int16),
          words(32, 2, dtype=np.uint16), zeros(32, dtype=i32)], small_types),
    Case("vectors.cu", "wide_types", 1, 32,
         [floats(32, 2, dtype=f64), integers(32, 2, dtype=i64), words(32, 4),
          zeros(32, dtype=f64)], wide_types, rtol=1e-13),
    Case("vectors.cu", "ways_to_make", 1, 32, [zeros(19, dtype=i32)],
         lambda out: [*range(1, 15), 2, 6, 24, 7, 14]),
    Case("vectors.cu", "sizes", 1, 15, [zeros(15, dtype=i32)], lambda out: SIZES),
    Case("vectors.cu", "as_vectors", 1, 64, [floats(128), zeros(128)], lambda a, out: a[::-1]),
]  # fmt: skip


# ---- half precision -----------------------------------------------------------------------


def fused16(x, y, z):
    return (x.astype(f64) * y.astype(f64) + z.astype(f64)).astype(f16)


def half_intrinsics(x, y, out):
    return columns(x + y, x * y, fused16(x, y, x), np.where(x < y, np.abs(x), -y),
                   np.sqrt(np.abs(x)), np.maximum(x, np.minimum(y, f16(0.5))))  # fmt: skip


def half_pairs(x, y, out):
    shift = np.array([0.25, -0.25], f16)
    mixed = np.stack([x[:, 1], y[:, 0]], axis=1)
    return columns(x + y, fused16(x, y, f16(1) + 0 * x), mixed, (x * y) - shift)


def half_to_integers(x, out):
    bits = x.view(np.uint16).astype(i32)
    return columns(np.rint(x).astype(i32) + bits, np.trunc(x).astype(i32) - np.arange(32))


def widened(bits):
    return (bits.astype(u32) << 16).view(f32)


def bfloat16_arithmetic(a, b, out):
    x, y = widened(a), widened(b)
    return columns(*map(bfloat16_bits, (x + y, x * y, np.where(x < y, x, y), x - y)))


def bfloat16_pairs(a, b, out):
    sums = bfloat16_bits(widened(a) + widened(b))
    return columns(sums, np.stack([a[:, 1], b[:, 0]], axis=1))


def bfloat16s(*shape):
    return fixed(bfloat16_bits(np.random.default_rng(4).uniform(-3, 3, shape)))


def converted(a, out, back):
    return a.astype(f16), 2 * a.astype(f16).astype(f32)


HALF = [
    Case("half_precision.cu", "convert", 1, 64, [floats(64, low=-70000, high=70000),
         zeros(64, dtype=f16), zeros(64)], converted),
    Case("half_precision.cu", "operators", 1, 64,
         [floats(64, dtype=f16), floats(64, dtype=f16), zeros(64, 4, dtype=f16)],
         lambda x, y, out: columns(x + y, x - y, x * y, np.where(x > y, -x, y))),
    Case("half_precision.cu", "intrinsics", 1, 64,
         [floats(64, dtype=f16), floats(64, dtype=f16), zeros(64, 6, dtype=f16)],
         half_intrinsics),
    # The difference of a product may be contracted to one fused operation.
    Case("half_precision.cu", "pairs", 1, 32,
         [floats(32, 2, dtype=f16), floats(32, 2, dtype=f16), zeros(32, 4, 2, dtype=f16)],
         half_pairs, rtol=2e-3, atol=1e-3),
    Case("half_precision.cu", "dot", 1, 32,
         [floats(32, 2, dtype=f16), floats(32, 2, dtype=f16), zeros(32)],
         lambda x, y, out: np.repeat((x[::-1].astype(f64) * y).sum(), 32), rtol=1e-5, atol=1e-5),
    Case("half_precision.cu", "to_integers", 1, 32,
         [floats(32, low=-200, high=200, dtype=f16), zeros(32, 2, dtype=i32)], half_to_integers),
    Case("bfloat16.cu", "convert", 1, 64,
         [floats(64, low=-1000, high=1000), zeros(64, dtype=np.uint16), zeros(64)],
         lambda a, out, back: (bfloat16_bits(a), widened(bfloat16_bits(a)) + 1)),
    Case("bfloat16.cu", "arithmetic", 1, 64,
         [bfloat16s(64), bfloat16s(64), zeros(64, 4, dtype=np.uint16)], bfloat16_arithmetic),
    Case("bfloat16.cu", "pairs", 1, 32,
         [bfloat16s(32, 2), bfloat16s(32, 2), zeros(32, 2, 2, dtype=np.uint16)], bfloat16_pairs),
]  # fmt: skip


# ---- fast functions, rounding modes, conversions ------------------------------------------


def wide(function):
    """Compute in double precision what the kernel computes in single."""
    return lambda *arrays: np.concatenate(function(*(a.astype(f64) for a in arrays)))


def rounded(guess, compare, mode, dtype):
    """Round a number exactly; ``compare(x)`` is the sign of x minus the number, for a Fraction."""
    low = dtype(guess)
    while compare(Fraction(float(low))) > 0:
        low = np.nextafter(low, dtype(-np.inf))
    while compare(Fraction(float(np.nextafter(low, dtype(np.inf))))) <= 0:
        low = np.nextafter(low, dtype(np.inf))
    exact = compare(Fraction(float(low))) == 0
    high = low if exact else np.nextafter(low, dtype(np.inf))
    if mode == "rz":
        mode = "rd" if low >= 0 else "ru"
    if mode == "rn":
        side = compare((Fraction(float(low)) + Fraction(float(high))) / 2)
        even = int(low.view(np.dtype(f"u{low.itemsize}"))) % 2 == 0
        mode = "rd" if side > 0 or (side == 0 and even) else "ru"
    return low if mode == "rd" else high


def rounding(mode, function, *arrays):
    """Apply a function of Fractions with one rounding at the end."""
    dtype = arrays[0].dtype.type

    def one(*values):
        exact = function(*map(Fraction, values))
        return rounded(float(exact), lambda x: (x > exact) - (x < exact), mode, dtype)

    return np.array([one(*row) for row in zip(*(a.tolist() for a in arrays), strict=True)], dtype)


def root(mode, a):
    def one(value):
        exact = Fraction(value)
        return rounded(math.sqrt(value), lambda x: (x * x > exact) - (x * x < exact), mode,
                       a.dtype.type)  # fmt: skip

    return np.array([one(value) for value in a.tolist()], a.dtype)


def plus(a, b):
    return a + b


def minus(a, b):
    return a - b


def times(a, b):
    return a * b


def over(a, b):
    return a / b


def inverse(b):
    return 1 / b


def fused(a, b, c):
    return a * b + c


def modes(function, modes, *arrays):
    return np.concatenate([rounding(mode, function, *arrays) for mode in modes.split()])


def in_double(a, b, out):
    parts = [("ru", plus, a, b), ("rd", times, a, b), ("rz", over, a, b)]
    fma = rounding("rz", fused, a, b, a)
    return np.concatenate([*(rounding(*part) for part in parts), root("ru", a), fma])


def to_int(a, out):
    a = a.astype(f64)
    return np.concatenate([np.rint(a), np.trunc(a), np.ceil(a), np.floor(a), np.rint(np.abs(a))])


def exactly(values, mode):
    """Round numbers that Python holds exactly to single precision."""
    numbers = values.tolist()
    return [rounded(float(v), lambda x, v=v: (x > v) - (x < v), mode, f32) for v in numbers]


def to_float(a, long, out):
    return np.concatenate([*(exactly(a, mode) for mode in ("rn", "rz", "ru", "rd")),
                           exactly(long, "rn")])  # fmt: skip


def doubles(a, out, single):
    rows = np.concatenate([np.rint(a), np.floor(a), np.trunc(a), np.ceil(np.abs(a))])
    return rows, np.concatenate([a.astype(f32), exactly(a, "rz")])


def seen_bits(f, d, out):
    word, whole = f.view(u32), d.view(u64)
    one = np.ones_like(word)
    high, low = whole >> u64(32), whole & u64(0xFFFFFFFF)
    return columns(word, word ^ u32(0x80000000), high, low, high, word + one, one, one)


def outside_the_range(a, out):
    signed = [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), -5]
    unsigned = [0, -1, 0, -1, 0, 0]
    return columns(signed, unsigned)


ODD_FLOATS = fixed([np.nan, np.inf, -np.inf, 3e9 * 10, -3e9, -5.5], f32)
ROUNDED = [
    Case("rounding.cu", "sums", 2, 64, [floats(128), floats(128), zeros(512)],
         lambda a, b, out: np.append(modes(plus, "rn rz ru", a, b), modes(minus, "rd", a, b))),
    Case("rounding.cu", "products", 2, 64, [floats(128), floats(128), zeros(512)],
         lambda a, b, out: modes(times, "rn rz ru rd", a, b)),
    Case("rounding.cu", "fused", 2, 64, [floats(128), floats(128), floats(128), zeros(512)],
         lambda a, b, c, out: modes(fused, "rn rz ru rd", a, b, c)),
    Case("rounding.cu", "quotients", 2, 64, [floats(128), floats(128), zeros(512)],
         lambda a, b, out: np.append(modes(over, "rn rz", a, b), modes(inverse, "ru rd", b))),
    Case("rounding.cu", "roots", 2, 64, [floats(128, low=0.001, high=9), zeros(512)],
         lambda a, out: np.concatenate([root(mode, a) for mode in ("rn", "rz", "ru", "rd")])),
    Case("rounding.cu", "in_double", 1, 64,
         [floats(64, low=0.1, dtype=f64), floats(64, dtype=f64), zeros(320, dtype=f64)], in_double),
]  # fmt: skip

FUNCTIONS = [
    Case("fast_math.cu", "exponentials", 2, 64, [floats(128, low=-2, high=2), zeros(384)],
         wide(lambda x, out: [np.exp(x), 10 ** (0.25 * x), (x + 3) ** 1.5]), rtol=3e-6),
    Case("fast_math.cu", "logarithms", 2, 64, [floats(128, low=0.1, high=50), zeros(384)],
         wide(lambda x, out: [np.log(x), np.log2(x), np.log10(x)]), rtol=1e-6, atol=1e-6),
    Case("fast_math.cu", "angles", 2, 64, [floats(128, low=-3.1, high=3.1), zeros(512)],
         wide(lambda x, out: [np.sin(x), np.cos(x), np.tan(f32(0.4) * x), 1 + 0 * x]),
         rtol=5e-6, atol=1e-6),
    Case("fast_math.cu", "quotients", 2, 64,
         [floats(128, low=0.5, high=3), floats(128, low=0.5, high=3), zeros(640)],
         wide(lambda a, b, out: [a / b, b / a, np.clip(a - 1, 0, 1), b**-0.5, a**-0.5]),
         rtol=5e-7, atol=1e-7),
    *ROUNDED,
    Case("conversions.cu", "to_int", 2, 64,
         [floats(128, low=-99.5, high=99.5), zeros(640, dtype=i32)], to_int),
    Case("conversions.cu", "to_float", 2, 32,
         [words(64, dtype=i32), words(64, dtype=i64), zeros(320)], to_float),
    Case("conversions.cu", "doubles", 2, 32,
         [floats(64, low=-1e6, high=1e6, dtype=f64), zeros(256, dtype=i64), zeros(128)], doubles),
    Case("conversions.cu", "bits", 1, 64,
         [floats(64), floats(64, dtype=f64), zeros(64, 8, dtype=u32)], seen_bits),
    Case("conversions.cu", "outside_the_range", 1, 6, [ODD_FLOATS, zeros(6, 2, dtype=i32)],
         outside_the_range),
]  # fmt: skip


# ---- integers -----------------------------------------------------------------------------

U, L = (1 << 32) - 1, (1 << 64) - 1


def zeros_before(x, bits):
    return bits - int(x).bit_length()


def first_set(x):
    return (x & -x).bit_length()


def turned(x, bits):
    return int(f"{x:0{bits}b}"[::-1], 2)


def permuted(a, b, selector):
    data = (b << 32 | a).to_bytes(8, "little")
    return int.from_bytes(bytes(data[selector >> 4 * k & 7] for k in range(4)), "little")


def counts(a, b, out):
    return columns(each(int.bit_count, a), each(lambda x: zeros_before(x, 32), a),
                   each(first_set, a), each(int.bit_count, b),
                   each(lambda x: zeros_before(x, 64), b), each(first_set, b))  # fmt: skip


def moved(a, b, out):
    both = each(lambda x, y: y << 32 | x, a, b)
    return cast(columns(each(lambda x, y: permuted(x, y, 0x5140), a, b),
                        each(lambda x, y: permuted(x, y, y & 0x7777), a, b),
                        both << 13 >> 32, both >> 5, both, both >> 9), u32)  # fmt: skip


def signed24(x):
    x &= 0xFFFFFF
    return x - (1 << 24) if x >> 23 else x


def high_words(a, b, long, out):
    return cast(columns(
        each(lambda x, y: x * y >> 32, a, b),
        each(lambda x, y: (x & U) * (y & U) >> 32, a, b),
        each(lambda x: x * 0x123456789ABCDEF >> 64, long),
        each(lambda x: (x & L) * 0xFEDCBA9876543210 >> 64, long),
        cast(each(lambda x, y: signed24(x) * signed24(y), a, b), i32)), i64)  # fmt: skip


def means(a, b, out):
    return cast(columns(
        each(lambda x, y: x + y >> 1, a, b), each(lambda x, y: x + y + 1 >> 1, a, b),
        each(lambda x, y: (x & U) + (y & U) >> 1, a, b),
        each(lambda x, y: (x & U) + (y & U) + 1 >> 1, a, b),
        each(lambda x, y: abs((x >> 2) - (y >> 2)) + 5, a, b),
        each(lambda x, y: abs((x & U) - (y & U)) + 7, a, b),
        each(lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF), a, b)), i32)  # fmt: skip


def extremes(a, b, c, out):
    a, c = a.astype(i64), c.astype(f64)
    return columns(np.minimum(a, 17), np.maximum(a, -9), np.minimum(b, 1000),
                   np.maximum(b, 3000000000), np.minimum(c, 0.25) + np.maximum(c, 0.5),
                   np.abs(a) + 11, np.maximum(a, 5) + np.minimum(c, 0.1)
                   + np.maximum(b & 7, 3))  # fmt: skip


def dot_products(a, b, out):
    s, t = (x.view(np.int8).astype(i64).reshape(-1, 4) for x in (a, b))
    p, q = (x.view(np.uint8).astype(i64).reshape(-1, 4) for x in (a, b))
    wide = a.view(np.int16).astype(i64).reshape(-1, 2)
    return cast(columns((s * t).sum(axis=1) + 100, (p * q).sum(axis=1) + 7,
                        (wide * t[:, :2]).sum(axis=1) - 3,
                        (wide * t[:, 2:]).sum(axis=1) + 11), i32)  # fmt: skip


def lanes(dtype):
    return lambda x: x.view(dtype).astype(i64).reshape(x.size, -1)


def packed(values, bits):
    """Put the lanes of each row into a word, each modulo its size."""
    shifts = np.arange(0, 32, bits)
    return ((values & ((1 << bits) - 1)) << shifts).sum(axis=1)


def halves(x, y, out):
    (s, t), (p, q) = map(lanes(np.int16), (x, y)), map(lanes(np.uint16), (x, y))
    rows = [p + q, p - q, np.maximum(s, t), np.minimum(p, q), np.abs(s), (p + q + 1) >> 1,
            -(p > q).astype(i64), np.minimum(p + q, 0xFFFF)]  # fmt: skip
    return columns(*(packed(row, 16) for row in rows))


def four_bytes(x, y, out):
    (s, t), (p, q) = map(lanes(np.int8), (x, y)), map(lanes(np.uint8), (x, y))
    rows = [p + q, p - q, np.maximum(p, q), np.minimum(s, t), np.abs(p - q), (p + q + 1) >> 1,
            -((p & 15) == (q & 15)).astype(i64), (p > q).astype(i64)]  # fmt: skip
    last = [np.abs(p - q).sum(axis=1), packed(np.maximum(p - q, 0), 8)]
    return columns(*(packed(row, 8) for row in rows), *last)


INTEGERS = [
    Case("bits.cu", "counts", 1, 64, [words(64), words(64, dtype=u64), zeros(64, 6, dtype=i32)],
         counts),
    Case("bits.cu", "reversed", 1, 64,
         [words(64), words(64, dtype=u64), zeros(64, 2, dtype=u64)],
         lambda a, b, out: columns(each(lambda x: turned(x, 32), a),
                                   each(lambda x: turned(x, 64), b))),
    Case("bits.cu", "moved", 1, 64, [words(64), words(64), zeros(64, 6, dtype=u32)], moved),
    Case("integers.cu", "high_words", 1, 64,
         [words(64, dtype=i32), words(64, dtype=i32), words(64, dtype=i64),
          zeros(64, 5, dtype=i64)], high_words),
    Case("integers.cu", "means", 1, 64,
         [words(64, dtype=i32), words(64, dtype=i32), zeros(64, 7, dtype=i32)], means),
    Case("integers.cu", "extremes", 1, 64,
         [integers(64), words(64), floats(64), zeros(64, 7, dtype=f64)], extremes, rtol=1e-6),
    Case("integers.cu", "dot_products", 1, 64,
         [words(64, dtype=i32), words(64, dtype=i32), zeros(64, 4, dtype=i32)], dot_products),
    Case("simd_in_a_word.cu", "halves", 1, 64, [words(64), words(64), zeros(64, 8, dtype=u32)],
         halves),
    Case("simd_in_a_word.cu", "bytes", 1, 64, [words(64), words(64), zeros(64, 10, dtype=u32)],
         four_bytes),
]  # fmt: skip


# ---- the mathematical library -------------------------------------------------------------


def powers(x, out):
    one = 1 + 0 * x
    return [x**-0.5, one, x**1.3, 2**x + 10 ** (x / 2) + np.expm1(x), one,
            np.sqrt(x * x + 13) + np.sqrt(x * x + 14)]  # fmt: skip


def angles(x, out):
    s, c = np.sin(np.pi * x), np.cos(np.pi * x)
    return [np.sin(x) + 2 * np.cos(x), s + 2 * c, s + c,
            np.arctan2(x, 0.7) + np.arcsinh(x) + np.tanh(x)]  # fmt: skip


def distributions(x, out):
    normal = [0.5 * math.erfc(-v / math.sqrt(2)) for v in x]
    scaled = [math.exp(v * v) * math.erfc(v) for v in x]
    gamma = [math.lgamma(v + 4) + math.gamma(v + 4) for v in x]
    return [1 + 0 * x, normal, x, x, scaled, gamma]


def pieces(x, out):
    x = (x.astype(f32) * f32(10)).astype(f64)
    whole = np.trunc(x)
    m, e = np.frexp(x)
    nearest = np.trunc(x + np.copysign(0.5, x))
    return [whole + 0.5 * (x - whole), m + e,
            np.rint(x) + np.floor(x) - np.ceil(x) + whole + nearest,
            np.fmod(x, f64(f32(1.7))) + np.copysign(1, x) + 4 * x,
            2 * x + 1 + np.maximum(x - 1, 0) + np.abs(x), 2 + (x < 0)]  # fmt: skip


MATHEMATICS = [
    Case("mathematics.cu", "powers", 1, 64, [floats(64, low=0.2, high=3), zeros(384)],
         wide(powers), rtol=1e-6),
    Case("mathematics.cu", "angles", 1, 64, [floats(64, low=-3, high=3, dtype=f64),
         zeros(256, dtype=f64)], wide(angles), rtol=1e-13, atol=1e-14),
    Case("mathematics.cu", "distributions", 1, 64, [floats(64, low=-2, high=2, dtype=f64),
         zeros(384, dtype=f64)], wide(distributions), rtol=1e-11, atol=1e-13),
    Case("mathematics.cu", "pieces", 1, 64, [floats(64), zeros(384)], wide(pieces), rtol=1e-6,
         atol=1e-6),
]  # fmt: skip

CASES = VECTORS + HALF + FUNCTIONS + INTEGERS + MATHEMATICS
