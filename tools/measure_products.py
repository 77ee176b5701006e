"""Measure matmul beside PyTorch on products chosen afresh: small, thin, deep, and stacks.

    python tools/measure_products.py [--seed N] [--count 140] [--only CLASS] [--variants]
                                     [--json FILE]

Needs a GPU and PyTorch, which multiplies in FP32 (no TF32) here. Both work on the same memory and
take turns at random; a time is that of one call between two events, behind a kernel that keeps the
GPU busy meanwhile, and after the L2 has been overwritten. A figure is PyTorch's median over
gpumem's: above 1.00 gpumem is faster. --variants also measures every kernel that takes the shapes,
so that one run shows where the model of "auto" picks another than the fastest.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from single_calls import measure

import gpumem as gm
from gpumem.base import files

ROUNDS = 7
MOST = 2**33  # bytes of all arrays

# Layers of networks as in DeepBench: m, n, k.
LAYERS = (
    (1760, 16, 1760), (1760, 32, 1760), (1760, 64, 1760), (1760, 128, 1760), (1760, 7000, 1760),
    (2048, 16, 2048), (2048, 32, 2048), (2048, 128, 2048), (2048, 7000, 2048),
    (2560, 16, 2560), (2560, 64, 2560), (2560, 7000, 2560), (4096, 16, 4096), (4096, 32, 4096),
    (4096, 128, 4096), (4096, 7000, 4096), (5124, 700, 2048), (35, 700, 2048), (5124, 1500, 2560),
    (35, 1500, 2560), (7680, 4, 2560), (7680, 2, 2560), (7680, 1, 2560), (3072, 4, 1024),
    (3072, 2, 1024), (512, 24000, 2816), (512, 16, 512), (1024, 700, 512), (7680, 48000, 2560),
    (35, 8457, 2560), (35, 8457, 1760), (128, 128, 16384), (100, 100, 1_000_000),
)  # fmt: skip


class Product(NamedTuple):
    kind: str
    stack: int
    m: int
    n: int
    k: int
    trans_a: bool = False
    trans_b: bool = False

    @property
    def bytes(self) -> int:
        return 4 * self.stack * (self.m * self.k + self.k * self.n + self.m * self.n)

    @property
    def name(self) -> str:
        sides = f"{self.m}{'t' if self.trans_a else ''}x{self.n}{'t' if self.trans_b else ''}"
        return (f"{self.stack}*" if self.stack > 1 else "") + f"{sides}x{self.k}"


def draw(rng: np.random.Generator, kind: str) -> Product:
    """Draw a product of a class."""

    def between(low: float, high: float) -> int:
        value = 2 ** rng.uniform(math.log2(low), math.log2(high))
        unit = int(rng.choice([1, 4, 16, 32])) if value >= 64 else 1
        return max(1, round(value / unit) * unit)

    flags = [bool(x) for x in rng.random(2) < 0.3]
    match kind:
        case "square":
            side = between(64, 16384)
            return Product(kind, 1, side, side, side, *flags)
        case "thin":
            sides = [between(512, 32768), between(2, 32)]
            return Product(kind, 1, *rng.permutation(sides).tolist(), between(256, 16384), *flags)
        case "deep":
            return Product(
                kind, 1, between(16, 256), between(16, 256), between(4096, 2**20), *flags
            )
        case "gemv":
            sides = [between(256, 32768), 1]
            return Product(kind, 1, *rng.permutation(sides).tolist(), between(256, 32768), *flags)
        case "layer":
            return Product(kind, 1, *LAYERS[rng.integers(len(LAYERS))], *flags)
    side = between(16, 1024)
    sides = [side] * 3 if rng.random() < 0.6 else [between(16, 1024) for _ in range(3)]
    return Product(kind, between(2, 4096), *sides, *flags)


def products(rng: np.random.Generator, count: int, only: str | None) -> Iterator[Product]:
    """Return products of all classes in turn; layers are taken once each, in any order."""
    kinds = ("square", "thin", "deep", "gemv", "layer", "stack", "stack")
    layers = [LAYERS[i] for i in rng.permutation(len(LAYERS))]
    found = 0
    while found < count:
        for kind in kinds:
            if kind == "layer" and layers:
                product = Product(kind, 1, *layers.pop())
            else:
                product = draw(rng, kind)
            if product.bytes <= MOST and found < count and only in (None, kind):
                found += 1
                yield product


def contenders(product: Product, each: bool) -> dict[str, Callable[[], object]]:
    """Return the calls, by name."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    stack = (product.stack,) if product.stack > 1 else ()

    def factor(rows: int, columns: int, turned: bool) -> tuple[Any, Any]:
        shape = (*stack, columns, rows) if turned else (*stack, rows, columns)
        memory = torch.randn(shape, device="cuda")
        seen = memory.transpose(-1, -2) if turned else memory
        return seen, gm.from_dlpack(seen)

    a, left = factor(product.m, product.k, product.trans_a)
    b, right = factor(product.k, product.n, product.trans_b)
    out = torch.empty((*stack, product.m, product.n), device="cuda")
    other = torch.empty_like(out)
    result = gm.from_dlpack(out)
    stream = torch.cuda.current_stream()
    calls: dict[str, Callable[[], object]] = {
        "torch": lambda: torch.matmul(a, b, out=other),
        "gpumem": lambda: gm.matmul(left, right, out=result, stream=stream),
    }
    if each:
        for variant in gm.variants("matmul", instances=True):
            calls[variant.name] = lambda v=variant: v(left, right, out=result, stream=stream)
    calls["torch"]()
    for name in [*calls][1:]:
        out.fill_(math.nan)
        try:
            calls[name]()
        except ValueError:
            if name == "gpumem":
                raise
            del calls[name]
            continue
        error = (out - other).abs().max().item() / max(1.0, math.sqrt(product.k))
        most = max(1e-4, 2**-24 * math.sqrt(product.k) * 8)  # sums one after the other, as naive's
        if not error < most:
            raise SystemExit(f"wrong result of {name}: {product}, {error}")
    return calls


