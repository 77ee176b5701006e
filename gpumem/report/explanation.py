"""One kernel in words: what it asks of memory, what was measured, and what follows from both.

The words come from rules on counts and figures; no sentence is about one kernel.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

from .. import _core
from .. import results as shipped
from ..base.bench_result import BenchResult, is_launch, origin, provenance_of, size_label
from ..base.sizes import check_shape, format_bytes, format_table, text_width
from ..count.traffic import SECTOR, Access, Traffic, traffic
from ..families import oracle, table
from ..families.table import Variant, find, resolve, variants
from ..measure.bench import bench

__all__ = ["Explanation", "explain"]

_ALIKE = 0.02  # what differs by less is told as the same
_FULL = 0.75  # of the peak: nothing much is left
_COPY = 0.9  # of the driver's copy: neither
_MOSTLY = 0.5  # of a bound: it explains what is missing
_LARGEST = 2**26  # bytes of all arrays up to which a shape is simulated as it is
_ENGINE = 128  # bits: more than a thread can move at once


class _Measured(NamedTuple):
    record: dict[str, Any]
    where: str
    live: bool
    below: dict[str, Any] | None  # the rung that it follows, in the same circumstances
    reference: str | None
    bandwidth: float | None  # reached, as a share of the device's peak
    peak_gbps: float | None
    balance: float | None  # operations in the time of a byte, at the device's peaks


# ---- figures ------------------------------------------------------------------------------


def _matching(
    result: BenchResult, row: Variant, shape: tuple[int, ...] | None, like: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Records of a variant that have a time; `like` is one to agree with."""
    found = []
    for record in result.records:
        if (record["family"], record["variant"]) != (row.family, row.name):
            continue
        if not record["median_ms"] or (shape is not None and tuple(record["shape"]) != shape):
            continue
        if like is not None:
            # Parameters that mean nothing to one of the two are not in its record.
            mine, other = record["parameters"] or {}, like["parameters"] or {}
            if any(record[key] != like[key] for key in ("shape", "dtype", "cache")):
                continue
            if any(other[name] != value for name, value in mine.items() if name in other):
                continue
        found.append(record)
    return found


def _rate(record: dict[str, Any]) -> tuple[float, str]:
    if record["tflops"] is not None:
        return record["tflops"], "TFLOP/s"
    return record["gbps"], "GB/s"


def _keywords(family: str, record: dict[str, Any] | None) -> dict[str, Any]:
    """The parameters of a record, if the family's function still has them."""
    found = dict(record["parameters"] or {}) if record else {}
    try:
        table.parameters(family, found)
    except (TypeError, ValueError):
        return {}
    return found


def _usual(family: str, record: dict[str, Any]) -> int:
    """How many of a record's parameters are what they are by default."""
    usual = table.parameters(family, {})
    mine = table.parameters(family, _keywords(family, record))
    return sum(a == b for a, b in zip(usual, mine, strict=True))


def _measured(
    result: BenchResult, row: Variant, shape: tuple[int, ...] | None, live: bool
) -> _Measured | None:
    """The figure that tells most: of the largest arrays, not in the cache.

    Of its parameters those that are nearest to what a call has by default, and then the best.
    """
    found = _matching(result, row, shape, None)
    if not found:
        return None
    cold = [one for one in found if one["cache"] == "cold"] or found
    # Not by bytes moved: a parameter may have fewer of them move.
    most = max(math.prod(one["shape"]) for one in cold)
    large = [one for one in cold if math.prod(one["shape"]) == most]
    record = max(large, key=lambda one: (_usual(row.family, one), _rate(one)[0]))
    told = provenance_of(result, record)
    below = None
    if row.follows is not None:
        kin = _matching(result, find(row.family, row.follows), None, record)
        below = max(kin, key=lambda one: _rate(one)[0], default=None)
    reference = oracle.reference(row.family)
    own = record["fraction_of_reference"] is not None and reference != (row.family, row.name)
    device = told.get("device") or {}
    peak, fp32 = device.get("bandwidth_gbps"), device.get("fp32_tflops")
    return _Measured(
        record,
        origin(told),
        live,
        below,
        "-".join(reference) if own else None,
        record["gbps"] / peak if peak and record["gbps"] else None,
        peak,
        fp32 * 1e3 / peak if peak and fp32 else None,
    )


