"""How long kernels take: by events of the device, with a cold or a warm L2, contenders in turn.

Launches follow each other, or each is timed alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.messages import quoted, unknown
from ..base.record import NO_TIMES, ORDERS, Record, order_words
from ..base.result import BenchResult
from ..base.several import names_of, several
from ..base.sizes import check_shape, format_shape, parse_sizes
from ..families import oracle, peers, table
from ..families.table import Variant, find, resolve
from ..families.table import variants as variants_of
from ..machine import devices, nvml
from ..machine.device import Device
from .buffers import Buffers, Job, Refused
from .contender import Contender, out_of_memory, take_turns
from .recording import Recording, Run, record_of
from .sampling import Deadline
from .stopwatch import Stopwatch
from .sweep import combinations, is_swept

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["Plan", "caches", "fill_in_fractions", "measure", "orders", "plan"]

_SIZES = "4K:1G:x2"  # by default
_CACHES = ("cold", "warm")


# ---- what to measure ----------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What a benchmark of a family measures, with everything checked that needs no device.

    Attributes
    ----------
    family : str
        The benchmarked family.
    reference : (str, str)
        The family and the variant that are measured beside it.
    peers : tuple of str
        Other libraries to measure beside it.
    jobs : list of Job
        One after the other.
    swept : dict
        Parameters with several values that some contenders ignore; a job sweeps those itself, so
        that such a contender is measured once.
    parameters : dict
        All parameters as they were asked for.
    """

    family: str
    reference: tuple[str, str]
    peers: tuple[str, ...]
    jobs: list[Job]
    swept: dict[str, Any]
    parameters: dict[str, Any]

    def contenders(self, job: Job) -> Iterator[Contender]:
        """Yield each variant with every choice of the swept parameters that it heeds."""
        named = [(self.family, name) for name in (*job.variants, *self.peers)]
        for family, name in dict.fromkeys([*named, self.reference]):
            foreign = name in self.peers
            if family != self.family:  # the parameters are those of the benchmarked family
                yield Contender(family, name, {}, foreign=foreign)
                continue
            ignored = oracle.ignores(family, name)
            heeded = {key: value for key, value in self.swept.items() if key not in ignored}
            for chosen in combinations(heeded):
                yield Contender(family, name, job.parameters | chosen, foreign=foreign)


def plan(
    family: str,
    variants: Iterable[str | Variant] | str | Variant | None,
    sizes: str | int | Iterable[str | int] | None,
    dtype: DTypeLike | None,
    cache: str | Iterable[str],
    order: str | Iterable[str],
    *,
    shapes: Iterable[int | tuple[int, ...]] | None,
    with_peers: Iterable[str] | None,
    parameters: dict[str, Any],
) -> Plan:
    """Check what :func:`gpumem.bench` is asked of a family of kernels, and return its jobs.

    Raises
    ------
    ValueError, TypeError
        As :func:`gpumem.bench` says.
    """
    names = _names(family, variants)
    element = oracle.dtype_for(family, dtype)
    steps = list(_steps(family, names, sizes, shapes, element))
    beside = _peers(with_peers)
    _check_parameters(family, parameters)
    reference = oracle.reference(family)
    # The reference is a contender too; of another family, it has none of the parameters.
    own = [*names, *([reference[1]] if reference[0] == family else [])]
    ignored = {name for variant in own for name in oracle.ignores(family, variant)}
    swept = {
        name: value for name, value in parameters.items() if name in ignored and is_swept(value)
    }
    common = {name: value for name, value in parameters.items() if name not in swept}
    jobs = [
        Job(family, variants, shape, element, state, one, chosen)
        for state in caches(cache)
        for shape, variants in steps
        for one in orders(order)
        for chosen in combinations(common)
    ]
    asked = {n: list(v) if isinstance(v, range) else v for n, v in parameters.items()}
    return Plan(family, reference, beside, jobs, swept, asked)


def _names(
    family: str, variants: Iterable[str | Variant] | str | Variant | None
) -> tuple[str, ...]:
    if variants is None:
        return (*(variant.name for variant in variants_of(family)), "auto")
    listed = several("variants", variants, (str, Variant), "a variant or several")
    names = tuple(dict.fromkeys(resolve(family, variant) for variant in listed))
    if not names:
        raise ValueError("variants must name at least one")
    return names


