"""How long the bus takes: transfers by kind of host memory, and whole round trips.

These are what a caller waits for, so it is the host's clock that counts, around enough calls
for two milliseconds. The figures of :mod:`gpumem.bench`, which are a kernel's on the device,
stand in other tables.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, devices, functions, oracle
from .bench import (
    Interrupted,
    Progress,
    blank_record,
    deadline_after,
    figures,
    interleave,
    spread_out,
    too_late,
)
from .bench_result import NO_TIMES, BenchResult, block, rounded, size_label
from .sizes import format_bytes, host_memory, parse_sizes

if TYPE_CHECKING:
    from ._core import DeviceArray, Stream

FAMILIES = ("transfer", "roundtrip")
DIRECTIONS = ("to_device", "to_host", "both", "within", "to_peer")
WAYS = ("access", "no_access", "kernel")  # to another device
KINDS = ("pageable", "pageable_driver", "pinned", "write_combined", "mapped", "managed")
JOBS = ("copy", "transpose", "add", "sgemm")
PEERS = ("numpy", "cupy", "torch")
SIZES = {"transfer": "64K:1G:x4", "roundtrip": "1M:256M:x4"}

_SAMPLE_S = 2e-3  # the least that a sample lasts
_MOST_CALLS = 2**20  # per sample
_MOST_PIECES = 2**16
_MOST_MANAGED = 2**26  # bytes
_PAGE = 4096  # no smaller ones move
_ONE_PIECE = 2**62  # bytes: the chunk that cuts nothing
_POISON = 0xA5
_PERIOD = 2**24 + 43  # bytes of random data: odd, so that no two pieces are alike
_WHOLE_SIDE = 2048  # of a product up to which all of it is checked, beyond only some rows
_SLOW_READ = 2**20  # bytes of write-combined memory that are compared in one go

# Does so many transfers or calls, all of which are done on return.
_Runs = Callable[[int], None]
# The same, and how many seconds they took.
_Timed = Callable[[int], float]


def _has_clock(backend: str) -> bool:
    return backend == "cuda"


class _Contender:
    """One way to do one job of one size."""

    def __init__(self, variant: str, parameters: dict[str, Any], reason: str | None = None) -> None:
        self.variant = variant
        self.parameters = parameters
        self.reason = reason
        self.run: _Timed | None = None
        self.samples: list[float] = []


def _timed(run: _Runs) -> _Timed:
    def timed(count: int) -> float:
        begin = time.perf_counter()
        run(count)
        return time.perf_counter() - begin

    return timed


def _sampler(run: _Timed) -> Callable[[], float]:
    """Return what takes a sample that is long enough, in milliseconds per call."""
    count, taken = 1, run(1)
    while taken < _SAMPLE_S and count < _MOST_CALLS:
        more = math.ceil(1.2 * count * _SAMPLE_S / max(taken, 1e-9))
        count = min(max(more, 2 * count), 100 * count, _MOST_CALLS)
        taken = run(count)
    return lambda: run(count) * 1e3 / count


def _prepare(one: _Contender, make: Callable[[], tuple[_Timed, Callable[[], None]]]) -> None:
    """Set up a contender, and let it do its job once; what is wrong becomes its reason."""
    try:
        run, check = make()
        check()
        one.run = run
    except AssertionError as error:
        one.reason = f"wrong result: {error}"
    except MemoryError as error:
        one.reason = str(error) or "needs more memory than there is"
    except Exception as error:
        # A contender that another library fails must not take the others with it.
        if one.parameters.get("by") not in PEERS and not isinstance(
            error, _core.UnavailableError | ValueError
        ):
            raise
        one.reason = f"{type(error).__name__}: {error}"


def _too_large(nbytes: int) -> str | None:
    free = host_memory()
    if nbytes <= 0.9 * free:
        return None
    return f"needs {format_bytes(nbytes)} of host memory, {format_bytes(free)} are free"


def _random_bytes(nbytes: int) -> np.ndarray[Any, Any]:
    found = np.empty(nbytes, np.uint8)
    period = np.frombuffer(np.random.default_rng().bytes(min(nbytes, _PERIOD)), np.uint8)
    for at in range(0, nbytes, _PERIOD):
        found[at : at + _PERIOD] = period[: nbytes - at]
    return found


def _compare(got: DeviceArray | np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    """Raise AssertionError unless the bytes are those; of many, slices are compared."""
    slow = isinstance(got, np.ndarray) and _core.memory_kind(got) == "write_combined"
    for part in spread_out(wanted.size, 1, _SLOW_READ if slow else None):
        piece = got[part]
        here = piece if isinstance(piece, np.ndarray) else piece.to_host()
        try:
            oracle.compare("transfer", here, wanted[part])
        except AssertionError as error:
            raise AssertionError(f"from byte {part.start} on: {error}") from None


# ---- one direction, or two ------------------------------------------------------------------


def _by_bus(
    device: DeviceArray,
    host: np.ndarray[Any, Any],
    to_device: bool,
    kind: str,
    pieces: int = 1,
    stream: Stream | None = None,
) -> _Runs:
    driver = kind == "pageable_driver"
    return lambda count: _core.transfer(device, host, to_device, count, driver, pieces, stream)


def _by_kernel(
    source: DeviceArray,
    target: DeviceArray,
    pieces: int = 1,
    stream: Stream | None = None,
    variant: str = "auto",
    max_blocks: int | None = None,
) -> _Runs:
    """Copies by the device, of what it can reach; each piece is waited for, as on the bus."""
    values = functions.parameters("copy", {"max_blocks": max_blocks})
    cuts = [source.size * i // pieces for i in range(pieces + 1)]
    parts = [slice(first, last) for first, last in itertools.pairwise(cuts)]
    prepared = [
        _core.prepare("copy", variant, (source[part],), target[part], stream, values)
        for part in parts
    ]

    wait = stream.synchronize if stream else functools.partial(_core.synchronize, target.backend)

    def run(count: int) -> None:
        for one in itertools.chain.from_iterable(itertools.repeat(prepared, count)):
            one.launch()
            wait()

    return run


class _Pair:
    """Two things at once: one in this thread, one in another."""

    def __init__(self, pool: ThreadPoolExecutor, first: _Runs, second: _Runs) -> None:
        self.pool, self.first, self.second = pool, first, second

    def __call__(self, count: int) -> None:
        other = self.pool.submit(self.second, count)
        try:
            self.first(count)
        finally:
            other.result()


# ---- transfer -------------------------------------------------------------------------------


class _Bytes:
    """The arrays of one size, which the contenders share: they take turns."""

    def __init__(self, nbytes: int, backend: str, pool: ThreadPoolExecutor) -> None:
        self.nbytes, self.backend, self.pool = nbytes, backend, pool
        self.data = _random_bytes(nbytes)
        self.source = _core.to_device(self.data, backend=backend)
        self.target = _core.DeviceArray((nbytes,), "uint8", backend=backend)
        self._host: dict[tuple[str, bool], np.ndarray[Any, Any]] = {}
        self._peer: DeviceArray | None = None

    def peer(self) -> DeviceArray:
        """The array on the device that comes next, to be written to."""
        if self._peer is None:
            devices = len(_core.backend_info(self.backend)["devices"])
            next_one = (self.source.device + 1) % devices
            self._peer = _core.DeviceArray(
                (self.nbytes,), "uint8", device=next_one, backend=self.backend
            )
        return self._peer

    def host(self, kind: str, full: bool) -> np.ndarray[Any, Any]:
        """The host's array of a kind: full, to be read from, or to be written to."""
        kind = "pageable" if kind == "pageable_driver" else kind
        if (kind, full) not in self._host:
            array = _core.empty((self.nbytes,), "uint8", kind=kind, backend=self.backend)
            array[...] = self.data if full else _POISON
            self._host[kind, full] = array
        return self._host[kind, full]

    def way(
        self,
        kind: str,
        to_device: bool,
        pieces: int,
        stream: Stream | None = None,
        max_blocks: int | None = None,
    ) -> _Runs:
        """Return what moves the bytes one way."""
        host = self.host(kind, to_device)
        device = self.target if to_device else self.source
        if kind not in ("mapped", "managed"):
            return _by_bus(device, host, to_device, kind, pieces, stream)
        reached = _core.over(host, self.backend)
        ends = (reached, device) if to_device else (device, reached)
        return _by_kernel(*ends, pieces, stream, max_blocks=max_blocks)

    def check(self, run: _Timed, kind: str, in_: bool, out: bool) -> None:
        """Run once on targets that hold something else, and look at what they hold then."""
        if in_:
            self.target.fill_bytes(_POISON)
        if out:
            self.host(kind, False)[...] = _POISON
        _core.synchronize(self.backend)
        run(1)
        if in_:
            _compare(self.target, self.data)
        if out:
            _compare(self.host(kind, False), self.data)


