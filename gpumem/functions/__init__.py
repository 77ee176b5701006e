"""The family functions: what each operation means, its arguments and its defaults.

A function turns its keywords into the numbers of the family's row and calls the extension
module; everything else (dtypes, shapes, layout, the choice of a variant) is checked there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
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
            takes = ", ".join(known) or "none"
            raise TypeError(f"{family} has no parameter {name!r}; its parameters: {takes}")
    return convert(**keywords)


def _write_variants_into_docstrings() -> None:
    """Put each family's rows where its docstring says ``{variants}``."""
    for family in _core.families():
        function = globals().get(family["name"])
        if function is None or not function.__doc__:
            continue
        head, mark, tail = function.__doc__.partition("{variants}")
        if mark:
            indent = head[head.rfind("\n") + 1 :]
            rows = [f"``{row['name']}``\n{indent}    {row['doc']}" for row in family["variants"]]
            function.__doc__ = head + f"\n{indent}".join(rows) + tail


_write_variants_into_docstrings()
