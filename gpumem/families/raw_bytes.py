"""NumPy arrays as raw bytes, so that moving and comparing them loses nothing.

As floats, a NaN may change its payload; as structures, the padding between the fields may be
left behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .protocol import Array


def opaque(a: Array) -> Array:
    """Return a view whose elements are plain bytes (dtype V), which NumPy moves whole."""
    return a.view(f"V{a.dtype.itemsize}")


def copied(a: Any) -> Array:
    """Return a C-contiguous copy, byte for byte."""
    a = np.asarray(a)
    return np.array(opaque(a), order="C").view(a.dtype) if a.dtype.itemsize else a.copy()


def all_bytes(a: Array) -> Array:
    """Return all bytes of an array in a row, in C order."""
    return np.ascontiguousarray(opaque(a)).reshape(-1).view(np.uint8)


def patterns(a: Array) -> Array:
    """Return an array that is equal where elements are equal byte for byte.

    Elements of 1, 2, 4 and 8 bytes become unsigned integers, others rows of bytes.
    """
    flat = np.ascontiguousarray(opaque(a)).reshape(-1)
    if a.dtype.itemsize in (1, 2, 4, 8):
        return flat.view(f"u{a.dtype.itemsize}")
    return flat.view(np.uint8).reshape(flat.size, a.dtype.itemsize)
