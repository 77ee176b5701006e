"""The steps of a family, one after the other; the contenders of each in turn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ... import _core
from ...base.bench_result import NO_TIMES, BenchResult, size_label
from ...base.sizes import format_bytes, host_memory, parse_sizes
from ..bench import Progress, blank_record, deadline_after, figures, interleave, too_late
from ..recording import Recording
from ._choices import choose, chosen
from ._contender import sampler
from ._known import KNOWN

if TYPE_CHECKING:
    from ._contender import Contender
    from ._family import Family, Record, Step


def _has_clock(backend: str) -> bool:
    return backend == "cuda"


def _too_large(nbytes: int) -> str | None:
    free = host_memory()
    if nbytes <= 0.9 * free:
        return None
    return f"needs {format_bytes(nbytes)} of host memory, {format_bytes(free)} are free"


def _sample(
    family: Family,
    step: Step,
    contenders: Sequence[Contender],
    settings: dict[str, Any],
    backend: str,
    pool: ThreadPoolExecutor,
) -> None:
    """Fill in the samples or the reason of every contender, and give the memory back."""
    able = [one for one in contenders if not one.reason]
    if not able:
        return
    reason = _too_large(family.host_bytes(step, able))
    if reason is not None:
        for one in able:
            one.reason = reason
        return
    family.prepare(step, able, backend, pool)
    runs = [(one, one.run) for one in able if one.run is not None]
    samplers = [sampler(run) for _, run in runs]
    for (one, _), samples in zip(runs, interleave(samplers, **settings), strict=True):
        one.samples, one.run = samples, None


def measure(
    family: str,
    variants: Any,
    sizes: Any,
    *,
    settings: dict[str, Any],
    with_peers: Iterable[str] | None,
    backend: str | None,
    timeout: float | None,
    progress: Progress | None,
    parameters: dict[str, Any],
) -> BenchResult:
    """Do what :func:`gpumem.bench` says of the families whose clock is the host's.

    Parameters
    ----------
    family : {"transfer", "roundtrip"}
    variants, sizes, with_peers, backend, timeout, progress
        As there; what is None is chosen here.
    settings : dict
        Of :func:`gpumem.bench.interleave`.
    parameters : dict
        ``kind``, and for transfers ``pieces``.
    """
    row = KNOWN[family]
    names = chosen("variant", variants, row.variants)
    choices = choose(family, row, with_peers, parameters)
    lengths = parse_sizes(row.sizes if sizes is None else sizes)
    steps = [step for nbytes in lengths for step in row.steps(nbytes, names)]
    backend = _core.backend(backend)
    recording = Recording(backend, settings | {"timeout": timeout, "parameters": choices})
    deadline = deadline_after(timeout)

    def record(step: Step, one: Contender) -> Record:
        nbytes, flops = row.work(one.variant, step.shape)
        return blank_record(
            family=family,
            variant=one.variant,
            ran=None,
            backend=backend,
            shape=step.shape,
            dtype=row.dtype,
            parameters=one.parameters,
            numbers=figures(nbytes, flops, None, one.samples),
            reason=one.reason,
        )

    with recording, ThreadPoolExecutor(1) as pool:
        for i, step in enumerate(steps):
            contenders = row.contenders(step, choices, backend)
            if progress is not None:
                size = size_label({"shape": step.shape, "dtype": row.dtype})
                progress(i, len(steps), f"{step.title} {size}")
            if time.perf_counter() >= deadline:
                for one in contenders:
                    one.reason = one.reason or too_late(timeout)
            if _has_clock(backend):
                limits = settings | {"deadline": deadline}
                _sample(row, step, contenders, limits, backend, pool)
            else:
                for one in contenders:
                    one.reason = one.reason or NO_TIMES
            rows = [record(step, one) for one in contenders]
            row.compare(rows)
            recording.records += rows
        if progress is not None:
            progress(len(steps), len(steps), "done")
    return recording.result()
