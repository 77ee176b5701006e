"""How much memory a call may take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from ..base.messages import quoted
from ..base.sizes import format_bytes, parse_sizes
from ..machine.host import host_memory

LEAST = 2**25
FIXED = 2**24
"""Bytes that any call takes, such as the stacks of the simulator's threads."""
_SHARE = 4  # of the host's free memory: a fourth
_USUAL = 2**34  # beyond that page-locked buffers take long to allocate, and runs are long enough


def checked_limit(limit: Any) -> int:
    """Return the bytes that a call may take.

    By default a fourth of the host's free memory, and 16 GiB at most.

    Raises
    ------
    TypeError
        If it is neither text nor an integer.
    ValueError
        If it is not one size, or too small for any call.
    """
    if limit is None:
        return max(LEAST, min(_USUAL, host_memory() // _SHARE))
    try:
        if isinstance(limit, Iterable) and not isinstance(limit, str):  # of several
            raise TypeError
        sizes = parse_sizes(limit)
    except (TypeError, ValueError) as error:
        text = f'limit is {quoted(limit)}, expected bytes such as 2**30, or text such as "8G"'
        raise type(error)(text) from None
    if len(sizes) != 1:
        raise ValueError(f'limit is {quoted(limit)}, expected one size, such as "8G"')
    if sizes[0] < LEAST:
        raise too_small(sizes[0], LEAST)
    return sizes[0]


def too_small(limit: int, least: int) -> ValueError:
    """Return the error for a limit that suffices for nothing."""
    return ValueError(
        f"limit is {limit} bytes, expected at least {least} ({format_bytes(least)}) here"
    )


def free_on_device(backend: str) -> int | None:
    """Return the free bytes of the GPU with the fewest; None on the simulator."""
    if backend != "cuda":
        return None
    return min(int(device["free_bytes"]) for device in _core.backend_info(backend)["devices"])
