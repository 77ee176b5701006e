"""What a picture of a result does not show of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ._records import called, one_family

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...base.result import BenchResult


def left_out_of_size(
    result: BenchResult,
    figure: Figure,
    variants: Any = None,
    cache: Any = None,
    order: Any = None,
) -> list[str]:
    """Return the variants and shapes that a picture by size leaves out, with the reason."""
    family, timed = one_family(result, cache, order)
    lines = [line for ax in figure.axes for line in ax.lines if line.get_gid() == "line"]
    drawn = {name for line in lines for name in re.split(r",\s+", str(line.get_label()))}
    found = []
    if variants is None:  # else it was the caller who left some out
        rest = dict.fromkeys(called(r, family) for r in timed)
        slow = [name for name in rest if name not in drawn]
        if slow:
            found.append(f"{', '.join(slow)}: only the {len(drawn)} fastest have a line")
        reasons: dict[str, list[str]] = {}
        for record in result.rows:
            name = called(record, family)
            if name not in rest:
                names = reasons.setdefault(record.reason or "no time", [])
                names += [] if name in names else [name]
        found += [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    sizes = {size for line in lines for size in line.get_xdata()}
    shapes = dict.fromkeys(r.size for r in timed if r.bytes not in sizes)
    if shapes:
        found.append(f"{', '.join(shapes)}: only squares are drawn")
    return found
