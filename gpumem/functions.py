"""The family functions: what each operation means, its arguments and its defaults.

A function turns its keywords into the integers of the family's row and calls the extension
module; everything else (dtypes, shapes, layout, the choice of a variant) is checked there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._core import AnyStream, DeviceArray

__all__ = [
    "add",
    "copy",
    "gather",
    "matmul",
    "polynomial",
    "prefetch_sum",
    "sample",
    "sgemm",
    "shift_points",
    "static_value",
    "strided_read",
    "strided_write",
    "transpose",
]

_call = _core.call


def _count(name: str, value: Any) -> int:
    """Return an integer of at least 1; the row of the family knows the most."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer or None, not a bool")
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} must be an integer or None, not {kind}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def _copy_parameters(max_blocks: int | None = None) -> tuple[int, ...]:
    return (0 if max_blocks is None else _count("max_blocks", max_blocks),)


def copy(
    a: ArrayLike | DeviceArray,
    *,
    max_blocks: int | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Copy an array on the device.

    Parameters
    ----------
    a : array_like or DeviceArray
        What to copy: any shape, any strides, any dtype of plain bytes in native
        order (not object).
    max_blocks : int, optional
        The most thread blocks to launch, at least 1. Threads of a smaller grid take more
        steps of the grid-stride loop each. By default, what suits the device.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `a`, apart from it.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray
        A C-contiguous array equal to `a`, byte for byte: on the host if `a` is there, on
        the device if `a` is. It is `out` where that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or `out` or `max_blocks` is of the wrong type.
    ValueError
        If there is no such variant, a named variant cannot take these arrays (not aligned
        to its vectors, not contiguous), `out` does not fit, or `max_blocks` is out of range.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access",
       NVIDIA Technical Blog, 2013.
    .. [2] M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops",
       NVIDIA Technical Blog, 2013.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.copy(np.arange(4))
    array([0, 1, 2, 3])
    """
    parameters = (0,) if max_blocks is None else _copy_parameters(max_blocks)
    return _call("copy", variant, (a,), out, stream, backend, parameters)


def _integer(name: str, value: Any) -> int:
    """Return any integer; slices cut off what is past the ends, and so do 64 bits."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not a bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    return max(-(2**63), min(number, 2**63 - 1))


def _slice_parameters(offset: int = 1, stride: int = 2) -> tuple[int, ...]:
    return _integer("offset", offset), _integer("stride", stride)


def strided_read(
    a: ArrayLike | DeviceArray,
    offset: int = 1,
    stride: int = 2,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Read every so many elements: the result is ``a[offset::stride]``.

    An offset moves the requests of a warp off the boundaries of sectors, a stride spreads
    them over more sectors.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    offset, stride : int
        As in a slice: negative ones count from the end and go backwards, what is past the ends
        is cut off. `stride` is not 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of its shape and dtype, apart from `a`.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.
    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``a[offset::stride]``, byte for byte: on the host if `a` is
        there, on the device if `a` is. It is `out` where that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or another argument is of the wrong type.
    ValueError
        If `a` is not one-dimensional, `stride` is 0, there is no such variant, a named variant
        cannot take these arrays, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.strided_read(np.arange(10), 1, 3)
    array([1, 4, 7])
    """
    parameters = _slice_parameters(offset, stride)
    return _call("strided_read", variant, (a,), out, stream, backend, parameters)


def strided_write(
    out: Any,
    a: ArrayLike | DeviceArray,
    offset: int = 1,
    stride: int = 2,
    *,
    variant: str = "auto",
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Write every so many elements, in place: ``out[offset::stride] = a``.

    Parameters
    ----------
    out : ndarray or DeviceArray, shape (n,)
        What to write to; its other elements stay. On the host any stride of its own.
    a : array_like or DeviceArray
        As many elements as the slice has, of the dtype of `out`, apart from it in memory.
    offset, stride : int
        As in a slice: negative ones count from the end and go backwards, what is past the ends
        is cut off. `stride` is not 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.
    Returns
    -------
    ndarray or DeviceArray
        `out`.

    Raises
    ------
    TypeError
        If `out` is no array, the dtypes differ, or another argument is of the wrong type.
    ValueError
        If an array is not one-dimensional, `a` has not the slice's length, `stride` is 0, the
        arrays overlap, `out` cannot be written, there is no such variant, or a named variant
        cannot take these arrays. Nothing was written then.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.strided_write(np.zeros(5, int), np.array([7, 8]), 1, 2)
    array([0, 7, 0, 8, 0])
    """
    parameters = _slice_parameters(offset, stride)
    return _call("strided_write", variant, (out, a), None, stream, backend, parameters)


def _is_aligned(a: DeviceArray) -> bool:
    """Whether every element is at a multiple of its size."""
    size = a.itemsize or 1
    return not any(number % size for number in (a.pointer, *a.strides))


def _gather_parameters() -> tuple[int, ...]:
    return ()


def gather(
    a: ArrayLike | DeviceArray,
    index: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Read elements by their places: the result is ``a[index]``.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    index : array_like or DeviceArray of int32 or int64
        The places, in an array of any shape; negative ones count from the end.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape of `index` and the dtype of `a`, apart
        from both.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.
    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``a[index]``, byte for byte: on the host if the inputs are
        there, on the device if they are. It is `out` where that is given.

    Raises
    ------
    IndexError
        If a place is outside of ``-n`` to ``n - 1``. Every place is looked at before the first
        is read, so nothing was written then; on device arrays the call waits for that.
    TypeError
        If `a` holds Python objects, or `index` is not of int32 or int64.
    ValueError
        If `a` is not one-dimensional, there is no such variant, a named variant cannot take
        these arrays, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.gather(np.array([10, 20, 30]), np.array([[2, 0], [-1, 1]]))
    array([[30, 10],
           [30, 20]])
    """
    index = _core.adopt(index, stream)
    if variant in ("auto", "any") and isinstance(index, _core.DeviceArray):
        if not _is_aligned(index) or (index.ndim > 1 and not index.contiguous):
            index = copy(index, stream=stream)  # kernels take one run of whole numbers
    return _call("gather", variant, (a, index), out, stream, backend, ())


def _shift_points_parameters(dx: float = 1.0, dy: float = -1.0) -> tuple[float, ...]:
    return tuple(_real(name, value) for name, value in (("dx", dx), ("dy", dy)))


def _real(name: str, value: Any) -> float:
    """Return a float; text, truth values, complex numbers and arrays are none."""
    dtype = getattr(value, "dtype", None)
    plain = dtype is None or (dtype.kind in "iuf" and value.ndim == 0)
    if isinstance(value, bool | complex | str | bytes | bytearray) or not plain:
        raise TypeError(f"{name} must be a float, not {type(value).__name__}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a float, not {type(value).__name__}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large for a float") from None


def _is_numbers(a: DeviceArray) -> bool:
    """Whether every number of an array of floats, or of pairs of them, is aligned to its size."""
    return a.pointer % (a.itemsize // (2 if a.dtype.names else 1) or 1) == 0


def _as_pairs(p: Any) -> Any:
    """An array of structures with the fields x and y as one of shape (n, 2); others as they are."""
    dtype = getattr(p, "dtype", None)
    names = getattr(dtype, "names", None)
    if names is None:
        return p
    fields = [dtype[name] for name in names]
    if (
        names != ("x", "y")
        or fields[0] != fields[1]
        or fields[0].kind != "f"
        or dtype.fields["x"][1] != 0
        or dtype.itemsize != 2 * fields[0].itemsize
    ):
        raise TypeError(
            f"p has dtype {dtype}, accepted are float32, float64, and structures of two of them "
            "named x and y, without padding"
        )
    if p.ndim != 1:
        raise ValueError(f"p has {p.ndim} dimensions, expected 1 for structures")
    if p.strides[0] != dtype.itemsize and not isinstance(p, _core.DeviceArray):
        from numpy.lib.stride_tricks import as_strided

        first = p[:1].view(fields[0]) if len(p) else p.view(fields[0])  # no copy: out may be one
        return as_strided(first, (len(p), 2), (p.strides[0], fields[0].itemsize))
    return p.view(fields[0]).reshape(-1, 2)


def _check_same(p: Any, out: Any) -> None:
    """What the extension module does not see of structures: it is shown numbers."""
    mine, given = getattr(p, "dtype", None), getattr(out, "dtype", None)
    if getattr(mine, "names", None) or getattr(given, "names", None):
        if mine != given:
            raise TypeError(f"out has dtype {given}, expected {mine}")
        if p.shape != out.shape:
            raise ValueError(f"out has shape {out.shape}, expected {p.shape}")


def shift_points(
    p: ArrayLike | DeviceArray,
    dx: float,
    dy: float,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Move points of the plane: the result is `p` with dx added to every x, dy to every y.

    The layout of `p` is the lesson: as an array of structures x and y of a point are
    neighbours, as a structure of arrays all x are, and then all y.

    Parameters
    ----------
    p : array_like or DeviceArray of float32 or float64
        The points: of shape (n, 2), an array of structures; or (2, n), a structure of arrays;
        or of shape (n,) with a structured dtype whose fields are x and y, of one type and
        without padding. (2, 2) is read as (n, 2), but by the variant ``soa``. On the device
        it is contiguous.
    dx, dy : float
        How far; rounded to the type of the points.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for this layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `p`, apart from it.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.
    Returns
    -------
    ndarray or DeviceArray
        A new array like `p`: on the host if `p` is there, on the device if `p` is. It is `out`
        where that is given.

    Raises
    ------
    TypeError
        If `p` has another dtype, or dx or dy is no number.
    ValueError
        If `p` has another shape, a named variant is for the other layout or cannot take these
        arrays, there is no such variant, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.shift_points(np.zeros((2, 2), "f4"), 1, 0.5)
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """
    parameters = _shift_points_parameters(dx, dy)
    given = out
    p, out = _core.adopt(p, stream), _core.adopt(out, stream)
    told = out
    if isinstance(p, _core.DeviceArray) and variant == "auto":
        # Kernels take whole points without gaps: what is not so goes through a copy.
        if not p.contiguous or not _is_numbers(p):
            p = copy(p, stream=stream)
        if isinstance(out, _core.DeviceArray) and not _is_numbers(out):
            told = None
    elif isinstance(p, _core.DeviceArray) and p.dtype.names and not p.contiguous:
        raise ValueError(
            f'variant {variant} needs p C-contiguous (variant="auto" takes any layout)'
        )
    if told is not None:
        _check_same(p, told)
    into = told if told is None else _as_pairs(told)
    result = _call("shift_points", variant, (_as_pairs(p),), into, stream, backend, parameters)
    if out is None:
        pairs = getattr(getattr(p, "dtype", None), "names", None)
        return result.reshape(-1).view(p.dtype) if pairs else result
    if told is None:
        copy(result, out=_as_pairs(out), stream=stream)
    return given


def _within(name: str, value: Any, least: int, most: int, kind: str = "an integer") -> int:
    """Return an integer in a range; `kind` says in words what else would be taken."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be {kind}, not {type(value).__name__}")
    number = operator.index(value)
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}, expected {least} to {most}")
    return number


def _flag(name: str, value: Any) -> int:
    if getattr(value, "dtype", None) != "bool" and not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return int(value)


def _packed(a: Any, stream: AnyStream | None, alignment: int | None = None) -> Any:
    """A device array as kernels take it: without gaps, its elements at multiples of their size."""
    a = _core.adopt(a, stream)
    if isinstance(a, _core.DeviceArray):
        size = alignment or a.itemsize
        if not a.contiguous or a.pointer % (size or 1):
            return copy(a, stream=stream)
    return a


def _polynomial_parameters(carveout: int | None = None) -> tuple[int, ...]:
    return (
        -1 if carveout is None else _within("carveout", carveout, 0, 100, "an integer or None"),
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
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

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
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    With one coefficient the result is that coefficient, also at a NaN. Sums and products are
    rounded once or twice as the compiler likes (fused or not): within
    ``2 n eps (|c[0]| + |c[1] x| + ...)``.

    The variants, each with the idea that it adds:

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
    return _call_packed("polynomial", variant, (x, coefficients), out, stream, backend, parameters)


def _call_packed(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    out: Any,
    stream: AnyStream | None,
    backend: str | None,
    parameters: tuple[float, ...],
) -> Any:
    """Call a family whose kernels take packed arrays; for "auto" others go through a copy."""
    if variant != "auto":
        return _call(family, variant, inputs, out, stream, backend, parameters)
    inputs = tuple(_packed(a, stream) for a in inputs)
    there = _core.adopt(out, stream)
    if isinstance(there, _core.DeviceArray) and there.pointer % (there.itemsize or 1):
        result = _call(family, variant, inputs, None, stream, backend, parameters)
        return copy(result, out=out, stream=stream)
    return _call(family, variant, inputs, out, stream, backend, parameters)


def _sample_parameters() -> tuple[int, ...]:
    return ()


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
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

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
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    By hand, a point on a pixel is that pixel, whatever its neighbours are; elsewhere infinities
    and NaN count with their weights. The texture unit rounds coordinates to 1/256 of a pixel, so
    that its results are off by up to that share, in each direction, of the difference between
    neighbouring pixels; what it makes of NaN and infinities is not defined.

    The variants, each with the idea that it adds:

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
    if variant == "auto":
        xy = _packed(xy, stream, 8)
    return _call_packed("sample", variant, (image, xy), out, stream, backend, ())


def _static_value_parameters() -> tuple[int, ...]:
    return ()


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
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

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
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    There is one such variable per variant and device: calls from several threads and on several
    streams take turns at it.

    The variants, each with the idea that it adds:

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
    return _call_packed("static_value", variant, (x,), out, stream, backend, ())


def _prefetch_sum_parameters(
    work: int = 2,
    distance: int = 6,
    padding: int | str = "auto",
    threads: int = 128,
    sync: bool = False,
) -> tuple[int, ...]:
    if isinstance(padding, str):
        if padding != "auto":
            raise ValueError(f'padding is {padding!r}, expected "auto" or an integer')
        places = -1
    else:
        places = _within("padding", padding, 0, 64, '"auto" or an integer')
    return (
        _within("work", work, 0, 10000),
        _within("distance", distance, 1, 16),
        places,
        _within("threads", threads, 32, 1024),
        _flag("sync", sync),
    )


def prefetch_sum(
    a: ArrayLike | DeviceArray,
    *,
    work: int = 2,
    distance: int = 6,
    padding: int | str = "auto",
    threads: int = 128,
    sync: bool = False,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Sum f(a[r, i]) over each row, the elements of a row on their way ahead of their time.

    f is `work` rounds of ``y = exp(-y*y) + 0.25*y``. A block of threads walks one row, each
    thread in steps of a block's width. With few rows there are few warps on each
    multiprocessor, and a loop as it stands spends most of its time waiting for loads; asking
    for elements `distance` steps ahead hides that.

    Parameters
    ----------
    a : array_like or DeviceArray of float64, shape (rows, n)
        The rows: any strides.
    work : int
        Rounds of f, 0 to 10000: how long an element keeps its thread busy.
    distance : int
        How many steps ahead elements are asked for, 1 to 16. ``baseline`` and ``any`` know none.
    padding : int or "auto"
        For the variants that keep the elements of a thread side by side in shared memory:
        elements left free after them, 0 to 64. Lanes are ``distance + padding`` doubles apart;
        "auto" makes that a power of two plus one, which has no bank conflicts. 0 shows them.
    threads : int
        Threads of a block, 32 to 1024, a multiple of 32.
    sync : bool
        Whether the loop has a barrier of the block in it, as many real loops have.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, float64, of shape (rows,), apart from `a`.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray of float64, shape (rows,)
        The sums: on the host if `a` is there, on the device if `a` is. It is `out` where that
        is given. The sum over no elements is 0.

    Raises
    ------
    TypeError
        If `a` is not of float64, or another argument is of the wrong type.
    ValueError
        If `a` is not two-dimensional, a number is out of range, the block would need more shared
        memory than the device has, a named variant cannot take these arrays, there is no such
        variant, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] A. Elafrou, "Boosting Application Performance with GPU Memory Prefetching", NVIDIA
       Technical Blog, 2022.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.prefetch_sum(np.ones((2, 3)), work=0)
    array([3., 3.])
    """
    parameters = _prefetch_sum_parameters(work, distance, padding, threads, sync)
    return _call("prefetch_sum", variant, (a,), out, stream, backend, parameters)


def _transpose_parameters(block: tuple[int, int] | None = None) -> tuple[int, ...]:
    if block is None:
        return (0, 0)
    if isinstance(block, str | bytes) or not isinstance(block, Sequence) or len(block) != 2:
        raise TypeError(f"block must be a pair (x, y) of integers or None, not {block!r}")
    return (_count("block[0]", block[0]), _count("block[1]", block[1]))


def transpose(
    a: ArrayLike | DeviceArray,
    *,
    block: tuple[int, int] | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Turn a matrix: rows become columns.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (m, n)
        The matrix: any strides, any dtype of plain bytes in native order (not object).
    block : (int, int), optional
        Threads per block in x and y, at most 1024 together, for the variants without shared
        memory. In those that end in ``row`` x runs along a row of `a`, in those that end in
        ``col`` down a column. By default (32, 8).
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of shape (n, m) and the dtype of `a`, apart from it.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray, shape (n, m)
        A C-contiguous array equal to ``a.T``, byte for byte: on the host if `a` is there, on
        the device if `a` is. It is `out` where that is given. ``copy_row`` and ``copy_col``
        bound the others: they return `a` itself, of shape (m, n). ``geam`` computes with
        numbers: a NaN may come back as another NaN.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or `out` or `block` is of the wrong type.
    ValueError
        If `a` is not two-dimensional, there is no such variant, a named variant cannot take
        these arrays (element size, alignment, rows that are not contiguous), `block` is too
        large or the variant has one of its own, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA", NVIDIA, 2009.
    .. [2] M. Harris, "An Efficient Matrix Transpose in CUDA C/C++", NVIDIA Technical Blog, 2013.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.transpose(np.arange(6).reshape(2, 3))
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    parameters = (0, 0) if block is None else _transpose_parameters(block)
    return _call("transpose", variant, (a,), out, stream, backend, parameters)


def _sgemm_parameters(
    alpha: float = 1.0, beta: float = 0.0, trans_a: bool = False, trans_b: bool = False
) -> tuple[float, ...]:
    return (
        _real("alpha", alpha),
        _real("beta", beta),
        _flag("trans_a", trans_a),
        _flag("trans_b", trans_b),
    )


def _as_rows(x: Any, transposed: bool) -> tuple[Any, bool]:
    """A matrix whose columns run on in memory is the transpose of one whose rows do."""
    rows, columns = x.strides
    if columns != x.itemsize == rows and min(x.shape) > 1:
        return x.T, not transposed
    return x, transposed


def _has_rows(x: DeviceArray) -> bool:
    """Whether a matrix is as most kernels want it: whole numbers, side by side in its rows."""
    return _is_aligned(x) and (x.contiguous or x.shape[1] == 1 or x.strides[1] == x.itemsize)


def sgemm(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    c: ArrayLike | DeviceArray | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Multiply matrices of single precision: ``alpha * op(a) @ op(b) + beta * c``.

    op(x) is `x`, or its transpose where `trans_a` or `trans_b` says so. The rules are those of
    BLAS: with a beta of 0 `c` is not read, with an alpha of 0 neither `a` nor `b`, and a product
    without terms leaves ``beta * c``. NaN and infinities travel as in NumPy.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: op(a) of shape (m, k), op(b) of shape (k, n), any strides. Rows may be
        padded, and a transposed view costs nothing.
    c : array_like or DeviceArray of float32, shape (m, n), optional
        What is added. It may be left out where beta is 0; it is not changed, unless it is `out`.
    alpha, beta : float
        The factors of the product and of `c`; rounded to single precision.
    trans_a, trans_b : bool
        Whether `a` and `b` are to be transposed.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest of gpumem's own for these arguments
        and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, float32, of shape (m, n), apart from `a` and `b`. It
        may be `c` itself, which is then updated in place.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray of float32, shape (m, n)
        The product, summed up in single precision: on the host if the inputs are there, on the
        device if they are. It is `out` where that is given.

    Raises
    ------
    TypeError
        If an array is not of float32, or another argument is of the wrong type.
    ValueError
        If the shapes do not fit, `c` is missing and beta is not 0, a named variant cannot take
        these arrays, there is no such variant, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    ``tf32x3`` is as exact as the others from some hundred terms of a sum on, but for numbers below
    2**-113, which have 11 bits there; "auto" does not take it.

    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] V. Volkov and J. W. Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC 2008.
    .. [2] NVIDIA, "CUTLASS: Fast Linear Algebra in CUDA C++", NVIDIA Technical Blog, 2017.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = np.arange(6, dtype="f4").reshape(2, 3)
    >>> gm.sgemm(a, a, trans_b=True)
    array([[ 5., 14.],
           [14., 50.]], dtype=float32)
    """
    alpha, beta, left, right = _sgemm_parameters(alpha, beta, trans_a, trans_b)
    given, same = out, out is c
    a, b, c = (_core.adopt(x, stream) for x in (a, b, c))
    out = c if same else _core.adopt(out, stream)
    strided = all(hasattr(x, "strides") and hasattr(x, "T") and x.ndim == 2 for x in (a, b))
    # Shapes that do not fit are told as they were given.
    if strided and a.shape[not left] == b.shape[right]:
        a, left = _as_rows(a, left)
        b, right = _as_rows(b, right)
    into = out
    if variant == "auto" and strided and isinstance(a, _core.DeviceArray):
        # Kernels take whole numbers in rows: what is not so goes through a copy.
        if out is not None and out is c and not _has_rows(c):
            into = None
        a, b, c = (
            copy(x, stream=stream)
            if isinstance(x, _core.DeviceArray) and x.ndim == 2 and not _has_rows(x)
            else x
            for x in (a, b, c)
        )
        if isinstance(out, _core.DeviceArray) and not _is_aligned(out):
            into = None
    parameters = (alpha, beta, int(left), int(right))
    result = _call("sgemm", variant, (a, b, c), into, stream, backend, parameters)
    if into is not out:
        copy(result, out=out, stream=stream)
    return result if given is None else given


def matmul(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Multiply two matrices of single precision: ``a @ b``.

    This is :func:`sgemm` without the arguments of BLAS.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: of shape (m, k) and (k, n), any strides.
    variant : str, optional
        Which kernel of :func:`sgemm` runs. "auto" is the fastest for these arguments.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, float32, of shape (m, n), apart from `a` and `b`.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray of float32, shape (m, n)
        The product: on the host if `a` and `b` are there, on the device if they are. It is
        `out` where that is given.

    Raises
    ------
    TypeError, ValueError, UnavailableError, CudaError, MemoryError
        As :func:`sgemm` does.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.matmul(np.eye(2, dtype="f4"), np.ones((2, 3), "f4"))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    return sgemm(a, b, variant=variant, out=out, stream=stream, backend=backend)


# ---- for the instruments ------------------------------------------------------------------


def _add_parameters() -> tuple[int, ...]:
    return ()


def add(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Add two arrays, which may be in any kind of memory.

    Parameters
    ----------
    a, b : array_like or DeviceArray
        Numbers of 32 or 64 bits: int32, int64, uint32, uint64, float32 or float64, both of one
        dtype and shape.
    variant : str, optional
        Which way they go (see Notes). "auto" uses arrays where they are if all of them, the
        result as well, are in mapped memory, or all in managed memory; others are copied.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `a`, apart from both.
    stream : Stream, int or stream of another library, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray
        ``a + b``: on the host if they are there, on the device if they are. Integers wrap
        around. A new array on the host is mapped or managed if `a` is and stayed where it was.

    Raises
    ------
    TypeError
        If the dtypes are others, or differ.
    ValueError
        If the shapes differ, there is no such variant, or a named variant cannot take these
        arrays: "zero_copy" needs all three in page-locked, "managed" in managed memory.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    {variants}

    References
    ----------
    .. [1] J. Cheng, M. Grossman and T. McKercher, "Professional CUDA C Programming", 2014,
       chapter 4: pinned, zero-copy and unified memory.
    .. [2] NVIDIA, "CUDA C++ Programming Guide", chapters Page-Locked Host Memory and Unified
       Memory Programming.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = gm.empty(3, kind="mapped")
    >>> a[:] = [1, 2, 3]
    >>> gm.add(a, a, variant="zero_copy")
    array([2., 4., 6.], dtype=float32)
    """
    return _call_packed("add", variant, (a, b), out, stream, backend, ())


_PARAMETERS: dict[str, Callable[..., tuple[float, ...]]] = {
    "copy": _copy_parameters,
    "strided_read": _slice_parameters,
    "strided_write": _slice_parameters,
    "gather": _gather_parameters,
    "shift_points": _shift_points_parameters,
    "polynomial": _polynomial_parameters,
    "sample": _sample_parameters,
    "static_value": _static_value_parameters,
    "prefetch_sum": _prefetch_sum_parameters,
    "transpose": _transpose_parameters,
    "add": _add_parameters,
    "sgemm": _sgemm_parameters,
}


def as_taken(family: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays as the extension module takes them."""
    return tuple(map(_as_pairs, arrays)) if family == "shift_points" else arrays


def parameters(family: str, keywords: dict[str, Any]) -> tuple[float, ...]:
    """Return the numbers of a family's row for the keywords of its function.

    Raises
    ------
    TypeError
        If a keyword is unknown; the message names those that the family takes.
    """
    convert = _PARAMETERS[family]
    known = convert.__code__.co_varnames[: convert.__code__.co_argcount]
    for name in keywords:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise TypeError(f"{family} has no parameter {name!r}; its parameters: {takes}")
    return convert(**keywords)


def _write_variants_into_docstrings() -> None:
    """Put each family's rows where its docstring says ``{variants}``."""
    for family in _core.families():
        function = globals().get(family["name"])
        if function is None or not function.__doc__:
            continue
        head, mark, tail = function.__doc__.partition("{variants}")
        if mark:
            indent = head[head.rfind("\n") + 1 :]
            rows = [f"``{row['name']}``\n{indent}    {row['doc']}" for row in family["variants"]]
            function.__doc__ = head + f"\n{indent}".join(rows) + tail


_write_variants_into_docstrings()
