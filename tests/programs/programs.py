"""Whole CUDA C++ programs, and how their kernels are called: what NumPy says they compute.

Each NAME.cu has a ``main`` of its own that checks itself on a GPU and prints OK. Here the same
kernels are loaded from the same files, unmodified, and launched one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from kernel_cases import Array, f32, f64, fixed, floats, i32, i64, integers, u32, u64, zeros
from pictures import PICTURES
from program import Launch, Program, padded, pixels, pointers

RANDOM = np.random.default_rng(3)


# ---- element by element -------------------------------------------------------------------


def matrix(name: str) -> Callable[[Any], bytes]:
    return pointers("<iiQQ", 50, 21, 256, name)


def added_rows(a):
    total = np.zeros((21, 64), f32)
    total[:, :50] = (a.a + a.b)[:, :50]
    return {"c": total, "flat": total}


TAYLOR = np.array([1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1])


def polynomials(a):
    cubic = 3 * a.k**3 - 2 * a.k + 1
    return {
        "y": np.polyval(TAYLOR, a.x),
        "cubic": cubic,
        "clamped": np.clip(cubic, -1000, 1000),
    }


ELEMENTWISE = [
    Program("vector_add", {"a": floats(1000), "b": floats(1000), "c": zeros(1000)},
            [Launch("vectorAdd", 4, 256, ["a", "b", "c", 1000])],
            lambda a: {"c": a.a + a.b}),
    Program("saxpy", {"x": floats(3000), "y": floats(3000)},
            [Launch("saxpy", 4, 256, [3000, 2.5, "x", "y"])],
            lambda a: {"y": f64(2.5) * a.x + a.y}, rtol=1e-6, atol=1e-6, daily=True),
    Program("matrix_add", {"a": floats(21, 64), "b": floats(21, 64), "c": zeros(21, 64),
                           "flat": zeros(21, 64)},
            [Launch("matrix_add", (2, 3), (32, 8), [matrix("a"), matrix("b"), matrix("c")]),
             Launch("matrix_add_flat", (1, 2), (32, 8), ["a", "b", "flat", 50, 21, 64])],
            added_rows),
    Program("polynomial", {"x": floats(100, dtype=f64), "y": zeros(100, dtype=f64),
                           "k": integers(300, low=-20, high=20), "cubic": zeros(300, dtype=i32),
                           "clamped": zeros(300, dtype=i32)},
            [Launch("exponential", 1, 128, ["x", "y", 100]),
             Launch("transform<math::Polynomial<int, 1, -2, 0, 3>, int, int>", 2, 64,
                    ["k", "cubic", 300, bytes(1)]),
             Launch("transform<Clamped, int, int>", 2, 64,
                    ["k", "clamped", 300, struct.pack("<4xii", -1000, 1000)])],
            polynomials, rtol=1e-12, daily=True),
]  # fmt: skip


# ---- matrices -----------------------------------------------------------------------------


def products(a):
    product = a.a.astype(f64) @ a.b
    return {"naive": product, "tiled16": product, "tiled32": product}


def csr(rows: int, columns: int) -> tuple[np.ndarray, ...]:
    """Return rows, columns and values of a sparse matrix, and the matrix."""
    dense = RANDOM.uniform(-1, 1, (rows, columns)) * (RANDOM.random((rows, columns)) < 0.15)
    dense[::10] = 0
    ends = np.cumsum(np.count_nonzero(dense, axis=1))
    return (
        np.append(0, ends).astype(i32),
        np.nonzero(dense)[1].astype(i32),
        dense[dense != 0],
        dense,
    )


POINTERS, COLUMNS, VALUES, DENSE = csr(90, 70)
SPARSE = ["ptr", "ind", "val", "x"]


def shortest(a):
    dist, via = a.dist.copy(), a.via.copy()
    for k in range(len(dist)):
        through = dist[:, k, None] + dist[k]
        via[through < dist] = k
        dist = np.minimum(dist, through)
    return {"dist": dist, "via": via}


FAR = (2**31 - 1) // 2
WEIGHTS = np.where(RANDOM.random((40, 40)) < 0.15, RANDOM.integers(1, 100, (40, 40)), FAR)
np.fill_diagonal(WEIGHTS, 0)

MATRICES = [
    Program("matmul", {"a": floats(40, 50), "b": floats(50, 35), "naive": zeros(40, 35),
                       "tiled16": zeros(40, 35), "tiled32": zeros(40, 35)},
            [Launch(kernel, grid, block, ["a", "b", out, 40, 35, 50])
             for kernel, grid, block, out in [
                 ("matmul_naive", (3, 3), (16, 16), "naive"),
                 ("matmul_tiled<16>", (3, 3), (16, 16), "tiled16"),
                 ("matmul_tiled<32>", (2, 2), (32, 32), "tiled32")]],
            products, rtol=1e-4, atol=1e-5),
    Program("transpose", {"a": floats(45, 70), "naive": zeros(70, 45), "tiled": zeros(70, 45)},
            [Launch("transposeNaive<float>", (3, 2), (32, 8), ["naive", "a", 70, 45]),
             Launch("transposeTiled<float>", (3, 2), (32, 8), ["tiled", "a", 70, 45])],
            lambda a: {"naive": a.a.T, "tiled": a.a.T}),
    Program("spmv", {"ptr": fixed(POINTERS), "ind": fixed(COLUMNS), "val": fixed(VALUES),
                     "x": floats(70, dtype=f64), "y": zeros(90, dtype=f64),
                     "z": zeros(90, dtype=f64)},
            [Launch("spmv_csr_scalar<double, int>", 2, 64, [90, *SPARSE, "y"]),
             Launch("spmv_csr_vector<double, int>", 23, 128, [90, *SPARSE, "z"])],
            lambda a: {"y": DENSE @ a.x, "z": DENSE @ a.x}, rtol=1e-12, atol=1e-12),
    Program("floyd_warshall", {"dist": fixed(WEIGHTS, i32),
                               "via": fixed(np.full((40, 40), -1), i32)},
            [Launch("relax", (2, 5), (32, 8), ["dist", "via", 40, k]) for k in range(40)],
            shortest),
]  # fmt: skip


# ---- reductions and prefix sums -----------------------------------------------------------


def whole(*shape: int, low: int = -2, high: int = 5) -> Array:
    """Whole numbers: floats whose sums do not depend on their order."""
    return Array(lambda random: random.integers(low, high, shape).astype(f32))


def reductions(a):
    plain = padded(a.a, 128).reshape(-1, 128).sum(axis=1)
    return {
        "r0": plain,
        "r1": plain,
        "r2": padded(a.a, 256).reshape(-1, 256).sum(axis=1),
        "r3": padded(a.a, 640).reshape(-1, 5, 128).sum(axis=(0, 2)),
    }


def prefix_sums(a):
    sums = a.a.cumsum()
    ends = padded(a.a, 128).reshape(-1, 128).sum(axis=1)
    return {"inclusive": sums[:128], "out": sums - a.a, "sums": ends.cumsum() - ends}


def compacted(a):
    counts = (padded(a.a, 256).reshape(-1, 256) > 0).sum(axis=1)
    kept = a.a[a.a > 0]
    return {
        "counts": counts.cumsum() - counts,
        "total": counts.sum(),
        "out": np.pad(kept, (0, a.a.size - kept.size)),
    }


def dots(a):
    x, y = a.x.astype(f64), a.y.astype(f64)
    products = (x * y).reshape(-1, 4, 128).sum(axis=(0, 2))
    return {"partial": products, "result": x @ y, "single": x @ y}


def softmaxes(a):
    x = a.x.astype(f64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return dict.fromkeys(("y", "z"), e / e.sum(axis=1, keepdims=True))


REDUCTIONS = [
    Program("reduction", {"a": integers(3000), "r0": zeros(24, dtype=i32),
                          "r1": zeros(24, dtype=i32), "r2": zeros(12, dtype=i32),
                          "r3": zeros(5, dtype=i32)},
            [Launch("reduce0<int>", 24, 128, ["a", "r0", 3000], 512),
             Launch("reduce1<int>", 24, 128, ["a", "r1", 3000], 512),
             Launch("reduce2<int>", 12, 128, ["a", "r2", 3000], 512),
             Launch("reduce3<int, 128>", 5, 128, ["a", "r3", 3000])], reductions),
    Program("scan", {"a": whole(1200), "inclusive": zeros(128), "out": zeros(1200),
                     "sums": zeros(10)},
            [Launch("scan_hillis_steele", 1, 128, ["inclusive", "a", 128], 1024),
             Launch("scan_blelloch", 10, 64, ["out", "a", "sums", 1200], 132 * 4),
             Launch("scan_blelloch", 1, 8, ["sums", "sums", None, 10], 16 * 4),
             Launch("add_block_sums", 10, 64, ["out", "sums", 1200])], prefix_sums),
    Program("compaction", {"a": integers(1000), "counts": zeros(4, dtype=i32),
                           "total": zeros(1, dtype=i32), "out": zeros(1000, dtype=i32)},
            [Launch("count_kernel<int, predicates::positive>", 4, 256,
                    ["a", 1000, "counts", bytes(1)]),
             Launch("scan_counts", 1, 64, ["counts", 4, "total"]),
             Launch("scatter_kernel<int, predicates::positive>", 4, 256,
                    ["a", 1000, "counts", "out", bytes(1)])], compacted),
    Program("dot_product", {"x": floats(2048), "y": floats(2048), "partial": zeros(4, dtype=f64),
                            "result": zeros(1, dtype=f64), "single": zeros(1)},
            [Launch("dot_cooperative", 4, 128, ["x", "y", "partial", "result", 2048], 32, True),
             Launch("dot_atomic", 4, 64, ["x", "y", "single", 1024])],
            dots, rtol=1e-4, atol=1e-4, daily=True),
    Program("softmax", {"x": floats(6, 230, low=-4, high=4, dtype=np.float16),
                        "y": zeros(6, 230, dtype=np.float16), "z": zeros(6, 230, dtype=np.float16)},
            [Launch("softmax_half2<4>", 2, (32, 4), ["x", "y", 6, 115]),
             Launch("softmax_block", 6, 128, ["x", "z", 230])], softmaxes, rtol=2e-3, atol=1e-6),
]  # fmt: skip


# ---- sorting, searching, counting ---------------------------------------------------------


def bitonic_launches(n: int) -> list[Launch]:
    blocks, launches = n // 512, [Launch("bitonicSortShared", n // 512, 256, ["keys", "values"])]
    size = 1024
    while size <= n:
        stride = size // 2
        while stride >= 512:
            args = ["keys", "values", size, stride]
            launches.append(Launch("bitonicMergeGlobal", blocks, 256, args))
            stride //= 2
        launches.append(Launch("bitonicMergeShared", blocks, 256, ["keys", "values", size]))
        size *= 2
    return launches


def rounds_of(a):
    a, rounds, changed = a.copy(), 0, True
    while changed:
        before = a.copy()
        for odd in (0, 1):
            pairs = a[odd : odd + (len(a) - odd) // 2 * 2].reshape(-1, 2)
            pairs.sort(axis=1)
        rounds, changed = rounds + 1, bool((a != before).any())
    return rounds


def histogram(a):
    counts = np.bincount(a.a, minlength=256)
    return {"plain": counts, "shared": counts}


TEXT = ("lorem ipsum Dolor or sit amet, or so; " * 30)[:1024]


def searched(a):
    found = [i for i in range(len(TEXT)) if TEXT.startswith("or ", i)]
    letters = [TEXT.lower().count(chr(97 + i)) for i in range(26)]
    positions = np.pad(found, (0, 100 - len(found)))
    return {"positions": positions, "matches": len(found), "letters": letters}


NEIGHBOURS = RANDOM.random((300, 300)) < 0.008
NEIGHBOURS |= NEIGHBOURS.T
EDGES = np.append(0, np.cumsum(NEIGHBOURS.sum(axis=1))).astype(i32)


def levels_of(source: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    levels, frontiers = np.full(300, -1), [np.array([source])]
    levels[source] = 0
    while frontiers[-1].size:
        reached = NEIGHBOURS[frontiers[-1]].any(axis=0) & (levels < 0)
        levels[reached] = len(frontiers)
        frontiers.append(np.flatnonzero(reached))
    return levels, frontiers


LEVELS, FRONTIERS = levels_of()


def search_launches() -> list[Launch]:
    graph = pointers("<i4xQQ", 300, "rows", "columns")
    return [
        Launch("bfs_level", -(-f.size // 64), 64,
               [graph, f"f{k}", f.size, "levels", k + 1, f"f{k + 1}", f"size{k + 1}"])
        for k, f in enumerate(FRONTIERS[:-1])
    ]  # fmt: skip


def queue(size: int, first: Sequence[int] = ()) -> Array:
    return Array(lambda _: np.pad(np.array(first, i32), (0, size - len(first))), output=True)


SEARCH = {
    "rows": fixed(EDGES), "columns": fixed(np.nonzero(NEIGHBOURS)[1], i32),
    "levels": fixed(np.where(np.arange(300) == 0, 0, -1), i32), "f0": queue(1, [0]),
    **{f"f{k}": queue(max(1, f.size)) for k, f in enumerate(FRONTIERS) if k},
    **{f"size{k}": zeros(1, dtype=i32) for k in range(1, len(FRONTIERS))},
}  # fmt: skip


def found_levels(a):
    sizes = {f"size{k}": f.size for k, f in enumerate(FRONTIERS) if k}
    queues = {f"f{k}": f for k, f in enumerate(FRONTIERS) if k and f.size}
    return {"levels": LEVELS, **sizes, **queues}


SEARCHING = [
    Program("bitonic_sort", {"keys": Array(lambda random: random.permutation(2048).astype(u32)),
                             "values": fixed(np.arange(2048), u32)}, bitonic_launches(2048),
            lambda a: {"keys": np.sort(a.keys), "values": np.argsort(a.keys)}),
    Program("odd_even_sort", {"a": integers(60), "b": integers(90), "rounds": zeros(1, dtype=i32)},
            [*(Launch("phase", 1, 32, ["a", 60, k % 2]) for k in range(60)),
             Launch("sort_block", 1, 32, ["b", 90, "rounds"], 360)],
            lambda a: {"a": np.sort(a.a), "b": np.sort(a.b), "rounds": rounds_of(a.b)}),
    Program("histogram", {"a": pixels(5000), "plain": zeros(256, dtype=u32),
                          "shared": zeros(256, dtype=u32)},
            [Launch("histo_kernel_global", 4, 128, ["a", 5000, "plain"]),
             Launch("histo_kernel_shared", 4, 128, ["a", 5000, "shared"])], histogram),
    Program("string_search", {"text": fixed(np.frombuffer(TEXT.encode(), np.int8)),
                              "positions": zeros(100, dtype=i32)},
            [Launch("find", 4, 256, ["text", 1024, "positions", 100]),
             Launch("count_letters", 2, 64, ["text", 256])], searched,
            {"pattern": np.frombuffer(b"or ".ljust(64, b"\0"), np.int8), "pattern_length": 3,
             "matches": 0, "letters": np.zeros(26, u32)}, unordered=("positions",), daily=True),
    Program("bfs", SEARCH, search_launches(), found_levels,
            unordered=tuple(f"f{k}" for k, f in enumerate(FRONTIERS) if k and f.size)),
]  # fmt: skip


# ---- simulations --------------------------------------------------------------------------


def random_words(seed: int, threads: int, count: int) -> np.ndarray:
    """Return what the program's generator gives: [number, thread]."""
    z = u64(seed) + np.arange(threads, dtype=u64) * u64(0x9E3779B97F4A7C15)
    z = (z ^ z >> u64(30)) * u64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> u64(27)) * u64(0x94D049BB133111EB)
    state, found = (z ^ z >> u64(31)) | u64(1), []
    for _ in range(count):
        state = state ^ state >> u64(12)
        state = state ^ state << u64(25)
        state = state ^ state >> u64(27)
        found.append(state * u64(0x2545F4914F6CDD1D) >> u64(32))
    return np.array(found)


