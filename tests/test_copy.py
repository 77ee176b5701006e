"""copy: every variant over edge-case sizes, dtypes, grids and layouts, byte for byte."""

import array
import ctypes
import datetime
import itertools

import numpy as np
import pytest
from copy_cases import (
    COPY,
    MARGIN,
    PADDED,
    POISONS,
    GuardedOutput,
    check,
    make_noise,
    poisoned,
    random_array,
    raw_bytes,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import here

import gpumem as gm

noise = pytest.fixture(scope="module")(make_noise)


# ---- layouts ------------------------------------------------------------------------


def arbitrary_strides():
    """Arbitrary strides in dimensions of length 1."""
    a = np.arange(20, dtype=np.int16)
    return np.lib.stride_tricks.as_strided(a, (1, 5, 1), (3, 8, -7))


def unaligned(dtype, shape):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype.itemsize
    buffer = bytes(i * 37 % 256 for i in range(count + 1))
    return np.frombuffer(buffer, dtype, offset=1).reshape(shape)


def records():
    data = np.frombuffer(bytes(i * 31 % 256 for i in range(PADDED.itemsize * 24)), PADDED)
    return data.reshape(4, 6)


class Subclass(np.ndarray):
    """Copies are plain ndarrays, not this subclass."""


PACKED = np.dtype([("tag", "u1"), ("x", "f8"), ("pair", "i2", (2,))])


CUBE = np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6)


LAYOUTS = {
    "reversed": lambda: CUBE[::-1],
    "all-reversed": lambda: CUBE[::-1, ::-1, ::-1],
    "sliced": lambda: CUBE[1:3, ::2, 1:-1],
    "sliced-backwards": lambda: CUBE[3:0:-2, :, ::-3],
    "fortran": lambda: np.asfortranarray(CUBE),
    "transposed": lambda: CUBE.transpose(1, 2, 0),
    "swapped-last": lambda: CUBE.swapaxes(1, 2),
    "broadcast": lambda: np.broadcast_to(CUBE[0, 0], (7, 3, 6)),
    "broadcast-scalar": lambda: np.broadcast_to(np.float64(2.5), (3, 4)),
    "broadcast-inside": lambda: np.broadcast_to(CUBE[:, :1], (4, 9, 6)),
    "diagonal": lambda: CUBE[0].diagonal(),
    "windows": lambda: np.lib.stride_tricks.sliding_window_view(CUBE[0, 0], 3),
    "empty-strided": lambda: CUBE[::2, 5:5, ::-1],
    "0-d": lambda: np.array(3.5),
    "0-d-view": lambda: CUBE[2, 3, 4, ...],
    "odd-strides": arbitrary_strides,
    "unaligned-f4": lambda: unaligned("f4", (3, 7)),
    "unaligned-c16": lambda: unaligned("c16", (2, 5)),
    "unaligned-transposed": lambda: unaligned("i8", (3, 7)).T,
    "packed-field": lambda: np.arange(13 * 9, dtype=np.uint8).view(PACKED)["x"],
    "packed-subarray": lambda: np.arange(13 * 9, dtype=np.uint8).view(PACKED)["pair"],
    "padded": records,
    "padded-sliced": lambda: records()[::2, ::-1],
    "padded-transposed": lambda: records().T,
    "padded-fields": lambda: records()[["small", "last"]],
    "12-d": lambda: np.arange(2**12, dtype=np.uint8).reshape((2,) * 12).T,
    "18-d": lambda: np.arange(2**18, dtype=np.int32).reshape((2,) * 18)[..., ::-1].T,
    "64-d": lambda: np.arange(6.0).reshape((1,) * 31 + (2,) + (1,) * 31 + (3,)).T,
    "strings": lambda: np.array([["a", "bcd"], ["", "xy"]]).T,
    "dates": lambda: np.arange("2020-01", "2021-01", dtype="M8[D]")[::-7],
    "bools": lambda: np.arange(30, dtype=np.uint8).view("?")[::3],
    "halves": lambda: np.arange(2**16, dtype=np.uint16).view("f2")[::-5],
    "long-doubles": lambda: np.linspace(0, 1, 12, dtype=np.longdouble)[::-2],
    "read-only": lambda: np.frombuffer(b"0123456789abcdef", "i4")[::-1],
    "subclass": lambda: CUBE.view(Subclass).T,
    "record-array": lambda: np.rec.array([(1, 2.5), (3, 4.5)], dtype="i4,f8")[::-1],
    "bytearray": lambda: bytearray(b"abcdefg"),
    "memoryview": lambda: memoryview(b"abcdefgh")[::-3],
    "memoryview-cast": lambda: memoryview(bytearray(24)).cast("d", (3, 1)),
    "array.array": lambda: array.array("d", [1.0, 2.0, 3.0]),
    "ctypes": lambda: (ctypes.c_int16 * 3 * 2)((1, 2, 3), (4, 5, 6)),
    "numpy-scalar": lambda: np.float32(1.5),
    "numpy-date": lambda: np.datetime64(datetime.date(2024, 2, 29)),
    "numpy-text": lambda: np.str_("héllo"),
    "numpy-record": lambda: records()[1, 1],
    "bytes": lambda: b"ab\x00cd",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("variant", ["auto", "strided"])
def test_any_layout_from_the_host(layout, variant, backend):
    a = LAYOUTS[layout]()
    check(gm.copy(a, variant=variant, backend=backend), a)
    wanted = np.asarray(a)
    for poison in POISONS:
        out = poisoned(wanted.shape, wanted.dtype, poison)
        assert gm.copy(a, variant=variant, out=out, backend=backend) is out
        check(out, a)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_to_the_device(layout, backend):
    a = LAYOUTS[layout]()
    device = gm.to_device(a, backend=backend)
    assert device.contiguous and device.backend == backend
    check(device.to_host(), a)
    check(gm.copy(device).to_host(), a)


def test_memmap(tmp_path, backend):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)))
    mapped = np.memmap(path, "u2", "r", offset=16, shape=(10, 12))
    for a in (mapped, mapped[::-1, ::3], mapped.T):
        check(gm.copy(a, backend=backend), np.asarray(a))


