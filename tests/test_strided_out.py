"""Results in device memory of any layout: strided out=, d[index] = value, copies between views."""

import numpy as np
import pytest
from gpu_libraries import Cupy, Torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

DTYPES = ["u1", "i2", "f4", "f8", "c16", "V3", "V5", "V6", "V12", "V24"]
EXTENTS = [0, 1, 2, 3, 4, 5, 7, 8, 13, 31, 33, 64, 101]
NO_AXES = ("static_value", "reduce", "chase")  # their results are of shape ()
WITH_OUT = [v for v in gm.variants() if not v.in_place and v.family not in NO_AXES]
FAMILIES = sorted({v.family for v in WITH_OUT})
MARGIN = 64
FAR = 2**21  # bytes; steps that would make a layout reach further are left out
STEPS = st.sampled_from([1, 1, 1, 2, -1, -3])
DRAWN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Memory:
    """Random bytes on the host, and a copy of them on a device: views of both look alike."""

    def __init__(self, rng, nbytes, backend):
        self.here = rng.integers(0, 256, nbytes, dtype=np.uint8)
        if backend == "sim":
            self.there = gm.empty(nbytes, "u1", kind="mapped", backend="sim")
            self.there[...] = self.here
        else:
            self.there = gm.to_device(self.here, backend=backend)

    def views(self, shape, strides, dtype, begin):
        here = as_strided(self.here[begin:][:0].view(dtype), shape, strides)
        if isinstance(self.there, np.ndarray):
            there = as_strided(self.there[begin:][:0].view(dtype), shape, strides)
            return here, _core.over(there, "sim")
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": here.dtype.str,
            "data": (self.there.pointer + begin, False),
        }
        return here, _core.adopt(self, "a", None)

    def same(self):
        there = self.there if isinstance(self.there, np.ndarray) else self.there.to_host()
        return self.here.tobytes() == there.tobytes()


@st.composite
def drawn_layout(draw, shape, itemsize, broadcast=False):
    """Strides in bytes, where the first element begins, and how many bytes it takes."""
    strides, reach, back = [0] * len(shape), itemsize, 0
    left = int(np.prod(np.maximum(shape, 1)))  # elements along the axes to come
    for axis in draw(st.permutations(range(len(shape)))):
        if broadcast and draw(st.integers(0, 5)) == 0:
            continue
        step = draw(STEPS)
        step = step if reach * left * abs(step) < FAR else int(np.sign(step))
        left //= max(shape[axis], 1)
        gap = draw(st.sampled_from([0, 0, 0, 1, 4, 16])) if itemsize > 1 else 0
        stride = reach * abs(step) + gap
        strides[axis] = stride if step > 0 else -stride
        span = stride * max(shape[axis] - 1, 0)
        back += span if step < 0 else 0
        reach += span
    begin = MARGIN + back + draw(st.sampled_from([0, 0, 1, 2, 4, 8]))
    return tuple(strides), begin, begin - back + reach + MARGIN


@st.composite
def drawn_copy(draw, most):
    shape = draw(st.lists(st.sampled_from(EXTENTS), max_size=5))
    while np.prod(shape, dtype=int) > most:
        shape[int(np.argmax(shape))] = 2
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    source = draw(drawn_layout(shape, dtype.itemsize, broadcast=True))
    target = draw(drawn_layout(shape, dtype.itemsize))
    return tuple(shape), dtype, source, target


def made(rng, backend, case):
    shape, dtype, *sides = case
    memories = [Memory(rng, size, backend) for _, _, size in sides]
    views = [
        memory.views(shape, strides, dtype, begin)
        for memory, (strides, begin, _) in zip(memories, sides, strict=True)
    ]
    return memories, views


# ---- copies ------------------------------------------------------------------------------------


@DRAWN
@given(case=drawn_copy(2**14))
@pytest.mark.parametrize("way", ["out", "variant", "assign"])
def test_any_layout_to_any_layout(way, case, backend, rng):
    """Every byte of the target, and of the memory between and around its elements."""
    (source, target), ((a, device_a), (out, device_out)) = made(rng, backend, case)
    out[...] = a
    if way == "assign":
        device_out[...] = device_a
    else:
        variant = "strided" if way == "variant" else "auto"
        assert gm.copy(device_a, out=device_out, variant=variant) is device_out
    assert target.same() and source.same()


