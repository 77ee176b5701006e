"""Features of the language: templates, classes, structures, functions, control flow, headers."""

from __future__ import annotations

import numpy as np
from kernel_cases import (
    Array,
    Case,
    f32,
    f64,
    fixed,
    floats,
    i32,
    i64,
    integers,
    u32,
    u64,
    updated,
    words,
    zeros,
)

T32 = np.arange(32)


def halved(combine, threads):
    return lambda a, out: combine(a.reshape(-1, threads), axis=1)


def ordered_pairs(a, descending):
    pairs = np.sort(a.reshape(-1, 2), axis=1)
    return pairs[:, ::-1] if descending else pairs


TEMPLATES = [
    Case("templates.cu", "scale<float, 2>", 2, 64, [floats(100), zeros(100), i32(100)],
         lambda a, out, n: 2 * a),
    Case("templates.cu", "scale<int, 7>", 2, 64,
         [integers(100), zeros(100, dtype=i32), i32(100)], lambda a, out, n: 7 * a),
    Case("templates.cu", "scale<double, 3>", 2, 64,
         [floats(100, dtype=f64), zeros(100, dtype=f64), i32(100)], lambda a, out, n: 3 * a),
    Case("templates.cu", "reduce<int, Sum, 64>", 3, 64, [integers(192), zeros(3, dtype=i32)],
         halved(np.sum, 64)),
    Case("templates.cu", "reduce<float, Largest, 128>", 2, 128, [floats(256), zeros(2)],
         halved(np.max, 128)),
    Case("templates.cu", "order_pairs<true>", 1, 32, [updated(integers(64))],
         lambda a: ordered_pairs(a, True)),
    Case("templates.cu", "order_pairs<false>", 1, 32, [updated(integers(64))],
         lambda a: ordered_pairs(a, False)),
    Case("templates.cu", "folded", 1, 32, [integers(32), zeros(32, dtype=i64)],
         lambda a, out: 3 * a + 3 + T32 + 2 * a * a + 1),
    Case("namespaces.cu", "image::brighten", 1, 32,
         [integers(32, high=255), zeros(32, dtype=i32), i32(40)],
         lambda a, out, by: np.clip(a + by, 0, 255)),
    Case("namespaces.cu", "first::second::choose", 1, 32, [integers(32), zeros(32, dtype=i32)],
         lambda a, out: np.where(T32 % 3, 2 * a, a)),
    Case("namespaces.cu", "plain_name", 1, 32, [zeros(32, dtype=i32)], lambda out: 2 * T32),
]  # fmt: skip


# ---- structures, classes, functions -------------------------------------------------------

SCALING = np.dtype([("factor", "f4"), ("shift", "i4"), ("bias", "f8")], align=True)
RECORD = np.dtype([("key", "i4"), ("value", "f4"), ("tag", "u1", 4)])
SETTINGS = np.dtype([("values", "i4", 8)])
SIZE = np.dtype([("x", "u4"), ("y", "u4"), ("z", "u4")])


def structure(dtype, *values):
    return np.array(values if len(values) > 1 else (values[0],), dtype)[()]


def make_records(random):
    records = np.zeros(50, RECORD)
    records["key"] = random.integers(-9, 9, 50)
    records["value"] = random.random(50)
    records["tag"] = random.integers(0, 255, (50, 4))
    return records


def of_records(a, out, n):
    result = a[::-1].copy()
    result["key"] += result["tag"][np.arange(50), np.arange(50) % 4]
    return result


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def recursive(out):
    return [fibonacci(t % 12) + 2 * (t % 4) + 3 for t in range(out.size)]


def tree(side):
    """A complete tree: node i has the children 2i + 1 and 2i + 2."""
    children = 2 * np.arange(31) + side
    return fixed(np.where(children < 31, children, -1), i32)


def tree_sums(left, right, out):
    sums = np.arange(31)
    for node in reversed(range(15)):
        sums[node] += sums[2 * node + 1] + sums[2 * node + 2]
    return sums


