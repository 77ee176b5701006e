"""DeviceArray: lifetime, prepared calls, the number of the device, and cupy.ndarray's names."""

import gc
import os
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from device_array_cases import CUBE, POINT, make_cube, same

import gpumem as gm

cube = pytest.fixture(make_cube)


pytestmark = pytest.mark.usefixtures("frozen")


ROOT = Path(__file__).resolve().parent.parent


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


# ---- lifetime -----------------------------------------------------------------------


def test_a_view_outlives_its_owner(backend):
    here = np.random.default_rng(5).random((64, 1024))
    for make in (
        lambda a: a[3:5, 7:],
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: a.view("i4"),
        lambda a: a[7],
        lambda a: a[...].T[5:].T[::2],
    ):
        view = make(gm.to_device(here, backend=backend))
        gc.collect()
        others = [gm.DeviceArray(here.shape, "f8", backend=backend) for _ in range(8)]
        for one in others:
            one.fill_bytes(0)
        same(view, make(here))
        same(gm.copy(view), np.ascontiguousarray(make(here)))


def test_a_dropped_input_is_not_overwritten_too_soon(backend):
    """The input is freed, and its memory recycled, while the result is being copied."""
    for step in range(50):
        here = np.full(5000, step, "f4")
        there = gm.copy(gm.copy(gm.to_device(here, backend=backend)))
        gm.DeviceArray(5000, backend=backend).fill_bytes(0xFF)
        assert np.array_equal(there.to_host(), here)


def test_deleting_frees_the_memory():
    size = 2**26
    gc.collect()  # what other tests left behind must not be freed in between
    before = resident()
    for _ in range(20):
        there = gm.DeviceArray(size, "u1", backend="sim")
        there.fill_bytes(1)
    assert resident() - before < 2 * size + 2**23
    view = there[:10]
    del there
    assert resident() - before > size / 2
    del view
    gc.collect()
    assert resident() - before < size / 2


def test_results_of_calls_are_freed():
    a = np.ones(2**16, "c16")
    half = np.empty((2**15, 2), "c16")

    def everything():
        gm.copy(a, backend="sim")
        gm.copy(a[::2], out=half[:, 0], backend="sim")
        there = gm.to_device(a, backend="sim")
        gm.copy(there[1::2]).to_host(half[:, 1])
        there[::-1].to_host()
        gm.copy(there, out=gm.copy(there))

    for _ in range(5):
        everything()
    before = resident()
    for _ in range(100):
        everything()
    assert resident() - before < 2**24


def test_nothing_is_left_behind(backend):
    a = np.zeros((4, 5), POINT)
    out, there = a.copy(), gm.to_device(a, backend=backend)
    target = gm.DeviceArray((4, 5), POINT, backend=backend)
    stream = gm.Stream(backend=backend)

    def everything():
        gm.copy(a, backend=backend)
        gm.copy(a, out=out, backend=backend)
        gm.copy(a.T, backend=backend)
        gm.copy(there, out=target, stream=stream)
        gm.copy(there.T)
        there.to_host(), there.T.to_host(), there.to_host(out)
        gm.to_device(a[::2], backend=backend)
        there[1:, None]["x"][..., 0].T.to_host()
        there.reshape(-1).view("u1")[3:].fill_bytes(1)
        repr(there), len(there), there.shape, there.dtype, there.strides, there.pointer
        gm.DeviceArray((2, 3), "f4", backend=backend)

    for _ in range(5):
        everything()
    watched = [a, out, there, target, stream, a.dtype, POINT, there.dtype]
    counts = [sys.getrefcount(value) for value in watched]
    grown = []
    tracemalloc.start()
    try:
        for _ in range(4):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(300):
                everything()
            gc.collect()  # NumPy's repr leaves cycles, for long where there is no GIL
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(value) for value in watched] == counts
    assert min(grown) < 300 * 16  # the smallest object has more; caches grow once


def test_streams(backend):
    stream = gm.Stream(backend=backend)
    assert stream.backend == backend and stream.handle > 0
    there = gm.to_device(CUBE, stream=stream, backend=backend)
    del stream
    same(there, CUBE)
    with pytest.raises(TypeError):
        gm.Stream("sim")
    assert gm.synchronize(backend) is None


# ---- prepared calls -----------------------------------------------------------------


def test_a_prepared_call_keeps_its_arrays(backend):
    from gpumem import _core

    out = gm.DeviceArray((2, 3, 4), backend=backend)
    prepared = _core.prepare(
        "copy",
        "auto",
        (gm.to_device(CUBE, backend=backend),),
        out,
        gm.Stream(backend=backend),
        (0,),
    )
    gc.collect()
    gm.DeviceArray((2, 3, 4), backend=backend).fill_bytes(0xFF)
    assert prepared.variant in [v.name for v in gm.variants("copy")]
    for launch in (prepared.launch, lambda: _core.launch_all((prepared, prepared), 3)):
        out.fill_bytes(0)
        assert launch() is None
        gm.synchronize(backend)
        same(out, CUBE)
    out.fill_bytes(0)
    for count in (0, -1):
        _core.launch_all([prepared], count)
    _core.launch_all([], 5)
    same(out, np.zeros_like(CUBE))
    with pytest.raises(TypeError):
        type(prepared)()


