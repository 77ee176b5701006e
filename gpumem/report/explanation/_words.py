"""Sentences about counts and figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...base.record import Record, order_words
from ...base.sizes import format_bytes
from ...count.access import SECTOR, Access
from ...count.traffic import Traffic
from ...families.table import Variant, variants
from ._figures import Counted, Measured, rate

ALIKE = 0.02  # what differs by less counts as the same
ENGINE = 128  # bits: only a copy engine moves more at once


def figure(value: float) -> str:
    """Return a number with three digits and without an exponent."""
    if value and abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):g}"


def share(value: float) -> str:
    """Return a share in per cent."""
    return f"{figure(100 * value)} %"


def plural(value: float, noun: str, ending: str = "s") -> str:
    """Return a number with its noun."""
    return f"{figure(value)} {noun}{'' if figure(value) == '1' else ending}"


def listed(words: list[str]) -> str:
    """Return words as "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


# ---- what the simulator counts ------------------------------------------------------------


def _sites(report: Traffic, kind: str) -> list[dict[str, Any]]:
    return [one for one in report.sites if (one["space"], one["kind"]) == ("global", kind)]


def _touched(report: Traffic, kind: str, access: Access) -> str:
    """Say how many sectors a request touches, and how many it would have to."""
    touched = access.sectors_per_request or 0.0
    # As many as its bytes would fill, and at least one.
    fewest = sum(max(one["requests"], one["bytes"] / SECTOR) for one in _sites(report, kind))
    ideal = fewest / access.requests
    used = share(access.efficiency or 0)
    text = f"touches {plural(touched, 'sector')} of {SECTOR} bytes"
    if touched > ideal * (1 + ALIKE):
        return f"{text} where {figure(ideal)} would do: {used} of the bytes moved are used"
    if (access.efficiency or 0) >= 1 - ALIKE:
        return f"{text} and uses every byte"
    return f"{text}, the fewest possible, and uses {used} of the bytes"


def _width(report: Traffic, kind: str, access: Access) -> str:
    widest = access.width or 0
    found = {one["width"] for one in _sites(report, kind)}
    if widest > ENGINE:
        part = "in part " if min(found) <= ENGINE else ""
        return f"{part}by a copy engine, up to {format_bytes(widest // 8)} at once, "
    return f"of {'up to ' if len(found) > 1 else ''}{widest} bits per thread "


def _global_memory(report: Traffic) -> str:
    loads, stores = report.loads, report.stores
    kinds = {"load": loads, "store": stores, "atomic": report.atomics}
    said = {kind: _touched(report, kind, one) for kind, one in kinds.items() if one.requests}
    if not said:
        return "It touches no global memory."
    alike = set(said) == {"load", "store"} and len(set(said.values())) == 1
    if alike and loads.width == stores.width:
        return f"A warp's load or store {_width(report, 'load', loads)}{said['load']}."
    nouns = {"atomic": "atomic operation"}
    parts = [
        f"warp's {nouns.get(kind, kind)} {_width(report, kind, kinds[kind])}{said[kind]}"
        for kind in said
    ]
    return f"A {'; a '.join(parts)}."


def _shared_memory(report: Traffic) -> str | None:
    if not report.shared.requests:
        return None
    ways, blocks = report.shared.bank_ways, math.prod(report.grid)
    barriers = report.barriers - sum(one["barriers"] for one in report.helpers())
    words = ["It uses shared memory"]
    if report.shared_bytes:
        words = [f"It keeps {format_bytes(report.shared_bytes)} per block in shared memory"]
    if barriers:
        words.append(f"passes {plural(barriers / blocks, 'barrier')} per block")
    if ways is not None and ways > 1 + ALIKE:
        words.append(
            f"has bank conflicts: {figure(ways)} passes through the banks instead of one, in the "
            "worst line"
        )
    elif ways is not None:
        words.append("has no bank conflicts")
    return f"{listed(words)}."


def _helpers(report: Traffic) -> str | None:
    names = [f"{one['name']} ({one['doc']})" for one in report.helpers()]
    if not names:
        return None
    return (
        f"At the simulated size the call launches {listed(names)} besides its own kernel; all of "
        "them are counted."
    )


def _constant_memory(report: Traffic) -> str | None:
    ways = report.constant.ways
    if ways is None:
        return None
    if ways <= 1 + ALIKE:
        return "Its reads of constant memory are broadcasts: one address for all lanes."
    return (
        f"Its lanes read {figure(ways)} addresses of constant memory at once, which are served one "
        "after the other."
    )


