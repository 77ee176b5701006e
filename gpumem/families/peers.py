"""The same jobs done by other libraries, for a benchmark to compare with.

A peer is a library that is installed. It works on gpumem's own buffers, on the default stream.
How it does a family's job is in the family's file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from .._core import DeviceArray
from .table import FAMILIES


def _from_torch(array: DeviceArray) -> Any:
    import torch

    return torch.from_dlpack(array)


def _from_cupy(array: DeviceArray) -> Any:
    import cupy

    return cupy.asarray(array)


# How a library makes an array of its own on gpumem's memory.
_ADOPT: dict[str, Callable[[DeviceArray], Any]] = {"torch": _from_torch, "cupy": _from_cupy}


def names() -> tuple[str, ...]:
    """Return the names of the libraries that gpumem knows as peers."""
    return tuple(_ADOPT)


def reason(library: str, family: str, keywords: Iterable[str] = ()) -> str | None:
    """Return why a library cannot do a family's job with these keywords here; None if it can."""
    entry = FAMILIES[family]
    if library not in entry.peers:
        return f"gpumem does not know how {library} does {family}"
    if not entry.peers_ignore_keywords and list(keywords):
        return f"gpumem does not know how {library} does {family} with {', '.join(keywords)}"
    try:
        importlib.import_module(library)
    except ImportError as error:
        return f"{library} is not installed: {error}"
    return None


class Call:
    """One call of a peer on device arrays, with the interface of a prepared call of gpumem."""

    def __init__(
        self, library: str, family: str, inputs: tuple[DeviceArray, ...], out: DeviceArray
    ) -> None:
        adopt = _ADOPT[library]
        self.variant = library
        self._job = FAMILIES[family].peers[library]
        self._arrays = [adopt(out), *(adopt(a) for a in inputs)]

    def launch(self) -> None:
        """Do the job once."""
        self._job(*self._arrays)
