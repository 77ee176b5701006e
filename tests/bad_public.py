"""The public calls that `bad_calls` tries: the functions of families, and those of arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import small_calls
from bad_calls import Call, plain

import gpumem as gm
from gpumem.families import oracle

HOW = ("variant", "out", "stream", "backend")


def kinds_of(function: Any, **others: str) -> dict[str, str]:
    """Return the parameters of a function and their annotations, or what is said here."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD:
            found[name] = others.get(name, str(parameter.annotation))
    return found


# ---- families ------------------------------------------------------------------------------------


# An array that is too short, or an index that is too large.
CALLED = {"gather": {"a": r"\b(a|index)\b"}, "scatter_add": {"out": r"\b(out|index)\b"}}


def _array(a: Any) -> Any:
    return None if a is None else np.asarray(a)


def _family(family: str, on_device: bool) -> Call:
    function = getattr(gm, family)
    example = small_calls.make(family)
    keywords = {k: v for k, v in example.keywords.items() if k not in HOW}
    in_place = "out" in example.arrays
    kinds = kinds_of(function)
    if on_device:  # other keywords are parsed before it is known where the arrays are
        kept = (*example.arrays, "out", "stream")
        kinds = {name: kind for name, kind in kinds.items() if name in kept}

    errors = (IndexError,) if family in ("gather", "scatter_add", "chase") else ()

    def make() -> Any:
        arguments = {name: a.copy() for name, a in example.arrays.items()}
        if not in_place:
            arguments["out"] = np.zeros_like(example.result)
        if on_device:
            arguments = {k: gm.to_device(a, backend="sim") for k, a in arguments.items()}
        else:
            arguments["backend"] = "sim"
        return function, arguments | keywords

    def check(result: Any, arguments: dict[str, Any]) -> None:
        given = {k: v for k, v in arguments.items() if k in example.arrays or k not in HOW}
        inputs = [_array(given.pop(name)) for name in example.arrays if name in given]
        variant = str(arguments.get("variant", "auto"))
        if family == "transpose" and inputs[0].ndim > 2:  # the oracle knows no stacks
            return np.testing.assert_array_equal(plain(result), np.swapaxes(inputs[0], -1, -2))
        with np.errstate(all="ignore"):
            oracle.check(family, plain(result), *inputs, variant=variant, **given)

    place = "device" if on_device else "host"
    return Call(f"{family} {place}", make, kinds, check, CALLED.get(family, {}), errors)


ON_HOST = [_family(family, False) for family in gm.families()]
ON_DEVICE = [_family(family, True) for family in gm.families()]
