"""Texture and surface objects: arguments for parameters of CUDA's types of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .. import _core
from ..base.messages import quoted, unknown
from ..families.copy import copy
from ..families.keywords import flag, integer, real
from .texture_layout import ADDRESSES, FILTERS, READS, Layout, Place, Sampling, described

__all__ = ["Surface", "Texture", "TextureObject", "surface", "texture"]


_CHANNELS = (1, 2, 4)


class _OnSimulator:
    """Memory of the simulator."""

    def __init__(self, layout: Layout, array: _core.DeviceArray) -> None:
        self.layout = layout
        self.array = array

    def read(self) -> np.ndarray[Any, Any]:
        return self.array.to_host()

    def write(self, host: np.ndarray[Any, Any]) -> None:
        copy(_core.to_device(host.reshape(self.array.shape), backend="sim"), out=self.array)

    def make(self, sampling: Sampling | None) -> tuple[object, int]:
        steps = _steps(self.array, self.layout)
        made, number = described(self.layout, sampling or Sampling(), self.array.pointer, *steps)
        return made, number


class _Texels:
    """The elements of a surface and of textures, on each backend that has asked for them.

    The elements of a host array are copied. Those of a DeviceArray stay where they are, unless a
    surface is made, which needs memory of its own on a GPU.
    """

    def __init__(
        self,
        what: str,
        array: np.ndarray[Any, Any] | _core.DeviceArray,
        channels: int,
        layered: bool,
    ) -> None:
        self.layout = _layout(
            what, array, integer("channels", channels), bool(flag("layered", layered))
        )
        self.is_surface = what == "surface"
        self.array: _core.DeviceArray | None = None
        self._host: np.ndarray[Any, Any] | None = None
        if isinstance(array, np.ndarray):
            self._host = np.array(array, self.layout.dtype, order="C")
        elif self.is_surface:
            self._host = array.to_host()
        else:
            self.array = array
            _steps(array, self.layout)
        self._shape = array.shape
        self._places: dict[str, Place] = {}
        self._latest: Place | None = None  # of a surface: that which kernels have written to
        self._lock = threading.Lock()

    def on(self, backend: str) -> Place:
        """Return the memory on a backend, with what kernels wrote to it on any."""
        if self.array is not None and self.array.backend != backend:
            raise TypeError(
                f"a texture of an array of backend {self.array.backend!r} was given to a kernel "
                f"that was loaded for {backend!r}"
            )
        with self._lock:
            place = self._places.get(backend)
            if place is None:
                place = self._places[backend] = self._made_on(backend)
            elif self._latest is not None and self._latest is not place:
                place.write(self._latest.read())
            if self.is_surface:
                self._latest, self._host = place, None
            return place

    def _made_on(self, backend: str) -> Place:
        if backend == "sim":
            if self.array is not None:
                return _OnSimulator(self.layout, self.array)
            return _OnSimulator(self.layout, _core.to_device(self._contents(), backend="sim"))
        from .device_textures import OnArray, OnMemory

        if self.array is not None:
            return OnMemory(self.layout, self.array)
        return OnArray(self.layout, self._contents(), self.is_surface)

    def _contents(self) -> np.ndarray[Any, Any]:
        """Return the elements in the shape of the array that was given."""
        if self._latest is not None:
            return self._latest.read().reshape(self._shape)
        assert self._host is not None
        return self._host

    def to_host(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements."""
        with self._lock:
            return np.array(self._contents())


class TextureObject:
    """What a texture and a surface have in common: memory, and an object on each backend."""

    kind: ClassVar[str]

    def __init__(self, texels: _Texels, sampling: Sampling | None) -> None:
        self._texels = texels
        self._sampling = sampling
        self._made: dict[str, tuple[object, int]] = {}

    def simulated(self) -> TextureObject:
        """Return an object for the simulator.

        Examples
        --------
        >>> import numpy as np, gpumem as gm
        >>> gm.surface(np.zeros(4, "f4")).simulated()
        <surface of float32, shape (4,)>
        """
        return self

    def on(self, backend: str) -> int:
        """Return CUDA's number of the object, or the simulator's.

        Examples
        --------
        >>> import numpy as np, gpumem as gm
        >>> gm.texture(np.zeros(4, "f4")).on("sim") != 0
        True
        """
        place = self._texels.on(backend)
        if backend not in self._made:
            self._made[backend] = place.make(self._sampling)
        return self._made[backend][1]

    def __repr__(self) -> str:
        layout = self._texels.layout
        channels = f", {layout.channels} channels" if layout.channels > 1 else ""
        layers = ", layered" if layout.layered else ""
        return f"<{self.kind} of {layout.dtype}, shape {layout.shape}{channels}{layers}>"


