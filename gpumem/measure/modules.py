"""How long users' kernels take, beside functions that do the same job another way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from .._core import DeviceArray
from ..base.messages import quoted
from ..base.record import STREAM, Record, order_words
from ..base.result import BenchResult
from ..machine import nvml
from ..machine.device import Device, open_device
from ..modules.launch import Launch
from .buffers import Refused, set_count
from .contender import Contender, out_of_memory, take_turns
from .kernels import caches, fill_in_fractions, orders
from .recording import Recording, Run, record_of
from .sampling import Deadline
from .stopwatch import PythonCall, Stopwatch

__all__ = ["KernelJob", "measure_kernel"]


@dataclass(frozen=True)
class KernelJob:
    """A kernel with its arguments, and what is measured beside it.

    Attributes
    ----------
    launch : Launch
        The kernel with its grid.
    args : tuple
        Its arguments.
    bytes, flops : int or None
        What one launch moves and computes, for rates.
    against : dict
        Functions of the same arguments, by name.
    modes : tuple of (str, str)
        How to measure it: the state of the L2, "cold" or "warm", and the order of calls, "stream"
        or "single".
    """

    launch: Launch
    args: tuple[Any, ...]
    bytes: int | None
    flops: int | None
    against: Mapping[str, Callable[..., Any]]
    modes: tuple[tuple[str, str], ...]

    @classmethod
    def checked(
        cls,
        launch: Launch,
        args: tuple[Any, ...],
        bytes: int | None = None,
        flops: int | None = None,
        against: Mapping[str, Callable[..., Any]] | None = None,
        cache: str | Iterable[str] = "cold",
        order: str | Iterable[str] = STREAM,
    ) -> KernelJob:
        """Return a job whose arguments make sense.

        Raises
        ------
        TypeError, ValueError
            If they do not; the message names the argument.
        """
        for name, value in (("bytes", bytes), ("flops", flops)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise TypeError(f"{name} must be an integer, not {quoted(value)}")
            if value < 0:
                raise ValueError(f"{name} must be at least 0, not {quoted(value)}")
        beside = dict(against or {})
        for name, function in beside.items():
            if not isinstance(name, str) or not callable(function):
                raise TypeError(
                    f"against must map names to functions of the kernel's arguments, "
                    f"not {quoted(name)} to {quoted(function)}"
                )
        if launch.kernel.name in beside:
            raise ValueError(f"against must not name {launch.kernel.name}, which is the kernel")
        if launch.stream is not None:
            raise ValueError(f"{launch.kernel.name} is measured on the default stream, not another")
        return cls(
            launch,
            args,
            None if bytes is None else int(bytes),
            None if flops is None else int(flops),
            beside,
            tuple(itertools.product(caches(cache), orders(order))),
        )

    @property
    def arrays(self) -> list[Any]:
        """The arrays among the arguments, each once."""
        found = {id(one): one for one in self.args if _is_array(one)}
        return list(found.values())


def measure_kernel(job: KernelJob, device: Device | None, run: Run) -> BenchResult:
    """Measure a kernel and what is beside it, in turn.

    Raises
    ------
    UnavailableError
        If the kernel was loaded for the simulator.
    """
    kernel = job.launch.kernel
    if device is None:
        if kernel.module.backend == "sim":
            raise _core.UnavailableError(
                f"{kernel.title} was loaded for the simulator, which knows no times: load it with "
                'backend="cuda", or count with gpumem.traffic'
            )
        device = open_device(kernel.module.backend)
    deadline = Deadline(run.timeout)
    recording = Recording(device, run, {})
    stopwatch = Stopwatch(device)
    properties = recording.provenance["device"]
    with recording, nvml.Watch(properties) as watch:
        for i, mode in enumerate(job.modes):
            cache, order = mode
            run.progress(i, len(job.modes), f"{kernel.name} {cache}{order_words(order)}")
            contenders = _contenders(job)
            _sample(job, contenders, mode, stopwatch, run, deadline, watch)
            seen = watch.summary()
            records = [_record(job, one, device, mode) for one in contenders]
            records = [replace(one, **seen) if one.median_ms else one for one in records]
            first = next(iter(job.against), kernel.name)
            fill_in_fractions(records, properties, (kernel.module.name, first))
            recording.records += records
        run.progress(len(job.modes), len(job.modes), "done")
    return recording.result()


def _contenders(job: KernelJob) -> list[Contender]:
    kernel = job.launch.kernel
    sizes = {
        name: "x".join(map(str, sides))
        for name, sides in (("grid", job.launch.grid), ("block", job.launch.block))
    }
    names = (kernel.name, *job.against)
    return [Contender(kernel.module.name, name, dict(sizes)) for name in names]


def _sample(
    job: KernelJob,
    contenders: Sequence[Contender],
    mode: tuple[str, str],
    stopwatch: Stopwatch,
    run: Run,
    deadline: Deadline,
    watch: nvml.Watch,
) -> None:
    """Fill in the samples, or the reason, of every contender."""
    cache, order = mode
    footprint = sum(one.nbytes for one in job.arrays)
    try:
        sets = _sets(job, cache, footprint, stopwatch)
    except (Refused, MemoryError) as error:
        for one in contenders:
            one.reason = out_of_memory(error)
        return
    functions: list[Callable[..., Any]] = [job.launch, *job.against.values()]
    for one, function in zip(contenders, functions, strict=True):
        calls = [PythonCall(one.variant, function, args) for args in sets]
        calls[0].launch()  # compiles and loads what a first call does
        stopwatch.device.synchronize()
        one.sample = stopwatch.sampler(calls, footprint, cache, order)
    watch.look()
    take_turns(contenders, run.limits, deadline, between=watch.look)


def _sets(
    job: KernelJob, cache: str, footprint: int, stopwatch: Stopwatch
) -> list[tuple[Any, ...]]:
    """Return arguments with arrays on the device, as many times as keep the L2 cold.

    Arrays of other libraries are used as they are: there is only one set then.
    """
    device = stopwatch.device
    copied = all(isinstance(one, np.ndarray | DeviceArray) for one in job.arrays)
    free = device.info()["devices"][0]["free_bytes"]
    count = set_count(cache, footprint, stopwatch.l2, free) if copied and job.arrays else 1
    sets = []
    for number in range(count):
        made: dict[int, Any] = {}
        for one in job.arrays:
            if isinstance(one, np.ndarray):
                made[id(one)] = device.to_device(one)
            elif number and isinstance(one, DeviceArray):
                made[id(one)] = one.copy()
        sets.append(tuple(made.get(id(one), one) for one in job.args))
    return sets


def _is_array(value: Any) -> bool:
    return hasattr(value, "nbytes") and hasattr(value, "shape") and bool(getattr(value, "ndim", 1))


def _record(job: KernelJob, one: Contender, device: Device, mode: tuple[str, str]) -> Record:
    """Return the record of a contender; its size is that of the largest array."""
    cache, order = mode
    largest = max(job.arrays, key=lambda array: array.nbytes, default=None)
    return record_of(
        one,
        backend=device.backend,
        shape=() if largest is None else tuple(map(int, largest.shape)),
        dtype="uint8" if largest is None else str(largest.dtype).removeprefix("torch."),
        cache=cache,
        order=order,
        work=(job.bytes, job.flops),
    )