def _one_way(
    arrays: _Bytes, kind: str, pieces: int, to_device: bool
) -> tuple[_Timed, Callable[[], None]]:
    if kind == "managed":
        run = _managed(arrays, to_device)
    else:
        run = _timed(arrays.way(kind, to_device, pieces))
    return run, lambda: arrays.check(run, kind, to_device, not to_device)


def _managed(arrays: _Bytes, to_device: bool) -> _Timed:
    """What makes the pages move; that they are on the other side before is not timed."""
    host = arrays.host("managed", to_device)
    pages = host[::_PAGE]
    kernel = arrays.way("managed", to_device, 1)

    def run(count: int) -> float:
        taken = 0.0
        for _ in range(count):
            if to_device:
                np.bitwise_or(pages, 0, out=pages)  # written: the page is the host's
            else:
                kernel(1)
            begin = time.perf_counter()
            if to_device:
                kernel(1)
            else:
                pages.max()
            taken += time.perf_counter() - begin
        return taken

    return run


def _both_ways(arrays: _Bytes, kind: str, pieces: int) -> tuple[_Timed, Callable[[], None]]:
    blocks = None
    if kind == "mapped":  # so few that both kernels find room
        device = _core.backend_info(arrays.backend)["devices"][arrays.source.device]
        blocks = max(device["multiprocessors"], 1)
    ways = [
        arrays.way(kind, to_device, pieces, _core.Stream(backend=arrays.backend), blocks)
        for to_device in (True, False)
    ]
    run = _timed(_Pair(arrays.pool, *ways))
    return run, lambda: arrays.check(run, kind, True, True)


