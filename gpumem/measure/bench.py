"""How long a kernel takes: device events, cold and warm L2, contenders in turn.

One sample is a flush of the L2, an event, a row of launches, an event. The flush is long
enough for the host to queue everything behind it, so that the device never waits for the
host between the two events. What is timed is the kernel and its launch on the device;
never the call from Python, never the bus.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from ..base.bench_result import NO_TIMES, BenchResult, size_label
from ..base.messages import quoted, unknown
from ..base.sizes import check_shape, format_bytes, host_memory, parse_sizes
from ..families import oracle, peers, table
from ..families.table import Variant, find, resolve
from ..families.table import variants as variants_of
from ..machine import devices
from .recording import Interrupted, Recording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from .._core import DeviceArray, Prepared

    _Prepared = Prepared | peers.Call

__all__ = ["BenchResult", "Interrupted", "bench"]

MOST_SAMPLES = 50

_FOOTPRINT = 4  # times the L2: what is not in it any more
_MOST_SETS = 64  # of buffers
_MOST_LAUNCHES = 256  # per sample
_SAMPLE_MS = 0.5  # the least a sample should last
_LEAST_LAUNCHES = 4  # per sample: a row, so that what one launch hides of the next counts
_WHOLE_CHECK = 2**26  # bytes up to which every element of a result is compared
_SLICE = 2**20  # bytes of each of the slices compared beyond
_SLICES = 16

Progress = Callable[[int, int, str], None]


# ---- statistics ---------------------------------------------------------------------------


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of sorted samples, linear between neighbours."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def relative_spread(samples: Iterable[float]) -> float:
    """Return the distance from the 20th to the 80th percentile, as a share of the median."""
    ordered = sorted(samples)
    middle = quantile(ordered, 0.5)
    width = quantile(ordered, 0.8) - quantile(ordered, 0.2)
    return width / middle if middle > 0 else math.inf


def interleave(
    contenders: Sequence[Callable[[], float]],
    *,
    least: int,
    most: int,
    within: float,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
    deadline: float = math.inf,
    between: Callable[[], None] = lambda: None,
) -> list[list[float]]:
    """Sample contenders in turn until each has settled.

    Parameters
    ----------
    contenders : sequence of callables
        Each call measures once and returns the figure.
    least, most : int
        Samples of each contender.
    within : float
        A contender has settled once its :func:`relative_spread` is smaller.
    budget : float
        Seconds after which a contender with `least` samples has settled anyway.
    clock : callable
        Seconds.
    deadline : float
        On that clock; from then on the least samples are enough for all.
    between : callable
        Called after each turn.

    Returns
    -------
    list of list of float
        The samples of each contender.
    """
    samples: list[list[float]] = [[] for _ in contenders]
    spent = [0.0] * len(contenders)

    def settled(i: int) -> bool:
        taken = len(samples[i])
        late = spent[i] >= budget or clock() >= deadline
        enough = late or relative_spread(samples[i]) < within
        return taken >= most or (taken >= least and enough)

    active = list(range(len(contenders)))
    turn = 0
    while active:
        first = turn % len(active)  # nobody always follows the same neighbour
        for i in active[first:] + active[:first]:
            begin = clock()
            samples[i].append(contenders[i]())
            spent[i] += clock() - begin
        between()
        active = [i for i in active if not settled(i)]
        turn += 1
    return samples


# ---- measuring ----------------------------------------------------------------------------


def deadline_after(timeout: float | None) -> float:
    """Return when so many seconds are over, by the clock of :func:`interleave`."""
    return math.inf if timeout is None else time.perf_counter() + timeout


def too_late(timeout: float | None) -> str:
    """Return the reason of a record whose turn came after the deadline."""
    return f"not measured: the {timeout:g} s were over"


class _Refused(Exception):
    """There is no time to be had; the message is the record's reason."""