class Texture(TextureObject):
    """An argument for parameters of type ``cudaTextureObject_t``; made by :func:`texture`.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.texture(np.zeros((3, 5), "f4"))
    <texture of float32, shape (3, 5)>
    """

    kind = "texture"

    def simulated(self) -> Texture:
        """Return a texture for the simulator, of a copy if the array is a GPU's.

        Examples
        --------
        >>> import numpy as np, gpumem as gm
        >>> made = gm.texture(np.zeros(4, "f4"))
        >>> made.simulated() is made
        True
        """
        array, layout = self._texels.array, self._texels.layout
        if array is None or array.backend == "sim":
            return self
        texels = _Texels("texture", array.to_host(), layout.channels, layout.layered)
        return Texture(texels, self._sampling)


class Surface(TextureObject):
    """An argument for parameters of type ``cudaSurfaceObject_t``; made by :func:`surface`.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.surface(np.zeros((3, 5, 4), "f4"), channels=4)
    <surface of float32, shape (3, 5), 4 channels>
    """

    kind = "surface"

    def to_host(self) -> np.ndarray[Any, Any]:
        """Return a copy of what the surface holds, in the shape of the array that it was made of.

        Examples
        --------
        >>> import numpy as np, gpumem as gm
        >>> gm.surface(np.arange(3, dtype="i4")).to_host()
        array([0, 1, 2], dtype=int32)
        """
        return self._texels.to_host()


def _chosen(what: str, value: Any, known: Sequence[str]) -> int:
    """Return the number of a name."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(unknown(f"texture: {what} is", value, known))
    return known.index(value)


def _for_each(what: str, value: Any, count: int) -> list[Any]:
    """Return the values for the axes or channels that are given one by one, or as one for all."""
    if isinstance(value, str | int | float | np.generic):
        return [value] * count
    if not isinstance(value, tuple | list) and not (
        isinstance(value, np.ndarray) and value.ndim == 1
    ):
        raise TypeError(f"texture: {what} is one value, or a sequence of them, not {quoted(value)}")
    return list(value)


def _layout(
    what: str, array: np.ndarray[Any, Any] | _core.DeviceArray, channels: int, layered: bool
) -> Layout:
    """Return the layout of an array's elements, if textures can have it."""
    if not isinstance(array, np.ndarray | _core.DeviceArray):
        raise TypeError(
            f"{what} takes an ndarray (numpy.asarray makes one) or a DeviceArray, not "
            f"{quoted(array)}"
        )
    _core.check_unmasked(array, "array")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} takes integers and floats, not {array.dtype}")
    if channels not in _CHANNELS:
        raise ValueError(f"channels is {channels}, expected 1, 2 or 4")
    shape = array.shape[:-1] if channels != 1 else array.shape
    fewest = 2 if layered else 1
    if not fewest <= len(shape) <= 3 or (channels != 1 and array.shape[-1] != channels):
        parts = ["layers"] * layered + ["the channels"] * (channels != 1)
        number = "one or two" if layered else "one to three"
        raise ValueError(
            f"{what} takes {' and '.join([f'{number} dimensions', *parts])}, not an array of "
            f"shape {array.shape}"
        )
    if 0 in shape:
        raise ValueError(f"{what} takes elements, and an array of shape {array.shape} has none")
    layout = Layout(array.dtype.newbyteorder("="), channels, tuple(shape), layered)
    try:
        described(layout, Sampling(), 1)
    except ValueError as error:
        if what == "texture":
            raise
        raise ValueError(str(error).replace("texture", what)) from None
    return layout


def _steps(array: _core.DeviceArray, layout: Layout) -> tuple[int, int]:
    """Return the bytes from row to row and from layer to layer; 0 where there is one only."""
    outer = len(layout.shape) - 1
    if array.size and not array[(0,) * outer].contiguous:
        raise ValueError("texture: the elements of a row should lie side by side; give a copy()")
    if any(array.strides[i] == 0 and array.shape[i] > 1 for i in range(outer)):
        raise ValueError("texture: its rows should not be the same memory; give a copy()")
    steps = [array.strides[i] if array.shape[i] > 1 else 0 for i in range(outer)]
    if layout.dimensions == 1:
        steps = [*steps, 0]  # a row per layer
    layer, pitch = (0, 0, *steps)[-2:]
    return pitch, layer


