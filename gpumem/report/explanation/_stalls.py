"""What the warps of a kernel waited for on the shipped GPU, by Nsight Compute."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.provenance import origin
from ...families.table import Variant
from ...results import of_tools
from ._words import share

__all__ = ["Stalls", "stalls_of"]

_SHIPPED = "stalls-h200"
_MOST_REASONS = 3


class Stalls(NamedTuple):
    """The counters of one launch, and where they were read."""

    figures: dict[str, Any]
    origin: str

    def cells(self) -> list[tuple[str, str]]:
        """Return the rows of an explanation: reasons to wait, and hit rates of the caches."""
        most = sorted(self.figures["stalls"].items(), key=lambda one: -one[1])[:_MOST_REASONS]
        reasons = ", ".join(f"{cycles:.1f} {name.replace('_', ' ')}" for name, cycles in most)
        found = [("warps wait", f"cycles per instruction: {reasons}; {self.origin}")]
        hits = [(name.upper(), self.figures[name]) for name in ("l1", "l2")]
        shares = [f"{name} {share(value)}" for name, value in hits if value is not None]
        if shares:
            found.append(("cache hits", f"{', '.join(shares)} of sectors"))
        return found


def stalls_of(variant: Variant) -> Stalls | None:
    """Return the shipped counters of a variant; None if there are none."""
    found = of_tools.load(_SHIPPED)
    if found is None:
        return None
    for one in found["figures"]:
        if (
            one["family"] == variant.family
            and one["variant"] in variant.names
            and one.get("stalls")
        ):
            return Stalls(one, origin(found["provenance"]))
    return None
