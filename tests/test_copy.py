"""copy: every variant over edge-case sizes, dtypes, grids and layouts, byte for byte."""

import array
import ctypes
import datetime
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import here

import gpumem as gm

COPY = gm.variants("copy")
GRIDS = [None, 1, 2, 3, 1000, 2**31 - 1]  # max_blocks
POISONS = [0xAA, 0x55]
MARGIN = 256  # guard bytes before and after each output; a multiple of every alignment
COUNTS = sorted(
    {0, 2, 3, 4, 7, 37, 97, 251, 509, 2003, 16411, 65537}
    | {2**k + d for k in (*range(9), 10, 12) for d in (-1, 0, 1)}
)

NESTED = np.dtype([("at", [("x", "f4"), ("y", "i2")]), ("tag", "S3"), ("rows", "u1", (2, 2))])
PADDED = np.dtype([("small", "u1"), ("large", "f8"), ("last", "i2")], align=True)
DTYPES = [
    *"? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split(),
    np.dtype("longdouble"),
    np.dtype("clongdouble"),
    "M8[us]",
    "m8[D]",
    "S5",
    "U3",
    "V7",
    "V0",
    np.dtype([("a", "i4"), ("b", "f8")]),
    NESTED,
    PADDED,
]


def name_of(value):
    if isinstance(value, np.dtype):
        return {NESTED: "nested", PADDED: "padded"}.get(value, str(value).replace(" ", ""))
    return str(value)


def raw_bytes(a):
    """The bytes of all elements in C order, including padding between fields."""
    a = np.asarray(a)
    if a.size == 0 or a.itemsize == 0:
        return np.empty(0, np.uint8)
    # a.tobytes() fails above 32 dimensions before NumPy 2.3.
    return np.array(a.view(f"V{a.itemsize}"), order="C").reshape(-1).view(np.uint8)


def check(got, wanted, context=""):
    """`got` must be a plain C-contiguous ndarray with the bytes, dtype and shape of `wanted`."""
    wanted = np.asarray(wanted)
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), context
    assert got.flags.c_contiguous, context
    got_bytes, expected = raw_bytes(got), raw_bytes(wanted)
    if got_bytes.tobytes() != expected.tobytes():
        differ = np.flatnonzero(got_bytes != expected)
        first = differ[0]
        pytest.fail(
            f"{context}: {differ.size} of {expected.size} bytes differ, the first is byte {first}: "
            f"{got_bytes[first]:#04x}, expected {expected[first]:#04x}"
        )


def random_array(rng, shape, dtype):
    """Random bytes: includes NaN payloads, bools other than 0 and 1, and nonzero padding."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    data = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(shape)


def poisoned(shape, dtype, poison):
    """An ndarray with every byte set to `poison`."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    count = int(np.prod(shape, dtype=int))
    return np.full(count * dtype.itemsize, poison, np.uint8).view(dtype).reshape(shape)


def byte_counts(variant, max_blocks):
    """COUNTS, plus byte counts around the boundaries of this variant's grid."""
    threads = int(np.prod(variant.block))
    counts = set(COUNTS)
    for unit in (threads, 4 * threads * variant.elements):
        for steps, blocks in itertools.product((1, 2, 5), (1, max_blocks or 1)):
            edge = steps * blocks * unit
            if 0 < edge <= 2**18:
                counts |= {edge + d for d in (-17, -16, -4, -1, 0, 1, 3, 4, 15, 16, 17)}
    return sorted(count for count in counts if count >= 0)


@pytest.fixture(scope="module")
def noise():
    """Random bytes; the tests copy slices of them."""
    return np.random.default_rng(20).integers(0, 256, 2**23 + 64, dtype=np.uint8)


class GuardedOutput:
    """A poisoned device output inside a larger buffer, to detect out-of-bounds stores."""

    def __init__(self, backend, count, poison):
        self.poison = poison
        self.buffer = gm.DeviceArray(count + 2 * MARGIN, "u1", backend=backend)
        self.buffer.fill_bytes(poison)
        self.out = self.buffer[MARGIN : MARGIN + count]

    def check(self, wanted, context):
        after = self.buffer.to_host()
        check(after[MARGIN:-MARGIN], wanted, context)
        assert np.all(after[:MARGIN] == self.poison), f"{context}: stores before the start"
        assert np.all(after[-MARGIN:] == self.poison), f"{context}: stores past the end"


# ---- sizes and grids ------------------------------------------------------------------------


@pytest.mark.parametrize("max_blocks", GRIDS)
@pytest.mark.parametrize("variant", COPY, ids=str)
def test_every_byte_count_on_the_device(variant, max_blocks, backend, noise):
    here(variant, backend)
    source = gm.to_device(noise, backend=backend)
    for count in byte_counts(variant, max_blocks):
        for poison in POISONS:
            frame = GuardedOutput(backend, count, poison)
            assert variant(source[:count], out=frame.out, max_blocks=max_blocks) is frame.out
            frame.check(noise[:count], f"{count} bytes")


