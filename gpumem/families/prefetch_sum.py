"""Prefetching in software to hide latency: `prefetch_sum`."""

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
)
from ..base.messages import quoted
from .inputs import random_bytes
from .keywords import flag, integer_within
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_ROW = 8192  # elements of a row in benchmarks, or fewer in small arrays


def _parameters(
    work: int = 2,
    distance: int = 6,
    padding: int | str = "auto",
    threads: int = 128,
    sync: bool = False,
) -> tuple[int, ...]:
    if isinstance(padding, str):
        if padding != "auto":
            raise ValueError(f'padding is {quoted(padding)}, expected "auto" or an integer')
        elements = -1
    else:
        elements = integer_within("padding", padding, 0, 64, '"auto" or an integer')
    return (
        integer_within("work", work, 0, 10000),
        integer_within("distance", distance, 1, 16),
        elements,
        integer_within("threads", threads, 32, 1024),
        flag("sync", sync),
    )


class _How(How, total=False):
    work: int
    distance: int
    padding: int | str
    threads: int
    sync: bool


@overload
def prefetch_sum(a: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def prefetch_sum(a: DeviceArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray: ...
@overload
def prefetch_sum(
    a: NDArray[Any], *, out: None = ..., **how: Unpack[_How]
) -> NDArray[np.float64]: ...
@overload
def prefetch_sum(a: ForeignArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray | Any: ...
@overload
def prefetch_sum(a: ArrayLike, *, out: None = ..., **how: Unpack[_How]) -> NDArray[np.float64]: ...
def prefetch_sum(
    a: AnyArray,
    *,
    work: int = 2,
    distance: int = 6,
    padding: int | str = "auto",
    threads: int = 128,
    sync: bool = False,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Sum f(a[r, i]) over each row, with elements prefetched several steps ahead.

    f is `work` rounds of ``y = exp(-y*y) + 0.25*y``. A block of threads walks along one row, each
    thread in steps of the block's width. With few rows there are few warps on each
    multiprocessor, and a plain loop spends most of its time waiting for loads; requesting
    elements `distance` steps ahead hides that latency.

    Parameters
    ----------
    a : array_like or DeviceArray of float64, shape (rows, n)
        The rows: any strides.
    work : int
        Rounds of f, 0 to 10000: how long an element keeps its thread busy.
    distance : int
        How many steps ahead elements are requested, 1 to 16. No effect on ``baseline`` and
        ``any``; ``bulk`` requests 64 KiB per multiprocessor at most, or two steps.
    padding : int or "auto"
        For the variants that keep the elements of a thread side by side in shared memory:
        unused elements after them, 0 to 64. Lanes are ``distance + padding`` doubles apart;
        "auto" makes that a power of two plus one, which has no bank conflicts. 0 shows the
        conflicts.
    threads : int
        Threads of a block, 32 to 1024, a multiple of 32.
    sync : bool
        Whether the loop contains a barrier of the block, as many real loops do.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, float64, of shape (rows,), not overlapping `a`.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray of float64, shape (rows,)
        The sums: on the host if `a` is on the host, on the device if `a` is on the device. It is
        `out` if that is given. The sum over no elements is 0.

    Raises
    ------
    TypeError
        If `a` is not of float64 or is a masked array, or another argument is of the wrong type.
    ValueError
        If `a` is not two-dimensional, a number is out of range, the block would need more shared
        memory than the device has, a named variant cannot take these arrays, there is no such
        variant, or `out` does not fit or overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``baseline``
        the plain loop: each step waits for its load
    ``unroll``
        the compiler unrolls `distance` steps, and moves the loads that it may
    ``scalar_batch``
        every distance-th step fills `distance` registers
    ``scalar_rolling``
        registers filled once, then one load per step, `distance` ahead
    ``smem_batch``
        the batch in shared memory, padded against bank conflicts
    ``smem_rolling``
        rolling in shared memory: the store waits for its load
    ``smem_rolling_async``
        rolling with asynchronous copies: no register, and no wait until it is needed
    ``smem_rolling_async_interleaved``
        the k-th elements of all threads side by side: conflict-free without padding
    ``l2``
        prefetches to the L2, `distance` steps ahead
    ``bulk``
        Hopper's copy engine fills a ring of `distance` stages per warp

    Kernels that only serve ``auto``:

    ``any``
        any layout and alignment, with the plain loop

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
    parameters = _parameters(work, distance, padding, threads, sync)
    return _call("prefetch_sum", variant, (a,), out, stream, backend, parameters)


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return normal numbers; a tenth of the rows contain one infinity or NaN."""
    if dtype.kind != "f":
        return (random_bytes(shape, dtype, random),)
    a = random.standard_normal(shape).astype(dtype)
    for row in np.flatnonzero(random.random(shape[:1]) < 0.1):
        if a[row].size:
            a[row].flat[random.integers(a[row].size)] = random.choice([np.inf, -np.inf, np.nan])
    return (a,)


def _terms(a: Any, work: int) -> Array:
    y = np.array(a, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(work):
            y = np.exp(-y * y) + 0.25 * y
    return y


def _expected(a: Any, work: int = 2, **_: Any) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(_terms(a, work).sum(axis=1))


def _bound(a: Any, work: int = 2, **_: Any) -> Array:
    """Allow 1e-12 of the sum of magnitudes, for another order and another library's exp."""
    with np.errstate(over="ignore"):
        return np.asarray(1e-12 * np.abs(_terms(a, work)).sum(axis=1))


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    return (math.prod(shape) + shape[0]) * itemsize, None


def _shape(nbytes: int, itemsize: int) -> Shape:
    elements = nbytes // itemsize
    return max(1, elements // _ROW), min(elements, _ROW)


_NO_PADDING = (
    "unroll",
    "scalar_batch",
    "scalar_rolling",
    "smem_rolling_async_interleaved",
    "l2",
    "bulk",
)

FAMILY = Family(
    function=prefetch_sum,
    parameters=_parameters,
    oracle=Oracle(
        arguments=_arguments,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=_shape,
        reference=("prefetch_sum", "baseline"),
        shapes=((0, 5), (3, 0), (1, 1), (2, 31), (3, 127), (5, 128), (7, 1000), (2, 12345)),
        dtypes=("float64",),
        keywords=(
            {},
            {"distance": 1, "padding": 0},
            {"distance": 16, "padding": 0, "threads": 32, "sync": True},
            {"distance": 9, "work": 1, "threads": 96},
            {"distance": 5, "work": 0, "sync": True},
        ),
        ignores={
            "baseline": ("distance", "padding"),
            "any": ("distance", "padding"),
            **dict.fromkeys(_NO_PADDING, ("padding",)),
        },
    ),
)
