"""Movements of shared arrays: transpose, permute, copy, scatter and gather."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.messages import quoted
from ..families.axes import permuted, transposed
from .agreement import ROOM, agreed
from .engines import find_engine
from .memory import DeviceMemory, HostMemory, Memory, TensorMemory, memory_of
from .movement import Movement
from .peer_movement import PeerMovement
from .plan import Plan, plan_of
from .shared import Shared, check_shared
from .sharing import Box, OnRank, Shape, Sharing, Split, Whole, checked_rank, lengths


def checked_target(to: Any) -> Sharing:
    """Return a way to share out; TypeError if it is something else."""
    if isinstance(to, type) or not hasattr(to, "boxes") or isinstance(to, Shared):
        raise TypeError(f"to must be Split, Blocks, OnRank or Whole, not {quoted(to)}")
    found: Sharing = to
    return found


@lru_cache(maxsize=64)  # programs repeat their movements
def _text(call: str, shape: Shape, dtype: str, order: Shape, sharing: Sharing) -> str:
    """Return what all ranks have to agree on."""
    return f"{call} of {shape} {dtype} in order {order} to {sharing}"


def _move(x: Shared, call: str, axes: Any, to: Any) -> Shared:
    """Return a shared array with its axes permuted, shared out in another way."""
    engine, memory = x.engine, x.memory

    def prepare() -> tuple[str, tuple[Shared, Plan, Movement | PeerMovement]]:
        order = axes(x.ndim)
        shape = tuple(x.shape[axis] for axis in order)
        sharing = checked_target(to)
        boxes = sharing.boxes(shape, engine.ranks)
        plan = plan_of(x.boxes, order, boxes, memory.itemsize, engine.piece_bytes, x.replicated)
        local = engine.new(memory, lengths(boxes[engine.rank]))
        moved = Shared.of(local, shape, boxes, engine, memory, isinstance(sharing, Whole))
        text = _text(call, x.shape, memory.dtype, order, sharing)
        direct = engine.peers is not None and memory.on_gpu and plan.travels
        kind = PeerMovement if direct else Movement
        return text, (moved, plan, kind(engine, plan, memory, x.local, local))

    agreement, (moved, plan, movement) = agreed(engine, prepare, extra=lambda f: f[2].exported())
    movement.pack_first()
    agreement.check()
    if isinstance(movement, PeerMovement) and not movement.can_run(agreement.extras):
        movement = Movement(engine, plan, memory, x.local, moved.local)
    movement.run()
    return moved


def permute(x: Shared, axes: Sequence[int] | None = None, *, to: Sharing | None = None) -> Shared:
    """Permute the axes of a shared array.

    Every rank of the group has to call it.

    Parameters
    ----------
    x : Shared
        The array.
    axes : sequence of int, optional
        For each axis of the result, the axis of `x` that it is; by default all in reverse.
    to : Sharing, optional
        How the result is shared out: ``Split(axis)``, ``Blocks(rows, columns)``, ``OnRank(rank)``
        or ``Whole()``. By default its first axis, evenly.

    Returns
    -------
    Shared
        Equal to ``numpy.transpose`` of the whole array, byte for byte; its parts are arrays of the
        same kind as those of `x`.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    RankError
        If that happened on another rank, other ranks were called with other arguments, or the
        engine failed.
    """
    chosen = Split(0) if to is None else to
    return _move(check_shared(x, "x"), "permute", lambda ndim: permuted(axes, ndim), chosen)


def transpose(x: Shared, *, to: Sharing | None = None) -> Shared:
    """Transpose a shared matrix, or each matrix of a stack: rows become columns.

    Every rank of the group has to call it. See :func:`permute` for `to`, the result and the errors.

    Parameters
    ----------
    x : Shared, shape (..., m, n)
        The matrix.
    to : Sharing, optional
        How the result is shared out, by default its first axis, evenly.
    """
    chosen = Split(0) if to is None else to
    return _move(check_shared(x, "x"), "transpose", lambda ndim: transposed("x", ndim), chosen)


def copy(x: Shared, *, to: Sharing | None = None) -> Shared:
    """Share an array out in another way.

    Every rank of the group has to call it. See :func:`permute` for `to`, the result and the errors.

    Parameters
    ----------
    x : Shared
        The array.
    to : Sharing, optional
        How the result is shared out, by default its first axis, evenly.
    """
    chosen = Split(0) if to is None else to
    return _move(check_shared(x, "x"), "copy", lambda ndim: tuple(range(ndim)), chosen)


def gather(x: Shared, root: int | None = 0) -> Any:
    """Return the whole array on one rank, or on all.

    Every rank of the group has to call it.

    Parameters
    ----------
    x : Shared
        The array.
    root : int, optional
        The rank that gets it, 0 by default; None: all ranks.

    Returns
    -------
    ndarray, DeviceArray, torch.Tensor or None
        The array, of the same kind as the parts of `x`; None on the other ranks.
    """
    engine = check_shared(x, "x").engine
    to: Sharing = Whole() if root is None else OnRank(root)

    def axes(ndim: int) -> tuple[int, ...]:
        if root is not None:
            checked_rank("root", root, engine.ranks)
        return tuple(range(ndim))

    found = _move(x, "gather", axes, to).local
    return found if root is None or root == engine.rank else None


# ---- scatter ------------------------------------------------------------------------------------


def _description(a: Any, memory: Memory) -> str:
    """Return the text by which the other ranks make room for their part."""
    if isinstance(memory, TensorMemory):
        kind, dtype = str(memory.device.type), memory.dtype
    else:
        kind = memory.backend if isinstance(memory, DeviceMemory) else "ndarray"
        dtype = repr(np.lib.format.dtype_to_descr(memory.of))  # type: ignore[attr-defined]
    text = repr((tuple(a.shape), kind, dtype))
    if len(text.encode()) > ROOM:
        raise ValueError(f"the other ranks have to be told the dtype, which is too long: {dtype}")
    return text


def _described(text: str) -> tuple[Shape, Memory]:
    """Return the shape and the memory of this rank's part from the root's description."""
    shape, kind, dtype = ast.literal_eval(text)
    if kind in ("cpu", "cuda") and not dtype.startswith(("'", "[", "(")):
        torch = sys.modules["torch"]
        device = torch.device(kind, torch.cuda.current_device() if kind == "cuda" else None)
        return shape, TensorMemory(getattr(torch, dtype), device)
    of = np.lib.format.descr_to_dtype(ast.literal_eval(dtype))
    return shape, HostMemory(of) if kind == "ndarray" else _device_memory(of, kind)


def _device_memory(of: np.dtype[Any], backend: str) -> Memory:
    from .._core import DeviceArray

    return DeviceMemory(of, backend, DeviceArray(0, of, backend=backend).device)


def scatter(a: Any, comm: Any = None, *, root: int = 0, to: Sharing | None = None) -> Shared:
    """Share out an array that one rank has.

    Every rank of the group has to call it.

    Parameters
    ----------
    a : ndarray, DeviceArray or torch.Tensor
        The array on rank `root`; ignored on the others, which may give None.
    comm : communicator or process group, optional
        See :func:`~gpumem.distributed.engines.find_engine`.
    root : int, optional
        The rank that has the array.
    to : Sharing, optional
        How to share it out; see :func:`permute`. By default its first axis, evenly.

    Returns
    -------
    Shared
        Its parts are arrays of the same kind as `a`.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    RankError
        If that happened on another rank, or the engine failed.
    """
    engine = find_engine(comm)

    def describe() -> tuple[str, None]:
        checked_rank("root", root, engine.ranks)
        if engine.rank != root:
            return "", None
        memory = memory_of(a, "a")
        if not a.shape:  # no rank could have none of it
            raise ValueError("a has shape (), expected 1 axis or more")
        return _description(a, memory), None

    agreement, _ = agreed(engine, describe, same=False)
    agreement.check(same=False)
    shape, memory = _described(agreement.texts[root])
    boxes: tuple[Box, ...] = OnRank(root).boxes(shape, engine.ranks)
    local = a if engine.rank == root else memory.new(lengths(boxes[engine.rank]))
    if engine.rank == root:
        memory = memory_of(a, "a")
    source = Shared.of(local, shape, boxes, engine, memory)
    return _move(source, "scatter", lambda ndim: tuple(range(ndim)), Split(0) if to is None else to)
