"""What results and reports of traffic show of themselves: text, pictures, comparisons."""

from __future__ import annotations

import os
from typing import Any

from ..base.result import BenchResult
from ..count.traffic import Traffic
from ..results import RESULTS
from . import tables
from .comparison import Comparison, compare

__all__ = ["Presentation"]


class Presentation:
    """The implementation of :class:`gpumem.base.presentation.Presentation`."""

    def text(self, result: BenchResult) -> str:
        """Return the text that ``print(result)`` shows."""
        return tables.text(result)

    def plot(self, result: BenchResult, kind: str, **options: Any) -> Any:
        """Draw a result; see :meth:`gpumem.BenchResult.plot`."""
        from . import plots  # not needed to import gpumem

        return plots.draw_result(result, kind, **options)

    def compare(self, before: BenchResult, after: BenchResult, threshold: float) -> Comparison:
        """Compare two results; see :func:`gpumem.compare`."""
        return compare(before, after, threshold)

    def shipped(self, name: str | os.PathLike[str]) -> BenchResult:
        """Return a shipped result by its name, or one from a file."""
        return RESULTS.load(name)

    def draw(self, traffic: Traffic, **options: Any) -> Any:
        """Draw one request; see :meth:`gpumem.Traffic.draw`."""
        from . import plots

        return plots.draw_request(traffic, **options)
