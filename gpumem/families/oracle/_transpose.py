"""`transpose`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._copy import copied
from ._family import MOVED, Family, matrix_shape, opaque, random_bytes

_BOUNDS = ("copy_row", "copy_col")
_BLOCK = 512  # rows and columns at a time: a large matrix turned at once misses every cache


def _transpose_expected(a: Any, variant: str = "auto", **_: Any) -> np.ndarray[Any, Any]:
    a = copied(a)
    if variant in _BOUNDS:
        return a
    turned = np.empty(a.shape[::-1], a.dtype)
    if a.dtype.itemsize:
        to, move = opaque(turned), opaque(a)
        for row in range(0, a.shape[0], _BLOCK):
            for column in range(0, a.shape[1], _BLOCK):
                rows, columns = slice(row, row + _BLOCK), slice(column, column + _BLOCK)
                to[columns, rows] = move[rows, columns].T
    return turned


def _whole_vectors(shape: tuple[int, ...], itemsize: int) -> bool:
    """Whether the rows of both matrices are made of 16-byte vectors."""
    return 0 in shape or all(side * itemsize % 16 == 0 for side in shape)


def _whole_tiles(arguments: tuple[np.ndarray[Any, Any], ...]) -> tuple[Any, ...]:
    """The upper left corner, powers of two high and wide: no tile hangs over its edge."""
    rows, columns = (1 << n.bit_length() - 1 for n in arguments[0].shape)
    return (np.ascontiguousarray(arguments[0][:rows, :columns]),)


FAMILIES = {
    "transpose": Family(
        arguments=lambda shape, dtype, random, **_: (random_bytes(shape, dtype, random),),
        expected=_transpose_expected,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * int(np.prod(shape, dtype=object)) * itemsize, None),
        shape=matrix_shape,
        reference=("copy", "memcpy"),
        shapes=(
            (0, 0),
            (0, 5),
            (7, 0),
            (1, 1),
            (1, 70),
            (70, 1),
            (31, 33),
            (64, 64),
            (127, 257),
            (5, 4099),
            (4099, 3),
            (640, 384),
        ),
        dtypes=MOVED,
        parameters=({},),
        bounds=_BOUNDS,
        takes={
            "tile_vec8": _whole_vectors,
            "tile_vec16": _whole_vectors,
            "tma": _whole_vectors,
            "narrow": lambda shape, _: min(shape) <= 64,
            "narrow_words": lambda shape, _: min(shape) <= 256,
            "narrow_vectors": lambda shape, itemsize: (
                shape[1] * itemsize <= 512 if shape[1] <= shape[0] else shape[0] <= 384
            ),
        },
        shapes_of={
            "narrow": lambda nbytes, itemsize: (nbytes // itemsize // 16, 16),
            "narrow_words": lambda nbytes, itemsize: (nbytes // itemsize // 16, 16),
            "narrow_vectors": lambda nbytes, itemsize: (nbytes // itemsize // 32, 32),
        },
        claimed=_whole_tiles,
    ),
}
