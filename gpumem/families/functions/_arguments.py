"""Keywords as the integers and floats of a family's row; what is none is refused by name."""

from __future__ import annotations

import operator
from typing import Any

from ...base.messages import quoted


def _index(name: str, value: Any, kind: str = "an integer") -> int:
    """Return an int for what counts as one; a bool does not."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be {kind}, not bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be {kind}, not {type(value).__name__}") from None


def count(name: str, value: Any) -> int:
    """Return an integer of at least 1; the row of the family knows the most."""
    number = _index(name, value, "an integer or None")
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def integer(name: str, value: Any) -> int:
    """Return any integer; slices cut off what is past the ends, and so do 64 bits."""
    return max(-(2**63), min(_index(name, value), 2**63 - 1))


def real(name: str, value: Any) -> float:
    """Return a float; text, truth values, complex numbers and arrays are none."""
    dtype = getattr(value, "dtype", None)
    plain = dtype is None or (dtype.kind in "iuf" and value.ndim == 0)
    if isinstance(value, bool | complex | str | bytes | bytearray) or not plain:
        raise TypeError(f"{name} must be a float, not {type(value).__name__}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a float, not {type(value).__name__}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def integer_within(name: str, value: Any, least: int, most: int, kind: str = "an integer") -> int:
    """Return an integer in a range; `kind` says in words what else would be taken."""
    number = _index(name, value, kind)
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}, expected {least} to {most}")
    return number


def flag(name: str, value: Any) -> int:
    if getattr(value, "dtype", None) != "bool" and not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {quoted(value)}")
    return int(value)


def none() -> tuple[()]:
    """The row of a family whose function has no keywords of its own."""
    return ()
