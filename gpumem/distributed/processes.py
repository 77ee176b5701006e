"""Which ranks' processes have ended, so that the error of an engine can name them.

An engine that loses a rank says that a connection broke or that time ran out, and not whose fault
it is. The ranks tell each other their process ids in the first agreement; of those on its own
host, a rank can look up whether they still run.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import RankError
from .peers import host_name

_FORMAT = "<8sIQ"  # of the host, the process, when it started in ticks since the host did
WHO = struct.calcsize(_FORMAT)
_PATIENCE = 1.0  # seconds until a process whose connections broke must have ended
_STATE, _STARTED = 0, 19  # in /proc/PID/stat, of the fields after the name


def _started(process: int) -> int | None:
    """Return when a process started, in ticks since the host did; None if it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE] in "ZX" else int(fields[_STARTED])


def _host() -> bytes:
    return hashlib.sha256(host_name().encode()).digest()[:8]


class Processes:
    """The processes of the ranks that are on this rank's host."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] | None = None
        self.who = struct.pack(_FORMAT, _host(), os.getpid(), _started(os.getpid()) or 0)
        """What the other ranks have to know of this process."""

    def learn(self, told: Sequence[bytes]) -> None:
        """Take what all ranks have told, once; those that cannot be seen from here are left out."""
        if self._known is not None:
            return
        self._known = {}
        here = _host()
        for rank, one in enumerate(told):
            host, process, started = struct.unpack(_FORMAT, one)
            if host == here and _started(process) == started:
                self._known[rank] = process, started

    def ended(self, patience: float = 0.0) -> list[int]:
        """Return the ranks whose processes have ended; wait up to `patience` s until one has."""
        until = time.monotonic() + patience
        while True:
            known = (self._known or {}).items()
            found = [rank for rank, (process, when) in known if _started(process) != when]
            if found or not known or time.monotonic() >= until:
                return found
            time.sleep(0.01)

    def error(self, rank: int, what: str, error: Exception) -> RankError:
        """Return the error of an engine in words, with the ranks that have ended."""
        text = f"on rank {rank}, {what} failed: {error}"
        ended = self.ended(_PATIENCE)
        if not ended:
            return RankError(text)
        names = f"rank {ended[0]}"
        if len(ended) > 1:
            names = f"ranks {', '.join(map(str, ended[:-1]))} and {ended[-1]}"
        return RankError(f"{names} ended: {text}", ended[0] if len(ended) == 1 else None)
