"""What runs while the engine moves a piece, and how much memory that takes: on one rank alone."""

import numpy as np
import pytest

import gpumem.distributed as gmd
from gpumem.distributed.memory import Buffer, HostMemory
from gpumem.distributed.movement import Movement
from gpumem.distributed.overlap import overlapped
from gpumem.distributed.plan import Plan
from gpumem.distributed.sharing import lengths


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (0, ""),
        (1, "s0 own f0"),
        (2, "s0 s1 own f0 f1"),
        (4, "s0 s1 own f0 s2 f1 s3 f2 f3"),
    ],
)
def test_the_next_piece_starts_before_one_is_finished(pieces, expected):
    done = []
    overlapped(
        pieces,
        lambda piece: done.append(f"s{piece}") or piece,
        lambda _, started: done.append(f"f{started}"),
        lambda: done.append("own"),
    )
    assert " ".join(done) == expected


class Alone:
    """An engine of which only one rank is here: it takes what is sent, and brings nothing."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.events, self.asked, self.check = rank, ranks, [], [], None

    def stream(self):
        return None

    def buffer(self, memory, nbytes):
        self.asked.append(nbytes)
        array = memory.bytes(nbytes)
        return Buffer(array, array)

    def over(self, _memory, flat):
        return Buffer(flat, flat, in_place=True)

    def exchange(self, send, sent, receive, received, most):
        assert sum(sent) <= min(most, send.wire.size)
        assert sum(received) <= min(most, receive.wire.size)
        assert send.in_place or sent[self.rank] == received[self.rank] == 0
        self.events.append("start")
        return self

    def wait(self):
        self.events.append("wait")
        self.check()

    def settle(self):
        pass


@pytest.mark.parametrize("axes", [(1, 0), (0, 1)], ids=["transpose", "copy"])
@pytest.mark.parametrize("rank", [0, 2])
def test_a_ranks_own_part_moves_while_the_first_pieces_are_on_their_way(rank, axes):
    a = np.arange(40 * 36, dtype="i4").reshape(40, 36)
    b = a.transpose(axes)
    froms = gmd.Split(0).boxes(a.shape, 3)
    tos = gmd.Split(0 if axes == (1, 0) else 1).boxes(b.shape, 3)
    plan = Plan(froms, axes, tos, 4, 500)
    assert plan.pieces > 2
    engine = Alone(rank, 3)
    source = np.ascontiguousarray(a[slice(*froms[rank][0])])
    target = np.full(lengths(tos[rank]), -1, "i4")
    own = [plan.part(rank, rank, piece) for piece in range(plan.pieces)]

    def check():
        for part in filter(None, own):
            assert (target[part.target] == source[part.source].transpose(axes)).all()

    engine.check = check
    movement = Movement(engine, plan, HostMemory(a.dtype), source, target)
    movement.pack_first()
    movement.run()
    assert engine.events[:3] == ["start", "start", "wait"]
    assert engine.events.count("start") == engine.events.count("wait") == plan.pieces


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("sides", [(240, 240), (250, 190)], ids=str)
@pytest.mark.parametrize(
    ("source", "axes", "target"),
    [
        (gmd.Split(0), (1, 0), gmd.Split(0)),
        (gmd.Split(1), (1, 0), gmd.Split(1)),
        (gmd.Split(0), (0, 1), gmd.Split(1)),
        (gmd.Split(1), (0, 1), gmd.Split(0)),
    ],
)
def test_a_move_needs_two_pieces_to_send_and_two_to_receive(source, axes, target, sides, ranks):
    """All ranks send a like share of each piece, so that no buffer is larger."""
    froms = source.boxes(sides, ranks)
    tos = target.boxes(tuple(sides[axis] for axis in axes), ranks)
    plan = Plan(froms, axes, tos, 8, 20_000)
    assert plan.pieces > 2
    for rank in range(ranks):
        engine = Alone(rank, ranks)
        here, there = (np.empty(lengths(one[rank]), "f8") for one in (froms, tos))
        Movement(engine, plan, HostMemory(here.dtype), here, there)
        assert len(engine.asked) == 4
        assert max(engine.asked) <= 1.1 * plan.piece_bytes


def test_rows_that_stay_rows_need_no_buffers():
    froms, tos = gmd.OnRank(0).boxes((9, 4), 2), gmd.Split(0).boxes((9, 4), 2)
    engine = Alone(0, 2)
    here, there = (np.empty(lengths(one[0]), "f8") for one in (froms, tos))
    Movement(engine, Plan(froms, (0, 1), tos, 8, 10), HostMemory(here.dtype), here, there)
    assert engine.asked == []