def test_a_call_that_copies_its_inputs_is_not_prepared(backend):
    """Repeated, it would not see what was written to them since."""
    from gpumem import _core

    wide = gm.to_device(np.ones(6, "f4"), backend=backend)
    out = gm.DeviceArray(3, backend=backend)
    with pytest.raises(ValueError, match="inputs must be C-contiguous and aligned"):
        _core.prepare("add", "auto", (wide[::2], wide[1::2]), out, None, ())
    _core.prepare("add", "auto", (wide[:3], wide[3:]), out, None, ()).launch()
    same(out, np.full(3, 2, "f4"))


# ---- the number of the device -------------------------------------------------------


def test_the_device_by_its_number(backend):
    a = np.arange(12.0).reshape(3, 4)
    d = gm.DeviceArray((3, 4), "f8", device=0, backend=backend)
    d.fill_bytes(7)
    gm.synchronize(backend, device=0)
    assert (d.device, d.backend) == (0, backend)
    for number in (0, np.int64(0), None):
        d = gm.to_device(a, device=number, backend=backend)
        assert d.device == 0 and np.array_equal(d.to_host(), a)
        copy = d.T.copy(device=number)
        assert copy.contiguous and copy.pointer != d.pointer
        assert np.array_equal(copy.to_host(), a.T)


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (99, ValueError, "device is 99, "),
        (-1, ValueError, "device is -1: there is no such device"),
        (2**40, ValueError, "device is 1099511627776: there is no such device"),
        (2**80, ValueError, "there is no such device"),
        (True, TypeError, "device must be an int or None, not bool"),
        ("0", TypeError, "device must be an int or None, not str"),
        (0.0, TypeError, "device must be an int or None, not float"),
    ],
)
def test_invalid_device_numbers(number, error, words, backend):
    d = gm.to_device(np.ones(3), backend=backend)
    for call in (
        lambda: gm.DeviceArray(3, device=number, backend=backend),
        lambda: gm.to_device(np.ones(3), device=number, backend=backend),
        lambda: gm.synchronize(backend, device=number),
        lambda: d.copy(device=number),
        lambda: d[::2].copy(device=number),
    ):
        with pytest.raises(error, match=words):
            call()
    assert np.array_equal(d.to_host(), np.ones(3))


# ---- beside cupy.ndarray ------------------------------------------------------------


# Public names of cupy.ndarray, CuPy 14.2.
CUPY = """
    T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj
    conjugate copy cstruct cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat
    flatten get imag item itemsize mT max mdspan mean min nbytes ndim nonzero partition prod ptp put
    ravel real reduced_view repeat reshape round scatter_add scatter_max scatter_min searchsorted
    set shape size sort squeeze std strides sum swapaxes take toDlpack tobytes tofile tolist trace
    transpose var view
""".split()


def test_the_page_about_device_arrays(cube):
    text = (ROOT / "docs" / "device-array.md").read_text(encoding="utf-8")
    works, otherwise, handed = (
        re.findall(r"`(\w+)`", " ".join(re.findall(column, part, re.MULTILINE)))
        for column, part in zip(
            (r"^\| (`.*?) \| ", r"^\| (`.*?) \| ", r"^\| (`.*`) \|$"),
            re.split(r"^## .*$", text, flags=re.MULTILINE)[1:4],
            strict=True,
        )
    )
    assert sorted([*works, *otherwise, *handed]) == sorted(CUPY)
    for name in works:
        assert hasattr(cube, name)
    for name in (*otherwise, *handed):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': ") as caught:
            getattr(cube, name)
        assert ("from_dlpack(d)" in str(caught.value)) == (name in handed), name
    for refused in (iter, float, int, bool):
        with pytest.raises(TypeError, match="does not take a gpumem"):
            refused(cube[0, 0, 0])


def test_views_with_axes_in_another_order(cube):
    for axes in ((), (None,), (2, 0, 1), ((0, 2, 1),), (-1, 0, 1)):
        view = cube.transpose(*axes)
        assert view.pointer == cube.pointer
        assert np.array_equal(view.to_host(), CUBE.transpose(*axes))
    assert np.array_equal(cube.swapaxes(0, -1).to_host(), CUBE.swapaxes(0, -1))
    assert np.array_equal(cube.mT.to_host(), CUBE.swapaxes(1, 2))
    assert cube.mT.mT.strides == cube.strides
    with pytest.raises(ValueError, match="repeated axis"):
        cube.transpose(0, 0, 1)
    with pytest.raises(ValueError, match="has 1 dimension, and mT needs matrices"):
        _ = cube[0, 0].mT
    with pytest.raises(TypeError):
        cube.swapaxes(0)
