"""The family "roundtrip": what a caller of NumPy waits for, from ndarray to ndarray."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..base.record import Record
from ..base.wall_clock import BUS, FAMILIES
from ..families import oracle
from ..machine.device import Device, HostArray
from .callers import CALLERS, absent
from .contender import Contender
from .moving import POISON, both_at_once, by_bus, check_bytes, random_bytes
from .wall_clock import (
    Benchmark,
    Checked,
    Choices,
    Parameter,
    Step,
    Timed,
    chosen,
    set_up,
    timed,
)

__all__ = ["JOBS", "RoundTrips", "check_result", "random_inputs"]

WHOLE_SIDE = 2048  # of a product up to which all rows are checked, beyond only some
_KINDS = ("pageable", "pinned")
_SOME_ROWS = 62


# ---- the jobs, on float32 -----------------------------------------------------------------


class _Job(NamedTuple):
    inputs: int = 1
    square: bool = False  # matrices


JOBS = {
    "copy": _Job(),
    "transpose": _Job(square=True),
    "add": _Job(inputs=2),
    "sgemm": _Job(inputs=2, square=True),
}


def _shape(job: str, nbytes: int) -> tuple[int, ...]:
    """Return the shape of an array of about so many bytes."""
    (elements,) = oracle.shape_for("copy", nbytes, "float32")
    side = math.isqrt(elements)
    return (side, side) if JOBS[job].square else (elements,)


def random_inputs(job: str, shape: tuple[int, ...]) -> list[HostArray]:
    """Return fresh random inputs of a job."""
    random = np.random.default_rng()
    return [random.random(shape, np.float32) - np.float32(0.5) for _ in range(JOBS[job].inputs)]


def _traffic(job: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return bytes to the device, and back."""
    nbytes = 4 * math.prod(shape)
    return JOBS[job].inputs * nbytes, nbytes


def check_result(job: str, got: Any, inputs: Sequence[HostArray]) -> None:
    """Raise AssertionError unless it is what NumPy makes of the inputs."""
    if job != "sgemm":
        wanted = oracle.expected(job, *inputs)
        oracle.compare(job, got, wanted, oracle.bound(job, *inputs))
        return
    a, b = inputs
    if not isinstance(got, np.ndarray) or got.shape != (len(a), b.shape[1]):
        oracle.compare(job, got, np.empty((len(a), b.shape[1]), np.float32))
    rows = np.arange(len(a))
    if len(a) > WHOLE_SIDE:
        some = np.random.default_rng().integers(len(a), size=_SOME_ROWS)
        rows = np.unique(np.r_[0, some, len(a) - 1])
    wanted = oracle.expected(job, a[rows], b)
    oracle.compare(job, got[rows], wanted, oracle.bound(job, a[rows], b))


# ---- the contenders -----------------------------------------------------------------------


def _round_trip(
    device: Device, job: str, by: str, inputs: Sequence[HostArray], out: HostArray | None
) -> Checked:
    """One call of a library, from its inputs to its result."""
    call = functools.partial(CALLERS[by], job, device, inputs, out)

    def run(count: int) -> None:
        for _ in range(count):
            call()

    def check() -> None:
        if out is not None:
            out.fill(np.nan)
        got = call()
        check_result(job, got, inputs)
        # The next result may get the same memory, and must not find this one in it.
        got.fill(np.nan)

    return timed(run), check


def _bus(device: Device, job: str, shape: tuple[int, ...], pool: ThreadPoolExecutor) -> Checked:
    """Both transfers of a job at once, from and to pinned memory, and nothing else."""
    in_bytes, out_bytes = _traffic(job, shape)
    sent, received = (device.host_array((n,), "uint8", "pinned") for n in (in_bytes, out_bytes))
    data, result = random_bytes(in_bytes), random_bytes(out_bytes)
    sent[...], received[...] = data, POISON
    source = device.to_device(result)
    target = device.array((in_bytes,), "uint8")
    run = timed(
        both_at_once(
            pool,
            by_bus(device, target, sent, True, "pinned", stream=device.stream()),
            by_bus(device, source, received, False, "pinned", stream=device.stream()),
        )
    )

    def check() -> None:
        target.fill_bytes(POISON)
        device.synchronize()
        run(1)
        check_bytes(target, data)
        check_bytes(received, result)

    return run, check


# ---- the family ---------------------------------------------------------------------------


class RoundTrips(Benchmark):
    """Whole calls on arrays of the host; the variants are jobs."""

    name = "roundtrip"
    variants = tuple(JOBS)
    sizes = "1M:256M:x4"
    dtype = "float32"
    parameters: ClassVar[dict[str, Parameter]] = {
        "kind": Parameter(None, lambda value: chosen("kind", value, _KINDS)),
    }

    @staticmethod
    def steps(nbytes: int, names: list[str]) -> list[Step]:
        return [Step(f"roundtrip {job}", _shape(job, nbytes), [job]) for job in names]

    def contenders(self, step: Step, choices: Choices) -> list[Contender]:
        (job,) = step.variants
        found = [Contender(self.name, job, {"by": BUS, "kind": "pinned"})]
        for kind in choices["kind"]:
            found += [
                Contender(self.name, job, {"by": by, "kind": kind})
                for by in FAMILIES[self.name].ours
            ]
            found += [
                Contender(self.name, job, {"by": by, "kind": kind}, reason=absent(by), foreign=True)
                for by in choices["with_peers"]
            ]
        return found

    def host_bytes(self, step: Step, contenders: Sequence[Contender]) -> int:
        """Count inputs of two kinds and those of the bus, each with a result and what is right."""
        (job,) = step.variants
        in_bytes, out_bytes = _traffic(job, step.shape)
        return 3 * in_bytes + 6 * out_bytes

    def prepare(
        self, step: Step, contenders: Sequence[Contender], pool: ThreadPoolExecutor
    ) -> list[tuple[Contender, Timed]]:
        (job,) = step.variants
        inputs = random_inputs(job, step.shape)
        # Inputs and output by kind of memory; pageable results are new arrays, as NumPy's are.
        places: dict[str, tuple[list[HostArray], HostArray | None]] = {"pageable": (inputs, None)}

        def make(one: Contender) -> Checked:
            by, kind = one.parameters["by"], one.parameters["kind"]
            if by == BUS:
                return _bus(self.device, job, step.shape, pool)
            if kind not in places:
                arrays = [
                    self.device.host_array(step.shape, "float32", kind)
                    for _ in range(len(inputs) + 1)
                ]
                for to, a in zip(arrays, inputs, strict=False):
                    to[...] = a
                places[kind] = arrays[:-1], arrays[-1]
            return _round_trip(self.device, job, by, *places[kind])

        return set_up(contenders, make)

    def work(self, variant: str, shape: tuple[int, ...]) -> tuple[int, int | None]:
        flops = 2 * shape[0] ** 3 if variant == "sgemm" else None
        return sum(_traffic(variant, shape)), flops

    def fill_in_fractions(self, records: list[Record]) -> None:
        """Fill in the shares of the bus: its time over the record's own."""
        bus = next((one.median_ms for one in records if one.parameters["by"] == BUS), None)
        for record in records:
            if bus and record.median_ms:
                record.fraction_of_reference = bus / record.median_ms
