"""Any order of any axes: `permute`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import _core
from ..base.arrays import (
    AnyArray,
    AnyStream,
    ArrayLike,
    DeviceArray,
    ForeignArray,
    How,
    NDArray,
    Out,
    Result,
    Scalar,
)
from ..base.messages import quoted
from .inputs import MOVED, one_array, read_and_written
from .keywords import integer_within
from .protocol import Array, Family, Oracle, Shape
from .raw_bytes import copied

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call, _pack = _core.call, _core.pack_bytes

# As csrc/kernels/permute/axes.h has them.
_EACH = 7
_PARAMETERS = 10
_LONGEST = 64  # dimensions of an array
_ZERO = 128
_EMPTY = 127
_REVERSED = (0,) * _PARAMETERS


def _parameters(axes: Sequence[int] | None = None) -> tuple[int, ...]:
    if axes is None:
        return _REVERSED
    return _pack(axes, -64, 63, _ZERO, _EACH, _LONGEST, _PARAMETERS) or _checked_parameters(axes)


def _checked_parameters(axes: Sequence[int]) -> tuple[int, ...]:
    if (
        isinstance(axes, str | bytes)
        or not isinstance(axes, Sequence | np.ndarray)
        or (isinstance(axes, np.ndarray) and axes.ndim != 1)
    ):
        raise TypeError(f"axes must be a sequence of integers or None, not {quoted(axes)}")
    if len(axes) > _LONGEST:
        raise ValueError(
            f"axes has {len(axes)} numbers, an array has at most {_LONGEST} dimensions"
        )
    packed = [0] * _PARAMETERS
    for i, axis in enumerate(axes):
        number = integer_within(f"axes[{i}]", axis, -64, 63)
        packed[i // _EACH] |= number + _ZERO << 8 * (i % _EACH)
    if len(axes) == 0:
        packed[0] = _ZERO + _EMPTY
    return tuple(packed)


@overload
def permute(
    a: AnyArray, axes: Sequence[int] | None = ..., *, out: Out, **how: Unpack[How]
) -> Out: ...
@overload
def permute(
    a: DeviceArray, axes: Sequence[int] | None = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray: ...
@overload
def permute(
    a: NDArray[Scalar], axes: Sequence[int] | None = ..., *, out: None = ..., **how: Unpack[How]
) -> NDArray[Scalar]: ...
@overload
def permute(
    a: ForeignArray, axes: Sequence[int] | None = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def permute(
    a: ArrayLike, axes: Sequence[int] | None = ..., *, out: None = ..., **how: Unpack[How]
) -> NDArray[Any]: ...
def permute(
    a: AnyArray,
    axes: Sequence[int] | None = None,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Permute the axes of an array.

    Parameters
    ----------
    a : array_like or DeviceArray
        The array: any shape, any strides, any dtype of plain bytes in native order (not object).
    axes : sequence of int, optional
        For each axis of the result, the axis of `a` that it is, as in :func:`numpy.transpose`;
        negative numbers count from the last axis. By default all axes in reverse.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, of the shape of the result and the dtype of `a`, not
        overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        A C-contiguous array equal to ``numpy.transpose(a, axes)``, byte for byte: on the host if
        `a` is on the host, on the device if `a` is on the device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects or is a masked array, or `out` or `axes` is of the wrong type.
    ValueError
        If `axes` is no permutation of the axes of `a`, there is no such variant, a named variant
        cannot take these arrays, or `out` does not fit or overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    Axes that run on together in `a` and in the result are moved as one axis, so that a
    permutation of six axes is often one of two or three.

    The variants, each with the idea that it adds:

    ``elementwise``
        a division per axis and element
    ``runs``
        the widest units that both sides allow; divisions are multiplications
    ``words``
        words of smaller units, all of which are in flight
    ``tiles``
        a matrix for each index of the outer axes: tiles in shared memory
    ``matrices``
        the same with the tiles of transpose: 16 bytes per access, or whole sectors out
    ``matrices:vector_b8``
        elements of 1 byte, rows of whole vectors
    ``matrices:vector_b8_narrow``
        vector_b8 for matrices of some 128 columns
    ``matrices:vector_b16``
        elements of 2 bytes, rows of whole vectors
    ``matrices:vector_b16_small``
        vector_b16 for matrices of some 64 rows or columns
    ``matrices:vector_b32``
        elements of 4 bytes
    ``matrices:vector_b64``
        elements of 8 bytes
    ``matrices:vector_b128``
        elements of 16 bytes
    ``matrices:shifted_b32``
        elements of 4 bytes, rows of the result that begin anywhere
    ``matrices:shifted_b32_tall``
        shifted_b32 for matrices that are narrower than its tiles
    ``matrices:gathered_b8``
        elements of 1 byte, rows that begin anywhere: gathered from shared memory
    ``matrices:gathered_b16``
        elements of 2 bytes, rows that begin anywhere: gathered from shared memory
    ``joined``
        rows along several axes of the result, columns along several of a, or pixels
    ``joined:b8``
        units of 1 byte
    ``joined:b16``
        units of 2 bytes
    ``joined:b32``
        units of 4 bytes
    ``joined:b64``
        units of 8 bytes
    ``joined:b128``
        units of 16 bytes
    ``pixels``
        2 to 4 channels, to planes or back: elements change places in registers
    ``pixels:b8``
        units of 1 byte, planes of whole vectors
    ``pixels:b16``
        units of 2 bytes, planes of whole vectors
    ``pixels:b32``
        units of 4 bytes, planes of whole vectors
    ``pixels:b8_shifted``
        units of 1 byte, planes that begin anywhere
    ``pixels:b16_shifted``
        units of 2 bytes, planes that begin anywhere
    ``pixels:b32_shifted``
        units of 4 bytes, planes that begin anywhere
    ``pixels:b8_words``
        units of 1 byte, planes of whole words and pixels that begin with one
    ``pixels:b16_words``
        units of 2 bytes, the same
    ``pixels:b32_words``
        units of 4 bytes, the same
    ``channels``
        up to 64 channels, to planes or back: gathered from shared memory
    ``channels:b8``
        units of 1 byte
    ``channels:b16``
        units of 2 bytes
    ``channels:b32``
        units of 4 bytes
    ``packed``
        tiles of as many axes as make runs on both sides, rearranged on chip
    ``packed:small``
        units of 1 or 2 bytes
    ``packed:words``
        units of 4 to 16 bytes

    Kernels that only serve ``auto``:

    ``shifted``
        rows that begin anywhere, in aligned vectors of 16 bytes
    ``contiguous``
        every element stays where it is: a copy
    ``matrix``
        two axes that change places: the family transpose
    ``units``
        elements that move as units of another size, seen as these

    References
    ----------
    .. [1] A. Hynninen and D. Lyakh, "cuTT: A High-Performance Tensor Transpose Library for CUDA
       Compatible GPUs", arXiv:1705.01598, 2017.
    .. [2] P. Springer, T. Su and P. Bientinesi, "HPTT: A High-Performance Tensor Transposition
       C++ Library", ARRAY, 2017.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> pixels = np.arange(24).reshape(2, 4, 3)
    >>> gm.permute(pixels, (2, 0, 1))[0]
    array([[ 0,  3,  6,  9],
           [12, 15, 18, 21]])
    """
    return _call("permute", variant, (a,), out, stream, backend, _parameters(axes))


