"""The CUDA driver, through cuda-core and cuda-bindings: what modules need of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..cuda_c.described import DeviceVariable
from ..cuda_c.nvrtc import HELP, core_library

__all__ = ["Driver", "architecture", "why_no_driver"]

_CODE = 16 << 20  # bytes of device memory to load a kernel's code in
_ATTRIBUTES = {  # of gm.Variant.attributes, by the driver's names
    "registers": "NUM_REGS",
    "local_bytes": "LOCAL_SIZE_BYTES",
    "shared_bytes": "SHARED_SIZE_BYTES",
    "constant_bytes": "CONST_SIZE_BYTES",
    "max_threads": "MAX_THREADS_PER_BLOCK",
}


def why_no_driver() -> str | None:
    """Return why kernels cannot be loaded on a GPU, or None if they can."""
    information = _core.backend_info("cuda")
    if not information["available"]:
        return str(information["reason"])
    return None if core_library() else f"cuda-core is not installed: {HELP}"


def architecture() -> str:
    """Return the current device's target for compilers; without a device, that of an H100."""
    return "90a" if why_no_driver() else Driver().architecture()


class Driver:
    """The driver, on the thread's current device."""

    def __init__(self) -> None:
        if reason := why_no_driver():
            raise _core.UnavailableError(f"kernels cannot be loaded on a GPU: {reason}")
        from cuda.bindings import driver

        self.api = driver
        self._core = core_library()

    def _device(self) -> Any:
        """Return the current device, with its context made the thread's."""
        with self._by_core("cuCtxSetCurrent"):
            device = self._core.Device()
            device.set_current()
        return device

    @contextlib.contextmanager
    def _by_core(self, function: str) -> Iterator[None]:
        """Name out of memory as elsewhere: cuda-core has one exception for all errors."""
        memory = self.api.CUresult.CUDA_ERROR_OUT_OF_MEMORY
        try:
            yield
        except Exception as error:
            if memory.name not in str(error):
                raise
            raise self._failure(function, memory) from error

    def _do(self, function: str, *args: Any) -> Any:
        """Call a function of the driver; return its result, or results."""
        error, *results = getattr(self.api, function)(*args)
        if error != self.api.CUresult.CUDA_SUCCESS:
            raise self._failure(function, error)
        return results[0] if len(results) == 1 else tuple(results)

    def _failure(self, function: str, error: Any, more: str = "") -> _core.CudaError:
        _, text = self.api.cuGetErrorString(error)
        what = (text or b"an unknown error").decode()
        message = f"{function} failed: {what} ({error.name}){more}"
        memory = error == self.api.CUresult.CUDA_ERROR_OUT_OF_MEMORY
        failure = _core.CudaMemoryError(message) if memory else _core.CudaError(message)
        failure.code, failure.name, failure.call = int(error), error.name, function
        failure.sticky = False
        return failure

    def architecture(self) -> str:
        """Return the device's target for compilers, such as "90a"."""
        major, minor = self._device().compute_capability
        return f"{major}{minor}{'a' if major >= 9 else ''}"

    def load(self, code: bytes, name: str) -> Any:
        """Load machine code; its variables are new ones."""
        self._device()
        with self._by_core("cuLibraryLoadData"):
            return self._core.ObjectCode.from_cubin(code, name=name)

    def kernel(self, library: Any, symbol: str) -> Any:
        """Return the handle of a kernel."""
        self._device()
        with self._by_core("cuLibraryLoadData"):  # which may be put off until now
            handle = _handle(library.get_kernel(symbol))
        self._load_code(handle)
        return handle

    def _load_code(self, handle: Any) -> None:
        """Load a kernel's code now; see csrc/backend/cuda_load.c for what a full device does."""
        if self._free() < _CODE:
            _core.pool_trim(backend="cuda")
        if (free := self._free()) < _CODE:
            memory = self.api.CUresult.CUDA_ERROR_OUT_OF_MEMORY
            raise self._failure("cuFuncLoad", memory, f"; {free >> 20} MiB are free")
        if hasattr(self.api, "cuFuncLoad"):
            self._do("cuFuncLoad", self._do("cuKernelGetFunction", handle))

    def _free(self) -> int:
        return int(self._do("cuMemGetInfo")[0])

    def copy(
        self,
        library: Any,
        variable: DeviceVariable,
        value: np.ndarray[Any, Any],
        to_device: bool,
    ) -> None:
        """Copy a variable into an array of the host, or an array into a variable."""
        self._device()
        find = "cuLibraryGetManaged" if variable.managed else "cuLibraryGetGlobal"
        with self._by_core("cuLibraryLoadData"):
            handle = _handle(library)
        address, size = self._do(find, handle, variable.symbol.encode())
        assert size == value.nbytes, (variable, size, value.nbytes)
        if to_device:
            self._do("cuMemcpyHtoD", address, value.ctypes.data, size)
        else:
            self._do("cuMemcpyDtoH", value.ctypes.data, address, size)

    def is_address(self, value: int) -> bool:
        """Whether this is an address in memory of a GPU, or in host memory that GPUs know."""
        self._device()
        kind = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        error, _ = self.api.cuPointerGetAttribute(kind, self.api.CUdeviceptr(value))
        return bool(error == self.api.CUresult.CUDA_SUCCESS)

    def static_shared(self, handle: Any) -> int:
        """Return the bytes of shared memory that a kernel's variables take."""
        return self._attribute(handle, "SHARED_SIZE_BYTES")

    def allow_shared(self, handle: Any, kernel: str, shared_bytes: int) -> None:
        """Let a kernel have so many bytes of dynamic shared memory."""
        static = self.static_shared(handle)
        attribute = (
            self.api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        )
        most = self._do("cuDeviceGetAttribute", attribute, self._number())
        if static + shared_bytes > most:
            raise ValueError(
                f"{kernel} would need {static + shared_bytes} bytes of shared memory per block, "
                f"the device has {most}"
            )
        self._set(handle, "MAX_DYNAMIC_SHARED_SIZE_BYTES", shared_bytes)

    def allow_any_cluster(self, handle: Any) -> None:
        """Let a kernel have clusters of more than eight blocks."""
        self._set(handle, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def attributes(self, handle: Any, threads: int, shared_bytes: int) -> dict[str, Any]:
        """Return what a kernel needs; see Kernel.attributes."""
        found = {name: self._attribute(handle, theirs) for name, theirs in _ATTRIBUTES.items()}
        if shared_bytes + found["shared_bytes"] > 48 * 1024:
            self.allow_shared(handle, "the kernel", shared_bytes)
        blocks = self._do(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            self.api.CUfunction(int(handle)),
            threads,
            shared_bytes,
        )
        attribute = self.api.CUdevice_attribute
        most = self._do(
            "cuDeviceGetAttribute",
            attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            self._number(),
        )
        return {
            **found,
            "blocks": blocks,
            "occupancy": blocks * threads / most,
            "binary_version": self._attribute(handle, "BINARY_VERSION"),
        }

    def _number(self) -> Any:
        return self.api.CUdevice(self._device().device_id)

    def _attribute(self, handle: Any, name: str) -> int:
        attribute = getattr(self.api.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self._do("cuKernelGetAttribute", attribute, handle, self._number()))

    def _set(self, handle: Any, name: str, value: int) -> None:
        attribute = getattr(self.api.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        self._do("cuKernelSetAttribute", attribute, value, handle, self._number())


def _handle(thing: Any) -> Any:
    """Return the driver's handle of an object of cuda-core, whose releases name it differently."""
    return thing.handle if hasattr(thing, "handle") else thing._handle