def _within(arrays: _Bytes, pieces: int) -> tuple[_Timed, Callable[[], None]]:
    run = _timed(_by_kernel(arrays.source, arrays.target, pieces, variant="memcpy"))
    return run, lambda: arrays.check(run, "device", True, False)


@contextmanager
def _access(device: int, other: int, on: bool, backend: str) -> Iterator[None]:
    """Let a device reach the memory of another, or not."""
    if not _core.can_reach(device, other, backend):
        if on:
            raise ValueError(f"device {device} cannot reach the memory of device {other}")
        yield
        return
    before = _core.let_reach(device, other, on, backend)
    try:
        yield
    finally:
        _core.let_reach(device, other, before, backend)


def _to_peer(arrays: _Bytes, way: str, pieces: int) -> tuple[_Timed, Callable[[], None]]:
    """The first device writes to the second: by its copy engine, or a kernel."""
    source, target = arrays.source, arrays.peer()
    by_kernel = None
    if way == "kernel":
        by_kernel = _by_kernel(source, _core.reach(target, source.device), pieces)

    def run(count: int) -> float:
        with _access(source.device, target.device, way != "no_access", arrays.backend):
            begin = time.perf_counter()
            if by_kernel is not None:
                by_kernel(count)
            else:
                _core.send(source, target, count, pieces)
            return time.perf_counter() - begin

    def check() -> None:
        target.fill_bytes(_POISON)
        _core.synchronize(arrays.backend, device=target.device)
        run(1)
        _compare(target, arrays.data)

    return run, check


def _why_not(variant: str, kind: str, pieces: int, nbytes: int) -> str | None:
    """The reason why there is nothing to measure, None if there is."""
    if variant == "to_peer" and kind == "device":
        return "there is no second device"
    if pieces > nbytes:
        return f"{format_bytes(nbytes)} cannot be cut into {pieces} pieces"
    if kind == "managed":
        if nbytes > _MOST_MANAGED:
            return f"managed memory is measured up to {format_bytes(_MOST_MANAGED)}"
        if variant == "both":
            return "managed memory is measured in one direction at a time"
        if pieces > 1:
            return "the pages of managed memory move one by one, not in pieces"
    return None


def _transfers(
    nbytes: int, names: Sequence[str], choices: dict[str, list[Any]], backend: str
) -> list[_Contender]:
    found = []
    for name in names:
        kinds = choices["kind"]
        if name == "within":
            kinds = ["device"]
        elif name == "to_peer":
            several = len(_core.backend_info(backend)["devices"]) > 1
            kinds = list(WAYS) if several else ["device"]
        for kind in kinds:
            for pieces in choices["pieces"]:
                reason = _why_not(name, kind, pieces, nbytes)
                found.append(_Contender(name, {"kind": kind, "pieces": pieces}, reason))
    return found


