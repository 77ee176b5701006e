"""The extension module, written in C; the Python modules of gpumem are its only users.

Of what is here, only what :mod:`gpumem` exports is public. Every function releases the GIL while
data moves or a kernel runs.
"""

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NoReturn, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Self

from .base.arrays import AnyStream, ForeignArray, Scalar

BackendName = Literal["cuda", "sim"]
_Order = Literal["C", "F", "A"]
_Host = TypeVar("_Host", bound=NDArray[Any])

build: dict[str, Any]
"""How the module was built: ``{"cuda": bool, "nvcc": str | None, "archs": str | None,
"compiler": str}``."""

class CudaError(RuntimeError):
    """A call to the CUDA runtime or driver failed."""

    code: int
    name: str
    call: str
    sticky: bool

class CudaMemoryError(CudaError, MemoryError):
    """The device is out of memory."""

class SimulationError(RuntimeError):
    """A kernel broke a rule of the memory model, and the simulator stopped it.

    ``kernel``, ``file``, ``line``, ``block`` and ``thread`` locate the fault, ``other`` is the
    line of the other side of a race; what is unknown is None. ``rule`` is a word such as
    "race-shared".
    """

    kernel: str
    file: str | None
    line: int | None
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    rule: str
    other: tuple[str, int] | None

class UnavailableError(RuntimeError):
    """A backend or a variant is unavailable; the message says why."""

@final
class Flags:
    """The flags of a DeviceArray, by NumPy's names."""

    @property
    def c_contiguous(self) -> bool: ...
    @property
    def f_contiguous(self) -> bool: ...
    @property
    def writeable(self) -> bool: ...
    def __getitem__(self, key: str, /) -> bool: ...

@final
class DeviceArray:
    """An array in the memory of a backend."""

    def __new__(
        cls,
        shape: int | Sequence[int],
        dtype: DTypeLike = "float32",
        *,
        device: int | None = None,
        backend: str | None = None,
    ) -> Self: ...
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
    def mT(self) -> DeviceArray: ...
    @property
    def backend(self) -> BackendName: ...
    @property
    def device(self) -> int: ...
    @property
    def pointer(self) -> int:
        """The address of the first element in the backend's memory."""
    @property
    def contiguous(self) -> bool: ...
    @property
    def writeable(self) -> bool: ...
    @property
    def flags(self) -> Flags: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3.

        Reading it waits for pending work, so its stream is None. It raises AttributeError on the
        simulator, and BufferError for strides that other libraries refuse: negative ones, and
        those that are not a multiple of the element size.
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
    __dlpack_c_exchange_api__: ClassVar[Any]  # a capsule
    def copy(
        self, *, device: int | None = None, stream: AnyStream | None = None
    ) -> DeviceArray: ...
    def astype(
        self,
        dtype: DTypeLike,
        *,
        order: _Order | Literal["K"] = "C",
        casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "unsafe",
        copy: bool = True,
        stream: AnyStream | None = None,
    ) -> DeviceArray: ...
    @overload
    def to_host(self, out: None = None, *, stream: AnyStream | None = None) -> NDArray[Any]: ...
    @overload
    def to_host(self, out: _Host, *, stream: AnyStream | None = None) -> _Host: ...
    def fill_bytes(self, byte: int, *, stream: AnyStream | None = None) -> None:
        """Set every byte of a contiguous array; tests fill outputs with garbage this way."""
    def reshape(self, *shape: Any, order: _Order = "C") -> DeviceArray: ...
    def ravel(self, order: _Order = "C") -> DeviceArray: ...
    def flatten(self, order: _Order = "C") -> DeviceArray: ...
    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> DeviceArray: ...
    @overload
    def transpose(self, axes: Sequence[int] | None = ..., /) -> DeviceArray: ...
    @overload
    def transpose(self, *axes: int) -> DeviceArray: ...
    def swapaxes(self, axis1: int, axis2: int, /) -> DeviceArray: ...
    def view(self, dtype: DTypeLike | None = None) -> DeviceArray: ...
    def item(self, *index: Any) -> Any: ...
    def tolist(self) -> Any: ...
    def __copy__(self) -> DeviceArray: ...
    def __deepcopy__(self, memo: Any, /) -> DeviceArray: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs; the elements go through the host."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> DeviceArray:
        """Return a view; the key may hold integers, slices, ``...`` and ``None``."""
    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Copy a scalar or an array there, broadcast; a host array has to cast safely."""
    def __delitem__(self, key: Any, /) -> NoReturn: ...
    def __hash__(self) -> int:
        """Hash by identity."""
    # These raise TypeError: they need the elements, which are on the device.
    def __eq__(self, value: object, /) -> NoReturn: ...
    def __ne__(self, value: object, /) -> NoReturn: ...
    def __lt__(self, value: object, /) -> NoReturn: ...
    def __le__(self, value: object, /) -> NoReturn: ...
    def __gt__(self, value: object, /) -> NoReturn: ...
    def __ge__(self, value: object, /) -> NoReturn: ...
    def __bool__(self) -> NoReturn: ...
    def __int__(self) -> NoReturn: ...
    def __float__(self) -> NoReturn: ...
    def __complex__(self) -> NoReturn: ...
    def __index__(self) -> NoReturn: ...
    def __iter__(self) -> NoReturn: ...
    def __contains__(self, key: object, /) -> NoReturn: ...
    # It raises, too; an array as its result would make this an ArrayLike.
    def __array__(self, *args: Any, **kwargs: Any) -> None: ...
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn: ...
    def __array_function__(self, *args: Any, **kwargs: Any) -> NoReturn: ...

@final
class Stream:
    """A queue of work on a backend; work on one stream runs in order."""

    def __new__(cls, *, backend: str | None = None) -> Self: ...
    @property
    def backend(self) -> BackendName: ...
    @property
    def handle(self) -> int: ...
    def synchronize(self) -> None: ...
    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, handle); raise UnavailableError on the simulator."""
    def __enter__(self) -> Self:
        """From here on, calls without a stream join this one."""
    def __exit__(self, *args: object) -> None: ...
    @classmethod
    def current(cls, *, backend: str | None = None) -> Stream | None:
        """Return the stream that calls without one join; None: the default stream."""

