"""What a caller waits for, by the wall clock: around enough calls for two milliseconds.

The families measured so, transfers and whole round trips, are each a :class:`Benchmark`. Their
times stand in tables of their own, apart from those of kernels, which are the device's.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

from .. import _core
from ..base.messages import quoted, unknown
from ..base.record import NO_TIMES, Record
from ..base.result import BenchResult
from ..base.several import names_of, several
from ..base.sizes import format_bytes, format_shape, parse_sizes
from ..base.wall_clock import FAMILIES
from ..families.keywords import integer
from ..machine.device import Device
from ..machine.host import host_memory
from .contender import Contender, out_of_memory, take_turns
from .recording import Recording, Run, record_of
from .sampling import Deadline

__all__ = [
    "Benchmark",
    "Checked",
    "Choices",
    "Parameter",
    "Plan",
    "Step",
    "Timed",
    "chosen",
    "measure",
    "plan",
    "sampler",
    "set_up",
    "timed",
]

SAMPLE_S = 2e-3  # the least that a sample lasts
_MOST_CALLS = 2**20  # per sample
_MOST_PIECES = 2**16
_USABLE = 0.9  # of the free host memory

Choices = dict[str, list[Any]]
# Does a number of calls and returns how many seconds they took.
Timed = Callable[[int], float]
# What is timed; and what does it once, and raises AssertionError if the result is wrong.
Checked = tuple[Timed, Callable[[], None]]


class Parameter(NamedTuple):
    """A parameter of a benchmark."""

    default: Any
    # Returns the values that are asked for; raises what is wrong with them.
    values: Callable[[Any], list[Any]]


class Step(NamedTuple):
    """What is measured at once; its contenders take turns."""

    title: str  # without the size
    shape: tuple[int, ...]
    variants: Sequence[str]


class Benchmark(ABC):
    """A family that the wall clock times, on one device."""

    name: ClassVar[str]
    variants: ClassVar[tuple[str, ...]]
    sizes: ClassVar[str]  # by default
    dtype: ClassVar[str]
    parameters: ClassVar[dict[str, Parameter]]

    def __init__(self, device: Device) -> None:
        self.device = device

    @staticmethod
    @abstractmethod
    def steps(nbytes: int, names: list[str]) -> list[Step]:
        """Return the steps for a size and these variants."""

    @abstractmethod
    def contenders(self, step: Step, choices: Choices) -> list[Contender]:
        """Return the contenders of a step; those that cannot be measured have a reason."""

    @abstractmethod
    def host_bytes(self, step: Step, contenders: Sequence[Contender]) -> int:
        """Return the most host memory that these contenders need together."""

    @abstractmethod
    def prepare(
        self, step: Step, contenders: Sequence[Contender], pool: ThreadPoolExecutor
    ) -> list[tuple[Contender, Timed]]:
        """Set contenders up and let each do its job once; return those that did it right.

        The pool has one thread, for a second direction.
        """

    @abstractmethod
    def work(self, variant: str, shape: tuple[int, ...]) -> tuple[int, int | None]:
        """Return bytes moved, and floating-point operations or None, of a variant."""

    @abstractmethod
    def fill_in_fractions(self, records: list[Record]) -> None:
        """Fill in the shares of the reference in the records of a step."""


# ---- what is asked for --------------------------------------------------------------------


class Plan(NamedTuple):
    """What to measure, checked."""

    benchmark: type[Benchmark]
    steps: list[Step]
    choices: Choices


def plan(
    benchmark: type[Benchmark],
    variants: Any,
    sizes: Any,
    *,
    with_peers: Any,
    parameters: dict[str, Any],
) -> Plan:
    """Check what :func:`gpumem.bench` is asked of a wall-clock family, and return its steps."""
    names = chosen("variant", variants, benchmark.variants)
    choices = _choices(benchmark, with_peers, parameters)
    lengths = parse_sizes(benchmark.sizes if sizes is None else sizes)
    steps = [step for nbytes in lengths for step in benchmark.steps(nbytes, names)]
    return Plan(benchmark, steps, choices)


def chosen(what: str, value: Any, known: Sequence[str]) -> list[str]:
    """Return the names that are asked for; None is all of them."""
    kind = f"one or several of {', '.join(known)}"
    names = list(known) if value is None else names_of(what, value, kind)
    for name in names:
        if name not in known:
            raise ValueError(unknown(f"{what} is", name, known))
    if not names:
        raise ValueError(f"{what} must name at least one of: {', '.join(known)}")
    return names


def piece_counts(value: Any) -> list[int]:
    """Return the numbers of pieces that are asked for."""
    found = []
    for one in several("pieces", value, Integral, "an integer or several"):
        one = integer("pieces", one)
        if not 1 <= one <= _MOST_PIECES:
            raise ValueError(f"pieces is {one}, expected 1 to {_MOST_PIECES}")
        found.append(one)
    if not found:
        raise ValueError("pieces must hold at least one number")
    return found


def _choices(benchmark: type[Benchmark], with_peers: Any, parameters: dict[str, Any]) -> Choices:
    """Return the values of each parameter, and the peers of a family that may have some."""
    name, known = benchmark.name, benchmark.parameters
    for asked in parameters:
        if asked not in known:
            raise TypeError(unknown(f"{name} has no parameter", asked, known, "; its parameters"))
    found = {key: one.values(parameters.get(key, one.default)) for key, one in known.items()}
    peers = FAMILIES[name].peers
    beside = None
    if with_peers is not None:
        beside = names_of("with_peers", with_peers, "names of libraries")
    if beside and not peers:
        raise ValueError(f"with_peers is {quoted(with_peers)}: a {name} has none")
    if peers:
        found["with_peers"] = [] if beside == [] else chosen("with_peers", beside, peers)
    return found


# ---- measuring ----------------------------------------------------------------------------


def timed(run: Callable[[int], None]) -> Timed:
    """Return a function that does a number of calls and returns their seconds."""

    def with_clock(count: int) -> float:
        begin = time.perf_counter()
        run(count)
        return time.perf_counter() - begin

    return with_clock


def sampler(run: Timed) -> Callable[[], float]:
    """Return a function that takes a sample that is long enough, in milliseconds per call."""
    count, taken = 1, run(1)
    while taken < SAMPLE_S and count < _MOST_CALLS:
        more = math.ceil(1.2 * count * SAMPLE_S / max(taken, 1e-9))
        count = min(max(more, 2 * count), 100 * count, _MOST_CALLS)
        taken = run(count)
    return lambda: run(count) * 1e3 / count


def set_up(
    contenders: Iterable[Contender], make: Callable[[Contender], Checked]
) -> list[tuple[Contender, Timed]]:
    """Set contenders up and let each do its job once; what is wrong becomes its reason.

    Parameters
    ----------
    contenders : iterable of Contender
        Whom to set up.
    make : callable
        Returns what is timed, and its check.

    Returns
    -------
    list of (Contender, callable)
        Those that did it right, with what is timed.
    """
    found = []
    for one in contenders:
        try:
            run, check = make(one)
            check()
            found.append((one, run))
        except AssertionError as error:
            one.reason = f"wrong result: {error}"
        except MemoryError as error:
            one.reason = out_of_memory(error)
        except Exception as error:
            # A failure of another library must not end the benchmark of the others.
            if not one.foreign and not isinstance(error, _core.UnavailableError | ValueError):
                raise
            one.reason = f"{type(error).__name__}: {error}"
    return found


def measure(plan: Plan, device: Device, run: Run) -> BenchResult:
    """Measure the steps of a plan, one after the other.

    Parameters
    ----------
    plan : Plan
        What to measure.
    device : Device
        Where; one without a clock gives records without times.
    run : Run
        How.
    """
    benchmark = plan.benchmark(device)
    recording = Recording(device, run, plan.choices)
    deadline = Deadline(run.timeout)
    with recording, ThreadPoolExecutor(1) as pool:
        for i, step in enumerate(plan.steps):
            size = format_shape(step.shape, benchmark.dtype)
            run.progress(i, len(plan.steps), f"{step.title} {size}")
            contenders = benchmark.contenders(step, plan.choices)
            late = deadline.reason if deadline.passed else None
            for one in contenders:
                one.reason = one.reason or late or (None if device.has_clock else NO_TIMES)
            _sample(benchmark, step, contenders, run, deadline, pool)
            records = [
                record_of(
                    one,
                    backend=device.backend,
                    shape=step.shape,
                    dtype=benchmark.dtype,
                    cache=None,
                    order=None,
                    work=benchmark.work(one.variant, step.shape),
                )
                for one in contenders
            ]
            benchmark.fill_in_fractions(records)
            recording.records += records
        run.progress(len(plan.steps), len(plan.steps), "done")
    return recording.result()


def _sample(
    benchmark: Benchmark,
    step: Step,
    contenders: Sequence[Contender],
    run: Run,
    deadline: Deadline,
    pool: ThreadPoolExecutor,
) -> None:
    """Fill in the samples, or the reason, of every contender without a reason."""
    able = [one for one in contenders if not one.reason]
    if not able:
        return
    needed, free = benchmark.host_bytes(step, able), host_memory()
    if needed > _USABLE * free:
        for one in able:
            one.reason = (
                f"needs {format_bytes(needed)} of host memory, {format_bytes(free)} are free"
            )
        return
    for one, calls in benchmark.prepare(step, able, pool):
        one.sample = sampler(calls)
    take_turns(able, run.limits, deadline)