def test_a_masked_array_is_copied_as_data_or_refused(backend):
    """Either a TypeError, or a plain ndarray with all the data, masked elements included."""
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    try:
        got = gm.copy(masked, backend=backend)
    except TypeError as error:
        assert "a " in str(error)
    else:
        check(got, masked.data)


@pytest.mark.parametrize("max_blocks", [None, 1, 3])
def test_a_layout_larger_than_the_grid(max_blocks, backend, noise):
    a = noise[: 3 * 40 * 50 * 60].reshape(3, 40, 50, 60)
    device = gm.to_device(a, backend=backend)
    for view in (lambda x: x.T, lambda x: x[:, ::-1, 1::2, ::3], lambda x: x[::2, :, :7]):
        frame = GuardedOutput(backend, view(a).size, 0xAA)
        out = frame.out.reshape(view(a).shape)
        gm.copy(view(device), out=out, max_blocks=max_blocks)
        frame.check(raw_bytes(view(a)), "")


# ---- out on the host ----------------------------------------------------------------


OUTS = {
    "every-second": lambda buffer: buffer[4:44:2],
    "backwards": lambda buffer: buffer[43:23:-1],
    "transposed": lambda buffer: buffer[:20].reshape(5, 4).T.reshape(20, order="F"),
    "unaligned": lambda buffer: buffer.view("u1")[3:83].view("f4"),
    "unaligned-strided": lambda buffer: buffer.view("u1")[3:163].view("f4")[::2],
    "columns": lambda buffer: buffer[:60].reshape(20, 3)[:, 1],
}


@pytest.mark.parametrize("variant", COPY, ids=str)
@pytest.mark.parametrize("layout", OUTS)
def test_out_of_any_layout_without_stray_stores(layout, variant, backend, rng):
    here(variant, backend)
    for poison in POISONS:
        a = random_array(rng, 20, "f4")
        buffer = poisoned(60, "f4", poison)
        expected = buffer.copy()
        out = OUTS[layout](buffer)
        assert np.shares_memory(out, buffer)
        assert variant(a, out=out, backend=backend) is out
        OUTS[layout](expected).view("V4")[...] = a.view("V4")
        assert buffer.tobytes() == expected.tobytes()


