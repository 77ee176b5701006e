"""A kernel of a loaded module."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.messages import quoted
from .launch import Launch
from .parameters import Parameter

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Kernel"]


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
        if not isinstance(size, tuple) or not 2 <= len(size) <= 4:
            raise TypeError(
                f"{self.name}[grid, block, stream, shared_bytes] takes two to four, "
                f"not {quoted(size)}"
            )
        stream = size[2] if len(size) > 2 else None
        shared = size[3] if len(size) > 3 else 0
        return self.launch(size[0], size[1], stream=stream, shared_bytes=shared)

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *,
        stream: Any = None,
        shared_bytes: int = 0,
        cooperative: bool = False,
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
            bool(cooperative),
        )

    def _dim(self, what: str, size: Any) -> tuple[int, int, int]:
        given = list(size) if isinstance(size, tuple | list) else [size]
        if not 1 <= len(given) <= 3:
            raise ValueError(f"{self.name}: {what} has up to three dimensions, not {len(given)}")
        sides = [_whole(what, one) for one in given]
        if min(sides) < 1 or max(sides) >= 2**31:
            raise ValueError(f"{self.name}: {what} is {quoted(size)}; each side is at least 1")
        x, y, z = (*sides, 1, 1)[:3]
        return x, y, z

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(str, self.parameters))})>"


def _whole(what: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {quoted(value)}") from None