def _prepare_transfers(
    shape: tuple[int, ...], contenders: Sequence[_Contender], backend: str, pool: ThreadPoolExecutor
) -> None:
    (nbytes,) = shape
    hosts = len({one.parameters["kind"] for one in contenders})
    reason = _too_large((2 + 2 * hosts) * nbytes)
    arrays = None
    if reason is None:
        try:
            arrays = _Bytes(nbytes, backend, pool)
        except MemoryError as error:
            reason = str(error) or "needs more memory than there is"
    for one in contenders:
        kind, pieces = one.parameters["kind"], one.parameters["pieces"]
        if arrays is None:
            one.reason = reason
        elif one.variant == "both":
            _prepare(one, functools.partial(_both_ways, arrays, kind, pieces))
        elif one.variant == "within":
            _prepare(one, functools.partial(_within, arrays, pieces))
        elif one.variant == "to_peer":
            _prepare(one, functools.partial(_to_peer, arrays, kind, pieces))
        else:
            to_device = one.variant == "to_device"
            _prepare(one, functools.partial(_one_way, arrays, kind, pieces, to_device))


def _times(variant: str) -> int:
    """How often each byte counts: both directions, or read and written."""
    return 2 if variant in ("both", "within") else 1


def _compare_transfers(records: list[dict[str, Any]]) -> None:
    """Fill in the fractions, of pinned memory with as few pieces as were measured; on the way to
    another device, of the copy engine with access."""
    for record in records:
        pinned = [
            one
            for one in records
            if one["gbps"]
            and one["variant"] == record["variant"]
            and one["parameters"]["kind"] in ("pinned", "access")
        ]
        if pinned and record["gbps"]:
            least = min(pinned, key=lambda one: one["parameters"]["pieces"])
            record["fraction_of_reference"] = record["gbps"] / least["gbps"]


# ---- roundtrip ------------------------------------------------------------------------------


def _shape(job: str, nbytes: int) -> tuple[int, ...]:
    (elements,) = oracle.shape_for("copy", nbytes, "float32")
    side = math.isqrt(elements)
    return (side, side) if job in ("transpose", "sgemm") else (elements,)


