"""The steps of tools/soak.py: each makes random arguments, calls gpumem, and checks the answer."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import gpumem as gm
from gpumem.families import oracle
from gpumem.families.table import FAMILIES

KINDS = ("pageable", "pinned", "write_combined", "mapped", "managed")
# Bytes of the first input and operations of a step; a simulator is slower.
MOST = {"cuda": (1 << 23, 4e9), "sim": (1 << 19, 2e6)}
TRACED = 1 << 13  # bytes
SIMULATED = 2 << 30  # bytes: the address space that a process has on a simulator to be filled
SOURCE = """
__global__ void scale(const float *x, float *y, float by, int n)
{
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = by * tile[threadIdx.x];
}
"""


class Refused(Exception):
    """gpumem has refused a call with an error of the documented kind."""


def ran_out(error: BaseException) -> bool:
    """Whether it says that memory ran out; other libraries have errors of their own for that."""
    kind = type(error)
    theirs = kind.__module__.partition(".")[0] in ("torch", "cupy", "cupy_backends")
    return isinstance(error, MemoryError) or (theirs and "out of memory" in str(error).lower())


class Worker:
    """What a thread keeps from step to step: its streams, and some arrays."""

    def __init__(self, number: int, backend: str, scarce: bool = False) -> None:
        self.number, self.backend, self.scarce = number, backend, scarce
        # NumPy's BLAS ends the process if it finds no memory of the host for itself.
        spared = ("sgemm", "matmul") if scarce and backend == "sim" else ()
        # A kernel that touches managed memory while the device is full ends the context: the driver
        # finds no room for its pages. SECURITY.md says so; without it the rest can be tried.
        self.moves = not (scarce and backend == "cuda")
        self.kinds = KINDS if self.moves else KINDS[: KINDS.index("managed")]
        self.families = [one for one in FAMILIES if one not in spared]
        self.streams = [None, gm.Stream(backend=backend), gm.Stream(backend=backend)]
        self.doing = ""

    def stream(self, rng: np.random.Generator) -> Any:
        return self.streams[rng.integers(len(self.streams))]


def one_of(rng: np.random.Generator, choices: Any) -> Any:
    return list(choices)[rng.integers(len(choices))]


@functools.cache
def shared_module(backend: str) -> Any:
    """A loaded module, or None where users' kernels cannot be compiled."""
    try:
        return gm.load(source=SOURCE, backend=backend)
    except gm.UnavailableError:
        return None


def make_ready(backend: str) -> None:
    """Have what takes much memory once: the context, the module, other libraries' own."""
    shared_module(backend)
    gm.copy(np.arange(1000.0), backend=backend)
    for name in libraries(backend):
        library = importlib.import_module(name)
        if backend == "cuda" and name != "numpy":
            array = library.ones(1000).cuda() if name == "torch" else library.ones(1000)
            gm.copy(array)


def on_host(result: Any, stream: Any = None) -> np.ndarray:
    """The elements of an array of any library."""
    if isinstance(result, gm.DeviceArray):
        return result.to_host(stream=stream)
    if stream is not None:
        stream.synchronize()
    if hasattr(result, "get"):  # CuPy's
        return result.get()
    return result.cpu().numpy() if hasattr(result, "cpu") else np.asarray(result)


def same(got: Any, wanted: np.ndarray) -> None:
    """Raise AssertionError unless shape, dtype and every byte are the same."""
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), (got.shape, got.dtype)
    assert np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(wanted).tobytes(), "bytes"


# ---- families -----------------------------------------------------------------------------------


def problem(rng: np.random.Generator, family: str, backend: str) -> tuple[Any, Any, dict]:
    """A random shape of any size, with odd sides, a dtype and keywords."""
    how = FAMILIES[family].oracle
    dtype, keywords = np.dtype(one_of(rng, how.dtypes)), one_of(rng, how.keywords)
    if rng.random() < 0.25:
        return one_of(rng, how.shapes), dtype, keywords
    most, operations = MOST[backend]
    nbytes = int(2 ** rng.uniform(0, np.log2(most)))
    least = min((side for shape in how.shapes for side in shape), default=0)  # may it be empty?
    while True:
        shape = oracle.shape_for(family, max(nbytes, dtype.itemsize), dtype)
        shape = tuple(max(min(least, 1), int(side + rng.integers(-3, 4))) for side in shape)
        if shape and family == "shift_points":
            shape = oracle.shape_for(family, max(nbytes, dtype.itemsize), dtype)
        if (oracle.work(family, shape, dtype, **keywords)[1] or 0) <= operations:
            return shape, dtype, keywords
        nbytes //= 2


