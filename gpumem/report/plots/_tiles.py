"""Who holds which tile: the kernels of sgemm, and the ring of stages that feeds them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._style import DARK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 128  # rows and columns of a block's tile of C
_OTHER = "#eef3f8"  # warps with odd numbers
_EVEN = "#dbe7f1"
_BOXES = {"facecolor": "none", "edgecolor": "0.25"}

Owners = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # warp and lane of each element


def thread_tile_owners() -> Owners:
    """Return who holds each element of a block's tile of C in `thread_tile`.

    A thread has four squares of 4 x 4, 64 rows and columns apart.
    """
    row, column = np.indices((SIDE, SIDE))
    y, x = row % 64 // 4, column % 64 // 4
    return y // 4 * 2 + x // 8, y % 4 * 8 + x % 8


def warp_tile_owners() -> Owners:
    """Return who holds each element in `warp_tile` and `warp_tile_tma`, rows of A as they are.

    A thread has every fourth row of its warp's 32, and four columns of every 32.
    """
    row, column = np.indices((SIDE, SIDE))
    y, x = row % 4, column % 32 // 4
    return row // 32, y // 2 * 16 + 2 * x + y % 2


class _Kernel(NamedTuple):
    """What a row of the picture shows."""

    title: str
    owners: Callable[[], Owners]
    rows: int  # of the part on the right: the tile's first rows and columns
    columns: int
    part: str  # what that part is
    high: int  # rows that a lane has on top of each other there


_KERNELS = (
    _Kernel(
        "thread_tile: 8 warps, 8 x 8 per thread",
        thread_tile_owners,
        16,
        32,
        "a quarter of warp 0",
        4,
    ),
    _Kernel(
        "warp_tile, warp_tile_tma: 4 warps, 8 x 16 per thread",
        warp_tile_owners,
        16,
        32,
        "16 rows of warp 0; more is below and to the right",
        1,
    ),
)


def draw_tiles() -> Figure:
    """Draw who holds which elements of a block's tile of C: warps, and the lanes of one."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(_KERNELS), 2, figsize=(11, 9.5), layout="constrained", width_ratios=(1, 1.25)
    )
    for (left, right), kernel in zip(axes, _KERNELS, strict=True):
        warps, lanes = kernel.owners()
        _draw_block(left, warps, (warps == 0) & (lanes == 0))
        left.set_title(kernel.title, fontsize="medium")
        _draw_lanes(right, lanes[: kernel.rows, : kernel.columns], kernel.high)
        right.set_title(f"the lanes of {kernel.part}", fontsize="medium")
    figure.suptitle("C, 128 x 128 per block; dark: what lane 0 of warp 0 holds", fontsize="medium")
    return figure


def _draw_block(ax: Axes, warps: np.ndarray[Any, Any], thread: np.ndarray[Any, Any]) -> None:
    """Draw the warps of a block's tile, and the elements of one thread."""
    from matplotlib.colors import ListedColormap

    shades = np.where(thread, 2, (warps + _checkered(warps)) % 2)
    ax.pcolormesh(shades, cmap=ListedColormap([_EVEN, _OTHER, DARK]), vmin=0, vmax=2)
    for first_row, first_column, rows, columns in _rectangles(warps):
        place = (first_column, first_row), columns, rows
        ax.add_patch(_rectangle(*place))
        name = f"warp {warps[first_row, first_column]}"
        beside = 1 / 2 if columns == 32 else 3 / 8  # not on what the thread holds
        middle = first_column + beside * columns, first_row + rows / 2
        ax.text(*middle, name, ha="center", va="center", fontsize=9, gid="cell")
    _set_sides(ax, SIDE, SIDE, 32)


