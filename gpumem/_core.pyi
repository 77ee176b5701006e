"""The extension module: what the C side offers to the Python modules beside it.

Users import :mod:`gpumem`; nothing here is public but the classes it re-exports.
Every function releases the GIL while data moves or a kernel runs.
"""

from collections.abc import Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

BackendName = Literal["cuda", "sim"]

build: dict[str, Any]
"""What was compiled in: ``{"cuda": bool, "nvcc": str | None, "archs": str | None,
"compiler": str}``."""

class CudaError(RuntimeError):
    """A call of the CUDA runtime or driver failed."""

    code: int
    name: str
    call: str
    sticky: bool

class CudaMemoryError(CudaError, MemoryError):
    """The device has not enough free memory."""

class SimulationError(RuntimeError):
    """A kernel did something illegal; the simulator stopped it.

    ``kernel, file, line, block, thread`` say where (None where unknown).
    """

    kernel: str
    file: str | None
    line: int | None
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None

class UnavailableError(RuntimeError):
    """A backend or a variant is not here; the message says why."""

class DeviceArray:
    """An array in the memory of a backend."""

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype: DTypeLike = ...,
        *,
        device: int | None = None,
        backend: str | None = None,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def T(self) -> DeviceArray: ...
    @property
    def backend(self) -> BackendName: ...
    @property
    def device(self) -> int: ...
    @property
    def pointer(self) -> int:
        """Address of the first element in the backend's memory."""
    @property
    def contiguous(self) -> bool: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, after waiting for pending work, so that its stream is None.

        AttributeError on the simulator; BufferError where strides are negative or not of whole
        elements, which other libraries do not take.
        """
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def copy(
        self, *, device: int | None = None, stream: AnyStream | None = None
    ) -> DeviceArray: ...
    def to_host(
        self, out: NDArray[Any] | None = None, *, stream: AnyStream | None = None
    ) -> NDArray[Any]: ...
    def fill_bytes(self, byte: int, *, stream: AnyStream | None = None) -> None:
        """Set every byte of a contiguous array (used to poison outputs)."""
    def reshape(self, *shape: Any) -> DeviceArray: ...
    def view(self, dtype: DTypeLike) -> DeviceArray: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> DeviceArray:
        """A view; integers, slices, ``...`` and ``None`` only."""
    def __hash__(self) -> int:
        """By identity."""
    # TypeError: these need the elements, which are on the device.
    def __eq__(self, other: object) -> NoReturn: ...
    def __ne__(self, other: object) -> NoReturn: ...
    def __lt__(self, other: object) -> NoReturn: ...
    def __le__(self, other: object) -> NoReturn: ...
    def __gt__(self, other: object) -> NoReturn: ...
    def __ge__(self, other: object) -> NoReturn: ...
    def __bool__(self) -> NoReturn: ...
    def __int__(self) -> NoReturn: ...
    def __float__(self) -> NoReturn: ...
    def __complex__(self) -> NoReturn: ...
    def __index__(self) -> NoReturn: ...
    def __iter__(self) -> NoReturn: ...
    def __contains__(self, value: object) -> NoReturn: ...
    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def __array_function__(self, *args: Any, **kwargs: Any) -> NoReturn: ...

class Stream:
    """A queue of work on a backend; work on one stream runs in order."""

    def __init__(self, *, backend: str | None = None) -> None: ...
    @property
    def backend(self) -> BackendName: ...
    @property
    def handle(self) -> int: ...
    def synchronize(self) -> None: ...
    def __cuda_stream__(self) -> tuple[int, int]:
        """(0, handle); UnavailableError on the simulator."""

AnyStream = Stream | int | Any
"""Also a cudaStream_t as an int, objects with ``__cuda_stream__``, and the streams of CuPy, Numba
and PyTorch."""

class Event:
    """A moment on a stream."""

    def __init__(self, *, backend: str | None = None) -> None: ...
    def record(self, stream: AnyStream | None = None) -> None: ...
    def elapsed(self, later: Event) -> float:
        """Milliseconds from this event to a later one; waits for the later one."""

class Prepared:
    """A call that is checked, planned and bound to device arrays, ready to be repeated."""

    @property
    def variant(self) -> str:
        """Name of the variant that runs; never "auto"."""
    def launch(self) -> None: ...

def families() -> tuple[dict[str, Any], ...]:
    """The table: one dict per family in order, each ``{"name", "doc", "inputs": (names),
    "dtypes": (words or None, per input), "in_place": bool, "parameters": (names),
    "variants": (dicts)}``; a variant is ``{"name", "doc", "follows": str | None, "source",
    "block": (x, y, z), "elements", "alignment", "itemsizes": tuple, "kinds": str | None,
    "layout": "contiguous" | "rows" | "strided", "capability": int (90, or 0),
    "library": str | None, "claims": {"load_sectors": float | None, "store_sectors",
    "bank_ways", "width": int | None}}``."""

# Inputs that a family can do without, the c of sgemm, are None or left out of the tuple.
# An in-place family changes its first input: `out` is None, and the result is that input (under
# observation, for host arrays, a new array). Parameters are int or float as the row says.

def available(family: str, variant: str, backend: str | None = None) -> str | None:
    """None when the variant runs on the backend, else the reason why not."""

def call(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    out: Any,
    stream: AnyStream | None,
    backend: str | None,
    parameters: tuple[int | float, ...],
    /,
) -> Any:
    """Run one call. Host arrays in, ndarray out; DeviceArrays, or other libraries' arrays on the
    device, in, DeviceArray out, or the very `out` that was given."""

def prepare(
    family: str,
    variant: str,
    inputs: tuple[DeviceArray, ...],
    out: DeviceArray,
    stream: AnyStream | None,
    parameters: tuple[int | float, ...],
    /,
) -> Prepared: ...
def launch_all(prepared: Sequence[Prepared], count: int, /) -> None:
    """Launch ``count`` times, taking the prepared calls in turn, with no Python in between."""

def traffic(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    parameters: tuple[int | float, ...],
    /,
) -> dict[str, Any]:
    """Run one call on the simulator under observation, always in simulated memory.

    Host arrays are packed on their way there; the layout of a DeviceArray on the simulator is
    observed as it is.

    Returns ``{"family", "variant", "grid": (x, y, z), "block": (x, y, z), "shared_bytes",
    "threads", "warps", "barriers", "kernels": [dicts], "result": as of call, "sites": [dicts]}``.
    ``barriers`` counts block-wide barriers passed, over all blocks. A call may launch helpers
    beside the variant's own kernel, whose grid, block and shared_bytes are given; threads, warps
    and barriers are those of all, and each of ``kernels`` says its own: ``{"name", "doc", "grid",
    "block", "shared_bytes", "threads", "warps", "barriers"}``. One site is one source line, space
    ("global" | "shared"), kind ("load" | "store") and width: ``{"file", "line",
    "space", "kind", "by" ("thread" | "engine" | "pipeline"), "width" (bits), "requests", "lanes"
    (active, summed), "bytes" (asked for, each once per request), "sectors", "lines", "passes",
    "fewest_passes", "uncertain" (accesses that a GPU may put together otherwise), "samples"}``. For
    shared memory sectors and lines are 0; passes through the banks are counted there alone, and
    not for the copies of an engine. ``samples`` are the first 32 requests: ``{"block": (x, y,
    z), "warp", "lanes", "addresses", "bytes"}``, the latter three tuples with one number per
    active lane; addresses are bytes from the start of the allocation, or of shared memory.
    """

def attributes(family: str, variant: str, backend: str | None = None) -> dict[str, Any]:
    """``{"registers", "local_bytes", "shared_bytes", "constant_bytes", "max_threads",
    "blocks", "occupancy", "binary_version"}`` of a kernel on a CUDA device; UnavailableError
    on the simulator and for variants without a kernel."""

def backend(name: str | None = None, /) -> BackendName:
    """The backend that a call with this name would use; UnavailableError says why not."""

def backend_info(name: str, /) -> dict[str, Any]:
    """``{"available": bool, "reason": str | None, "runtime": str, "driver": str,
    "devices": [dicts]}``; a device is ``{"name", "capability": "9.0", "multiprocessors",
    "l2_bytes", "shared_per_block", "memory_bytes", "free_bytes", "clock_khz",
    "memory_clock_khz", "memory_bus_bits", "fp32_lanes", "pci", ...}``."""

def to_device(
    a: ArrayLike,
    *,
    device: int | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> DeviceArray: ...
def adopt_all(
    family: str, inputs: tuple[Any, ...], out: Any, stream: AnyStream | None, /
) -> tuple[Any, ...]:
    """The inputs, then `out`: other libraries' CUDA arrays as DeviceArrays, else as they are.

    Raises ValueError where an `out` on the device overlaps an input, as :func:`call` does.
    For functions that give :func:`call` copies of arrays: a copy overlaps nothing.
    """

def from_dlpack(
    x: Any, /, *, device: int | None = None, copy: bool | None = None
) -> DeviceArray: ...
def empty(
    shape: int | tuple[int, ...],
    dtype: DTypeLike = ...,
    *,
    kind: str = "pageable",
    backend: str | None = None,
) -> np.ndarray[Any, Any]: ...
def memory_kind(a: ArrayLike | DeviceArray, /) -> str: ...
def over(a: NDArray[Any], backend: str | None = None) -> DeviceArray:
    """A host array that the backend can reach, used where it is: of any kind but pageable, which
    is a ValueError. Nobody waits for the device before the host touches it. For measurements."""

def transfer(
    device: DeviceArray,
    host: NDArray[Any],
    to_device: bool,
    count: int,
    driver: bool,
    pieces: int = 1,
    stream: Stream | None = None,
) -> None:
    """Move the same bytes ``count`` times between contiguous arrays, each time in so many pieces,
    one after the other. With ``driver`` what is pageable goes as the driver does it, not by
    gpumem's own chunks. All bytes are there when it returns. For measurements."""

def can_reach(device: int, other: int, backend: str | None = None) -> bool:
    """Can kernels and copies of a device be let reach the memory of another? Its own, always."""

def let_reach(device: int, other: int, on: bool, backend: str | None = None) -> bool:
    """Let them, or no more, for all arrays there; returns whether they were."""

def reach(array: DeviceArray, device: int, /) -> DeviceArray:
    """An array of another device, to be used by this one, which has to be let. The other device
    does not wait for what is done with it here. For measurements."""

def send(source: DeviceArray, target: DeviceArray, count: int, pieces: int = 1) -> None:
    """Move the same bytes ``count`` times from the device of one contiguous array to that of
    another, each time in so many pieces, one after the other: directly where the source's device is
    let reach the target's, else through the host. All bytes are there when it returns. For
    measurements."""

def pool_info(*, backend: str | None = None) -> dict[str, Any]: ...
def pool_trim(*, backend: str | None = None) -> int: ...
def set_chunk(bytes: int, /) -> int:
    """How many bytes of a host array travel at a time; 0 for the default, by which the simulator
    cuts no call into pieces. Returns what it was. For tests and experiments."""

def synchronize(backend: str | None = None, *, device: int | None = None) -> None: ...