def _inputs(job: str, shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng()
    count = 2 if job in ("add", "sgemm") else 1
    return [random.random(shape, np.float32) - np.float32(0.5) for _ in range(count)]


def _work(job: str, shape: tuple[int, ...]) -> tuple[int, int, int | None]:
    """Bytes to the device and back, and operations."""
    nbytes = 4 * math.prod(shape)
    count = 2 if job in ("add", "sgemm") else 1
    return count * nbytes, nbytes, 2 * shape[0] ** 3 if job == "sgemm" else None


def _check_result(job: str, got: Any, inputs: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raise AssertionError unless it is what NumPy makes of the inputs."""
    if job != "sgemm":
        wanted = oracle.expected(job, *inputs)
        oracle.compare(job, got, wanted, oracle.bound(job, *inputs))
        return
    a, b = inputs
    if not isinstance(got, np.ndarray) or got.shape != (len(a), b.shape[1]):
        oracle.compare(job, got, np.empty((len(a), b.shape[1]), np.float32))
    rows = np.arange(len(a))
    if len(a) > _WHOLE_SIDE:
        rows = np.unique(np.r_[0, np.random.default_rng().integers(len(a), size=62), len(a) - 1])
    wanted = oracle.expected(job, a[rows], b)
    oracle.compare(job, got[rows], wanted, oracle.bound(job, a[rows], b))


# What a caller of each would write; out is None, or where the result is to go.


def _ask_gpumem(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    return getattr(functions, job)(*inputs, out=out, backend=backend)


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

    on_device: dict[str, Callable[..., Any]] = {
        "copy": cupy.copy,
        "transpose": lambda a: cupy.ascontiguousarray(a.T),
        "add": operator.add,
        "sgemm": operator.matmul,
    }
    return cupy.asnumpy(on_device[job](*map(cupy.asarray, inputs)), out=out)


def _ask_torch(job: str, backend: str, inputs: Sequence[Any], out: Any) -> Any:
    import torch

    on_device: dict[str, Callable[..., Any]] = {
        "copy": torch.clone,
        "transpose": lambda a: a.t().contiguous(),
        "add": operator.add,
        "sgemm": operator.matmul,
    }
    result = on_device[job](*(torch.from_numpy(a).cuda() for a in inputs))
    if out is None:
        return result.cpu().numpy()
    torch.from_numpy(out).copy_(result)
    return out


_ASKED = {
    "gpumem": _ask_gpumem,
    "one_piece": _ask_gpumem,
    "numpy": _ask_numpy,
    "cupy": _ask_cupy,
    "torch": _ask_torch,
}


def _absent(library: str) -> str | None:
    try:
        module = importlib.import_module(library)
        if library == "torch":
            module.backends.cuda.matmul.allow_tf32 = False
            if not module.cuda.is_available():
                return "torch finds no device"
    except ImportError as error:
        return f"{library} is not installed: {error}"
    return None


@contextmanager
def _uncut() -> Iterator[None]:
    before = _core.set_chunk(_ONE_PIECE)
    try:
        yield
    finally:
        _core.set_chunk(before)


def _trip(
    job: str, by: str, inputs: Sequence[np.ndarray[Any, Any]], out: Any, backend: str
) -> tuple[_Timed, Callable[[], None]]:
    ask = functools.partial(_ASKED[by], job, backend, inputs, out)
    cut = _uncut if by == "one_piece" else nullcontext

    def run(count: int) -> float:
        with cut():
            begin = time.perf_counter()
            for _ in range(count):
                ask()
            return time.perf_counter() - begin

    def check() -> None:
        if out is not None:
            out.fill(np.nan)
        with cut():
            got = ask()
        _check_result(job, got, inputs)
        # The next result may be given the same memory, and must not find this one in it.
        got.fill(np.nan)

    return run, check


def _floor(
    job: str, shape: tuple[int, ...], backend: str, pool: ThreadPoolExecutor
) -> tuple[_Timed, Callable[[], None]]:
    """Both transfers of a job at once, from and to pinned memory, and nothing else."""
    in_bytes, out_bytes, _ = _work(job, shape)
    hosts = [
        _core.empty((size,), "uint8", kind="pinned", backend=backend)
        for size in (in_bytes, out_bytes)
    ]
    data, result = _random_bytes(in_bytes), _random_bytes(out_bytes)
    hosts[0][...], hosts[1][...] = data, _POISON
    source = _core.to_device(result, backend=backend)
    target = _core.DeviceArray((in_bytes,), "uint8", backend=backend)
    streams = [_core.Stream(backend=backend) for _ in hosts]
    run = _timed(
        _Pair(
            pool,
            _by_bus(target, hosts[0], True, "pinned", stream=streams[0]),
            _by_bus(source, hosts[1], False, "pinned", stream=streams[1]),
        )
    )

    def check() -> None:
        target.fill_bytes(_POISON)
        _core.synchronize(backend)
        run(1)
        _compare(target, data)
        _compare(hosts[1], result)

    return run, check


def _trips(job: str, kinds: Iterable[str], beside: Sequence[str]) -> list[_Contender]:
    found = [_Contender(job, {"by": "bus", "kind": "pinned"})]
    for kind in kinds:
        for by in ("gpumem", "one_piece", *beside):
            reason = _absent(by) if by in PEERS else None
            found.append(_Contender(job, {"by": by, "kind": kind}, reason))
    return found


def _prepare_trips(
    shape: tuple[int, ...], contenders: Sequence[_Contender], backend: str, pool: ThreadPoolExecutor
) -> None:
    job = contenders[0].variant
    in_bytes, out_bytes, _ = _work(job, shape)
    # Inputs of two kinds and those of the floor, each with a result; and what is compared.
    reason = _too_large(3 * in_bytes + 6 * out_bytes)
    if reason is not None:
        for one in contenders:
            one.reason = reason
        return
    inputs = _inputs(job, shape)
    places: dict[str, tuple[list[Any], Any]] = {"pageable": (inputs, None)}
    for one in contenders:
        by, kind = one.parameters["by"], one.parameters["kind"]

        def make(by: str = by, kind: str = kind) -> tuple[_Timed, Callable[[], None]]:
            if by == "bus":
                return _floor(job, shape, backend, pool)
            if kind not in places:
                arrays = [
                    _core.empty(shape, "float32", kind=kind, backend=backend)
                    for _ in range(len(inputs) + 1)
                ]
                for to, a in zip(arrays, inputs, strict=False):
                    to[...] = a
                places[kind] = arrays[:-1], arrays[-1]
            return _trip(job, by, *places[kind], backend)

        _prepare(one, make)


def _compare_trips(records: list[dict[str, Any]]) -> None:
    """Fill in the fractions: the floor's time over the record's own."""
    floor = next((one["median_ms"] for one in records if one["parameters"]["by"] == "bus"), None)
    for record in records:
        if floor and record["median_ms"]:
            record["fraction_of_reference"] = floor / record["median_ms"]


def is_ours(parameters: dict[str, Any]) -> bool:
    """Return whether gpumem's code does what a record is of, and not the driver or a library."""
    if "by" in parameters:
        return parameters["by"] in ("gpumem", "one_piece")
    return parameters.get("kind") in ("pageable", "mapped", "kernel")


# ---- what is asked for ----------------------------------------------------------------------


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(dict.fromkeys(value))


def _chosen(what: str, value: Any, known: Sequence[str]) -> list[str]:
    names = list(known) if value is None else [str(one) for one in _listed(value)]
    for name in names:
        if name not in known:
            raise ValueError(f"{what} is {name!r}, expected one of: {', '.join(known)}")
    if not names:
        raise ValueError(f"{what} must name at least one of: {', '.join(known)}")
    return list(dict.fromkeys(names))


def _pieces(value: Any) -> list[int]:
    found = []
    for one in _listed(value):
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"pieces is {one!r}, expected an integer or several")
        one = operator.index(one)
        if not 1 <= one <= _MOST_PIECES:
            raise ValueError(f"pieces is {one}, expected 1 to {_MOST_PIECES}")
        found.append(one)
    if not found:
        raise ValueError("pieces must hold at least one number")
    return found


def _choices(family: str, parameters: dict[str, Any]) -> dict[str, list[Any]]:
    known = ("kind", "pieces") if family == "transfer" else ("kind",)
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"{family} has no parameter {name!r}; its parameters: {', '.join(known)}"
            )
    if family == "transfer":
        return {
            "kind": _chosen("kind", parameters.get("kind"), KINDS),
            "pieces": _pieces(parameters.get("pieces", 1)),
        }
    return {"kind": _chosen("kind", parameters.get("kind"), ("pageable", "pinned"))}


