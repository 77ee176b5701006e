"""``gpumem.bench``: checks its arguments, and has a family measured by the right clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from ..base.messages import quoted
from ..base.progress import Progress, checked_progress
from ..base.record import STREAM
from ..base.result import BenchResult
from ..families.keywords import real
from ..families.table import Variant
from ..machine.device import Device, open_device
from ..modules.kernel import refuse_kernel
from ..modules.launch import Launch
from . import kernels, wall_clock
from .modules import KernelJob, measure_kernel
from .recording import Run
from .roundtrips import RoundTrips
from .sampling import Limits
from .transfers import Transfers

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["MOST_SAMPLES", "bench"]

MOST_SAMPLES = 50

WALL_CLOCK: dict[str, type[wall_clock.Benchmark]] = {
    one.name: one for one in (Transfers, RoundTrips)
}


# What a caller may give; the defaults are those of the functions below.
@overload
def bench(
    family: str,
    variants: Iterable[str | Variant] | str | Variant | None = ...,
    sizes: str | int | Iterable[str | int] | None = ...,
    dtype: DTypeLike | None = ...,
    cache: str | Iterable[str] = ...,
    *,
    order: str | Iterable[str] = ...,
    samples: tuple[int, int] = ...,
    spread: float = ...,
    budget: float = ...,
    shapes: Iterable[int | tuple[int, ...]] | None = ...,
    with_peers: Iterable[str] | None = ...,
    backend: str | None = ...,
    device: Device | None = ...,
    timeout: float | None = ...,
    progress: Progress | None = ...,
    **parameters: Any,
) -> BenchResult: ...


@overload
def bench(
    family: Launch,
    *args: Any,
    bytes: int | None = ...,
    flops: int | None = ...,
    against: Mapping[str, Callable[..., Any]] | None = ...,
    cache: str | Iterable[str] = ...,
    order: str | Iterable[str] = ...,
    samples: tuple[int, int] = ...,
    spread: float = ...,
    budget: float = ...,
    device: Device | None = ...,
    timeout: float | None = ...,
    progress: Progress | None = ...,
) -> BenchResult: ...


def bench(
    family: Any,
    *args: Any,
    samples: tuple[int, int] = (11, MOST_SAMPLES),
    spread: float = 0.02,
    budget: float = 0.5,
    device: Device | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    **keywords: Any,
) -> BenchResult:
    """Time the kernels of a family on the device, by their size.

    Events of the device time the launch of a kernel on arrays that are already there; neither
    the call from Python nor the bus is included. Every contender first computes on a poisoned
    output, which must agree with NumPy; a wrong one has no time. All contenders of one size take
    turns, together with the reference, which for a copy is the driver's.

    Two more families measure the bus, with the wall clock around calls that are each waited for.
    They take neither `dtype`, `cache`, `order` nor `shapes`.

    "transfer" moves bytes between existing arrays. Its variants are directions: "to_device",
    "to_host", "both" (at once, by two threads), "within" (the device's memory) and "to_peer" (from
    the first device to the next). ``kind`` is one or several of "pageable", "pageable_driver" (as
    the driver stages it), "pinned", "write_combined", "mapped" (by a kernel, over the bus) and
    "managed" (the access that makes all pages migrate; up to 64 MiB), by default all; ``pieces``
    is the number of transfers for the same bytes, by default 1. The ways to a peer are "access"
    (the copy engine, with access to the peer's memory), "no_access" (without it) and "kernel". The
    reference is pinned memory, or "access".

    "roundtrip" is what a caller of NumPy waits for, from ndarray to ndarray. Its variants are
    jobs on float32: "copy", "transpose", "add", "sgemm"; matrices are square. ``kind`` is
    "pageable", into a new array, or "pinned", into `out`; by default both. ``by`` in its records
    says who did the work: "gpumem", "one_piece" (gpumem without overlap), the peers, or "bus", the
    reference: both pinned transfers at once and nothing else.

    A user's kernel is measured as well: ``bench(kernel[grid, block], *arguments, bytes=None,
    flops=None, against=None)``, with `cache`, `order`, `samples`, `spread`, `budget`, `device`,
    `timeout` and `progress` as here. ``bytes`` and ``flops`` are what a launch moves and computes,
    for the rates; ``against`` names functions that are called with the same arguments and do the
    same job, as in ``{"torch": f}``. Arrays of the host are copied to the device before, and not
    back; launches use the same arrays, or copies in turn while the L2 is to be cold. Results are
    not checked: that is for :func:`gpumem.check` and a test.

    Parameters
    ----------
    family : str or Launch
        Such as "copy", or "transfer" or "roundtrip"; or a user's kernel with its grid.
    variants : iterable of str or Variant, optional
        The contenders; "auto" is one as well. By default, all of the family and "auto".
    sizes : str, int or iterable of them, optional
        Bytes of the first input: "4K:1G:x2" (from, to, factor), "1M,16M", 4096. K, M and G
        are powers of 1024. By default "4K:1G:x2", for transfers "64K:1G:x4", for round trips
        "1M:256M:x4".
    dtype : dtype, optional
        Of the elements: by default float32, or the family's own if it does not take that.
    cache : {"cold", "warm", "both"}
        Cold: the buffers are not in the L2, because launches rotate over more than four times its
        size. Warm: every launch uses the same buffers, which stay in the L2 as far as they fit.
    order : {"stream", "single", "both"}
        Stream: calls that follow each other on a stream, as in a loop; a kernel may start while the
        one before it ends. Single: each sample is one call, with nothing before it that it could
        overlap with; a kernel that keeps the device busy meanwhile hides the launch on the host.
    samples : (int, int)
        The least and the most samples of each contender.
    spread : float
        A contender has settled when the 20th and the 80th percentile of its samples are no
        further apart than this share of the median.
    budget : float
        Seconds after which the least number of samples is enough for a contender, at each size.
    shapes : iterable of int or tuple of int, optional
        Problem sizes to measure, instead of `sizes`.
    with_peers : iterable of {"torch", "cupy"}, optional
        Other libraries to measure beside, called from Python; one that is not installed has a
        record that says so. By default none; for round trips "numpy", "cupy" and "torch".
    backend : {"cuda", "sim"}, optional
        By default what :func:`gpumem.backend` says. The simulator has no clock: its records
        have a reason instead of times.
    device : Device, optional
        What is measured instead of the backend's own devices; see ``gpumem.machine.device``.
    timeout : float, optional
        Seconds for the whole benchmark. What is not measured by then has a record that says so;
        what is being measured ends with the least number of samples.
    progress : callable, optional
        Called with the number of steps done, of all steps, and what comes next in words.
    **parameters
        Further keywords of the family's function, such as ``max_blocks=8``. A list or a range
        is a sweep: each of its values in turn, and every combination where several are swept. A
        variant that ignores a keyword is measured once for all of its values.

    Returns
    -------
    BenchResult
        Records and their provenance.

    Raises
    ------
    ValueError
        If a family, variant, size, cache or order is unknown or invalid.
    TypeError
        If a parameter is unknown or of the wrong type, or both `sizes` and `shapes` are given.
    UnavailableError
        If the backend is not here, or a user's kernel was loaded for the simulator.
    KeyboardInterrupt
        After Ctrl-C; its ``result`` is a BenchResult of the sizes that were measured.

    Notes
    -----
    Where nvidia-ml-py is installed, each record has the lowest clock of the multiprocessors while
    its size was measured, the highest power draw and temperature, and what lowered the clocks, if
    anything did. Such records are kept, and a printed result reports them.

    Flushing the cache and hiding the host's work behind it follow nvbench [1]_.

    References
    ----------
    .. [1] https://github.com/NVIDIA/nvbench

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.bench("copy", ["scalar", "vec4"], "1M", backend="sim")
    >>> [record["variant"] for record in result.records]
    ['scalar', 'vec4', 'memcpy']
    >>> result.records[0]["reason"]
    'the simulator counts traffic and has no clock'
    """
    refuse_kernel(family)
    run = _run(samples, spread, budget, timeout, progress)
    if isinstance(family, Launch):
        return measure_kernel(KernelJob.checked(family, args, **keywords), device, run)
    return _bench_family(run, device, family, *args, **keywords)


def _bench_family(
    run: Run,
    device: Device | None,
    family: str,
    variants: Any = None,
    sizes: Any = None,
    dtype: DTypeLike | None = None,
    cache: str | Iterable[str] = "cold",
    *,
    order: str | Iterable[str] = STREAM,
    shapes: Iterable[int | tuple[int, ...]] | None = None,
    with_peers: Iterable[str] | None = None,
    backend: str | None = None,
    **parameters: Any,
) -> BenchResult:
    benchmark = WALL_CLOCK.get(family) if isinstance(family, str) else None
    if benchmark is not None:
        _refuse_kernel_arguments(family, dtype, shapes, cache, order)
        steps = wall_clock.plan(
            benchmark, variants, sizes, with_peers=with_peers, parameters=parameters
        )
        return wall_clock.measure(steps, device_of(device, backend), run)
    if sizes is not None and shapes is not None:
        raise TypeError("bench takes sizes or shapes, not both")
    jobs = kernels.plan(
        family,
        variants,
        sizes,
        dtype,
        cache,
        order,
        shapes=shapes,
        with_peers=with_peers,
        parameters=parameters,
    )
    return kernels.measure(jobs, device_of(device, backend), run)


def _run(
    samples: tuple[int, int],
    spread: float,
    budget: float,
    timeout: float | None,
    progress: Progress | None,
) -> Run:
    """How to measure; ValueError says which of the numbers makes no sense."""
    whole = isinstance(samples, tuple | list) and len(samples) == 2
    if not whole or any(isinstance(n, bool) or not hasattr(n, "__index__") for n in samples):
        raise TypeError(f"samples must be (least, most), two integers, not {quoted(samples)}")
    least, most = samples
    if not 1 <= least <= most:
        raise ValueError(
            f"samples must be (least, most) with 1 <= least <= most, not {quoted(samples)}"
        )
    limits = Limits(
        least=least,
        most=most,
        within=non_negative("spread", spread),
        budget=non_negative("budget", budget),
    )
    seconds = None if timeout is None else non_negative("timeout", timeout)
    return Run(limits, seconds, checked_progress(progress))


def non_negative(name: str, value: Any) -> float:
    """Return a number of 0 or more."""
    number = real(name, value)
    if not number >= 0:
        raise ValueError(f"{name} must be 0 or more, not {quoted(value)}")
    return number


def device_of(device: Any, backend: str | None) -> Device:
    """Return the device that is measured: the one that is given, else that of the backend."""
    if device is None:
        return open_device(backend)
    if not hasattr(device, "has_clock"):
        raise TypeError(f"device must be a Device of gpumem.machine.device, not {quoted(device)}")
    chosen: Device = device
    return chosen


def _refuse_kernel_arguments(family: str, dtype: Any, shapes: Any, cache: Any, order: Any) -> None:
    """Raise ValueError for arguments that only kernels take."""
    for name, value in (("dtype", dtype), ("shapes", shapes)):
        if value is not None:
            raise ValueError(f"{name} is {quoted(value)}: {family} accepts sizes only")
    for name, value, usual in (("cache", cache, "cold"), ("order", order, STREAM)):
        if not isinstance(value, str) or value != usual:
            raise ValueError(f"{name} is {quoted(value)}: it means nothing to a {family}")
