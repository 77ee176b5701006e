"""Plans of moves and products, without an engine: what goes where, and which way is taken."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing_cases import sharings

import gpumem.distributed as gmd
from gpumem.distributed import product_plan
from gpumem.distributed.plan import Plan
from gpumem.distributed.product_plan import Factor, Panels, choose, cuts_of, received, ways
from gpumem.distributed.sharing import lengths, size, whole


@st.composite
def products(draw):
    """Draw two factors of whole numbers, how they are shared out, and what is wanted."""
    ranks = draw(st.integers(1, 12))
    m, k, n = (draw(st.integers(0, 17)) for _ in range(3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    a, b = (random.integers(-9, 10, shape) for shape in ((m, k), (k, n)))
    factors = []
    for one in (a, b):
        sharing = draw(sharings(one.shape, ranks))
        is_whole = isinstance(sharing, gmd.Whole)
        factors.append(Factor(sharing.boxes(one.shape, ranks), is_whole))
    wanted = draw(sharings((m, n), ranks)).boxes((m, n), ranks)
    return a, b, *factors, wanted, draw(st.integers(1, 400))


def part(a, box):
    return a[tuple(slice(*one) for one in box)]


def multiplied(way, a, b, is_whole, piece_bytes):
    """Do what the ranks do; return their parts, and how many elements they receive."""
    xs, ws = ([part(one, box) for box in boxes] for one, boxes in ((a, way.x), (b, way.w)))
    ranks = len(xs)
    if way.name == "rows":
        gathered = ws[0] if is_whole else np.concatenate(ws)
        return [x @ gathered for x in xs], 0 if is_whole else (ranks - 1) * b.size
    if way.name == "sums":
        total = sum(x @ w for x, w in zip(xs, ws, strict=True))
        return [part(total, box) for box in way.out], (ranks - 1) * total.size
    panels, columns, moved = Panels(way, piece_bytes), way.grid[1], 0
    found = [np.zeros((x.shape[0], w.shape[1]), int) for x, w in zip(xs, ws, strict=True)]
    for piece in range(panels.pieces):
        segments = panels.segments(piece)
        assert sum(one.length for one in segments) <= panels.most_depth()
        for rank in range(ranks):
            row, column = divmod(rank, columns)
            for one in segments:
                holder, other = row * columns + one.column, one.row * columns + column
                first, low = way.x[holder][1][0], way.w[other][0][0]
                x = xs[holder][:, one.begin - first : one.end - first]
                w = ws[other][one.begin - low : one.end - low]
                assert x.shape[1] == w.shape[0] == one.length
                moved += (holder != rank) * x.size + (other != rank) * w.size
                found[rank] += x @ w
    return found, moved


@settings(deadline=None, max_examples=150)
@given(products())
def test_every_way_computes_the_product(case):
    a, b, x, w, wanted, piece_bytes = case
    with mock.patch.object(product_plan, "LEAST_DEPTH", 2):
        for way in ways(x, w, wanted):
            found, moved = multiplied(way, a, b, w.replicated, piece_bytes)
            for box, one in zip(way.out, found, strict=True):
                assert (one == part(a @ b, box)).all(), way
            copies = received(x.boxes, way.x, x.replicated) + received(way.out, wanted)
            copies += received(w.boxes, way.w, w.replicated)
            assert way.received == moved + copies, way


@st.composite
def moves(draw):
    """Draw an array whose axes are permuted, and how it is shared out before and afterwards."""
    ranks, ndim = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(0, 7), min_size=ndim, max_size=ndim)))
    axes = tuple(draw(st.permutations(range(ndim))))
    source = draw(sharings(shape, ranks))
    moved = tuple(shape[axis] for axis in axes)
    targets = draw(sharings(moved, ranks)).boxes(moved, ranks)
    piece_bytes, is_whole = draw(st.integers(1, 300)), isinstance(source, gmd.Whole)
    return Plan(source.boxes(shape, ranks), axes, targets, 8, piece_bytes, is_whole), shape


@settings(deadline=None, max_examples=150)
@given(moves())
def test_a_plan_moves_every_element_once(case):
    plan, shape = case
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    ranks = range(len(plan.targets))
    found = [np.full(lengths(box), -1) for box in plan.targets]
    for piece, sender, receiver in itertools.product(range(plan.pieces), ranks, ranks):
        one = plan.part(sender, receiver, piece)
        if one:
            local = part(a, plan.sources[sender])[one.source].transpose(plan.axes)
            assert local.shape == one.shape and local.size == one.elements
            assert (found[receiver][one.target] == -1).all()
            found[receiver][one.target] = local
    for box, one in zip(plan.targets, found, strict=True):
        assert (one == part(a.transpose(plan.axes), box)).all()


@settings(deadline=None, max_examples=100)
@given(products())
def test_what_is_received_is_what_a_plan_sends(case):
    _, _, x, _, _, piece_bytes = case
    ranks = len(x.boxes)
    for target in (gmd.Split(1), gmd.Whole(), gmd.OnRank(ranks - 1)):
        boxes = target.boxes(x.shape, ranks)
        plan = Plan(x.boxes, (0, 1), boxes, 4, piece_bytes, x.replicated)
        parts = (
            plan.part(sender, receiver, piece)
            for piece in range(plan.pieces)
            for sender in range(ranks)
            for receiver in range(ranks)
            if sender != receiver
        )
        moved = sum(one.elements for one in parts if one)
        assert moved == received(x.boxes, boxes, x.replicated)


def shared(sharing, shape, ranks):
    return Factor(sharing.boxes(shape, ranks), isinstance(sharing, gmd.Whole))


ROWS, COLUMNS, WHOLE = gmd.Split(0), gmd.Split(1), gmd.Whole()
FOUR, SIX = gmd.Blocks(2, 2), gmd.Blocks(2, 3)


@pytest.mark.parametrize(
    ("sides", "ranks", "x", "w", "to", "name", "grid"),
    [
        ((4096, 4096, 4096), 4, ROWS, ROWS, ROWS, "rows", (1, 1)),
        ((4096, 4096, 4096), 4, ROWS, WHOLE, ROWS, "rows", (1, 1)),
        ((64, 4096, 4096), 4, ROWS, ROWS, ROWS, "sums", (1, 1)),  # little of x, much of w
        ((64, 10**6, 64), 4, COLUMNS, ROWS, ROWS, "sums", (1, 1)),
        ((64, 4096, 4096), 4, ROWS, COLUMNS, COLUMNS, "grid", (1, 4)),  # x goes to w
        ((4096, 4096, 4096), 4, FOUR, FOUR, FOUR, "grid", (2, 2)),
        ((4096, 4096, 4096), 64, ROWS, ROWS, ROWS, "grid", (8, 8)),  # of many ranks, worth copies
        ((4096, 4096, 4096), 6, SIX, SIX, SIX, "grid", (2, 3)),
    ],
)
def test_the_way_that_moves_least_is_taken(sides, ranks, x, w, to, name, grid):
    m, k, n = sides
    wanted = to.boxes((m, n), ranks)
    way = choose(shared(x, (m, k), ranks), shared(w, (k, n), ranks), wanted)
    assert (way.name, way.grid) == (name, grid)
    assert way.received == min(
        one.received for one in ways(shared(x, (m, k), ranks), shared(w, (k, n), ranks), wanted)
    )


def test_one_rank_moves_nothing():
    one = Factor((whole((5, 5)),))
    assert choose(one, one, one.boxes).received == 0


@pytest.mark.parametrize(
    ("boxes", "rows", "columns"),
    [
        (gmd.OnRank(0).boxes((6, 4), 4), 2, 2),
        (gmd.Split(0).boxes((6, 4), 4), 2, 2),
        (gmd.Blocks(2, 2).boxes((6, 4), 4)[::-1], 2, 2),
        (gmd.Whole().boxes((6, 4), 4), 1, 4),
    ],
)
def test_what_is_no_grid(boxes, rows, columns):
    assert cuts_of(boxes, rows, columns) is None


@settings(deadline=None)
@given(st.integers(2, 12), st.integers(0, 9), st.integers(0, 9))
def test_grids_are_recognised(ranks, rows, columns):
    for down in (one for one in range(1, ranks + 1) if ranks % one == 0):
        boxes = gmd.Blocks(down, ranks // down).boxes((rows, columns), ranks)
        found = cuts_of(boxes, down, ranks // down)
        assert found is not None
        assert tuple((a, b) for a in found[0] for b in found[1]) == boxes


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 3), (1, 4), (3, 4)])
def test_pieces_are_bounded_and_balanced(rows, columns):
    """A rank receives about what a piece is to have, and sends a like share of each piece."""
    side, ranks, piece_bytes = 12 * 4096, rows * columns, 256 << 20
    boxes = gmd.Blocks(rows, columns).boxes((side, side), ranks)
    (way,) = (
        one for one in ways(Factor(boxes), Factor(boxes), boxes) if one.grid == (rows, columns)
    )
    panels = Panels(way, piece_bytes)
    assert panels.pieces > 1 and panels.depth == side
    assert 4 * panels.most_depth() * sum(panels.widest) <= 1.01 * piece_bytes
    for piece in range(panels.pieces):
        for column in range(columns):
            depths = [one.length for one in panels.segments(piece) if one.column == column]
            assert sum(depths) == pytest.approx(side / columns / panels.pieces, rel=0.05)
    assert size(boxes[0]) == side * side // ranks
