"""A module on a GPU: machine code that cuda-core loads, and launches through the driver."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..cuda_c.compile import Source
from ..cuda_c.compile_device import compile_for_device, why_no_compiler
from ..cuda_c.described import read_code
from ..cuda_c.device_side import kernel_names
from ..cuda_c.machine_type import MachineType
from .arguments import bind
from .driver import Driver, why_no_driver
from .side import take_values
from .simulator import OnSimulator

if TYPE_CHECKING:
    from .launch import Launch

__all__ = ["OnDevice", "why_not_on_device"]

_FREE_SHARED = 48 * 1024  # static and dynamic, that a kernel has without opting in
_PORTABLE_CLUSTER = 8  # blocks


@dataclass
class _Loaded:
    """A kernel, and how far it has opted in to more than usual."""

    handle: Any
    native: _core.DeviceKernel
    shared_bytes: int  # dynamic, that it may be launched with
    any_cluster: bool = False

    def queue(self, launch: Launch, values: tuple[Any, ...], packed: bool) -> bool:
        """Launch the kernel; False if somebody has to look at the values first."""
        return self.native.launch(
            values,
            launch.grid,
            launch.block,
            launch.cluster,
            launch.shared_bytes,
            launch.stream,
            launch.cooperative,
            packed,
        )


def why_not_on_device() -> str | None:
    """Return why modules cannot be loaded on a GPU, or None if they can."""
    return why_no_driver() or why_no_compiler()


class OnDevice:
    """A source compiled for the current device, with variables of its own."""

    backend = "cuda"

    def __init__(self, source: Source) -> None:
        self.source = source
        self._driver = Driver()
        self.compiled = compile_for_device(source, self._driver.architecture())
        names = kernel_names(self.compiled, source.instances)
        self._code = read_code(self.compiled.path, names, self.compiled.declared)
        self._library = self._driver.load(self.compiled.path.read_bytes(), source.name)
        self._lock = threading.Lock()
        self._loaded: dict[str, _Loaded] = {}

    def with_source(self, source: Source) -> OnDevice:
        """Load a source with more instances of templates; variables keep their values."""
        made = OnDevice(source)
        take_values(made, self)
        return made

    def simulated(self) -> OnSimulator:
        """Return the same source on the simulator."""
        return OnSimulator(self.source)

    @property
    def kernels(self) -> Mapping[str, Sequence[MachineType]]:
        """The types of the parameters of each kernel."""
        return self._code.kernels

    @property
    def variables(self) -> Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtype and the shape of each device variable."""
        return {name: (one.dtype, one.shape) for name, one in self._code.variables.items()}

    def call(self, launch: Launch, args: tuple[Any, ...]) -> None:
        """Check the arguments and queue a kernel."""
        loaded = self._loaded.get(launch.kernel.name) or self._load(launch)
        if launch.demands:
            self._opt_in(loaded, launch)
        if not loaded.queue(launch, args, False):
            self._call_checked(loaded, launch, args)

    def _call_checked(self, loaded: _Loaded, launch: Launch, args: tuple[Any, ...]) -> None:
        kernel = launch.kernel
        bound = bind(kernel.name, kernel.parameters, args, self.backend, launch.stream)
        for i, (value, given) in enumerate(zip(bound.values, args, strict=True)):
            if isinstance(value, _core.DeviceArray) and not isinstance(given, np.ndarray):
                loaded.native.accept(i, value.dtype)
        if not loaded.queue(launch, tuple(bound.values), True):
            raise AssertionError(f"{kernel.name}: arguments that were checked do not fit")
        bound.copy_back()

    def is_address(self, value: int) -> bool:
        """Whether this is an address in memory that only the GPU's kernels can use."""
        return self._driver.is_address(value)

    def attributes(self, kernel: str, threads: int, shared_bytes: int) -> dict[str, Any]:
        """Return what a kernel needs of the GPU; see Kernel.attributes."""
        handle = self._driver.kernel(self._library, self._code.symbols[kernel])
        return self._driver.attributes(handle, threads, shared_bytes)

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Return a copy of a device variable."""
        variable = self._code.variables[name]
        value = np.empty(variable.shape, variable.dtype)
        _core.synchronize("cuda")
        self._driver.copy(self._library, variable, value, to_device=False)
        return value

    def write(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Set a device variable to a value of its dtype and shape."""
        _core.synchronize("cuda")
        value = np.ascontiguousarray(value)
        self._driver.copy(self._library, self._code.variables[name], value, to_device=True)

    def _load(self, launch: Launch) -> _Loaded:
        kernel = launch.kernel
        with self._lock:
            handle = self._driver.kernel(self._library, self._code.symbols[kernel.name])
            types = tuple(
                (one.kind, one.bytes, one.pointer, one.constant)
                for one in self._code.kernels[kernel.name]
            )
            texts = tuple(map(str, kernel.parameters))
            native = _core.DeviceKernel(int(handle), kernel.name, types, texts)
            static = self._driver.static_shared(handle)
            loaded = _Loaded(handle, native, _FREE_SHARED - static)
            return self._loaded.setdefault(kernel.name, loaded)

    def _opt_in(self, loaded: _Loaded, launch: Launch) -> None:
        """Let a kernel have more dynamic shared memory, or larger clusters, than usual."""
        x, y, z = launch.cluster
        with self._lock:
            if launch.shared_bytes > loaded.shared_bytes:
                self._driver.allow_shared(loaded.handle, launch.kernel.name, launch.shared_bytes)
                loaded.shared_bytes = launch.shared_bytes
            if x * y * z > _PORTABLE_CLUSTER and not loaded.any_cluster:
                self._driver.allow_any_cluster(loaded.handle)
                loaded.any_cluster = True