class _Counted(NamedTuple):
    report: Traffic | None
    reason: str | None  # why there is none
    where: str | None  # shape and dtype
    work: int  # bytes that the job itself reads and writes
    flops: int | None


def _count(row: Variant, shape: tuple[int, ...] | None, keywords: dict[str, Any]) -> _Counted:
    """What the simulator counts of a variant at a shape, or at the usual one."""
    dtype = oracle.told_dtype(row)
    if shape is None or oracle.work(row.family, shape, dtype, **keywords)[0] > _LARGEST:
        shape = oracle.traffic_shape(row.family, dtype, row.name)
    work, flops = oracle.work(row.family, shape, dtype, **keywords)
    arrays = oracle.arguments(row.family, shape, dtype, seed=0, **keywords)
    try:
        arrays = tuple(oracle.placed(row, a, "sim") for a in arrays)
        report = traffic(row.family, *arrays, variant=row.name, **keywords)
    except (_core.UnavailableError, MemoryError) as error:
        return _Counted(None, str(error), None, work, flops)
    where = f"{'x'.join(map(str, shape))} {dtype}" if shape else dtype
    where += "".join(f", {name} {value}" for name, value in keywords.items())
    return _Counted(report, None, where, work, flops)


# ---- words --------------------------------------------------------------------------------


def _figure(value: float) -> str:
    """Three digits, without an exponent."""
    if value and abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):g}"


def _share(value: float) -> str:
    return f"{_figure(100 * value)} %"


def _plural(value: float, noun: str) -> str:
    return f"{_figure(value)} {noun}{'' if _figure(value) == '1' else 's'}"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sites(report: Traffic, kind: str) -> list[dict[str, Any]]:
    return [one for one in report.sites if (one["space"], one["kind"]) == ("global", kind)]


def _about(report: Traffic, kind: str, access: Access) -> str:
    """What a request of global memory touches, and what it would have to."""
    touched = access.sectors_per_request or 0.0
    # As many as its bytes would fill, and one at least.
    fewest = sum(max(one["requests"], one["bytes"] / SECTOR) for one in _sites(report, kind))
    ideal = fewest / access.requests
    said = f"touches {_plural(touched, 'sector')} of {SECTOR} bytes"
    if touched <= ideal * (1 + _ALIKE):
        if (access.efficiency or 0) >= 1 - _ALIKE:
            return f"{said}, all of whose bytes it asks for"
        return f"{said}, no fewer can be, and asks for {_share(access.efficiency or 0)} of them"
    return (
        f"{said} where {_figure(ideal)} would hold what it asks for: "
        f"{_share(access.efficiency or 0)} of what moves is wanted"
    )


def _width(report: Traffic, kind: str, access: Access) -> str:
    widest = access.width or 0
    found = {one["width"] for one in _sites(report, kind)}
    if widest > _ENGINE:
        part = "in part " if min(found) <= _ENGINE else ""
        return f"{part}by a copy engine, up to {format_bytes(widest // 8)} at once, "
    return f"of {'up to ' if len(found) > 1 else ''}{widest} bits per thread "


def _global_words(report: Traffic) -> str:
    loads, stores = report.loads, report.stores
    both = {"load": loads, "store": stores}
    told = {kind: _about(report, kind, one) for kind, one in both.items() if one.requests}
    if not told:
        return "It touches no global memory."
    if len(told) == 2 and len(set(told.values())) == 1 and loads.width == stores.width:
        return f"A warp's load {_width(report, 'load', loads)}{told['load']}; so does a store."
    parts = []
    for kind, words in told.items():
        parts.append(f"warp's {kind} {_width(report, kind, both[kind])}{words}")
    return f"A {'; a '.join(parts)}."