def darts(a):
    coordinates = (random_words(42, 128, 40) >> u64(8)).reshape(20, 2, 128)
    hits = ((coordinates**2).sum(axis=1) < 2**48).sum()
    return {"total": hits, "sample": (random_words(42, 64, 4) >> u64(8)) / 2**24}


def moved(a):
    p, mass = a.position[:, :3].astype(f64), a.position[:, 3]
    d = p - p[:, None]
    force = mass[:, None] * d * ((d**2).sum(axis=-1, keepdims=True) + 1e-3) ** -1.5
    velocity = a.velocity + 0.01 * force.sum(axis=1)
    return {"velocity": velocity, "position": np.column_stack([p + 0.01 * velocity, mass])}


BODIES = pointers("<QQ", "position", "velocity")

CENTRE = np.dtype([("x", f32), ("y", f32), ("members", i32), ("unused", i32)])
SUM = np.dtype({"names": ["x", "y", "count"], "formats": [f64, f64, i32], "itemsize": 32})
CENTRES = np.zeros(8, CENTRE)
CENTRES["x"], CENTRES["y"] = RANDOM.integers(-50, 50, (2, 8)) + 0.25


def clusters(a):
    centres = np.column_stack([CENTRES["x"], CENTRES["y"]])
    labels = ((a.points[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    sums = np.zeros(8, SUM)
    for name, weights in (("x", a.points[:, 0]), ("y", a.points[:, 1]), ("count", None)):
        sums[name] = np.bincount(labels, weights, 8)
    return {"labels": labels, "sums": sums}


TRANSFER = np.dtype([("from", i32), ("to", i32), ("cents", i32)])
ACCOUNT = np.dtype([("lock", i32), ("transfers", u32), ("cents", i64)])
TRANSFERS = np.zeros(200, TRANSFER)
TRANSFERS["from"] = RANDOM.integers(0, 10, 200)
TRANSFERS["to"] = (TRANSFERS["from"] + RANDOM.integers(1, 10, 200)) % 10
TRANSFERS["cents"] = RANDOM.integers(0, 5000, 200)


def booked(a):
    cents = np.full(10, 100000)
    np.subtract.at(cents, TRANSFERS["from"], TRANSFERS["cents"])
    np.add.at(cents, TRANSFERS["to"], TRANSFERS["cents"])
    accounts = np.zeros(10, ACCOUNT)
    accounts["cents"] = cents
    accounts["transfers"] = np.bincount([*TRANSFERS["from"], *TRANSFERS["to"]], minlength=10)
    return {"plain": cents, "both": accounts, "each": accounts}


def opened_accounts() -> Array:
    accounts = np.zeros(10, ACCOUNT)
    accounts["cents"] = 100000
    return fixed(accounts)


def complex_numbers(*shape: int) -> Array:
    return Array(lambda random: random.standard_normal((*shape, 2), f32).view(np.complex64)[..., 0])


SIMULATIONS = [
    Program("monte_carlo_pi", {"total": zeros(1, dtype=u64), "sample": zeros(4, 64)},
            [Launch("estimate", 2, 64, ["total", 42, 20]),
             Launch("sample", 1, 64, ["sample", 42, 4])],
            darts),
    Program("nbody", {"position": floats(200, 4, low=0), "velocity": zeros(200, 3)},
            [Launch("accelerate", 2, 128, [BODIES, 200, 0.01]),
             Launch("move", 2, 128, [BODIES, 200, 0.01])], moved, rtol=1e-4, atol=1e-4),
    Program("kmeans", {"points": whole(500, 2, low=-60, high=60),
                       "labels": zeros(500, dtype=np.uint8), "sums": fixed(np.zeros(8, SUM))},
            [Launch("assign", 2, 128, ["points", "labels", 500]),
             Launch("accumulate", 2, 128, ["points", "labels", "sums", 500])],
            clusters, {"centres": CENTRES}, daily=True),
    Program("fft", {"data": complex_numbers(3, 256), "spectrum": zeros(3, 256)},
            [Launch("fft_rows", 3, 128, ["data", -1]),
             Launch("power", 3, 256, ["data", "spectrum", 768]),
             Launch("fft_rows", 3, 128, ["data", 1])],
            lambda a: {"data": a.data, "spectrum": abs(np.fft.fft(a.data.astype(complex)))},
            rtol=1e-3, atol=1e-4),
    Program("bank_accounts", {"plain": fixed(np.full(10, 100000), u64),
                              "transfers": fixed(TRANSFERS),
                              "both": opened_accounts(), "each": opened_accounts()},
            [Launch("transfer_atomically", 2, 128, ["plain", "transfers", 200]),
             Launch("transfer_locked", 2, 32, ["both", "transfers", 200, True]),
             Launch("transfer_locked", 2, 32, ["each", "transfers", 200, False])], booked),
]  # fmt: skip

PROGRAMS = [*ELEMENTWISE, *MATRICES, *REDUCTIONS, *PICTURES, *SEARCHING, *SIMULATIONS]
