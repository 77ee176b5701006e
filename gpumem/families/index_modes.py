"""What `gather` and `scatter_add` share: what becomes of an index out of range."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..base.messages import quoted
from .protocol import Array

_MODES = {"raise": (0,), "wrap": (1,), "clip": (2,)}

Mode = Literal["raise", "wrap", "clip"]


def mode_parameters(mode: str = "raise") -> tuple[int, ...]:
    """Return the mode as the extension module takes it."""
    found = _MODES.get(mode) if isinstance(mode, str) else None
    if found is None:
        raise ValueError(f'mode is {quoted(mode)}, expected "raise", "wrap" or "clip"')
    return found


def followed(index: Any, n: int, mode: Mode) -> Array:
    """Return where an index leads in an array of `n` elements."""
    place = np.asarray(index)
    if mode == "wrap":
        return np.asarray(place % n)  # numpy.take subtracts n again and again
    return place.clip(0, n - 1) if mode == "clip" else place
