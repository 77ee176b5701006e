"""Host memory of the five kinds: arrays, views, pools, and calls that use them."""

import concurrent.futures
import functools
import gc
import itertools
import resource
import threading

import numpy as np
import pytest
import small_calls
from processes import python

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

KINDS = ("pageable", "pinned", "write_combined", "mapped", "managed")
STAY = ("mapped", "managed")  # used where they are
FAMILIES = gm.families()
SHAPES = {  # large enough for several pieces; of other families, about 120 kB
    "copy": ((100_003,), (1, 70_001), (7, 5, 2003)),
    "shift_points": ((40_003, 2), (2, 40_003)),
    "polynomial": ((50_003,), (3, 20_001)),
    "sample": ((151, 203),),
    "prefetch_sum": ((301, 131),),
    "transpose": ((211, 1027), (1027, 211), (65, 4099)),
    "add": ((100_003,), (7, 5, 2003), ()),
    "sgemm": ((4500, 33, 40), (33, 45, 40)),
    "matmul": ((4500, 33, 40), (33, 45, 40), (1500, 3, 5, 6)),
}


def on(kind, a, backend):
    there = gm.empty(a.shape, a.dtype, kind=kind, backend=backend)
    there[...] = a
    return there


@pytest.fixture(params=[0, 2**15, 2**17], ids=["whole", "small-pieces", "pieces"])
def chunk(request):
    return request.param


def call(family, *arrays, chunk, variant="auto", out=None, backend=None, **parameters):
    """What the family's function does, moving this many bytes at a time."""
    values = table.parameters(family, parameters)
    return _core.call(family, variant, arrays, out, None, backend, values, chunk)


# ---- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_array_of_a_kind_is_an_ndarray(kind, backend):
    for shape, dtype in (((3, 5), "f8"), ((), "i4"), (7, "u1"), ((0, 4), "f4"), (2, "S3")):
        a = gm.empty(shape, dtype, kind=kind, backend=backend)
        assert type(a) is np.ndarray and a.dtype == dtype
        assert a.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert a.flags.c_contiguous and a.flags.writeable and a.flags.aligned
        a[...] = np.ones((), dtype)
        assert (a == np.ones((), dtype)).all()
    assert gm.empty(3, kind=kind, backend=backend).dtype == "f4"


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_has_the_kind_of_its_memory(kind, backend):
    a = gm.empty((50, 60), kind=kind, backend=backend)
    for view in (a, a[1:], a[::-1, ::3], a.T, a.reshape(-1)[7:], a.view("u1"), a[49:, 59:]):
        assert gm.memory_kind(view) == kind
    del a
    gc.collect()
    assert gm.memory_kind(view) == kind  # which keeps the memory
    view[...] = 3


def test_other_memory_is_pageable_and_a_device_array_is_on_the_device(backend):
    assert gm.memory_kind(np.ones(3)) == "pageable"
    assert gm.memory_kind(b"bytes") == "pageable"
    assert gm.memory_kind(gm.to_device(np.ones(3), backend=backend)) == "device"


def test_blocks_do_not_overlap_and_are_aligned(backend):
    arrays = [
        gm.empty(n, "u1", kind=kind, backend=backend)
        for n in (1, 4095, 4096, 4097, 100_000)
        for kind in KINDS[1:]
    ]
    spans = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    assert all(begin % 256 == 0 for begin, _ in spans)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shape": 3, "kind": "fast"}, ValueError, r"kind is 'fast', expected one of: pageable"),
        ({"shape": 3, "kind": 3}, TypeError, "kind must be a str, not int"),
        ({"shape": 3, "kind": "pinned\0"}, ValueError, "null character"),
        ({"shape": -1}, ValueError, "negative dimension -1"),
        ({"shape": None}, TypeError, "shape must be an int or a sequence"),
        ({"shape": (2**62, 2)}, ValueError, "shape is too large"),
        ({"shape": 3, "dtype": object}, TypeError, "dtype has dtype"),
        ({"shape": 3, "backend": "gpu"}, ValueError, "backend"),
    ],
)
@pytest.mark.parametrize("kind", ["pageable", "pinned", "managed"])
def test_invalid_arguments_of_empty(arguments, error, words, kind):
    with pytest.raises(error, match=words):
        gm.empty(**{"kind": kind} | arguments)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_request_that_is_too_large_names_its_size(kind, backend):
    with pytest.raises(MemoryError, match=r"asked for \d+ bytes.* free"):
        gm.empty(2**50, "u1", kind=kind, backend=backend)
    assert gm.empty(3, kind=kind, backend=backend).size == 3