def _sample(
    family: str,
    shape: tuple[int, ...],
    contenders: Iterable[_Contender],
    settings: dict[str, Any],
    backend: str,
    pool: ThreadPoolExecutor,
) -> None:
    """Fill in the samples or the reason of every contender, and give the memory back."""
    able = [one for one in contenders if not one.reason]
    if not able:
        return
    (_prepare_transfers if family == "transfer" else _prepare_trips)(shape, able, backend, pool)
    runs = [(one, one.run) for one in able if one.run is not None]
    samplers = [_sampler(run) for _, run in runs]
    for (one, _), samples in zip(runs, interleave(samplers, **settings), strict=True):
        one.samples, one.run = samples, None


def _record(
    family: str, shape: tuple[int, ...], dtype: str, one: _Contender, backend: str
) -> dict[str, Any]:
    if family == "transfer":
        nbytes, flops = _times(one.variant) * shape[0], None
    else:
        there, back, flops = _work(one.variant, shape)
        nbytes = there + back
    return blank_record(
        family=family,
        variant=one.variant,
        ran=None,
        backend=backend,
        shape=shape,
        dtype=dtype,
        parameters=one.parameters,
        numbers=figures(nbytes, flops, None, one.samples),
        reason=one.reason,
    )


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
    """Do what :func:`gpumem.bench` says of the families "transfer" and "roundtrip".

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
    names = _chosen("variant", variants, DIRECTIONS if family == "transfer" else JOBS)
    choices = _choices(family, parameters)
    if family == "transfer" and with_peers:
        raise ValueError(f"with_peers is {with_peers!r}: a transfer has none")
    beside = [] if family == "transfer" else list(PEERS)
    if with_peers is not None:
        beside = _chosen("with_peers", with_peers, PEERS) if list(with_peers) else []
    lengths = parse_sizes(SIZES[family] if sizes is None else sizes)
    steps: list[tuple[tuple[int, ...], int, list[str]]] = []
    for nbytes in lengths:
        if family == "transfer":
            steps.append(((nbytes,), nbytes, names))
        else:
            steps += [(_shape(name, nbytes), nbytes, [name]) for name in names]
    backend = _core.backend(backend)
    dtype = "uint8" if family == "transfer" else "float32"
    provenance = devices.provenance(backend)
    told = choices if family == "transfer" else choices | {"with_peers": beside}
    provenance["settings"] = settings | {"timeout": timeout, "parameters": told}
    if backend == "cuda":
        provenance["clocks"] = {"before": devices.clocks(provenance["device"])}
    deadline = deadline_after(timeout)
    records: list[dict[str, Any]] = []

    def result() -> BenchResult:
        if backend == "cuda":
            provenance["clocks"]["after"] = devices.clocks(provenance["device"])
        exact = [{key: rounded(value) for key, value in one.items()} for one in records]
        return BenchResult(exact, provenance)

    try:
        with ThreadPoolExecutor(1) as pool:
            for i, (shape, nbytes, listed) in enumerate(steps):
                if family == "transfer":
                    contenders = _transfers(nbytes, listed, choices, backend)
                else:
                    contenders = _trips(listed[0], choices["kind"], beside)
                if progress is not None:
                    job = family if family == "transfer" else f"{family} {listed[0]}"
                    progress(i, len(steps), f"{job} {size_label({'shape': shape, 'dtype': dtype})}")
                if time.perf_counter() >= deadline:
                    for one in contenders:
                        one.reason = one.reason or too_late(timeout)
                if _has_clock(backend):
                    limits = settings | {"deadline": deadline}
                    _sample(family, shape, contenders, limits, backend, pool)
                else:
                    for one in contenders:
                        one.reason = one.reason or NO_TIMES
                rows = [_record(family, shape, dtype, one, backend) for one in contenders]
                (_compare_transfers if family == "transfer" else _compare_trips)(rows)
                records += rows
        if progress is not None:
            progress(len(steps), len(steps), "done")
    except KeyboardInterrupt:
        provenance["interrupted"] = True
        raise Interrupted(result()) from None
    return result()


# ---- as text --------------------------------------------------------------------------------


def label(record: dict[str, Any]) -> str:
    """Return who a reason is about."""
    values = record["parameters"]
    return f"{record['family']}-{record['variant']} {values.get('by', values['kind'])}"


def tables(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table for each direction, or each job."""
    first = True
    for family, variant in dict.fromkeys((one["family"], one["variant"]) for one in records):
        members = [one for one in records if (one["family"], one["variant"]) == (family, variant)]
        if any(one["median_ms"] is not None for one in members):
            if not first:
                yield ""
            first = False
            yield from (_transfer_table if family == "transfer" else _trip_table)(variant, members)