@pytest.mark.parametrize("max_blocks", GRIDS)
@pytest.mark.parametrize("variant", COPY, ids=str)
def test_every_byte_count_from_the_host(variant, max_blocks, backend, noise):
    here(variant, backend)
    for count in byte_counts(variant, max_blocks)[:: 1 if backend == "sim" else 3]:
        for poison in POISONS:
            frame = np.full(count + 2 * MARGIN, poison, np.uint8)
            out = frame[MARGIN : MARGIN + count]
            got = variant(noise[:count], out=out, max_blocks=max_blocks, backend=backend)
            assert got is out
            check(out, noise[:count], f"{count} bytes")
            assert np.all(frame[:MARGIN] == poison) and np.all(frame[MARGIN + count :] == poison)


@pytest.mark.parametrize("count", [2**22 - 1, 2**22, 2**22 + 1, 2**23, 2**23 + 61])
def test_host_arrays_transferred_in_chunks(count, backend, noise):
    """Transfers to the simulator are split into chunks of at most 4 MiB."""
    for poison in POISONS:
        frame = np.full(count + 2 * MARGIN, poison, np.uint8)
        out = frame[MARGIN : MARGIN + count]
        gm.copy(noise[:count], out=out, variant="memcpy", backend=backend)
        check(out, noise[:count], f"{count} bytes")
        assert np.all(frame[:MARGIN] == poison) and np.all(frame[MARGIN + count :] == poison)


@pytest.mark.parametrize("count", [2**21 + 5, 2**23 + 13])
@pytest.mark.parametrize("variant", [*COPY, "auto"], ids=str)
def test_more_elements_than_the_largest_grid_covers_at_once(variant, count, backend, noise):
    """More than one grid-stride step per thread, for every variant and for auto."""
    run = gm.copy if variant == "auto" else variant
    if variant != "auto":
        here(variant, backend)
    source = gm.to_device(noise, backend=backend)
    frame = GuardedOutput(backend, count, POISONS[0])
    run(source[:count], out=frame.out)
    frame.check(noise[:count], f"{count} bytes")


