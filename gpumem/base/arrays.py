"""What functions take and return, as types; signatures name them at run time too.

The first array decides what an array function returns, or `out` does. Each has these overloads:

    out=                            that very array
    DeviceArray                     DeviceArray
    ndarray                         ndarray, of the same dtype where the function keeps it
    another library's array         DeviceArray, or an ndarray if that array is on the host
    what NumPy makes an array of    ndarray
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import DeviceArray, Stream

__all__ = [
    "AnyArray",
    "AnyStream",
    "ArrayLike",
    "DeviceArray",
    "ForeignArray",
    "How",
    "NDArray",
    "Out",
    "Result",
    "Scalar",
]

AnyStream: TypeAlias = Stream | int | Any
"""A Stream, a cudaStream_t as an int, an object with ``__cuda_stream__``, or a stream of CuPy,
Numba or PyTorch."""


class _HasDLPack(Protocol):
    @property
    def __dlpack__(self) -> Callable[..., Any]: ...
    @property
    def __dlpack_device__(self) -> Callable[..., tuple[Any, int]]: ...


class _HasInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


ForeignArray: TypeAlias = _HasDLPack | _HasInterface
"""Another library's array. Types do not say whether it is on the host, so results are
``DeviceArray | Any``: a mere union would ask for a check where the program knows."""

AnyArray: TypeAlias = ArrayLike | DeviceArray | ForeignArray
"""What array functions take."""

Result: TypeAlias = NDArray[Any] | DeviceArray | Any
"""What they return: if `out` is another library's array, that one."""

Scalar = TypeVar("Scalar", bound=np.generic)
Out = TypeVar("Out", bound=NDArray[Any] | DeviceArray | ForeignArray)


class How(TypedDict, total=False):
    """The keywords that all array functions have in common."""

    variant: str
    stream: AnyStream | None
    backend: str | None
