"""Copies into views: in the order of the result's memory, with what is between its rows kept."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from view_cases import placed, slices

import gpumem as gm
from gpumem import _core


@st.composite
def targets(draw):
    """A view: the shape and element of its array, the slices, and the order of its axes."""
    itemsize = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16]))
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 33]), min_size=0, max_size=3))
    shape.insert(draw(st.integers(0, len(shape))), draw(st.integers(1, 600)))
    return (
        shape,
        itemsize,
        tuple(draw(slices(n)) for n in shape),
        tuple(draw(st.permutations(range(len(shape))))),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(target=targets(), at=st.integers(0, 17), source=st.integers(0, 9), data=st.data())
def test_copies_into_views(target, at, source, data, backend):
    shape, itemsize, cut, axes = target
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    memory = rng.integers(0, 256, math.prod(shape) * itemsize + at + 7, dtype=np.uint8)
    there = gm.to_device(memory, backend=backend)
    to = placed(memory, at, shape, itemsize)[cut].transpose(axes)
    to_there = placed(there, at, shape, itemsize)[cut].transpose(axes)

    around = [n + data.draw(st.integers(0, 2)) for n in to.shape]  # of the source
    turned = data.draw(st.permutations(range(len(around))))
    whole = [around[turned.index(d)] for d in range(len(around))]
    inner = (*(slice(0, n) for n in to.shape[:-1]), slice(to.shape[-1] - 1, None, -1))
    block = math.prod(around) * itemsize + source
    a = rng.integers(0, 256, block, dtype=np.uint8)
    a_there = placed(gm.to_device(a, backend=backend), source, whole, itemsize)
    to[...] = placed(a, source, whole, itemsize).transpose(turned)[inner]
    gm.copy(a_there.transpose(turned)[inner], out=to_there)
    assert there.to_host().tobytes() == memory.tobytes()


@pytest.mark.parametrize(
    ("dtype", "cut", "variant"),
    [
        ("u1", np.s_[:, ::-1], "permuted"),  # the rows of a, backwards
        ("f4", np.s_[::-1, ::-1], "permuted"),
        ("u1", np.s_[1:-1, 1:-1], "permuted"),
        ("f8", np.s_[:, 7:200], "strided"),  # a small array of wide units
        ("f8", np.s_[:, :9], "strided"),  # rows of few vectors
        ("f4", np.s_[:, ::2], "strided"),
    ],
)
def test_choice_for_views(dtype, cut, variant):
    memory = gm.to_device(np.zeros((301, 4001), dtype), backend="sim")
    view = memory[cut]
    a = gm.to_device(np.ones(view.shape, dtype), backend="sim")
    prepared = _core.prepare("copy", "auto", (a,), view, None, (0,))
    prepared.launch()
    assert prepared.variant == variant
    assert memory.to_host().sum() == a.size


@pytest.mark.parametrize("variant", ["shifted", "auto"])
def test_rows_between_gaps_by_permute(variant, rng):
    """Axes change places on the way; rows stay rows."""
    a = rng.integers(0, 256, (5, 7, 333), dtype=np.uint8)
    memory = gm.to_device(np.full((9, 5, 400), 170, "u1"), backend="sim")
    gm.permute(
        gm.to_device(a, backend="sim"), (1, 0, 2), variant=variant, out=memory[1:8, :, 5:338]
    )
    want = np.full((9, 5, 400), 170, "u1")
    want[1:8, :, 5:338] = a.transpose(1, 0, 2)
    assert np.array_equal(memory.to_host(), want)
