"""Verification: a variant runs every case of its family's oracle and is compared with NumPy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..families import oracle
from ..families.table import Variant

PLACES = ("host", "device")  # where the arrays of a call are
_POISON = 0xA5  # what outputs hold before a call
_MOST_THREADS = 4


class _Cases:
    """The cases of a family; NumPy computes each once for all variants."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.listed = list(oracle.cases(family))
        self._known: dict[tuple[str, int, str], Any] = {}
        self._lock = threading.Lock()

    def _once(self, key: tuple[str, int, str], compute: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._known:
                self._known[key] = compute()
            return self._known[key]

    def fresh(self, number: int) -> tuple[Any, ...]:
        """Return inputs of a case that the caller may change."""
        case = self.listed[number]
        return oracle.arguments(self.family, case.shape, case.dtype, seed=1, **case.parameters)

    def inputs(self, number: int) -> tuple[Any, ...]:
        """Return the inputs of a case, which all callers share."""
        found: tuple[Any, ...] = self._once(("inputs", number, ""), lambda: self.fresh(number))
        return found

    def wanted(self, number: int, variant: str) -> Any:
        """Return what NumPy computes for a case."""
        inputs, given = self.inputs(number), {"variant": variant, **self.listed[number].parameters}
        key = ("wanted", number, oracle.job(self.family, variant))
        return self._once(key, lambda: oracle.expected(self.family, *inputs, **given))

    def within(self, number: int, variant: str) -> Any:
        """Return how far a result may be from what NumPy computes."""
        inputs, given = self.inputs(number), {"variant": variant, **self.listed[number].parameters}
        key = ("within", number, oracle.accuracy(self.family, variant))
        return self._once(key, lambda: oracle.bound(self.family, *inputs, **given))


class _Task(NamedTuple):
    """One case: its arrays, the expected result, and how far off a result may be."""

    variant: Variant
    backend: str
    inputs: tuple[np.ndarray[Any, Any], ...]
    wanted: np.ndarray[Any, Any]
    within: Any
    parameters: dict[str, Any]

    def compare(self, got: Any) -> None:
        """Raise AssertionError if a result is wrong."""
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


def _verify_case(
    variant: Variant, cases: _Cases, number: int, backend: str, places: Sequence[str]
) -> None:
    """Run one call with its arrays in each of the places; raise AssertionError if it is wrong.

    A variant that needs a certain kind of host memory takes no arrays on the device; it always runs
    on host arrays.
    """
    task = _Task(
        variant,
        backend,
        cases.fresh(number) if variant.in_place else cases.inputs(number),
        cases.wanted(number, variant.name),
        cases.within(number, variant.name),
        cases.listed[number].parameters,
    )
    if "device" in places and not variant.memory:
        _on_device(task)
    if "host" in places or variant.memory:  # last: an in-place variant changes the inputs
        _on_host(task)


def _report(
    variant: Variant,
    cases: _Cases,
    backend: str,
    places: Sequence[str],
    stop: threading.Event,
) -> dict[str, Any]:
    """Run every case until `stop` is set; report how many passed, or the first failure."""
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
    for number, case in enumerate(cases.listed):
        if stop.is_set():
            break
        if not oracle.takes(variant, case.shape, case.dtype):
            continue  # the variant does not claim to
        try:
            _verify_case(variant, cases, number, backend, places)
        except Exception as error:  # whatever goes wrong is the finding
            what = f"shape {case.shape}, {case.dtype.name}, {case.parameters or 'defaults'}"
            why = str(error)
            if not isinstance(error, AssertionError):
                why = f"{type(error).__name__}: {why}"
            return report | {"status": "FAILED", "reason": f"{what}: {why}"}
        report["cases"] += 1
    return report


def _threads(backend: str) -> int:
    """Return how many variants run at once; on a device, only one."""
    return min(len(os.sched_getaffinity(0)), _MOST_THREADS) if backend == "sim" else 1


def verify(
    chosen: Sequence[Variant], backend: str, places: Sequence[str] = PLACES
) -> Iterator[dict[str, Any]]:
    """Verify variants, and yield the report of each as soon as it and all before it are done.

    Parameters
    ----------
    chosen : sequence of Variant
        Keep those of one family together: they share what NumPy computes.
    backend : {"cuda", "sim"}
        Where they run; on the simulator, several at once.
    places : sequence of {"host", "device"}
        Where the arrays of the calls are.

    Yields
    ------
    dict
        With ``family``, ``variant``, ``backend``, ``status`` ("passed", "FAILED" or
        "unavailable"), ``cases`` (how many passed) and ``reason``.
    """
    from concurrent.futures import ThreadPoolExecutor

    cases = {family: _Cases(family) for family in dict.fromkeys(v.family for v in chosen)}
    stop = threading.Event()
    pool = ThreadPoolExecutor(_threads(backend))
    try:
        waiting = [pool.submit(_report, v, cases[v.family], backend, places, stop) for v in chosen]
        del cases  # the cases of a family are released with its last variant
        for one in waiting:
            yield one.result()
    finally:  # also after Ctrl-C, and if the caller stops iterating
        stop.set()
        pool.shutdown(cancel_futures=True)
