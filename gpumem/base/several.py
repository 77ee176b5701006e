"""Arguments that are one value or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .messages import quoted


def several(name: str, value: Any, one: type | tuple[type, ...], kind: str) -> list[Any]:
    """Return the values of an argument that is one value or an iterable of several.

    Parameters
    ----------
    name : str
        The argument.
    value : object
        What was given.
    one : type or tuple of type
        What a single value is, even if it can be iterated over, such as str.
    kind : str
        What is accepted, in words.

    Raises
    ------
    TypeError
        If it is neither; the message names the argument.
    """
    if isinstance(value, one):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | memoryview):
        try:
            return list(value)
        except TypeError:  # what says that it is iterable and is not, such as a DeviceArray
            pass
    raise TypeError(f"{name} must be {kind}, not {quoted(value)}")


def names_of(name: str, value: Any, kind: str) -> list[str]:
    """Return the names that an argument holds, each once; TypeError if some are no names."""
    found = several(name, value, str, kind)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"{name} must be {kind}, not {quoted(value)}")
    return list(dict.fromkeys(found))
