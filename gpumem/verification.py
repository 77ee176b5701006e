"""Every case that a family's oracle knows, run by one variant and compared with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core, oracle
from .variants import Variant

PLACES = ("host", "device")  # where the arrays of a call lie
_POISON = 0xA5


class _Task(NamedTuple):
    """One case: its arrays, what should come out, and how near is near enough."""

    variant: Variant
    backend: str
    inputs: tuple[np.ndarray[Any, Any], ...]
    wanted: np.ndarray[Any, Any]
    within: Any
    parameters: dict[str, Any]

    def compare(self, got: Any) -> None:
        oracle.compare(self.variant.family, got, self.wanted, self.within)


def _on_host(task: _Task) -> None:
    variant, backend = task.variant, task.backend
    inputs = [oracle.placed(variant, a, backend) for a in task.inputs]
    output: dict[str, Any] = {}
    if not variant.in_place:
        out = oracle.placed(variant, np.empty(task.wanted.shape, task.wanted.dtype), backend)
        if out.dtype.itemsize:
            out.reshape(-1).view(np.uint8)[...] = _POISON
        output["out"] = out
    task.compare(variant(*inputs, backend=backend, **output, **task.parameters))


def _on_device(task: _Task) -> None:
    inputs = [_core.to_device(a, backend=task.backend) for a in task.inputs]
    output: dict[str, Any] = {}
    if not task.variant.in_place:
        out = _core.DeviceArray(task.wanted.shape, task.wanted.dtype, backend=task.backend)
        out.fill_bytes(_POISON)
        output["out"] = out
    task.compare(task.variant(*inputs, **output, **task.parameters).to_host())


def verify_case(variant: Variant, case: oracle.Case, backend: str, places: Sequence[str]) -> None:
    """Run one call with its arrays in each of the places; AssertionError if wrong.

    A variant that needs a kind of host memory takes no arrays on the device: it runs on the
    host's, wherever it was asked to.
    """
    family = variant.family
    inputs = oracle.arguments(family, case.shape, case.dtype, seed=1, **case.parameters)
    told = {"variant": variant.name, **case.parameters}
    wanted = oracle.expected(family, *inputs, **told)
    within = oracle.bound(family, *inputs, **told)
    task = _Task(variant, backend, inputs, wanted, within, case.parameters)
    if "device" in places and not variant.memory:
        _on_device(task)
    if "host" in places or variant.memory:  # last: what works in place changes the inputs
        _on_host(task)


def verify_variant(
    variant: Variant, backend: str, places: Sequence[str] = PLACES
) -> dict[str, Any]:
    """Run every case; say how many passed, and what went wrong first."""
    report: dict[str, Any] = {
        "family": variant.family,
        "variant": variant.name,
        "backend": backend,
        "status": "passed",
        "cases": 0,
        "reason": variant.reason_on(backend),
    }
    if report["reason"]:
        return report | {"status": "unavailable"}
    for case in oracle.cases(variant.family):
        if not oracle.takes(variant, case.shape, case.dtype):
            continue  # not a promise
        try:
            verify_case(variant, case, backend, places)
        except Exception as error:  # whatever a kernel does wrong is what is reported
            what = f"shape {case.shape}, {case.dtype.name}, {case.parameters or 'defaults'}"
            told = str(error)
            if not isinstance(error, AssertionError):
                told = f"{type(error).__name__}: {told}"
            return report | {"status": "FAILED", "reason": f"{what}: {told}"}
        report["cases"] += 1
    return report
