"""Movements of arrays larger than memory: transpose, permute and copy."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .. import _core
from ..base.progress import Progress
from ..families.axes import permuted, transposed
from ..families.permute import permute as permute_piece
from ..families.raw_bytes import opaque
from .files import Opened, Path, Target, open_source
from .limits import FIXED, checked_limit, too_small
from .mapped import Array, Box
from .pipeline import SLOTS, checked_progress, read_part, run, write_part
from .plan import Plan, plan

# What a call holds, in pieces: two of each kind of buffer, one of mapped pages on either side, and
# what the simulator allocates, with what malloc keeps of that.
_PIECES = 2 * SLOTS + 2 + 8
_FEWEST = 8  # pieces, so that reading, computing and writing overlap
_SMALL = 2**24  # bytes: smaller pieces are not worth that


class _Movement:
    """The steps of a movement: a piece is read in one order of axes and written in another."""

    def __init__(self, plan: Plan, source: Opened, target: Opened, backend: str) -> None:
        self._plan, self._backend = plan, backend
        self._source, self._target = source, target
        self._from = opaque(source.array).transpose(plan.reading)
        self._to = opaque(target.array).transpose(plan.writing)
        self._boxes = plan.boxes()
        self._ahead: dict[int, Box] = {}
        self._in_order = plan.axes == tuple(range(len(plan.axes)))
        size = math.prod(plan.lengths) * self._to.dtype.itemsize
        self._most = size
        self._read = [_core.empty(size, "uint8", kind="pinned") for _ in range(SLOTS)]
        self._results = [_core.empty(size, "uint8", kind="pinned") for _ in range(SLOTS)]

    @property
    def steps(self) -> int:
        """The number of pieces."""
        return self._plan.count()

    def _box(self, step: int) -> Box:
        """Return a piece: the reader asks first, the writer last."""
        if step not in self._ahead:
            (self._ahead[step],) = islice(self._boxes, 1)
        return self._ahead[step]

    def _buffer(self, memory: Array, box: Box) -> Array:
        shape = tuple(one.stop - one.start for one in box)
        count = math.prod(shape) * self._to.dtype.itemsize
        found: Array = memory[:count].view(self._to.dtype).reshape(shape)
        return found

    def read(self, step: int, slot: int, stop: threading.Event) -> None:
        """Read a piece."""
        box = self._plan.read(self._box(step))
        into = self._buffer(self._read[slot], box)
        read_part(self._source, self._from[box], into, self._most, stop)

    def compute(self, step: int, slot: int, result: int) -> bool:
        """Permute the axes of a piece; if they are in order, it does not go to the device."""
        box = self._box(step)
        piece = self._buffer(self._read[slot], self._plan.read(box))
        out = self._buffer(self._results[result], self._plan.written(box))
        if self._in_order:
            np.copyto(out, piece)
        else:
            permute_piece(piece, self._plan.axes, out=out, backend=self._backend)
        return True

    def write(self, step: int, result: int, stop: threading.Event) -> None:
        """Write a piece."""
        box = self._plan.written(self._ahead.pop(step))
        data = self._buffer(self._results[result], box)
        write_part(self._target, self._to[box], data, self._most, stop)


def _move(
    call: str,
    a: Any,
    out: Any,
    order: Callable[[int], tuple[int, ...]],
    limit: Any,
    progress: Progress | None,
    backend: str | None,
) -> Array:
    """Write an array with its axes in another order, which depends on its rank."""
    source = open_source("a", a)
    view = source.array.transpose(order(source.array.ndim))
    target = Target(out, view.shape, view.dtype)
    target.check_apart("a", source)
    allowed, backend = checked_limit(limit), _core.backend(backend)
    report = checked_progress(progress)
    itemsize = view.dtype.itemsize
    if allowed < FIXED + _PIECES * itemsize:
        raise too_small(allowed, FIXED + _PIECES * itemsize)
    most = min((allowed - FIXED) // _PIECES, max(view.nbytes // _FEWEST, _SMALL, itemsize))
    with target.writing(call) as opened:
        if view.size and itemsize:
            read = Opened(np.atleast_1d(view), source.mapped)
            written = Opened(np.atleast_1d(opened.array), opened.mapped)
            pieces = plan(read.array, written.array, most)
            run(_Movement(pieces, read, written, backend), report, call)
    return target.result()


def permute(
    a: Array | Path,
    axes: Sequence[int] | None,
    out: Array | Path,
    *,
    limit: int | str | None = None,
    progress: Progress | None = None,
    backend: str | None = None,
) -> Array:
    """Permute the axes of an array that is larger than memory.

    Parameters
    ----------
    a : memmap, ndarray or path
        The array: any shape, strides and dtype, byte orders included, but no Python objects. A
        path is that of an .npy file.
    axes : sequence of int or None
        For each axis of the result, the axis of `a` that it is; None is all in reverse.
    out : memmap, ndarray or path
        Where the result goes: an array of its shape and of the dtype of `a`, in any layout, not
        overlapping `a`; or the path of an .npy file, which is created or replaced.
    limit : int or str, optional
        The memory that the call may take, in bytes or as in "8G", at least 32 MiB: its buffers, the
        pages of the files that are mapped at a time, and what the simulator allocates. By default
        a fourth of the host's free memory, and 16 GiB at most.
    progress : callable, optional
        Called before each piece with the number of finished steps, that of all, and a text.
    backend : {"cuda", "sim"}, optional
        Where pieces are computed; by default what :func:`gpumem.backend` returns.

    Returns
    -------
    memmap or ndarray
        `out`, or the file that it names, mapped with mode "r+".

    Raises
    ------
    TypeError
        If `a` or `out` is neither array nor path, `a` holds Python objects, or `out` has another
        dtype.
    ValueError
        If `a` is the path of what is no .npy file, `axes` is no permutation, `out` has another
        shape, is read-only or overlaps `a`, or `limit` is too small.
    IncompleteError
        If `a`, or another part of the file of `out`, is incomplete since a call was interrupted.
    OSError
        If a file cannot be opened, or the disk is full. The space for a result is reserved first.

    Notes
    -----
    A path is written to as NAME.partial, which is renamed when it is complete, and removed if the
    call fails. A memmap has a file NAME.incomplete beside its file until it is complete; if the
    call fails or Ctrl-C ends it, that file stays, and functions of this module refuse to read such
    a memmap. Another call with the same `out` completes it.

    Examples
    --------
    >>> import numpy as np, gpumem.out_of_core as gmo
    >>> a = np.memmap("a.raw", "f4", "w+", shape=(30, 20, 10))
    >>> gmo.permute(a, (2, 0, 1), "b.npy", limit="32M").shape
    (10, 30, 20)
    """
    return _move("permute", a, out, lambda ndim: permuted(axes, ndim), limit, progress, backend)


def transpose(
    a: Array | Path,
    out: Array | Path,
    *,
    limit: int | str | None = None,
    progress: Progress | None = None,
    backend: str | None = None,
) -> Array:
    """Transpose a matrix that is larger than memory, or each matrix of a stack.

    Pieces are squares, so that runs in both files are long. See :func:`permute` for the parameters,
    the result, the errors, and what becomes of a file if the call is interrupted.

    Parameters
    ----------
    a : memmap, ndarray or path, shape (..., m, n)
        The matrix.
    out : memmap, ndarray or path, shape (..., n, m)
        Where the result goes.
    limit, progress, backend : optional
        As of :func:`permute`.

    Examples
    --------
    >>> import numpy as np, gpumem.out_of_core as gmo
    >>> np.save("a.npy", np.arange(6).reshape(2, 3))
    >>> print(gmo.transpose("a.npy", "b.npy"))
    [[0 3]
     [1 4]
     [2 5]]
    """
    return _move("transpose", a, out, lambda n: transposed("a", n), limit, progress, backend)


def copy(
    a: Array | Path,
    out: Array | Path,
    *,
    limit: int | str | None = None,
    progress: Progress | None = None,
    backend: str | None = None,
) -> Array:
    """Copy an array that is larger than memory, such as from Fortran to C order.

    Where the order in memory stays, pieces go from file to file without the device. See
    :func:`permute` for the parameters, the result, the errors, and what becomes of a file if the
    call is interrupted.

    Parameters
    ----------
    a : memmap, ndarray or path
        The array.
    out : memmap, ndarray or path
        Where the copy goes.
    limit, progress, backend : optional
        As of :func:`permute`.

    Examples
    --------
    >>> import numpy as np, gpumem.out_of_core as gmo
    >>> a = np.memmap("fortran.raw", "f8", "w+", shape=(4, 3), order="F")
    >>> gmo.copy(a[::2], "c.npy").shape
    (2, 3)
    """
    return _move("copy", a, out, lambda ndim: tuple(range(ndim)), limit, progress, backend)
