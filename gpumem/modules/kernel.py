"""A kernel of a loaded module."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..base.messages import quoted
from ..families.keywords import flag
from .launch import Launch
from .parameters import Parameter

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Kernel", "refuse_kernel"]

_MOST_KEPT = 256  # grids of a kernel, since they are often asked for again


class Kernel:
    """A kernel of a module; ``kernel[grid, block](...)`` runs it.

    Attributes
    ----------
    name : str
        With its namespaces and template arguments, such as "tile<float, 32>".
    parameters : tuple of Parameter
        Their names and types, as in the source.
    module : Module
        What it belongs to.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void add(float *x, float a) { x[threadIdx.x] += a; }")
    >>> m["add"]
    <kernel add(float *x, float a)>
    """

    def __init__(self, module: Module, name: str, parameters: Sequence[Parameter]) -> None:
        self.module = module
        self.name = name
        self.parameters = tuple(parameters)
        self._launches: dict[Any, Launch] = {}

    @property
    def title(self) -> str:
        """The name with its file's, such as "saxpy of mine.cu"."""
        return f"{self.name} of {os.path.basename(self.module.name)}"

    def __getitem__(self, size: Any) -> Launch:
        """Return the kernel with a grid: kernel[grid, block, stream, shared_bytes].

        Parameters
        ----------
        size
            Blocks in the grid and threads in a block, each an int or a tuple of up to three; then,
            if need be, a stream (or None) and the bytes of dynamic shared memory.
        """
        plain = _is_plain(size)
        if plain and size in self._launches:
            return self._launches[size]
        if not isinstance(size, tuple) or not 2 <= len(size) <= 4:
            raise TypeError(
                f"{self.name}[grid, block, stream, shared_bytes] takes two to four, "
                f"not {quoted(size)}"
            )
        stream = size[2] if len(size) > 2 else None
        shared = size[3] if len(size) > 3 else 0
        launch = self.launch(size[0], size[1], stream=stream, shared_bytes=shared)
        if plain and len(self._launches) < _MOST_KEPT:
            self._launches[size] = launch
        return launch

    def __call__(self, *args: Any) -> NoReturn:
        """Raise TypeError: a kernel needs a grid."""
        raise TypeError(f"{self.name} needs a grid and a block: {self.name}[grid, block](...)")

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *,
        stream: Any = None,
        shared_bytes: int = 0,
        cooperative: bool = False,
        cluster: int | Sequence[int] = 1,
    ) -> Launch:
        """Return the kernel with a grid, for what ``kernel[grid, block]`` has no place for.

        Parameters
        ----------
        grid, block : int or sequence of int
            Blocks, and threads per block, in x, y and z.
        stream : Stream, optional
            In which the kernel is queued.
        shared_bytes : int
            Dynamic shared memory per block, in bytes.
        cooperative : bool
            Whether the blocks may wait for each other at a barrier of the grid.
        cluster : int or sequence of int
            Blocks per cluster, in x, y and z; a GPU of compute capability 9.0 or later.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> m["nothing"].launch(4, (8, 8), cooperative=True)
        <nothing: grid 4 x 1 x 1, block 8 x 8 x 1>
        """
        bytes_ = _whole("shared_bytes", shared_bytes)
        if bytes_ < 0:
            raise ValueError(f"{self.name}: shared_bytes must be at least 0, not {bytes_}")
        return Launch(
            self,
            self._dim("grid", grid),
            self._dim("block", block),
            stream,
            bytes_,
            bool(flag("cooperative", cooperative)),
            self._dim("cluster", cluster),
        )

    def attributes(
        self, block: int | Sequence[int] = 256, *, shared_bytes: int = 0
    ) -> dict[str, Any]:
        """Return what the compiled kernel needs of a GPU.

        Parameters
        ----------
        block : int or sequence of int
            Threads per block, for "blocks" and "occupancy".
        shared_bytes : int
            Dynamic shared memory per block, in bytes, for the same.

        Returns
        -------
        dict
            "registers" and "local_bytes" per thread, "shared_bytes" per block without the dynamic
            ones, "constant_bytes", "max_threads" of a block; "blocks" that a multiprocessor holds
            at once, and "occupancy", the threads in them as a part of the most possible;
            "binary_version".

        Raises
        ------
        UnavailableError
            If the module was loaded for the simulator.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}", backend="sim")
        >>> m["nothing"].attributes()
        Traceback (most recent call last):
            ...
        gpumem.UnavailableError: nothing was loaded for the simulator, ...
        """
        x, y, z = self._dim("block", block)
        bytes_ = _whole("shared_bytes", shared_bytes)
        return self.module.side.attributes(self.name, x * y * z, bytes_)

    def _dim(self, what: str, size: Any) -> tuple[int, int, int]:
        if size.__class__ is int and 0 < size < 2**31:
            return size, 1, 1
        given = list(size) if isinstance(size, tuple | list) else [size]
        if not 1 <= len(given) <= 3:
            raise ValueError(f"{self.name}: {what} has up to three dimensions, not {len(given)}")
        sides = [_whole(what, one) for one in given]
        if min(sides) < 1 or max(sides) >= 2**31:
            raise ValueError(
                f"{self.name}: {what} is {quoted(size)}; each side is from 1 to 2**31 - 1"
            )
        x, y, z = (*sides, 1, 1)[:3]
        return x, y, z

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(str, self.parameters))})>"


def refuse_kernel(what: object) -> None:
    """Raise TypeError for a kernel without a grid, where one with a grid makes sense.

    Examples
    --------
    >>> import gpumem as gm
    >>> refuse_kernel("copy")
    """
    if isinstance(what, Kernel):
        raise TypeError(f"{what.name} needs a grid and a block: {what.name}[grid, block], ...")


def _is_plain(size: Any) -> bool:
    """Whether these are two ints or tuples of ints: nothing that is only equal to them."""
    if size.__class__ is not tuple or len(size) != 2:
        return False
    for sides in size:
        if sides.__class__ is not int and not (
            sides.__class__ is tuple and all(side.__class__ is int for side in sides)
        ):
            return False
    return True


def _whole(what: str, value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{what} must be an integer, not {value}")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {quoted(value)}") from None
