"""Exchange: other libraries' arrays as inputs, and our tensors."""

import gc

import dlpack
import numpy as np
import pytest
from dlpack import Producer
from exchange_cases import ARRAYS, SIX, used

import gpumem as gm

pytestmark = pytest.mark.usefixtures("frozen")


POINT = np.dtype([("x", "f4"), ("y", "i2")])


# ---- producers ----------------------------------------------------------------------


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


# ---- our tensors --------------------------------------------------------------------


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