def test_memory_kind_refuses_other_objects():
    with pytest.raises(TypeError):
        gm.memory_kind(object())


# ---- pools ------------------------------------------------------------------------------------


def test_pinned_memory_is_used_again(backend):
    gc.collect()  # arrays of other tests are not returned meanwhile
    gm.pool_trim(backend=backend)
    before = gm.pool_info(backend=backend)["pinned"]["reserved"]
    first = gm.empty(1_000_000, "u1", kind="pinned", backend=backend)
    address, held = first.ctypes.data, gm.pool_info(backend=backend)["pinned"]
    assert held["used"] >= first.nbytes and held["limit"] > 0
    del first
    left = gm.pool_info(backend=backend)["pinned"]
    assert left["reserved"] == held["reserved"] and left["used"] <= held["used"] - 1_000_000
    again = gm.empty(1_000_000, "u1", kind="pinned", backend=backend)
    other = gm.empty(1_000_000, "u1", kind="write_combined", backend=backend)
    assert again.ctypes.data == address != other.ctypes.data
    del again, other
    assert gm.pool_trim(backend=backend) >= 2_000_000
    assert gm.pool_info(backend=backend)["pinned"]["reserved"] == before


def test_trimming_leaves_what_is_in_use(backend):
    a = on("pinned", np.arange(100_000), backend)
    d = gm.to_device(np.arange(100_000), backend=backend)
    gm.pool_trim(backend=backend)
    info = gm.pool_info(backend=backend)
    assert info["backend"] == backend
    assert info["pinned"]["used"] >= a.nbytes and info["device"]["used"] >= d.nbytes
    assert np.array_equal(a, np.arange(100_000)) and np.array_equal(d.to_host(), a)


