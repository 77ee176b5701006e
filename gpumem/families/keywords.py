"""Checks keyword arguments and converts them to the numbers that the extension module takes.

Every function names the keyword in its error message. TypeError means the wrong type, ValueError
a number out of range.
"""

from __future__ import annotations

import operator
from typing import Any

from ..base.messages import quoted

_LEAST, _MOST = -(2**63), 2**63 - 1  # of 64 bits


def _index(name: str, value: Any, kind: str = "an integer") -> int:
    """Return an integer of any type as an int; a bool is refused."""
    if type(value) is int:
        return value
    if isinstance(value, bool):
        raise TypeError(f"{name} must be {kind}, not bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be {kind}, not {type(value).__name__}") from None


def count(name: str, value: Any) -> int:
    """Return an integer from 1 to 2**31 - 1."""
    number = _index(name, value, "an integer or None")
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    if number >= 2**31:
        raise ValueError(f"{name} must be less than 2**31, not {quoted(number)}")
    return number


def integer(name: str, value: Any) -> int:
    """Return an integer, clamped to 64 bits; a slice clamps it to the array anyway."""
    if type(value) is int and _LEAST <= value <= _MOST:
        return value
    return max(_LEAST, min(_index(name, value), _MOST))


def integer_within(name: str, value: Any, least: int, most: int, kind: str = "an integer") -> int:
    """Return an integer of a range; `kind` says in the message what else is accepted."""
    number = _index(name, value, kind)
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}, expected {least} to {most}")
    return number


def _is_real(value: Any) -> bool:
    """Return whether float() takes a value, and as the number that it is."""
    dtype = getattr(value, "dtype", None)
    plain = dtype is None or (getattr(dtype, "kind", None) in ("i", "u", "f") and value.ndim == 0)
    # float() would read the text in what has neither, a memoryview for one.
    number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    return number and plain and not isinstance(value, bool | complex)


def real(name: str, value: Any) -> float:
    """Return a number as a float; text, bool, complex numbers and arrays are refused."""
    if type(value) is float:
        return value
    if type(value) is not int and not _is_real(value):
        raise TypeError(f"{name} must be a float, not {type(value).__name__}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a float, not {type(value).__name__}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def flag(name: str, value: Any) -> int:
    """Return 1 for True and 0 for False; nothing else is accepted."""
    if value is False:
        return 0
    if getattr(value, "dtype", None) != "bool" and not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {quoted(value)}")
    return int(value)


PRECISIONS = ("highest", "high")


def precision(value: Any) -> int:
    """Return the place of the name of a precision."""
    if type(value) is str and value == "highest":
        return 0
    if not isinstance(value, str):
        raise TypeError(f"precision must be a str, not {type(value).__name__}")
    if value not in PRECISIONS:
        raise ValueError(f'precision is {quoted(value)}, expected "highest" or "high"')
    return PRECISIONS.index(value)
