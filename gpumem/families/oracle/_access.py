"""`strided_read`, `strided_write` and `gather`."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ._copy import copied
from ._family import MOVED, Family, opaque, random_bytes


def _count(length: int, offset: int = 1, stride: int = 2) -> int:
    return len(range(*slice(offset, None, stride).indices(length)))


def _strided_read_expected(
    a: Any, offset: int = 1, stride: int = 2, **_: Any
) -> np.ndarray[Any, Any]:
    return copied(np.asarray(a)[offset::stride])


def _strided_write_expected(
    out: Any, a: Any, offset: int = 1, stride: int = 2, **_: Any
) -> np.ndarray[Any, Any]:
    result = copied(out)
    if result.dtype.itemsize:
        opaque(result)[offset::stride] = opaque(np.ascontiguousarray(a))
    return result


def _strided_write_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **parameters: Any
) -> tuple[Any, ...]:
    if len(shape) != 1:
        raise ValueError(f"shape is {shape}, expected one dimension")
    return tuple(
        random_bytes((n,), dtype, random) for n in (shape[0], _count(shape[0], **parameters))
    )


def _strided_work(shape: tuple[int, ...], itemsize: int, **parameters: Any) -> tuple[int, None]:
    """The bytes that are wanted, once read and once written; not the sectors they lie in."""
    return 2 * itemsize * _count(math.prod(shape), **parameters), None


def _gather_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """As many places as there are elements, of both signs, each as likely as any other."""
    n = math.prod(shape)
    return random_bytes(shape, dtype, random), random.integers(-n, n, n) if n else np.empty(0, "i8")


_OFFSETS = ({}, {"offset": 0, "stride": 1}, {"offset": -3, "stride": -7}, {"offset": 9**9})


_row = functools.partial(
    Family,
    bound=None,
    shape=lambda nbytes, itemsize: (nbytes // itemsize,),
    reference=("copy", "memcpy"),
    shapes=((0,), (1,), (2,), (33,), (1027,), (65537,)),
    dtypes=MOVED,
)


FAMILIES = {
    "strided_read": _row(
        arguments=lambda shape, dtype, random, **_: (random_bytes(shape, dtype, random),),
        expected=_strided_read_expected,
        work=_strided_work,
        parameters=_OFFSETS,
    ),
    "strided_write": _row(
        arguments=_strided_write_arguments,
        expected=_strided_write_expected,
        work=_strided_work,
        parameters=_OFFSETS,
    ),
    "gather": _row(
        arguments=_gather_arguments,
        expected=lambda a, index, **_: copied(copied(a)[np.asarray(index)]),
        # The index is read as well.
        work=lambda shape, itemsize, **_: (math.prod(shape) * (2 * itemsize + 8), None),
        parameters=({},),
        claimed=lambda arguments: (arguments[0], np.arange(arguments[0].size)),
    ),
}
