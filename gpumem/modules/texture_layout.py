"""Textures and surfaces as both backends need them: their elements, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import _core

__all__ = ["ADDRESSES", "FILTERS", "READS", "Layout", "Place", "Sampling", "described"]

_KINDS = "iuf"  # of channels, in the order of gm_texel_kind
ADDRESSES = ("wrap", "clamp", "mirror", "border")  # in the order of CUDA and gm_texture_address
FILTERS = ("point", "linear")  # in CUDA's order
READS = ("element", "normalized_float")


@dataclass(frozen=True)
class Layout:
    """Elements: how many in each direction, and what each consists of."""

    dtype: np.dtype[Any]
    channels: int
    shape: tuple[int, ...]  # without the channels: [depth or layers,] [height,] width
    layered: bool

    @property
    def dimensions(self) -> int:
        """The number of coordinates besides the layer."""
        return len(self.shape) - self.layered

    @property
    def size(self) -> tuple[int, int, int]:
        """Width, height, and depth or layers; 1 for a dimension that it lacks."""
        deep = self.layered or self.dimensions == 3
        height = self.shape[-2] if self.dimensions > 1 else 1
        return self.shape[-1], height, self.shape[0] if deep else 1

    @property
    def row_bytes(self) -> int:
        """The bytes of a row's elements."""
        return self.shape[-1] * self.channels * self.dtype.itemsize


@dataclass(frozen=True)
class Sampling:
    """How a texture is read; the numbers are CUDA's."""

    linear: bool = False
    to_float: bool = False
    normalized: bool = False
    addresses: tuple[int, int, int] = (1, 1, 1)
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


class Place(Protocol):
    """The memory of textures and surfaces on a backend."""

    def read(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements."""

    def write(self, host: np.ndarray[Any, Any]) -> None:
        """Set the elements."""

    def make(self, sampling: Sampling | None) -> tuple[object, int]:
        """Return an object to keep alive, and its number; of a surface, where sampling is None."""


def described(
    layout: Layout, sampling: Sampling, data: int, pitch: int = 0, layer: int = 0
) -> tuple[bytes, int]:
    """Return the simulator's descriptor of memory, and its address.

    Raises
    ------
    ValueError
        If CUDA has no such texture, wherever the memory is.
    """
    return _core.texture(
        data,
        pitch,
        layer,
        layout.size,
        _KINDS.index(layout.dtype.kind),
        layout.channels,
        layout.dtype.itemsize,
        sampling.addresses,
        sampling.linear,
        sampling.to_float,
        sampling.normalized,
        sampling.border,
    )