def kinds(a, out):
    half = (a.astype(f32) * f32(0.5)).astype(f64)
    return (3 * a + 1) + (a - 10) + (a - 3) + half + np.fmod(a, 5)


def chosen(a, b, out):
    return np.choose(T32 % 3, [a + b, a - b, a * b])


def captures(a, out, n):
    return 2 * (a + a[0]) + n


def functors(a, out, n):
    above = (a[None] > a[:, None]).sum(axis=1)
    return above * 100 + (np.abs(a[None] - a[:, None]) < f32(0.25)).sum(axis=1)


def escape_times(out, width, step):
    y, x = np.mgrid[0:16, 0:24].astype(f32)
    c = (x * step - f32(2)) + 1j * (y * step - f32(1))
    c = c.astype(np.complex64)
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(12):
        inside = (z.real**2 + z.imag**2) < 4
        z, n = np.where(inside, z * z + c, z), n + inside
    return n


def complex_sums(a, out):
    real, count = a.cumsum(dtype=f32), np.arange(1, a.size + 1)
    return real + real * real + count * count


CLASSES = [
    Case("structures.cu", "by_value", 2, 32,
         [structure(SCALING, 1.5, 7, 0.25), floats(64), zeros(64, dtype=f64)],
         lambda s, a, out: 1.5 * a + 7.25, rtol=1e-6, atol=1e-6),
    Case("structures.cu", "of_records", 1, 64,
         [Array(make_records), Array(lambda _: np.zeros(50, RECORD), output=True), i32(50)],
         of_records),
    Case("structures.cu", "with_pointers", 1, 16, [floats(16, 5, 5), i32(5), zeros(16)],
         lambda a, size, out: np.trace(a, axis1=1, axis2=2), rtol=1e-5, atol=1e-6),
    Case("structures.cu", "linked_list", 1, 32, [integers(32), zeros(32, dtype=i32)],
         lambda a, out: a.cumsum()),
    Case("functions.cu", "kinds", 1, 32, [integers(32), zeros(32)], kinds),
    Case("functions.cu", "recursive", 1, 48, [zeros(48, dtype=u32)], recursive),
    Case("functions.cu", "tree_sums", 1, 31, [tree(1), tree(2), zeros(31, dtype=i32)],
         tree_sums),
    Case("functions.cu", "chosen", 1, 32, [floats(32), floats(32), zeros(32)], chosen),
    Case("functions.cu", "sort_four", 1, 32, [updated(integers(32, 4))],
         lambda a: np.sort(a, axis=1)),
    Case("lambdas.cu", "captures", 1, 32, [integers(80), zeros(80, dtype=i32), i32(80)],
         captures),
    Case("lambdas.cu", "functors", 1, 64, [floats(64), zeros(64, dtype=i32), i32(64)], functors),
    Case("classes.cu", "escape_times", 16, 24,
         [zeros(16, 24, dtype=i32), i32(24), f32(0.125)], escape_times),
    Case("classes.cu", "sums", 1, 32, [floats(32), zeros(32)], complex_sums, rtol=1e-5,
         atol=1e-4),
    Case("classes.cu", "virtual_functions", 1, 32, [floats(32), zeros(32)],
         lambda a, out: 2 * np.where(T32 % 2, a * a, 3 * a), rtol=1e-6),
    Case("classes.cu", "destructors", 1, 64, [integers(256), zeros(1, dtype=i32)],
         lambda a, total: (a > 0).sum()),
]  # fmt: skip


# ---- constants, bits, qualifiers ----------------------------------------------------------


def in_functions(a, out):
    rows = a.reshape(4, 8)
    around = rows + np.roll(rows, 1, axis=1) + np.roll(rows, -1, axis=1)
    primes = np.array([2, 3, 5, 7, 11])
    return around.ravel() * primes[T32 % 5] + 56 + T32 // 2 + np.where(T32 % 2, 5, 6)


def mixed(x):
    return (x ^ (x >> 7)) * 0x9E3779B1 & 0xFFFFFFFF


