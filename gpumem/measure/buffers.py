"""The arrays of one job: on the host with what NumPy makes of them, and sets of them on the device.

A contender computes once on a poisoned output, which must agree with NumPy, before it is timed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .._core import DeviceArray
from ..base.sizes import format_bytes
from ..families import oracle, peers, table
from ..families.table import variants as variants_of
from ..machine.device import Device
from ..machine.host import host_memory
from . import spot_check
from .contender import Contender
from .stopwatch import FOOTPRINT, Launch

__all__ = ["Buffers", "Job", "Refused", "set_count"]

_MOST_SETS = 64
_USABLE = 0.9  # of the free device memory
_POISON = 0xA5
_LARGE = 2**25  # bytes of a set from which it matters where it lies
_APART = 2**21  # bytes; memory comes in pages of so many


class Refused(Exception):
    """The job cannot be measured; the message is the reason of its records."""


@dataclass(frozen=True)
class Job:
    """What the contenders of one comparison have in common."""

    family: str
    variants: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    cache: str
    order: str
    parameters: dict[str, Any] = field(default_factory=dict)


class Buffers:
    """The arrays of a job, which its contenders are bound to.

    Parameters
    ----------
    job : Job
        What is measured.
    device : Device
        Where.
    place : int
        The number of the device among those of the backend.
    l2 : int
        Bytes of its L2.

    Attributes
    ----------
    footprint : int
        Bytes of one set of inputs and output.

    Raises
    ------
    Refused
        If there is too little memory.
    """

    def __init__(self, job: Job, device: Device, place: int, l2: int) -> None:
        self.device = device
        self.family = job.family
        self._rows = {row["name"]: row for row in _core.families()}
        _check_host_memory(job)
        self._arguments = oracle.arguments(
            job.family, job.shape, job.dtype, seed=1, **job.parameters
        )
        wanted = oracle.expected(job.family, *self._arguments, **job.parameters)
        # By family and job, so that what several contenders compute is computed once.
        self._wanted: dict[tuple[str, str], Any] = {(job.family, "auto"): wanted}
        self._bounds: dict[tuple[str, str], Any] = {}
        self._outputs: dict[tuple[str, tuple[int, ...]], list[DeviceArray]] = {}
        self.footprint = sum(a.nbytes for a in self._arguments) + wanted.nbytes
        free = device.info()["devices"][place]["free_bytes"]
        count = set_count(job.cache, self.footprint, l2, free)
        self._between: list[DeviceArray] = []
        self._inputs = [tuple(map(self._upload, self._arguments)) for _ in range(count)]

    def bind(self, contenders: Iterable[Contender]) -> list[tuple[Contender, list[Launch]]]:
        """Bind contenders to each set and check them once.

        A contender that refuses its arguments or is wrong gets a reason; the others are returned
        with one call per set.
        """
        found = []
        for one in contenders:
            wanted, within = self._expected(one)
            self._restore()
            outputs = self._outputs_for(one.family, wanted)
            try:
                calls = self._calls(one, outputs)
                written = self._inputs[0][0] if outputs is None else outputs[0]
                self._check(one, calls[0], written, wanted, within)
            except AssertionError as error:
                one.reason = f"wrong result: {error}"
            except (ValueError, _core.UnavailableError) as error:
                one.reason = str(error)
            else:
                found.append((one, calls))
        self._between.clear()
        return found

    def _upload(self, a: Any) -> DeviceArray:
        self._keep_apart()
        return self.device.to_device(a)

    def _keep_apart(self) -> None:
        """Leave a gap of any length in front of the next large array.

        Where they lie makes some kernels 3 percent slower, the same each time. Each run draws anew
        where that is, so that it does not look like a property of the kernel.
        """
        if self.footprint >= _LARGE:
            pages = int(np.random.default_rng().integers(min(self.footprint // _APART, 64)))
            self._between.append(self.device.array((pages * _APART + 1,), "u1"))

    def _own_arguments(self, family: str) -> Sequence[Any]:
        """Return the arguments that a family takes; that of the reference may take fewer."""
        return self._arguments[: len(self._rows[family]["inputs"])]

    def _expected(self, one: Contender) -> tuple[Any, Any]:
        """Return what a contender should compute, and the largest error per element or None."""
        own = self._own_arguments(one.family)
        keywords = dict(one.parameters)
        if any(one.variant == variant.name for variant in variants_of(one.family)):
            keywords["variant"] = one.variant
        job = one.family, oracle.job(one.family, one.variant)
        if job not in self._wanted:
            self._wanted[job] = oracle.expected(one.family, *own, **keywords)
        accuracy = one.family, oracle.accuracy(one.family, one.variant)
        if accuracy not in self._bounds:
            self._bounds[accuracy] = oracle.bound(one.family, *own, **keywords)
        return self._wanted[job], self._bounds[accuracy]

    def _restore(self) -> None:
        """Undo what the last contender of an in-place family wrote to its input."""
        if self._rows[self.family]["in_place"]:
            pristine = self.device.to_device(self._arguments[0])
            self.device.copy(pristine, self._inputs[0][0])

    def _outputs_for(self, family: str, wanted: Any) -> list[DeviceArray] | None:
        """Return an output per set, the first poisoned; None for a family that works in place."""
        if self._rows[family]["in_place"]:
            return None
        key = family, wanted.shape
        if key not in self._outputs:
            self._outputs[key] = [self._output(wanted) for _ in self._inputs]
        self._outputs[key][0].fill_bytes(_POISON)
        return self._outputs[key]

    def _output(self, wanted: Any) -> DeviceArray:
        self._keep_apart()
        return self.device.array(wanted.shape, wanted.dtype)

    def _calls(self, one: Contender, outputs: list[DeviceArray] | None) -> list[Launch]:
        values = table.parameters(one.family, one.parameters)
        count = len(self._own_arguments(one.family))
        calls: list[Launch] = []
        for i, arrays in enumerate(self._inputs):
            own, out = arrays[:count], None if outputs is None else outputs[i]
            if one.foreign:
                calls.append(
                    peers.Call(one.variant, one.family, own, own[0] if out is None else out)
                )
            else:
                calls.append(self.device.prepare(one.family, one.variant, own, out, values))
        return calls

    def _check(
        self, one: Contender, call: Launch, output: DeviceArray, wanted: Any, within: Any
    ) -> None:
        """Launch once and compare the output; AssertionError says where it is wrong."""
        call.launch()
        self.device.synchronize()
        if wanted.nbytes <= spot_check.WHOLE:
            oracle.compare(one.family, output.to_host(), wanted, within)
            return
        flat, wanted = output.reshape(wanted.size), wanted.reshape(-1)
        for part in spot_check.compared_parts(wanted.size, wanted.itemsize):
            bound = None if within is None else within.reshape(-1)[part]
            try:
                oracle.compare(one.family, flat[part].to_host(), wanted[part], bound)
            except AssertionError as error:
                raise AssertionError(f"from element {part.start} on: {error}") from None


def _check_host_memory(job: Job) -> None:
    nbytes, _ = oracle.work(job.family, job.shape, job.dtype, **job.parameters)
    free = host_memory()
    if 2 * nbytes > free:  # the arguments and the result, each with a second copy to compare
        raise Refused(
            f"needs {format_bytes(2 * nbytes)} of host memory, {format_bytes(free)} are free"
        )


def set_count(cache: str, footprint: int, l2: int, free: int) -> int:
    """Return how many sets of buffers to take turns with, so that a cold L2 stays cold."""
    count = 1
    usable = _USABLE * free
    if cache == "cold":
        count = min(max(FOOTPRINT * l2 // max(footprint, 1) + 1, 2), _MOST_SETS)
        if count * footprint > usable and footprint > FOOTPRINT * l2:
            count = 1  # so large that nothing of it is left in the L2 for the next launch
    if count * footprint > usable:
        raise Refused(
            f"needs {format_bytes(count * footprint)} of device memory, "
            f"{format_bytes(free)} are free"
        )
    return count
