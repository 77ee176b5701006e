"""The explanation of a user's kernel, from counts alone."""

from __future__ import annotations

from typing import Any

from ...check.rules import RULES
from ...count.access import SECTOR, bank_ways, source_line
from ...count.traffic import COUNTS_ONLY, Traffic, traffic
from ...modules.launch import Launch
from . import _words
from ._figures import Counted
from ._layout import as_markdown, as_text, traffic_cells
from ._words import figure, share

__all__ = ["KernelExplanation", "explain_kernel"]

_EXTRA = 1.1  # times the fewest sectors or passes possible: worth a word


class KernelExplanation:
    """A user's kernel, explained; made by :func:`explain`. Printed, it is a table and a paragraph.

    Attributes
    ----------
    kernel : str
        With its file, such as "saxpy of mine.cu".
    traffic : Traffic
        What the simulator counted.
    paragraph : str
        The explanation in words.

    Examples
    --------
    >>> import numpy as np
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void evens(float *x) { x[2 * threadIdx.x] = 1; }")
    >>> gm.explain(m["evens"][1, 32], np.zeros(64, "float32")).traffic.stores.efficiency
    0.5
    """

    def __init__(self, kernel: str, counted: Traffic, paragraph: str) -> None:
        self.kernel = kernel
        self.traffic = counted
        self.paragraph = paragraph

    def _cells(self) -> list[tuple[str, str]]:
        grid, block = (
            " x ".join(map(str, sides)) for sides in (self.traffic.grid, self.traffic.block)
        )
        return [("simulated", f"grid {grid}, block {block}"), *traffic_cells(self.traffic)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> gm.explain(m["nothing"][1, 32]).to_dict()["kernel"]
        'nothing of source.cu'
        """
        return {
            "kernel": self.kernel,
            "traffic": self.traffic.to_dict(),
            "paragraph": self.paragraph,
        }

    def _repr_markdown_(self) -> str:
        return as_markdown(self.kernel, self._cells(), self.paragraph)

    def __repr__(self) -> str:
        return f"<gpumem explanation of {self.kernel}>"

    def __str__(self) -> str:
        return as_text(self.kernel, self._cells(), self.paragraph)


def explain_kernel(launch: Launch, *args: Any) -> KernelExplanation:
    """Run a user's kernel on the simulator, and say what it asks of memory."""
    report = traffic(launch, *args)
    said = [f"{report.name}."]
    if report.requests:
        said += filter(None, _words.counts(Counted(report, None, None, 0, None), None))
        said += _worst_lines(report)
    else:
        said.append("It touches no memory that the simulator counts.")
    return KernelExplanation(report.name, report, " ".join([*said, COUNTS_ONLY]))


def _worst_lines(report: Traffic) -> list[str]:
    """Name the source lines that waste most, and what usually helps."""
    said = []
    moved = [one for one in report.sites if one["space"] == "global" and one["sectors"]]
    worst = max(moved, key=_waste, default=None)
    if worst is not None and worst["sectors"] * SECTOR > _EXTRA * worst["bytes"]:
        said.append(
            f"The line to look at is {source_line(worst)}: its {worst['kind']} moves "
            f"{share(_waste(worst) / (report.bytes_moved or 1))} of all bytes for nothing. "
            f"What usually helps: {RULES['sectors'].hint}."
        )
    banked = {
        source_line(one): bank_ways(one) or 0 for one in report.sites if one["space"] == "shared"
    }
    line = max(banked, key=lambda one: banked[one], default="")
    if banked.get(line, 0) > _EXTRA:
        said.append(
            f"The worst bank conflicts are at {line}, {figure(banked[line])} ways. "
            f"What usually helps: {RULES['bank-conflicts'].hint}."
        )
    return said


def _waste(site: dict[str, Any]) -> int:
    return int(site["sectors"] * SECTOR - site["bytes"])
