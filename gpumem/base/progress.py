"""How long-running functions report their progress."""

from collections.abc import Callable
from typing import Any

from .messages import quoted

# Called with the steps done, all steps, and what comes next in words.
Progress = Callable[[int, int, str], None]


def silent(done: int, total: int, text: str) -> None:
    """Report nothing."""


def checked_progress(progress: Any) -> Progress:
    """Return the function that a caller gave for `progress`; for None, one that reports nothing."""
    if progress is None:
        return silent
    if not callable(progress):
        raise TypeError(
            "progress must be a function of the steps done, all steps and what comes next, not "
            f"{quoted(progress)}"
        )
    function: Progress = progress
    return function
