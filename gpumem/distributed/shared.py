"""Arrays that are shared out over the ranks of a group."""

from __future__ import annotations

from typing import Any

from ..base.messages import quoted
from .agreement import agreed
from .engine import Engine
from .engines import find_engine
from .errors import RankError
from .memory import Memory, memory_of
from .sharing import Box, Shape, Split


class Shared:
    """An array of which each rank holds a part.

    :func:`scatter`, :class:`Rows` and :class:`Columns` make them, and the functions of this package
    return them.

    Attributes
    ----------
    local : ndarray, DeviceArray or torch.Tensor
        This rank's part.
    shape : tuple of int
        Of the whole array.
    boxes : tuple
        For each rank the part that it holds: a pair (begin, end) per axis.
    engine : Engine
        The ranks: ``engine.rank`` is this one, ``engine.ranks`` their number.
    """

    local: Any
    shape: Shape
    boxes: tuple[Box, ...]
    engine: Engine
    memory: Memory
    replicated: bool

    @classmethod
    def of(
        cls,
        local: Any,
        shape: Shape,
        boxes: tuple[Box, ...],
        engine: Engine,
        memory: Memory,
        replicated: bool = False,
    ) -> Shared:
        """Return an array of parts that fit each other."""
        made = Shared.__new__(Shared)
        made.local, made.shape, made.boxes = local, shape, boxes
        made.engine, made.memory, made.replicated = engine, memory, replicated
        return made

    @property
    def dtype(self) -> Any:
        """The dtype, of NumPy or PyTorch."""
        return self.local.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def box(self) -> Box:
        """The part that this rank holds: a pair (begin, end) per axis."""
        return self.boxes[self.engine.rank]

    def __repr__(self) -> str:
        """Return the shape, and the part of this rank."""
        part = ", ".join(f"{begin}:{end}" for begin, end in self.box)
        return (
            f"<Shared {self.shape} of {self.memory.dtype}, rank {self.engine.rank} of "
            f"{self.engine.ranks} holds [{part}]>"
        )


class Rows(Shared):
    """An array whose first axis is shared out: each rank brings its rows, in the order of ranks.

    Every rank of the group has to call it. The parts are used in place.

    Parameters
    ----------
    local : ndarray, DeviceArray, torch.Tensor or DTensor
        This rank's rows: any number of them, also none. The other axes and the dtype are the same
        on all ranks. A DTensor has to be sharded along this axis, on a mesh of one dimension.
    comm : communicator or process group, optional
        See :func:`~gpumem.distributed.engines.find_engine`. By default, a DTensor's mesh, torch's
        default group or MPI.COMM_WORLD.

    Raises
    ------
    TypeError, ValueError
        If `local` cannot be taken.
    RankError
        If that happened on another rank, or the parts do not fit each other.
    """

    _axis = 0

    def __init__(self, local: Any, comm: Any = None) -> None:
        placed = _mesh_of(local)
        engine = find_engine(placed if comm is None and placed is not None else comm)

        def prepare() -> tuple[str, tuple[Any, Memory]]:
            part = local if placed is None else _part_of(local, self._axis)
            memory = memory_of(part, "local")
            if part.ndim <= self._axis:
                raise ValueError(
                    f"local has shape {tuple(part.shape)}, expected {self._axis + 1} axes or more"
                )
            axis = self._axis
            others = (*part.shape[:axis], *part.shape[axis + 1 :])
            text = f"{part.shape[axis]} {type(self).__name__} {others} {memory.dtype}"
            return text, (part, memory)

        agreement, (part, memory) = agreed(engine, prepare, same=False)
        agreement.check(same=False)
        counts = _counts(agreement.texts)
        length = sum(counts)
        shape = (*part.shape[: self._axis], length, *part.shape[self._axis + 1 :])
        self.local, self.shape, self.engine, self.memory = part, shape, engine, memory
        self.boxes = Split(self._axis, counts).boxes(shape, engine.ranks)
        self.replicated = False


class Columns(Rows):
    """An array whose second axis is shared out; see :class:`Rows`."""

    _axis = 1


def _counts(texts: list[str]) -> list[int]:
    """Return how many rows each rank brings; RankError if all else is not the same."""
    split = [text.split(" ", 1) for text in texts]
    for rank, (_, rest) in enumerate(split):
        if rest != split[0][1]:
            raise RankError(
                f"rank {rank} brings {texts[rank]}, but rank 0 brings {texts[0]} (the other axes "
                "and the dtype have to be the same)",
                rank,
            )
    return [int(count) for count, _ in split]


def _mesh_of(local: Any) -> Any:
    """Return the mesh of a DTensor, None if it is none."""
    return getattr(local, "device_mesh", None) if hasattr(local, "to_local") else None


def _part_of(tensor: Any, axis: int) -> Any:
    """Return this rank's part of a DTensor."""
    placements = tensor.placements
    if len(placements) != 1 or not placements[0].is_shard(axis):
        raise ValueError(
            f"the DTensor has placements {quoted(placements)}, expected one, Shard({axis})"
        )
    return tensor.to_local()


def check_shared(x: Any, name: str) -> Shared:
    """Return what is a shared array; TypeError if it is something else."""
    if not isinstance(x, Shared):
        raise TypeError(
            f"{name} must be shared out (the result of scatter, Rows(local, comm) or "
            f"Columns(local, comm)), not {quoted(type(x).__name__)}"
        )
    return x
