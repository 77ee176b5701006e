"""The family functions: what each operation means, its arguments and its defaults.

A function turns its keywords into the numbers of the family's row and calls the extension
module; everything else (dtypes, shapes, layout, the choice of a variant) is checked there.

Functions that are given arrays hold no closures, and make no tuple of an iterator: where memory
runs out meanwhile, CPython 3.11 keeps the arrays for ever.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from ... import _core
from ...base.messages import unknown
from . import _access, _copy, _layout, _memory, _prefetch, _sgemm, _spaces, _transpose
from ._access import gather, strided_read, strided_write
from ._copy import copy
from ._layout import as_pairs, shift_points
from ._memory import add
from ._prefetch import prefetch_sum
from ._sgemm import matmul, sgemm
from ._spaces import polynomial, sample, static_value
from ._transpose import transpose

__all__ = [
    "add",
    "copy",
    "gather",
    "matmul",
    "polynomial",
    "prefetch_sum",
    "sample",
    "sgemm",
    "shift_points",
    "static_value",
    "strided_read",
    "strided_write",
    "transpose",
]

_MODULES = (_copy, _access, _layout, _spaces, _prefetch, _transpose, _memory, _sgemm)
_PARAMETERS: dict[str, Callable[..., tuple[float, ...]]] = {
    family: convert for module in _MODULES for family, convert in module.PARAMETERS.items()
}


def as_taken(family: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays as the extension module takes them."""
    return tuple(map(as_pairs, arrays)) if family == "shift_points" else arrays


def parameters(family: str, keywords: dict[str, Any]) -> tuple[float, ...]:
    """Return the numbers of a family's row for the keywords of its function.

    Raises
    ------
    TypeError
        If a keyword is unknown; the message names those that the family takes.
    """
    convert = _PARAMETERS[family]
    known = convert.__code__.co_varnames[: convert.__code__.co_argcount]
    for name in keywords:
        if name not in known:
            raise TypeError(unknown(f"{family} has no parameter", name, known, "; its parameters"))
    return convert(**keywords)


# What all functions say alike, where their docstrings have the name in braces.
_COMMON = {
    "call": """\
stream : Stream, int or stream of another library, optional
    The queue that a call on device arrays joins; by default, the default stream.
backend : {"cuda", "sim"}, optional
    Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
    arrays are worked on where they are.""",
    "failures": """\
TypeError
    If an array is a masked one; other subclasses of ndarray are taken as plain arrays.
ValueError
    If `out` shares a byte with an input, whichever variant, or if that is too hard to decide:
    views that lie between each other's elements are taken.
UnavailableError
    If the backend or the variant is not here.
CudaError, MemoryError
    If the device fails, or has too little free memory.""",
}


def _variant_list(family: dict[str, Any]) -> str:
    rows = "\n".join(f"``{row['name']}``\n    {row['doc']}" for row in family["variants"])
    return f"The variants, each with the idea that it adds:\n\n{rows}"


def _complete_docstrings() -> None:
    """Put in what is common, and each family's rows where its docstring says ``{variants}``."""
    families = {family["name"]: family for family in _core.families()}
    for name in __all__:
        doc = globals()[name].__doc__
        if not doc:  # python -OO
            continue
        parts = _COMMON | ({"variants": _variant_list(families[name])} if name in families else {})
        for mark, text in parts.items():
            at = doc.find(f"{{{mark}}}")
            if at >= 0:
                indent = doc[doc.rfind("\n", 0, at) + 1 : at]  # none at all from Python 3.13 on
                body = textwrap.indent(text, indent)[len(indent) :]
                doc = doc[:at] + body + doc[at + len(mark) + 2 :]
        globals()[name].__doc__ = doc


_complete_docstrings()
