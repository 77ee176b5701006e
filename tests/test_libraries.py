"""CuPy, PyTorch and Numba on a GPU: their arrays and streams here, ours there; several GPUs."""

import gc

import numpy as np
import pytest
from gpu_libraries import Cupy, Numba, Torch, says_its_stream
from library_cases import A

import gpumem as gm
from gpumem.families import table

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[Torch, Cupy, Numba])
def library(request):
    return request.param()


@pytest.fixture(params=[Torch, Cupy])
def queued(request):
    """A library with a current stream."""
    return request.param()


# ---- arrays -------------------------------------------------------------------------


def test_functions_take_their_arrays(library):
    x = library.array(A)
    for got, expected in (
        (gm.copy(x), A),
        (gm.transpose(x), A.T),
        (gm.sgemm(x, gm.to_device(A.T.copy())), A @ A.T),
        (gm.gather(library.array(A[0]), library.array(np.arange(50))), A[0, :50]),
    ):
        assert type(got) is gm.DeviceArray and got.backend == "cuda"
        assert np.allclose(got.to_host(), expected, rtol=1e-5)
    assert np.array_equal(library.host(x), A)


def test_results_in_their_arrays(library):
    x, out = library.array(A), library.array(np.zeros((60, 50), "f4"))
    assert gm.transpose(x, out=out) is out
    assert np.array_equal(library.host(out), A.T)
    assert gm.transpose(gm.to_device(A), out=out) is out
    row = library.array(np.zeros(60, "f4"))
    assert gm.strided_write(row, library.array(A[1, :30]), offset=0, stride=2) is row
    assert np.array_equal(library.host(row)[::2], A[1, :30])
    there = gm.DeviceArray((60, 50))
    assert gm.transpose(x, out=there) is there


def test_their_views(library):
    if isinstance(library, Numba) and not hasattr(np, "row_stack"):
        pytest.skip("the views of this Numba want a NumPy that has row_stack")
    x = library.array(A)
    for view, here in ((x[10:20], A[10:20]), (x[:, 5:30], A[:, 5:30]), (x.T, A.T)):
        assert np.array_equal(gm.copy(view).to_host(), here)


def test_layouts_that_kernels_do_not_take(library):
    """With "auto", functions take any layout that makes sense; here they make copies."""
    if isinstance(library, Numba) and not hasattr(np, "row_stack"):
        pytest.skip("the views of this Numba want a NumPy that has row_stack")
    x, points = library.array(A), library.array(A[:, :2].copy())
    assert np.allclose(gm.sgemm(x.T, x[:, ::2]).to_host(), A.T @ A[:, ::2], rtol=1e-5)
    assert np.array_equal(gm.add(x[:, ::2], x[:, 1::2]).to_host(), A[:, ::2] + A[:, 1::2])
    out = library.array(np.zeros((50, 2), "f4"))
    assert gm.shift_points(points, 1, 2, out=out) is out
    assert np.array_equal(library.host(out), A[:, :2] + np.array([1, 2], "f4"))
    assert np.array_equal(gm.shift_points(x[:, 3:5], 1, 2).to_host(), A[:, 3:5] + [1, 2])
    index = library.array(np.arange(40))
    assert np.array_equal(gm.gather(x[3], index[::2]).to_host(), A[3, :40:2])
    c = library.array(np.ones((60, 60), "f4"))
    assert gm.sgemm(x, x, c, beta=1, trans_a=True, out=c) is c
    assert np.allclose(library.host(c), A.T @ A + 1, rtol=1e-5)


def test_results_that_overlap_their_inputs(queued):
    """Also where "auto" copies an input for its layout, or out is not aligned."""
    x = queued.array(A)
    half = x.reshape(-1)[:1500].reshape(50, 30)
    for call in (
        lambda **to: gm.copy(x[:, ::2], **to),
        lambda **to: gm.add(x[:, ::2], gm.to_device(A[:, ::2]), **to),
        lambda **to: gm.polynomial(x[:, ::2], gm.to_device(A[0, :3]), **to),
    ):
        with pytest.raises(ValueError, match=r"out overlaps [ax] in memory"):
            call(out=half)
    points = queued.array(A[:, :4])
    with pytest.raises(ValueError, match="out overlaps p in memory"):
        gm.shift_points(points[:, :2], 1, 2, out=points.reshape(-1)[:100].reshape(50, 2))
    assert np.array_equal(queued.host(x), A)


def test_from_dlpack_shares(library):
    x = library.array(A)
    there = gm.from_dlpack(x)
    assert there.pointer == library.pointer(x) and there.device == 0
    gm.copy(gm.to_device(A + 1), out=there)
    gm.synchronize()
    assert np.array_equal(library.host(x), A + 1)
    del x
    gc.collect()
    assert np.array_equal(there.to_host(), A + 1)
    other = gm.from_dlpack(there, copy=True)
    assert other.pointer != there.pointer and np.array_equal(other.to_host(), A + 1)