def _draw_lanes(ax: Axes, lanes: np.ndarray[Any, Any], high: int) -> None:
    """Draw lanes by number, those of lane 0 dark; a cell is four columns wide."""
    from matplotlib.colors import ListedColormap

    rows, columns = lanes.shape
    ax.pcolormesh(lanes == 0, cmap=ListedColormap([PALE, DARK]), vmin=0, vmax=1)
    for row in range(0, rows, high):
        for column in range(0, columns, 4):
            ax.add_patch(_rectangle((column, row), 4, high))
            lane = lanes[row, column]
            ink = "white" if lane == 0 else "black"
            middle = column + 2, row + high / 2
            ax.text(*middle, str(lane), ha="center", va="center", color=ink, fontsize=9, gid="cell")
    _set_sides(ax, rows, columns, 4)


def _checkered(warps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return 1 where a row of warps begins with the other shade, so that neighbours differ."""
    several = int(warps[0].max() > 0)
    found: np.ndarray[Any, Any] = np.indices(warps.shape)[0] // 16 * several
    return found


def _rectangles(warps: np.ndarray[Any, Any]) -> list[tuple[int, int, int, int]]:
    """Return row, column, rows and columns of each area of one warp."""
    below, right = (np.flatnonzero(np.diff(line)) + 1 for line in (warps[:, 0], warps[0]))
    rows, columns = ([0, *edges.tolist(), SIDE] for edges in (below, right))
    return [
        (top, left, bottom - top, end - left)
        for top, bottom in itertools.pairwise(rows)
        for left, end in itertools.pairwise(columns)
    ]


def _rectangle(corner: tuple[float, float], wide: float, high: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, wide, high, linewidth=0.8, **_BOXES)


def _set_sides(ax: Axes, rows: int, columns: int, step: int) -> None:
    ax.set_xlim(0, columns)
    ax.set_ylim(rows, 0)  # rows go down
    ax.set_aspect("equal")
    ax.set_xticks(range(0, columns + 1, step))
    ax.set_yticks(range(0, rows + 1, step))
    ax.set_xlabel("column")
    ax.set_ylabel("row")


# ---- the ring of stages ---------------------------------------------------------------------

_SLOTS = 3  # stages of warp_tile_tma
_SHOWN = 7  # stages of the depth
_ARRIVES = 1.5  # turns that a stage takes to arrive


def stage_times(number: int) -> tuple[float, float, float]:
    """Return when a stage is requested, when it has arrived, and when it is computed.

    A turn of the loop is 1, and the first begins at `_ARRIVES`. The first stages are requested
    together; the slot of another one is free when the stage `_SLOTS` before it was computed.
    """
    requested = 0.0 if number < _SLOTS else _ARRIVES + number - _SLOTS + 1
    return requested, requested + _ARRIVES, _ARRIVES + number


def draw_ring() -> Figure:
    """Draw how stages go through the three slots of `warp_tile_tma`; the times are a scheme."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(10, 3.6), layout="constrained")
    for number in range(_SHOWN):
        requested, arrived, computed = stage_times(number)
        slot = number % _SLOTS
        for begin, long, colour, words, ink in (
            (requested, arrived - requested, PALE, f"load {number}", "black"),
            (computed, 1.0, DARK, f"compute {number}", "white"),
        ):
            ax.barh(slot, long, left=begin, height=0.66, color=colour, edgecolor="0.25")
            middle = begin + long / 2, slot
            ax.text(*middle, words, ha="center", va="center", color=ink, fontsize=9, gid="cell")
    for turn in range(_SHOWN):
        ax.axvline(_ARRIVES + turn, color="0.5", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    ax.set_yticks(range(_SLOTS), [f"slot {slot}" for slot in range(_SLOTS)])
    ax.set_ylim(_SLOTS - 0.5, -0.5)
    ax.set_xlim(0, _ARRIVES + _SHOWN)
    ax.set_xticks([_ARRIVES + turn for turn in range(_SHOWN)], map(str, range(_SHOWN)))
    ax.set_xlabel(
        "turn of the loop; at a dashed line the block waits for the bytes of its next stage,\n"
        "and after __syncthreads() thread 0 requests a stage for the slot that was read"
    )
    ax.set_title("the ring of warp_tile_tma: the copy engine fills, the block computes")
    return figure
