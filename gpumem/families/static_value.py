"""Variables of the device: `static_value`."""

from __future__ import annotations

import math
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
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


@overload
def static_value(x: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def static_value(x: DeviceArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray: ...
@overload
def static_value(x: NDArray[Scalar], *, out: None = ..., **how: Unpack[How]) -> NDArray[Scalar]: ...
@overload
def static_value(x: ForeignArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray | Any: ...
@overload
def static_value(x: ArrayLike, *, out: None = ..., **how: Unpack[How]) -> NDArray[Any]: ...
def static_value(
    x: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Write a variable of the device, let a kernel add 2 to it, and read it back.

    Parameters
    ----------
    x : array_like or DeviceArray of int32, int64, float32 or float64
        The number: one element, of any number of dimensions.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape and dtype of `x`, not overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        ``x + 2``, of the shape and dtype of `x`; integers wrap. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `x` is of another dtype, or is a masked array.
    ValueError
        If `x` does not have exactly one element, there is no such variant, or `out` does not fit
        or overlaps `x`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    There is one such variable per variant and device: calls from several threads and on several
    streams are serialized.

    The variants, each with the idea that it adds:

    ``symbol``
        a __device__ variable, copied to and from by its symbol
    ``symbol_address``
        the address of the symbol, then ordinary copies
    ``managed_symbol``
        a __managed__ variable, which the host reads itself

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Programming Guide", sections Device Memory and Managed Variables.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.static_value(np.float32(1.5))
    array(3.5, dtype=float32)
    """
    return _call("static_value", variant, (x,), out, stream, backend, ())


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return one number, of shape () if the shape has more elements."""
    number = random.integers(-1000, 1000, shape if math.prod(shape) == 1 else ())
    return (np.asarray(number).astype(dtype),)


def _expected(x: Any, **_: Any) -> Array:
    x = np.asarray(x)
    with np.errstate(over="ignore"):
        return np.asarray(x + x.dtype.type(2))


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    return 2 * itemsize, None


def _shape(nbytes: int, itemsize: int) -> Shape:
    return ()


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (((), dtype),)


FAMILY = Family(
    function=static_value,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=None,
        work=_work,
        shape=_shape,
        shapes=((),),
        dtypes=("float64", "float32", "int32", "int64"),
    ),
)