def unions(a, out):
    swapped = a.view(np.uint8).reshape(-1, 4)[:, [3, 1, 2, 0]].copy().view(u32).ravel()
    return np.stack([swapped, (a & 0xFFFF).astype(f32).view(u32)], axis=1)


def bit_fields(a, out):
    middle = (((a >> 5) & 0x7FF) + 1) & 0x7FF
    high = (a >> 16).astype(np.uint16).view(np.int16)
    return (a & 31).astype(i64) + middle.astype(i64) * 3 + high


def twice_bounded(a, out):
    result = a.copy()
    result[:, 0] += a[:, 1] + a[:, 2]
    return result


def many_parameters(*args):
    flag, *numbers, out = args
    total = sum(float(n) for n in numbers)
    return np.full(out.size, total if flag else -total)


NUMBERS = [np.int8(-5), np.uint8(200), np.int16(-3000), np.uint16(60000), i32(-70000),
           u32(4000000000), i64(-(2**40)), u64(2**50), f32(0.5), f64(0.125),
           u64(12345)]  # fmt: skip

QUALIFIERS = [
    Case("constants.cu", "in_functions", 1, 32, [integers(32), zeros(32, dtype=i32)],
         in_functions),
    Case("constants.cu", "hashes", 1, 64, [zeros(64, dtype=u32)],
         lambda out: [mixed(x) ^ mixed(1) for x in range(64)]),
    Case("layout_of_bits.cu", "unions", 1, 64, [words(64), zeros(64, 2, dtype=u32)], unions),
    Case("layout_of_bits.cu", "bit_fields", 1, 64, [words(64), zeros(64, dtype=i32)], bit_fields),
    Case("layout_of_bits.cu", "aligned", 1, 32,
         [floats(32, 4, low=0, high=50), zeros(32, 2, dtype=i32)],
         lambda a, out: np.stack([a[:, :2].sum(axis=1) + a[:, 2], 1608 + 0 * a[:, 0]], axis=1)),
    Case("qualifiers.cu", "bounded", 2, 64, [floats(128), zeros(128)], lambda a, out: a + 1),
    Case("qualifiers.cu", "twice_bounded", 2, 64,
         [integers(128, 4), zeros(128, 4, dtype=i32)], twice_bounded),
    Case("qualifiers.cu", "volatile_flags", 1, 32,
         [zeros(32, dtype=i32), zeros(32, dtype=i32)], lambda flags, out: (T32 + 1, 2 * T32 + 2)),
    Case("qualifiers.cu", "grid_constant", 1, 32,
         [structure(SETTINGS, tuple(range(3, 11))), zeros(32, dtype=i32)],
         lambda s, out: 2 * (T32 % 8 + 3)),
    Case("qualifiers.cu", "many_parameters", 1, 4,
         [np.bool_(True), *NUMBERS, zeros(4, dtype=f64)], many_parameters),
]  # fmt: skip


# ---- control flow, indices, preprocessor, headers -----------------------------------------


def switches(a, out):
    results = [1, 110, 100, None, None, None, 7, 7]
    return [-v if results[v & 7] is None else results[v & 7] for v in a.tolist()]


def collatz(out, limit):
    def steps(n):
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
            if count >= limit:
                break
        return count

    return [steps(n + 1) for n in range(out.size)]


def breaks(a, out, n):
    result = []
    for t in range(out.size):
        rest = a[t:]
        stop = np.argmax(rest > 90) if (rest > 90).any() else rest.size
        result.append(rest[:stop][rest[:stop] >= 0].sum())
    return result


