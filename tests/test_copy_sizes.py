"""copy: sizes, grids and dtypes."""

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
from support import here

import gpumem as gm

noise = pytest.fixture(scope="module")(make_noise)


GRIDS = [None, 1, 2, 3, 1000, 2**31 - 1]  # max_blocks


COUNTS = sorted(
    {0, 2, 3, 4, 7, 37, 97, 251, 509, 2003, 16411, 65537}
    | {2**k + d for k in (*range(9), 10, 12) for d in (-1, 0, 1)}
)


NESTED = np.dtype([("at", [("x", "f4"), ("y", "i2")]), ("tag", "S3"), ("rows", "u1", (2, 2))])


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


# ---- sizes and grids ----------------------------------------------------------------


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


# ---- dtypes -------------------------------------------------------------------------


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