def summary(rows: list[dict[str, Any]]) -> str:
    """Return geometric mean, share of at least 1.00 and minimum, of each class and of all."""
    lines = []
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "all"]:
        ratios = [row["ratio"] for row in rows if kind in ("all", row["kind"])]
        mean = statistics.geometric_mean(ratios)
        share = sum(r >= 1 for r in ratios) / len(ratios)
        lines.append(
            f"{kind:7} {len(ratios):4} products: mean {mean:.3f}, "
            f"{share:.0%} at least 1.00, least {min(ratios):.3f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="the same products again")
    parser.add_argument("--count", type=int, default=140)
    parser.add_argument("--only", choices=("square", "thin", "deep", "gemv", "layer", "stack"))
    parser.add_argument("--variants", action="store_true", help="measure every kernel as well")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else int(np.random.SeedSequence().entropy % 2**31)
    print(f"seed {seed}")
    rows: list[dict[str, Any]] = []
    for product in products(np.random.default_rng(seed), given.count, given.only):
        times = measure(contenders(product, given.variants), ROUNDS)
        ratio = times["torch"] / times["gpumem"]
        rate = 2e-9 * product.stack * product.m * product.n * product.k
        rows.append({**product._asdict(), "ms": times, "ratio": ratio})
        print(
            f"{product.kind:7} {product.name:26} {ratio:6.3f}  "
            + " ".join(
                f"{name} {1e3 * ms:.1f}us {rate / ms:.1f}" for name, ms in list(times.items())[:2]
            )
            + "  "
            + " ".join(f"{name} {1e3 * ms:.1f}" for name, ms in list(times.items())[2:]),
            flush=True,
        )
    print(summary(rows))
    if given.json:
        record = {"gpumem": gm.info(), "seed": seed, "rows": rows}
        files.write(given.json, json.dumps(record, indent=1, default=str))


if __name__ == "__main__":
    main()