def _shared_words(report: Traffic) -> str | None:
    ways, blocks = report.shared.bank_ways, math.prod(report.grid)
    barriers = report.barriers - sum(one["barriers"] for one in report.helpers())
    if not report.shared.requests:
        return None
    bytes_used = format_bytes(report.shared_bytes)
    words = [f"It keeps {bytes_used} per block in shared memory"] if report.shared_bytes else []
    words = words or ["It uses shared memory"]
    if barriers:
        words.append(f"passes {_plural(barriers / blocks, 'barrier')} per block")
    if ways is not None and ways > 1 + _ALIKE:
        words.append(
            f"pays {_figure(ways)} passes through the banks for one, in the worst line: bank "
            "conflicts"
        )
    elif ways is not None:
        words.append("has no bank conflicts")
    return f"{_listed(words)}."


def _helper_words(report: Traffic) -> str | None:
    told = [f"{one['name']} ({one['doc']})" for one in report.helpers()]
    if not told:
        return None
    return (
        f"At the simulated size the call launches {_listed(told)} beside its own kernel, and both "
        "are counted."
    )


def _elsewhere(counted: _Counted) -> bool:
    """Does less than the job's bytes go by requests? Then the rest goes by ways of its own."""
    report = counted.report
    return report is not None and 0 < report.bytes_moved < 0.9 * counted.work


def _constant_words(report: Traffic) -> str | None:
    ways = report.constant.ways
    if ways is None:
        return None
    if ways <= 1 + _ALIKE:
        return "Its reads of constant memory are broadcasts, one address for all lanes."
    return f"Its lanes read {_figure(ways)} addresses of constant memory at once, one by one."


def _changes(counted: _Counted, under: _Counted) -> str:
    """What this rung does otherwise than the one that it follows, per byte of the job."""
    report, below = counted.report, under.report
    assert report is not None and below is not None
    scale = under.work / max(1, counted.work)
    words: list[str] = []
    if below.bytes_moved and report.bytes_moved and not (_elsewhere(counted) or _elsewhere(under)):
        times = report.bytes_moved / below.bytes_moved * scale
        alike = abs(times - 1) <= _ALIKE
        words.append(
            f"moves {'' if alike else _figure(times) + ' times '}as many bytes of global memory"
        )
    times = report.requests / below.requests * scale
    if abs(times - 1) > _ALIKE:
        words.append(f"takes {_figure(times)} times the instructions that touch memory")
    widths = [max(one.loads.width or 0, one.stores.width or 0) for one in (below, report)]
    if widths[0] != widths[1] and all(widths) and max(widths) <= _ENGINE:
        words.append(f"has accesses of {widths[1]} bits for {widths[0]}")
    ways = [one.shared.bank_ways for one in (below, report)]
    if None not in ways and abs(ways[1] / ways[0] - 1) > _ALIKE:
        words.append(f"has {_figure(ways[1])} bank ways for {_figure(ways[0])}")
    elif ways[0] is None and ways[1] is not None:
        words.append("goes through shared memory")
    elif ways[0] is not None and ways[1] is None:
        words.append("does without shared memory")
    spread = [one.constant.ways for one in (below, report)]
    if None not in spread and spread[0] != spread[1]:
        words.append(
            f"reads {_figure(spread[1])} addresses of constant memory for {_figure(spread[0])}"
        )
    if not words or (len(words) == 1 and words[0].startswith("moves as many")):
        return f"Its traffic is that of {below.variant}, which it follows."
    return f"Against {below.variant}, which it follows, it {_listed(words)}."


def _reached(record: dict[str, Any]) -> str:
    """The figure that is told of a record."""
    if is_launch(record):
        return f"{_figure(1e3 * record['median_ms'])} us"
    rate, unit = _rate(record)
    return f"{_figure(rate)} {unit}"


