"""What the warps of a kernel waited for on a GPU, by the counters of Nsight Compute, if shipped."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.provenance import origin
from ...families.table import Variant
from ...results import of_tools
from ..stalls import measured, waits
from ._words import share

__all__ = ["NOT_MEASURED", "Stalls", "stalls_of"]

NOT_MEASURED = ("warps wait", "not measured: gpumem ships no stall counters for it")
_MOST_REASONS = 3


class Stalls(NamedTuple):
    """The counters of one launch, and where they were read."""

    figures: dict[str, Any]
    origin: str

    def cells(self) -> list[tuple[str, str]]:
        """Return the rows of an explanation: reasons to wait, and hit rates of the caches."""
        most = waits(self.figures["stalls"])[:_MOST_REASONS]
        reasons = ", ".join(f"{cycles:.1f} {reason}" for reason, cycles in most)
        found = [("warps wait", f"cycles per instruction: {reasons}")]
        hits = [(name.upper(), self.figures[name]) for name in ("l1", "l2")]
        shares = [f"{name} {share(value)}" for name, value in hits if value is not None]
        if shares:
            found.append(("cache hits", f"{', '.join(shares)} of sectors"))
        shape = "x".join(map(str, self.figures["shape"])) or "one value"
        found.append(("counted", f"{shape} {self.figures['dtype']}; {self.origin}"))
        return found


def stalls_of(variant: Variant) -> Stalls | None:
    """Return the shipped counters of a variant; None if there are none."""
    found = of_tools.newest("stalls")
    if found is None:
        return None
    for one in measured(found, variant.family):
        if one["variant"] in variant.names:
            return Stalls(one, origin(found["provenance"]))
    return None