def test_an_eighth_is_wasted_at_most(backend):
    for nbytes in (1, 5000, 123_457, 3_000_001):
        gm.pool_trim(backend=backend)
        before = gm.pool_info(backend=backend)["pinned"]["reserved"]
        a = gm.empty(nbytes, "u1", kind="mapped", backend=backend)
        taken = gm.pool_info(backend=backend)["pinned"]["reserved"] - before
        assert nbytes <= taken <= max(4096 * -(-nbytes // 4096), nbytes * 9 // 8)
        del a


# ---- every kind and every family --------------------------------------------------------------


def calls(family):
    for shape in SHAPES.get(family, (oracle.shape_for(family, 120_004),)):
        for case in oracle.cases(family):
            parameters = case.parameters
            break
        yield shape, parameters


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_on_arrays_of_a_kind(family, kind, backend, chunk):
    """From each kind into a new array, and into one of each kind."""
    function = functools.partial(call, family, chunk=chunk)
    for shape, parameters in calls(family):
        arrays = oracle.arguments(family, shape, seed=1, **parameters)
        wanted = oracle.expected(family, *arrays, **parameters)
        within = oracle.bound(family, *arrays, **parameters)
        there = [on(kind, a, backend) for a in arrays]
        got = function(*there, backend=backend, **parameters)
        oracle.compare(family, got, wanted, within)
        if family in small_calls.IN_PLACE:
            assert got is there[0]
            continue
        stays = kind in STAY and not (kind == "mapped" and family in REREAD)
        if stays:
            assert gm.memory_kind(got) == kind
        for before, after in zip(arrays, there, strict=True):
            assert before.tobytes() == after.tobytes()
        for other in KINDS:
            out = gm.empty(wanted.shape, wanted.dtype, kind=other, backend=backend)
            out.reshape(-1).view("u1")[...] = 0xA5
            assert function(*there, out=out, backend=backend, **parameters) is out
            oracle.compare(family, out, wanted, within)


REREAD = (
    "gather",
    "chase",
    "sample",
    "sgemm",
    "matmul",
)  # whose first input the kernels read again and again


@pytest.mark.parametrize("kind", KINDS)
def test_strided_and_misaligned_views_of_a_kind(kind, backend, chunk, rng):
    base = on(kind, rng.random((301, 407)), backend)
    for view in (base[::2], base[:, 3:-2], base.T, base[::-1, ::-3], base[1:].reshape(-1)[1:]):
        assert np.array_equal(call("copy", view, chunk=chunk, backend=backend), view)
        total = call("add", view, view, chunk=chunk, backend=backend)
        assert np.array_equal(total, view + view)
    raw = base.view("u1").reshape(-1)
    for offset in (1, 4, 15):
        got = call("copy", raw[offset:], chunk=chunk, backend=backend)
        assert np.array_equal(got, raw[offset:])


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_elements_of_a_strided_out_change(kind, backend, chunk, rng):
    a = rng.random((300, 200))
    out = on(kind, np.full((300, 403), 7.0), backend)
    got = call("copy", a, chunk=chunk, out=out[:, 1:401:2], backend=backend)
    assert got.base is not None
    assert np.array_equal(out[:, 1:401:2], a)
    out[:, 1:401:2] = 7.0
    assert (out == 7.0).all()


def test_arrays_of_another_backend_are_ordinary_memory():
    """They are transferred: no kernel uses another backend's memory in place."""
    a = on("managed", np.arange(1000.0), "sim")
    assert np.array_equal(gm.copy(a, backend="sim"), a)


@pytest.mark.gpu
def test_arrays_of_the_simulator_are_transferred_to_a_device():
    a = on("managed", np.arange(1000.0), "sim")
    assert np.array_equal(gm.copy(a, backend="cuda"), a)
    b = on("mapped", np.arange(1000.0), "cuda")
    assert np.array_equal(gm.add(a, b, backend="cuda"), a + b)
    assert np.array_equal(gm.add(b, a, backend="sim"), a + b)


def test_traffic_works_on_copies():
    """An observed call does not change the caller's array, whatever its memory."""
    for kind in KINDS:
        a = on(kind, np.arange(1024, dtype="f4"), "sim")
        assert gm.traffic("copy", a, variant="scalar").loads.sectors_per_request == 4
        out = on(kind, np.zeros(1000, "f4"), "sim")
        gm.traffic("strided_write", out, a[:500])
        assert not out.any()


def test_mapped_memory_is_used_in_place(monkeypatch):
    """The simulator's guards would find a write past the end of the array."""
    a = on("mapped", np.arange(4096, dtype="f4"), "sim")
    before = gm.pool_info(backend="sim")["device"]["used"]
    b = gm.copy(a, backend="sim")
    assert gm.memory_kind(b) == "mapped"
    assert gm.pool_info(backend="sim")["device"]["used"] == before


# ---- in pieces --------------------------------------------------------------------------------


def test_a_call_in_pieces_needs_little_device_memory(monkeypatch):
    """With a small chunk the whole arrays are never on the device."""
    code = r"""
        import re, numpy as np, gpumem as gm
        from gpumem import _core

        def peak():
            return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])

        a = np.ones(32 * 2**20, np.uint8)
        out = np.zeros_like(a)
        before = peak()
        _core.call("copy", "auto", (a,), out, None, None, (0,), {chunk})
        print(peak() - before)
        assert (out == a).all()
    """
    grown = {}
    for chunk in (0, 2**20):
        grown[chunk] = int(python(code.format(chunk=chunk))) * 1024
    assert grown[0] > 40 * 2**20  # both arrays, once more
    assert grown[2**20] < 20 * 2**20


def test_a_named_variant_is_refused_as_when_the_call_is_whole(chunk):
    a = np.ones((1001, 513), "u1")
    with pytest.raises(ValueError, match="variant tile_vector:b8"):
        call("transpose", a, chunk=chunk, variant="tile_vector:b8", backend="sim")
    for name in ("tile", "tile_padded", "naive_row"):
        b = np.arange(300 * 1100, dtype="f4").reshape(300, 1100)
        got = call("transpose", b, chunk=chunk, variant=name, backend="sim")
        assert np.array_equal(got, b.T)


def test_an_index_out_of_range_writes_nothing(chunk, backend):
    a, index = np.arange(50_000.0), np.arange(200_000) % 50_000
    index[-1] = 50_000
    out = np.full(200_000, 7.0)
    with pytest.raises(IndexError):
        call("gather", a, index, chunk=chunk, out=out, backend=backend)
    assert (out == 7.0).all()


def test_c_may_be_out_in_pieces(chunk, backend, rng):
    a, b = (rng.integers(-9, 9, s).astype("f4") for s in ((4500, 20), (20, 40)))
    c = rng.integers(-9, 9, (4500, 40)).astype("f4")
    wanted = a @ b + 2 * c
    assert call("sgemm", a, b, c, chunk=chunk, beta=2.0, out=c, backend=backend) is c
    assert np.array_equal(c, wanted)


def test_the_chunk_is_checked():
    a = np.ones(3)
    with pytest.raises(ValueError, match="chunk is -1"):
        call("copy", a, chunk=-1)
    with pytest.raises(TypeError):
        call("copy", a, chunk="1M")
    with pytest.raises(TypeError, match="call takes 7 or 8 arguments"):
        _core.call("copy", "auto", (a,), None, None, None, (0,), 0, 0)


# ---- threads, forks, exits --------------------------------------------------------------------


def test_five_hundred_threads(backend):
    """Each thread makes, uses, hands over and drops arrays of every kind."""
    start = threading.Barrier(500)
    handed: list = []

    def work(number):
        random = np.random.default_rng(number)
        start.wait()
        for _ in range(4):
            kind = KINDS[random.integers(len(KINDS))]
            a = on(kind, random.random(random.integers(0, 5000)), backend)
            b = gm.add(a, a, backend=backend)
            assert np.array_equal(b, a + a)
            assert gm.memory_kind(a[1:]) == kind or a.size < 2
            handed.append(b[::2])
            if len(handed) > 50:
                try:
                    handed.pop(0)
                except IndexError:
                    pass
        return True

    with concurrent.futures.ThreadPoolExecutor(500) as pool:
        assert all(pool.map(work, range(500)))
    handed.clear()
    gc.collect()


def test_threads_in_pieces_at_once(backend):
    def work(number):
        a = np.random.default_rng(number).random((300, 411))
        in_pieces = functools.partial(call, chunk=2**15, backend=backend)
        return all(
            np.array_equal(in_pieces("transpose", a), a.T) for _ in range(5)
        ) and np.array_equal(in_pieces("copy", a), a)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(32)))