def _transfer_table(variant: str, records: list[dict[str, Any]]) -> Iterator[str]:
    counted = {"both": ", both directions together", "within": ", bytes read and written"}
    yield f"transfer {variant}, host clock, GB/s{counted.get(variant, '')}"
    several = len({one["parameters"]["pieces"] for one in records}) > 1
    columns: dict[str, dict[tuple[str, ...], str]] = {}
    labels: dict[tuple[str, ...], None] = {}
    for one in records:
        values = one["parameters"]
        row = (size_label(one), *([str(values["pieces"])] if several else []))
        labels[row] = None
        if one["gbps"] is not None:
            columns.setdefault(values["kind"], {})[row] = f"{one['gbps']:.4g}"
    yield block(["size", *(["pieces"] if several else [])], list(columns), columns, labels)


def _trip_table(variant: str, records: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{variant}: round trip, host clock, ms from ndarray to ndarray; ratio: bus over gpumem"
    labels = dict.fromkeys(
        (size_label(one), one["parameters"]["kind"])
        for one in records
        if one["parameters"]["by"] != "bus"
    )
    columns: dict[str, dict[tuple[str, ...], str]] = {}
    ratio: dict[tuple[str, ...], str] = {}
    for one in records:
        by, kind = one["parameters"]["by"], one["parameters"]["kind"]
        for row in labels:
            # The floor is the same for memory of every kind.
            mine = row[0] == size_label(one) and (by == "bus" or row[1] == kind)
            if mine and one["median_ms"] is not None:
                columns.setdefault(by, {})[row] = f"{one['median_ms']:.4g}"
                if by == "gpumem" and one["fraction_of_reference"] is not None:
                    ratio[row] = f"{one['fraction_of_reference']:.3f}"
    if "bus" in columns:
        columns["bus"] = columns.pop("bus")  # last
    if ratio:
        columns["ratio"] = ratio
    yield block(["size", "kind"], list(columns), columns, labels)
