"""Rules of thumb on what limits a kernel: sectors, banks and operations per byte."""

from __future__ import annotations

from collections.abc import Iterator

from ...count.traffic import Traffic
from ._figures import Counted, Measured
from ._words import figure, listed, plural

_FULL = 0.75  # of the peak: little is left to gain
_COPY = 0.9  # of the driver's copy: likewise
_MOSTLY = 0.5  # of a bound: it explains the distance to the peak
_EXTRA = 1.1  # times the fewest sectors or passes possible: worth a word


def _sectors(report: Traffic, measured: Measured) -> str | None:
    """Name the sectors, if requests move more than they ask for."""
    wasted = report.bytes_moved / report.bytes_asked
    if wasted <= _EXTRA:
        return None
    text = f"{figure(wasted)} times the bytes asked for, unless a cache holds them"
    if measured.bandwidth and wasted * measured.bandwidth < _MOSTLY:
        text += ", which explains part of it"
    return f"the number of sectors ({text})"


def _intensity(report: Traffic, counted: Counted, measured: Measured) -> str | None:
    """Name the traffic of requests, if they have too few operations per byte.

    The bound is the roofline at the operations per byte that requests move, without caches.
    """
    record = measured.record
    if not counted.flops or not measured.peak_gbps or not record.flops or not record.bytes:
        return None
    intensity, ideal = counted.flops / report.bytes_moved, record.flops / record.bytes
    roof = intensity * measured.peak_gbps / 1e3  # TFLOP/s
    if ideal < 1.5 * intensity or (record.tflops or 0) < _MOSTLY * roof:
        return None
    enough = f"the arrays allow {figure(ideal)}"
    if measured.balance and ideal > measured.balance:
        if intensity >= measured.balance:
            return None
        enough = f"{figure(measured.balance)} would keep the arithmetic busy"
    return (
        f"the traffic of its requests ({plural(intensity, 'operation')} per byte, unless a cache "
        f"holds it, where {enough})"
    )


def _limits(report: Traffic, counted: Counted, measured: Measured) -> Iterator[str | None]:
    if measured.record.flops is None:
        yield _sectors(report, measured)
    else:
        yield _intensity(report, counted, measured)
    if (report.shared.bank_ways or 1) > _EXTRA:
        yield "bank conflicts in shared memory"
    if (report.constant.ways or 1) > _EXTRA:
        yield "the constant memory, which serves one address at a time"


def limit(counted: Counted, measured: Measured) -> str | None:
    """Say what probably keeps a kernel from the peak, as far as counts show it."""
    record, report = measured.record, counted.traffic
    shares = [record.fraction_of_peak or 0.0, measured.bandwidth or 0.0]
    if not any(shares) or record.is_launch:
        return None
    if record.tflops is not None and shares[0] > 1:
        return "That is beyond the peak of the plain FP32 units: it computes on other units."
    if max(shares) >= _FULL:
        return "Little is left to gain: that is close to what the device can do."
    copied = record.fraction_of_reference or 0.0
    if measured.reference == "copy-memcpy" and copied >= _COPY:
        much = "not" if copied >= 1 else "hardly"
        return f"Little is left to gain: the driver's own copy of as many bytes is {much} faster."
    if report is None or not report.bytes_asked:
        return None
    limits = [one for one in _limits(report, counted, measured) if one]
    if limits:
        return f"The likely limit is {listed(limits)}."
    return (
        "Neither sectors nor banks explain the distance to the peak: look for it in latency, in "
        "the instructions or in the arithmetic, which the simulator does not model."
    )