@pytest.mark.parametrize("max_blocks", GRIDS)
@pytest.mark.parametrize("itemsize", [1, 2, 3, 4, 6, 8, 12, 16, 20, 32])
def test_every_count_and_width_of_the_strided_kernel(itemsize, max_blocks, backend, noise):
    edges = {k * 256 // unit for k in (1, 2, 3, 6) for unit in (1, 2, 3, 5) if k * 256 % unit == 0}
    counts = {0, 1, 2, 3, 31, 33, 97} | {edge + d for edge in edges for d in (-1, 0, 1)}
    source = noise[: 2 * itemsize * (max(counts) + 1)].view(f"V{itemsize}")
    device = gm.to_device(source, backend=backend)
    for count in sorted(counts):
        for poison in POISONS:
            frame = GuardedOutput(backend, count * itemsize, poison)
            view = device[: 2 * count : 2]
            out = frame.out.view(f"V{itemsize}")
            gm.copy(view, out=out, variant="strided", max_blocks=max_blocks)
            frame.check(raw_bytes(source[: 2 * count : 2]), f"{count} elements")


@pytest.mark.parametrize("itemsize", [2, 4, 8, 12, 16, 32])
def test_the_strided_kernel_from_and_to_any_address(itemsize, backend, noise):
    """A GPU faults on an access that is not aligned to its width."""
    device = gm.to_device(noise[:4096], backend=backend)
    for offset, shift, step in itertools.product(range(18), (0, 1, 2, 4, 8), (1, 2, 3, -1)):
        count = 37 * itemsize
        host_view = noise[offset : offset + count].view(f"V{itemsize}")[::step]
        device_view = device[offset : offset + count].view(f"V{itemsize}")[::step]
        buffer = gm.DeviceArray(host_view.nbytes + 16, "u1", backend=backend)
        out = buffer[shift:][: host_view.nbytes]
        gm.copy(device_view, out=out.view(f"V{itemsize}"), variant="strided")
        check(out.to_host(), raw_bytes(host_view), f"{offset} {shift} {step}")


# ---- dtypes -----------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (3, 0, 2), (7,), (5, 3, 2), (1, 1, 33)]


@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("variant", COPY, ids=str)
def test_every_dtype(variant, dtype, backend, rng):
    here(variant, backend)
    for shape in SHAPES:
        a = random_array(rng, shape, dtype)
        check(variant(a, backend=backend), a, f"host {shape}")
        device = gm.to_device(a, backend=backend)
        for poison in POISONS:
            out = poisoned(shape, dtype, poison)
            assert variant(a, out=out, backend=backend) is out
            check(out, a, f"host out {shape}")
            device_out = gm.DeviceArray(shape, dtype, backend=backend)
            device_out.fill_bytes(poison)
            assert variant(device, out=device_out) is device_out
            check(device_out.to_host(), a, f"device out {shape}")
        result = variant(device)
        assert isinstance(result, gm.DeviceArray) and result.contiguous
        assert (result.shape, result.dtype) == (a.shape, a.dtype)
        check(result.to_host(), a, f"device {shape}")


def test_dtypes_of_other_packages(backend, rng):
    extra = pytest.importorskip("ml_dtypes")
    for scalar in (extra.bfloat16, extra.float8_e4m3fn, extra.int4):
        a = random_array(rng, (5, 7), scalar)
        check(gm.copy(a, backend=backend), a)
        check(gm.copy(a.T, backend=backend), a.T)
        check(gm.copy(gm.to_device(a, backend=backend).T).to_host(), a.T)


@pytest.mark.parametrize("variant", COPY, ids=str)
def test_nan_payloads_and_signed_zeros(variant, backend):
    here(variant, backend)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    singles = np.array([0x7F800001, 0x7FC12345, 0xFFFFFFFF, 0x80000000, 1], np.uint32)
    doubles = np.array([0x7FF0000000000001, 0xFFF8DEADBEEF0001, 2**63, 1], np.uint64)
    complexes = np.stack([doubles, doubles[::-1]], axis=1)
    for a in (halves, singles.view("f4"), doubles.view("f8"), complexes.view("c16")):
        check(variant(a, backend=backend), a)
        check(variant(gm.to_device(a, backend=backend)).to_host(), a)


def test_the_result_shares_no_memory_with_the_input(backend):
    a = np.arange(24.0).reshape(4, 6)
    for source in (a, a.T, a[::-1], a[:0], np.float64(3)):
        first, second = gm.copy(source, backend=backend), gm.copy(source, backend=backend)
        assert first.flags.writeable
        assert not np.shares_memory(first, second)
        assert not np.shares_memory(first, np.asarray(source))
    first = gm.copy(a, backend=backend)
    first[...] = -1
    assert a[3, 5] == 23
    device = gm.to_device(a, backend=backend)
    first = gm.copy(device)
    assert first.pointer != device.pointer
    first.fill_bytes(0)
    check(device.to_host(), a)


def test_the_input_is_not_written(backend, rng):
    a = random_array(rng, 1025, "u1")
    a.flags.writeable = False
    before = a.tobytes()
    device = gm.to_device(a, backend=backend)
    for variant in COPY:
        if variant.reason_on(backend) is None:
            variant(a, backend=backend)
            variant(device)
    assert a.tobytes() == before and device.to_host().tobytes() == before


def test_on_a_stream(backend, rng):
    a = random_array(rng, (33, 65), "f4")
    stream = gm.Stream(backend=backend)
    device = gm.to_device(a, stream=stream, backend=backend)
    for variant in COPY:
        if variant.reason_on(backend) is None:
            check(variant(a, stream=stream, backend=backend), a)
            check(variant(device, stream=stream).to_host(stream=stream), a)
    check(gm.copy(device.T, stream=stream).to_host(stream=stream), a.T)
    stream.synchronize()


# ---- layouts ----------------------------------------------------------------------------------


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


# ---- out on the host --------------------------------------------------------------------------

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


# ---- device views: alignment ------------------------------------------------------------------


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
def test_shifted_at_every_alignment(count, backend, noise):
    """Vectors and ends; the bytes around the result stay."""
    source = gm.to_device(noise[: count + 40], backend=backend)
    for begin, shift in itertools.product(range(17), (0, 1, 3, 4, 6, 13, 16, 31)):
        frame = GuardedOutput(backend, count + 32, 0x55)
        expected = frame.buffer.to_host()
        out = frame.out[shift : shift + count]
        gm.copy(source[begin : begin + count], out=out, variant="shifted", max_blocks=1 + shift % 2)
        expected[MARGIN + shift : MARGIN + shift + count] = noise[begin : begin + count]
        assert np.array_equal(frame.buffer.to_host(), expected), (begin, shift)


def test_a_misaligned_copy_has_whole_sectors(noise):
    source = gm.to_device(noise[: 2**16], backend="sim")
    counted = gm.traffic("copy", source[1:])
    assert counted.variant == "shifted"
    assert counted.stores.width == counted.loads.width == 128
    assert counted.stores.sectors <= 2**16 / 32 + 16
    assert counted.loads.sectors <= 2**16 / 32 * (1 + 1 / 16) + 32  # a last lane's, per request


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


# ---- random layouts and views -----------------------------------------------------------------

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


# ---- ordering of dependent copies -------------------------------------------------------------


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
