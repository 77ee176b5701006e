"""All ranks agree on what they are about to do before data moves.

Without that, a wrong argument on one rank would leave the others waiting for its data. Each rank
tells all others in one short message what it was called with, or why it cannot do it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from ..base.messages import shortened
from .engine import MESSAGE, Engine, PendingMessages
from .errors import RankError
from .processes import WHO

_WILL, _CANNOT = b"+", b"-"
_DIGEST = 16
_EXTRA = 96  # bytes for what goes along with a call
_OWN = WHO + _EXTRA  # bytes at the end, which differ from rank to rank
ROOM = MESSAGE - 1 - _DIGEST - _OWN  # bytes for the text

_Found = TypeVar("_Found")


@lru_cache(maxsize=64)  # programs repeat their calls
def _encoded(kind: bytes, text: str) -> bytes:
    """Return the first part of a message, which is the same on all ranks if their calls are.

    A text that is too long is shortened, and told apart by its digest.
    """
    digest = hashlib.sha256(text.encode()).digest()[:_DIGEST]
    short = text.encode()
    if len(short) > ROOM:
        short = short[: ROOM - 3].decode(errors="ignore").encode() + b"..."
    return (kind + digest + short).ljust(MESSAGE - _OWN, b"\0")


def _text(message: bytes) -> str:
    return message[1 + _DIGEST : -_OWN].rstrip(b"\0").decode(errors="replace")


class Agreement:
    """What the ranks say of one call; :meth:`check` raises if they do not agree."""

    def __init__(
        self, engine: Engine, text: str, error: Exception | None = None, extra: bytes = b""
    ) -> None:
        self._error = error
        kind = _WILL if error is None else _CANNOT
        own = engine.processes.who + extra
        said = _encoded(kind, text if error is None else described(error))
        self._engine = engine
        self._pending: PendingMessages = engine.tell(said + own.ljust(_OWN, b"\0"))
        self._messages: list[bytes] = []

    def check(self, same: bool = True) -> None:
        """Wait for what each rank says.

        Raises
        ------
        RankError
            If another rank failed, or if, with `same`, they did not all say the same.
        """
        self._messages = messages = self._pending.wait()
        self._engine.processes.learn([message[-_OWN:-_EXTRA] for message in messages])
        if self._error is not None:
            error, self._error = self._error, None  # no circle through its traceback
            raise error
        for rank, message in enumerate(messages):
            if message[:1] == _CANNOT:
                raise RankError(f"rank {rank}: {_text(message)}", rank)
        if same:
            _check_same(messages)

    @property
    def texts(self) -> list[str]:
        """What each rank said; after :meth:`check`."""
        return [_text(message) for message in self._messages]

    @property
    def extras(self) -> list[bytes]:
        """What each rank told beside; after :meth:`check`."""
        return [message[-_EXTRA:] for message in self._messages]


def _check_same(messages: list[bytes]) -> None:
    said = [message[:-_OWN] for message in messages]
    if said.count(said[0]) == len(said):
        return
    usual, _ = Counter(said).most_common(1)[0]
    for rank, message in enumerate(messages):
        if said[rank] != usual:
            other = said.index(usual)
            usual = messages[other]
            raise RankError(
                f"rank {rank} calls {_text(message)}, but rank {other} calls {_text(usual)}", rank
            )


def described(error: Exception) -> str:
    """Return an error in one line."""
    return shortened(f"{type(error).__name__}: {' '.join(str(error).split())}", 800)


def agreed(
    engine: Engine,
    prepare: Callable[[], tuple[str, _Found]],
    same: bool = True,
    extra: Callable[[_Found], bytes] | None = None,
) -> tuple[Agreement, _Found]:
    """Prepare a call and tell the other ranks, whether that fails or not.

    Parameters
    ----------
    engine : Engine
        The ranks.
    prepare : callable
        Returns the text that all ranks have to agree on, and what it prepared. If it raises, so
        does this, after the others were told why and with the same exception.
    same : bool, optional
        Whether the ranks have to say the same; for the check that follows an error.
    extra : callable, optional
        Returns up to 96 bytes that this rank tells the others beside.

    Returns
    -------
    Agreement
        To be checked before data moves.
    object
        What was prepared.
    """
    try:
        text, found = prepare()
        beside = b"" if extra is None else extra(found)
    except Exception as error:
        Agreement(engine, "", error).check(same)
        raise  # check has raised it
    return Agreement(engine, text, extra=beside), found