def _expected(a: Any, axes: Sequence[int] | None = None, **_: Any) -> Array:
    return copied(np.transpose(a, axes))


def _shape(nbytes: int, itemsize: int) -> Shape:
    """Return a cube, about: sides of powers of two, the last one longest."""
    side = 1 << max(0, (nbytes // itemsize).bit_length() - 1) // 3
    return side, side, nbytes // itemsize // (side * side)


def _one_row(nbytes: int, itemsize: int) -> Shape:
    """Return a shape whose axes may change places and move nothing."""
    return 1, 1, nbytes // itemsize


def _one_matrix(nbytes: int, itemsize: int) -> Shape:
    """Return a shape of whose axes two are left."""
    side = 1 << max(0, (nbytes // itemsize).bit_length() - 1) // 2
    return 1, side, nbytes // itemsize // side


def _image(nbytes: int, itemsize: int) -> Shape:
    """Return pixels of three channels, whose planes are made of whole vectors."""
    return max(16, nbytes // itemsize // 3 // 16 * 16), 3


def _many_channels(nbytes: int, itemsize: int) -> Shape:
    """Return pixels of twelve channels."""
    return max(12, nbytes // itemsize // 12), 12


def _whole_tiles(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return a corner whose sides are powers of two, so that every tile is full."""
    sides = tuple(slice(1 << n.bit_length() - 1) for n in inputs[0].shape)
    return (np.ascontiguousarray(inputs[0][sides]),)


def _torch(out: Any, a: Any) -> None:
    out.copy_(a.permute(*reversed(range(a.ndim))))


def _cupy(out: Any, a: Any) -> None:
    import cupy

    cupy.copyto(out, a.transpose())


FAMILY = Family(
    function=permute,
    parameters=_parameters,
    oracle=Oracle(
        arguments=one_array,
        expected=_expected,
        bound=None,
        work=read_and_written,
        shape=_shape,
        shapes=(
            (0, 3, 5),
            (5, 0, 3),
            (1, 1, 1),
            (1, 45, 70),
            (2, 3, 5),
            (64, 32, 32),
            (31, 33, 17),
            (5, 301, 3),
            (3, 7, 2049),
            (129, 8, 8),
        ),
        dtypes=MOVED,
        keywords=({}, {"axes": (0, 2, 1)}, {"axes": (-1, 0, 1)}),
        shapes_of={
            "contiguous": _one_row,
            "shifted": _one_row,
            "matrix": _one_matrix,
            "pixels": _image,
            "channels": _many_channels,
        },
        claimed=_whole_tiles,
    ),
    peers={"torch": _torch, "cupy": _cupy},
    peers_ignore_keywords=False,
)
