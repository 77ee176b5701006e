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
from exchange_cases import ARRAYS, SIX, used
from processes import at_once, python

import gpumem as gm
from gpumem import _core
from gpumem.families import table

pytestmark = pytest.mark.usefixtures("frozen")


@pytest.fixture(autouse=True)
def on_the_simulator(request, monkeypatch):
    """Tests without a GPU's marker are about the host, wherever they run."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setenv("GPUMEM_BACKEND", "sim")


def mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


# ---- to NumPy and from it -----------------------------------------------------------


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


def test_traffic_of_a_single_byte():
    a = np.array([7], "u1")
    report = gm.traffic("copy", gm.from_dlpack(a))
    assert np.array_equal(report.result.to_host(), a)
    assert report.loads.requests > 0


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


# ---- lifetimes ----------------------------------------------------------------------


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


# ---- streams ------------------------------------------------------------------------


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


# ---- without the GIL ----------------------------------------------------------------


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
