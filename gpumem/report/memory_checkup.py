"""The part of ``gpumem doctor`` about the memory system: latencies, and bandwidth by mix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..base.progress import Progress
from ..base.sizes import format_bytes
from ..machine import nvml
from ..machine.device import Device
from ..machine.devices import with_peaks
from ..measure.chains import latency
from ..measure.mixes import Mixes
from ..measure.sampling import Deadline
from ..results import of_tools
from .checkup_rows import LATENCY, LEAST_OTHER, LEAST_SAME, Measured, clock_note, verdict_on

__all__ = ["LATENCIES", "MIXES", "ROW", "Chain", "Mix", "measured"]

_STRIDE = 128  # bytes between the places of a chain
_STEPS, _ROUNDS = 16384, 3
_USABLE = 0.9  # of the free memory


class Chain(NamedTuple):
    """A latency to measure, of which a figure is shipped."""

    what: str
    variant: str
    footprint: int


class Mix(NamedTuple):
    """Rows to read and to write, of which a figure is shipped."""

    what: str
    reads: int
    writes: int


LATENCIES = (
    Chain("latency of shared memory", "shared", 2**15),
    Chain("latency of the L1", "cached", 2**15),
    Chain("latency of the L2", "uncached", 2**22),
    Chain("latency of memory", "uncached", 2**30),
)
ROW = 2**30  # bytes of a row
MIXES = (
    Mix("reads alone, 1 GiB", 1, 0),
    Mix("writes alone, 1 GiB", 0, 1),
    Mix("a read per write (stream), 1 GiB", 1, 1),
)


def _too_little(device: Device, needed: int) -> str:
    """Return why something does not fit in the memory of a device, "" if it does."""
    free = device.info()["devices"][0]["free_bytes"]
    if needed <= _USABLE * free:
        return ""
    return f"needs {format_bytes(needed)} of device memory, {format_bytes(free)} are free"


def _same_model(device: Device, found: dict[str, Any]) -> bool:
    name = device.info()["devices"][0]["name"]
    return bool(name == found["provenance"]["device"]["name"])


def _shipped_latency(chain: Chain, found: dict[str, Any]) -> float | None:
    wanted = chain.variant, _STRIDE, chain.footprint
    for one in found["figures"]:
        if (one["variant"], one["stride"], one["footprint"]) == wanted:
            return float(one["ns"])
    return None


def _latency(device: Device, chain: Chain, deadline: Deadline) -> Measured:
    found = of_tools.load("latency-h200")
    shipped = _shipped_latency(chain, found) if found else None
    # Another model has other caches: its latencies say nothing of what they should be.
    expected = shipped if found and _same_model(device, found) else None
    note = deadline.reason if deadline.passed else _too_little(device, chain.footprint)
    figure = None
    if not note:
        figure = latency(device, chain.variant, chain.footprint, _STRIDE, _STEPS, _ROUNDS)
    verdict = verdict_on(LATENCY, figure, expected, LEAST_SAME)
    return Measured(chain.what, LATENCY, figure, expected, shipped, LEAST_SAME, verdict, note)


def _shipped_mix(mix: Mix, found: dict[str, Any]) -> float | None:
    for one in found["figures"]:
        if (one["reads"], one["writes"]) == (mix.reads, mix.writes):
            return float(one["gbps"])
    return None


def _mix(device: Device, mix: Mix, deadline: Deadline) -> Measured:
    found = of_tools.load("mixes-h200")
    shipped = _shipped_mix(mix, found) if found else None
    least = LEAST_SAME if found and _same_model(device, found) else LEAST_OTHER
    peak = with_peaks(device.info()["devices"][0])["bandwidth_gbps"]
    expected = None
    if found and shipped and peak:
        expected = shipped / found["provenance"]["device"]["bandwidth_gbps"] * peak
    note = deadline.reason if deadline.passed else _too_little(device, 2 * ROW)
    figure = None
    if not note:
        rows = Mixes(device, ROW, 1, 1)
        call = rows.stream(mix.reads, mix.writes)
        figure = rows.gbps(call, mix.reads + mix.writes, _ROUNDS)
    verdict = verdict_on("GB/s", figure, expected, least)
    return Measured(mix.what, "GB/s", figure, expected, shipped, least, verdict, note, peak or None)


def measured(
    device: Device, deadline: Deadline, progress: Progress, done: int, total: int
) -> Iterator[Measured]:
    """Measure latencies and mixes.

    Parameters
    ----------
    device : Device
        What is measured.
    deadline : Deadline
        Nothing is begun after it.
    progress : Progress
        Is told what comes next.
    done, total : int
        The jobs of the page before these, and all of them.
    """
    with nvml.Watch(device.info()["devices"][0]) as watch:
        for job in (*LATENCIES, *MIXES):
            progress(done, total, job.what)
            row = (
                _latency(device, job, deadline)
                if isinstance(job, Chain)
                else _mix(device, job, deadline)
            )
            watch.look()  # the clock has not fallen yet
            seen = watch.summary()
            if row.verdict == "slow":
                note = clock_note(seen.get("clock_mhz"), seen.get("throttled"))
                row = replace(row, note=note)
            yield row
            done += 1