def test_padding_is_copied_to_a_strided_out(backend):
    a = records().reshape(-1)
    for poison in POISONS:
        out = poisoned(48, PADDED, poison)[::2]
        gm.copy(a, out=out, backend=backend)
        assert raw_bytes(out).tobytes() == raw_bytes(a).tobytes()


def test_out_in_two_dimensions(backend, rng):
    a = random_array(rng, (3, 4), "i2")
    for out in (
        np.zeros((3, 4), "i2", "F"),
        np.zeros((4, 3), "i2").T,
        np.zeros((6, 8), "i2")[::2, ::2],
    ):
        assert gm.copy(a, out=out, backend=backend) is out
        np.testing.assert_array_equal(out, a)
        out[...] = 0
        gm.copy(a[::-1].T.T, out=out, backend=backend)
        np.testing.assert_array_equal(out, a[::-1])


def test_out_with_an_equivalent_dtype(backend):
    a = np.arange(5, dtype="l")
    out = np.zeros(5, "q")
    assert gm.copy(a, out=out, backend=backend) is out and out.tolist() == [0, 1, 2, 3, 4]


# ---- device views: alignment --------------------------------------------------------


@pytest.mark.parametrize("variant", COPY, ids=str)
@pytest.mark.parametrize("wrong", ["a", "out"])
def test_misaligned_views_are_copied_or_refused(variant, wrong, backend, noise):
    here(variant, backend)
    source = gm.to_device(noise[:4096], backend=backend)
    for offset, count in itertools.product(range(18), (1, 5, 64, 1029)):
        frame = GuardedOutput(backend, 2048, 0xAA)
        a, out = source[:count], frame.out[:count]
        if wrong == "a":
            a = source[offset : offset + count]
        else:
            out = frame.out[offset : offset + count]
        expected = frame.buffer.to_host()
        if variant.alignment and offset % variant.alignment:
            words = rf"variant {variant.name} .*\b{wrong}\b.* {variant.alignment} bytes.*auto"
            with pytest.raises(ValueError, match=words):
                variant(a, out=out)
            assert np.array_equal(frame.buffer.to_host(), expected)
        else:
            variant(a, out=out)
            check(out.to_host(), a.to_host())
        gm.copy(a, out=out)
        start = MARGIN + (offset if wrong == "out" else 0)
        expected[start : start + count] = a.to_host()
        assert np.array_equal(frame.buffer.to_host(), expected)


ENDS = [0, 1, 15, 16, 17, 33, 63, 64, 128, 150, 173, 174, 256, 300, 1000, 8500]


@pytest.mark.parametrize("count", ENDS)
@pytest.mark.parametrize("variant", ["shifted:unrolled", "shifted:stream"])
def test_shifted_at_every_alignment(variant, count, backend, noise):
    """Vectors and ends; the bytes around the result stay."""
    source = gm.to_device(noise[: count + 40], backend=backend)
    for begin, shift in itertools.product(range(17), (0, 1, 3, 4, 6, 13, 16, 31)):
        frame = GuardedOutput(backend, count + 32, 0x55)
        expected = frame.buffer.to_host()
        out = frame.out[shift : shift + count]
        gm.copy(source[begin : begin + count], out=out, variant=variant, max_blocks=1 + shift % 2)
        expected[MARGIN + shift : MARGIN + shift + count] = noise[begin : begin + count]
        assert np.array_equal(frame.buffer.to_host(), expected), (begin, shift)


@pytest.mark.parametrize("variant", ["auto", "shifted:unrolled", "shifted:stream"])
def test_shifted_at_every_place_of_both_arrays(variant, backend, rng, noise):
    """Of 16 bytes and more, and of any size."""
    source = gm.to_device(noise[:400], backend=backend)
    for begin, shift in itertools.product(range(17), range(17)):
        count = int(rng.integers(0, 301))
        frame = GuardedOutput(backend, count + 32, int(rng.choice(POISONS)))
        expected = frame.buffer.to_host()
        out = frame.out[shift : shift + count]
        gm.copy(source[begin : begin + count], out=out, variant=variant)
        expected[MARGIN + shift : MARGIN + shift + count] = noise[begin : begin + count]
        assert np.array_equal(frame.buffer.to_host(), expected), (begin, shift, count)


