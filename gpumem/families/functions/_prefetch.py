"""Hiding latency in software: `prefetch_sum`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _core
from ...base.messages import quoted
from ._arguments import flag, integer_within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _prefetch_sum_parameters(
    work: int = 2,
    distance: int = 6,
    padding: int | str = "auto",
    threads: int = 128,
    sync: bool = False,
) -> tuple[int, ...]:
    if isinstance(padding, str):
        if padding != "auto":
            raise ValueError(f'padding is {quoted(padding)}, expected "auto" or an integer')
        places = -1
    else:
        places = integer_within("padding", padding, 0, 64, '"auto" or an integer')
    return (
        integer_within("work", work, 0, 10000),
        integer_within("distance", distance, 1, 16),
        places,
        integer_within("threads", threads, 32, 1024),
        flag("sync", sync),
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
    {call}

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
    {failures}

    Notes
    -----
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


PARAMETERS = {
    "prefetch_sum": _prefetch_sum_parameters,
}
