"""The errors of several ranks."""

from __future__ import annotations


class RankError(RuntimeError):
    """A rank failed, or was called with other arguments than the others.

    `rank` is its number; None if the engine failed, which does not say whose fault it is, and no
    rank of this host has ended, or if there are several.
    """

    def __init__(self, message: str, rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle needs."""
        return (RankError, (*self.args, self.rank))