@final
class Event:
    """A point in the work of a stream."""

    def __new__(cls, *, backend: str | None = None) -> Self: ...
    def record(self, stream: AnyStream | None = None) -> None: ...
    def elapsed(self, later: Event, /) -> float:
        """Return the milliseconds from this event to a later one; wait for the later one."""

@final
class Prepared:
    """A call that is checked, planned and bound to device arrays; it can be launched many times."""

    @property
    def variant(self) -> str:
        """The name of the variant that runs; never "auto"."""
    @property
    def stream(self) -> int:
        """The handle of the stream that it runs on; 0 is the default stream."""
    def launch(self) -> None: ...

def module_open(
    path: str | os.PathLike[str],
    shared: list[tuple[int, int, str]],
    constant: list[tuple[int, int, str]],
    variables: list[tuple[int, int, str]],
    /,
) -> tuple[
    object,
    tuple[tuple[str, tuple[tuple[str, int, bool, bool], ...]], ...],
    list[tuple[str, str, int, tuple[int, ...], memoryview]],
]:
    """Load a module of kernels.

    Returns a handle; of each kernel its name and its parameters, each of which is (kind, bytes,
    whether it is a pointer, whether to constants); and of each device variable its name, the kind
    and bytes of its elements, its shape, and its memory.
    """

def module_launch(
    handle: object,
    kernel: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_bytes: int,
    values: tuple[bytes, ...],
    traced: bool,
    cooperative: bool,
    all_findings: bool = False,
    /,
) -> dict[str, Any] | None:
    """Run a loaded kernel on the simulator; traced: return what was observed.

    ``{"kernels": [dicts], "sites": [dicts], "findings": [dicts], "cut": bool}``, the first two as
    of :func:`traffic`. With `all_findings` the kernel goes on after a finding where it can, else
    its block ends; without, SimulationError is raised at the first. A finding is ``{"rule",
    "message", "kernel", "file", "line", "block", "thread", "other", "count"}``, as of
    SimulationError; ``count`` is how often the same happened at the same lines. ``cut`` says that
    the run ended early.
    """

@final
class DeviceKernel:
    """A kernel on a GPU, by its CUkernel, with the types and the texts of its parameters."""

    def __new__(
        cls,
        handle: int,
        name: str,
        types: tuple[tuple[str, int, bool, bool], ...],
        texts: tuple[str, ...],
        /,
    ) -> Self: ...
    def launch(
        self,
        values: tuple[Any, ...],
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        shared_bytes: int,
        stream: AnyStream | None,
        cooperative: bool,
        packed: bool,
        /,
    ) -> bool:
        """Queue the kernel; False, and nothing is done, if the caller has to look at the values.

        With `packed` the caller has: values are bytes, arrays of the device, or None.
        """
    def accept(self, parameter: int, dtype: np.dtype[Any], /) -> None:
        """From now on take arrays of this dtype for a parameter."""

def texture(
    data: int,
    pitch: int,
    slice: int,
    size: tuple[int, ...],
    kind: int,
    channels: int,
    channel_bytes: int,
    address: tuple[int, ...],
    linear: bool,
    to_float: bool,
    normalized: bool,
    border: tuple[float, ...],
    /,
) -> tuple[bytes, int]:
    """Return the descriptor of a texture or surface object, and its address.

    The address is the object, for as long as the descriptor is alive. ValueError says what is wrong
    with a texture.
    """

