"""Dependent loads: `chase`."""

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
from .inputs import vector_shape
from .keywords import integer_within
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_MOST_STEPS = 2**31 - 1
_MOST_START = 2**32 - 1
_WALKED = 10_000  # steps that the oracle takes one by one


def _parameters(steps: int = 1024, start: int = 0) -> tuple[int, ...]:
    """Return steps and start as the extension module takes them."""
    return (
        integer_within("steps", steps, 0, _MOST_STEPS),
        integer_within("start", start, 0, _MOST_START),
    )


@overload
def chase(
    next: AnyArray, steps: int = ..., start: int = ..., *, out: Out, **how: Unpack[How]
) -> Out: ...
@overload
def chase(
    next: DeviceArray, steps: int = ..., start: int = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray: ...
@overload
def chase(
    next: NDArray[Scalar],
    steps: int = ...,
    start: int = ...,
    *,
    out: None = ...,
    **how: Unpack[How],
) -> NDArray[Scalar]: ...
@overload
def chase(
    next: ForeignArray, steps: int = ..., start: int = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def chase(
    next: ArrayLike, steps: int = ..., start: int = ..., *, out: None = ..., **how: Unpack[How]
) -> NDArray[Any]: ...
def chase(
    next: AnyArray,
    steps: int = 1024,
    start: int = 0,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Follow a chain of indices: ``at = next[at]``, `steps` times, from `start` on.

    One thread makes one load after the other, and each needs the result of the one before it. The
    time of a step is the latency of a load, with one multiply-add for the address. Which memory
    answers depends on the variant, and on how many bytes the chain visits.

    Parameters
    ----------
    next : array_like or DeviceArray of int32 or uint32, shape (n,)
        Where each element leads to, 0 to ``n - 1``: any stride of its own. n is at least 1.
    steps : int
        How many loads, 0 to 2**31 - 1. On a GPU nothing can interrupt them.
    start : int
        The first index, 0 to ``n - 1``.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is ``cached``, and takes every stride.
    out : ndarray or DeviceArray, optional
        Where the result goes: of shape () and the dtype of `next`, not overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray, shape ()
        The index where the chain ends, of the dtype of `next`: on the host if `next` is on the
        host, on the device if it is on the device. It is `out` if that is given.

    Raises
    ------
    IndexError
        If `start` or a value of `next` is outside 0 to ``n - 1``. All of `next` is checked before
        the first step; on device arrays the call waits for that check.
    TypeError
        If `next` is not of int32 or uint32 or is a masked array, or `steps` or `start` is not an
        integer.
    ValueError
        If `next` is not one-dimensional or is empty, `steps` or `start` is out of range, there is
        no such variant, a named variant cannot take these arrays, or `out` does not fit or
        overlaps `next`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    A call takes longer than its steps: it checks the chain, and some variants bring it to another
    memory first. The difference of two calls with different `steps` has none of that.
    ``tools/measure_latency.py`` measures so, for chains of many sizes.

    The variants, each with the idea that it adds:

    ``cached``
        loads that may stay in the L1
    ``uncached``
        loads that bypass the L1: the L2 and what is behind it
    ``readonly``
        loads through the read-only path
    ``shared``
        the chain in shared memory
    ``remote_shared``
        the chain in the shared memory of another multiprocessor of the cluster
    ``constant``
        the chain in constant memory

    References
    ----------
    .. [1] X. Mei and X. Chu, "Dissecting GPU Memory Hierarchy through Microbenchmarking", IEEE
       Transactions on Parallel and Distributed Systems, 2017.
    .. [2] L. McVoy and C. Staelin, "lmbench: Portable Tools for Performance Analysis", USENIX
       Annual Technical Conference, 1996.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.chase(np.array([2, 0, 1], np.int32), steps=4)  # 0, 2, 1, 0, 2
    array(2, dtype=int32)
    """
    return _call("chase", variant, (next,), out, stream, backend, _parameters(steps, start))


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return one random cycle through all elements."""
    n = math.prod(shape)
    order = random.permutation(n)
    next = np.empty(n, dtype if dtype.kind in "iu" and dtype.itemsize == 4 else "i4")
    next[order] = np.roll(order, -1)
    return (next,)


def _expected(next: Any, steps: int = 1024, start: int = 0, **_: Any) -> Array:
    """Return the end of the chain; of a long one, `jump` leads 1, 2, 4 ... steps on."""
    jump = np.asarray(next)
    at = jump.dtype.type(start)
    if steps <= _WALKED:
        for _step in range(steps):
            at = jump[at]
        return np.asarray(at)
    while steps > 0:
        if steps % 2:
            at = jump[at]
        steps //= 2
        if steps > 0:
            jump = jump[jump]
    return np.asarray(at)


def _work(shape: Shape, itemsize: int, steps: int = 1024, **_: Any) -> tuple[int, None]:
    """Return the bytes of the steps and of the result."""
    return (steps + 1) * itemsize, None


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (((math.prod(shape),), dtype),)


def _shape_on_chip(nbytes: int, itemsize: int) -> Shape:
    """Return a shape of at most 32 KiB, for which every device has shared and constant memory."""
    return vector_shape(min(nbytes, 2**15), itemsize)


FAMILY = Family(
    function=chase,
    parameters=_parameters,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=None,
        work=_work,
        shape=vector_shape,
        shapes=((1,), (2,), (31,), (33,), (1027,), (4099,), (65537,)),
        dtypes=("int32", "uint32"),
        keywords=({}, {"steps": 0}, {"steps": 1}, {"steps": 7}, {"steps": 4097}),
        shapes_of=dict.fromkeys(("shared", "remote_shared", "constant"), _shape_on_chip),
    ),
    peers_ignore_keywords=False,
)