def put(there: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Copy every byte: NumPy leaves out what is between the fields of a structure."""
    plain = f"V{a.dtype.itemsize}"
    there.view(plain)[...] = a.view(plain)
    return there


def laid_out(rng: np.random.Generator, a: np.ndarray, worker: Worker) -> tuple[Any, str]:
    """The same elements on host or device, in some layout; and how."""
    backend = worker.backend
    how = one_of(rng, ("host", "device", "kind", "strided", "fortran", "device view"))
    if a.ndim == 0 and how in ("strided", "fortran", "device view"):
        how = "host"
    if how == "kind":
        how = one_of(rng, worker.kinds)
        return put(gm.empty(a.shape, a.dtype, kind=how, backend=backend), a), how
    if how == "device":
        return gm.to_device(a, backend=backend), how
    if how in ("strided", "device view"):
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
        put(wide[..., 1::2], a)
        if how == "strided":
            return wide[..., 1::2], how
        return gm.to_device(wide, backend=backend)[..., 1::2], how
    return (put(np.empty(a.shape, a.dtype, "F"), a) if how == "fortran" else a), how


def call_family(worker: Worker, rng: np.random.Generator) -> None:
    family = one_of(rng, worker.families)
    shape, dtype, keywords = problem(rng, family, worker.backend)
    known = [v for v in gm.variants(family) if v.reason_on(worker.backend) is None]
    known = [v for v in known if worker.moves or "managed" not in v.name]
    variant = one_of(rng, [None, *(v for v in known if oracle.takes(v, shape, dtype))])
    name = variant.name if variant else "auto"
    arrays = oracle.arguments(family, shape, dtype, seed=int(rng.integers(2**31)), **keywords)
    worker.doing = f"{family}-{name} {shape} {dtype} {keywords}"
    with np.errstate(all="ignore"):
        wanted = oracle.expected(family, *arrays, variant=name, **keywords)
        within = oracle.bound(family, *arrays, variant=name, **keywords)
    placed = [laid_out(rng, a, worker) for a in arrays]
    stream = worker.stream(rng)
    worker.doing += f" {[how for _, how in placed]} stream {stream is not None}"
    function = variant or getattr(gm, family)
    try:
        result = function(
            *(a for a, _ in placed), backend=worker.backend, stream=stream, **keywords
        )
    except (ValueError, TypeError, gm.UnavailableError) as error:
        # `auto` has to take what the oracle makes, wherever all of it is.
        plain = len({"device" in how for _, how in placed}) == 1 and variant is None
        if plain and not {how for _, how in placed} & {"strided", "fortran", "device view"}:
            raise
        raise Refused from error
    oracle.compare(family, on_host(result, stream), wanted, within)


# ---- arrays -------------------------------------------------------------------------------------


def some_array(rng: np.random.Generator, backend: str) -> np.ndarray:
    sides = tuple(int(side) for side in rng.integers(0, 40, rng.integers(1, 4)))
    dtype = np.dtype(one_of(rng, ("u1", "i2", "f4", "f8", "c16")))
    if rng.random() < 0.2:
        sides = (int(2 ** rng.uniform(0, np.log2(MOST[backend][0]))) // dtype.itemsize,)
    return rng.integers(0, 100, sides).astype(dtype)


def move(worker: Worker, rng: np.random.Generator) -> None:
    """To the device and back, by way of a kind of memory, on a stream."""
    a = some_array(rng, worker.backend)
    kind, stream = one_of(rng, worker.kinds), worker.stream(rng)
    worker.doing = f"{a.shape} {a.dtype} {kind}"
    here = gm.empty(a.shape, a.dtype, kind=kind, backend=worker.backend)
    here[...] = a
    there = gm.to_device(here, backend=worker.backend, stream=stream)
    copied = gm.copy(there, backend=worker.backend, stream=stream)
    same(on_host(copied, stream), a)


def index(worker: Worker, rng: np.random.Generator) -> None:
    """Views, assignments and conversions of an array on the device."""
    a = some_array(rng, worker.backend)
    there = gm.to_device(a, backend=worker.backend)
    cut = tuple(
        slice(None, None, int(step)) if step else slice(1, None)
        for step in rng.choice([-2, -1, 0, 1, 3], a.ndim)
    )
    wanted = a.copy()
    worker.doing = f"{a.shape} {a.dtype} {cut}"
    same(there[cut].to_host(), wanted[cut])
    there[cut] = 7
    wanted[cut] = 7
    same(there.to_host(), wanted)
    if a.dtype.kind != "c":
        same(there.T.astype("f8").to_host(), wanted.T.astype("f8"))


def exchange(worker: Worker, rng: np.random.Generator) -> None:
    """Arrays of other libraries, in and out."""
    a = some_array(rng, worker.backend)
    name = one_of(rng, libraries(worker.backend))
    worker.doing = f"{name} {a.shape} {a.dtype}"
    if name == "torch":
        import torch

        theirs = torch.from_numpy(a.copy())
        theirs = theirs.cuda() if worker.backend == "cuda" else theirs
    elif name == "cupy":
        import cupy

        theirs = cupy.asarray(a)
    else:
        theirs = a.copy()
    same(on_host(gm.copy(theirs, backend=worker.backend)), a)
    on_device = worker.backend == "cuda" and name == "numpy"  # there, host memory is copied
    lent = gm.to_device(theirs) if on_device else gm.from_dlpack(theirs)
    same(on_host(lent), a)
    if on_device:
        return
    back = np.from_dlpack(lent) if isinstance(lent, np.ndarray) or name == "numpy" else lent
    same(on_host(back), a)


@functools.cache
def libraries(backend: str) -> tuple[str, ...]:
    found = ["numpy"]
    found += ["torch"] if importlib.util.find_spec("torch") else []
    found += ["cupy"] if backend == "cuda" and importlib.util.find_spec("cupy") else []
    return tuple(found)


# ---- users' kernels, traffic, refusals ----------------------------------------------------------


def launch(worker: Worker, rng: np.random.Generator) -> None:
    module = shared_module(worker.backend)
    if module is None:
        raise Refused
    count, by = int(rng.integers(1, 5000)), float(rng.integers(1, 9))
    x, y = rng.random(count, dtype="f4"), np.zeros(count, "f4")
    worker.doing = f"{count} threads"
    there, out = (gm.to_device(a, backend=worker.backend) for a in (x, y))
    module["scale"][-(-count // 64), 64](there, out, by, count)
    same(out.to_host(), x * np.float32(by))


def count(worker: Worker, rng: np.random.Generator) -> None:
    """What is counted depends on the call alone."""
    family = one_of(rng, worker.families)
    variant = one_of(rng, [v for v in gm.variants(family) if v.reason_on("sim") is None])
    worker.doing = str(variant)
    arrays = oracle.claimed_arguments(variant, int(rng.integers(64, TRACED)))
    found = []
    for _ in range(2):
        try:
            r = gm.traffic(family, *(a.copy() for a in arrays), variant=variant.name)
        except ValueError as error:  # it has no kernel
            raise Refused from error
        found.append((r.threads, r.requests, r.barriers, r.bytes_asked, r.bytes_moved))
    first, second = found
    assert first == second, (first, second)


def refuse(worker: Worker, rng: np.random.Generator) -> None:
    """Calls that must raise, and leave everything as it was."""
    a = np.arange(12, dtype="f4").reshape(3, 4)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: gm.copy(a, variant="no such", backend=worker.backend),
        lambda: gm.copy(a, out=np.empty((4, 4), "f4"), backend=worker.backend),
        lambda: gm.transpose(np.float32(1), backend=worker.backend),
        lambda: gm.gather(a.reshape(-1), np.array([99]), backend=worker.backend),
        lambda: gm.DeviceArray((2**62, 2**62), backend=worker.backend),
        lambda: gm.DeviceArray((-1,), backend=worker.backend),
        lambda: gm.sgemm(a, a, backend=worker.backend),
        lambda: gm.to_device(np.array([object()]), backend=worker.backend),
        lambda: gm.from_dlpack(a.tolist()),
    )
    number = int(rng.integers(len(calls)))
    worker.doing = f"call {number}"
    try:
        calls[number]()
    except (ValueError, TypeError, IndexError, AttributeError):
        raise Refused from None
    except MemoryError:
        if number == 4:
            raise Refused from None
        raise
    raise AssertionError("it was taken")


def too_large(worker: Worker, rng: np.random.Generator) -> None:
    """About all that is free, where memory is scarce, and maybe more than that."""
    if not worker.scarce:
        raise Refused
    free = gm.info()["backends"][worker.backend]["devices"][0]["free_bytes"]
    nbytes = int(free * rng.uniform(0.5, 1.5)) if worker.backend == "cuda" else SIMULATED
    worker.doing = f"{nbytes} bytes"
    there = gm.DeviceArray((nbytes,), "u1", backend=worker.backend)
    value = int(rng.integers(256))
    there[...] = value
    for at in (0, nbytes // 2, max(nbytes - 1000, 0)):
        assert (there[at : at + 1000].to_host() == value).all(), at


def trim(worker: Worker, rng: np.random.Generator) -> None:
    gm.pool_trim(backend=worker.backend)
    for name in {"torch", "cupy"} & sys.modules.keys():
        library = sys.modules[name]
        if name == "torch":
            library.cuda.empty_cache()
        else:
            library.get_default_memory_pool().free_all_blocks()


# More of what there is more of.
STEPS: dict[str, Callable[[Worker, np.random.Generator], None]] = {
    "call": call_family,
    "call again": call_family,
    "another call": call_family,
    "move": move,
    "index": index,
    "exchange": exchange,
    "launch": launch,
    "count": count,
    "refuse": refuse,
    "too large": too_large,
    "trim": trim,
}
