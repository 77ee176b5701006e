"""Draw the pictures of README.md into docs/.

python tools/pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

import gpumem as gm

DOCS = Path(__file__).resolve().parent.parent / "docs"


def _save(figure: Figure, file: Path) -> None:
    kept = {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}}
    figure.savefig(file, dpi=100, **kept)


def bank_conflicts(file: Path) -> None:
    """Draw a warp's read of a tile's column, without and with a spare column."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    for ax, variant in zip(axes, ("tile", "tile_padded"), strict=True):
        gm.traffic("transpose", variant=variant, shape=(64, 64)).draw(ax=ax)
    _save(figure, file)


def copy_size(file: Path) -> None:
    """Draw the bandwidth of every copy by size, on an H200."""
    figure = gm.results.for_family("copy").plot("size")
    _save(figure, file)


def transpose_ladder(file: Path) -> None:
    """Draw every transpose of a large matrix beside the driver's copy, on an H200."""
    figure = gm.results.for_family("transpose").plot("ladder", shape=(16384, 16384))
    _save(figure, file)


def prefetch_map(file: Path) -> None:
    """Draw where prefetching pays on an H200, and with which variant."""
    figure = gm.results.for_family("prefetch_sum").plot("map")
    _save(figure, file)


def prefetch_distance(file: Path) -> None:
    """Draw speed-up by distance, with one warp per scheduler and with eight."""
    variants = [
        "scalar_batch",
        "scalar_rolling",
        "smem_rolling",
        "smem_rolling_async",
        "l2",
        "bulk",
    ]
    figure = gm.results.for_family("prefetch_sum").plot(
        "distance", work=[1, 2], warps=[4.0, 32.0], variants=variants
    )
    _save(figure, file)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    folder.mkdir(parents=True, exist_ok=True)
    bank_conflicts(folder / "bank-conflicts.png")
    copy_size(folder / "copy-size.png")
    transpose_ladder(folder / "transpose-ladder.png")
    prefetch_map(folder / "prefetch-map.png")
    prefetch_distance(folder / "prefetch-distance.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
