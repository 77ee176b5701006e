"""Products of matrices larger than memory: `matmul`."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np

from .. import _core
from .._core import DeviceArray
from ..base.progress import Progress
from ..families import keywords
from ..families.sgemm import sgemm
from .files import Opened, Path, Target, open_source
from .limits import FIXED, checked_limit, free_on_device, too_small
from .mapped import Array
from .pipeline import SLOTS, checked_progress, read_part, run, write_part

_BYTES = 4  # of a float32
_DEEP = 4  # a panel's depth is a fourth of a block's side
_LEAST = 64  # elements of a side
_LONG = 1024  # elements of a depth that is worth shorter blocks: a page of each row
_USABLE = 0.8  # of the device's free memory
# In blocks of the result: on the host its buffers and mapped pages, on the device the sums and
# the product's own memory.
_HOST_BLOCKS, _DEVICE_BLOCKS = SLOTS + 1, 3
# In pairs of panels.
_HOST_PANELS, _DEVICE_PANELS = SLOTS + 1, 3


@dataclass(frozen=True)
class Blocks:
    """Blocks of the result, and into which panels of the depth their sums are split."""

    m: int
    n: int
    k: int
    rows: int
    columns: int
    depth: int

    @property
    def down(self) -> int:
        """The number of blocks from top to bottom."""
        return -(-self.m // self.rows)

    @property
    def across(self) -> int:
        """The number of blocks from left to right."""
        return -(-self.n // self.columns)

    @property
    def panels(self) -> int:
        """The number of panels, at least one, which may be empty."""
        return max(1, -(-self.k // self.depth))

    def place(self, step: int) -> tuple[slice, slice, slice]:
        """Return rows, columns and depth of a step."""
        block, panel = divmod(step, self.panels)
        i, j = divmod(block, self.across)
        return (
            slice(i * self.rows, min((i + 1) * self.rows, self.m)),
            slice(j * self.columns, min((j + 1) * self.columns, self.n)),
            slice(panel * self.depth, min((panel + 1) * self.depth, self.k)),
        )


def blocks(m: int, n: int, k: int, limit: int, device: int | None) -> Blocks:
    """Return blocks as large as memory allows: a block's side says how often factors are read.

    Parameters
    ----------
    m, n, k : int
        The product is m x k by k x n.
    limit : int
        Bytes that host memory may take, and with it the simulator.
    device : int or None
        Free bytes of the GPU; None on the simulator.
    """
    host = (_HOST_BLOCKS, _HOST_PANELS)
    there = (_DEVICE_BLOCKS, _DEVICE_PANELS)
    if device is None:
        areas = [_area(limit - FIXED, host[0] + there[0], host[1] + there[1])]
    else:
        areas = [_area(limit - FIXED, *host), _area(int(device * _USABLE), *there)]
    area = min(areas)
    if area < _LEAST**2:
        raise too_small(limit, -(-limit * _LEAST**2 // max(1, area)))
    side, panel = math.isqrt(area), area // _DEEP
    longest = max(side, panel // max(1, min(k, _LONG)))
    rows = max(1, min(m, max(side, area // max(1, n)), longest))
    columns = max(1, min(n, area // rows, longest))
    return Blocks(m, n, k, rows, columns, max(1, min(k, panel // max(rows, columns))))


def _area(memory: int, count: int, pairs: int) -> int:
    """Return the elements of a block if so many blocks and pairs of panels fill a memory."""
    return memory // (_BYTES * (count + -(-2 * pairs // _DEEP)))


class _Product:
    """The steps of a product: a panel is read, multiplied, and added to a block."""

    def __init__(
        self,
        plan: Blocks,
        factors: tuple[Opened, Opened],
        target: Opened,
        precision: str,
        backend: str,
    ) -> None:
        self._plan, self._precision, self._backend = plan, precision, backend
        self._factors, self._target = factors, target
        sizes = (plan.rows * plan.depth, plan.depth * plan.columns)
        self._panels = [[_host(size) for size in sizes] for _ in range(SLOTS)]
        self._results = [_host(plan.rows * plan.columns) for _ in range(SLOTS)]
        self._sums: DeviceArray | None = None

    @property
    def steps(self) -> int:
        """Panels of all blocks."""
        return self._plan.down * self._plan.across * self._plan.panels

    def _views(self, step: int, slot: int) -> tuple[list[Array], list[Array]]:
        """Return the panels of a step in the factors, and the buffers of a slot for them."""
        rows, columns, depth = self._plan.place(step)
        parts = [self._factors[0].array[rows, depth], self._factors[1].array[depth, columns]]
        buffers = self._panels[slot]
        return parts, [_shaped(b, part.shape) for b, part in zip(buffers, parts, strict=True)]

    def read(self, step: int, slot: int, stop: threading.Event) -> None:
        """Read a panel of either factor."""
        for opened, part, into in zip(self._factors, *self._views(step, slot), strict=True):
            read_part(opened, part, into, into.nbytes, stop)

    def compute(self, step: int, slot: int, result: int) -> bool:
        """Add the product of two panels; after the last one, bring the block to the host."""
        a, b = (_core.to_device(x, backend=self._backend) for x in self._views(step, slot)[1])
        if self._sums is None:
            self._sums = sgemm(a, b, precision=self._precision)
        else:
            sums = self._sums
            sgemm(a, b, sums, beta=1.0, out=sums, precision=self._precision)
        if (step + 1) % self._plan.panels:
            return False
        self._sums.to_host(_shaped(self._results[result], self._sums.shape))
        self._sums = None
        return True

    def write(self, step: int, result: int, stop: threading.Event) -> None:
        """Write a block."""
        rows, columns, _ = self._plan.place(step)
        part = self._target.array[rows, columns]
        data = _shaped(self._results[result], part.shape)
        write_part(self._target, part, data, data.nbytes, stop)


def _host(elements: int) -> Array:
    return _core.empty(elements, "float32", kind="pinned")


def _shaped(buffer: Array, shape: tuple[int, ...]) -> Array:
    return buffer[: math.prod(shape)].reshape(shape)


def matmul(
    a: Array | Path,
    b: Array | Path,
    out: Array | Path,
    *,
    precision: str = "highest",
    limit: int | str | None = None,
    progress: Progress | None = None,
    backend: str | None = None,
) -> Array:
    """Multiply matrices that are larger than memory: ``a @ b``.

    A block of the result stays on the device while panels of the factors are added to it, each sum
    in FP32 and in the same order at every call with the same `limit`.

    Parameters
    ----------
    a, b : memmap, ndarray or path, shapes (m, k) and (k, n), float32
        The factors; a path is that of an .npy file.
    out : memmap, ndarray or path, shape (m, n), float32
        Where the product goes: an array not overlapping the factors, or the path of an .npy file,
        which is created or replaced.
    precision : {"highest", "high"}, optional
        As of :func:`gpumem.matmul`.
    limit : int or str, optional
        As of :func:`permute`. Blocks are also no larger than the GPU's free memory allows.
    progress, backend : optional
        As of :func:`permute`.

    Returns
    -------
    memmap or ndarray
        `out`, or the file that it names, mapped with mode "r+".

    Raises
    ------
    TypeError
        If an argument is of the wrong type, or a matrix is not of float32.
    ValueError
        If the shapes do not fit, `out` is read-only or overlaps a factor, or `limit` is too small.
    IncompleteError, OSError
        As of :func:`permute`, which also says what becomes of a file if the call is interrupted.

    Notes
    -----
    Of a product of square blocks with side s, `a` is read n / s times and `b` m / s times: twice
    the memory is 1.4 times less to read.

    Examples
    --------
    >>> import numpy as np, gpumem.out_of_core as gmo
    >>> a = np.memmap("a.raw", "f4", "w+", shape=(3, 2))
    >>> a[...] = 1
    >>> print(gmo.matmul(a, np.eye(2, dtype="f4"), "product.npy"))
    [[1. 1.]
     [1. 1.]
     [1. 1.]]
    """
    factors = (open_source("a", a), open_source("b", b))
    shapes = tuple(one.array.shape for one in factors)
    for name, one in zip("ab", factors, strict=True):
        if one.array.dtype != np.float32:
            raise TypeError(f"{name} has dtype {one.array.dtype}, expected float32")
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
        raise ValueError(f"a and b have shapes {shapes[0]} and {shapes[1]}, no m x k and k x n")
    keywords.precision(precision)
    (m, k), n = shapes[0], shapes[1][1]
    target = Target(out, (m, n), np.dtype(np.float32))
    for name, one in zip("ab", factors, strict=True):
        target.check_apart(name, one)
    allowed, backend = checked_limit(limit), _core.backend(backend)
    report = checked_progress(progress)
    plan = blocks(m, n, k, allowed, free_on_device(backend))
    with target.writing("matmul") as opened:
        if m and n:
            work = _Product(plan, factors, opened, precision, backend)
            run(work, report, "matmul")
    return target.result()