USE_ALL = """
    import numpy as np, gpumem as gm
    from gpumem import _core
    KINDS = ("pageable", "pinned", "write_combined", "mapped", "managed")
    live = [gm.empty(10_000, kind=kind) for kind in KINDS]
    for a in live:
        a[:] = 1
    big = np.ones((400, 411), "f4")
    live += [gm.add(a, a) for a in live] + [gm.to_device(a) for a in live]
    live += [gm.transpose(big), gm.copy(big)]
    for family, values in (("transpose", (0, 0)), ("copy", (0,))):  # in pieces
        live.append(_core.call(family, "auto", (big,), None, None, None, values, 2**15))
"""


@pytest.mark.parametrize("last", ["", "import sys; sys.exit(0)", "del gm, live"])
def test_exit_with_live_arrays_is_clean(last, backend):
    for _ in range(3):
        python(USE_ALL + "\n    " + last, backend=backend)


def test_a_forked_child(backend):
    """The simulator works in the child; CUDA raises an exception there. The parent goes on."""
    done = """
    import os, warnings
    warnings.simplefilter("ignore")
    backend = gm.backend()
    child = os.fork()
    if child == 0:
        try:
            if backend == "sim":
                b = gm.transpose(big)
                ok = (b == 1).all() and (gm.empty(5, kind="pinned").size == 5)
            else:
                ok = False
                try:
                    gm.empty(10_000_000, kind="pinned")
                except gm.CudaError as error:
                    ok = "fork" in str(error)
                try:
                    gm.add(live[1], live[1])
                    ok = False
                except gm.CudaError as error:
                    ok = ok and "fork" in str(error)
            del live
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (gm.transpose(big) == 1).all() and (gm.add(live[3], live[3]) == 2).all()
    """
    python(USE_ALL + done, backend=backend)


def test_nothing_grows(backend):
    """Memory does not grow with the number of calls, failing ones included."""
    small = [on(kind, np.ones(64, "f4"), backend) for kind in KINDS]
    wrong = np.ones(63, "f4")

    def some(count):
        for i in range(count):
            a = small[i % len(small)]
            gm.add(a, a, backend=backend)
            if i % 3 == 0:
                with pytest.raises(ValueError, match="expected that of a"):
                    gm.add(a, wrong, backend=backend)
            if i % 5 == 0:
                gm.empty(100, kind=KINDS[i % 5], backend=backend)
                with pytest.raises(ValueError, match="kind is"):
                    gm.empty(100, kind="x", backend=backend)

    some(3000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    some(10_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB
