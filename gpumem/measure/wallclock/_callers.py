"""Whom a job is asked of, gpumem or another library: what a caller of each would write."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...families.table import FAMILIES

# Takes a job, a backend, the inputs, and None or where the result is to go.
_Ask = Callable[[str, str, Sequence[Any], Any], Any]

_OPERATORS: dict[str, Callable[..., Any]] = {"add": operator.add, "sgemm": operator.matmul}


def _ask_gpumem(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    return FAMILIES[job].function(*inputs, out=out, backend=backend)


def _ask_numpy(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    if job in ("add", "sgemm"):
        return (np.add if job == "add" else np.matmul)(*inputs, out=out)
    (a,) = inputs
    if out is not None:
        np.copyto(out, a if job == "copy" else a.T)
        return out
    return np.copy(a) if job == "copy" else np.ascontiguousarray(a.T)


def _ask_cupy(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    import cupy

    on_device = _OPERATORS | {
        "copy": cupy.copy,
        "transpose": lambda a: cupy.ascontiguousarray(a.T),
    }
    return cupy.asnumpy(on_device[job](*map(cupy.asarray, inputs)), out=out)


def _ask_torch(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    import torch

    on_device = _OPERATORS | {
        "copy": torch.clone,
        "transpose": lambda a: a.t().contiguous(),
    }
    result = on_device[job](*(torch.from_numpy(a).cuda() for a in inputs))
    if out is None:
        return result.cpu().numpy()
    torch.from_numpy(out).copy_(result)
    return out


_OURS: dict[str, _Ask] = {"gpumem": _ask_gpumem, "one_piece": _ask_gpumem}
_THEIRS: dict[str, _Ask] = {"numpy": _ask_numpy, "cupy": _ask_cupy, "torch": _ask_torch}

OURS = tuple(_OURS)
PEERS = tuple(_THEIRS)
ASK = _OURS | _THEIRS


def absent(library: str) -> str | None:
    """Return why a library cannot be asked, None if it can."""
    try:
        module = importlib.import_module(library)
        if library == "torch":
            module.backends.cuda.matmul.allow_tf32 = False
            if not module.cuda.is_available():
                return "torch finds no device"
    except ImportError as error:
        return f"{library} is not installed: {error}"
    return None