class _Job(NamedTuple):
    """What all contenders of one comparison have in common."""

    family: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    cache: str
    parameters: dict[str, Any]

    def parameters_of(self, one: _Contender) -> dict[str, Any]:
        """The keywords are the benchmarked family's; the reference may be of another."""
        return self.parameters | one.parameters if one.family == self.family else {}


class _Contender:
    """One variant, bound to every set of buffers."""

    def __init__(self, family: str, variant: str, parameters: dict[str, Any] | None = None) -> None:
        self.family = family
        self.variant = variant
        self.parameters = parameters or {}  # besides the job's: they change the way, not the result
        self.reason: str | None = None
        self.prepared: list[_Prepared] = []
        self.samples: list[float] = []

    def prepare(
        self, inputs: tuple[DeviceArray, ...], output: DeviceArray | None, values: tuple[Any, ...]
    ) -> _Prepared:
        if self.variant in peers.names():
            assert output is not None
            return peers.Call(self.variant, self.family, inputs, output)
        return _core.prepare(self.family, self.variant, inputs, output, None, values)


def _launch_all(prepared: Sequence[_Prepared], count: int) -> None:
    """Launch `count` times, the calls in turn; peers are called from Python, one by one."""
    if isinstance(prepared[0], peers.Call):
        for i in range(count):
            prepared[i % len(prepared)].launch()
    else:
        _core.launch_all(prepared, count)


