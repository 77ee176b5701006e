"""Arrays and streams of other libraries: DLPack and ``__cuda_array_interface__`` both ways."""

import gc
import os
import sys
import threading
import weakref

import dlpack
import numpy as np
import pytest
from dlpack import Bare, Producer
from processes import at_once, python

import gpumem as gm
from gpumem import _core
from gpumem.families import table

pytestmark = pytest.mark.usefixtures("frozen")

ARRAYS = dlpack.awkward_arrays()
POINT = np.dtype([("x", "f4"), ("y", "i2")])
SIX = np.arange(6, dtype="f4").reshape(2, 3)


@pytest.fixture(autouse=True)
def on_the_simulator(request, monkeypatch):
    """Tests without a GPU's marker are about the host, wherever they run."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setenv("GPUMEM_BACKEND", "sim")


def mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def used():
    gc.collect()  # also what earlier tests left in cycles
    return gm.pool_info(backend="sim")["device"]["used"]


# ---- to NumPy and from it ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_numpy_shares_our_memory(name):
    here = ARRAYS[name]
    there = gm.to_device(here)
    got = np.from_dlpack(there)
    assert got.dtype == here.dtype and np.array_equal(got, here) and got.shape == here.shape
    if here.size:
        assert got.ctypes.data == there.pointer and got.flags.writeable
        got[...] = 0
        assert not there.to_host().any()


@pytest.mark.parametrize("name", ARRAYS)
def test_we_share_numpys_memory(name):
    here = ARRAYS[name].copy("K")
    there = gm.from_dlpack(here)
    assert there.backend == "sim" and there.device == 0
    assert there.dtype == here.dtype and there.shape == here.shape
    assert np.array_equal(there.to_host(), here)
    assert np.array_equal(gm.copy(there).to_host(), here)
    if here.size:
        assert there.pointer == here.ctypes.data
        here[...] = 0
        assert not there.to_host().any()


def test_views_of_ours():
    here = np.arange(60, dtype="i4").reshape(3, 4, 5)
    there = gm.to_device(here)
    for index in (np.s_[1], np.s_[:, ::2], np.s_[..., 3], np.s_[2:, 1, 1:4:2], np.s_[:0]):
        assert np.array_equal(np.from_dlpack(there[index]), here[index])
    assert np.array_equal(np.from_dlpack(there.T), here.T)
    assert np.array_equal(np.from_dlpack(there.view("u1")), here.view("u1"))


def test_memory_lent_and_borrowed_back_is_the_same():
    there = gm.to_device(SIX)
    again = gm.from_dlpack(gm.from_dlpack(there)[1:])
    again.fill_bytes(0)
    assert again.pointer == there.pointer + 12
    assert there.to_host().tolist() == [[0, 1, 2], [0, 0, 0]]


def test_results_go_into_numpys_memory():
    a, out = np.random.default_rng(1).random((40, 30), "f4"), np.zeros((30, 40), "f4")
    there = gm.from_dlpack(out)
    assert gm.transpose(gm.from_dlpack(a), out=there) is there
    assert np.array_equal(out, a.T)
    gm.strided_write(there[0], gm.to_device(np.full(20, 7, "f4")), offset=0, stride=2)
    assert (out[0, ::2] == 7).all() and np.array_equal(out[0, 1::2], a.T[0, 1::2])


def test_traffic_of_borrowed_memory():
    """The simulator accepts accesses to borrowed memory, also through overlapping views."""
    room = np.zeros(1032, "f4")
    here = room[-room.ctypes.data % 32 // 4 :][:1024]  # from the start of a sector
    whole, part = gm.from_dlpack(here), gm.from_dlpack(here[100:300])
    for array in (whole, part, whole[5:], gm.from_dlpack(here[64:])):
        seen = gm.traffic("copy", array, variant="scalar")
        assert np.array_equal(seen.result.to_host(), np.zeros(array.shape))
    assert gm.traffic("copy", whole, variant="vec4").loads.sectors == 128
    del whole
    assert gm.traffic("copy", part, variant="scalar").loads.requests == 7


def test_returned_memory_is_unknown_to_the_simulator():
    before = used()
    here = np.zeros(1 << 16, "u1")
    there = [gm.from_dlpack(here) for _ in range(3)]
    assert used() == before  # nor was it ever counted as such
    del there[1], there
    assert used() == before
    assert np.array_equal(gm.copy(gm.from_dlpack(here)).to_host(), here)


CUBE = np.arange(60, dtype="i4").reshape(3, 4, 5)
BACKWARDS = {
    "rows": np.s_[::-1],
    "columns": np.s_[:, ::-2],
    "all": np.s_[::-1, ::-1, ::-1],
    "one": np.s_[1:2, ::-3, 4:2:-1],
    "empty": np.s_[:0, ::-1],
}


@pytest.mark.parametrize("wrap", [np.asarray, Bare, Producer])
@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("key", BACKWARDS)
def test_from_dlpack_copies_what_cannot_be_shared(wrap, writeable, key):
    here = CUBE.copy()[BACKWARDS[key]]
    here.flags.writeable = writeable
    if wrap is Producer:
        there = Producer(here, flags=0 if writeable else 1)
    else:
        there = wrap(here)
    before = used()
    made = gm.from_dlpack(there, copy=True)
    assert made.contiguous and made.writeable and made.backend == "sim"
    assert made.dtype == here.dtype and np.array_equal(made.to_host(), here)
    made.fill_bytes(0)
    assert np.array_equal(here, CUBE[BACKWARDS[key]])
    del made
    assert used() == before
    assert wrap is not Producer or (there.freed == 1 and there.used() == [True])
    if here.size or not writeable:
        for copy in (None, False):
            with pytest.raises(BufferError, match=r"x (is read-only|has a negative).*copy=True"):
                gm.from_dlpack(there, copy=copy)


def test_from_dlpack_may_copy():
    for here in (SIX.copy(), np.broadcast_to(SIX[0], (4, 3))):
        there = gm.from_dlpack(here, copy=True)
        assert there.contiguous and there.pointer != here.ctypes.data
        assert np.array_equal(there.to_host(), here)
        there.fill_bytes(0)
        assert here.any()
    here = SIX.copy()
    for keywords in ({}, {"copy": None}, {"copy": False}, {"device": 0, "copy": False}):
        there = gm.from_dlpack(here, **keywords)
        assert there.device == 0 and there.pointer == here.ctypes.data
    assert gm.from_dlpack(here, device=0, copy=True).pointer != here.ctypes.data


def test_numpy_may_copy():
    there = gm.to_device(CUBE)
    for key in BACKWARDS.values():
        view = there[key]
        for keywords in ({"copy": True}, {"copy": True, "device": "cpu"}):
            got = np.from_dlpack(view, **keywords)
            assert np.array_equal(got, CUBE[key])
            assert not np.shares_memory(got, np.from_dlpack(there))
        for copy in (None, False) if view.size else ():
            with pytest.raises(BufferError, match=r"has strides of -.*gpumem\.copy"):
                np.from_dlpack(view, copy=copy)
    for copy in (None, False):
        assert np.from_dlpack(there, copy=copy).ctypes.data == there.pointer


def test_functions_take_other_libraries_host_arrays():
    """Arrays without a buffer, such as PyTorch's, are used like NumPy's."""
    a = np.random.default_rng(1).random((20, 30), "f4")
    got = gm.transpose(Bare(a), backend="sim")
    assert type(got) is np.ndarray and np.array_equal(got, a.T)
    assert np.array_equal(gm.copy(Bare(a[::2, ::3]), backend="sim"), a[::2, ::3])
    assert np.array_equal(gm.shift_points(Bare(a[:, :2]), 1, 2), a[:, :2] + np.array([1, 2], "f4"))
    assert np.array_equal(gm.gather(a[0], Bare(np.arange(9))), a[0, :9])
    there = gm.to_device(Bare(a), backend="sim")
    assert np.array_equal(there.to_host(), a)
    assert gm.memory_kind(Bare(a)) == "pageable"


def test_a_copy_on_the_device(backend):
    there = gm.to_device(np.arange(24, dtype="i4").reshape(4, 6), backend=backend)
    for view in (there, there[::-1, ::2], there.T, there[:0], there[1:2, 1]):
        made = view.copy()
        assert made.contiguous and made.pointer != view.pointer and made.device == view.device
        assert np.array_equal(made.to_host(), view.to_host())
    stream = gm.Stream(backend=backend)
    assert np.array_equal(there.copy(stream=stream).to_host(stream=stream), there.to_host())
    with pytest.raises(TypeError):
        there.copy(stream)


# ---- producers --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["versioned", "legacy", "old"])
def test_a_producer_by_hand(how):
    here = np.arange(12, dtype="i2").reshape(3, 4)
    producer = Producer(here, **({} if how == "versioned" else {how: True}))
    there = gm.from_dlpack(producer)
    assert np.array_equal(there.to_host(), here) and there.pointer == here.ctypes.data
    asked = [{"max_version": (1, 0)}]
    assert producer.asked == (asked if how != "old" else [*asked, {}])  # no stream on the host
    view = there[1:]
    del there
    assert producer.used() == [True] and producer.freed == 0
    del view
    assert producer.freed == 1


@pytest.mark.parametrize(
    "said",
    [
        {"strides": None},
        {"byte_offset": 8, "shape": [1, 2], "strides": [2, 1]},
        {"shape": [0], "strides": [1], "data": None},
        {"shape": [1, 6], "strides": [-77, 1]},  # of one element: no stride is taken
        {"shape": [], "strides": []},
        {"flags": 2},
        {"minor": 7, "flags": 1 << 40},
        pytest.param({"deleter": dlpack.Deleter()}, id="without a deleter"),
    ],
    ids=str,
)
def test_valid_tensors_of_producers(said):
    producer = Producer(SIX.copy(), **said)
    there = gm.from_dlpack(producer)
    expected = producer.array.ravel()[said.get("byte_offset", 0) // 4 :]
    got = there.to_host().ravel()
    assert list(there.shape) == said.get("shape", [2, 3])
    assert np.array_equal(got, expected[: got.size])
    del there
    assert producer.freed == ("deleter" not in said)


FAULTS = {
    "lanes": (TypeError, "x has elements of 2 lanes", {"lanes": 2}),
    "bfloat32": (TypeError, "code 4 with 32 bits", {"code": 4, "bits": 32}),
    "float6": (TypeError, "code 15 with 6 bits", {"code": 15, "bits": 6}),
    "int4": (TypeError, "code 0 with 4 bits", {"bits": 4, "code": 0}),
    "float128": (TypeError, "code 2 with 128 bits", {"bits": 128}),
    "bits": (TypeError, "code 6 with 1 bits", {"code": 6, "bits": 1}),
    "opaque": (TypeError, "code 3 with 64 bits", {"code": 3, "bits": 64}),
    "read-only": (BufferError, "x is read-only.*copy=True", {"flags": 1}),
    "negative": (BufferError, "negative stride in dimension 0.*copy=True", {"strides": [-3, 1]}),
    "null": (ValueError, "null pointer", {"data": None}),
    "length": (ValueError, "negative length -2 in dimension 1", {"shape": [3, -2]}),
    "dimensions": (ValueError, "65 dimensions", {"shape": [1] * 65, "strides": [1] * 65}),
    "minus": (ValueError, "-1 dimensions", {"ndim": -1}),
    "shapeless": (ValueError, "no shape", {"shape": None, "ndim": 2}),
    "count": (ValueError, "too large", {"shape": [2**40, 2**40]}),
    "stride": (ValueError, "63 bits", {"strides": [2**62, 1]}),
    "reach": (ValueError, "end of memory", {"strides": [2**60, 1], "shape": [8, 3]}),
    "backwards": (ValueError, "end of memory", {"strides": [-(2**60), 1], "shape": [8, 3]}),
    "start": (ValueError, "start of memory", {"strides": [-(2**58), 1], "shape": [8, 3]}),
    "version": (ValueError, r"DLPack 2\.0, known is version 1", {"major": 2}),
    "elsewhere": (ValueError, "in CUDA memory, its __dlpack_device__", {"device_type": 2}),
    "capsule": (TypeError, "expected a capsule", {"name": b"tensor"}),
    "used": (TypeError, "expected a capsule", {"name": b"used_dltensor"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_producers(fault):
    error, words, said = FAULTS[fault]
    producer = Producer(SIX.copy(), **said)
    before = used()
    with pytest.raises(error, match=words):
        gm.from_dlpack(producer)
    gc.collect()
    # What was taken is given back; else the capsule is still the producer's.
    assert producer.freed == sum(producer.used()) == (fault in ("read-only", "negative"))
    assert used() == before


def test_producers_that_fail():
    class Broken(Producer):
        error = BufferError("not today")

        def __dlpack__(self, **keywords):
            if self.error:
                raise self.error
            return "a capsule"

    with pytest.raises(BufferError, match="not today"):
        gm.from_dlpack(Broken(SIX))
    broken = Broken(SIX)
    broken.error = TypeError("really")
    with pytest.raises(TypeError, match="really"):
        gm.from_dlpack(broken)
    broken.error = None
    with pytest.raises(TypeError, match="expected a capsule"):
        gm.from_dlpack(broken)
    for device in ((1,), "ab", (1, 2.5), None, 3, (2**40, 0)):
        with pytest.raises(TypeError, match="__dlpack_device__ of x returns"):
            gm.from_dlpack(Producer(SIX, device=device))
    for nothing in (3, [1.0], None, b"bytes", object(), np.ndarray, Producer):
        with pytest.raises(TypeError, match="x must have __dlpack__"):
            gm.from_dlpack(nothing)

    class Raises:
        @property
        def __dlpack_device__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        gm.from_dlpack(Raises())
    with pytest.raises(ZeroDivisionError):
        gm.copy(Raises())


TAKERS = {
    "copy": gm.copy,
    "index": lambda x: gm.gather(SIX[0], x),
    "second": lambda x: gm.add(SIX, x),
    "to_device": gm.to_device,
    "from_dlpack": gm.from_dlpack,
    "memory_kind": gm.memory_kind,
}
STREAM_TAKERS = {
    "call": lambda x: gm.copy(SIX, stream=x),
    "to_device": lambda x: gm.to_device(SIX, stream=x),
    "to_host": lambda x: gm.to_device(SIX).to_host(stream=x),
}


def raising(name, error):
    """An object whose attribute of this name raises; having none is an AttributeError."""

    def get(self):
        raise error

    return type("Raising", (), {name: property(get)})()


@pytest.mark.parametrize("error", [ZeroDivisionError, TypeError, BufferError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("name", "takers"),
    [
        ("__dlpack_device__", TAKERS),
        ("__cuda_array_interface__", TAKERS),
        ("__cuda_stream__", STREAM_TAKERS),
        ("synchronize", STREAM_TAKERS),
    ],
)
def test_errors_of_attributes_are_not_lost(name, takers, error):
    raised = error("of its own")
    for take in takers.values():
        with pytest.raises(error) as caught:
            take(raising(name, raised))
        assert caught.value is raised


def test_other_kinds_of_device():
    for kind, name in ((dlpack.ROCM, "ROCm"), (8, "Metal"), (14, "oneAPI"), (99, "another")):
        with pytest.raises(ValueError, match=f"x is in {name}.*accepted are CUDA"):
            gm.from_dlpack(Producer(SIX, device=(kind, 0)))
    there = gm.from_dlpack(Producer(SIX, device=(dlpack.CUDA_HOST, 0), device_type=3))
    assert np.array_equal(there.to_host(), SIX)


def test_arguments_of_from_dlpack():
    for keywords, error, words in (
        ({"device": 1}, ValueError, "device is 1, the simulator has device 0 alone"),
        ({"device": 1, "copy": True}, ValueError, "device is 1, the simulator"),
        ({"device": 1, "copy": False}, BufferError, "on device 0: .*device 1 as a copy only"),
        ({"device": "cpu"}, TypeError, "device must be an int"),
        ({"device": True}, TypeError, "device must be an int"),
        ({"device": 2**80}, ValueError, "there is no such device"),
        ({"copy": 1}, TypeError, "copy must be a bool"),
        ({"stream": 1}, TypeError, "stream"),
    ):
        producer = Producer(SIX.copy())
        with pytest.raises(error, match=words):
            gm.from_dlpack(producer, **keywords)
        assert producer.freed == sum(producer.used())
    with pytest.raises(TypeError):
        gm.from_dlpack(x=SIX)
    for copy in (None, False):
        with pytest.raises(BufferError, match="x is read-only"):
            gm.from_dlpack(np.broadcast_to(SIX[0], (2, 3)), copy=copy)


# ---- our tensors ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_the_tensor_of_ours(name):
    here = ARRAYS[name]
    there = gm.to_device(here)
    for version, kind in (
        ((1, 0), dlpack.Versioned),
        ((2, 5), dlpack.Versioned),
        (None, dlpack.Legacy),
        ((0, 8), dlpack.Legacy),
    ):
        capsule = there.__dlpack__(max_version=version)
        managed, _ = dlpack.read(capsule)
        tensor = managed.tensor
        assert type(managed) is kind
        if kind is dlpack.Versioned:
            assert (managed.major, managed.minor, managed.flags) == (1, 0, 0)
        assert (tensor.device_type, tensor.device_id) == there.__dlpack_device__() == (1, 0)
        assert (tensor.code, tensor.bits) == (dlpack.CODES[here.dtype.kind], here.itemsize * 8)
        assert tensor.lanes == 1 and tensor.byte_offset == 0
        shape, strides = dlpack.layout(tensor)
        assert tuple(shape) == here.shape and len(strides) == here.ndim
        if here.size:
            assert tensor.data == there.pointer
            steps = [
                s // here.itemsize for s in np.ascontiguousarray(here).reshape(here.shape).strides
            ]
            assert all(n == 1 or a == b for n, a, b in zip(shape, strides, steps, strict=True))


def test_copies_for_others():
    there = gm.to_device(SIX)
    managed, _ = dlpack.read(capsule := there.__dlpack__(max_version=(1, 0), copy=True))
    assert managed.flags == 2 and managed.tensor.data != there.pointer
    managed, _ = dlpack.read(other := there.__dlpack__(max_version=(1, 0), copy=False))
    assert managed.flags == 0 and managed.tensor.data == there.pointer
    backwards = there[::-1].__dlpack__(max_version=(1, 0), copy=True)
    assert dlpack.layout(dlpack.read(backwards)[0].tensor) == ([2, 3], [3, 1])
    assert there.__dlpack__(dl_device=(1, 0)) and there.__dlpack__(dl_device=[1, 0], copy=False)
    del capsule, other


@pytest.mark.parametrize(
    ("make", "keywords", "error", "words"),
    [
        (lambda d: d[::-1], {}, BufferError, "dimension 0 has strides of -24 bytes.*copy"),
        (lambda d: d.view(POINT)["x"], {}, BufferError, "strides of 6 bytes"),
        (lambda d: d.view(POINT), {}, BufferError, "no code for dtype.*'x'"),
        (lambda d: d.view("S4"), {}, BufferError, r"no code for dtype dtype\('S4'\)"),
        (lambda d: d.view("M8[s]"), {}, BufferError, "no code"),
        (lambda d: d.view("V12"), {}, BufferError, "no code"),
        (lambda d: gm.DeviceArray(2, "g"), {}, BufferError, "no code"),
        (
            lambda d: d,
            {"dl_device": (2, 0)},
            BufferError,
            r"on device \(1, 0\), and dl_device is \(2, 0\)",
        ),
        (lambda d: d, {"dl_device": (1, 1)}, BufferError, r"dl_device is \(1, 1\)"),
        (lambda d: d, {"dl_device": 1}, TypeError, "dl_device must be a tuple of two"),
        (lambda d: d, {"max_version": "10"}, TypeError, "max_version must be a tuple"),
        (lambda d: d, {"max_version": (1, 2, 3)}, TypeError, "max_version must be a tuple"),
        (lambda d: d, {"max_version": (2**70, 0)}, TypeError, "max_version must be a tuple"),
        (lambda d: d, {"copy": 0}, TypeError, "copy must be a bool"),
        (lambda d: d, {"stream": 1}, ValueError, "stream is 1; the array is in host memory"),
        (lambda d: d, {"stream": 0}, ValueError, "stream is 0"),
        (lambda d: d, {"stream": 2**70}, ValueError, "stream is"),
        (lambda d: d, {"stream": "1"}, TypeError, "stream must be an int"),
        (lambda d: d, {"stream": True}, TypeError, "stream must be an int"),
        (lambda d: d, {"wrong": 1}, TypeError, "wrong"),
    ],
)
def test_what_we_refuse_to_lend(make, keywords, error, words):
    array = make(gm.to_device(np.arange(24, dtype="f4").reshape(4, 6)))
    before = used()
    with pytest.raises(error, match=words):
        array.__dlpack__(**keywords)
    assert used() == before


def test_consumers_may_ask_for_no_synchronization():
    assert dlpack.read(gm.to_device(SIX).__dlpack__(stream=-1))
    assert dlpack.read(gm.to_device(SIX).__dlpack__(stream=None))


# ---- lifetimes --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_an_unused_capsule_gives_the_memory_back(version):
    before = used()
    capsule = gm.DeviceArray(1 << 20, "u1").__dlpack__(max_version=version)
    assert used() == before + (1 << 20)
    del capsule
    assert used() == before


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_consumer_gives_the_memory_back_on_its_own_thread(version):
    """Without the GIL: ctypes releases it around the deleter."""
    before = used()
    there = gm.DeviceArray(1 << 20, "u1")
    managed = dlpack.take(there.__dlpack__(max_version=version))
    del there
    assert used() == before + (1 << 20)
    thread = threading.Thread(target=managed.deleter, args=(dlpack.ctypes.addressof(managed),))
    thread.start()
    thread.join()
    assert used() == before


def test_the_owner_lives_as_long_as_we_need_it():
    class Mine(np.ndarray):
        pass

    here = np.arange(1000.0).view(Mine)
    alive = weakref.ref(here)
    there = gm.from_dlpack(here)
    del here
    gc.collect()
    assert alive() is not None
    views = [there[i:] for i in range(10)]
    chained = np.from_dlpack(views[3])
    del there, views
    assert alive() is not None and chained[0] == 3
    del chained
    gc.collect()
    assert alive() is None


def test_exchanges_leave_nothing_behind():
    """100 000 of each kind: if each leaked one structure, that would be 10 MB."""
    there, here = gm.to_device(SIX), SIX.copy()
    bad = gm.to_device(SIX)[::-1]

    def lend():
        np.from_dlpack(there)

    def borrow():
        gm.from_dlpack(here)

    def unused():
        there.__dlpack__(max_version=(1, 0))

    def refuse():
        try:
            bad.__dlpack__()
        except BufferError:
            pass

    def copied():
        gm.copy(Bare(here), backend="sim")

    for kind, times in (
        (lend, 100_000),
        (borrow, 100_000),
        (unused, 100_000),
        (refuse, 100_000),
        (copied, 10_000),
    ):
        for _ in range(1000):
            kind()
        before, counts = mapped(), (sys.getrefcount(there), sys.getrefcount(here), used())
        for _ in range(times):
            kind()
        assert mapped() - before < 2**21, kind
        assert (sys.getrefcount(there), sys.getrefcount(here), used()) == counts, kind


@pytest.mark.parametrize(
    "last",
    [
        "keep = np.from_dlpack(there)",
        "keep = there.__dlpack__(max_version=(1, 0))",
        "np.keep = np.from_dlpack(gm.from_dlpack(np.arange(9.0)))",
        "gm.keep = gm.from_dlpack(np.arange(9.0))",
        "cycle = [gm.from_dlpack(np.arange(9.0)), there.__dlpack__()]; cycle.append(cycle)",
        "import sys; sys.keep = np.from_dlpack(there); sys.too = gm.from_dlpack(np.ones(9))",
    ],
)
def test_exit_with_lent_memory_is_clean(last):
    code = f"import numpy as np, gpumem as gm\nthere = gm.to_device(np.ones(9))\n{last}\n"
    assert python(code, "-X", "dev") == ""


def test_threads_exchange_at_once():
    here = np.arange(10_000, dtype="u4")
    there = gm.to_device(here)

    def work(number):
        mine = gm.from_dlpack(here)
        for _ in range(200):
            lent = np.from_dlpack(gm.copy(mine if number % 2 else there))
            back = gm.from_dlpack(lent)[number:]
            del lent
            if back.to_host().tobytes() != here[number:].tobytes():
                return False
        return True

    assert all(at_once(8, work))


# ---- __cuda_array_interface__ -----------------------------------------------------------------


class Interface:
    """An object with a given __cuda_array_interface__."""

    def __init__(self, **said):
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            "strides": None,
        } | said


def test_the_simulator_has_no_interface():
    there = gm.to_device(SIX, backend="sim")
    assert not hasattr(there, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="__dlpack__"):
        _ = there.__cuda_array_interface__


INTERFACE_FAULTS = {
    "mask": (ValueError, "a has a mask", {"mask": Interface()}),
    "no-shape": (ValueError, "whose shape is None", {"shape": None}),
    "shape-list": (ValueError, r"whose shape is \[2, 3\]", {"shape": [2, 3]}),
    "shape-float": (ValueError, "whose shape is", {"shape": (2.0, 3)}),
    "shape-huge": (ValueError, "whose shape is", {"shape": (2**70,)}),
    "shape-negative": (ValueError, "negative length -2", {"shape": (-2,)}),
    "shape-count": (ValueError, "too large", {"shape": (2**40, 2**40)}),
    "dimensions": (ValueError, "whose shape is", {"shape": (1,) * 65}),
    "typestr": (ValueError, "whose typestr is None", {"typestr": None}),
    "typestr-unknown": (TypeError, "'<w9'", {"typestr": "<w9"}),
    "typestr-objects": (TypeError, "Python's memory", {"typestr": "|O"}),
    "typestr-swapped": (TypeError, "byte-swapped", {"typestr": ">f4"}),
    "data": (ValueError, "whose data is None", {"data": None}),
    "data-int": (ValueError, "whose data is 4096", {"data": 4096}),
    "data-negative": (ValueError, "whose data is", {"data": (-1, False)}),
    "data-float": (ValueError, "whose data is", {"data": (1.5, False)}),
    "data-null": (ValueError, "null pointer", {"data": (0, False)}),
    "strides-short": (ValueError, "whose strides is", {"strides": (4,)}),
    "strides-list": (ValueError, "whose strides is", {"strides": [12, 4]}),
    "strides-negative": (ValueError, "start of memory", {"strides": (12, -4096)}),
    "stream-zero": (ValueError, "whose stream is 0", {"stream": 0}),
    "stream-str": (ValueError, "whose stream is 'x'", {"stream": "x"}),
    "stream-negative": (ValueError, "whose stream is -1", {"stream": -1}),
    "reach": (ValueError, "end of memory", {"strides": (2**62, 4), "shape": (3, 3)}),
}


@pytest.mark.parametrize("fault", INTERFACE_FAULTS)
def test_faults_of_interfaces(fault):
    error, words, said = INTERFACE_FAULTS[fault]
    with pytest.raises(error, match=words):
        gm.copy(Interface(**said))


def test_an_interface_is_a_dict():
    thing = Interface()
    thing.__cuda_array_interface__ = (2, 3)
    with pytest.raises(TypeError, match="not a dict"):
        gm.copy(thing)


def test_an_interface_that_fails():
    """DLPack is used instead, if the object has it."""

    class Fails(Bare):
        @property
        def __cuda_array_interface__(self):
            raise KeyError("float8")

    class Alone:
        @property
        def __cuda_array_interface__(self):
            raise KeyError("float8")

    assert np.array_equal(gm.copy(Fails(SIX), backend="sim"), SIX)
    for call in (gm.copy, gm.from_dlpack):
        with pytest.raises(KeyError, match="float8"):
            call(Alone())


class Fault(Exception):
    """An exception that no code handles."""


@pytest.mark.parametrize("error", [MemoryError, Fault, KeyboardInterrupt])
def test_what_a_producer_raises_is_not_replaced(error):
    class Number:
        def __index__(self):
            raise error

    class Pair:
        def __len__(self):
            return 2

        def __getitem__(self, _):
            raise error

    class Property(Bare):
        @property
        def __cuda_array_interface__(self):
            raise error

    class Hidden:
        @property
        def __cuda_array_interface__(self):
            raise error

    for device in (Pair(), (1, Number()), (Number(), 0)):
        with pytest.raises(error):
            gm.from_dlpack(Producer(SIX, device=device))
        with pytest.raises(error):
            gm.to_device(Producer(SIX, device=device), backend="sim")
    with pytest.raises(error):
        gm.to_device(SIX, backend="sim").__dlpack__(max_version=(Number(), 0))
    with pytest.raises(error):
        gm.to_device(Hidden(), backend="sim")
    if error is not Fault:  # of others it asks DLPack
        with pytest.raises(error):
            gm.copy(Property(SIX), backend="sim")
    for said in ({"shape": (Number(),)}, {"data": (Number(), False)}):
        thing = Interface()
        thing.__cuda_array_interface__ |= said
        with pytest.raises(error):
            gm.copy(thing)


def test_arrays_on_another_device_are_no_host_arrays():
    for thing in (Interface(), Producer(SIX, device=(dlpack.CUDA, 0))):
        words = "in CUDA memory, here an array on the host is expected"
        with pytest.raises(TypeError, match=words):
            gm.to_device(thing)
        with pytest.raises(TypeError, match=words):
            gm.strided_write(np.zeros(6, "f4"), thing, backend="sim")
    with pytest.raises(TypeError, match="in ROCm memory"):
        gm.copy(Producer(SIX, device=(dlpack.ROCM, 0)))


def test_an_interface_needs_a_gpu():
    if gm.info()["backends"]["cuda"]["available"]:
        pytest.skip("there is a GPU")
    for call in (gm.copy, gm.from_dlpack, lambda x: gm.transpose(x, out=SIX)):
        with pytest.raises(gm.UnavailableError, match=r"nvcc|NVIDIA|CUDA"):
            call(Interface())


# ---- streams ----------------------------------------------------------------------------------


class Foreign:
    """A stream of another library with given attributes."""

    def __init__(self, **said):
        vars(self).update(said)

    def __repr__(self):
        return f"Foreign({', '.join(map(str, vars(self).values()))})"

    def synchronize(self):
        pass


def streams_of_others():
    class Value:
        value = None

    class Number:
        def __int__(self):
            return 1

    return {
        "int": 1,
        "numpy": np.uint64(2),
        "zero": 0,
        "method": Foreign(__cuda_stream__=lambda: (0, 1)),
        "attribute": Foreign(__cuda_stream__=(0, 1)),
        "torch": Foreign(cuda_stream=0),
        "cupy": Foreign(ptr=0),
        "numba-ctypes": Foreign(handle=Value()),
        "numba-int": Foreign(handle=Number()),
    }


@pytest.mark.parametrize("name", streams_of_others())
def test_other_libraries_streams_are_cuda_streams(name):
    stream = streams_of_others()[name]
    there = gm.to_device(SIX, backend="sim")
    for call in (
        lambda: gm.copy(there, stream=stream),
        lambda: gm.copy(SIX, stream=stream, backend="sim"),
        lambda: there.to_host(stream=stream),
        lambda: there.copy(stream=stream),
        lambda: there.fill_bytes(1, stream=stream),
        lambda: gm.to_device(SIX, stream=stream, backend="sim"),
    ):
        with pytest.raises(ValueError, match='stream is a CUDA stream, the call runs on "sim"'):
            call()
    assert np.array_equal(there.to_host(), SIX)


@pytest.mark.parametrize(
    ("stream", "error", "words"),
    [
        (Foreign(), TypeError, "stream must be a gpumem.Stream.*not Foreign"),
        pytest.param(object(), TypeError, "stream must be a gpumem.Stream", id="object"),
        (SIX, TypeError, "stream must be a gpumem.Stream"),
        (Foreign(__cuda_stream__=7), TypeError, "a version and a handle"),
        (Foreign(__cuda_stream__=(0,)), TypeError, "a version and a handle"),
        (Foreign(__cuda_stream__=("0", 1)), TypeError, "a version and a handle"),
        (Foreign(__cuda_stream__=(1, 1)), ValueError, "known is version 0"),
        (Foreign(__cuda_stream__=(0, -5)), ValueError, "stream is -5"),
        (Foreign(cuda_stream="x"), ValueError, "invalid literal"),
        (Foreign(ptr=-1), ValueError, "stream is -1"),
    ],
    ids=str,
)
def test_objects_that_are_not_streams(stream, error, words):
    there = gm.to_device(SIX, backend="sim")
    with pytest.raises(error, match=words):
        gm.copy(there, stream=stream)


def test_other_libraries_cannot_use_the_simulators_streams():
    with pytest.raises(gm.UnavailableError, match="stream of the simulator"):
        gm.Stream(backend="sim").__cuda_stream__()


# ---- without the GIL --------------------------------------------------------------------------


def test_import_leaves_the_gil_off():
    enabled = getattr(sys, "_is_gil_enabled", None)
    if enabled is None or not __import__("sysconfig").get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a GIL")
    code = (
        "import sys, numpy; was = sys._is_gil_enabled(); import gpumem;"
        "print(was, sys._is_gil_enabled())"
    )
    assert python(code).split() == ["False", "False"]


def test_threads_launch_one_prepared_call(backend):
    """Also of variants whose launch writes into the plan."""
    a = np.random.default_rng(1).random((200, 300), "f4")
    there = gm.to_device(a, backend=backend)
    for variant in gm.variants("transpose"):
        if variant.reason_on(backend) is not None or variant.name in ("copy_row", "copy_col"):
            continue
        out = gm.DeviceArray((300, 200), backend=backend)
        try:
            gm.transpose(there, variant=variant.name)
        except ValueError:  # it is not for such a matrix
            continue
        values = table.parameters("transpose", {})
        prepared = _core.prepare("transpose", variant.name, (there,), out, None, values)
        at_once(4, lambda _, launch=prepared.launch: launch())
        assert np.array_equal(out.to_host(), a.T), variant.name
