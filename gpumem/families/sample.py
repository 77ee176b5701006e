"""Texture memory: `sample`."""

from __future__ import annotations

import math
from collections.abc import Callable
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
)
from .inputs import matrix_shape
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_PIECE = 2**16  # points that the oracle computes at a time, to stay in a processor's cache


@overload
def sample(image: AnyArray, xy: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def sample(
    image: DeviceArray, xy: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> DeviceArray: ...
@overload
def sample(
    image: NDArray[Any], xy: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> NDArray[np.float32]: ...
@overload
def sample(
    image: ForeignArray, xy: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def sample(
    image: ArrayLike, xy: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> NDArray[np.float32]: ...
def sample(
    image: AnyArray,
    xy: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Sample an image between its pixels, with bilinear interpolation.

    Parameters
    ----------
    image : array_like or DeviceArray of float32, shape (height, width)
        The pixels: any strides. Pixel ``image[i, j]`` is at x = j, y = i.
    xy : array_like or DeviceArray of float32, shape (n, 2)
        The points: x counts columns and y rows. A point outside the image takes the nearest
        value on its edge; a coordinate that is NaN counts as 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" interpolates in software, which is exact to the
        rounding of float32, and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, float32, of shape (n,), not overlapping an input.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray of float32, shape (n,)
        The values: on the host if the inputs are on the host, on the device if they are on the
        device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `image` or `xy` is not of float32, or is a masked array.
    ValueError
        If `image` is not two-dimensional, or empty while there are points, `xy` is not of shape
        (n, 2), the image is larger than a texture can be, a named variant cannot take these
        arrays, there is no such variant, or `out` does not fit or overlaps an input.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    In software, a point on a pixel is that pixel, whatever its neighbours are; elsewhere
    infinities and NaN count with their weights. The texture unit rounds coordinates to 1/256 of a
    pixel, so its results are off by up to 1/256 of the difference between neighbouring pixels, in
    each direction; its results for NaN and infinities are not defined.

    The variants, each with the idea that it adds:

    ``global``
        bilinear by hand: four loads per point
    ``texture``
        the texture unit: one instruction, weights of 8 bits

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Programming Guide", appendix Texture Fetching.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> image = np.array([[0, 10], [20, 30]], "f4")
    >>> gm.sample(image, np.array([[0, 0], [0.5, 0.5], [9, 0.25]], "f4"))
    array([ 0., 15., 15.], dtype=float32)
    """
    return _call("sample", variant, (image, xy), out, stream, backend, ())


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return an image, and as many points as pixels: between pixels, on pixels, and outside."""
    image = random.standard_normal(shape).astype(dtype)
    count = math.prod(shape)
    xy = random.uniform(-2, np.maximum(shape[::-1], 1) + 2.0, (count, 2)).astype("f4")
    on_pixel = random.random(count) < 0.1
    xy[on_pixel] = np.rint(xy[on_pixel])
    return image, xy


def _corners(image: Array, xy: Array) -> tuple[Array, Array, Array]:
    """Return the four pixels around each point, and the weights of the right and lower ones."""
    last = np.array(image.shape[::-1]) - 1
    at = np.clip(np.nan_to_num(xy.astype(np.float64), nan=0.0), 0, last)
    low = np.minimum(np.floor(at).astype(np.int64), last)
    high = np.minimum(low + 1, last)
    (left, top), (right, below) = low.T, high.T
    pixels = image[top, left], image[top, right], image[below, left], image[below, right]
    across, down = (at - low).T
    return np.array(pixels, np.float64), across, down


def _mix(a: Array, b: Array, weight: Array) -> Array:
    return np.where(weight == 0, a, (1 - weight) * a + weight * b)


def _by_points(
    image: Any, xy: Any, dtype: str, compute: Callable[[Array, Array, Array], Array]
) -> Array:
    """Compute a value per point from its corners and weights, piece by piece."""
    image, xy = np.asarray(image), np.asarray(xy)
    found = np.empty(len(xy), dtype)
    with np.errstate(invalid="ignore"):
        for first in range(0, len(xy), _PIECE):
            part = slice(first, first + _PIECE)
            found[part] = compute(*_corners(image, xy[part]))
    return found


def _expected(image: Any, xy: Any, **_: Any) -> Array:
    def interpolated(pixels: Array, across: Array, down: Array) -> Array:
        a, b, c, d = pixels
        return _mix(_mix(a, b, across), _mix(c, d, across), down)

    return _by_points(image, xy, "f4", interpolated)


def _bound(image: Any, xy: Any, variant: str = "auto", **_: Any) -> Array:
    """Allow the roundings of three interpolations; 1/256 per direction for the texture unit."""

    def bound(pixels: Array, across: Array, down: Array) -> Array:
        rounded: Array = 8 * np.finfo("f4").eps * np.abs(pixels).max(axis=0)
        return rounded + np.ptp(pixels, axis=0) / 120 if variant == "texture" else rounded

    return _by_points(image, xy, "f8", bound)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the bytes of the points and values; how often pixels are read depends on points."""
    return math.prod(shape) * (itemsize + 12), None


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (shape, dtype), ((math.prod(shape), 2), dtype)


FAMILY = Family(
    function=sample,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=matrix_shape,
        shapes=((0, 0), (1, 1), (1, 9), (9, 1), (2, 2), (31, 33), (257, 130)),
        dtypes=("float32",),
        coarse=("texture",),
    ),
)