@pytest.mark.parametrize("variant", ["shifted:unrolled", "shifted:stream"])
def test_a_misaligned_copy_has_whole_sectors(variant, noise):
    source = gm.to_device(noise[: 2**16], backend="sim")
    counted = gm.traffic("copy", source[1:], variant=variant)
    assert counted.stores.width == counted.loads.width == 128
    assert counted.stores.sectors <= 2**16 / 32 + 16
    assert counted.loads.sectors <= 2**16 / 32 * (1 + 1 / 16) + 32  # a last lane's, per request


@pytest.mark.parametrize("begin", [0, 1, 4, 8, 13])
def test_a_long_shifted_copy_prefetches(begin, backend, noise):
    """Runs of 32 KiB, 256 KiB ahead, also where the last ones would be past the end."""
    source = gm.to_device(noise[: 2**19 + 77], backend=backend)
    frame = GuardedOutput(backend, 2**19 + 77 - begin, 0x55)
    gm.copy(source[begin:], out=frame.out, variant="shifted:stream")
    frame.check(noise[begin : 2**19 + 77], "")


def test_auto_streams_long_misaligned_copies():
    device = gm.info()["devices"][0]
    waves = 2 * 64 * device["multiprocessors"] * device["threads_per_multiprocessor"]
    for size, variant in ((waves, "unrolled"), (waves + 1, "stream")):
        a = gm.DeviceArray(size + 1, "u1", backend="sim")[1:]
        assert gm.traffic("copy", a).variant == f"shifted:{variant}"


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "c16", "V3"])
def test_a_view_without_the_first_element(dtype, backend, rng):
    a = random_array(rng, 1030, dtype)
    device = gm.to_device(a, backend=backend)
    check(device[1:].to_host(), a[1:])
    for variant in COPY:
        if variant.reason_on(backend) is None:
            if variant.alignment and a.itemsize % variant.alignment:
                with pytest.raises(ValueError, match=variant.name):
                    variant(device[1:])
            else:
                check(variant(device[1:]).to_host(), a[1:])
    check(gm.copy(device[1:]).to_host(), a[1:])
    check(gm.copy(device[1:], max_blocks=1).to_host(), a[1:])


@pytest.mark.parametrize("variant", COPY, ids=str)
def test_strided_views_are_copied_or_refused(variant, backend, noise):
    here(variant, backend)
    a = noise[:4096].view("f4").reshape(32, 32)
    device = gm.to_device(a, backend=backend)
    for view in (lambda x: x.T, lambda x: x[::2], lambda x: x[:, 4:8], lambda x: x[::-1]):
        frame = GuardedOutput(backend, view(a).nbytes, 0xAA)
        out = frame.out.view("f4").reshape(view(a).shape)
        if variant.layout == "strided":
            variant(view(device), out=out)
            check(out.to_host(), view(a))
        else:
            with pytest.raises(ValueError, match=rf"variant {variant.name} needs a .*contiguous"):
                variant(view(device), out=out)
            assert np.all(frame.buffer.to_host() == 0xAA)


def test_views_of_a_device_array_as_out(backend, rng):
    a = random_array(rng, (4, 8), "f4")
    device = gm.DeviceArray((3, 4, 8), backend=backend)
    device.fill_bytes(0xAA)
    gm.copy(gm.to_device(a, backend=backend), out=device[1])
    after = device.to_host()
    check(after[1], a)
    assert np.all(raw_bytes(after[0]) == 0xAA) and np.all(raw_bytes(after[2]) == 0xAA)
    gm.copy(device[1], out=device[2])
    gm.copy(device[1, ::-1], out=device[0])
    after = device.to_host()
    check(after[2], a)
    check(after[0], a[::-1])


# ---- random layouts and views -------------------------------------------------------


RANDOM = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


ELEMENTS = st.sampled_from(["u1", "i2", "f4", "f8", "c16", "S3", "V5", PADDED, PACKED])


SIDES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=7)


def pattern(shape, dtype):
    """Deterministic pseudo-random bytes."""
    count = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    data = (np.arange(count, dtype=np.uint32) * 2654435761 >> 13).astype(np.uint8)
    return data.view(dtype).reshape(shape)


