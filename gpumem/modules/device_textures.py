"""Textures and surfaces on a GPU, through the driver."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .. import _core
from .driver import Driver
from .texture_layout import Layout, Sampling

__all__ = ["OnArray", "OnMemory"]

_FORMATS = {
    "i1": "SIGNED_INT8",
    "i2": "SIGNED_INT16",
    "i4": "SIGNED_INT32",
    "u1": "UNSIGNED_INT8",
    "u2": "UNSIGNED_INT16",
    "u4": "UNSIGNED_INT32",
    "f4": "FLOAT",
}


class _Made:
    """An object of the driver, which is destroyed with this one, after the work that uses it."""

    def __init__(self, memory: _Memory, destroy: str, handle: Any, needs: object = None) -> None:
        self.handle = handle
        self._needs = needs  # has to be destroyed later
        end = weakref.finalize(self, _destroy, memory.api, memory.context, destroy, handle)
        end.atexit = False  # the driver may be gone by then, and takes everything with it


def _destroy(api: Any, context: Any, function: str, handle: Any) -> None:
    """Destroy an object when the GPU is done with it; from any thread, so errors are nobody's."""
    (error,) = api.cuCtxPushCurrent(context)
    if error == api.CUresult.CUDA_SUCCESS:
        api.cuCtxSynchronize()
        getattr(api, function)(handle)
        api.cuCtxPopCurrent()


class _Memory(Driver):
    """Memory that textures read, on the thread's current device."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.layout = layout
        self._device()
        self.context = self._do("cuCtxGetCurrent")

    def _format(self) -> Any:
        dtype = self.layout.dtype
        name = f"CU_AD_FORMAT_{_FORMATS[f'{dtype.kind}{dtype.itemsize}']}"
        return getattr(self.api.CUarray_format, name)

    def _resource(self, kind: str) -> Any:
        resource = self.api.CUDA_RESOURCE_DESC()
        resource.resType = getattr(self.api.CUresourcetype, f"CU_RESOURCE_TYPE_{kind}")
        return resource

    def _texture(self, resource: Any, sampling: Sampling, needs: object) -> tuple[object, int]:
        api, how = self.api, self.api.CUDA_TEXTURE_DESC()
        how.addressMode = [api.CUaddress_mode(one) for one in sampling.addresses]
        how.filterMode = api.CUfilter_mode(int(sampling.linear))
        how.borderColor = list(sampling.border)
        # The driver makes numbers of integers unless it is told not to.
        how.flags = 0 if sampling.to_float else api.CU_TRSF_READ_AS_INTEGER
        how.flags |= api.CU_TRSF_NORMALIZED_COORDINATES if sampling.normalized else 0
        handle = self._do("cuTexObjectCreate", resource, how, None)
        return _Made(self, "cuTexObjectDestroy", handle, needs), int(handle)


class OnArray(_Memory):
    """A CUDA array with the elements of a host array."""

    def __init__(self, layout: Layout, host: np.ndarray[Any, Any], is_surface: bool) -> None:
        super().__init__(layout)
        api, what = self.api, self.api.CUDA_ARRAY3D_DESCRIPTOR()
        width, height, depth = layout.size
        what.Width = width
        what.Height = height if layout.dimensions > 1 else 0
        what.Depth = depth if layout.layered or layout.dimensions > 2 else 0
        what.Format, what.NumChannels = self._format(), layout.channels
        what.Flags = api.CUDA_ARRAY3D_LAYERED if layout.layered else 0
        what.Flags |= api.CUDA_ARRAY3D_SURFACE_LDST if is_surface else 0
        self._array = _Made(self, "cuArrayDestroy", self._do("cuArray3DCreate", what))
        self.write(host)

    def read(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements."""
        host = np.empty((*self.layout.shape, self.layout.channels), self.layout.dtype)
        self._copy(host, to_device=False)
        return host

    def write(self, host: np.ndarray[Any, Any]) -> None:
        """Set the elements."""
        self._copy(np.ascontiguousarray(host, self.layout.dtype), to_device=True)

    def make(self, sampling: Sampling | None) -> tuple[object, int]:
        """Make a texture of the array, or a surface."""
        resource = self._resource("ARRAY")
        resource.res.array.hArray = self._array.handle
        if sampling is not None:
            return self._texture(resource, sampling, self._array)
        handle = self._do("cuSurfObjectCreate", resource)
        return _Made(self, "cuSurfObjectDestroy", handle, self._array), int(handle)

    def _copy(self, host: np.ndarray[Any, Any], to_device: bool) -> None:
        _core.synchronize("cuda")
        kinds, how = self.api.CUmemorytype, self.api.CUDA_MEMCPY3D()
        _, how.Height, how.Depth = self.layout.size
        how.WidthInBytes = self.layout.row_bytes
        if to_device:
            how.srcMemoryType, how.dstMemoryType = (
                kinds.CU_MEMORYTYPE_HOST,
                kinds.CU_MEMORYTYPE_ARRAY,
            )
            how.srcHost, how.dstArray = host.ctypes.data, self._array.handle
            how.srcPitch, how.srcHeight = how.WidthInBytes, how.Height
        else:
            how.srcMemoryType, how.dstMemoryType = (
                kinds.CU_MEMORYTYPE_ARRAY,
                kinds.CU_MEMORYTYPE_HOST,
            )
            how.srcArray, how.dstHost = self._array.handle, host.ctypes.data
            how.dstPitch, how.dstHeight = how.WidthInBytes, how.Height
        self._do("cuMemcpy3D", how)


class OnMemory(_Memory):
    """The memory of a DeviceArray itself: linear, or row by row."""

    def __init__(self, layout: Layout, array: _core.DeviceArray) -> None:
        super().__init__(layout)
        if len(layout.shape) > 2 or layout.layered:
            raise ValueError(
                f"texture: CUDA reads a DeviceArray as a texture of one or two dimensions without "
                f"layers, not of shape {layout.shape}; give a host array, which is copied"
            )
        self.array = array
        self._pitch = layout.row_bytes
        if len(layout.shape) == 2 and layout.shape[0] > 1:
            self._pitch = array.strides[0]
        self._check("the address", array.pointer, "TEXTURE_ALIGNMENT")
        if len(layout.shape) == 2:
            self._check("the distance of rows", self._pitch, "TEXTURE_PITCH_ALIGNMENT")

    def _check(self, what: str, value: int, attribute: str) -> None:
        number = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{attribute}")
        step = self._do("cuDeviceGetAttribute", number, self._number())
        if value % step or value < 0:
            raise ValueError(
                f"texture: {what} is {value} bytes, and the GPU's textures need multiples of "
                f"{step}; give a host array, which is copied"
            )

    def read(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements."""
        return self.array.to_host()

    def write(self, host: np.ndarray[Any, Any]) -> None:
        """Raise: nothing writes to such textures."""
        raise AssertionError("a texture of a DeviceArray is read only")

    def make(self, sampling: Sampling | None) -> tuple[object, int]:
        """Make a texture of the memory."""
        assert sampling is not None
        flat = len(self.layout.shape) == 1
        resource = self._resource("LINEAR" if flat else "PITCH2D")
        memory = resource.res.linear if flat else resource.res.pitch2D
        memory.devPtr = self.api.CUdeviceptr(self.array.pointer)
        memory.format, memory.numChannels = self._format(), self.layout.channels
        if flat:
            memory.sizeInBytes = self.layout.row_bytes
        else:
            memory.height, memory.width = self.layout.shape
            memory.pitchInBytes = self._pitch
        return self._texture(resource, sampling, self.array)