def _figure_words(row: Variant, measured: _Measured) -> str:
    record = measured.record
    parameters = ", ".join(f"{k} {v}" for k, v in (record["parameters"] or {}).items())
    at = f"{size_label(record)}, {record['dtype']}{', ' + parameters if parameters else ''}"
    cache = "in the L2 as far as it fits" if record["cache"] == "warm" else "not in the L2"
    words = [_reached(record)]
    if record["fraction_of_peak"] is not None and record["tflops"] is not None:
        words.append(f"{_share(record['fraction_of_peak'])} of the FP32 peak")
    computes = bool(record["flops"] and measured.balance) and (
        record["flops"] / record["bytes"] > measured.balance
    )
    if measured.bandwidth is not None and not computes:
        words.append(f"{_share(measured.bandwidth)} of the memory's bandwidth")
    if measured.reference is not None:
        share = record["fraction_of_reference"]
        much = _share(share) + " of" if share < 1 else _figure(share) + " times"
        words.append(f"{much} what {measured.reference} did in the same run")
    how = "just now" if measured.live else "measured earlier"
    reached = f"took {words[0]}" if is_launch(record) else f"reached {_listed(words)}"
    text = f"On {measured.where}, {how}, it {reached} ({at}, {cache})."
    if measured.below is not None:
        times = measured.below["median_ms"] / record["median_ms"]
        if times < 1 - _ALIKE:
            return f"{text} {row.follows}, which it follows, is {_figure(1 / times)} times as fast."
        much = "" if times <= 1 + _ALIKE else f"{_figure(times)} times "
        text += f" That is {much}as fast as {row.follows}."
    return text


def _traffic_reason(counted: _Counted, measured: _Measured) -> str | None:
    """Is it what the requests move? Then what they move could hardly come faster."""
    report, record = counted.report, measured.record
    assert report is not None
    if record["flops"] is None:
        wasted = report.bytes_moved / report.bytes_asked
        if wasted <= 1.1:
            return None
        told = (
            f"the sectors: {_figure(wasted)} times the bytes asked for, so far as no cache has them"
        )
        if measured.bandwidth and wasted * measured.bandwidth < _MOSTLY:
            told += " (which is not all of it)"
        return told
    if not counted.flops or not measured.peak_gbps:
        return None
    intensity, own = counted.flops / report.bytes_moved, record["flops"] / record["bytes"]
    roof = intensity * measured.peak_gbps / 1e3  # TFLOP/s
    if own < 1.5 * intensity or record["tflops"] < _MOSTLY * roof:
        return None
    enough = f"the arrays themselves have {_figure(own)}"
    if measured.balance and own > measured.balance:
        if intensity >= measured.balance:
            return None
        enough = f"{_figure(measured.balance)} would keep the arithmetic busy"
    return (
        f"what its requests move: {_plural(intensity, 'operation')} for each byte, so far as no "
        f"cache has it, where {enough}"
    )


def _reason_words(counted: _Counted, measured: _Measured) -> str | None:
    """What the counts say about what is missing to the peak."""
    shares = [measured.record["fraction_of_peak"], measured.bandwidth]
    if not any(shares) or is_launch(measured.record):
        return None
    report = counted.report
    if measured.record["tflops"] is not None and (shares[0] or 0) > 1:
        return "The plain FP32 units cannot do as much: it computes on others."
    if max(filter(None, shares)) >= _FULL:
        return "Little is left to gain: that is near to what the device can do."
    if measured.reference == "copy-memcpy" and measured.record["fraction_of_reference"] >= _COPY:
        much = "no" if measured.record["fraction_of_reference"] >= 1 else "hardly"
        return f"Little is left to gain: the driver's own copy of as many bytes is {much} faster."
    if report is None or not report.bytes_asked:
        return None
    ways = report.shared.bank_ways or 1.0
    told = list(filter(None, [_traffic_reason(counted, measured)]))
    if ways > 1.1:
        told.append("the banks of shared memory")
    if (report.constant.ways or 1) > 1.1:
        told.append("the constant memory, which serves one address at a time")
    if told:
        return f"What is missing to the peak is to be looked for in {_listed(told)}."
    return (
        "Neither sectors nor banks explain what is missing to the peak: it is to be looked for in "
        "latency, in the instructions, or in arithmetic, which the simulator does not know."
    )


