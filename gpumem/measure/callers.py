"""How a caller asks gpumem, or another library, for a job on arrays of the host."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..families.table import FAMILIES, parameters
from ..machine.device import Device

__all__ = ["CALLERS", "absent"]

_ONE_PIECE = 2**62  # bytes: a chunk so large that no call is divided

# Takes a job, a device, the inputs, and None or where the result is to go.
_Call = Callable[[str, Device, Sequence[Any], Any], Any]

_OPERATORS: dict[str, Callable[..., Any]] = {"add": operator.add, "sgemm": operator.matmul}


def call_gpumem(job: str, device: Device, inputs: Sequence[Any], out: Any) -> Any:
    """Do a job by gpumem."""
    return FAMILIES[job].function(*inputs, out=out, backend=device.backend)


def _call_in_one_piece(job: str, device: Device, inputs: Sequence[Any], out: Any) -> Any:
    return device.call(job, inputs, out, parameters(job, {}), _ONE_PIECE)


def call_numpy(job: str, device: Device, inputs: Sequence[Any], out: Any) -> Any:
    """Do a job by NumPy."""
    if job in ("add", "sgemm"):
        a, b = inputs
        return np.add(a, b, out=out) if job == "add" else np.matmul(a, b, out=out)
    (a,) = inputs
    if out is not None:
        np.copyto(out, a if job == "copy" else a.T)
        return out
    return np.copy(a) if job == "copy" else np.ascontiguousarray(a.T)


def _call_cupy(job: str, device: Device, inputs: Sequence[Any], out: Any) -> Any:
    import cupy

    on_device = _OPERATORS | {
        "copy": cupy.copy,
        "transpose": lambda a: cupy.ascontiguousarray(a.T),
    }
    return cupy.asnumpy(on_device[job](*map(cupy.asarray, inputs)), out=out)


def _call_torch(job: str, device: Device, inputs: Sequence[Any], out: Any) -> Any:
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


# By the `by` of a record; "one_piece" is gpumem without overlap.
CALLERS: dict[str, _Call] = {
    "gpumem": call_gpumem,
    "one_piece": _call_in_one_piece,
    "numpy": call_numpy,
    "cupy": _call_cupy,
    "torch": _call_torch,
}


def absent(library: str) -> str | None:
    """Return why a library cannot be called, None if it can."""
    try:
        module = importlib.import_module(library)
        if library == "torch":
            module.backends.cuda.matmul.allow_tf32 = False
            if not module.cuda.is_available():
                return "torch finds no device"
    except ImportError as error:
        return f"{library} is not installed: {error}"
    return None
