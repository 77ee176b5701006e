"""What measuring asks of a device: a protocol, and the device that there is.

Benchmarks are given a :class:`Device`. By default it is a :class:`BackendDevice`, which passes
everything on to the extension module; a test hands in one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._core import DeviceArray, Prepared, Stream

__all__ = ["BackendDevice", "Device", "Event", "open_device"]

HostArray = np.ndarray[Any, Any]


class Event(Protocol):
    """A moment on the device."""

    def record(self) -> None:
        """Mark the moment when the work queued so far is done."""

    def elapsed(self, later: Any) -> float:
        """Return the milliseconds to a later event; wait for it."""


class Device(Protocol):
    """A backend and its devices, as benchmarks use them."""

    backend: str  # "cuda" or "sim"
    has_clock: bool  # whether its times mean anything

    def info(self) -> dict[str, Any]:
        """Return the driver, the runtime, and the properties of each of its ``devices``."""

    def available(self, family: str, variant: str) -> str | None:
        """Return why a variant does not run here, None if it does."""

    # ---- memory ---------------------------------------------------------------------------

    def array(self, shape: tuple[int, ...], dtype: Any, device: int | None = None) -> DeviceArray:
        """Return an uninitialised array in the device's memory."""

    def to_device(self, a: HostArray) -> DeviceArray:
        """Return a copy of a host array in the device's memory."""

    def host_array(self, shape: tuple[int, ...], dtype: Any, kind: str) -> HostArray:
        """Return an uninitialised array in a kind of host memory; see ``gpumem.empty``."""

    def over(self, a: HostArray) -> DeviceArray:
        """Return a host array as one of the device, which reaches it over the bus."""

    # ---- work -----------------------------------------------------------------------------

    def prepare(
        self,
        family: str,
        variant: str,
        inputs: tuple[DeviceArray, ...],
        out: DeviceArray | None,
        values: tuple[Any, ...],
        stream: Stream | None = None,
    ) -> Prepared:
        """Return a call that is bound to its arrays and can be launched many times."""

    def launch_all(self, prepared: Sequence[Prepared], count: int) -> None:
        """Launch `count` times, the calls in turn, without Python in between."""

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """Copy the elements of an array to another one."""

    def event(self) -> Event:
        """Return an event that can be recorded."""

    def stream(self) -> Stream:
        """Return a new stream."""

    def synchronize(self, device: int | None = None) -> None:
        """Wait until all queued work is done."""

    # ---- the bus --------------------------------------------------------------------------

    def transfer(
        self,
        array: DeviceArray,
        host: HostArray,
        to_device: bool,
        count: int,
        driver: bool,
        pieces: int = 1,
        stream: Stream | None = None,
    ) -> None:
        """Move the same bytes `count` times between the host and the device."""

    def send(self, source: DeviceArray, target: DeviceArray, count: int, pieces: int) -> None:
        """Move the same bytes `count` times from one device to another."""

    def can_reach(self, device: int, other: int) -> bool:
        """Return whether a device can be given access to the memory of another."""

    def let_reach(self, device: int, other: int, on: bool) -> bool:
        """Give or take that access; return whether it was there before."""

    def reach(self, array: DeviceArray, device: int) -> DeviceArray:
        """Return an array of another device for use by this one."""

    def call(
        self,
        family: str,
        inputs: Sequence[HostArray],
        out: HostArray | None,
        values: tuple[Any, ...],
        chunk: int,
    ) -> HostArray:
        """Call a family on host arrays, of which `chunk` bytes move at a time."""


class BackendDevice:
    """The device of a backend of the extension module."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.has_clock = backend == "cuda"

    def info(self) -> dict[str, Any]:
        return _core.backend_info(self.backend)

    def available(self, family: str, variant: str) -> str | None:
        return _core.available(family, variant, self.backend)

    def array(self, shape: tuple[int, ...], dtype: Any, device: int | None = None) -> DeviceArray:
        return DeviceArray(shape, dtype, device=device, backend=self.backend)

    def to_device(self, a: HostArray) -> DeviceArray:
        return _core.to_device(a, backend=self.backend)

    def host_array(self, shape: tuple[int, ...], dtype: Any, kind: str) -> HostArray:
        return _core.empty(shape, dtype, kind=kind, backend=self.backend)

    def over(self, a: HostArray) -> DeviceArray:
        return _core.over(a, self.backend)

    def prepare(
        self,
        family: str,
        variant: str,
        inputs: tuple[DeviceArray, ...],
        out: DeviceArray | None,
        values: tuple[Any, ...],
        stream: Stream | None = None,
    ) -> Prepared:
        return _core.prepare(family, variant, inputs, out, stream, values)

    def launch_all(self, prepared: Sequence[Prepared], count: int) -> None:
        _core.launch_all(prepared, count)

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        _core.call("copy", "auto", (source,), target, None, None, (0,))

    def event(self) -> Event:
        return _core.Event(backend=self.backend)

    def stream(self) -> Stream:
        return Stream(backend=self.backend)

    def synchronize(self, device: int | None = None) -> None:
        _core.synchronize(self.backend, device=device)

    def transfer(
        self,
        array: DeviceArray,
        host: HostArray,
        to_device: bool,
        count: int,
        driver: bool,
        pieces: int = 1,
        stream: Stream | None = None,
    ) -> None:
        _core.transfer(array, host, to_device, count, driver, pieces, stream)

    def send(self, source: DeviceArray, target: DeviceArray, count: int, pieces: int) -> None:
        _core.send(source, target, count, pieces)

    def can_reach(self, device: int, other: int) -> bool:
        return _core.can_reach(device, other, self.backend)

    def let_reach(self, device: int, other: int, on: bool) -> bool:
        return _core.let_reach(device, other, on, self.backend)

    def reach(self, array: DeviceArray, device: int) -> DeviceArray:
        return _core.reach(array, device)

    def call(
        self,
        family: str,
        inputs: Sequence[HostArray],
        out: HostArray | None,
        values: tuple[Any, ...],
        chunk: int,
    ) -> HostArray:
        found: HostArray = _core.call(
            family, "auto", tuple(inputs), out, None, self.backend, values, chunk
        )
        return found


def open_device(backend: str | None = None) -> Device:
    """Return the device of a backend; None is the default one.

    Raises
    ------
    UnavailableError
        If the backend is not here.
    ValueError
        If there is no such backend.
    """
    return BackendDevice(_core.backend(backend))