@DRAWN
@given(case=drawn_copy(2**11))
def test_any_layout_to_any_layout_under_observation(case, rng):
    """No race, no stray access, and none that is not aligned, which the host would forgive."""
    (_, target), ((a, device_a), (out, device_out)) = made(rng, "sim", case)
    out[...] = a
    _core.traffic("copy", "strided", (device_a,), (0,), device_out)
    assert target.same()


def test_many_axes(backend, rng):
    """Axes that cannot be merged: as many as memory holds, and more."""
    shape = (2,) * 13
    strides = tuple(3 * 3**d for d in range(13))
    case = shape, np.dtype("V3"), (strides[::-1], 0, 3**13 * 3), (strides, 0, 3**13 * 3)
    (_, target), ((a, device_a), (out, device_out)) = made(rng, backend, case)
    out[...] = a
    gm.copy(device_a, out=device_out)
    assert target.same()


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_few_blocks(blocks, backend, rng):
    case = (50, 300), np.dtype("f4"), ((4, 200), 0, 60000), ((2400, 8), 0, 120000)
    (_, target), ((a, device_a), (out, device_out)) = made(rng, backend, case)
    out[...] = a
    gm.copy(device_a, out=device_out, max_blocks=blocks)
    assert target.same()


def test_stores_are_side_by_side():
    """Whatever the order of axes: 32 lanes store to 32 places that are 8 bytes apart."""
    source, target = (gm.to_device(np.zeros((64, 64), "f4"), backend="sim") for _ in range(2))
    for a, out in ((source[:, ::2], target[:, ::2]), (source.T[::2], target.T[::2])):
        report = _core.traffic("copy", "auto", (a,), (0,), out)
        sites = [site for site in report["sites"] if site["kind"] == "store"]
        assert sum(s["sectors"] for s in sites) == 8 * sum(s["requests"] for s in sites) > 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("begin", [(0, 0), (3, 5), (0, 64)], ids=str)
def test_a_transpose_into_a_block_of_a_larger_array(dtype, begin, backend, rng):
    """Kernels write to it: the bytes around it stay as they are."""
    for shape in ((300, 517), (64, 640), (5, 700), (2, 90, 133)):
        a = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
        a = a.view(dtype)[..., 0]
        axes = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
        rows, cols = (
            slice(at, at + n) for at, n in zip(begin, a.transpose(axes).shape[-2:], strict=True)
        )
        around = np.zeros((*shape[:-2], rows.stop + 2, cols.stop + 7), dtype)
        there = gm.to_device(around, backend=backend)
        gm.permute(gm.to_device(a, backend=backend), axes, out=there[..., rows, cols])
        around[..., rows, cols] = a.transpose(axes)
        assert there.to_host().tobytes() == around.tobytes()


def test_a_block_is_written_once():
    """By the kernel itself, as many sectors as the block has."""
    a = gm.to_device(np.zeros((256, 128), "f4"), backend="sim")
    out = gm.to_device(np.zeros((128, 512), "f4"), backend="sim")[:, 128:384]
    report = _core.traffic("permute", "auto", (a,), (0,) * 10, out)
    assert [kernel["name"] for kernel in report["kernels"]] == ["permute_matrices_vector_b32"]
    stores = [
        site for site in report["sites"] if (site["space"], site["kind"]) == ("global", "store")
    ]
    assert sum(site["sectors"] for site in stores) == a.nbytes // 32


# ---- out= of every family ----------------------------------------------------------------------

VIEWS = {
    "every-other": lambda shape: ((*shape[:-1], 2 * shape[-1]), np.s_[..., ::2]),
    "reversed": lambda shape: (shape, np.s_[..., ::-1]),
    "inner": lambda shape: (tuple(n + 8 for n in shape), (np.s_[4:-4],) * len(shape)),
    "first-axis": lambda shape: ((3 * shape[0], *shape[1:]), np.s_[2::3]),
}


