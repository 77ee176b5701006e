"""Results of benchmarks that are shipped with gpumem, each with its provenance.

>>> import gpumem as gm
>>> gm.results.names()  # doctest: +SKIP
['copy-h200']
>>> print(gm.results.load("copy-h200"))  # doctest: +SKIP
"""

from __future__ import annotations

import os

from ..bench import BenchResult

__all__ = ["load", "names"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def names() -> list[str]:
    """Return the names of the results that are shipped."""
    return sorted(name[:-5] for name in os.listdir(_HERE) if name.endswith(".json"))


def load(name: str | os.PathLike[str]) -> BenchResult:
    """Return a result.

    Parameters
    ----------
    name : str or path
        One of :func:`names`, or a file that :meth:`BenchResult.to_json` wrote.

    Raises
    ------
    ValueError
        If there is no such result; the message lists those there are.
    """
    known = names()
    if name in known:
        return BenchResult.from_json(os.path.join(_HERE, f"{name}.json"))
    if not os.path.exists(name):
        listed = ", ".join(known) or "none"
        raise ValueError(f"there is no result {os.fspath(name)!r}; shipped are: {listed}")
    return BenchResult.from_json(name)