def families() -> tuple[dict[str, Any], ...]:
    """Return the table of families and variants.

    One dict per family, in order: ``{"name", "doc", "inputs": (names), "dtypes": (words or None,
    per input), "in_place": bool, "parameters": (names), "variants": (dicts)}``. A variant is
    ``{"name", "doc", "follows": str | None, "source", "block": (x, y, z), "elements", "alignment",
    "itemsizes": tuple, "kinds": str | None, "layout": "contiguous" | "rows" | "strided",
    "capability": int (90, or 0), "library": str | None, "claims": {"load_sectors": float | None,
    "store_sectors", "bank_ways", "width": int | None}}``.
    """

# An input that a family can do without, such as the c of sgemm, is None or left out of the tuple.
# An in-place family changes its first input: `out` is None, and the result is that input (a new
# array for host arrays under observation). Parameters are int or float, as the row says.

def available(family: str, variant: str, backend: str | None = None) -> str | None:
    """Return None if the variant runs on the backend, else the reason why not."""

def call(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    out: Any,
    stream: AnyStream | None,
    backend: str | None,
    parameters: tuple[int | float, ...],
    chunk: int = 0,
    /,
) -> Any:
    """Run one call.

    Host arrays give an ndarray; DeviceArrays, and other libraries' arrays on the device, give a
    DeviceArray. If `out` is given, it is what is returned.

    `chunk` is the number of bytes of a host array that move at a time. With 0 it depends on the
    size, and the simulator never splits a call. For tests and measurements.
    """

def prepare(
    family: str,
    variant: str,
    inputs: tuple[DeviceArray, ...],
    out: DeviceArray | None,
    stream: AnyStream | None,
    parameters: tuple[int | float, ...],
    /,
) -> Prepared: ...
def launch_all(prepared: Sequence[Prepared], count: int, /) -> None:
    """Launch `count` times, round robin over the prepared calls, with no Python in between."""

def traffic(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    parameters: tuple[int | float, ...],
    out: Any = None,
    /,
) -> dict[str, Any]:
    """Run one call on the simulator under observation, always in simulated memory.

    Host arrays are made contiguous when they are copied there; a DeviceArray on the simulator is
    observed in the layout that it has, and so is `out` if the variant writes any layout.

    Returns ``{"family", "variant", "grid": (x, y, z), "block": (x, y, z), "shared_bytes",
    "threads", "warps", "barriers", "kernels": [dicts], "result": as of call, "sites": [dicts]}``.
    ``barriers`` counts block-wide barriers passed, summed over all blocks. A call may launch
    helper kernels beside the variant's own: grid, block and shared_bytes are the variant's own,
    while threads, warps and barriers are sums over all kernels. Each of ``kernels`` is
    ``{"name", "doc", "grid", "block", "shared_bytes", "threads", "warps", "barriers"}``.

    A site is one source line, space ("global" | "shared" | "constant"), kind ("load" | "store" |
    "atomic") and width: ``{"file", "line", "space", "kind", "by" ("thread" | "engine" |
    "pipeline"), "width" (bits), "turn" (passes of a lane's turn; 0: lanes of one word are served
    together), "requests", "lanes" (active, summed), "bytes" (requested, each byte once per
    request), "sectors", "lines", "passes", "fewest_passes", "uncertain" (accesses that a GPU may
    group differently), "samples"}``. Shared memory has no sectors and lines: both are 0.
    Passes through the banks are counted for shared memory only, and not for copies of an engine.
    ``samples`` are the first 32 requests: ``{"block": (x, y, z), "warp", "lanes", "addresses",
    "bytes"}``, the latter three tuples with one number per active lane; addresses are byte offsets
    from the start of the allocation, or of shared memory.
    """

def astype_traffic(array: DeviceArray, dtype: DTypeLike, /) -> list[dict[str, Any]]:
    """Convert an array of the simulator under observation: ``sites`` as of :func:`traffic`."""

def takes(
    family: str,
    variant: str,
    inputs: tuple[tuple[Any, Any], ...],
    parameters: tuple[int | float, ...],
    backend: str | None = None,
) -> str | None:
    """Return why a variant does not take C-contiguous arrays, or None if it takes them.

    Each input is a pair (shape, dtype); the arrays need not exist.
    """

def attributes(family: str, variant: str, backend: str | None = None) -> dict[str, Any]:
    """Return what a kernel needs of a CUDA device.

    ``{"registers", "local_bytes", "shared_bytes", "constant_bytes", "max_threads", "blocks",
    "occupancy", "binary_version"}``. Raises UnavailableError on the simulator and for variants
    without a kernel.
    """

def backend(name: str | None = None, /) -> BackendName:
    """Return the backend that a call with this name would use; UnavailableError says why not."""

