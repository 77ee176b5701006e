"""What a result asks of the floors above it: words, pictures, comparisons, and shipped results.

:class:`BenchResult` is a public class with methods such as ``plot``, whose code lies in
``gpumem.report``. ``gpumem/__init__.py`` sets ``BenchResult.presentation`` to an object that has
the methods below, so that the floor of records imports nothing from above.
"""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeVar

__all__ = ["Presentation"]

Result = TypeVar("Result")


class Presentation(Protocol[Result]):
    """How results and reports of traffic are shown. `Result` is :class:`BenchResult`."""

    def text(self, result: Result) -> str:
        """Return what ``str(result)`` says: tables, doubts, and why times are missing."""

    def plot(self, result: Result, kind: str, **options: Any) -> Any:
        """Return a matplotlib figure; see ``BenchResult.plot``."""

    def compare(self, before: Result, after: Result, threshold: float) -> Any:
        """Return a comparison; see ``gpumem.compare``."""

    def shipped(self, name: str | os.PathLike[str]) -> Result:
        """Return a shipped result by its name, or one from a file; see ``gpumem.results.load``."""

    def draw(self, traffic: Any, **options: Any) -> Any:
        """Draw one request of a report of traffic; see ``Traffic.draw`` for the options."""
