"""Kernels as other people write them: the usual algorithms in the usual styles."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from kernel_cases import (
    Case,
    f32,
    f64,
    fixed,
    floats,
    i32,
    integers,
    u32,
    u64,
    updated,
    words,
    zeros,
)

FOLDER = Path(__file__).resolve().parent
RANDOM = np.random.default_rng(2)


def partial_sums(a, out, n):
    return np.pad(a.astype(f64), (0, out.size * 512 - a.size)).reshape(-1, 512).sum(axis=1)


def strided_sums(a, blocks):
    step = blocks * 256
    rows = np.pad(a.astype(f64), (0, -a.size % step)).reshape(-1, blocks, 256)
    return rows.sum(axis=(0, 2))


def last_block(a, partial, out, n4):
    quads = a.reshape(-1, 4).sum(axis=1, dtype=f64)
    return strided_sums(quads, partial.size), a.sum(dtype=f64)


def cooperative(a, partial, out, n):
    return strided_sums(a, partial.size), a.sum(dtype=f64)


REDUCTIONS = [
    Case("reductions.cu", "reduceShared", 20, 256, [floats(10000), zeros(20), u32(10000)],
         partial_sums, shared=1024, rtol=1e-4, atol=1e-5),
    Case("reductions.cu", "reduceShuffle", 12, 256, [floats(30000), zeros(12), i32(30000)],
         lambda a, out, n: strided_sums(a, 12), rtol=1e-4, atol=1e-4),
    Case("reductions.cu", "reduceLastBlock", 16, 256,
         [floats(40000), zeros(16), zeros(1), i32(10000)], last_block, rtol=1e-4, atol=1e-4),
    Case("reductions.cu", "reduceCooperative", 8, 256,
         [floats(20000), zeros(8), zeros(1), i32(20000)], cooperative, cooperative=True,
         rtol=1e-4, atol=1e-4),
    Case("histograms.cu", "histogram_gmem_atomics", 8, 256,
         [integers(20000, low=0, high=256, dtype=np.uint8), zeros(256, dtype=u32), i32(20000)],
         lambda a, out, n: np.bincount(a, minlength=256)),
    Case("histograms.cu", "histogram_smem_atomics<256, 4>", 8, 128,
         [integers(20000, low=0, high=256, dtype=np.uint8), zeros(256, dtype=u32), i32(5000)],
         lambda a, out, n: np.bincount(a, minlength=256)),
]  # fmt: skip


# ---- stencils, scans, rows ----------------------------------------------------------------


def laplace2d(u, v, nx, ny):
    v[1:-1, 1:-1] = (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]) / 4
    return v


def heat3d(u, v, nx, ny, nz, r):
    here, inside = u[1:-1, 1:-1, 1:-1], slice(1, -1)
    around = sum(
        np.roll(u, step, axis)[inside, inside, inside] for axis in range(3) for step in (1, -1)
    )
    v[1:-1, 1:-1, 1:-1] = here + r * (around - 6 * here)
    return v


def blur(a, out, width, height):
    padded = np.pad(a.astype(f64), 2, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (5, 5)).mean(axis=(2, 3))


def look_back(a, out, status, ticket):
    sums = a.cumsum()
    ends = sums[255::256].astype(u64)
    return sums, (u64(2) << u64(32)) | ends, ends.size


def softmax(x):
    e = np.exp(x.astype(f64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(out, mean, rstd, x, weight, bias, width):
    x = x.astype(f64)
    m, s = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 1e-5)
    return (x - m[:, None]) * s[:, None] * weight + bias, m, s


GRIDS = [
    Case("stencils.cu", "laplace2d", (7, 9), (32, 8),
         [floats(70, 200), zeros(70, 200), i32(200), i32(70)], laplace2d, rtol=1e-5, atol=1e-6),
    Case("stencils.cu", "heat3d", (3, 5), (32, 8),
         [floats(12, 40, 70, dtype=f64), zeros(12, 40, 70, dtype=f64), i32(70), i32(40), i32(12),
          f64(0.1)], heat3d, rtol=1e-12, atol=1e-12),
    Case("stencils.cu", "blurTiled", (4, 7), (32, 8),
         [floats(50, 100), zeros(50, 100), i32(100), i32(50)], blur, rtol=1e-5, atol=1e-6),
    Case("scans.cu", "scanHillisSteele", 6, 256,
         [integers(6, 256), zeros(6, 256, dtype=i32), i32(256)],
         lambda a, out, n: a.cumsum(axis=1), shared=2048),
    Case("scans.cu", "prescan", 6, 256, [zeros(6, 512), floats(6, 512), i32(512)],
         lambda out, a, n: a.cumsum(axis=1, dtype=f64) - a, shared=4 * (512 + 16), rtol=1e-4,
         atol=1e-4),
    Case("scans.cu", "scanLookBack", 12, 256,
         [integers(3072, low=0, dtype=u32), zeros(3072, dtype=u32), zeros(12, dtype=u64),
          zeros(1, dtype=u32)], look_back),
    Case("normalise.cu", "softmax_forward", 20, 128,
         [zeros(20, 300), floats(20, 300, low=-4, high=4), i32(20), i32(300)],
         lambda out, x, n, c: softmax(x), shared=512, rtol=1e-5, atol=1e-7),
    Case("normalise.cu", "softmax_online", 6, (32, 4),
         [floats(22, 300, low=-4, high=4), zeros(22, 300), i32(22), i32(300)],
         lambda x, out, n, c: softmax(x), rtol=1e-5, atol=1e-7),
    Case("normalise.cu", "layernorm", 20, 128,
         [zeros(20, 300), zeros(20), zeros(20), floats(20, 300), floats(300), floats(300),
          i32(300)], layernorm, rtol=1e-4, atol=1e-5),
]  # fmt: skip


# ---- products -----------------------------------------------------------------------------


def product(a, b):
    return a.astype(f64) @ b.astype(f64)


def csr(rows, cols, dtype):
    """A sparse matrix with rows of very different lengths: pointers, columns, values."""
    random = np.random.default_rng(rows)
    lengths = np.minimum(random.geometric(0.08, rows) - 1, cols)
    pointers = np.append(0, lengths.cumsum())
    columns = np.concatenate([np.sort(random.choice(cols, n, replace=False)) for n in lengths])
    values = random.uniform(-1, 1, columns.size)
    return fixed(pointers, i32), fixed(columns, i32), fixed(values, dtype)


def spmv(pointers, columns, values, x):
    terms = values.astype(f64) * x[columns]
    return [terms[a:b].sum() for a, b in itertools.pairwise(pointers)]


def forces(x, a, n):
    x = x.astype(f64)
    r = x[None, :, :3] - x[:, None, :3]
    s = x[:, 3] * ((r**2).sum(axis=2) + 0.01) ** -1.5
    return np.pad((r * s[:, :, None]).sum(axis=1), ((0, 0), (0, 1)))


PRODUCTS = [
    Case("products.cu", "sgemm_naive", (3, 4), (32, 16),
         [i32(60), i32(90), i32(70), f32(1.5), floats(60, 70), floats(70, 90), f32(0.5),
          updated(floats(60, 90))],
         lambda m, n, k, alpha, a, b, beta, c: alpha * product(a, b) + beta * c, rtol=1e-4,
         atol=1e-5),
    Case("products.cu", "MatrixMulCUDA<16>", (5, 4), (16, 16),
         [zeros(64, 80), floats(64, 96), floats(96, 80), i32(96), i32(80)],
         lambda c, a, b, *sizes: product(a, b), rtol=1e-4, atol=1e-5),
    Case("products.cu", "sgemm_register_tile", (3, 2), 256,
         [floats(128, 64), floats(64, 192), zeros(128, 192), i32(128), i32(192), i32(64)],
         lambda a, b, c, *sizes: product(a, b), rtol=1e-4, atol=1e-5),
    Case("products.cu", "hgemm_tiled", (5, 5), (16, 16),
         [floats(80, 80, dtype=np.float16), floats(80, 80, dtype=np.float16),
          zeros(80, 80, dtype=np.float16), i32(80)],
         lambda a, b, c, n: product(a, b), rtol=2e-3, atol=2e-3),
    Case("sparse.cu", "spmv_csr_scalar_kernel<int, float>", 8, 128,
         [i32(1000), *csr(1000, 400, f32), floats(400), zeros(1000)],
         lambda n, p, c, v, x, y: spmv(p, c, v, x), rtol=1e-4, atol=1e-5),
    Case("sparse.cu", "spmv_csr_vector_kernel", 75, 128,
         [i32(300), *csr(300, 400, f64), floats(400, dtype=f64), zeros(300, dtype=f64)],
         lambda n, p, c, v, x, y: spmv(p, c, v, x), rtol=1e-11, atol=1e-11),
    Case("nbody.cu", "calculate_forces", 3, 128, [floats(384, 4), zeros(384, 4), i32(384)],
         forces, shared=2048, rtol=2e-4, atol=2e-3),
    Case("transposes.cu", "transposeNaive", (5, 3), (32, 8), [zeros(160, 96), floats(96, 160)],
         lambda out, a: a.T),
    Case("transposes.cu", "transposeTile", (5, 3), (32, 8), [zeros(160, 96), floats(96, 160)],
         lambda out, a: a.T),
]  # fmt: skip


# ---- graphs, sorting, pictures, data ------------------------------------------------------

UNSEEN = 0xFFFFFFFF
EDGES = [np.unique(RANDOM.integers(0, 3000, n)) for n in RANDOM.poisson(6, 3000)]
POINTERS = np.append(0, np.cumsum([edges.size for edges in EDGES]))
FRONTIER = np.sort(RANDOM.choice(3000, 500, replace=False))
LEVELS = np.where(np.isin(np.arange(3000), FRONTIER), 1, UNSEEN)


def bfs(level, pointers, neighbours, levels, previous, current, count, found):
    near = np.unique(np.concatenate([EDGES[v] for v in previous]))
    new = near[levels[near] == UNSEEN]
    levels[new] = level
    current[: new.size] = new
    return levels, current, new.size


def bitonic(keys, values, from_keys, from_values, n, direction):
    order = from_keys.reshape(-1, 512).argsort(axis=1)
    rows = (a.reshape(-1, 512) for a in (from_keys, from_values))
    return tuple(np.take_along_axis(a, order, axis=1) for a in rows)


def radix(keys, out, counts, shift):
    rows = keys.reshape(-1, 256)
    digits = (rows >> shift) & 15
    order = digits.argsort(axis=1, kind="stable")
    counted = [np.bincount(row, minlength=16) for row in digits]
    return np.take_along_axis(rows, order, axis=1), np.array(counted)


WEIGHTS = np.array([1, 2, 3, 5, 6, 8, 9, 10, 12, 10, 9, 8, 6, 5, 3, 2, 1]) / 100


def filtered(out, a, width, pitch):
    padded = np.pad(a.astype(f64), ((0, 0), (8, 8)))
    return np.lib.stride_tricks.sliding_window_view(padded, 17, axis=1) @ WEIGHTS


def mandelbrot(out, w, h, x0, y0, dx, limit):
    rows, columns = np.mgrid[0:h, 0:w]
    c = (x0 + columns * dx) + 1j * (y0 + rows * dx)
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(limit):
        inside = z.real**2 + z.imag**2 <= 4
        z, n = np.where(inside, z * z + c, z), n + inside
    return n


def life(now, later, w, h):
    near = [np.roll(now, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y]
    alive = sum(near)
    return (alive == 3) | ((alive == 2) & (now == 1))


def assigned(points, centroids, labels, sums, counts, n, k):
    distance = ((points[:, None].astype(f64) - centroids) ** 2).sum(axis=2)
    nearest = distance.argmin(axis=1)
    total = [points[nearest == c].sum(axis=0, dtype=f64) for c in range(k)]
    return nearest, np.array(total), np.bincount(nearest, minlength=k)


def find_all(text, length, found, positions):
    windows = np.lib.stride_tricks.sliding_window_view(text, 4)
    at = np.flatnonzero((windows == np.frombuffer(b"ACGA", np.int8)).all(axis=1))
    return at.size, np.pad(at, (0, positions.size - at.size))


def compact(a, out, total, n):
    kept = a[a & 3 == 0]
    return np.pad(kept, (0, out.size - kept.size)), kept.size


def pi_hits(hits, samples):
    with np.errstate(over="ignore"):
        state = np.arange(1, 1025, dtype=u32) * u32(747796405) + u32(2891336453)

    def draw():
        nonlocal state
        for shift in (13, -17, 5):
            state = state ^ (state << u32(shift) if shift > 0 else state >> u32(-shift))
        return (state >> u32(8)).astype(f32) * f32(2**-24)

    inside = 0
    for _ in range(samples):
        x, y = draw(), draw()
        square = x.astype(f64) ** 2 + (y * y)
        inside += np.count_nonzero(square.astype(f32) <= 1)
    return inside


DATA = [
    Case("graphs.cu", "bfs_kernel", 4, 128,
         [u32(2), fixed(POINTERS, u32), fixed(np.concatenate(EDGES), u32),
          updated(fixed(LEVELS, u32)), fixed(FRONTIER, u32), zeros(3000, dtype=u32), u32(500),
          zeros(1, dtype=u32)], bfs, any_order=(1,)),
    Case("sorting.cu", "bitonicSortShared", 4, 256,
         [zeros(2048, dtype=u32), zeros(2048, dtype=u32), fixed(RANDOM.permutation(2048), u32),
          fixed(np.arange(2048), u32), u32(512), u32(1)], bitonic),
    Case("sorting.cu", "radix_pass<256>", 6, 256,
         [words(1536), zeros(1536, dtype=u32), zeros(96, dtype=u32), i32(4)], radix),
    Case("pictures.cu", "convolutionRowsKernel", (3, 12), (16, 4),
         [zeros(48, 192), floats(48, 192), i32(192), i32(192)], filtered, rtol=1e-5, atol=1e-6),
    Case("pictures.cu", "mandelbrot", (6, 6), (16, 8),
         [zeros(44, 90, dtype=i32), i32(90), i32(44), f64(-2.2), f64(-1.1), f64(0.0375), i32(50)],
         mandelbrot, mismatches=0.01),
    Case("pictures.cu", "life", 8, 128,
         [integers(50, 70, low=0, high=2, dtype=np.uint8), zeros(50, 70, dtype=np.uint8),
          u32(70), u32(50)], life),
    Case("analysis.cu", "kmeans_assign", 16, 128,
         [floats(2000, 4), floats(10, 4), zeros(2000, dtype=i32), zeros(10, 4),
          zeros(10, dtype=i32), i32(2000), i32(10)], assigned, rtol=1e-4, atol=1e-4),
    Case("analysis.cu", "find_all", 20, 256,
         [fixed(RANDOM.choice(np.frombuffer(b"ACGT", np.int8), 5000)), i32(5000),
          zeros(1, dtype=i32), zeros(200, dtype=i32)], find_all, any_order=(1,)),
    Case("analysis.cu", "compact", 20, 256,
         [integers(5000, low=1), zeros(5000, dtype=i32), zeros(1, dtype=i32), i32(5000)],
         compact, any_order=(0,)),
    Case("analysis.cu", "monte_carlo_pi", 4, 256, [zeros(1, dtype=u64), i32(40)], pi_hits),
]  # fmt: skip

CASES = REDUCTIONS + GRIDS + PRODUCTS + DATA

# What the simulator does not do yet: "file:kernel", or "file:kernel plain" or "... traced".
MISSING: dict[str, str] = {}
