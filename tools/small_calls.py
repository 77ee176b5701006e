"""The small calls that tools/call_overheads.py measures, gpumem's and the libraries' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import gpumem as gm

SIDE = 32
COUNT = SIDE * SIDE
GPUMEM = "gpumem"
# gather and scatter_add raise within the call, so they wait. Beside them are the libraries' calls,
# which do not; PyTorch's with a wait, by which it says that an index was wrong; and a check of
# one's own.
WAIT = "{}; wait"
CHECK = "if wrong(index).any(): raise; {}"
# As the libraries' own calls: it does not wait, and a wrong index is no error.
WRAPPED = 'gather(..., mode="wrap", out=)'
ADD_WRAPPED = 'scatter_add(out, ..., mode="wrap")'

Job = Callable[[], object]
Calls = tuple[tuple[str, str, Job], ...]  # gpumem's function, the library's call, and that itself


def checked(index: Any, count: int, work: Job) -> Job:
    """Return a call that raises where an index is out of range, as NumPy does, and else works."""

    def job() -> None:
        if ((index < -count) | (index >= count)).any():
            raise IndexError
        work()

    return job


def in_a_row(*jobs: Job) -> Job:
    """Return a call that does all of them, one after the other."""

    def job() -> None:
        for one in jobs:
            one()

    return job


class Measured(NamedTuple):
    """One call that is measured."""

    library: str  # whose arrays it takes
    function: str  # gpumem's, that does the same
    by: str  # who does it: gpumem, or the call of the library
    job: Job


def arrays(convert: Callable[[Any], Any], random: np.random.Generator) -> dict[str, Any]:
    """Return inputs and results for every function that is measured, as one library's arrays."""

    def numbers(*shape: int) -> Any:
        return convert(random.random(shape, np.float32))

    return {
        "a": numbers(SIDE, SIDE),
        "b": numbers(SIDE, SIDE),
        "out": numbers(SIDE, SIDE),
        "cube": numbers(SIDE, 4, SIDE),
        "turned": numbers(SIDE, SIDE, 4),
        "row": numbers(COUNT),
        "row_out": numbers(COUNT),
        "half": numbers(COUNT // 2),
        "index": convert(random.permutation(COUNT)),
        "number": convert(np.zeros((), np.float32)),
        "raised": convert(np.zeros((), np.float32)),
        "points": numbers(COUNT, 2),
        "moved": numbers(COUNT, 2),
        "shift": convert(np.array([1, 2], np.float32)),
        "coefficients": numbers(4),
        "bytes": convert(random.integers(0, 256, COUNT, np.uint8)),
        "counts": convert(np.zeros(256, np.uint64)),
        "words": convert(random.integers(0, 1 << 30, (2, COUNT), np.int32)),
        "mixed": convert(np.zeros((1, COUNT), np.int32)),
        "places": convert(random.uniform(0, SIDE - 1, (COUNT, 2)).astype(np.float32)),
        "doubles": convert(random.random((SIDE, SIDE))),
        "sums": convert(np.zeros(SIDE)),
        "ring": convert((np.arange(SIDE, dtype=np.int32) + 1) % SIDE),
        "end": convert(np.zeros((), np.int32)),
    }


def gpumems(library: str, x: dict[str, Any]) -> Iterator[Measured]:
    a, b, row, out, row_out = x["a"], x["b"], x["row"], x["out"], x["row_out"]
    index, points, coefficients = x["index"], x["points"], x["coefficients"]
    jobs: dict[str, Job] = {
        "copy": lambda: gm.copy(a, out=out),
        "transpose": lambda: gm.transpose(a, out=out),
        "permute": lambda: gm.permute(x["cube"], (2, 0, 1), out=x["turned"]),
        "add": lambda: gm.add(a, b, out=out),
        "sgemm": lambda: gm.sgemm(a, b, out=out),
        "matmul": lambda: gm.matmul(a, b, out=out),
        "strided_read": lambda: gm.strided_read(row, 0, 2, out=x["half"]),
        "strided_write(out, ...)": lambda: gm.strided_write(row_out, x["half"], 0, 2),
        "gather": lambda: gm.gather(row, index, out=row_out),
        WRAPPED: lambda: gm.gather(row, index, mode="wrap", out=row_out),
        "scatter_add(out, ...)": lambda: gm.scatter_add(row_out, index, row),
        ADD_WRAPPED: lambda: gm.scatter_add(row_out, index, row, mode="wrap"),
        "shift_points": lambda: gm.shift_points(points, 1, 2, out=x["moved"]),
        "polynomial": lambda: gm.polynomial(row, coefficients, out=row_out),
        "sample": lambda: gm.sample(a, x["places"], out=row_out),
        "stream": lambda: gm.stream(x["words"], 1, out=x["mixed"]),
        "prefetch_sum(..., work=0, out=)": lambda: gm.prefetch_sum(
            x["doubles"], work=0, out=x["sums"]
        ),
        "reduce": lambda: gm.reduce(row, out=x["number"]),
        "scan": lambda: gm.scan(row, out=row_out),
        "histogram": lambda: gm.histogram(x["bytes"], out=x["counts"]),
        "chase(..., steps=1, out=)": lambda: gm.chase(x["ring"], 1, out=x["end"]),
        "static_value": lambda: gm.static_value(x["number"], out=x["raised"]),
    }
    for function, job in jobs.items():
        yield Measured(library, function, GPUMEM, job)


def on_gpumems(backend: str, random: np.random.Generator) -> Iterator[Measured]:
    yield from gpumems("DeviceArray", arrays(lambda a: gm.to_device(a, backend=backend), random))


def _of_library(library: str, calls: Calls) -> Iterator[Measured]:
    for function, by, job in calls:
        yield Measured(library, function, by, job)


def on_pytorchs(random: np.random.Generator) -> Iterator[Measured]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    x = arrays(lambda a: torch.tensor(a, device="cuda"), random)
    yield from gpumems("PyTorch", x)
    a, b, out, row, row_out, index = x["a"], x["b"], x["out"], x["row"], x["row_out"], x["index"]
    points, places, words = x["points"], x["places"], x["words"]
    image, grid = a[None, None], (places * (2 / (SIDE - 1)) - 1)[None, None]
    coefficients = x["coefficients"].flip(0).unbind()
    wait = torch.cuda.current_stream().synchronize

    def take() -> object:
        return torch.take(row, index, out=row_out)

    def index_add() -> object:
        return row_out.index_add_(0, index, row)

    def horner() -> object:
        first, *others = coefficients
        value = first
        for other in others:
            value = torch.addcmul(other, value, row)
        return value

    def grid_sample() -> object:
        return torch.nn.functional.grid_sample(
            image, grid, padding_mode="border", align_corners=True
        )

    yield from _of_library(
        "PyTorch",
        (
            ("copy", "out.copy_(a)", lambda: out.copy_(a)),
            ("transpose", "out.copy_(a.T)", lambda: out.copy_(a.T)),
            (
                "permute",
                "out.copy_(a.permute())",
                lambda: x["turned"].copy_(x["cube"].permute(2, 0, 1)),
            ),
            ("add", "torch.add(out=)", lambda: torch.add(a, b, out=out)),
            ("sgemm", "torch.mm(out=)", lambda: torch.mm(a, b, out=out)),
            ("matmul", "torch.matmul(out=)", lambda: torch.matmul(a, b, out=out)),
            ("strided_read", "out.copy_(a[::2])", lambda: x["half"].copy_(row[::2])),
            (
                "strided_write(out, ...)",
                "out[::2].copy_(a)",
                lambda: row_out[::2].copy_(x["half"]),
            ),
            ("gather", "torch.take(out=)", take),
            ("gather", WAIT.format("take(out=)"), in_a_row(take, wait)),
            ("gather", CHECK.format("take(out=)"), checked(index, COUNT, take)),
            (WRAPPED, "torch.take(out=)", take),
            ("scatter_add(out, ...)", "out.index_add_()", index_add),
            ("scatter_add(out, ...)", WAIT.format("index_add_()"), in_a_row(index_add, wait)),
            (
                "scatter_add(out, ...)",
                CHECK.format("index_add_()"),
                checked(index, COUNT, index_add),
            ),
            (ADD_WRAPPED, "out.index_add_()", index_add),
            (
                "shift_points",
                "torch.add(out=)",
                lambda: torch.add(points, x["shift"], out=x["moved"]),
            ),
            ("polynomial", "torch.addcmul(), three", horner),
            ("sample", "grid_sample()", grid_sample),
            (
                "stream",
                "torch.bitwise_xor(out=)",
                lambda: torch.bitwise_xor(words[0], words[1], out=x["mixed"][0]),
            ),
            (
                "prefetch_sum(..., work=0, out=)",
                "torch.sum(out=)",
                lambda: torch.sum(x["doubles"], 1, out=x["sums"]),
            ),
            ("reduce", "torch.sum(out=)", lambda: torch.sum(row, 0, out=x["number"])),
            ("scan", "torch.cumsum(out=)", lambda: torch.cumsum(row, 0, out=row_out)),
            ("histogram", "torch.bincount()", lambda: torch.bincount(x["bytes"], minlength=256)),
        ),
    )


def on_cupys(random: np.random.Generator) -> Iterator[Measured]:
    import cupy
    import cupyx
    import cupyx.scipy.ndimage

    x = arrays(cupy.asarray, random)
    yield from gpumems("CuPy", x)
    a, b, out, row, row_out, index = x["a"], x["b"], x["out"], x["row"], x["row_out"], x["index"]
    turned, half, points, words = x["turned"], x["half"], x["points"], x["words"]
    places = cupy.ascontiguousarray(x["places"][:, ::-1].T)
    falling = x["coefficients"][::-1].copy()

    def take() -> object:
        return cupy.take(row, index, out=row_out)

    def scatter_add() -> object:
        return cupyx.scatter_add(row_out, index, row)

    def map_coordinates() -> object:
        return cupyx.scipy.ndimage.map_coordinates(
            a, places, output=row_out, order=1, mode="nearest"
        )

    yield from _of_library(
        "CuPy",
        (
            ("copy", "cupy.copyto(out, a)", lambda: cupy.copyto(out, a)),
            ("transpose", "cupy.copyto(out, a.T)", lambda: cupy.copyto(out, a.T)),
            ("permute", "cupy.copyto()", lambda: cupy.copyto(turned, x["cube"].transpose(2, 0, 1))),
            ("add", "cupy.add(out=)", lambda: cupy.add(a, b, out=out)),
            ("sgemm", "cupy.dot(out=)", lambda: cupy.dot(a, b, out=out)),
            ("matmul", "cupy.matmul(out=)", lambda: cupy.matmul(a, b, out=out)),
            ("strided_read", "cupy.copyto(out, a[::2])", lambda: cupy.copyto(half, row[::2])),
            (
                "strided_write(out, ...)",
                "cupy.copyto(out[::2], a)",
                lambda: cupy.copyto(row_out[::2], half),
            ),
            ("gather", "cupy.take(out=)", take),
            ("gather", CHECK.format("take(out=)"), checked(index, COUNT, take)),
            (WRAPPED, "cupy.take(out=)", take),
            ("scatter_add(out, ...)", "cupyx.scatter_add()", scatter_add),
            (
                "scatter_add(out, ...)",
                CHECK.format("scatter_add()"),
                checked(index, COUNT, scatter_add),
            ),
            (ADD_WRAPPED, "cupyx.scatter_add()", scatter_add),
            (
                "shift_points",
                "cupy.add(out=)",
                lambda: cupy.add(points, x["shift"], out=x["moved"]),
            ),
            ("polynomial", "cupy.polyval()", lambda: cupy.polyval(falling, row)),
            ("sample", "map_coordinates(order=1, output=)", map_coordinates),
            (
                "stream",
                "cupy.bitwise_xor(out=)",
                lambda: cupy.bitwise_xor(words[0], words[1], out=x["mixed"][0]),
            ),
            (
                "prefetch_sum(..., work=0, out=)",
                "cupy.sum(out=)",
                lambda: cupy.sum(x["doubles"], 1, out=x["sums"]),
            ),
            ("reduce", "cupy.sum(out=)", lambda: cupy.sum(row, out=x["number"])),
            ("scan", "cupy.cumsum(out=)", lambda: cupy.cumsum(row, out=row_out)),
            ("histogram", "cupy.bincount()", lambda: cupy.bincount(x["bytes"], minlength=256)),
        ),
    )


def name_row_stack() -> None:
    """Give NumPy back a name that it dropped: numba-cuda 0.30 refers to it when it compiles."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack


def on_numbas(random: np.random.Generator) -> Iterator[Measured]:
    name_row_stack()
    from numba import cuda

    @cuda.jit
    def transpose(x, out):
        row, column = cuda.grid(2)
        out[column, row] = x[row, column]

    @cuda.jit
    def add(x, y, out):
        row, column = cuda.grid(2)
        out[row, column] = x[row, column] + y[row, column]

    x = arrays(cuda.to_device, random)
    yield from gpumems("Numba", x)
    a, b, out = x["a"], x["b"], x["out"]
    block = (SIDE, SIDE)
    yield from _of_library(
        "Numba",
        (
            ("copy", "out.copy_to_device(a)", lambda: out.copy_to_device(a)),
            ("transpose", "a @cuda.jit kernel", lambda: transpose[1, block](a, out)),
            ("add", "a @cuda.jit kernel", lambda: add[1, block](a, b, out)),
        ),
    )