def _next_words(row: Variant) -> str | None:
    heirs = [one for one in variants(row.family) if one.follows == row.name]
    if not heirs:
        return None
    told = "; ".join(f"{one.name} ({one.doc})" for one in heirs)
    return f"Next on the ladder: {told}."


class Explanation:
    """One kernel, explained; made by :func:`explain`. Printed, it is a table and a paragraph.

    Attributes
    ----------
    variant : Variant
        Which kernel.
    traffic : Traffic or None
        What the simulator counted; None where it cannot run the kernel.
    traffic_reason : str or None
        Why not.
    traffic_where : str or None
        The shape and the dtype that were simulated.
    record : dict or None
        What was measured, a record of a benchmark; None if nothing was.
    origin : str or None
        Where and when: device, date and commit.
    live : bool
        Whether that was now.
    paragraph : str
        The words.
    """

    def __init__(
        self,
        variant: Variant,
        counted: _Counted,
        below: _Counted | None,
        measured: _Measured | None,
        missing: str,
    ) -> None:
        report = counted.report
        self.variant = variant
        self.traffic = report
        self.traffic_reason = counted.reason
        self.traffic_where = counted.where
        self.record = measured.record if measured else None
        self.origin = measured.where if measured else None
        self.live = bool(measured and measured.live)
        self._bandwidth = measured.bandwidth or 0.0 if measured else 0.0
        said: list[str | None] = [f"{variant}: {variant.doc}."]
        if report is not None and report.requests:
            said += [_helper_words(report), _global_words(report)]
            if _elsewhere(counted):
                said.append(
                    "What else the job reads passes by units that the simulator does not count."
                )
            said += [_shared_words(report), _constant_words(report)]
            if below is not None and below.report is not None and below.report.requests:
                said.append(_changes(counted, below))
        elif report is not None:
            said.append("The simulator has nothing to count: it has no kernel of its own.")
        else:
            said.append(f"The simulator counted nothing: {counted.reason}.")
        if measured is not None:
            said += [_figure_words(variant, measured), _reason_words(counted, measured)]
        else:
            said.append(missing)
        said.append(_next_words(variant))
        self.paragraph = " ".join(filter(None, said))

    def _cells(self) -> list[tuple[str, str]]:
        cells = [("idea", self.variant.doc)]
        if self.variant.follows:
            cells.append(("follows", self.variant.follows))
        if self.variant.requires:
            cells.append(("needs", self.variant.requires))
        if self.record is not None:
            label = "measured now" if self.live else "measured"
            told = f"{_reached(self.record)}, {size_label(self.record)}; {self.origin}"
            cells.append((label, told))
            share, peak = self.record["fraction_of_peak"] or 0.0, "of bandwidth"
            share = 0.0 if is_launch(self.record) else share
            if self.record["tflops"] is not None:
                share, peak = max((share, "of FP32 peak"), (self._bandwidth, peak))
            cells += [(peak, _share(share))] if share else []
        if self.traffic is not None and self.traffic.requests:
            cells.append(("simulated", self.traffic_where or ""))
            for kind in ("loads", "stores"):
                access: Access = getattr(self.traffic, kind)
                if access.requests:
                    width = access.width or 0
                    much = f"{width} bits"
                    if width > _ENGINE:
                        much = f"up to {format_bytes(width // 8)} by a copy engine"
                    text = (
                        f"{much}, {_plural(access.sectors_per_request or 0, 'sector')} per "
                        f"request, efficiency {_share(access.efficiency or 0)}"
                    )
                    cells.append((kind, text))
            ways = self.traffic.shared.bank_ways
            cells += [("bank ways", _figure(ways))] if ways is not None else []
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
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
            "paragraph": self.paragraph,
        }

    def _repr_markdown_(self) -> str:
        rows = "\n".join(f"| {name} | {text} |" for name, text in self._cells())
        return f"**{self.variant}**\n\n| | |\n| --- | --- |\n{rows}\n\n{self.paragraph}\n"

    def __repr__(self) -> str:
        return f"<gpumem explanation of {self.variant}>"

    def __str__(self) -> str:
        import textwrap

        cells = self._cells()
        width = text_width(100)
        room = width - 2 - max(len(name) for name, _ in cells)
        lines = []
        for name, text in cells:
            head, *more = textwrap.wrap(text, room, break_on_hyphens=False)
            lines += [(name, head), *(("", one) for one in more)]
        table = format_table(lines[0], lines[1:], left=2)
        words = textwrap.fill(self.paragraph, width, break_on_hyphens=False)
        return f"{self.variant}\n\n{table}\n\n{words}"