def _steps(
    family: str,
    names: tuple[str, ...],
    sizes: str | int | Iterable[str | int] | None,
    shapes: Iterable[int | tuple[int, ...]] | None,
    dtype: np.dtype[Any],
) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Each shape with the variants to measure there: some take their arrays in another one."""
    if shapes is not None:
        listed = several("shapes", shapes, (), "an iterable of shapes")
        if not listed:
            raise ValueError("shapes must hold at least one")
        for shape in listed:
            yield check_shape(shape, dtype.itemsize), names
        return
    for nbytes in parse_sizes(_SIZES if sizes is None else sizes):
        groups: dict[tuple[int, ...], list[str]] = {}
        for name in names:
            groups.setdefault(oracle.shape_for(family, nbytes, dtype, name), []).append(name)
        for shape, members in groups.items():
            yield shape, tuple(members)


def _peers(with_peers: Iterable[str] | None) -> tuple[str, ...]:
    names = () if with_peers is None else with_peers
    found = tuple(names_of("with_peers", names, "names of libraries"))
    known = peers.names()
    for name in found:
        if name not in known:
            raise ValueError(unknown("with_peers names", name, known, "; the peers are"))
    return found


def _check_parameters(family: str, parameters: dict[str, Any]) -> None:
    for chosen in combinations(parameters):
        table.parameters(family, chosen)
    for name, value in parameters.items():
        if is_swept(value) and not len(value):
            raise ValueError(f"{name} is empty: a sweep over no values has nothing to measure")


def caches(cache: str | Iterable[str]) -> list[str]:
    """Return the states of the L2 that are asked for; ValueError says what is accepted."""
    return _one_or_both("cache", cache, _CACHES)


def orders(order: str | Iterable[str]) -> list[str]:
    """Return the orders of calls that are asked for; ValueError says what is accepted."""
    return _one_or_both("order", order, ORDERS)


def _one_or_both(name: str, value: str | Iterable[str], known: tuple[str, str]) -> list[str]:
    first, second = known
    expected = f"'{first}', '{second}' or 'both'"
    found = names_of(name, value, expected)
    if found == ["both"]:
        return list(known)
    if not found or any(word not in known for word in found):
        raise ValueError(f"{name} must be {expected}, not {quoted(value)}")
    return found


# ---- measuring ----------------------------------------------------------------------------


def measure(plan: Plan, device: Device, run: Run) -> BenchResult:
    """Measure the jobs of a plan, one after the other.

    Parameters
    ----------
    plan : Plan
        What to measure.
    device : Device
        Where; one without a clock gives records without times.
    run : Run
        How.
    """
    deadline = Deadline(run.timeout)
    recording = Recording(device, run, plan.parameters)
    properties = recording.provenance["device"]
    stopwatch = Stopwatch(device) if device.has_clock else None
    with recording, nvml.Watch(properties if device.has_clock else None) as watch:
        for i, job in enumerate(plan.jobs):
            run.progress(i, len(plan.jobs), _title(job))
            contenders = list(plan.contenders(job))
            for one in contenders:
                one.reason = _why_not(one, plan, device, deadline)
            if stopwatch is not None:
                _sample(job, contenders, stopwatch, run, deadline, watch)
            records = [_record(one, job, device) for one in contenders]
            seen = watch.summary()
            records = [replace(one, **seen) if one.median_ms else one for one in records]
            if stopwatch is not None:
                fill_in_fractions(records, properties, plan.reference)
            recording.records += records
        run.progress(len(plan.jobs), len(plan.jobs), "done")
    return recording.result()


def _title(job: Job) -> str:
    """Say what is measured next."""
    size = format_shape(job.shape, str(job.dtype))
    values = "".join(f" {name}={value}" for name, value in job.parameters.items())
    return f"{job.family} {size}{values} {job.cache}{order_words(job.order)}"


def _why_not(one: Contender, plan: Plan, device: Device, deadline: Deadline) -> str | None:
    """Return why a contender cannot be measured, None if it can."""
    reason = None
    if one.foreign:
        reason = peers.reason(one.variant, one.family, plan.parameters)
    elif one.variant != "auto":
        reason = device.available(one.family, one.variant)
        kind = find(one.family, one.variant).memory
        if kind and not reason:
            reason = f"it takes arrays of the host in {kind} memory alone"
    if not device.has_clock:
        return reason or NO_TIMES
    return reason or (deadline.reason if deadline.passed else None)


def _sample(
    job: Job,
    contenders: Iterable[Contender],
    stopwatch: Stopwatch,
    run: Run,
    deadline: Deadline,
    watch: nvml.Watch,
) -> None:
    """Fill in the samples, or the reason, of every contender without a reason."""
    able = [one for one in contenders if not one.reason]
    if not able:
        return
    try:
        buffers = Buffers(job, stopwatch.device, stopwatch.scratch.device, stopwatch.l2)
        bound = buffers.bind(able)
    except (Refused, MemoryError) as error:
        for one in able:
            one.reason = out_of_memory(error)
        return
    footprint = buffers.footprint
    del buffers  # the arrays on the host
    for one, calls in bound:
        one.ran = calls[0].variant
        one.sample = stopwatch.sampler(calls, footprint, job.cache, job.order)
    watch.look()
    take_turns(able, run.limits, deadline, between=watch.look)


def _record(one: Contender, job: Job, device: Device) -> Record:
    return record_of(
        one,
        backend=device.backend,
        shape=job.shape,
        dtype=str(job.dtype),
        cache=job.cache,
        order=job.order,
        work=oracle.work(one.family, job.shape, job.dtype, **one.parameters),
    )


def fill_in_fractions(
    records: list[Record], device: dict[str, Any], reference: tuple[str, str]
) -> None:
    """Fill in the shares of the device's peak and of the reference in the records of one job."""
    rates = [one.gbps for one in records if (one.family, one.variant) == reference]
    against = rates[0] if rates else None
    for record in records:
        rate, peak = record.gbps, devices.peak_bandwidth(device)
        if record.tflops is not None:
            rate, peak = record.tflops, devices.peak_fp32(device)
        if rate is not None and record.gbps is not None:
            record.fraction_of_peak = rate / peak if peak else None
            record.fraction_of_reference = record.gbps / against if against else None