def counts(counted: Counted, follows: Counted | None) -> Iterator[str | None]:
    """Yield what the simulator counted, and how that differs from the variant that it follows."""
    report = counted.traffic
    if report is None:
        yield f"The simulator counted nothing: {counted.reason}."
    elif not report.requests:
        why = "the variant has no kernel of its own" if counted.work else "there are no elements"
        yield f"The simulator has nothing to count: {why}."
    else:
        yield _helpers(report)
        yield _global_memory(report)
        if counted.is_partial:
            yield (
                "The rest of its data passes through units whose traffic the simulator does not "
                "count."
            )
        yield _shared_memory(report)
        yield _constant_memory(report)
        if follows is not None and follows.traffic is not None and follows.traffic.requests:
            yield _changes(counted, report, follows, follows.traffic)


# ---- what changed since the variant that it follows ---------------------------------------


def _changed_spaces(report: Traffic, before: Traffic) -> Iterator[str]:
    """Yield what changed in shared and constant memory."""
    ways, old_ways = report.shared.bank_ways, before.shared.bank_ways
    if ways is not None and old_ways is not None:
        if abs(ways / old_ways - 1) > ALIKE:
            yield f"has {plural(ways, 'bank way')} instead of {figure(old_ways)}"
    elif ways is not None:
        yield "uses shared memory"
    elif old_ways is not None:
        yield "uses no shared memory"
    addresses, old = report.constant.ways, before.constant.ways
    if addresses is not None and old is not None and addresses != old:
        number = plural(addresses, "address", "es")
        yield f"reads {number} of constant memory at once instead of {figure(old)}"


def _changes(counted: Counted, report: Traffic, below: Counted, before: Traffic) -> str:
    """Say what a variant does differently from the one that it follows, per byte of the job."""
    scale = below.work / max(1, counted.work)
    words: list[str] = []
    as_many_bytes = False
    partial = counted.is_partial or below.is_partial
    if before.bytes_moved and report.bytes_moved and not partial:
        times = report.bytes_moved / before.bytes_moved * scale
        as_many_bytes = abs(times - 1) <= ALIKE
        much = "" if as_many_bytes else f"{figure(times)} times "
        words.append(f"moves {much}as many bytes of global memory")
    times = report.requests / before.requests * scale
    if abs(times - 1) > ALIKE:
        words.append(f"executes {figure(times)} times as many memory instructions")
    widths = [max(one.loads.width or 0, one.stores.width or 0) for one in (before, report)]
    if widths[0] != widths[1] and all(widths) and max(widths) <= ENGINE:
        words.append(f"has accesses of {widths[1]} bits instead of {widths[0]}")
    words += _changed_spaces(report, before)
    if not words or (len(words) == 1 and as_many_bytes):
        return f"Its traffic is that of {before.variant}, which it follows."
    return f"Compared with {before.variant}, which it follows, it {listed(words)}."


# ---- what was measured --------------------------------------------------------------------


def reached(record: Record) -> str:
    """Return the rate of a record, or the time of one that measured the launch."""
    if record.is_launch:
        return f"{figure(1e3 * (record.median_ms or 0))} us"
    value, unit = rate(record)
    return f"{figure(value)} {unit}"


def _shares(measured: Measured) -> Iterator[str]:
    """Yield what a rate is a share of."""
    record = measured.record
    if record.fraction_of_peak is not None and record.tflops is not None:
        yield f"{share(record.fraction_of_peak)} of the FP32 peak"
    if measured.bandwidth is not None and not measured.is_bound_by_arithmetic:
        yield f"{share(measured.bandwidth)} of the memory bandwidth"
    if measured.reference is not None and record.fraction_of_reference is not None:
        part = record.fraction_of_reference
        much = f"{share(part)} of" if part < 1 else f"{figure(part)} times"
        yield f"{much} what {measured.reference} reached in the same run"


def figures(variant: Variant, measured: Measured) -> str:
    """Say what was measured, where, and how that compares with the variant that it follows."""
    record = measured.record
    parameters = "".join(f", {name} {value}" for name, value in record.parameters.items())
    cache = "in the L2 as far as it fits" if record.cache == "warm" else "not in the L2"
    at = f"({record.size}, {record.dtype}{parameters}, {cache}{order_words(record.order)})"
    how = "just now" if measured.live else "measured earlier"
    rates = reached(record)
    did = f"took {rates}" if record.is_launch else f"reached {listed([rates, *_shares(measured)])}"
    text = f"On {measured.origin}, {how}, it {did} {at}."
    if measured.follows is None or not record.median_ms:
        return text
    times = (measured.follows.median_ms or 0) / record.median_ms
    if times < 1 - ALIKE:
        return f"{text} {variant.follows}, which it follows, is {figure(1 / times)} times as fast."
    much = "" if times <= 1 + ALIKE else f"{figure(times)} times "
    return f"{text} That is {much}as fast as {variant.follows}."


def next_on_the_ladder(variant: Variant) -> str | None:
    """Name the variants that follow this one, with their ideas."""
    heirs = [one for one in variants(variant.family) if one.follows == variant.name]
    if not heirs:
        return None
    return f"Next on the ladder: {'; '.join(f'{one.name} ({one.doc})' for one in heirs)}."