@RANDOM
@given(data=st.data(), dtype=ELEMENTS, shape=SIDES)
def test_random_strides_and_offsets(backend, data, dtype, shape):
    """Any offset and any strides within a buffer."""
    dtype = np.dtype(dtype)
    strides = [data.draw(st.integers(-40, 40), f"stride {d}") for d in range(len(shape))]
    low = sum(min(0, (side - 1) * s) for side, s in zip(shape, strides, strict=True) if side)
    high = sum(max(0, (side - 1) * s) for side, s in zip(shape, strides, strict=True) if side)
    offset = data.draw(st.integers(0, 17), "offset")
    buffer = pattern(high - low + dtype.itemsize + offset, "u1")
    a = np.ndarray(shape, dtype, buffer, offset - low, strides)
    check(gm.copy(a, backend=backend), a)
    check(gm.to_device(a, backend=backend).to_host(), a)
    out = np.zeros(shape, dtype)
    gm.copy(a, out=out, max_blocks=data.draw(st.sampled_from([1, 2, None])), backend=backend)
    check(out, a)


@RANDOM
@given(data=st.data(), dtype=ELEMENTS, shape=SIDES)
def test_random_views_of_a_device_array(backend, data, dtype, shape):
    """Slices, integers, None, transposes and reshapes in any order behave as in NumPy."""
    host = pattern(shape, dtype)
    device = gm.to_device(host, backend=backend)
    for step in range(data.draw(st.integers(1, 4), "steps")):
        kind = data.draw(st.sampled_from("index index index T reshape field".split()), f"{step}")
        if kind == "index" and host.ndim < 8:
            index = data.draw(hnp.basic_indices(host.shape, allow_newaxis=True, max_dims=8))
            items = index if isinstance(index, tuple) else (index,)
            host_index = items if any(i is Ellipsis for i in items) else (*items, ...)
            host, device = host[host_index], device[index]
        elif kind == "T":
            host, device = host.T, device.T
        elif kind == "field" and host.dtype.names:
            field = data.draw(st.sampled_from(host.dtype.names))
            host, device = host[field], device[field]
        elif kind == "reshape" and host.flags.c_contiguous:
            shape = data.draw(st.sampled_from([(-1,), (1, host.size), (host.size, 1, 1)]))
            if host.size:
                host, device = host.reshape(shape), device.reshape(shape)
        assert (device.shape, device.dtype) == (host.shape, host.dtype)
        assert device.strides == host.strides or host.size == 0
        assert device.contiguous == host.flags.c_contiguous
    check(device.to_host(), host)
    check(gm.copy(device).to_host(), host)
    out = poisoned(host.shape, host.dtype, 0xAA)
    assert device.to_host(out) is out
    check(out, host)


# ---- ordering of dependent copies ---------------------------------------------------


@pytest.mark.parametrize("own_stream", [False, True], ids=["default-stream", "own-stream"])
def test_dependent_copies_run_in_order(backend, rng, own_stream):
    """With programmatic launch, a kernel still sees everything that the previous one wrote."""
    variants = [v for v in gm.variants("copy") if v.reason_on(backend) is None]
    count = 2**24 if backend == "cuda" else 2**14
    stream = gm.Stream(backend=backend) if own_stream else None
    a = random_array(rng, count, "f4")
    outputs = [gm.DeviceArray(count, "f4", backend=backend) for _ in range(3)]
    for _ in range(20):
        source = gm.to_device(a, backend=backend)
        chosen = [variants[i] for i in rng.integers(len(variants), size=12)]
        for output in outputs:
            output.fill_bytes(0xAA, stream=stream)
        for step, variant in enumerate(chosen):
            # Lengths alternate: without ordering, a short copy could overtake a long one.
            length = count if step % 2 == 0 else count // 8
            out = outputs[step % 3]
            variant(source[:length], out=out[:length], stream=stream)
            if length < count:
                gm.copy(source[length:], out=out[length:], stream=stream)
            source = out
        got = source.to_host(stream=stream)
        assert got.tobytes() == a.tobytes(), [v.name for v in chosen]