def case_of(family, variant):
    dtype = oracle.dtype_of(variant) if variant else oracle.dtype_for(family)
    shape = oracle.shape_for(family, 2**14, dtype, variant.name if variant else "auto")
    arrays = oracle.arguments(family, shape, dtype, seed=5)
    keywords = next(c.parameters for c in oracle.cases(family))
    return arrays, keywords


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("family", "variant"),
    [*((f, None) for f in FAMILIES), *((v.family, v) for v in WITH_OUT)],
    ids=lambda value: str(value or "auto"),
)
def test_strided_out(family, variant, view, backend, rng):
    name = variant.name if variant else "auto"
    if variant:
        here(variant, backend)
        if variant.memory is not None:
            pytest.skip("it takes memory of the host")
        if (family, name) == ("permute", "matrix"):
            pytest.skip("it takes two axes, the cube has three")
    arrays, keywords = case_of(family, variant)
    wanted = oracle.expected(family, *arrays, variant=name, **keywords)
    whole, index = VIEWS[view](wanted.shape)
    around = rng.integers(1, 99, whole).astype(wanted.dtype)
    there = gm.to_device(around, backend=backend)
    out = there[index]
    given_arrays = [gm.to_device(a, backend=backend) for a in arrays]
    got = getattr(gm, family)(*given_arrays, **keywords, variant=name, out=out)
    assert got is out
    after = there.to_host()
    oracle.check(family, after[index], *arrays, variant=name, **keywords)
    after[index] = around[index]
    assert after.tobytes() == around.tobytes()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("family", FAMILIES)
def test_strided_inputs(family, view, backend, rng):
    """What kernels do not take is copied first, and the caller's arrays stay as they are."""
    arrays, keywords = case_of(family, None)
    around, views = [], []
    for a in arrays:
        whole, index = VIEWS[view](a.shape)
        memory = rng.integers(1, 99, whole).astype(a.dtype)
        memory[index] = a
        around.append((memory, gm.to_device(memory, backend=backend)))
        views.append(around[-1][1][index])
    got = getattr(gm, family)(*views, **keywords)
    oracle.check(family, got.to_host(), *arrays, **keywords)
    assert all(there.to_host().tobytes() == memory.tobytes() for memory, there in around)


@pytest.mark.gpu
@pytest.mark.parametrize("library", [Torch, Cupy])
@pytest.mark.parametrize("family", FAMILIES)
def test_another_librarys_views(family, library):
    """Every other column of inputs and out, while the library's nonblocking stream is behind."""
    side = library()
    arrays, keywords = case_of(family, None)
    wanted = oracle.expected(family, *arrays, **keywords)
    stream = side.stream()
    with side.on(stream):
        side.spin()
        views = [side.array(np.repeat(a, 2, axis=-1))[..., ::2] for a in arrays]
        memory = side.array(np.repeat(np.zeros_like(wanted), 2, axis=-1))
        out = memory[..., ::2]
        got = getattr(gm, family)(*views, **keywords, out=out, stream=side.handle(stream))
        assert got is out
        after = side.host(memory)
    oracle.check(family, np.ascontiguousarray(after[..., ::2]), *arrays, **keywords)
    assert not after[..., 1::2].any()


@pytest.mark.parametrize("family", FAMILIES)
def test_misaligned_out(family, backend):
    """A result at any byte: made elsewhere where kernels need whole elements."""
    arrays, keywords = case_of(family, None)
    wanted = oracle.expected(family, *arrays, **keywords)
    memory = gm.DeviceArray(wanted.nbytes + 1, "u1", backend=backend)
    memory.fill_bytes(77)
    out = memory[1:].view(wanted.dtype).reshape(wanted.shape)
    given_arrays = [gm.to_device(a, backend=backend) for a in arrays]
    assert getattr(gm, family)(*given_arrays, **keywords, out=out) is out
    oracle.check(family, out.to_host(), *arrays, **keywords)
    assert memory[0].item() == 77


def test_sums_are_stored_whole(backend):
    """Unlike the elements that it reads: a processor forgives what a GPU does not."""
    a = gm.to_device(np.ones((4, 256)), backend=backend)
    memory = gm.DeviceArray(33, "u1", backend=backend)
    with pytest.raises(ValueError, match="variant any needs out aligned to its 8 bytes"):
        gm.prefetch_sum(a, variant="any", out=memory[1:].view("f8"))


def test_structures_with_gaps(backend):
    """shift_points sees structures as pairs of floats, which strided ones are not."""
    points = np.arange(20, dtype="f4").view([("x", "f4"), ("y", "f4")])
    there = gm.to_device(np.zeros(20, points.dtype), backend=backend)
    out = there[::-2]
    assert gm.shift_points(gm.to_device(points, backend=backend), 1, 2, out=out) is out
    wanted = gm.shift_points(points, 1, 2, backend="sim")
    assert out.to_host().tobytes() == wanted.tobytes()
    assert not there[::2].to_host().view("f4").any()