def test_they_take_ours(library):
    there = gm.to_device(A)
    x = library.adopt(there)
    assert library.pointer(x) == there.pointer
    assert np.array_equal(library.host(x), A)
    del there
    gc.collect()
    assert np.array_equal(library.host(x), A)
    view = library.adopt(gm.to_device(A)[10:40, ::2])
    assert np.array_equal(library.host(view), A[10:40, ::2])


def test_the_interface_of_ours():
    there = gm.to_device(A)
    shown = there.__cuda_array_interface__
    assert shown["data"] == (there.pointer, False) and shown["strides"] is None
    assert (shown["shape"], shown["typestr"], shown["version"]) == ((50, 60), "<f4", 3)
    assert shown["stream"] is None  # whoever reads it has waited
    assert there.T.__cuda_array_interface__["strides"] == (4, 240)
    assert there[:0].__cuda_array_interface__["data"] == (0, False)
    assert there.__dlpack_device__() == (2, 0)
    with pytest.raises(ValueError, match="stream is 0"):
        there.__dlpack__(stream=0)
    with pytest.raises(ValueError, match="stream is -2"):
        there.__dlpack__(stream=-2)
    own = gm.Stream()
    for stream in (None, -1, 1, 2, own.handle):
        assert there.__dlpack__(stream=stream, max_version=(1, 0))
    assert np.array_equal(np.from_dlpack(there, device="cpu"), A)
    with pytest.raises(BufferError, match=r"dl_device is \(1, 0\), where only a copy"):
        there.__dlpack__(dl_device=(1, 0), copy=False)


def test_the_interface_has_strides_that_others_take():
    there = gm.to_device(A)
    assert there[::-1][:1].__cuda_array_interface__["strides"] is None  # one row
    assert there[::-1, ::2][:1].__cuda_array_interface__["strides"] == (4, 8)
    for view in (there[::-1], there[:, ::-1], there.view("u1")[:, 1:].T[::-1]):
        with pytest.raises(BufferError, match=r"has strides of -.*gpumem\.copy"):
            _ = view.__cuda_array_interface__
    pairs = gm.to_device(np.zeros(9, [("x", "f4"), ("y", "i2")]))
    with pytest.raises(BufferError, match="dimension 0 has strides of 6 bytes"):
        _ = pairs["x"].__cuda_array_interface__


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_reversed_array_is_an_error_not_the_end(queued):
    """PyTorch ends the process if a stride is negative, so the error has to come before."""
    backwards = gm.to_device(A)[::-1]
    for take in (queued.adopt, queued.by_interface):
        with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)):
            take(backwards)
    for take in (queued.adopt, queued.by_interface):
        assert np.array_equal(queued.host(take(gm.copy(backwards))), A[::-1])


def test_pointers_of_the_host_are_refused():
    class Liar:
        def __init__(self):
            shown = {"shape": A.shape, "typestr": "<f4", "version": 3}
            self.__cuda_array_interface__ = shown | {"data": (A.ctypes.data, False)}

    with pytest.raises(ValueError, match="not in the memory of a CUDA device"):
        gm.copy(Liar())
    assert np.array_equal(gm.copy(gm.to_device(A)).to_host(), A)  # nothing is broken


def test_read_only_arrays_are_read_only():
    there = gm.to_device(A)

    class ReadOnly:
        def __init__(self, array=there):
            read_only = {"data": (array.pointer, True)}
            self.__cuda_array_interface__ = array.__cuda_array_interface__ | read_only
            self.array = array

    assert np.array_equal(gm.copy(ReadOnly()).to_host(), A)
    with pytest.raises(ValueError, match="out is read-only"):
        gm.copy(there, out=ReadOnly())
    with pytest.raises(ValueError, match="out is read-only"):
        gm.shift_points(there[:, :2], 1, 2, out=ReadOnly(there[:, :2].copy()))
    with pytest.raises(ValueError, match="out is read-only"):
        gm.strided_write(ReadOnly(there[0].copy()), there[1], offset=0, stride=1)
    with pytest.raises(BufferError, match="x is read-only"):
        gm.from_dlpack(ReadOnly())
    copied = gm.from_dlpack(ReadOnly(), copy=True)
    assert copied.pointer != there.pointer and np.array_equal(copied.to_host(), A)
    assert np.array_equal(there.to_host(), A)


def test_their_arrays_may_be_reversed():
    """Functions take negative strides; from_dlpack does where it may copy."""
    cupy = Cupy().it
    x = cupy.asarray(A)
    for view, here in (
        (x[::-1], A[::-1]),
        (x[:, ::-2], A[:, ::-2]),
        (x[::-1, ::-1], A[::-1, ::-1]),
    ):
        assert np.array_equal(gm.copy(view).to_host(), here)
        copied = gm.from_dlpack(view, copy=True)
        assert copied.contiguous and np.array_equal(copied.to_host(), here)
        for copy in (None, False):
            with pytest.raises(BufferError, match=r"negative stride in dimension \d.*copy=True"):
                gm.from_dlpack(view, copy=copy)
    assert np.array_equal(gm.transpose(x[::-1]).to_host(), A[::-1].T)


def test_from_dlpack_brings_host_arrays_to_a_named_device():
    for here in (A, A[::-1, ::2], np.broadcast_to(A[0], (3, 60))):
        for copy in (None, True):
            there = gm.from_dlpack(here, device=0, copy=copy)
            assert there.backend == "cuda" and there.device == 0
            assert np.array_equal(there.to_host(), here)
        with pytest.raises(BufferError, match=r"x is in host memory: .*copy is False"):
            gm.from_dlpack(here, device=0, copy=False)
        with pytest.raises(ValueError, match="x is in host memory"):
            gm.from_dlpack(here, copy=True)
    with pytest.raises(ValueError, match="device is 99"):
        gm.from_dlpack(A, device=99)


def test_host_and_device_do_not_mix(library):
    x = library.array(A)
    with pytest.raises(TypeError, match="all on the host or all on the device"):
        gm.sgemm(x, A.T)
    with pytest.raises(TypeError, match=r"all on the host or all on the device|must be a NumPy"):
        gm.sgemm(A, library.array(A.T.copy()))
    with pytest.raises(TypeError, match=r"out must be a gpumem\.DeviceArray"):
        gm.copy(x, out=np.empty_like(A))
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        gm.copy(A, out=x)
    with pytest.raises(ValueError, match='on backend "cuda", the call runs on "sim"'):
        gm.copy(x, backend="sim")
    assert np.array_equal(library.host(x), A)


def test_bfloat16_is_moved_or_named():
    torch = Torch().it
    for where in ("cuda", "cpu"):
        a = torch.arange(4, device=where, dtype=torch.bfloat16)
        try:
            import ml_dtypes
        except ImportError:
            with pytest.raises(TypeError, match=r"a has dtype bfloat16.*ml_dtypes: install"):
                gm.copy(a)
            continue
        got = gm.copy(a)
        assert got.dtype == ml_dtypes.bfloat16
        if where == "cuda":
            assert torch.equal(torch.from_dlpack(got), a)


def test_tensors_that_torch_does_not_lend():
    torch = Torch().it
    with pytest.raises((RuntimeError, BufferError), match="grad"):
        gm.copy(torch.zeros(4, device="cuda", requires_grad=True))
    assert np.array_equal(gm.copy(torch.ones(4)), np.ones(4, "f4"))  # on the host


def test_calls_on_their_arrays_leave_nothing(library):
    x, out = library.array(A), library.array(A)
    calls, allowed = 5000, 8 << 20
    assert calls * A.nbytes > 2 * allowed

    def lost():
        """Bytes of the device that are gone after many calls."""
        before = free()
        for _ in range(calls):
            gm.copy(x, out=out)
            library.adopt(gm.copy(x))
        gc.collect()
        return before - free()

    def free():
        gm.synchronize()
        return gm.info()["backends"]["cuda"]["devices"][0]["free_bytes"]

    lost()  # what is set up once
    # Other processes may allocate meanwhile; a leak shows every time.
    assert any(lost() <= allowed for _ in range(5))


# ---- streams ------------------------------------------------------------------------


def test_their_streams(library):
    stream = library.stream()
    x = library.array(A)
    gm.synchronize()
    got = gm.transpose(gm.copy(x, stream=stream), stream=stream)
    assert np.array_equal(got.to_host(stream=stream), A.T)
    assert np.array_equal(got.copy(stream=stream).to_host(), A.T)
    assert np.array_equal(gm.transpose(A, stream=stream), A.T)
    assert np.array_equal(gm.to_device(A, stream=stream).to_host(), A)
    got.fill_bytes(0, stream=stream)
    assert not got.to_host().any()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_streams_by_number(number):
    there = gm.copy(gm.to_device(A), stream=number)
    assert np.array_equal(there.to_host(stream=number), A)


def test_our_streams_are_streams_to_others(queued):
    stream = gm.Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert np.array_equal(gm.copy(gm.to_device(A), stream=stream.handle).to_host(), A)

    class Protocol:
        def __cuda_stream__(self):
            return stream.__cuda_stream__()

    there = gm.copy(gm.to_device(A), stream=Protocol())
    assert np.array_equal(there.to_host(), A)
    with queued.on(queued.it.cuda.ExternalStream(stream.handle)):
        x = queued.adopt(there)
        assert np.array_equal(queued.host(x), A)


def test_we_wait_for_their_stream(queued):
    """Work that is pending on their stream when an array is passed comes first."""
    for _ in range(3):
        stream, x = queued.stream(), queued.array(A)
        gm.synchronize()
        with queued.on(stream):
            queued.spin()
            queued.fill(x, 7)
            got = gm.copy(x)
            shared = gm.copy(gm.from_dlpack(x))
        assert (got.to_host() == 7).all() and (shared.to_host() == 7).all()


def test_they_wait_for_ours(queued):
    """Our calls come before their work on the result, on any stream."""
    theirs, other = queued.stream(), queued.stream()
    x = queued.array(A + 1)
    gm.synchronize()
    for ours in (None, gm.Stream(), other):
        result = gm.DeviceArray(A.shape)
        result.fill_bytes(0)
        gm.synchronize()
        with queued.on(other):
            queued.spin()  # delays the call where it is on this stream
        gm.copy(x, out=result, stream=ours)
        with queued.on(theirs):
            got = queued.host(queued.adopt(result) + 0)
        assert np.array_equal(got, A + 1)


@pytest.mark.parametrize("ours", ["default", "gpumem", "theirs"])
def test_the_interface_waits_for_ours(ours, queued):
    """Also for consumers that ignore the stream and read on a nonblocking one."""
    reader = queued.stream()
    x = queued.array(A + 1)
    for _ in range(3):
        kept = {"gpumem": gm.Stream, "theirs": queued.stream}.get(ours, lambda: None)()
        if ours == "theirs":
            stream, writer = kept, kept
        else:
            stream, writer = kept, queued.as_stream(kept.handle if kept else 0)
        result = gm.DeviceArray(A.shape)
        result.fill_bytes(0)
        gm.synchronize()
        with queued.on(writer):
            queued.spin()
        gm.copy(x, out=result, stream=stream)
        with queued.on(reader):
            got = queued.host(queued.by_interface(result) + 0)
        assert np.array_equal(got, A + 1)


def test_memory_waits_for_their_streams(queued):
    """Memory that is freed while a stream uses it is not recycled too soon."""
    stream = queued.stream()
    for _ in range(5):
        a, out = gm.to_device(A), gm.DeviceArray(A.shape)
        gm.synchronize()
        with queued.on(stream):
            queued.spin()
        gm.copy(a, out=out, stream=stream)
        del a
        others = [gm.DeviceArray(A.shape) for _ in range(3)]
        for other in others:
            other.fill_bytes(255)
        assert np.array_equal(out.to_host(), A)


def test_their_memory_waits_for_us(queued):
    """They pass their stream, which then waits before it uses the memory again."""
    stream, ours = queued.stream(), queued.stream()
    if not says_its_stream(queued.array(A)):
        pytest.skip("this library does not say its stream")
    with queued.on(stream):
        for _ in range(3):
            x, out = queued.array(A), gm.DeviceArray(A.shape)
            gm.synchronize()
            with queued.on(ours):
                queued.spin()
            gm.copy(x, out=out, stream=queued.handle(ours))
            del x
            again = queued.array(A * 0)
            assert np.array_equal(out.to_host(), A)
            del again


@pytest.mark.parametrize("ours", [False, True])
def test_results_wait_for_us(queued, ours):
    """Their work on an array comes after our call that writes it, on whatever stream."""
    stream, other = queued.stream(), queued.stream()
    if not says_its_stream(queued.array(A)):
        pytest.skip("this library does not say its stream")
    kernel = gm.load(
        source="__global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }"
    )["add"]
    with queued.on(stream):
        x, y = queued.array(A[0]), queued.array(A[1])
        with queued.on(other):
            queued.spin()
        given = queued.handle(other) if ours else None
        gm.copy(x, out=y, stream=given)
        assert np.array_equal(queued.host(y + 0), A[0])
        queued.spin()
        queued.fill(x, 3)
        kernel[1, A.shape[1], given](x, y)
        assert np.array_equal(queued.host(y + 0), A[0] + 3)


def test_prepared_calls_on_their_streams(queued):
    stream = queued.stream()
    a, out = gm.to_device(A), gm.DeviceArray((60, 50))
    values = table.parameters("transpose", {})
    prepared = gm._core.prepare("transpose", "auto", (a,), out, stream, values)
    gm._core.launch_all([prepared], 20)
    assert np.array_equal(out.to_host(), A.T)
