"""The same jobs done by other libraries, for a benchmark to hold gpumem against.

A peer is a library that is installed; it works on gpumem's own buffers, on the default stream.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .._core import DeviceArray


def _torch(array: DeviceArray) -> Any:
    import torch

    return torch.from_dlpack(array)


def _cupy(array: DeviceArray) -> Any:
    import cupy

    return cupy.asarray(array)


class _Library(NamedTuple):
    adopt: Callable[[DeviceArray], Any]
    # A family's job: out and inputs as the library's arrays.
    jobs: dict[str, Callable[..., Any]]


def _cupy_copyto(out: Any, a: Any) -> None:
    import cupy

    cupy.copyto(out, a)


def _cupy_matmul(out: Any, a: Any, b: Any) -> None:
    import cupy

    cupy.matmul(a, b, out=out)  # in TF32 only where CUPY_TF32 asks for it


def _torch_matmul(out: Any, a: Any, b: Any) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.mm(a, b, out=out)


_LIBRARIES = {
    "torch": _Library(
        _torch,
        {
            "copy": lambda out, a: out.copy_(a),
            "transpose": lambda out, a: out.copy_(a.t()),
            "sgemm": _torch_matmul,
        },
    ),
    "cupy": _Library(
        _cupy,
        {
            "copy": _cupy_copyto,
            "transpose": lambda out, a: _cupy_copyto(out, a.T),
            "sgemm": _cupy_matmul,
        },
    ),
}


# Families whose keywords change what is computed: peers do the job without any.
_PLAIN = ("sgemm",)


def names() -> tuple[str, ...]:
    """Return the names of the libraries that gpumem knows as peers."""
    return tuple(_LIBRARIES)


def reason(library: str, family: str, keywords: Iterable[str] = ()) -> str | None:
    """Return why a library cannot do a family's job, told by keywords, here; None if it can."""
    if family not in _LIBRARIES[library].jobs:
        return f"gpumem does not know how {library} does {family}"
    if family in _PLAIN and list(keywords):
        return f"gpumem does not know how {library} does {family} with {', '.join(keywords)}"
    try:
        importlib.import_module(library)
    except ImportError as error:
        return f"{library} is not installed: {error}"
    return None


class Call:
    """One call of a peer on device arrays, with the face of a prepared call."""

    def __init__(
        self, library: str, family: str, inputs: tuple[DeviceArray, ...], out: DeviceArray
    ) -> None:
        adopt, jobs = _LIBRARIES[library]
        self.variant = library
        self._job = jobs[family]
        self._arrays = [adopt(out), *(adopt(a) for a in inputs)]

    def launch(self) -> None:
        """Do the job once."""
        self._job(*self._arrays)
