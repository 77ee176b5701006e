"""The calls of `bad_calls` to gpumem.distributed, by a single rank; they need mpi4py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bad_arrays import nothing
from bad_calls import Call

SHARING = "Sharing | None"
A = np.arange(16, dtype="f4").reshape(4, 4)


def _call(name: str, kinds: dict[str, str], **more: Any) -> Call:
    """A call of a function of gpumem.distributed, on rows that one rank has."""
    given = more.pop("given", {})

    def make() -> tuple[Callable[..., Any], dict[str, Any]]:
        import gpumem.distributed as gmd

        good = dict(given)
        for key, value in given.items():
            if value is SHARED:
                good[key] = gmd.Rows(A.copy())
        return getattr(gmd, name), good

    return Call(f"distributed.{name}", make, kinds, nothing, **more)


def _sharing(name: str, kinds: dict[str, str], **given: Any) -> Call:
    """An array that is shared out so."""

    def share(**arguments: Any) -> None:
        import gpumem.distributed as gmd

        gmd.scatter(A, to=getattr(gmd, name)(**arguments))

    return Call(f"distributed.{name}", lambda: (share, dict(given)), kinds, nothing)


SHARED = object()
CALLS = [
    _call("Rows", {"local": "Local", "comm": "Comm | None"}, given={"local": A}),
    _call("Columns", {"local": "Local", "comm": "Comm | None"}, given={"local": A}),
    _sharing("Split", {"axis": "int", "counts": "Numbers | None"}),
    _sharing("Blocks", {"rows": "int", "columns": "int"}, rows=1, columns=1),
    _sharing("OnRank", {"rank": "int"}),
    _call(
        "scatter",
        {"a": "Local", "comm": "Comm | None", "root": "int", "to": SHARING},
        given={"a": A},
    ),
    _call("gather", {"x": "Shared", "root": "int | None"}, given={"x": SHARED}),
    _call("copy", {"x": "Shared", "to": SHARING}, given={"x": SHARED}),
    _call("transpose", {"x": "Shared", "to": SHARING}, given={"x": SHARED}),
    _call("permute", {"x": "Shared", "axes": "Axes | None", "to": SHARING}, given={"x": SHARED}),
    _call(
        "matmul",
        {"x": "Shared", "w": "Local", "to": SHARING, "precision": "str"},
        given={"x": SHARED, "w": A},
    ),
]
