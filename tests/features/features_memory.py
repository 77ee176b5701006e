"""Features of the memory spaces, of atomic operations, and of asynchronous copies."""

from __future__ import annotations

import numpy as np
from kernel_cases import (
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


def smooth(a, out, n):
    padded = np.pad(a, 1)
    return padded[:-2] + padded[1:-1] + padded[2:]


def split(values, keys, sums):
    for block in range(0, values.size, 32):
        part, key = values[block : block + 32], keys[block : block + 32]
        sums[block : block + 32] = [part[key == k].sum() for k in key]
    return sums


def centre(x, mass, out):
    return x - (x * mass).sum() / mass.sum()


def look_up(out):
    t = np.arange(32)
    table = np.array([[1, 2, 3], [40, 50, 60]])
    letters = np.frombuffer(b"GATTACA", np.uint8).astype(int)
    return table[t & 1, t % 3] + 3 * t + 7 + letters[t % 7]


def permute_axes(a, out):
    return a.reshape(-1, 4, 8, 2).transpose(0, 3, 2, 1)


SPACES = [
    Case("shared_dynamic.cu", "smooth", 4, 64, [floats(200), zeros(200), i32(200)], smooth,
         shared=4 * 66, rtol=1e-6, atol=1e-6),
    Case("shared_dynamic.cu", "reverse", 3, 64, [updated(integers(192))],
         lambda a: a.reshape(3, 64)[:, ::-1], shared=256),
    Case("shared_dynamic.cu", "split", 2, 32,
         [floats(64, dtype=f64), integers(64, low=0, high=5), zeros(64, dtype=f64)], split,
         shared=32 * 12, rtol=1e-12, atol=1e-12),
    Case("shared_static.cu", "rotate", 2, 128, [integers(256), zeros(256, dtype=i32)],
         lambda a, out: np.roll(a.reshape(2, 128), -37, axis=1)),
    Case("shared_static.cu", "transpose", (3, 2), (16, 16),
         [floats(30, 41), zeros(41, 30), i32(30), i32(41)], lambda a, *rest: a.T),
    Case("shared_static.cu", "permute_axes", 3, (2, 8, 4),
         [integers(192, dtype=np.int16), zeros(192, dtype=np.int16)], permute_axes),
    Case("shared_static.cu", "centre", 1, 64,
         [floats(64), floats(64, low=1, high=2, dtype=f64), zeros(64, dtype=f64)], centre,
         rtol=1e-12, atol=1e-12),
    Case("constant_memory.cu", "polynomial", 2, 64, [floats(100), zeros(100), i32(100)],
         lambda x, y, n: ((2 * x + 0.25) * x - 0.5) * x + 1, rtol=1e-5, atol=1e-6),
    Case("constant_memory.cu", "look_up", 1, 32, [zeros(32, dtype=i32)], look_up),
    Case("device_variables.cu", "from_table", 2, 32, [zeros(64, dtype=i32)],
         lambda out: np.resize([2, 3, 5, 7, 11, 13, 17, 19], 64) + 100),
    Case("device_variables.cu", "tickets", 1, 96, [zeros(96, dtype=u32), zeros(96, dtype=u32)],
         lambda out, order: (out + 1, order + 1)),
    Case("device_variables.cu", "through_scratch", 1, 256, [floats(256), zeros(256)],
         lambda a, out: 2 * a[::-1]),
    Case("device_variables.cu", "apply_matrix", 1, 32,
         [floats(64, dtype=f64), zeros(64, dtype=f64)],
         lambda a, out: a.reshape(-1, 2) @ np.array([[1.0, 3], [2, 4]]), rtol=1e-12, atol=1e-12),
]  # fmt: skip


# ---- atomic operations --------------------------------------------------------------------


def per_cell(combine):
    """Combine the inputs of each cell with what it holds: input i goes to cell i % 5."""

    def expected(a, cell):
        for k in range(5):
            cell[k] = combine(np.append(a[k::5], cell[k]))
        return cell

    return expected


def wrapping(cell, n, step):
    for k in range(5):
        for _ in range(len(range(k, n, 5))):
            cell[k] = step(int(cell[k]))
    return cell


def up(value):
    return 0 if value >= 12 else value + 1


def down(value):
    return 6 if value == 0 or value > 6 else value - 1


def atomic(kernel, dtype, combine, rtol=0.0):
    make = floats if np.dtype(dtype).kind == "f" else words
    return Case("atomics_global.cu", kernel, 4, 96,
                [make(384, dtype=dtype), updated(make(5, dtype=dtype))], per_cell(combine),
                rtol=rtol, atol=rtol)  # fmt: skip


def subtracted(a):
    return a[-1] - a[:-1].sum(dtype=a.dtype)


def scopes(a, sums, total, bits, most):
    parts = a.reshape(3, 64)
    least = np.minimum(parts.min(axis=1), 0)
    ored = np.bitwise_or.reduce(np.uint32(1) << (a & 31).astype(np.uint32))
    return np.concatenate([parts.sum(axis=1), least]), a.sum(), ored, max(a.max(), 0)


def many_kinds(a, values, out):
    bits = np.bitwise_or.reduce(1 << (a & 15))
    return np.array([a.min(), a.max(), bits, -2 * a.size, (a + 1000).sum(), values.sum(),
                     0.5 * a.size])  # fmt: skip


def three_cells(a, cell):
    return np.stack([a[k::3].astype(f64).sum(axis=0) for k in range(3)])


def bfloat16_bits(a):
    """Round float32 to bfloat16, to nearest even; return its bits."""
    bits = np.asarray(a, f32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def small_integers(*shape, dtype=f32):
    """Whole numbers whose sums are exact in half precision too, in any order."""
    return fixed(np.random.default_rng(9).integers(-4, 5, shape), dtype)


GLOBAL_ATOMICS = [
    atomic("add_int", i32, lambda a: a.sum(dtype=i32)),
    atomic("add_unsigned", u32, lambda a: a.sum(dtype=u32)),
    atomic("add_long", u64, lambda a: a.sum(dtype=u64)),
    atomic("add_float", f32, np.sum, rtol=1e-4),
    atomic("add_double", f64, np.sum, rtol=1e-12),
    atomic("sub_int", i32, subtracted),
    atomic("sub_unsigned", u32, subtracted),
    *(atomic(f"min_{name}", t, np.min) for name, t in
      (("int", i32), ("unsigned", u32), ("long", i64))),
    *(atomic(f"max_{name}", t, np.max) for name, t in
      (("int", i32), ("unsigned_long", u64))),
    atomic("and_int", i32, np.bitwise_and.reduce),
    atomic("or_unsigned", u32, np.bitwise_or.reduce),
    atomic("xor_long", u64, np.bitwise_xor.reduce),
    Case("atomics_global.cu", "inc_unsigned", 4, 96,
         [words(384), updated(fixed([0, 5, 12, 13, 99], u32))],
         lambda a, cell: wrapping(cell, 384, up)),
    Case("atomics_global.cu", "dec_unsigned", 4, 96,
         [words(384), updated(fixed([0, 3, 6, 7, 99], u32))],
         lambda a, cell: wrapping(cell, 384, down)),
    Case("atomics_global.cu", "exchanged", 2, 64,
         [floats(128), updated(fixed([100], i32)), zeros(1, dtype=i32), updated(floats(128))],
         lambda a, cell, total, own: ([7], [100 + 7 * 127], a + own)),
    Case("atomics_global.cu", "returned", 4, 64,
         [updated(fixed([3], u32)), zeros(259, dtype=i32)],
         lambda ticket, seen: ([259], np.arange(259) >= 3)),
    Case("atomics_global.cu", "by_cas", 4, 64, [floats(256), updated(fixed([-2.0], f32))],
         lambda a, most: a.max()),
    Case("atomics_global.cu", "cas_of_widths", 3, 40,
         [updated(fixed([0], u64)), updated(fixed([0, 77], np.uint16))],
         lambda wide, narrow: ([360], [120, 77])),
]  # fmt: skip

ATOMICS = [
    *GLOBAL_ATOMICS,
    Case("atomics_shared.cu", "histogram", 4, 128,
         [integers(3000, low=0, high=256, dtype=np.uint8), zeros(256, dtype=u32), i32(3000)],
         lambda a, out, n: np.bincount(a, minlength=256)),
    Case("atomics_shared.cu", "many_kinds", 1, 96,
         [integers(96), floats(96, dtype=f64), zeros(7, dtype=f64)], many_kinds, rtol=1e-12),
    Case("atomics_shared.cu", "lock", 1, 64, [zeros(1, dtype=i32)], lambda out: 63 * 32),
    Case("atomics_scopes.cu", "scopes", 3, 64,
         [integers(192), zeros(6, dtype=i32), zeros(1, dtype=i32), zeros(1, dtype=u32),
          zeros(1, dtype=i64)], scopes),
    Case("atomics_scopes.cu", "shared_scopes", 1, 64, [words(64), zeros(3, dtype=u32)],
         lambda a, out: np.array([a.sum(dtype=u32), np.bitwise_xor.reduce(a), 1])),
    Case("atomics_half.cu", "add_half", 1, 60,
         [small_integers(60, dtype=np.float16), zeros(3, dtype=np.float16)], three_cells),
    Case("atomics_half.cu", "add_half2", 1, 60,
         [small_integers(60, 2, dtype=np.float16), zeros(3, 2, dtype=np.float16)], three_cells),
    Case("atomics_half.cu", "add_bfloat16", 1, 60,
         [small_integers(60), zeros(3, dtype=np.uint16)],
         lambda a, cell: bfloat16_bits(three_cells(a, cell))),
    Case("atomics_half.cu", "add_float4", 1, 60, [floats(60, 4), zeros(3, 4)], three_cells,
         rtol=1e-5, atol=1e-5),
    Case("fences.cu", "last_block_adds", 8, 64, [floats(512), zeros(8), zeros(1)],
         lambda a, partial, out: (a.reshape(8, 64).sum(axis=1), a.sum()), rtol=1e-5, atol=1e-5),
    Case("fences.cu", "grid_barrier", 6, 64,
         [zeros(384, dtype=i32), zeros(1, dtype=u32), zeros(384, dtype=i32)],
         lambda data, n, out: (3 * np.arange(384), 6, 3 * np.arange(384)[::-1])),
    Case("fences.cu", "hand_over", 1, 64, [integers(32), zeros(32, dtype=i32)],
         lambda a, out: a[::-1] + 1),
    Case("atomic_ref.cu", "counts", 4, 64,
         [zeros(1, dtype=i32), zeros(1, dtype=u32), words(256)],
         lambda count, most, a: (2 * 256, a.max())),
    Case("atomic_ref.cu", "released", 2, 32,
         [zeros(1, dtype=i32), zeros(1, dtype=i32), zeros(32, dtype=i32)],
         lambda data, flag, out: (17, 1, 17 + np.arange(32))),
    Case("atomic_ref.cu", "compared", 1, 20, [updated(fixed([1], u32))],
         lambda cell: (3 ** 20 + (3 ** 20 - 1) // 2) & 0xFFFFFFFF),
    Case("atomic_ref.cu", "in_shared_memory", 1, 64, [integers(64), zeros(64, dtype=i32)],
         lambda a, out: a.sum() - a),
]  # fmt: skip


# ---- asynchronous copies, textures --------------------------------------------------------


def own_element(a, out):
    return a[:32] + a[32:, ::-1]


COPIES = [
    Case("cuda_barrier.cu", "phases", 1, 64, [integers(64), zeros(64, dtype=i32)],
         lambda a, out: 2 * np.roll(a, 1)[::-1]),
    Case("cuda_barrier.cu", "copies", 1, 32, [integers(128), zeros(128, dtype=i32)],
         lambda a, out: a[::-1]),
    Case("cuda_pipeline.cu", "two_stages", 1, 64, [floats(5, 64), zeros(5, 64), i32(5)],
         lambda a, out, n: 2 * a[:, ::-1]),
    Case("cuda_pipeline.cu", "own_element", 1, 32, [floats(64, 4), zeros(32, 4)], own_element),
    Case("pipeline_primitives.cu", "staged", 1, 32,
         [integers(4, 32, 4), zeros(4, 32, 4, dtype=i32), i32(4)],
         lambda a, out, n: a[:, ::-1, ::-1]),
    Case("pipeline_primitives.cu", "partly_zero", 1, 32, [floats(32), zeros(32)],
         lambda a, out: np.where(np.arange(32) < 20, a, 0)),
]  # fmt: skip

CASES = SPACES + ATOMICS + COPIES
