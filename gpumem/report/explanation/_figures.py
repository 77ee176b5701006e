"""The figures that an explanation rests on: what was measured, and what the simulator counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ... import _core
from ...base.provenance import origin
from ...base.record import STREAM, Record
from ...base.result import BenchResult
from ...count.traffic import Traffic, traffic
from ...families import oracle, table
from ...families.table import Variant, find
from ..records import provenance_of

_LARGEST = 2**26  # bytes of all arrays: larger shapes are not simulated

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Measured:
    """The record that an explanation shows, and what it is compared with."""

    record: Record
    origin: str  # device, date and commit
    live: bool
    follows: Record | None  # the variant that it follows, under the same circumstances
    reference: str | None
    bandwidth: float | None  # reached, as a share of the device's peak
    peak_gbps: float | None
    balance: float | None  # operations in the time of a byte, at the device's peaks

    @property
    def is_bound_by_arithmetic(self) -> bool:
        """Whether its arrays have more operations per byte than the device."""
        flops, moved = self.record.flops, self.record.bytes
        if not flops or not moved or not self.balance:
            return False
        return flops / moved > self.balance


@dataclass(frozen=True)
class Counted:
    """What the simulator counted of a variant, or why it did not."""

    traffic: Traffic | None
    reason: str | None
    where: str | None  # shape, dtype and parameters
    work: int  # bytes that the job itself reads and writes
    flops: int | None

    @property
    def is_partial(self) -> bool:
        """Whether requests move less than the job's bytes: the rest is not counted."""
        return self.traffic is not None and 0 < self.traffic.bytes_moved < 0.9 * self.work


def rate(record: Record) -> tuple[float, str]:
    """Return the rate of a record with its unit."""
    if record.tflops is not None:
        return record.tflops, "TFLOP/s"
    return record.gbps or 0.0, "GB/s"


# ---- measured -----------------------------------------------------------------------------


def _timed(result: BenchResult, variant: Variant) -> list[Record]:
    return [
        row
        for row in result.rows
        if row.family == variant.family and row.variant in variant.names and row.median_ms
    ]


def _conditions(one: Record) -> tuple[Any, ...]:
    return one.shape, one.dtype, one.cache, one.order


def _agree(one: Record, other: Record) -> bool:
    """Whether two records differ in the variant alone.

    A parameter that means nothing to one of the two variants is not in its record.
    """
    same = _conditions(one) == _conditions(other)
    shared = one.parameters.keys() & other.parameters.keys()
    return same and all(one.parameters[name] == other.parameters[name] for name in shared)


def keywords_of(family: str, record: Record | None) -> dict[str, Any]:
    """Return the parameters of a record, or none if the family's function lacks one of them."""
    found = dict(record.parameters) if record else {}
    try:
        table.parameters(family, found)
    except (TypeError, ValueError):
        return {}
    return found


def _defaults_among(family: str, record: Record) -> int:
    """Return how many parameters of a record have their default values."""
    defaults = table.parameters(family, {})
    own = table.parameters(family, keywords_of(family, record))
    return sum(a == b for a, b in zip(defaults, own, strict=True))


def measured(
    result: BenchResult, variant: Variant, shape: Shape | None, live: bool
) -> Measured | None:
    """Return the most telling figure: of the largest arrays, which are not in the cache.

    Calls that follow each other come before single ones. Of several parameters, those that come
    closest to the defaults of a call, and then the best.
    """
    rows = [row for row in _timed(result, variant) if shape is None or row.shape == shape]
    if not rows:
        return None
    cold = [row for row in rows if row.cache == "cold"] or rows
    cold = [row for row in cold if row.order == STREAM] or cold
    # Not by bytes moved: a parameter may make them fewer.
    most = max(math.prod(row.shape) for row in cold)
    large = [row for row in cold if math.prod(row.shape) == most]
    record = max(large, key=lambda row: (_defaults_among(variant.family, row), rate(row)[0]))
    follows = None
    if variant.follows is not None:
        kin = _timed(result, find(variant.family, variant.follows))
        alike = [row for row in kin if _agree(row, record)]
        follows = max(alike, key=lambda row: rate(row)[0], default=None)
    reference = oracle.reference(variant.family)
    compared = record.fraction_of_reference is not None and reference != (
        variant.family,
        variant.name,
    )
    provenance = provenance_of(result, record)
    device = provenance.get("device") or {}
    peak, fp32 = device.get("bandwidth_gbps"), device.get("fp32_tflops")
    return Measured(
        record,
        origin(provenance),
        live,
        follows,
        "-".join(reference) if compared else None,
        record.gbps / peak if peak and record.gbps else None,
        peak,
        fp32 * 1e3 / peak if peak and fp32 else None,
    )


# ---- counted ------------------------------------------------------------------------------


def counted(variant: Variant, shape: Shape | None, keywords: dict[str, Any]) -> Counted:
    """Count the traffic of a variant at a shape; at the usual one if it is None or too large."""
    family, dtype = variant.family, oracle.dtype_of(variant)
    if shape is None or oracle.work(family, shape, dtype, **keywords)[0] > _LARGEST:
        shape = oracle.traffic_shape(family, dtype, variant.name)
    work, flops = oracle.work(family, shape, dtype, **keywords)
    arrays = oracle.arguments(family, shape, dtype, seed=0, **keywords)
    try:
        arrays = tuple(oracle.placed(variant, a, "sim") for a in arrays)
        report = traffic(family, *arrays, variant=variant.name, **keywords)
    except (_core.UnavailableError, MemoryError) as error:
        return Counted(None, str(error), None, work, flops)
    where = f"{'x'.join(map(str, shape))} {dtype}" if shape else dtype
    where += "".join(f", {name} {value}" for name, value in keywords.items())
    return Counted(report, None, where, work, flops)
