"""What a record and a provenance have to be, whoever wrote the file that they come from."""

from __future__ import annotations

import math
from typing import Any

from .messages import quoted
from .record import FIELDS

_MOST_DEEP = 8  # lists and dicts in each other, in a provenance
_TEXTS = ("family", "variant", "dtype")
_OPTIONAL_TEXTS = ("ran", "backend", "cache", "reason", "source")
_OF_DEVICE = ("multiprocessors", "_gbps", "_tflops", "_bytes", "_khz", "_bits")  # ends of names
_NUMBERS = tuple(
    "bytes flops median_ms min_ms p20_ms p80_ms samples gbps tflops fraction_of_peak "
    "fraction_of_reference clock_mhz power_w temperature_c".split()
)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False


def _is_simple(value: Any) -> bool:
    """Whether it is what a parameter may be: None, a number, a word, or a few of these."""
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
        if isinstance(side, bool) or not isinstance(side, int) or side < 0:
            raise ValueError(f"shape has {quoted(side)}, expected integers of at least 0")
    throttled = record.get("throttled")
    words = [] if throttled is None else throttled
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"throttled is {quoted(throttled)}, expected a list of words or null")


def whole_record(record: Any) -> dict[str, Any]:
    """Return a record with all of its fields, None where it says nothing; ValueError if it is none.

    The message names the field, what it is, and what it should be.
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
    return dict.fromkeys(FIELDS) | record | {"parameters": parameters}


def _depth(value: Any) -> int:
    """How many lists and dicts are in each other; told of no more than what is too many."""
    level, depth = [value], 0
    while level and depth <= _MOST_DEEP:
        inner = [one for one in level if isinstance(one, list | dict)]
        level = [x for one in inner for x in (one.values() if isinstance(one, dict) else one)]
        depth += bool(inner)
        if not inner:
            break
    return depth


def _check_figures(what: str, part: dict[str, Any], numbers: tuple[str, ...]) -> None:
    for key, value in part.items():
        if value is not None and key.endswith(numbers) and not _is_number(value):
            raise ValueError(f"{key} of {what} is {quoted(value)}, expected a number or null")


def whole_provenance(told: Any) -> dict[str, Any]:
    """Return a provenance; ValueError, which names the part, if it is none."""
    if not isinstance(told, dict):
        raise ValueError(f"provenance is {quoted(told)}, expected names with values")
    if _depth(told) > _MOST_DEEP:
        raise ValueError("provenance is nested too deeply")
    for key in ("device", "settings", "sources"):
        part = told.get(key)
        if part is not None and not isinstance(part, dict):
            raise ValueError(f"{key} is {quoted(part)}, expected names with values or null")
    _check_figures("device", told.get("device") or {}, _OF_DEVICE)
    _check_figures("settings", told.get("settings") or {}, ("within",))
    for source in (told.get("sources") or {}).values():
        whole_provenance(source)
    return dict(told)
