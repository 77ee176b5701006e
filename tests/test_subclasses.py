"""Subclasses of ndarray: a mask is never dropped in silence, others are taken as plain arrays."""

import numpy as np
import pytest
import small_calls

import gpumem as gm

NAMES = {family: [v.name for v in gm.variants(family)] for family in gm.families()}
FAMILIES = {family: small_calls.make(family) for family in gm.families()}
INPUTS = [(family, name) for family, call in FAMILIES.items() for name in call.arrays]
PLAIN = np.arange(64, dtype="f4").reshape(8, 8)


def mask(a):
    """The same elements, the first of which is masked."""
    made = np.ma.array(a, copy=True)
    made[(0,) * made.ndim] = np.ma.masked
    return made


def refused(name):
    words = rf"^{name} is a masked array.*{name}\.data.*{name}\.filled\(value\)"
    return pytest.raises(TypeError, match=words)


@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_no_input_may_be_masked(family, name, backend):
    """By every variant alike."""
    call = FAMILIES[family]
    masked = mask(call.arrays[name])
    for variant in ["auto", *NAMES[family]]:
        with refused(name):
            call.run(family, variant=variant, backend=backend, **{name: masked})


@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_nor_one_whose_traffic_is_looked_at(family, name):
    call = FAMILIES[family]
    arrays = call.arrays | {name: mask(call.arrays[name])}
    with refused(name):
        gm.traffic(family, *arrays.values())


@pytest.mark.parametrize("family", [f for f in FAMILIES if "out" not in FAMILIES[f].arrays])
def test_no_result_goes_into_a_masked_array(family, backend):
    """What it masks would be written to, and stay masked."""
    for variant in ["auto", *NAMES[family]]:
        call = small_calls.make(family, variant)
        out = mask(call.result)
        before = out.data.copy()
        with refused("out"):
            call.run(family, variant=variant, backend=backend, out=out)
        assert np.array_equal(out.data, before)


@pytest.mark.parametrize(
    "masked",
    [
        np.ma.array(PLAIN),  # no mask by now: the rule is by type
        np.ma.array(PLAIN, mask=PLAIN > 3)[::2, 1:],
        np.ma.array([(1, 2)] * 9, [("x", "f4"), ("y", "f4")]),
        np.ma.masked,
    ],
    ids=["unmasked", "view", "structured", "constant"],
)
def test_every_kind_of_masked_array(masked, backend):
    with refused("a"):
        gm.copy(masked, backend=backend)
    with refused("a"):
        gm.to_device(masked, backend=backend)


def test_points_with_a_mask(backend):
    """Structures are seen as numbers, strided ones through a view of NumPy's making."""
    points = np.ma.array([(1, 2)] * 9, [("x", "f4"), ("y", "f4")])
    for p in (points, points[::2]):
        with refused("p"):
            gm.shift_points(p, 1, 2, backend=backend)
    with refused("out"):
        gm.shift_points(points.data, 1, 2, out=points, backend=backend)


def test_ways_to_and_from_the_device(backend):
    masked = mask(PLAIN)
    with refused("out"):
        gm.to_device(PLAIN, backend=backend).to_host(out=masked)
    with refused("x"):
        gm.from_dlpack(masked)
    with refused("a"):
        gm.memory_kind(masked)


def test_what_the_message_says_to_do(backend):
    masked = np.ma.array(PLAIN, mask=PLAIN > 3)
    assert np.array_equal(gm.copy(masked.data, backend=backend), PLAIN)
    got = gm.copy(masked.filled(-1), backend=backend)
    assert np.array_equal(got, np.where(PLAIN > 3, -1, PLAIN))


class Tagged(np.ndarray):
    """An array that NumPy's functions do not take."""

    __array_function__ = None


@pytest.mark.parametrize("kind", ["memmap", "recarray", "matrix", "user"])
def test_other_subclasses_are_their_elements(kind, backend, tmp_path):
    if kind == "memmap":
        a, out = (np.memmap(tmp_path / n, "f4", "w+", shape=(8, 8)) for n in "ab")
        a[...] = PLAIN
    elif kind == "recarray":
        a = np.rec.array([(i, i / 2) for i in range(9)], [("x", "i4"), ("y", "f8")])
        out = np.rec.array(np.zeros(9, a.dtype))
    else:
        there = np.matrix if kind == "matrix" else Tagged
        a, out = PLAIN.copy().view(there), np.zeros_like(PLAIN).view(there)
    got = gm.copy(a, backend=backend)
    assert type(got) is np.ndarray
    assert got.tobytes() == a.tobytes()
    assert gm.copy(a, out=out, backend=backend) is out
    assert out.tobytes() == a.tobytes()
    there = gm.to_device(a, backend=backend)
    assert there.to_host().tobytes() == a.tobytes()
    out[...] = 0
    assert there.to_host(out=out) is out and out.tobytes() == a.tobytes()
    with pytest.raises(ValueError, match="out overlaps a"):
        gm.copy(a[::2], out=a[: -len(a[::2]) - 1 : -1], backend=backend)
