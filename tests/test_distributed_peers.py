"""Moves into the memory of other GPUs, with ranks that are all in this process.

What the engine and the driver do is replaced; plans and kernels are the real ones, on the
simulator.
"""

import math

import numpy as np
import pytest

import gpumem as gm
import gpumem.distributed as gmd
from gpumem.distributed.errors import RankError
from gpumem.distributed.memory import DeviceMemory
from gpumem.distributed.moves import _move
from gpumem.distributed.peer_movement import PeerMovement
from gpumem.distributed.peers import Peers as RealPeers
from gpumem.distributed.plan import Plan
from gpumem.distributed.processes import Processes
from gpumem.distributed.shared import Shared
from gpumem.distributed.sharing import lengths

EXPORTED = b"\1" + bytes(95)


class OnGpu(DeviceMemory):
    """Memory of the simulator that is taken for a GPU's."""

    on_gpu = True


class Peers(RealPeers):
    """What is opened of a rank is the memory that it has in this process."""

    def __init__(self, rank, results):
        self._rank = rank
        self._targets = {}
        self.results = results
        self.opened = []

    def export(self, _array):
        return EXPORTED

    def open(self, rank, _exported, _device):
        self.opened.append(rank)
        return self.results[rank].reshape(-1).view("u1")


class Told:
    def __init__(self, messages):
        self.messages = messages

    def wait(self):
        if isinstance(self.messages, Exception):
            raise self.messages
        return self.messages


class Engine:
    """One rank; the calls that order work are noted down."""

    name = "nccl"
    piece_bytes = 64  # several pieces, if they were for these kernels

    def __init__(self, rank, ranks, results):
        self.rank, self.ranks = rank, ranks
        self.peers = Peers(rank, results)
        self.processes = Processes()
        self.calls = []
        self.error = None

    def stream(self):
        return None

    def follow(self):
        self.calls.append("follow")

    def fence(self):
        self.calls.append("fence")

    def settle(self):
        self.calls.append("settle")

    def new(self, memory, shape):
        return gm.DeviceArray(shape, memory.of, backend="sim")

    def tell(self, message):
        return Told(self.error or [message] * self.ranks)


def parts_of(a, boxes):
    return [gm.to_device(a[tuple(slice(*one) for one in box)], backend="sim") for box in boxes]


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((9, 14), (1, 0)), ((5, 7, 6), (2, 0, 1)), ((2, 3), (1, 0)), ((0, 4), (1, 0))],
)
def test_each_rank_writes_to_all_in_turn(shape, axes, ranks, dtype):
    count = math.prod(shape) * np.dtype(dtype).itemsize
    a = np.random.default_rng(7).integers(0, 255, count, "u1").view(dtype).reshape(shape)
    whole = a.transpose(axes)
    sources = gmd.Split(0).boxes(shape, ranks)
    targets = gmd.Split(0).boxes(whole.shape, ranks)
    plan = Plan(sources, axes, targets, a.itemsize, 64)
    held = parts_of(a, sources)
    results = [gm.DeviceArray(lengths(box), dtype, backend="sim") for box in targets]
    for result in results:
        result.fill_bytes(0xA5)
    memory = OnGpu(a.dtype, "sim", 0)
    for rank in range(ranks):
        engine = Engine(rank, ranks, results)
        move = PeerMovement(engine, plan, memory, held[rank], results[rank])
        move.pack_first()
        assert engine.calls == [] and engine.peers.opened == []  # it needs no other rank
        own = plan.part(rank, rank)
        if own:
            wanted = parts_of(whole, targets)[rank].to_host()[own.target]
            assert results[rank].to_host()[own.target].tobytes() == wanted.tobytes()
        assert move.can_run([EXPORTED] * ranks)
        move.run()
        others = [(rank + step) % ranks for step in range(1, ranks)]
        assert engine.peers.opened == [r for r in others if plan.part(rank, r)]
        assert engine.calls == ["follow", "fence", "settle"]
    for result, box in zip(results, targets, strict=True):
        wanted = whole[tuple(slice(*one) for one in box)]
        assert result.to_host().tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_targets_are_opened_once_each():
    boxes = gmd.Split(0).boxes((4, 6), 2)
    results = [gm.DeviceArray((2, 6), "f4", backend="sim") for _ in range(2)]
    peers = Peers(0, results)
    plan = Plan(gmd.Split(0).boxes((6, 4), 2), (1, 0), boxes, 4, 64)
    first = peers.target(plan, 1, EXPORTED, results[0])
    assert peers.target(plan, 1, EXPORTED, results[0]) is first and peers.opened == [1]
    assert (first.shape, first.dtype) == ((2, 3), "f4")
    other = Plan(gmd.Split(0).boxes((6, 4), 2), (1, 0), boxes, 4, 64)
    elsewhere = EXPORTED[:70] + b"x" + EXPORTED[71:]
    integers = results[0].view("i4")
    for given in (
        (other, 1, EXPORTED, results[0]),
        (plan, 1, elsewhere, results[0]),
        (plan, 1, EXPORTED, integers),
    ):
        found = peers.target(*given)
        assert found is not first and found.dtype == given[3].dtype
    assert len(peers.opened) == 4


def test_a_rank_without_a_handle_is_noticed():
    engine = Engine(0, 2, [])
    array = gm.DeviceArray((2, 2), "f4", backend="sim")
    boxes = gmd.Split(0).boxes((4, 2), 2)
    plan = Plan(boxes, (0, 1), boxes, 4, 64)
    move = PeerMovement(engine, plan, OnGpu(array.dtype, "sim", 0), array, array)
    assert not move.can_run([EXPORTED, b"\0" * 96])


def shared(engine):
    boxes = gmd.Split(0).boxes((8, 8), engine.ranks)
    memory = OnGpu(np.dtype("f4"), "sim", 0)
    local = engine.new(memory, lengths(boxes[engine.rank]))
    return Shared.of(local, (8, 8), boxes, engine, memory)


def transposed(engine):
    return _move(shared(engine), "transpose", lambda _: (1, 0), gmd.Split(0))


def test_no_peer_is_written_to_before_all_agree():
    engine = Engine(1, 2, [])
    engine.error = RankError("rank 0 cannot", 0)
    with pytest.raises(RankError, match="rank 0 cannot"):
        transposed(engine)
    assert engine.calls == [] and engine.peers.opened == []

    engine = Engine(1, 2, [])  # nothing to open
    with pytest.raises(IndexError):
        engine.peers.results = ()
        transposed(engine)
    assert engine.calls == ["follow"]


def test_repeated_moves_are_planned_once(monkeypatch):
    seen = []
    run = PeerMovement.run
    monkeypatch.setattr(PeerMovement, "run", lambda move: (seen.append(move._plan), run(move)))
    engine = Engine(0, 2, {})
    engine.peers.results = [gm.DeviceArray((4, 8), "f4", backend="sim") for _ in range(2)]
    for _ in range(2):
        transposed(engine)
    assert seen[0] is seen[1] and len(seen) == 2
