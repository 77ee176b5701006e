"""Texture and surface objects: arguments for parameters of CUDA's types of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.messages import quoted, unknown

__all__ = ["Texture", "texture"]

_KINDS = "iuf"  # of channels, in the order of gm_texel_kind
_ADDRESSES = ("wrap", "clamp", "mirror", "border")  # in the order of gm_texture_address
_FILTERS = ("point", "linear")
_READS = ("element", "normalized_float")


class Texture:
    """An object for parameters of type ``cudaTextureObject_t`` or ``cudaSurfaceObject_t``.

    It has to be alive while a kernel runs that was given it.

    Attributes
    ----------
    array : DeviceArray
        What kernels read, and write as a surface.
    """

    def __init__(self, array: _core.DeviceArray, descriptor: bytes, address: int) -> None:
        self.array = array
        self._descriptor = descriptor  # the object is its address
        self._address = address

    def __index__(self) -> int:
        return self._address

    def __repr__(self) -> str:
        return f"<texture of {self.array.dtype}, shape {self.array.shape}>"


def _chosen(what: str, value: Any, known: Sequence[str]) -> int:
    """Return the number of a name."""
    if value not in known:
        raise ValueError(unknown(f"texture: {what} is", value, known))
    return known.index(value)


def _steps(array: _core.DeviceArray, dimensions: int) -> list[int]:
    """Return the bytes from row to row and from layer to layer; 0 where there is one only."""
    if array.size and not array[(0,) * (dimensions - 1)].contiguous:
        raise ValueError("texture: the elements of a row should lie side by side; give a copy()")
    outer = range(dimensions - 2, -1, -1)
    if any(array.strides[i] == 0 and array.shape[i] > 1 for i in outer):
        raise ValueError("texture: its rows should not be the same memory; give a copy()")
    return [array.strides[i] if array.shape[i] > 1 else 0 for i in outer]


def texture(
    array: np.ndarray[Any, Any] | _core.DeviceArray,
    *,
    channels: int = 1,
    filter: str = "point",
    address: str | Sequence[str] = "clamp",
    read: str = "element",
    normalized: bool = False,
    border: float | Sequence[float] = 0,
) -> Texture:
    """Make a texture or surface object of an array.

    Parameters
    ----------
    array : ndarray or DeviceArray
        (width), (height, width) or (depth or layers, height, width), of integers of 8, 16 or 32
        bits or of float32. A host array is copied, as into a ``cudaArray``; a DeviceArray on the
        simulator is used where it is, with its rows at any distance.
    channels : {1, 2, 4}
        Of an element: with more than one the last dimension of the array holds them.
    filter : {"point", "linear"}
        The nearest element, or the mean of those around.
    address : {"clamp", "wrap", "mirror", "border"}, or one for each of x, y and z
        What is outside; "wrap" and "mirror" need normalized coordinates.
    read : {"element", "normalized_float"}
        Whether integers of 8 and 16 bits are read as numbers from 0, or -1, to 1.
    normalized : bool
        Whether coordinates go from 0 to 1, and not to the size.
    border : float or four floats
        The channels outside, for the address mode "border".

    Raises
    ------
    TypeError, ValueError
        If CUDA has no such texture.

    Examples
    --------
    >>> import gpumem as gm
    >>> from gpumem.cuda_c.textures import texture
    >>> m = gm.load(source='''
    ... __global__ void read(float *out, cudaTextureObject_t t) {
    ...     out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.0f);
    ... }''')
    >>> out = np.zeros(3, "f4")
    >>> m["read"][1, 3](out, texture(np.array([2, 4, 8], "f4"), filter="linear"))
    >>> out
    array([3., 6., 8.], dtype=float32)
    """
    if not isinstance(array, np.ndarray | _core.DeviceArray):
        raise TypeError(f"texture takes an ndarray or a DeviceArray, not {quoted(array)}")
    there = _core.to_device(array, backend="sim") if isinstance(array, np.ndarray) else array
    if there.backend != "sim":
        raise TypeError(f"texture takes arrays on the simulator, not on {there.backend!r}")
    kind, itemsize = there.dtype.kind, there.dtype.itemsize
    if kind not in _KINDS:
        raise TypeError(f"texture takes integers and floats, not {there.dtype}")
    outer = there.shape[:-1] if channels != 1 else there.shape
    if not 1 <= len(outer) <= 3 or (channels != 1 and there.shape[-1] != channels):
        raise ValueError(
            f"texture takes one to three dimensions{' and the channels' * (channels != 1)}, not "
            f"an array of shape {there.shape}"
        )
    modes = [address] * 3 if isinstance(address, str) else [*address, *["clamp"] * 3][:3]
    colours = [border] * 4 if isinstance(border, int | float) else [*border, *[0.0] * 4][:4]
    pitch, layer = (*_steps(there, len(outer)), 0, 0)[:2]
    descriptor, place = _core.texture(
        there.pointer,
        pitch,
        layer,
        (*outer[::-1], 1, 1)[:3],
        _KINDS.index(kind),
        channels,
        itemsize,
        tuple(_chosen("address", one, _ADDRESSES) for one in modes),
        bool(_chosen("filter", filter, _FILTERS)),
        bool(_chosen("read", read, _READS)),
        bool(normalized),
        tuple(map(float, colours)),
    )
    return Texture(there, descriptor, place)
