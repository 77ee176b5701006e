"""The order in which pieces start and finish, so that the engine works beside the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Started = TypeVar("_Started")


def overlapped(
    pieces: int,
    start: Callable[[int], _Started],
    finish: Callable[[int, _Started], None],
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Start each piece before the one before it is finished: two are under way at a time.

    Parameters
    ----------
    pieces : int
        Their number.
    start : callable
        Packs a piece and gives it to the engine; returns what `finish` needs.
    finish : callable
        Waits for a piece and uses it.
    meanwhile : callable, optional
        Work that needs no engine, done once while the first pieces are on their way.
    """
    started = start(0) if pieces else None
    for piece in range(pieces):
        following = start(piece + 1) if piece + 1 < pieces else None
        if meanwhile is not None and piece == 0:
            meanwhile()
        assert started is not None
        finish(piece, started)
        started = following
