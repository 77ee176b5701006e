"""Checks of records and provenances that are read from a file."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from .messages import quoted
from .record import FIELDS, Record, order_of

_MOST_WHOLE = 2**63
_MOST_DEEP = 8  # nested lists and dicts of a provenance
_DEVICE_NUMBERS = ("multiprocessors", "_gbps", "_tflops", "_bytes", "_khz", "_bits")  # suffixes


def _fields_of(*types: str) -> tuple[str, ...]:
    """Return the fields of a record with these annotations."""
    return tuple(one.name for one in fields(Record) if one.type in types)


_TEXTS = _fields_of("str")
_OPTIONAL_TEXTS = _fields_of("str | None")
_NUMBERS = _fields_of("int | None", "float | None")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # NumPy, which draws them, makes objects of larger integers.
    return abs(value) < _MOST_WHOLE if isinstance(value, int) else math.isfinite(value)


def _is_simple(value: Any) -> bool:
    """Return whether a parameter may be this: None, a number, a word, or a list of these."""
    listed = value if isinstance(value, list) else [value]
    return all(one is None or isinstance(one, bool | str) or _is_number(one) for one in listed)


def _check_fields(record: dict[str, Any]) -> None:
    for key in _NUMBERS:
        value = record.get(key)
        if value is not None and not (_is_number(value) and value >= 0):
            raise ValueError(f"{key} is {quoted(value)}, expected a number of at least 0 or null")
    for key in _OPTIONAL_TEXTS:
        if not isinstance(record.get(key), str | None):
            raise ValueError(f"{key} is {quoted(record[key])}, expected text or null")
    for side in record["shape"]:
        if not isinstance(side, int) or not _is_number(side) or side < 0:
            raise ValueError(f"shape has {quoted(side)}, expected integers of at least 0")
    throttled = record.get("throttled")
    words = [] if throttled is None else throttled
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"throttled is {quoted(throttled)}, expected a list of words or null")


def whole_record(record: Any) -> dict[str, Any]:
    """Return a record with all of its fields; those that it lacks are None, but for the order.

    Raises
    ------
    ValueError
        If it is not a record; the message names the field, what it is, and what it should be.
    """
    if not isinstance(record, dict) or not isinstance(record.get("shape"), list):
        raise ValueError(f"{quoted(record)} is not a record")
    if not all(isinstance(record.get(key), str) for key in _TEXTS):
        raise ValueError(f"{quoted(record)} does not say what was measured")
    _check_fields(record)
    parameters = record.get("parameters")
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, dict) or not all(map(_is_simple, parameters.values())):
        raise ValueError(f"parameters are {quoted(parameters)}, not names with values")
    known = {"parameters": parameters, "order": order_of(record)}
    return dict.fromkeys(FIELDS) | record | known


def _depth(value: Any) -> int:
    """Return how deeply lists and dicts are nested, counted up to one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= _MOST_DEEP:
        inner = [one for one in level if isinstance(one, list | dict)]
        level = [x for one in inner for x in (one.values() if isinstance(one, dict) else one)]
        depth += bool(inner)
        if not inner:
            break
    return depth


def _check_numbers(what: str, part: dict[str, Any], suffixes: tuple[str, ...]) -> None:
    for key, value in part.items():
        if value is not None and key.endswith(suffixes) and not _is_number(value):
            raise ValueError(f"{key} of {what} is {quoted(value)}, expected a number or null")


def whole_provenance(provenance: Any) -> dict[str, Any]:
    """Return a provenance.

    Raises
    ------
    ValueError
        If it is not a provenance; the message names the part.
    """
    if not isinstance(provenance, dict):
        raise ValueError(f"provenance is {quoted(provenance)}, expected names with values")
    if _depth(provenance) > _MOST_DEEP:
        raise ValueError("provenance is nested too deeply")
    for key in ("device", "settings", "sources"):
        part = provenance.get(key)
        if part is not None and not isinstance(part, dict):
            raise ValueError(f"{key} is {quoted(part)}, expected names with values or null")
    _check_numbers("device", provenance.get("device") or {}, _DEVICE_NUMBERS)
    _check_numbers("settings", provenance.get("settings") or {}, ("within",))
    for source in (provenance.get("sources") or {}).values():
        whole_provenance(source)
    return dict(provenance)
