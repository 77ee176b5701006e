"""The explanation of one kernel: a table and a paragraph."""

from __future__ import annotations

import os
from typing import Any, overload

from ... import _core
from ...base.messages import quoted
from ...base.result import BenchResult, load_result
from ...base.sizes import check_shape
from ...families import oracle
from ...families.keywords import flag
from ...families.table import Variant, find, resolve
from ...measure.bench import bench
from ...modules.kernel import refuse_kernel
from ...modules.launch import Launch
from ...results import RESULTS
from . import _words
from ._figures import Counted, Measured, Shape, counted, keywords_of, measured
from ._kernel import KernelExplanation, explain_kernel
from ._layout import as_markdown, as_text, traffic_cells
from ._rules import limit
from ._stalls import NOT_MEASURED, stalls_of
from ._words import share

__all__ = ["Explanation", "explain"]


class Explanation:
    """One kernel, explained; made by :func:`explain`. Printed, it is a table and a paragraph.

    Attributes
    ----------
    variant : Variant
        Which kernel.
    traffic : Traffic or None
        What the simulator counted; None if it cannot run the kernel.
    traffic_reason : str or None
        Why not.
    traffic_where : str or None
        The shape and the dtype that were simulated.
    record : dict or None
        The record of a benchmark with the figures; None if nothing was measured.
    origin : str or None
        Where and when it was measured: device, date and commit.
    live : bool
        Whether it was measured by this call.
    stalls : dict or None
        What its warps waited for and how often the caches hit, by Nsight Compute, where shipped.
    paragraph : str
        The explanation in words.

    Examples
    --------
    >>> import gpumem as gm
    >>> found = gm.explain("copy", "vec4")
    >>> found.variant.follows, found.traffic_where
    ('vec2', '1048576 float32')
    """

    def __init__(
        self, variant: Variant, counts: Counted, figures: Measured | None, paragraph: str
    ) -> None:
        self.variant = variant
        self.traffic = counts.traffic
        self.traffic_reason = counts.reason
        self.traffic_where = counts.where
        self.record = figures.record.to_dict() if figures else None
        self.origin = figures.origin if figures else None
        self.live = bool(figures and figures.live)
        self.paragraph = paragraph
        self._measured = figures
        self._stalls = stalls_of(variant)
        self.stalls = self._stalls.figures if self._stalls else None

    def _cells(self) -> list[tuple[str, str]]:
        """Return the rows of the table."""
        cells = [("idea", self.variant.doc)]
        if self.variant.follows:
            cells.append(("follows", self.variant.follows))
        if self.variant.requires:
            cells.append(("needs", self.variant.requires))
        if self._measured is not None:
            cells += _figure_cells(self._measured)
        if self.traffic is not None and self.traffic.requests:
            cells.append(("simulated", self.traffic_where or ""))
            cells += traffic_cells(self.traffic)
        if self._stalls is not None:
            cells += self._stalls.cells()
        elif self.variant.source.endswith(".cu"):
            cells.append(NOT_MEASURED)
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.explain("copy", "vec4").to_dict()["follows"]
        'vec2'
        """
        return {
            "family": self.variant.family,
            "variant": self.variant.name,
            "doc": self.variant.doc,
            "follows": self.variant.follows,
            "requires": self.variant.requires,
            "record": self.record,
            "origin": self.origin,
            "live": self.live,
            "traffic": self.traffic.to_dict() if self.traffic else None,
            "traffic_reason": self.traffic_reason,
            "traffic_where": self.traffic_where,
            "stalls": self.stalls,
            "paragraph": self.paragraph,
        }

    def _repr_markdown_(self) -> str:
        return as_markdown(str(self.variant), self._cells(), self.paragraph)

    def __repr__(self) -> str:
        return f"<gpumem explanation of {self.variant}>"

    def __str__(self) -> str:
        return as_text(str(self.variant), self._cells(), self.paragraph)


def _figure_cells(measured: Measured) -> list[tuple[str, str]]:
    """Return what was measured, and the largest share of a peak that it reaches."""
    record = measured.record
    label = "measured now" if measured.live else "measured"
    cells = [(label, f"{_words.reached(record)}, {record.size}; {measured.origin}")]
    if not record.is_launch:
        part, peak = record.fraction_of_peak or 0.0, "of bandwidth"
        if record.tflops is not None:
            part, peak = max((part, "of FP32 peak"), (measured.bandwidth or 0.0, peak))
        cells += [(peak, share(part))] if part else []
    return cells


def _measure_now(variant: Variant, shape: Shape | None) -> BenchResult:
    """Measure a variant and the one that it follows, on the GPU."""
    _core.backend("cuda")
    reason = variant.reason_on("cuda")
    if reason:
        raise _core.UnavailableError(f"{variant}: {reason}")
    names = [variant.name, *([variant.follows] if variant.follows else [])]
    dtype = oracle.dtype_of(variant)
    where: dict[str, Any] = {"shapes": [shape]} if shape else {"sizes": "64M"}
    return bench(variant.family, names, dtype=dtype, backend="cuda", **where)


def _followed(variant: Variant, shape: Shape | None, keywords: dict[str, Any]) -> Counted | None:
    """Count the variant that this one follows; None if it does not take the shape."""
    if variant.follows is None:
        return None
    try:
        return counted(find(variant.family, variant.follows), shape, keywords)
    except ValueError:
        return None


def _no_time(variant: Variant, shape: Shape | None, result: BenchResult | None) -> str:
    """Say that there is no time, and why; a result that was chosen may know the reason."""
    if result is None:
        return "gpumem ships no time for it, and none was measured now."
    at = f" at {'x'.join(map(str, shape))}" if shape is not None else ""
    reasons = [row.reason for row in result.filter(variant=list(variant.names)).rows if row.reason]
    why = f": {reasons[0]}" if reasons else ""
    return f"The results have no time for it{at}{why}."


@overload
def explain(
    family: str,
    variant: str | Variant,
    shape: int | tuple[int, ...] | None = None,
    results: BenchResult | str | os.PathLike[str] | None = None,
    *,
    live: bool = False,
) -> Explanation: ...


@overload
def explain(family: Launch, *args: Any) -> KernelExplanation: ...


def explain(family: Any, *args: Any, **keywords: Any) -> Explanation | KernelExplanation:
    """Explain in words what a kernel asks of memory, and how fast that makes it.

    Parameters
    ----------
    family : str or Launch
        Such as "transpose"; or a user's kernel with its grid, ``kernel[grid, block]``, which the
        kernel's arguments follow and nothing else.
    variant : str or Variant
        Such as "tile".
    shape : int or tuple of int, optional
        The shape that was measured, and that is simulated unless it is too large. By default, the
        largest that was measured, and the one that shows the family's traffic best.
    results : BenchResult, str or path, optional
        Where to look for figures; by default, in the shipped results (``gpumem.results``).
    live : bool
        Measure the variant and the one that it follows now, which needs a GPU.

    Returns
    -------
    Explanation or KernelExplanation
        To be printed, or shown by a notebook.

    Raises
    ------
    ValueError
        If there is no such family, variant or result, or the variant does not take that shape.
    TypeError
        If a family is given without a variant.
    UnavailableError
        If `live` is given without a GPU, or the variant is not available on it.

    Notes
    -----
    Requests, sectors and passes are counted on the simulator; times are measured, on the machine
    that the text names. If several parameters were measured, both are for those that are closest
    to a call's defaults, and for the fastest of these. What the counts say about the times is a
    rule of thumb: it names sectors or bank conflicts if there are more than the data need, and
    names no cause that was not counted. What warps waited for, and how often the caches hit, is
    from the counters of a GPU, if gpumem ships them.

    Examples
    --------
    >>> import gpumem as gm
    >>> print(gm.explain("transpose", "tile"))  # doctest: +ELLIPSIS
    transpose-tile
    ...
    """
    refuse_kernel(family)
    if isinstance(family, Launch):
        return explain_kernel(family, *args, **keywords)
    if not args and "variant" not in keywords:
        raise TypeError(f"explain of a family needs a variant: explain({quoted(family)}, ...)")
    return _explain_variant(family, *args, **keywords)


def _explain_variant(
    family: str,
    variant: str | Variant,
    shape: int | tuple[int, ...] | None = None,
    results: BenchResult | str | os.PathLike[str] | None = None,
    *,
    live: bool = False,
) -> Explanation:
    row = find(family, resolve(family, variant))
    side = None if shape is None else check_shape(shape, oracle.dtype_for(family).itemsize)
    if flag("live", live):
        found = _measure_now(row, side)
    elif results is None:
        found = RESULTS.for_family(row.family)
    else:
        found = load_result("results", results)
    figures = measured(found, row, side, live)
    keywords = keywords_of(row.family, figures.record if figures else None)
    counts = counted(row, side, keywords)
    follows = _followed(row, side, keywords) if counts.traffic is not None else None
    said = [f"{row}: {row.doc}.", *_words.counts(counts, follows)]
    if figures is not None:
        said += [_words.figures(row, figures), limit(counts, figures)]
    else:
        chosen = side is not None or results is not None or live
        said.append(_no_time(row, side, found if chosen else None))
    said.append(_words.next_on_the_ladder(row))
    return Explanation(row, counts, figures, " ".join(one for one in said if one))
