"""The memory spaces: `polynomial`, `sample` and `static_value`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import integer_within, none
from ._packed import call_packed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray


def _polynomial_parameters(carveout: int | None = None) -> tuple[int, ...]:
    return (
        -1
        if carveout is None
        else integer_within("carveout", carveout, 0, 100, "an integer or None"),
    )


def polynomial(
    x: ArrayLike | DeviceArray,
    coefficients: ArrayLike | DeviceArray,
    *,
    carveout: int | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Evaluate a polynomial at many points, by Horner's rule.

    The result is ``c[0] + c[1]*x + c[2]*x**2 + ...``. Every thread needs the same coefficient
    at the same time; the variants hold them in different memory spaces.

    Parameters
    ----------
    x : array_like or DeviceArray of float32 or float64
        The points: any shape, any strides.
    coefficients : array_like or DeviceArray, shape (n,)
        Of the dtype of `x`, the constant term first, as :mod:`numpy.polynomial` has them. A
        variant has room for so many: 16 in registers, 64 in local memory, 32 KiB of constant
        memory (1 KiB where each lane has its own copy), what a block has of shared memory.
    carveout : int, optional
        Per cent of a multiprocessor's on-chip memory asked for as shared memory, 0 to 100; the
        rest is L1 cache. A wish, for this call alone; the simulator has no such split. By
        default the driver's choice.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and
        takes every layout and any number of coefficients.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of its shape and dtype, apart from the inputs.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        Of the shape and dtype of `x`: on the host if `x` is there, on the device if `x` is. It
        is `out` where that is given. Without coefficients it is 0.

    Raises
    ------
    TypeError
        If `x` or `coefficients` is of another dtype, or `carveout` is no integer.
    ValueError
        If `coefficients` is not one-dimensional, or longer than the variant has room for, there
        is no such variant, a named variant cannot take these arrays, or `out` does not fit.
    {failures}

    Notes
    -----
    With one coefficient the result is that coefficient, also at a NaN. Sums and products are
    rounded once or twice as the compiler likes (fused or not): within
    ``2 n eps (|c[0]| + |c[1] x| + ...)``.

    {variants}

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Best Practices Guide", chapter Memory Optimizations, section Device
       Memory Spaces.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.polynomial(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0]))
    array([ 1.,  4., 13.])
    """
    parameters = _polynomial_parameters(carveout)
    return call_packed("polynomial", variant, (x, coefficients), out, stream, backend, parameters)


def sample(
    image: ArrayLike | DeviceArray,
    xy: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Look an image up between its pixels, bilinearly.

    Parameters
    ----------
    image : array_like or DeviceArray of float32, shape (height, width)
        The pixels: any strides. Pixel ``image[i, j]`` is at x = j, y = i.
    xy : array_like or DeviceArray of float32, shape (n, 2)
        Where: x counts columns and y rows. Outside of the image is what is nearest on its edge;
        NaN counts as 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is by hand, which is exact to the
        rounding of float32, and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of its shape and dtype, apart from the inputs.
    {call}

    Returns
    -------
    ndarray or DeviceArray of float32, shape (n,)
        The values: on the host if the inputs are there, on the device if they are. It is `out`
        where that is given.

    Raises
    ------
    TypeError
        If `image` or `xy` is not of float32.
    ValueError
        If `image` is not two-dimensional, or empty while there are points, `xy` is not of shape
        (n, 2), the image is larger than a texture can be, a named variant cannot take these
        arrays, there is no such variant, or `out` does not fit.
    {failures}

    Notes
    -----
    By hand, a point on a pixel is that pixel, whatever its neighbours are; elsewhere infinities
    and NaN count with their weights. The texture unit rounds coordinates to 1/256 of a pixel, so
    that its results are off by up to that share, in each direction, of the difference between
    neighbouring pixels; what it makes of NaN and infinities is not defined.

    {variants}

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
    return call_packed("sample", variant, (image, xy), out, stream, backend, (), (None, 8))


def static_value(
    x: float | ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Write a variable of the device, let a kernel add 2 to it, and read it back.

    Parameters
    ----------
    x : int, float, array_like or DeviceArray of int32, int64, float32 or float64
        The number: one element, of any number of dimensions.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of its shape and dtype, apart from the inputs.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        ``x + 2``, of the shape and dtype of `x`; integers wrap. It is `out` where that is given.

    Raises
    ------
    TypeError
        If `x` is of another dtype.
    ValueError
        If `x` has not one element, there is no such variant, or `out` does not fit.
    {failures}

    Notes
    -----
    There is one such variable per variant and device: calls from several threads and on several
    streams take turns at it.

    {variants}

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Programming Guide", sections Device Memory and Managed Variables.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.static_value(np.float32(1.5))
    array(3.5, dtype=float32)
    """
    if isinstance(x, int | float) and not isinstance(x, bool):
        import numpy as np

        x = np.asarray(x)
    return call_packed("static_value", variant, (x,), out, stream, backend, ())


PARAMETERS = {
    "polynomial": _polynomial_parameters,
    "sample": none,
    "static_value": none,
}
