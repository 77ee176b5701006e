"""Pictures of results and of requests, drawn with matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.messages import quoted, unknown
from ...base.version import pip_install
from ._axes import byte_axis
from ._banks import draw_banks
from ._constants import draw_constants
from ._ladder import draw_ladder
from ._left_out import left_out_of_size
from ._memory_system import draw_latency, draw_mixes, draw_random, levels
from ._prefetch import draw_distance, draw_map
from ._roofline import draw_roofline
from ._roundtrip import draw_roundtrip
from ._sectors import draw_sectors
from ._series import draw_additions, draw_series
from ._sites import by_engine, choose, sample_of
from ._size import draw_size
from ._stalls import draw_stalls
from ._style import STYLES
from ._sweep import draw_sweep
from ._tiles import draw_ring, draw_tiles
from ._transfer import draw_transfer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.result import BenchResult
    from ...count.traffic import Traffic

__all__ = [
    "KINDS",
    "STYLES",
    "byte_axis",
    "draw_additions",
    "draw_latency",
    "draw_mixes",
    "draw_random",
    "draw_request",
    "draw_result",
    "draw_ring",
    "draw_series",
    "draw_stalls",
    "draw_tiles",
    "left_out",
    "levels",
]

KINDS: dict[str, Callable[..., Figure]] = {
    "size": draw_size,
    "ladder": draw_ladder,
    "roofline": draw_roofline,
    "sweep": draw_sweep,
    "transfer": draw_transfer,
    "roundtrip": draw_roundtrip,
    "distance": draw_distance,
    "map": draw_map,
}


# How a request of each memory is drawn, and the width of the picture in inches.
_SPACES: dict[str, tuple[Callable[..., None], float]] = {
    "shared": (draw_banks, 5.2),
    "global": (draw_sectors, 8),
    "constant": (draw_constants, 5.2),
}


def _need_matplotlib() -> None:
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        raise ImportError(
            f"drawing needs matplotlib, which is not installed: {pip_install('plot')}"
        ) from None


def draw_result(result: BenchResult, kind: str, **options: Any) -> Figure:
    """Draw a result: what :meth:`gpumem.BenchResult.plot` does."""
    if not isinstance(kind, str):
        raise TypeError(f"kind must be a str, not {quoted(kind)}")
    if kind not in KINDS:
        raise ValueError(unknown("kind is", kind, KINDS))
    function = KINDS[kind]
    known = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    for name in options:
        if name not in known:
            raise TypeError(unknown(f"{kind} has no option", name, known, "; its options"))
    _need_matplotlib()
    return function(result, **options)


def left_out(result: BenchResult, kind: str, figure: Figure, **options: Any) -> list[str]:
    """Return what a picture drawn with these options leaves out of a result, with the reason.

    It is known for the kind "size" only.
    """
    return left_out_of_size(result, figure, **options) if kind == "size" else []


def draw_request(
    report: Traffic,
    site: int | str | None = None,
    request: int = 0,
    ax: Axes | None = None,
    space: str | None = None,
) -> Axes:
    """Draw one request of a report: what :meth:`gpumem.Traffic.draw` does."""
    _need_matplotlib()
    chosen = choose(report, site, space)
    sample = sample_of(chosen, request)
    if chosen["space"] not in _SPACES:
        raise ValueError(f"there is no picture of {chosen['space']} memory")
    if not (ax is None or hasattr(ax, "pcolormesh")):
        raise TypeError(f"ax must be an Axes of matplotlib, not {quoted(ax)}")
    draw, wide = _SPACES[chosen["space"]]
    if ax is None:
        from matplotlib import pyplot

        height = 2.2 if by_engine(chosen) else 5.6
        _, ax = pyplot.subplots(figsize=(wide, height), layout="constrained")
    draw(ax, report, chosen, sample)
    return ax
