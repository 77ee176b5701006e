"""Random bytes, and whether they have arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...families import oracle
from ..bench import spread_out

if TYPE_CHECKING:
    from ..._core import DeviceArray

POISON = 0xA5  # what a target holds before

_PERIOD = 2**24 + 43  # bytes of random data: odd, so that no two pieces are alike
_SLOW_READ = 2**20  # bytes of write-combined memory that are compared in one go


def random_bytes(nbytes: int) -> np.ndarray[Any, Any]:
    found = np.empty(nbytes, np.uint8)
    period = np.frombuffer(np.random.default_rng().bytes(min(nbytes, _PERIOD)), np.uint8)
    for at in range(0, nbytes, _PERIOD):
        found[at : at + _PERIOD] = period[: nbytes - at]
    return found


def compare(got: DeviceArray | np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    """Raise AssertionError unless the bytes are those; of many, slices are compared."""
    slow = isinstance(got, np.ndarray) and _core.memory_kind(got) == "write_combined"
    for part in spread_out(wanted.size, 1, _SLOW_READ if slow else None):
        piece = got[part]
        here = piece if isinstance(piece, np.ndarray) else piece.to_host()
        try:
            oracle.compare("transfer", here, wanted[part])
        except AssertionError as error:
            raise AssertionError(f"from byte {part.start} on: {error}") from None