def early_return(a, out, n):
    i = np.arange(out.size)
    return np.where(a < 0, -1, a // (i + 1) + a % (i + 1))


def local_arrays(a, out):
    def code(value):
        text = str(abs(value)) if value else ""
        return sum(text.count(str(d)) % 4 * 4**d for d in range(10))

    return [code(v) for v in a.tolist()]


def in_three(out, size):
    z, y, x = np.mgrid[0:6, 0:7, 0:10]
    return x + 100 * y + 10000 * z


def linear_rank(out):
    thread = np.arange(48)
    return np.resize(thread % 32 + 100 * (thread // 32), out.size)


def unrolled(a, out):
    windows = np.lib.stride_tricks.sliding_window_view(a, 4)[: out.size]
    return 0.5 * windows.sum(axis=1)


def limits_of_types(a, out, n):
    pi = f32(np.pi) - f32(3)
    return np.minimum.accumulate(a).astype(f64) + 2147483647.0 + 255 + pi + np.abs(a) + 2 + 8


FLOW = [
    Case("control_flow.cu", "switches", 1, 64, [integers(64), zeros(64, dtype=i32)], switches),
    Case("control_flow.cu", "collatz", 2, 32, [zeros(64, dtype=i32), i32(60)], collatz),
    Case("control_flow.cu", "breaks", 1, 32,
         [integers(64), zeros(32, dtype=i32), i32(64)], breaks),
    Case("control_flow.cu", "early_return", 2, 64,
         [integers(100, low=-500, high=500), zeros(100, dtype=i32), i32(100)], early_return),
    Case("control_flow.cu", "local_arrays", 1, 64,
         [integers(64, low=-(10**8), high=10**8), zeros(64, dtype=i32)], local_arrays),
    Case("indexing.cu", "saxpy", 3, 64,
         [u64(1000), f32(2.5), floats(1000), updated(floats(1000))],
         lambda n, a, x, y: f64(a) * x + y, rtol=1e-6, atol=1e-6),
    Case("indexing.cu", "in_two", (2, 3), (16, 4), [zeros(11, 20, dtype=i32), i32(20), i32(11)],
         lambda out, *rest: np.arange(20) * 1000 + np.arange(11)[:, None]),
    Case("indexing.cu", "in_three", (3, 4, 2), (4, 2, 3),
         [zeros(6, 7, 10, dtype=i32), structure(SIZE, 10, 7, 6)], in_three),
    Case("indexing.cu", "linear_rank", (2, 2, 3), (4, 3, 4), [zeros(12 * 48, dtype=i32)],
         linear_rank),
    Case("indexing.cu", "strided_rows", 3, 32,
         [floats(10, 40, dtype=f64), zeros(10, 32, dtype=f64), i64(320), i64(10)],
         lambda a, out, pitch, rows: 2 * a[:, :32]),
    Case("preprocessor.cu", "squares", 2, 32, [floats(100), zeros(100), i32(100)],
         lambda a, out, n: a * a),
    Case("preprocessor.cu", "halves", 2, 32, [floats(100), zeros(100), i32(100)],
         lambda a, out, n: a / 2),
    Case("preprocessor.cu", "unrolled", 2, 32, [floats(67), zeros(64)], unrolled, rtol=1e-5,
         atol=1e-6),
    Case("preprocessor.cu", "architecture", 1, 32, [zeros(32, dtype=i32)], lambda out: out + 1),
    Case("headers.cu", "limits_of_types", 2, 32, [floats(50), zeros(50, dtype=f64), i32(50)],
         limits_of_types, rtol=1e-12),
    Case("headers.cu", "fixed_widths", 1, 32,
         [words(32, dtype=i64), zeros(32, dtype=np.uint8)],
         lambda a, out: (a >> 32 ^ a) & 255),
    Case("headers.cu", "copied_bytes", 1, 3,
         [fixed([1.5, np.inf, -2], f32), zeros(3, dtype=u32)],
         lambda a, out: a.view(u32) + np.array([0, 1, 0], u32)),
    Case("tutorial.cu", "vector_add", 4, 64, [floats(250), floats(250), zeros(250), i32(250)],
         lambda a, b, c, n: a + b),
    Case("tutorial.cu", "fill<float>", 4, 64, [zeros(250), f32(2.5), i32(250)],
         lambda out, value, n: out + value),
]  # fmt: skip

CASES = TEMPLATES + CLASSES + QUALIFIERS + FLOW
