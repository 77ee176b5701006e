"""The explanation of a user's kernel, from counts alone."""

from __future__ import annotations

from typing import Any

from ...count.traffic import COUNTS_ONLY, Traffic, traffic
from ...modules.launch import Launch
from . import _words
from ._figures import Counted
from ._layout import as_markdown, as_text, traffic_cells
from ._worst import worst_lines

__all__ = ["KernelExplanation", "explain_kernel"]


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
    said = ["It touches no memory that the simulator counts."]
    if report.requests:
        counts = _words.counts(Counted(report, None, None, 0, None), None)
        said = [*filter(None, counts), *worst_lines(report)]
    return KernelExplanation(report.name, report, " ".join([*said, *report.notes, COUNTS_ONLY]))
