"""What the notebooks share: which results they show, and which records of these.

With a GPU, the notebook measures while it runs; without one, it shows shipped results. With
GPUMEM_NOTEBOOK_QUICK=1 it measures less, for a run of all notebooks. gpumem itself draws the
figures: ``BenchResult.plot`` and ``Traffic.draw``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from IPython.display import Code, Markdown, display

import gpumem as gm
from gpumem.base import provenance
from gpumem.base.sizes import format_bytes
from gpumem.report.plots import STYLES, byte_axis
from gpumem.results import of_tools

__all__ = [
    "STYLES",
    "byte_axis",
    "format_bytes",
    "measured",
    "measured_kernels",
    "newest_of_tool",
    "of_tool",
    "origin",
    "records",
    "say",
    "source",
    "timed",
    "variant",
]

ROOT = Path(__file__).resolve().parent.parent
QUICK = os.environ.get("GPUMEM_NOTEBOOK_QUICK", "") not in ("", "0")
LIVE = gm.backend() == "cuda"

Record = dict[str, Any]


def say(text: str) -> None:
    """Show Markdown text."""
    display(Markdown(text))


def source(what: gm.Variant | str) -> Code:
    """Return the source of a variant, or of a file given by its path in the repository."""
    return Code(filename=str(ROOT / (what if isinstance(what, str) else what.source)))


def variant(family: str, name: str) -> gm.Variant:
    """Return a variant by its name."""
    return next(one for one in gm.variants(family) if one.name == name)


def origin(result: gm.BenchResult) -> str:
    """Return which device was measured, when, and with which code."""
    return provenance.origin(result.provenance)


def measured(
    shipped: str, family: str, quick: dict[str, Any] | None = None, **arguments: Any
) -> gm.BenchResult:
    """Return results of this machine's GPU, or shipped ones; a banner says which.

    Parameters
    ----------
    shipped : str
        The name of the result in ``gm.results``.
    family : str
        The family that ``gm.bench`` measures.
    quick : dict, optional
        Arguments for a short run.
    **arguments
        Of ``gm.bench``.
    """
    if LIVE:
        return _measured_now(family, quick=quick, **arguments)
    return _shipped(shipped)


def measured_kernels(
    shipped: str, launch: Any, *arguments: Any, **keywords: Any
) -> gm.BenchResult | None:
    """Return times of a user's kernel, and of what is measured against it, as `measured` does.

    None if there is no GPU and nothing is shipped: a line says so.

    Parameters
    ----------
    shipped : str
        The name of the result in ``gm.results``.
    launch : Launch
        The kernel with its grid.
    *arguments
        Of the kernel.
    **keywords
        Of ``gm.bench``.
    """
    why = gm.info()["reason"]
    if LIVE:
        try:
            return _measured_now(launch, *arguments, **keywords)
        except gm.UnavailableError as error:  # nothing here compiles kernels for the GPU
            why = str(error)
    if shipped in gm.results:
        return _shipped(shipped)
    say(f"> **No times here:** times need a GPU, and none are shipped. Here: {why}.")
    return None


def of_tool(shipped: str, tool: str) -> dict[str, Any] | None:
    """Return what a tool has found on an H200, None if that is not shipped.

    Parameters
    ----------
    shipped : str
        The name of its file in gpumem/results/tools.
    tool : str
        The program in tools/ that measures it on another GPU.
    """
    found = of_tools.load(shipped)
    if found:
        told = provenance.origin(found["provenance"])
        say(f"> **Found by `tools/{tool}`:** {told}. With `--json FILE` it measures another GPU.")
    return found


def newest_of_tool(what: str, tool: str) -> dict[str, Any] | None:
    """Return the newest of what a tool has found, on any GPU; None, and say so, if none is shipped.

    Parameters
    ----------
    what : str
        Such as "stalls": what the names of its files in gpumem/results/tools begin with.
    tool : str
        The program in tools/ that measures it.
    """
    found = of_tools.newest(what)
    if found:
        told = provenance.origin(found["provenance"])
        say(f"> **Found by `tools/{tool}`:** {told}. With `--json FILE` it measures another GPU.")
    else:
        say(f"> **Not measured yet:** gpumem ships no result of `tools/{tool}`, which needs a GPU.")
    return found


def _measured_now(
    what: Any, *arguments: Any, quick: dict[str, Any] | None = None, **keywords: Any
) -> gm.BenchResult:
    if QUICK:
        keywords |= {"samples": (3, 5), "budget": 0.02} | (quick or {})
    result = gm.bench(what, *arguments, **keywords)
    say(f"> **Measured just now:** {origin(result)}.")
    return result


def _shipped(name: str) -> gm.BenchResult:
    result = gm.results.load(name)
    why = gm.info()["reason"]
    say(f"> **Shipped figures, not of this machine:** {origin(result)}. Here: {why}.")
    return result


def records(result: gm.BenchResult, variants: Iterable[str] = (), **where: Any) -> list[Record]:
    """Return the timed records of these variants, in this order, that match all of `where`."""
    names = list(variants)
    found = [
        one
        for one in result.records
        if one["median_ms"] is not None
        and all(one[key] == value for key, value in where.items())
        and (not names or one["variant"] in names)
    ]
    return sorted(found, key=lambda one: names.index(one["variant"])) if names else found


def timed(result: gm.BenchResult, variants: Iterable[str], **where: Any) -> list[str]:
    """Return those of these variants that have a time, by the names that the result has."""
    there = {one["variant"] for one in records(result, **where)}
    families = dict.fromkeys(one["family"] for one in result.records)
    names = {row.name: row.names for family in families for row in gm.variants(family)}
    found = [[one for one in names.get(name, (name,)) if one in there] for name in variants]
    return [one[0] for one in found if one]