class _Stopwatch:
    """Times rows of launches behind a flush of the L2."""

    def __init__(self, device: dict[str, Any]) -> None:
        self.l2: int = device["l2_bytes"] or 2**26
        # Longer than it takes to evict the L2, so that one flush hides many launches.
        nbytes = min(max(_FOOTPRINT * self.l2, 2**29), device["free_bytes"] // 4)
        self.scratch = _core.DeviceArray((nbytes,), "uint8", backend="cuda")
        self.start, self.stop = _core.Event(backend="cuda"), _core.Event(backend="cuda")
        self.flush_ms = math.inf
        for _ in range(3):
            self.start.record()
            self.flush(1)
            self.stop.record()
            self.flush_ms = min(self.flush_ms, max(self.start.elapsed(self.stop), 1e-3))

    def flush(self, times: int) -> None:
        for _ in range(times):
            self.scratch.fill_bytes(0x5A)

    def time(
        self,
        lead: Sequence[_Prepared],
        prepared: Sequence[_Prepared],
        count: int,
        flushes: int,
    ) -> float:
        """Return milliseconds per launch of the `count` launches that follow the lead-in."""
        self.flush(flushes)
        if lead:
            _launch_all(lead, len(lead))
        self.start.record()
        _launch_all(prepared, count)
        self.stop.record()
        return self.start.elapsed(self.stop) / count

    def sampler(
        self, prepared: Sequence[_Prepared], footprint: int, cache: str
    ) -> Callable[[], float]:
        """Return a function that takes one sample, with as many launches as it needs."""
        most = _MOST_LAUNCHES
        lead: Sequence[_Prepared] = ()
        if cache == "warm":
            lead = (prepared[0], prepared[0])
        elif footprint * len(prepared) <= _FOOTPRINT * self.l2:
            most = len(prepared)  # each set once after the flush
        elif len(prepared) > 1:
            # The first launches find the L2 full of the flush's dirty lines. Run them
            # untimed, on the last sets: then it is as in the middle of a long run.
            lead = prepared[-min(math.ceil(self.l2 / footprint), len(prepared) - 1) :]
        probe = min(8, most)
        self.time(lead, prepared, probe, 4)
        once = self.time(lead, prepared, probe, 4)
        begin = time.perf_counter()
        _launch_all(prepared, probe)
        queueing_ms = (time.perf_counter() - begin) * 1e3 / probe
        _core.synchronize("cuda")
        wanted = max(_LEAST_LAUNCHES, math.ceil(_SAMPLE_MS / max(once, 1e-6)))
        count = max(1, min(most, wanted))
        hide_ms = 1.5 * queueing_ms * (count + len(lead)) + 0.05
        flushes = max(1, min(32, math.ceil(hide_ms / self.flush_ms)))
        return lambda: self.time(lead, prepared, count, flushes)


def spread_out(size: int, itemsize: int, whole: int | None = None) -> Iterator[slice]:
    """Yield what to compare of a result: all of it, or slices of one that is large.

    Parameters
    ----------
    size, itemsize : int
        Elements, and the bytes of each.
    whole : int, optional
        Bytes up to which it is all.
    """
    length = _SLICE // itemsize
    if size * itemsize <= (_WHOLE_CHECK if whole is None else whole) or size <= length:
        yield slice(0, size)
        return
    for i in range(_SLICES):
        first = (size - length) * i // (_SLICES - 1)
        yield slice(first, first + length)


def _check_result(contender: _Contender, output: Any, wanted: Any, within: Any) -> None:
    """Launch once on an output that holds something else, and compare it with the oracle's."""
    contender.prepared[0].launch()
    _core.synchronize("cuda")
    if wanted.nbytes <= _WHOLE_CHECK:
        oracle.compare(contender.family, output.to_host(), wanted, within)
        return
    flat, wanted = output.reshape(wanted.size), wanted.reshape(-1)
    for part in spread_out(wanted.size, wanted.itemsize):
        piece = None if within is None else within.reshape(-1)[part]
        try:
            oracle.compare(contender.family, flat[part].to_host(), wanted[part], piece)
        except AssertionError as error:
            raise AssertionError(f"from element {part.start} on: {error}") from None


def _rungs(family: str) -> list[str]:
    return [variant.name for variant in variants_of(family)]


def _sets(job: _Job, footprint: int, l2: int, free: int) -> int:
    """Return how many sets of buffers to take turns with."""
    count = 1
    if job.cache == "cold":
        count = min(max(_FOOTPRINT * l2 // footprint + 1, 2), _MOST_SETS)
        if count * footprint > 0.9 * free and footprint > _FOOTPRINT * l2:
            count = 1  # so large that nothing of it is left in the L2 for the next launch
    if count * footprint > 0.9 * free:
        raise _Refused(
            f"needs {format_bytes(count * footprint)} of device memory, "
            f"{format_bytes(free)} are free"
        )
    return count


def _prepare(job: _Job, contenders: list[_Contender], stopwatch: _Stopwatch) -> int:
    """Bind contenders to fresh buffers and check them; return the bytes of one set."""
    nbytes, _ = oracle.work(job.family, job.shape, job.dtype, **job.parameters)
    free = host_memory()
    if 2 * nbytes > free:  # the arguments and the result, each once more as a check
        raise _Refused(
            f"needs {format_bytes(2 * nbytes)} of host memory, {format_bytes(free)} are free"
        )
    arguments = oracle.arguments(job.family, job.shape, job.dtype, seed=1, **job.parameters)
    wanted = oracle.expected(job.family, *arguments, **job.parameters)
    jobs = {(job.family, "auto"): wanted}  # computed once for all that do the same
    footprint = sum(a.nbytes for a in arguments) + wanted.nbytes
    device = _core.backend_info("cuda")["devices"][stopwatch.scratch.device]
    count = _sets(job, footprint, stopwatch.l2, device["free_bytes"])
    inputs = [tuple(_core.to_device(a, backend="cuda") for a in arguments) for _ in range(count)]
    rows = {row["name"]: row for row in _core.families()}
    for family in dict.fromkeys(one.family for one in contenders):
        own = arguments[: len(rows[family]["inputs"])]
        bounds: dict[str, Any] = {}
        outputs: dict[tuple[int, ...], list[DeviceArray]] = {}  # by shape
        for one in contenders:
            if one.family != family:
                continue
            values = job.parameters_of(one)
            is_rung = one.variant in _rungs(family)
            told = {"variant": one.variant, **values} if is_rung else values
            same = (family, oracle.job(family, one.variant))
            if same not in jobs:
                jobs[same] = oracle.expected(family, *own, **told)
            wanted = jobs[same]
            accuracy = oracle.accuracy(family, one.variant)
            if accuracy not in bounds:
                bounds[accuracy] = oracle.bound(family, *own, **told)
            within = bounds[accuracy]
            if rows[job.family]["in_place"]:
                # Whoever was checked before has changed it.
                pristine = _core.to_device(arguments[0], backend="cuda")
                _core.call("copy", "auto", (pristine,), inputs[0][0], None, None, (0,))
            if rows[family]["in_place"]:
                given: Sequence[Any] = [None] * count
                output = inputs[0][0]
            else:
                if wanted.shape not in outputs:
                    outputs[wanted.shape] = [
                        _core.DeviceArray(wanted.shape, wanted.dtype, backend="cuda")
                        for _ in range(count)
                    ]
                given = outputs[wanted.shape]
                output = given[0]
                output.fill_bytes(0xA5)
            try:
                integers = table.parameters(family, values)
                one.prepared = [
                    one.prepare(arrays[: len(own)], out, integers)
                    for arrays, out in zip(inputs, given, strict=True)
                ]
                _check_result(one, output, wanted, within)
            except (AssertionError, ValueError, _core.UnavailableError) as error:
                wrong = "wrong result: " if isinstance(error, AssertionError) else ""
                one.prepared, one.reason = [], f"{wrong}{error}"
    return footprint


def _measure(
    job: _Job,
    contenders: list[_Contender],
    stopwatch: _Stopwatch,
    settings: dict[str, Any],
    watch: devices.Watch,
) -> None:
    """Fill in the samples or the reason of every contender."""
    try:
        footprint = _prepare(job, contenders, stopwatch)
    except (_Refused, MemoryError) as refusal:
        for one in contenders:
            one.prepared, one.reason = [], str(refusal) or "needs more memory than there is"
        return
    able = [one for one in contenders if one.prepared]
    samplers = [stopwatch.sampler(one.prepared, footprint, job.cache) for one in able]
    watch.look()
    found = interleave(samplers, **settings, between=watch.look)
    for one, samples in zip(able, found, strict=True):
        one.samples = samples


def figures(
    nbytes: int, flops: int | None, cache: str | None, samples: Iterable[float]
) -> dict[str, Any]:
    """Return what a record says of its samples, milliseconds that moved so many bytes."""
    ordered = sorted(samples)
    median = quantile(ordered, 0.5) if ordered else None
    return {
        "bytes": nbytes,
        "flops": flops,
        "cache": cache,
        "median_ms": median,
        "min_ms": ordered[0] if ordered else None,
        "p20_ms": quantile(ordered, 0.2) if ordered else None,
        "p80_ms": quantile(ordered, 0.8) if ordered else None,
        "samples": len(ordered) or None,
        "gbps": nbytes / median / 1e6 if median else None,
        "tflops": flops / median / 1e9 if median and flops else None,
    }


def blank_record(
    *,
    family: str,
    variant: str,
    ran: str | None,
    backend: str,
    shape: Sequence[int],
    dtype: str,
    parameters: dict[str, Any],
    numbers: dict[str, Any],
    reason: str | None,
) -> dict[str, Any]:
    """Return a record of a result; what is told by comparison and by NVML is None in it."""
    return {
        "family": family,
        "variant": variant,
        "ran": ran,
        "backend": backend,
        "shape": list(shape),
        "dtype": dtype,
        "parameters": parameters,
        **numbers,
        "fraction_of_peak": None,
        "fraction_of_reference": None,
        "clock_mhz": None,
        "power_w": None,
        "temperature_c": None,
        "throttled": None,
        "reason": reason,
    }


def _record(job: _Job, one: _Contender, backend: str) -> dict[str, Any]:
    values = job.parameters_of(one)
    nbytes, flops = oracle.work(one.family, job.shape, job.dtype, **values)
    return blank_record(
        family=one.family,
        variant=one.variant,
        ran=one.prepared[0].variant if one.prepared else None,
        backend=backend,
        shape=job.shape,
        dtype=str(job.dtype),
        parameters=values,
        numbers=figures(nbytes, flops, job.cache, one.samples),
        reason=one.reason,
    )


def _compare(
    records: list[dict[str, Any]], device: dict[str, Any], reference: tuple[str, str]
) -> None:
    """Fill in the fractions of the records of one job."""
    against = next((r["gbps"] for r in records if (r["family"], r["variant"]) == reference), None)
    for record in records:
        rate, peak = record["gbps"], devices.peak_bandwidth(device)
        if record["tflops"] is not None:
            rate, peak = record["tflops"], devices.peak_fp32(device)
        if rate is not None:
            record["fraction_of_peak"] = rate / peak if peak else None
            record["fraction_of_reference"] = record["gbps"] / against if against else None


def sweep(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every choice of one value per parameter; a list or a range holds several to choose from."""
    lists = {
        name: list(value) if isinstance(value, list | range) else [value]
        for name, value in parameters.items()
    }
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _split(
    family: str, names: Iterable[str], parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a whole job, and the swept ones that some of its contenders ignore."""
    ignored = {name for variant in names for name in oracle.ignores(family, variant)}
    own = {
        name: value
        for name, value in parameters.items()
        if name in ignored and isinstance(value, list | range)
    }
    return {name: value for name, value in parameters.items() if name not in own}, own


def _caches(cache: str | Iterable[str]) -> list[str]:
    words = ["cold", "warm"] if cache == "both" else [cache] if isinstance(cache, str) else cache
    words = list(dict.fromkeys(words))
    if not words or any(word not in ("cold", "warm") for word in words):
        raise ValueError(f"cache must be 'cold', 'warm' or 'both', not {quoted(cache)}")
    return words


def _contenders(
    family: str, names: Iterable[str], reference: tuple[str, str], swept: dict[str, Any]
) -> list[_Contender]:
    """Each variant with every choice of the swept parameters that mean something to it."""
    found = []
    for kin, name in dict.fromkeys([*((family, name) for name in names), reference]):
        ignored = oracle.ignores(family, name) if kin == family else swept
        heeded = {key: value for key, value in swept.items() if key not in ignored}
        found += [_Contender(kin, name, chosen) for chosen in sweep(heeded)]
    return found


def bench(
    family: str,
    variants: Iterable[str | Variant] | str | Variant | None = None,
    sizes: str | int | Iterable[str | int] | None = None,
    dtype: DTypeLike | None = None,
    cache: str | Iterable[str] = "cold",
    *,
    samples: tuple[int, int] = (11, MOST_SAMPLES),
    spread: float = 0.02,
    budget: float = 0.5,
    shapes: Iterable[int | tuple[int, ...]] | None = None,
    with_peers: Iterable[str] | None = None,
    backend: str | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> BenchResult:
    """Time the kernels of a family on the device, by their size.

    What is timed is the launch of a kernel on arrays that are on the device, by its events;
    the call from Python and the bus are not in it. Every contender first computes on a
    poisoned output, which must agree with NumPy; one that is wrong has no figure. All
    contenders of one size take turns, and so does the reference, for a copy the driver's.

    Two more families have the bus in them, and the host's clock around calls that are waited
    for one by one. They take neither `dtype`, `cache` nor `shapes`.

    "transfer" moves bytes between arrays that are there already. Its variants are directions:
    "to_device", "to_host", "both" (at once, by two threads), "within" (the device's memory) and
    "to_peer" (from the first device to the next). ``kind`` is one or several of "pageable",
    "pageable_driver" (as the driver stages it), "pinned", "write_combined", "mapped" (by a
    kernel, over the bus) and "managed" (the access that makes all pages move; up to 64 MiB), by
    default all; ``pieces`` are so many transfers for the same bytes, by default 1. To a peer it
    goes by "access" (the copy engine, where one device is let reach the memory of the other),
    "no_access" (where it is not) and "kernel". The reference is pinned memory, or "access".

    "roundtrip" is what a caller of NumPy waits for, from ndarray to ndarray. Its variants are
    jobs on float32: "copy", "transpose", "add", "sgemm", the matrices square. ``kind`` is
    "pageable", into a new array, or "pinned", into `out`; by default both. Its records say ``by``
    whom it is done: "gpumem", "one_piece" (gpumem with nothing overlapped), the peers, or "bus",
    the reference: both pinned transfers at once and nothing else.

    Parameters
    ----------
    family : str
        Such as "copy", or "transfer" or "roundtrip".
    variants : iterable of str or Variant, optional
        The contenders; "auto" is one as well. By default, all of the family and "auto".
    sizes : str, int or iterable of them, optional
        Bytes of the first input: "4K:1G:x2" (from, to, factor), "1M,16M", 4096. K, M and G
        are powers of 1024. By default "4K:1G:x2", for transfers "64K:1G:x4", for round trips
        "1M:256M:x4".
    dtype : dtype, optional
        Of the elements: by default float32, or what the family takes instead.
    cache : {"cold", "warm", "both"}
        Cold: buffers that are not in the L2, by turns over more than four times its size.
        Warm: the same buffers again and again, in the L2 as far as they fit.
    samples : (int, int)
        The least and the most samples of each contender.
    spread : float
        A contender has settled when the 20th and the 80th percentile of its samples are no
        further apart than this share of the median.
    budget : float
        Seconds after which a contender is done with the least samples, at each size.
    shapes : iterable of int or tuple of int, optional
        Instead of `sizes`: the shapes by which the family is told.
    with_peers : iterable of {"torch", "cupy"}, optional
        Other libraries to measure beside, called from Python; one that is not installed has a
        record that says so. By default none; for round trips "numpy", "cupy" and "torch".
    backend : {"cuda", "sim"}, optional
        By default what :func:`gpumem.backend` says. The simulator has no times: its records
        say so.
    timeout : float, optional
        Seconds for all of it. What is not measured by then has a record that says so; what is
        being measured is brought to an end with the least samples.
    progress : callable, optional
        Called with the steps done, all steps, and what comes next in words.
    **parameters
        Further keywords of the family's function, such as ``max_blocks=8``. A list or a range
        is a sweep: each of its values in turn, and every combination where several are swept. A
        variant that a keyword means nothing to is measured once for all of its values.

    Returns
    -------
    BenchResult
        Records and their provenance.

    Raises
    ------
    ValueError
        If a family, variant, size or cache is not understood.
    TypeError
        If a parameter is unknown or of the wrong type.
    UnavailableError
        If the backend is not here.
    KeyboardInterrupt
        After Ctrl-C; its ``result`` is a BenchResult of the sizes that were done.

    Notes
    -----
    Where nvidia-ml-py is installed, each record says the lowest clock of the multiprocessors that
    was seen while its size was measured, the highest power draw and temperature, and what held the
    clocks down, if anything did. Such records are kept, and a printed result tells of them.

    Flushing the cache and hiding the host's work behind it follow nvbench [1]_.

    References
    ----------
    .. [1] https://github.com/NVIDIA/nvbench

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.bench("copy", ["vec4", "auto"], sizes="1M,16M")
    >>> [record["variant"] for record in result.records[:3]]
    ['vec4', 'auto', 'memcpy']
    >>> result.records[0]["gbps"]  # None here: the simulator has no clock
    """
    least, most = samples
    if not 1 <= least <= most:
        raise ValueError(
            f"samples must be (least, most) with 1 <= least <= most, not {quoted(samples)}"
        )
    for name, value in (("spread", spread), ("budget", budget), ("timeout", timeout)):
        if value is not None and not value >= 0:
            raise ValueError(f"{name} must be 0 or more, not {quoted(value)}")
    settings = {"least": least, "most": most, "within": spread, "budget": budget}
    from . import wallclock as hostclock

    if family in hostclock.FAMILIES:
        for name, value in (("dtype", dtype), ("shapes", shapes)):
            if value is not None:
                raise ValueError(
                    f"{name} is {quoted(value)}: a {family} is told by its sizes alone"
                )
        if cache != "cold":
            raise ValueError(f"cache is {quoted(cache)}: it means nothing to a {family}")
        return hostclock.measure(
            family,
            variants,
            sizes,
            settings=settings,
            with_peers=with_peers,
            backend=backend,
            timeout=timeout,
            progress=progress,
            parameters=parameters,
        )
    if variants is None:
        names = [*_rungs(family), "auto"]
    else:
        listed = [variants] if isinstance(variants, str | Variant) else variants
        names = list(dict.fromkeys(resolve(family, variant) for variant in listed))
    if not names:
        raise ValueError("variants must name at least one")
    dtype = oracle.dtype_for(family, dtype)
    # Each shape with the variants that meet there: some want their arrays in another one.
    steps: list[tuple[tuple[int, ...], list[str]]] = []
    if shapes is not None:
        steps = [(check_shape(shape, dtype.itemsize), names) for shape in shapes]
    else:
        for nbytes in parse_sizes("4K:1G:x2" if sizes is None else sizes):
            groups: dict[tuple[int, ...], list[str]] = {}
            for name in names:
                shape = oracle.shape_for(family, nbytes, dtype, name)
                groups.setdefault(shape, []).append(name)
            steps += groups.items()
    beside = list(dict.fromkeys(with_peers or ()))
    for name in beside:
        if name not in peers.names():
            known = peers.names()
            raise ValueError(unknown("with_peers names", name, known, "; the peers are"))
    for chosen in sweep(parameters):
        table.parameters(family, chosen)
    if any(isinstance(value, list | range) and not len(value) for value in parameters.values()):
        raise ValueError("a sweep over no values has nothing to measure")
    deadline = deadline_after(timeout)
    backend = _core.backend(backend)
    reference = oracle.reference(family)
    own_family = [reference[1]] if reference[0] == family else []
    common, swept = _split(family, [*names, *own_family], parameters)
    jobs = [
        (_Job(family, shape, dtype, state, chosen), listed)
        for state in _caches(cache)
        for shape, listed in steps
        for chosen in sweep(common)
    ]
    told = {n: list(v) if isinstance(v, range) else v for n, v in parameters.items()}
    recording = Recording(backend, settings | {"timeout": timeout, "parameters": told})
    device = recording.provenance["device"]
    stopwatch = _Stopwatch(device) if backend == "cuda" else None
    watched = device if stopwatch is not None else None
    with recording, devices.Watch(watched) as watch:
        for i, (job, listed) in enumerate(jobs):
            if progress is not None:
                size = size_label({"shape": job.shape, "dtype": dtype})
                told = "".join(f" {name}={value}" for name, value in job.parameters.items())
                progress(i, len(jobs), f"{family} {size}{told} {job.cache}")
            contenders = _contenders(family, [*listed, *beside], reference, swept)
            for one in contenders:
                if one.variant in beside:
                    one.reason = peers.reason(one.variant, one.family, parameters)
                elif one.variant != "auto":
                    one.reason = _core.available(one.family, one.variant, backend)
                    kind = find(one.family, one.variant).memory
                    if kind and not one.reason:
                        one.reason = f"it takes arrays of the host in {kind} memory alone"
                if backend == "sim":
                    one.reason = one.reason or NO_TIMES
                elif time.perf_counter() >= deadline:
                    one.reason = one.reason or too_late(timeout)
            if stopwatch is not None:
                able = [one for one in contenders if not one.reason]
                if able:
                    _measure(job, able, stopwatch, settings | {"deadline": deadline}, watch)
                rows = [_record(job, one, backend) for one in contenders]
                seen = watch.seen()
                for row in rows:
                    row |= seen if row["median_ms"] else {}
                _compare(rows, device, reference)
            else:
                rows = [_record(job, one, backend) for one in contenders]
            recording.records += rows
        if progress is not None:
            progress(len(jobs), len(jobs), "done")
    return recording.result()
