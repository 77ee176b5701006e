"""``gpumem.doctor``: what is here, and whether this GPU is as fast as it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..base.progress import Progress, checked_progress
from ..base.provenance import origin
from ..base.record import NO_TIMES, Record
from ..base.sizes import format_bytes
from ..base.tables import format_table
from ..base.version import pip_install
from ..cuda_c.errors import CompileError
from ..machine import nvml
from ..machine.device import Device
from ..machine.devices import info, with_peaks
from ..measure.bench import bench, device_of, non_negative
from ..measure.sampling import Deadline
from ..results import RESULTS
from . import memory_checkup
from .checkup_rows import LEAST_OTHER, LEAST_SAME, Fact, Measured, clock_note, verdict_on

__all__ = ["Checkup", "Fact", "Job", "Measured", "doctor"]

_LEAST_OF_LINK = 0.8  # what pinned memory reaches, at least, of the rate of the bus
_FREE = 0.9  # of a GPU's memory, where nobody else uses it


class Job(NamedTuple):
    """Something to measure, of which a result is shipped."""

    what: str
    family: str
    variant: str
    shape: tuple[int, ...]
    parameters: dict[str, Any]
    unit: str = "GB/s"


JOBS = (
    Job("copy, 64 MiB", "copy", "auto", (2**24,), {}),
    Job("copy, 256 MiB", "copy", "auto", (2**26,), {}),
    Job("the driver's copy, 256 MiB", "copy", "memcpy", (2**26,), {}),
    Job("transpose, 8192 x 8192", "transpose", "auto", (8192, 8192), {}),
    Job("product in FP32, 4096 x 4096 x 4096", "sgemm", "auto", (4096,) * 3, {}, "TFLOP/s"),
    Job("to the device, pinned, 256 MiB", "transfer", "to_device", (2**28,), {"kind": "pinned"}),
    Job("to the host, pinned, 256 MiB", "transfer", "to_host", (2**28,), {"kind": "pinned"}),
)


@dataclass(frozen=True)
class Checkup:
    """What :func:`gpumem.doctor` found; print it.

    Attributes
    ----------
    facts : list of Fact
        What is here.
    measured : list of Measured
        What was measured; empty without a clock.
    against : str
        Where the shipped figures come from.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.doctor(backend="sim")
    <gpumem checkup: 0 measured, 0 slow>
    """

    facts: list[Fact]
    measured: list[Measured]
    against: str

    @property
    def slow(self) -> list[Measured]:
        """What is slower than it should be."""
        return [row for row in self.measured if row.verdict == "slow"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.doctor(backend="sim").to_dict()["slow"]
        0
        """
        return {**asdict(self), "slow": len(self.slow)}

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.doctor(backend="sim").to_json()[0]
        '{'
        """
        import json  # not needed to import gpumem

        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        return f"<gpumem checkup: {len(self.measured)} measured, {len(self.slow)} slow>"

    def __str__(self) -> str:
        facts = [["" if fact.ok else "!", fact.name, fact.text] for fact in self.facts]
        width = max(len(fact.name) for fact in self.facts)
        lines = [f"{mark:1} {name.ljust(width)}  {text}" for mark, name, text in facts]
        if not self.measured:
            return "\n".join(lines)
        lines += ["", self._table(), "", f"shipped: {self.against}"]
        notes = [f"{row.what}: {row.note}" for row in self.measured if row.note]
        return "\n".join([*lines, *notes, self._summary()])

    def _table(self) -> str:
        head = ["", "unit", "here", "expected", "share", "shipped", "in theory", ""]
        rows = [
            [
                row.what,
                row.unit,
                _number(row.figure),
                _number(row.expected),
                "-" if row.share is None else f"{row.share:.2f}",
                _number(row.shipped),
                _number(row.theory),
                row.verdict,
            ]
            for row in self.measured
        ]
        return format_table(head, rows, left=2, keys=1)

    def _summary(self) -> str:
        if not self.slow:
            return "nothing that was measured is slower than it should be"
        return (
            f"slower than it should be: {'; '.join(row.what for row in self.slow)}. Other programs "
            "on the GPU, a power cap, a lowered clock and a bus with fewer lanes are the usual "
            "causes"
        )


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}" if figure < 100 else f"{figure:.0f}"


# ---- what is here ---------------------------------------------------------------------------


def _facts(device: Device) -> Iterator[Fact]:
    here = info()
    build = here["build"]
    cuda = f"nvcc {build['nvcc']} for {build['archs']}" if build["cuda"] else "without CUDA"
    yield Fact("gpumem", f"{here['version']}, built with {build['compiler']}, {cuda}")
    if device.backend == "cuda":
        yield Fact("GPU", *_gpu(device))
        yield from _limits(device)
        yield _nvml(device)
    else:
        absent = here["backends"]["cuda"]["reason"]
        yield Fact("GPU", f"not used: {absent}" if absent else "not asked for", not absent)
    # What compiles is not needed to import gpumem.
    from ..cuda_c.compile import host_compiler
    from ..cuda_c.compile_device import device_compiler

    yield _compiler("your kernels on the simulator", host_compiler)
    yield _compiler("your kernels on a GPU", device_compiler)


def _compiler(name: str, find: Callable[[], str]) -> Fact:
    try:
        return Fact(name, f"compiled by {find()}")
    except CompileError as error:
        return Fact(name, str(error), False)


def _gpu(device: Device) -> tuple[str, bool]:
    found = with_peaks(device.info()["devices"][0])
    total, free = found["memory_bytes"], found["free_bytes"]
    words = [
        f"{found['name']}, compute capability {found['capability']}",
        f"{format_bytes(free)} of {format_bytes(total)} free",
    ]
    if found["bandwidth_gbps"]:
        words.append(f"{found['bandwidth_gbps']:.0f} GB/s in theory")
    if found["fp32_tflops"]:
        words.append(f"{found['fp32_tflops']:.1f} TFLOP/s in FP32 in theory")
    busy = free < _FREE * total
    return ", ".join(words) + (": others use its memory" if busy else ""), not busy


_LIMITS = (
    ("multiprocessors", "{} multiprocessors"),
    ("threads_per_multiprocessor", "{} threads in each"),
    ("shared_per_multiprocessor", "{} of shared memory in each"),
    ("shared_per_block", "{} of it for a block"),
    ("constant_bytes", "{} of constant memory"),
    ("l2_bytes", "an L2 of {}"),
)


def _limits(device: Device) -> Iterator[Fact]:
    """Yield what this GPU has, and what that of the shipped results has if it is another model."""

    def words(found: dict[str, Any]) -> str:
        counts = ("multiprocessors", "threads_per_multiprocessor")
        return ", ".join(
            form.format(found[name] if name in counts else format_bytes(found[name]))
            for name, form in _LIMITS
            if found.get(name)
        )

    here, shipped = device.info()["devices"][0], _shipped_device()
    yield Fact("limits", words(here))
    if shipped["name"] not in (None, here["name"]):
        yield Fact("limits, shipped", f"{words(shipped)} ({shipped['name']})")


def _nvml(device: Device) -> Fact:
    found = nvml.clocks(device.info()["devices"][0])
    if found is None:
        text = f"no clocks, no power, no rate of the bus: {pip_install('bench')}"
        return Fact("NVML", text, False)
    return Fact(
        "NVML", f"{found['multiprocessors']} MHz, memory {found['memory']} MHz, before measuring"
    )


# ---- how fast it is -------------------------------------------------------------------------


def _measure(device: Device, timeout: float, progress: Progress) -> Iterator[Measured]:
    found = device.info()["devices"][0]
    same = found["name"] == _shipped_device()["name"]
    link = nvml.link_gbps(found) if device.backend == "cuda" else None
    deadline = Deadline(timeout)
    total = len(JOBS) + len(memory_checkup.LATENCIES) + len(memory_checkup.MIXES)
    for i, job in enumerate(JOBS):
        progress(i, total, job.what)
        shipped = _record(RESULTS[f"{job.family}-h200"].rows, job)
        bus = job.family == "transfer"
        size = {"sizes": job.shape[0]} if bus else {"shapes": [job.shape]}
        rows = bench(
            job.family,
            job.variant,
            **size,
            samples=(5, 15),
            budget=0.25,
            device=device,
            timeout=timeout / total,
            **job.parameters,
        ).rows
        yield _judged(job, _record(rows, job), shipped, found, same, link)
    # The jobs before have brought the GPU to its working clock.
    yield from memory_checkup.measured(device, deadline, progress, len(JOBS), total)
    progress(total, total, "done")


def _shipped_device() -> dict[str, Any]:
    """Return the properties of the GPU of the shipped results."""
    return {"name": None} | (RESULTS["copy-h200"].provenance.get("device") or {})


def _record(rows: list[Record], job: Job) -> Record | None:
    """Return the record of a job; of shipped ones with both orders, that of calls in a row."""
    for row in rows:
        named = (row.family, row.variant, tuple(row.shape)) == (job.family, job.variant, job.shape)
        if named and job.parameters.items() <= row.parameters.items():
            return row
    return None


def _judged(
    job: Job,
    row: Record | None,
    shipped: Record | None,
    device: dict[str, Any],
    same: bool,
    link: float | None,
) -> Measured:
    def figure(record: Record | None) -> float | None:
        if record is None:
            return None
        return record.tflops if job.unit == "TFLOP/s" else record.gbps

    peaks = with_peaks(device)
    peak = peaks["fp32_tflops"] if job.unit == "TFLOP/s" else peaks["bandwidth_gbps"]
    expected, least = None, LEAST_SAME if same else LEAST_OTHER
    if job.family == "transfer":
        expected, least, peak = link, _LEAST_OF_LINK, link
    elif shipped is not None and shipped.fraction_of_peak and peak:
        expected = shipped.fraction_of_peak * peak
    reached = figure(row)
    verdict = verdict_on(job.unit, reached, expected, least)
    return Measured(
        job.what,
        job.unit,
        reached,
        expected,
        figure(shipped),
        least,
        verdict,
        _note(row, verdict),
        theory=peak or None,
    )


def _note(row: Record | None, verdict: str) -> str:
    if row is None:
        return "no record"
    if verdict != "slow":
        return row.reason or ""
    return clock_note(row.clock_mhz, row.throttled)


def _unknown() -> Fact:
    """Return what only a GPU can say, and what is shipped of it instead."""
    device = _shipped_device()["name"]
    return Fact(
        "not known",
        f"latencies, bandwidths and limits of a GPU; shipped are those of {device or 'another'}",
    )


def doctor(
    *,
    timeout: float = 60,
    backend: str | None = None,
    device: Device | None = None,
    progress: Progress | None = None,
) -> Checkup:
    """Say what is here that gpumem can use, and whether this GPU is as fast as it should be.

    A few jobs are measured and set beside the shipped results: copies, a product, transfers, the
    latency of each memory, and reads and writes alone and together. Another model of GPU is
    expected to reach the same shares of its theoretical bandwidth and of its theoretical rate;
    nothing is expected of its latencies.

    Parameters
    ----------
    timeout : float
        Seconds for all of it.
    backend : {"cuda", "sim"}, optional
        By default the one that is used. The simulator has no clock: nothing is measured.
    device, progress
        As for :func:`bench`.

    Returns
    -------
    Checkup
        Printed, a page: what is here, then a line for each job.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.doctor(backend="sim").slow
    []
    """
    seconds = non_negative("timeout", timeout)
    device = device_of(device, backend)
    facts = list(_facts(device))
    if not device.has_clock:
        return Checkup([*facts, Fact("measured", f"nothing: {NO_TIMES}"), _unknown()], [], "")
    measured = list(_measure(device, seconds, checked_progress(progress)))
    return Checkup(facts, measured, origin(RESULTS["copy-h200"].provenance))
