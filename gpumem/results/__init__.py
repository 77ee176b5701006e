"""Results of benchmarks that are shipped with gpumem, each with its provenance.

The module is also a mapping from names to results:

>>> import gpumem as gm
>>> "copy-h200" in gm.results
True
>>> print(gm.results["copy-h200"])  # doctest: +ELLIPSIS
NVIDIA H200, gpumem ...
>>> figure = gm.results.for_family("copy").filter(variant="auto").plot("size")
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from types import ModuleType

from ..base.bench_result import BenchResult
from ..base.messages import unknown
from ..families.table import families as _families
from ..families.table import variants

__all__ = ["families", "for_family", "load", "names"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def names() -> list[str]:
    """Return the names of the results that are shipped.

    Examples
    --------
    >>> import gpumem as gm
    >>> "copy-h200" in gm.results.names()
    True
    """
    return sorted(name[:-5] for name in os.listdir(_HERE) if name.endswith(".json"))


def _unknown(name: object) -> str:
    return unknown("there is no result", name, names(), "; shipped are")


def load(name: str | os.PathLike[str]) -> BenchResult:
    """Return a result.

    Parameters
    ----------
    name : str or path
        One of :func:`names`, or a file that :meth:`BenchResult.to_json` wrote.

    Raises
    ------
    ValueError
        If there is no such result, with those there are; or the file holds none.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.results.load("copy-h200")
    <gpumem benchmark of copy: ... records>
    """
    known = names()
    if name in known:
        return BenchResult.from_json(os.path.join(_HERE, f"{name}.json"))
    if not os.path.exists(name):
        raise ValueError(_unknown(os.fsdecode(name)))
    return BenchResult.from_json(os.fspath(name))


@functools.cache
def _measured() -> dict[str, list[str]]:
    """The names of the results by family; what stands beside as a reference does not count."""
    found: dict[str, list[str]] = {}
    known = _families()
    for name in names():
        timed = {r["family"] for r in load(name).records if r["variant"] == "auto"}
        # A sweep may go without; the reference of another family comes last.
        timed = timed or {r["family"] for r in load(name).records[:1]}
        for family in timed & set(known):
            found.setdefault(family, []).append(name)
    return found


def families() -> tuple[str, ...]:
    """Return the families of which results are shipped.

    Examples
    --------
    >>> import gpumem as gm
    >>> "copy" in gm.results.families()
    True
    """
    return tuple(_measured())


def for_family(family: str) -> BenchResult:
    """Return all that is shipped of a family, the reference beside it included, as one result.

    Parameters
    ----------
    family : str
        Such as "copy".

    Returns
    -------
    BenchResult
        Without a record if nothing was measured; see :meth:`BenchResult.merge` where there are
        several.

    Raises
    ------
    ValueError
        If there is no such family.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.results.for_family("copy")
    <gpumem benchmark of copy: ... records>
    """
    variants(family)
    return BenchResult.merge({name: load(name) for name in _measured().get(family, ())})


class _Mapping(ModuleType):
    """The module, to be asked like a mapping."""

    def __getitem__(self, name: str) -> BenchResult:
        if name not in names():
            raise KeyError(_unknown(name))
        return load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(names())

    def __len__(self) -> int:
        return len(names())

    def __contains__(self, name: object) -> bool:
        return name in names()


sys.modules[__name__].__class__ = _Mapping
