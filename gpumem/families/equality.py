"""Compares a result with the expected one, and reports the first element that differs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .protocol import Array
from .raw_bytes import all_bytes, patterns

MOST_PLACES = 7  # named beside the first


def _describe(a: Array, place: int) -> str:
    one = a.reshape(-1)[place : place + 1]  # a NumPy scalar would not keep every bit
    raw = one.tobytes()
    return f"{one[0]} (bytes {raw[:16].hex()}{'…' if len(raw) > 16 else ''})"


def _others(got: Array, wanted: Array, differs: Array) -> str:
    """Return what else differs, and where: the pattern may tell what went wrong."""
    places = np.flatnonzero(differs)[1:]
    named = []
    for at in places[:MOST_PLACES]:
        index = tuple(map(int, np.unravel_index(at, got.shape)))
        named.append(f"{index}: {got.reshape(-1)[at]}, not {wanted.reshape(-1)[at]}")
    more = ["…"] if len(places) > MOST_PLACES else []
    return "".join(f"; {one}" for one in named + more)


def _differences(got: Array, wanted: Array, within: Any) -> Array | None:
    """Return a bool per element, or None if no element differs."""
    if within is None:
        if np.array_equal(all_bytes(got), all_bytes(wanted)):  # the usual case, and the cheapest
            return None
        differs: Array = patterns(got) != patterns(wanted)
        return np.asarray(differs.any(axis=1)) if differs.ndim == 2 else differs
    with np.errstate(invalid="ignore", over="ignore"):
        near: Array = abs(got - wanted) <= within
    near |= (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    return ~near.reshape(-1)


def compare(family: str, got: Any, wanted: Any, within: Any = None) -> None:
    """Raise AssertionError with the first index at which two arrays differ.

    Parameters
    ----------
    family : str
        For the message.
    got, wanted : ndarray
        Must agree in shape and dtype.
    within : ndarray, optional
        The largest absolute error per element; NaN equals NaN then. By default, every byte
        must be the same, so the payload of a NaN and the sign of a zero count.

    Examples
    --------
    >>> import numpy as np
    >>> compare("copy", np.array([1, 2], "u1"), np.array([1, 3], "u1"))
    Traceback (most recent call last):
        ...
    AssertionError: copy: 1 of 2 elements differ, the first at index (1,): got 2 (bytes 02), \
expected 3 (bytes 03)
    """
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{family}: got {type(got).__name__}, expected an ndarray")
    if got.shape != wanted.shape:
        raise AssertionError(f"{family}: got shape {got.shape}, expected {wanted.shape}")
    if got.dtype != wanted.dtype:
        raise AssertionError(f"{family}: got dtype {got.dtype}, expected {wanted.dtype}")
    if got.dtype.itemsize == 0 or got.size == 0:
        return
    differs = _differences(got, wanted, within)
    count = 0 if differs is None else int(np.count_nonzero(differs))
    if differs is not None and count:
        place = int(differs.argmax())
        index = tuple(map(int, np.unravel_index(place, got.shape)))
        raise AssertionError(
            f"{family}: {count} of {got.size} elements differ, the first at index {index}: "
            f"got {_describe(got, place)}, expected {_describe(wanted, place)}"
            f"{_others(got, wanted, differs)}"
        )
