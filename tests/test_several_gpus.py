"""Several GPUs."""

import contextlib
import ctypes

import numpy as np
import pytest
from gpu_libraries import Torch
from library_cases import A

import gpumem as gm
from gpumem.families import table

pytestmark = pytest.mark.gpu


class Driver:
    """The current device of this thread, by the driver: the one all libraries share."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        self.contexts = []
        count = ctypes.c_int()
        self.check(self.cuda.cuDeviceGetCount(ctypes.byref(count)))
        if count.value < 2:
            pytest.skip(f"needs 2 GPUs, there is {count.value}")
        for index in range(count.value):
            device, context = ctypes.c_int(), ctypes.c_void_p()
            self.check(self.cuda.cuDeviceGet(ctypes.byref(device), index))
            self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
            self.contexts.append(context)

    @staticmethod
    def check(status):
        assert status == 0

    def current(self):
        device = ctypes.c_int()
        self.check(self.cuda.cuCtxGetDevice(ctypes.byref(device)))
        return device.value

    @contextlib.contextmanager
    def on(self, index):
        self.check(self.cuda.cuCtxSetCurrent(self.contexts[index]))
        yield
        assert self.current() == index  # left as it was


@pytest.fixture
def driver():
    made = Driver()
    with made.on(0):
        yield made


def test_a_call_runs_where_its_arrays_are(driver):
    with driver.on(1):
        there = gm.to_device(A)
        out = gm.DeviceArray((60, 50))
    assert there.device == out.device == 1
    assert there.__dlpack_device__() == (2, 1)
    with driver.on(0):
        for variant in gm.variants("transpose"):
            if variant.available and variant.name not in ("copy_row", "copy_col"):
                with contextlib.suppress(ValueError):
                    got = variant(there)
                    assert got.device == 1 and np.array_equal(got.to_host(), A.T)
        assert gm.transpose(there, out=out) is out and np.array_equal(out.to_host(), A.T)
        assert np.array_equal(there[::2, ::3].to_host(), A[::2, ::3])
        assert there.copy().device == 1 and gm.copy(gm.to_device(A)).device == 0
        there.fill_bytes(0)
        assert not there.to_host().any()


def test_errors_leave_the_current_device(driver):
    with driver.on(1):
        there = gm.to_device(A)
    with driver.on(0):
        here = gm.to_device(A)
        for call in (
            lambda: gm.copy(there[1:, 1:], variant="vec4"),
            lambda: gm.copy(there, out=here),
            lambda: gm.sgemm(there, here),
            lambda: gm.gather(gm.from_dlpack(there)[0], here),
            lambda: there.to_host(np.empty(3)),
        ):
            with pytest.raises((ValueError, TypeError)):
                call()
            assert driver.current() == 0
        with pytest.raises(ValueError, match="out is on device 0, a is on device 1"):
            gm.copy(there, out=here)
        with pytest.raises(ValueError, match="stream is on device 0, the arrays are on device 1"):
            gm.copy(there, stream=gm.Stream())


def test_prepared_calls_on_several_devices(driver):
    prepared, outs = [], []
    for index in (0, 1):
        with driver.on(index):
            a, out = gm.to_device(A + index), gm.DeviceArray((60, 50))
            values = table.parameters("transpose", {})
            prepared.append(gm._core.prepare("transpose", "auto", (a,), out, None, values))
            outs.append(out)
    with driver.on(0):
        gm._core.launch_all(prepared, 10)
        prepared[1].launch()
        for index, out in enumerate(outs):
            assert np.array_equal(out.to_host(), (A + index).T)


def test_their_arrays_on_another_device(driver):
    torch = Torch().it
    x = torch.tensor(A, device="cuda:1")
    torch.cuda.synchronize(1)
    with driver.on(0):
        got = gm.transpose(x)
        assert got.device == 1 and np.array_equal(got.to_host(), A.T)
        assert gm.from_dlpack(x).device == gm.from_dlpack(x, device=1).device == 1
        moved = gm.from_dlpack(x, device=0)
        assert moved.device == 0 and np.array_equal(moved.to_host(), A)
        with pytest.raises(BufferError, match=r"x is on device 1: .*device 0 as a copy only"):
            gm.from_dlpack(x, device=0, copy=False)
        back = torch.from_dlpack(got)
        assert back.device.index == 1 and np.array_equal(back.cpu().numpy(), A.T)


def test_arrays_on_devices_by_number(driver):
    wide = np.tile(A, 700)
    with driver.on(0):
        there = gm.to_device(wide, device=1)
        empty = gm.DeviceArray(wide.shape, device=1)
        assert (there.device, empty.device, driver.current()) == (1, 1, 0)
        assert np.array_equal(there.to_host(), wide)
        here = there.copy(device=0)
        assert here.device == 0 and np.array_equal(here.to_host(), wide)
        assert there.copy(device=1).device == there.copy().device == 1
        for view in (here[::2, 3:], here.T, here[:0], here[1]):
            got = view.copy(device=1)
            assert got.device == 1 and got.contiguous and driver.current() == 0
            assert np.array_equal(got.to_host(), view.to_host())
        stream = gm.Stream()
        doubled = gm.add(here, here, stream=stream)
        assert np.array_equal(doubled.copy(device=1, stream=stream).to_host(), 2 * wide)
        gm.synchronize(device=1)
        assert driver.current() == 0


def test_memory_that_comes_back_is_not_overwritten(driver):
    """What was freed on the other device may still be in use there."""
    big = np.arange(2**22, dtype="f4")
    with driver.on(0):
        here = gm.to_device(big)
        for _ in range(20):
            other = gm.to_device(-big, device=1)
            result = gm.transpose(other.reshape(2**11, 2**11))
            del other
            sent = here.copy(device=1)
            assert np.array_equal(result.to_host().T.ravel(), -big)
            assert np.array_equal(sent.to_host(), big)


def test_transfers_to_a_peer(driver):
    core = gm._core
    if not core.can_reach(0, 1):
        pytest.skip("device 0 cannot reach the memory of device 1")
    before = core.let_reach(0, 1, False)
    assert core.let_reach(0, 1, True) is False and core.let_reach(0, 1, before) is True
    with driver.on(0):
        result = gm.bench("transfer", "to_peer", "64K,1M", pieces=[1, 3], samples=(3, 5))
        assert driver.current() == 0
    assert len(result.records) == 2 * 3 * 2
    assert [r["reason"] for r in result.records] == [None] * 12
    assert core.let_reach(0, 1, before) is before
