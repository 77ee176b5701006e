"""Every case that a family's oracle knows, run by one variant and compared with NumPy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..families import oracle
from ..families.table import Variant

PLACES = ("host", "device")  # where the arrays of a call lie
_POISON = 0xA5
_MOST_THREADS = 4


class _Cases:
    """The cases of a family, each computed by NumPy once for all variants of the family."""

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
        """The inputs of a case, for a caller that may change them."""
        case = self.listed[number]
        return oracle.arguments(self.family, case.shape, case.dtype, seed=1, **case.parameters)

    def inputs(self, number: int) -> tuple[Any, ...]:
        """The inputs of a case, which all callers share."""
        return self._once(("inputs", number, ""), lambda: self.fresh(number))

    def wanted(self, number: int, variant: str) -> Any:
        inputs, told = self.inputs(number), {"variant": variant, **self.listed[number].parameters}
        key = ("wanted", number, oracle.job(self.family, variant))
        return self._once(key, lambda: oracle.expected(self.family, *inputs, **told))

    def within(self, number: int, variant: str) -> Any:
        inputs, told = self.inputs(number), {"variant": variant, **self.listed[number].parameters}
        key = ("within", number, oracle.accuracy(self.family, variant))
        return self._once(key, lambda: oracle.bound(self.family, *inputs, **told))


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


def _verify_case(
    variant: Variant, cases: _Cases, number: int, backend: str, places: Sequence[str]
) -> None:
    """Run one call with its arrays in each of the places; AssertionError if wrong.

    A variant that needs a kind of host memory takes no arrays on the device: it runs on the
    host's, wherever it was asked to.
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
    if "host" in places or variant.memory:  # last: what works in place changes the inputs
        _on_host(task)


def _report(
    variant: Variant,
    cases: _Cases,
    backend: str,
    places: Sequence[str],
    stop: threading.Event,
) -> dict[str, Any]:
    """Run every case, until told to stop; say how many passed, and what went wrong first."""
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
            continue  # not a promise
        try:
            _verify_case(variant, cases, number, backend, places)
        except Exception as error:  # whatever a kernel does wrong is what is reported
            what = f"shape {case.shape}, {case.dtype.name}, {case.parameters or 'defaults'}"
            told = str(error)
            if not isinstance(error, AssertionError):
                told = f"{type(error).__name__}: {told}"
            return report | {"status": "FAILED", "reason": f"{what}: {told}"}
        report["cases"] += 1
    return report


def _threads(backend: str) -> int:
    """How many variants to run at once: on a device, one after the other."""
    return min(len(os.sched_getaffinity(0)), _MOST_THREADS) if backend == "sim" else 1


def verify(
    chosen: Sequence[Variant], backend: str, places: Sequence[str] = PLACES
) -> Iterator[dict[str, Any]]:
    """Yield a report of each variant, in their order, as soon as it and those before are done.

    Parameters
    ----------
    chosen : sequence of Variant
        Those of one family should follow each other: they share what NumPy computes.
    backend : {"cuda", "sim"}
        Where they run; on the simulator several at once.
    places : sequence of {"host", "device"}
        Where the arrays of the calls lie.

    Yields
    ------
    dict
        ``family variant backend status cases reason``: status is "passed", "FAILED" or
        "unavailable", cases the number of those that passed.
    """
    from concurrent.futures import ThreadPoolExecutor

    cases = {family: _Cases(family) for family in dict.fromkeys(v.family for v in chosen)}
    stop = threading.Event()
    pool = ThreadPoolExecutor(_threads(backend))
    try:
        waiting = [pool.submit(_report, v, cases[v.family], backend, places, stop) for v in chosen]
        del cases  # those of a family go with the last of its variants
        for one in waiting:
            yield one.result()
    finally:  # after Ctrl-C too, or if nobody asks for more
        stop.set()
        pool.shutdown(cancel_futures=True)