def backend_info(name: str, /) -> dict[str, Any]:
    """Return the state of a backend and its devices.

    ``{"available": bool, "reason": str | None, "runtime": str, "driver": str, "devices":
    [dicts]}``; a device is ``{"name", "capability": "9.0", "multiprocessors", "l2_bytes",
    "shared_per_block", "memory_bytes", "free_bytes", "clock_khz", "memory_clock_khz",
    "memory_bus_bits", "fp32_lanes", "pci", ...}``.
    """

def to_device(
    a: ArrayLike | ForeignArray,
    *,
    device: int | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> DeviceArray: ...
def pack_bytes(
    numbers: object, least: int, most: int, zero: int, each: int, longest: int, count: int, /
) -> tuple[int, ...] | None:
    """Return `count` integers with a byte for each of some numbers, `each` to an integer.

    The byte is the number plus `zero`; the first number has the lowest byte, and bytes without one
    are 0. None if `numbers` is not a tuple of ints from `least` to `most`, from one to `longest`
    of them that fit: whoever asks has to find out what is wrong.
    """

def adopt_all(
    family: str, inputs: tuple[Any, ...], out: Any, stream: AnyStream | None, /
) -> tuple[Any, ...]:
    """Return the inputs, then `out`, with other libraries' CUDA arrays as DeviceArrays.

    Raises ValueError if an `out` on the device overlaps an input, as :func:`call` does. For
    functions that pass copies to :func:`call`, which would hide the overlap.
    """

def adopt(x: Any, name: str, stream: AnyStream | None, /) -> DeviceArray | None:
    """Return another library's array on a CUDA device, ready for work on the stream.

    None if it is none. Messages call it by the name.
    """

def check_stream(stream: AnyStream | None, backend: str, /) -> None:
    """Raise TypeError if it is no stream, ValueError if it is one of another backend."""

def check_unmasked(x: Any, name: str, /) -> None:
    """Raise TypeError if it is a masked array, or a list of them; `name` is for the message."""

def view_host(x: Any, name: str, /) -> NDArray[Any] | None:
    """Return an ndarray over another library's array of the host, read by DLPack.

    None if it is none, or does not speak it. Messages call it by the name.
    """

def from_dlpack(
    x: NDArray[Any] | ForeignArray, /, *, device: int | None = None, copy: bool | None = None
) -> DeviceArray: ...
@overload
def empty(
    shape: int | Sequence[int], *, kind: str = "pageable", backend: str | None = None
) -> NDArray[np.float32]: ...
@overload
def empty(
    shape: int | Sequence[int],
    dtype: type[Scalar] | np.dtype[Scalar],
    *,
    kind: str = "pageable",
    backend: str | None = None,
) -> NDArray[Scalar]: ...
@overload
def empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = "float32",
    *,
    kind: str = "pageable",
    backend: str | None = None,
) -> NDArray[Any]: ...
def memory_kind(a: Any, /) -> str: ...  # what has memory; not all that is ArrayLike
def over(a: NDArray[Any], backend: str | None = None) -> DeviceArray:
    """Return a DeviceArray over a host array, in place.

    The array may be of any kind of memory that the backend can reach; a pageable one raises
    ValueError. Nothing makes the host wait for the device before it touches the array. For
    measurements.
    """

def transfer(
    device: DeviceArray,
    host: NDArray[Any],
    to_device: bool,
    count: int,
    driver: bool,
    pieces: int = 1,
    stream: Stream | None = None,
    chunk: int = 0,
) -> None:
    """Copy the same bytes `count` times between contiguous arrays, each time in `pieces` pieces.

    With `driver`, pageable memory is copied by the driver rather than in gpumem's own chunks of
    `chunk` bytes, as in :func:`call`. All copies are complete on return. For measurements.
    """

def can_reach(device: int, other: int, backend: str | None = None) -> bool:
    """Return whether peer access from a device to another can be enabled; to itself, always."""

def let_reach(device: int, other: int, on: bool, backend: str | None = None) -> bool:
    """Enable or disable peer access for all arrays; return whether it was enabled before."""

def reach(array: DeviceArray, device: int, /) -> DeviceArray:
    """Return another device's array for use by this device, which needs peer access.

    The other device does not wait for the work done with it here. For measurements.
    """

def send(source: DeviceArray, target: DeviceArray, count: int, pieces: int = 1) -> None:
    """Copy the same bytes `count` times between the devices of two contiguous arrays.

    Each copy goes in `pieces` pieces, directly where the source's device has peer access to the
    target's, else through the host. All copies are complete on return. For measurements.
    """

def pool_info(*, backend: str | None = None) -> dict[str, Any]: ...
def pool_trim(*, backend: str | None = None) -> int: ...
def synchronize(backend: str | None = None, *, device: int | None = None) -> None: ...
