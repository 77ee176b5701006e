"""Draw the pictures of the documents.

    python tools/pictures.py

draws docs/copy-size.png, which README.md shows. tools/site.py has all of them drawn.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

import gpumem as gm
from gpumem.report import plots
from gpumem.report.stalls import measured
from gpumem.results import of_tools

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCKS_OF_256 = [[256 >> i, 1 << i] for i in range(9)]
README = "copy-size"  # the only one that is committed


def bank_conflicts() -> Figure:
    """Draw a warp's read of a tile's column, without and with a spare column."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    for ax, variant in zip(axes, ("tile", "tile_padded"), strict=True):
        gm.traffic("transpose", variant=variant, shape=(64, 64)).draw(ax=ax)
    return figure


def prefetch_distance() -> Figure:
    """Draw speed-up by distance, with one warp per scheduler and with eight."""
    variants = [
        "scalar_batch",
        "scalar_rolling",
        "smem_rolling",
        "smem_rolling_async",
        "l2",
        "bulk",
    ]
    return gm.results.for_family("prefetch_sum").plot(
        "distance", work=[1, 2], warps=[4.0, 32.0], variants=variants
    )


def prefetch_unroll() -> Figure:
    """Draw what unrolling gains beside batches in registers and in shared memory."""
    return gm.results.for_family("prefetch_sum").plot(
        "distance",
        work=[1, 2],
        warps=[4.0, 32.0],
        variants=["unroll", "scalar_batch", "smem_batch"],
    )


def transpose_orders() -> Figure:
    """Draw the kernels without a tile that differ in the order of their accesses."""
    orders = [
        f"{how}_{side}" for how in ("naive", "unroll4", "diagonal") for side in ("row", "col")
    ]
    return gm.results.for_family("transpose").plot("ladder", shape=(16384, 16384), variants=orders)


def latency() -> Figure:
    """Draw the latency of dependent loads by footprint, and name the plateaus."""
    variants = ("cached", "uncached", "constant", "remote_shared", "shared")
    return plots.draw_latency(of_tools.load("latency-h200"), variants).figure


def sweep_picture(name: str, variants: str, **options: Any) -> Callable[[], Figure]:
    """Return what draws a sweep of tools/measure_sweeps.py."""
    found = of_tools.load("sweeps-h200")
    return lambda: plots.draw_series(found, name, variants.split(), **options).figure


def offsets() -> Figure:
    """Draw what offsets cost reads and writes, as shares of the rate without one."""
    found = of_tools.load("sweeps-h200")
    figure, axes = pyplot.subplots(2, 1, figsize=(10, 7.4), layout="constrained", sharey=True)
    for ax, family in zip(axes, ("strided_read", "strided_write"), strict=True):
        options = {"family": family, "dtype": "float64", "relative": True, "ax": ax}
        plots.draw_series(found, "offset", ["cached", "unroll4", "auto"], **options)
    return figure


def shipped(family: str, kind: str, **options: object) -> Callable[[], Figure]:
    """Return what draws the shipped result of a family."""
    return lambda: gm.results.for_family(family).plot(kind, **options)


PICTURES: dict[str, Callable[[], Figure]] = {
    "add-kinds": lambda: plots.draw_additions(of_tools.load("host-memory-h200")).figure,
    "add-ladder": shipped("add", "ladder"),
    "bank-conflicts": bank_conflicts,
    "copy-blocks": sweep_picture("max_blocks", "scalar vec2 vec4 vec4_unrolled bulk"),
    "copy-size": shipped("copy", "size"),
    "gather-size": shipped("gather", "size"),
    "histogram-size": shipped("histogram", "size"),
    "latency": latency,
    "offsets": offsets,
    "polynomial-carveout": sweep_picture(
        "carveout", "local shared register_bounded global", dtype="float64"
    ),
    "polynomial-ladder": shipped("polynomial", "ladder"),
    "prefetch-distance": prefetch_distance,
    "prefetch-unroll": prefetch_unroll,
    "prefetch-map": shipped("prefetch_sum", "map"),
    "random-access": lambda: plots.draw_random(of_tools.load("random-h200")).figure,
    "reduce-size": shipped("reduce", "size"),
    "rms-norm-ladder": lambda: gm.results["rms_norm.cu-h200"].plot("ladder"),
    "roundtrip": lambda: gm.results["roundtrip-h200"].plot("roundtrip"),
    "sample-ladder": shipped("sample", "ladder"),
    "scan-size": shipped("scan", "size"),
    "sgemm-ring": plots.draw_ring,
    "sgemm-tiles": plots.draw_tiles,
    "sgemm-ladder": shipped("sgemm", "ladder", shape=(4096, 4096, 4096)),
    "shift_points-size": shipped("shift_points", "size"),
    "static_value-ladder": shipped("static_value", "ladder"),
    "strided_read-sweep": shipped("strided_read", "sweep"),
    "strided_write-ladder": shipped("strided_write", "ladder"),
    "transfer": lambda: gm.results["transfer-h200"].plot("transfer"),
    "transpose-blocks": sweep_picture(
        "block", "copy_row copy_col naive_row naive_col", values=BLOCKS_OF_256
    ),
    "transpose-ladder": shipped("transpose", "ladder", shape=(16384, 16384)),
    "transpose-orders": transpose_orders,
}


def of_stalls() -> dict[str, Callable[[], Figure]]:
    """Return what draws the waits of each family's kernels; nothing if they are not shipped."""
    found = of_tools.newest("stalls")
    if found is None:
        return {}
    return {
        f"stalls-{family}": functools.partial(_stalls, found, family)
        for family in gm.families()
        if measured(found, family)
    }


def _stalls(found: dict[str, Any], family: str) -> Figure:
    return plots.draw_stalls(found, family).figure


PICTURES |= of_stalls()


def draw(folder: Path, *names: str) -> None:
    """Draw pictures into a folder, by default all."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}}
    for name in names or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(folder / f"{name}.png", dpi=100, **kept)
        pyplot.close(figure)


def main() -> int:
    draw(DOCS, README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