def explain(
    family: str,
    variant: str | Variant,
    shape: int | tuple[int, ...] | None = None,
    results: BenchResult | str | os.PathLike[str] | None = None,
    *,
    live: bool = False,
) -> Explanation:
    """Say in words what a kernel does to memory, and what that is worth.

    Parameters
    ----------
    family : str
        Such as "transpose".
    variant : str or Variant
        Such as "tile".
    shape : int or tuple of int, optional
        Of the figure, and of the simulation unless it is too large for that. By default, the
        largest that was measured, and the one by which :func:`gpumem.traffic` tells the family.
    results : BenchResult, str or path, optional
        Where to look for figures; by default, in what is shipped (:mod:`gpumem.results`).
    live : bool
        Measure now, the variant and the one that it follows; needs a GPU.

    Returns
    -------
    Explanation
        ``print`` it, or let a notebook show it.

    Raises
    ------
    ValueError
        If there is no such family, variant or result, or the variant does not take that shape.
    UnavailableError
        If `live` is asked for where there is no GPU, or the variant is not available on it.

    Notes
    -----
    Requests, sectors and passes are counted on the simulator; times are measured, on the machine
    that the text names. Where several parameters were measured, both are told of those that a call
    has by default, or as near to them as there are, and of the best of these. What one says about
    the other is a rule of thumb: sectors or bank conflicts are named where there are more than the
    data need, and nothing is said to be the cause that was not counted.

    Examples
    --------
    >>> import gpumem as gm
    >>> print(gm.explain("transpose", "tile"))  # doctest: +ELLIPSIS
    transpose-tile
    ...
    """
    row = find(family, resolve(family, variant))
    itemsize = oracle.dtype_for(family).itemsize
    side = None if shape is None else check_shape(shape, itemsize)
    if live:
        _core.backend("cuda")
        reason = row.reason_on("cuda")
        if reason:
            raise _core.UnavailableError(f"{row}: {reason}")
        names = [row.name, *([row.follows] if row.follows else [])]
        dtype = oracle.told_dtype(row)
        where: dict[str, Any] = {"shapes": [side]} if side else {"sizes": "64M"}
        found = bench(row.family, names, dtype=dtype, backend="cuda", **where)
    elif results is None:
        found = shipped.for_family(row.family)
    else:
        found = results if isinstance(results, BenchResult) else shipped.load(results)
    measured = _measured(found, row, side, live)
    keywords = _keywords(row.family, measured.record if measured else None)
    counted = _count(row, side, keywords)
    below = None
    if row.follows is not None and counted.report is not None:
        try:
            below = _count(find(row.family, row.follows), side, keywords)
        except ValueError:  # it does not take this shape
            below = None
    missing = "No time of it is shipped with gpumem, and none was measured now."
    if side is not None or results is not None or live:
        at = f" at {'x'.join(map(str, side))}" if side is not None else ""
        reasons = [r["reason"] for r in found.filter(variant=row.name).records if r["reason"]]
        why = f": {reasons[0]}" if reasons else ""
        missing = f"No time of it is among the results{at}{why}."
    return Explanation(row, counted, below, measured, missing)