def texture(
    array: np.ndarray[Any, Any] | _core.DeviceArray | Surface,
    *,
    channels: int = 1,
    layered: bool = False,
    filter: str = "point",
    address: str | Sequence[str] = "clamp",
    read: str = "element",
    normalized: bool = False,
    border: float | Sequence[float] = 0,
) -> Texture:
    """Make a texture object: an argument for a loaded kernel's ``cudaTextureObject_t``.

    Parameters
    ----------
    array : ndarray, DeviceArray or Surface
        (width), (height, width) or (depth, height, width), of integers of 8, 16 or 32 bits or of
        float32. A host array is copied into a CUDA array. A DeviceArray is used where it is, its
        rows at any distance: kernels read what it holds when they run. On a GPU that is linear
        memory, which ``tex1Dfetch`` reads, or rows for ``tex2D``, and CUDA has no such textures of
        more dimensions or with layers. Of a surface, the texture reads what kernels write to it.
    channels : {1, 2, 4}
        Of an element: with more than one the last dimension of the array holds them.
    layered : bool
        Whether the first dimension counts layers, as in (layers, width) for ``tex1DLayered`` and
        (layers, height, width) for ``tex2DLayered``.
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

    Returns
    -------
    Texture
        It has to be alive until a kernel is queued that is given it.

    Raises
    ------
    TypeError, ValueError
        If CUDA has no such texture.

    Notes
    -----
    Kernels that were loaded for the simulator and for a GPU take the same object, which is made on
    either when it is first given to one. The simulator does not count what textures read:
    :func:`traffic` says so.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> m = gm.load(source='''
    ... __global__ void read(float *out, cudaTextureObject_t t) {
    ...     out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.0f);
    ... }''')
    >>> out = np.zeros(3, "f4")
    >>> m["read"][1, 3](out, gm.texture(np.array([2, 4, 8], "f4"), filter="linear"))
    >>> out
    array([3., 6., 8.], dtype=float32)
    """
    modes = [*_for_each("address", address, 3), *["clamp"] * 3][:3]
    colours = [*_for_each("border", border, 4), *[0.0] * 4][:4]
    x, y, z = (_chosen("address", one, ADDRESSES) for one in modes)
    r, g, b, a = (real("border", one) for one in colours)
    sampling = Sampling(
        bool(_chosen("filter", filter, FILTERS)),
        bool(_chosen("read", read, READS)),
        bool(flag("normalized", normalized)),
        (x, y, z),
        (r, g, b, a),
    )
    if isinstance(array, Surface):
        if channels != 1 or layered:
            raise TypeError("texture: a surface has channels and layers already; leave them out")
        texels = array._texels
    else:
        texels = _Texels("texture", array, channels, layered)
    described(texels.layout, sampling, 1)
    return Texture(texels, sampling)


def surface(
    array: np.ndarray[Any, Any] | _core.DeviceArray,
    *,
    channels: int = 1,
    layered: bool = False,
) -> Surface:
    """Make a surface object: an argument for a loaded kernel's ``cudaSurfaceObject_t``.

    Parameters
    ----------
    array : ndarray or DeviceArray
        What it holds at first: (width), (height, width) or (depth, height, width), of integers of
        8, 16 or 32 bits or of float32. It is copied: CUDA's surfaces have memory of their own.
    channels : {1, 2, 4}
        Of an element: with more than one the last dimension of the array holds them.
    layered : bool
        Whether the first dimension counts layers, as for :func:`texture`.

    Returns
    -------
    Surface
        :meth:`Surface.to_host` returns what kernels wrote, and ``texture(surface)`` has other
        kernels read it.

    Raises
    ------
    TypeError, ValueError
        If CUDA has no such surface.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> m = gm.load(source='''
    ... __global__ void count(cudaSurfaceObject_t s) {
    ...     surf1Dwrite((int)threadIdx.x, s, threadIdx.x * sizeof(int));
    ... }''')
    >>> s = gm.surface(np.zeros(4, "i4"))
    >>> m["count"][1, 4](s)
    >>> s.to_host()
    array([0, 1, 2, 3], dtype=int32)
    """
    return Surface(_Texels("surface", array, channels, layered), None)
