"""How long-running functions report their progress."""

from collections.abc import Callable

# Called with the steps done, all steps, and what comes next in words.
Progress = Callable[[int, int, str], None]


def silent(done: int, total: int, text: str) -> None:
    """Report nothing."""