def test_the_input_as_strided_out(backend):
    """sgemm's out may be c, and so may a view."""
    numbers = np.arange(48, dtype="f4").reshape(6, 8)
    c = gm.to_device(numbers, backend=backend)[:, ::2]
    a, b = (gm.to_device(np.ones(shape, "f4"), backend=backend) for shape in ((6, 3), (3, 4)))
    assert gm.sgemm(a, b, c, beta=2, out=c) is c
    assert c.to_host().tolist() == (3 + 2 * numbers[:, ::2]).tolist()


@pytest.mark.gpu
def test_another_librarys_out(backend="cuda"):
    class Producer:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a = np.arange(30, dtype="f4").reshape(5, 6)
    there = gm.to_device(np.zeros((6, 10), "f4"), backend=backend)
    out = Producer(there[:, ::2])
    assert gm.transpose(gm.to_device(a, backend=backend), out=out) is out
    assert gm.copy(gm.to_device(a.T + 1, backend=backend), out=Producer(there[:, 1::2]))
    assert np.array_equal(there.to_host(), np.stack([a.T, a.T + 1], axis=2).reshape(6, 10))


def test_out_waits_and_is_waited_for(backend):
    stream = gm.Stream(backend=backend)
    source = gm.to_device(np.arange(5000, dtype="f4").reshape(50, 100), backend=backend)
    there = gm.to_device(np.zeros((100, 150), "f4"), backend=backend)
    for step in range(10):
        gm.transpose(source, out=there[:, step % 3 :: 3], stream=stream)
        got = gm.copy(there[:, step % 3 :: 3], stream=stream).to_host()
        assert np.array_equal(got, source.to_host().T)


# ---- what is refused -----------------------------------------------------------------------------


def test_out_whose_elements_share_memory():
    memory = gm.empty(40, "f4", kind="mapped", backend="sim")
    memory[...] = 0
    for shape, strides in [((3, 2), (0, 4)), ((3, 3), (4, 4)), ((2, 3), (8, 8)), ((2, 2), (2, 4))]:
        out = _core.over(as_strided(memory, shape, strides), "sim")
        a = gm.to_device(np.ones(shape, "f4"), backend="sim")
        with pytest.raises(ValueError, match="elements of out share memory"):
            gm.copy(a, out=out)
        with pytest.raises(ValueError, match="elements of the array share memory"):
            out[...] = 1
    assert not memory.any()


def test_strided_out_that_does_not_fit(backend):
    a = gm.to_device(np.arange(24, dtype="f4").reshape(4, 6), backend=backend)
    zeros = gm.to_device(np.zeros((4, 12), "f4"), backend=backend)
    for out, error, words in [
        (zeros[:, ::3], ValueError, r"out has shape \(4, 4\), expected \(4, 6\)"),
        (zeros.view("i4")[:, ::2], TypeError, "out has dtype"),
        (a[::-1], ValueError, "out overlaps a"),
    ]:
        with pytest.raises(error, match=words):
            gm.copy(a, out=out)
    with pytest.raises(ValueError, match="out must be C-contiguous and aligned to be prepared"):
        _core.prepare("transpose", "auto", (a.T.copy(),), zeros[:, ::2], None, (0, 0))
    assert not zeros.to_host().any()


def test_nothing_is_left_behind(backend):
    a = gm.to_device(np.arange(24, dtype="f4").reshape(4, 6), backend=backend)
    there = gm.to_device(np.zeros((6, 8), "f4"), backend=backend)
    out = there[:, ::2]

    def used():
        gm.transpose(a, out=out)
        with pytest.raises(ValueError, match="out overlaps"):
            gm.transpose(there[:4, :6], out=out)
        return gm.pool_info(backend=backend)["device"]["used"]

    before = used()
    assert [used() for _ in range(20)] == [before] * 20


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
def test_more_than_2_31_units(rng, backend="cuda"):
    """Units of a byte on two axes, whose number does not fit into 32 bits."""
    rows = 2**31 // 3 + 777
    row = rng.integers(0, 256, rows, dtype=np.uint8)
    source = gm.to_device(row, backend=backend)
    there = gm.DeviceArray((rows, 6), "u1", backend=backend)
    there.fill_bytes(7)
    there[:, ::-2] = source.reshape(rows, 1)
    for start in (0, rows // 2, rows - 1000, *rng.integers(0, rows - 1000, 10)):
        part = slice(int(start), int(start) + 1000)
        got = there[part].to_host()
        assert (got[:, ::2] == 7).all() and (got[:, 1::2] == row[part, None]).all()
