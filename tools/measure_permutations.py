"""Measure permute beside PyTorch, CuPy and the driver's copy, on layouts chosen afresh.

    python tools/measure_permutations.py [--seed N] [--count 60] [--most 4G] [--variants]

Needs a GPU, PyTorch and CuPy. Ranks 2 to 6, elements of 1 to 16 bytes, 1 MiB and more, aligned and
not. Contenders take turns at random; a time is that of one call between two events, behind a
kernel that keeps the GPU busy meanwhile, and after the L2 has been overwritten. A figure is the
median of several rounds as a fraction of the driver's copy of as many bytes between aligned
addresses, measured in the same rounds. --variants also measures every kernel that takes the layout.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from single_calls import measure

import gpumem as gm
from gpumem.base import files, sizes

ROUNDS = 7
LEAST = 2**20
DTYPES = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}


class Layout(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    offset: int  # elements, from an aligned address

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def kind(self) -> str:
        """The extents of the axes that move: of those that are left when the others are merged."""
        moved = self.folded()
        if min(moved) >= 32:
            return "32 and more"
        return "3 to 16" if min(moved) >= 3 and max(m for m in moved if m < 32) <= 16 else "others"

    def folded(self) -> list[int]:
        """Extents after axes that stay together have been merged."""
        groups: list[list[int]] = []
        for axis in self.axes:
            if groups and axis == groups[-1][-1] + 1:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        return [math.prod(self.shape[d] for d in group) for group in groups]


def draw(rng: np.random.Generator, most: int) -> Layout:
    """A layout of a random rank, size and element; every other one has short axes."""
    while True:
        itemsize = int(rng.choice(list(DTYPES)))
        rank = int(rng.integers(2, 7))
        elements = 2 ** rng.uniform(math.log2(LEAST), math.log2(most)) / itemsize
        shorts = int(rng.integers(0, rank)) if rng.random() < 0.6 else 0
        short = set(rng.permutation(rank)[:shorts].tolist())
        shape = [int(rng.integers(3, 17)) if d in short else 0 for d in range(rank)]
        rest = elements / math.prod(s for s in shape if s)
        long = [d for d in range(rank) if not shape[d]]
        if rest ** (1 / len(long)) < 32:
            continue
        aligned = rng.random() < 0.5
        for i, d in enumerate(long):
            side = rest ** (1 / (len(long) - i))
            side *= 2 ** rng.uniform(-1, 1) if i + 1 < len(long) else 1
            shape[d] = max(32, round(side / 32) * 32 if aligned else round(side))
            rest /= shape[d]
        axes = tuple(int(d) for d in rng.permutation(rank))
        found = Layout(DTYPES[itemsize], tuple(shape), axes, 0 if aligned else int(rng.integers(4)))
        if axes != tuple(range(rank)) and LEAST <= found.bytes <= 1.2 * most:
            return found


def contenders(layout: Layout, each: bool) -> dict[str, Callable[[], object]]:
    """Return the calls, by name; each writes an array of its own kind."""
    import cupy
    import torch

    size = math.prod(layout.shape) + layout.offset
    dtype = np.dtype(layout.dtype)
    raw = torch.randint(0, 255, (size * dtype.itemsize,), dtype=torch.uint8, device="cuda")
    memory = raw.view(getattr(torch, layout.dtype))
    a = memory[layout.offset :].view(layout.shape)
    wanted = a.permute(layout.axes)
    out = torch.empty(wanted.shape, dtype=a.dtype, device="cuda")
    other = torch.empty_like(out)
    there, result = gm.from_dlpack(a), gm.from_dlpack(out)
    # From where memory begins, whatever the offset: the driver copies slower from odd addresses.
    flat, flat_out = gm.from_dlpack(memory[: a.numel()]), gm.from_dlpack(other.reshape(-1))
    ca, cout = cupy.from_dlpack(a), cupy.from_dlpack(other)
    stream = torch.cuda.current_stream()
    ours: dict[str, Callable[[], object]] = {
        "gpumem": lambda: gm.permute(there, layout.axes, out=result, stream=stream)
    }
    for variant in gm.variants("permute", instances=True) if each else ():
        ours[variant.name] = lambda v=variant: v(there, layout.axes, out=result, stream=stream)
    for name in [*ours]:
        out.view(torch.uint8).fill_(0xFF)
        try:
            ours[name]()
        except ValueError:
            del ours[name]  # it does not take this layout
            continue
        if not torch.equal(out.view(torch.uint8), wanted.contiguous().view(torch.uint8)):
            raise SystemExit(f"wrong result of {name}: {layout}")
    return {
        "memcpy": lambda: gm.copy(flat, variant="memcpy", out=flat_out, stream=stream),
        **ours,
        "torch": lambda: other.copy_(wanted),
        "cupy": lambda: cupy.copyto(cout, ca.transpose(layout.axes)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="the same layouts again")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--most", default="4G", help="bytes of the largest array")
    parser.add_argument("--variants", action="store_true", help="measure every kernel as well")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import cupy
    import torch

    seed = given.seed if given.seed is not None else int(np.random.SeedSequence().entropy % 2**31)
    rng = np.random.default_rng(seed)
    print(f"seed {seed}")
    (most,) = sizes.parse_sizes(given.most)
    rows: list[dict[str, Any]] = []
    for _ in range(given.count):
        layout = draw(rng, most)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            times = measure(contenders(layout, given.variants), ROUNDS)
        fraction = {name: times["memcpy"] / ms for name, ms in times.items() if name != "memcpy"}
        rows.append({**layout._asdict(), "kind": layout.kind, "bytes": layout.bytes, "ms": times})
        print(
            f"{layout.dtype:10} {sizes.format_bytes(layout.bytes):>9} {layout.kind:11} "
            + " ".join(f"{name} {value:.3f}" for name, value in fraction.items())
            + f"  {layout.shape} {layout.axes} +{layout.offset}",
            flush=True,
        )
    for kind in sorted({row["kind"] for row in rows}):
        found = [row["ms"] for row in rows if row["kind"] == kind]
        means = {
            name: statistics.geometric_mean(ms["memcpy"] / ms[name] for ms in found)
            for name in ("gpumem", "torch", "cupy")
        }
        print(f"{kind}: {len(found)} layouts,", ", ".join(f"{n} {m:.3f}" for n, m in means.items()))
    if given.json:
        record = {"gpumem": gm.info(), "seed": seed, "rows": rows}
        files.write(given.json, json.dumps(record, indent=1, default=str))


if __name__ == "__main__":
    main()
