"""Pictures of results, drawn with matplotlib, which is imported for the first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._axes import byte_axis
from ._ladder import draw_ladder
from ._prefetch import draw_distance, draw_map
from ._roofline import draw_roofline
from ._roundtrip import draw_roundtrip
from ._size import draw_size, draw_sweep
from ._style import STYLES
from ._transfer import draw_transfer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult

__all__ = ["KINDS", "STYLES", "byte_axis", "draw_result"]

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


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install gpumem[plot]"
        ) from None


def draw_result(result: BenchResult, kind: str, **options: Any) -> Figure:
    """Draw a result: what :meth:`gpumem.BenchResult.plot` does."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, expected one of: {', '.join(KINDS)}")
    function = KINDS[kind]
    known = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    for name in options:
        if name not in known:
            raise TypeError(f"{kind} has no option {name!r}; its options: {', '.join(known)}")
    _need_matplotlib()
    return function(result, **options)
