"""Accesses to addresses that no kernel may use are findings that say what the address is."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

MIB = 1 << 20


def access(probes, variant, address):
    """Run a probe that accesses 4 bytes at the address; return the error's message."""
    address = (address + 2**63) % 2**64 - 2**63
    with pytest.raises(probes.SimulationError) as caught:
        probes.traffic("fault", variant, (np.ones(64, np.float32),), (address, 1))
    error = caught.value
    assert error.kernel == f"fault_{variant}" and error.file.endswith(f"{variant}.cu")
    assert (error.block, error.thread) == ((0, 0, 0), (0, 0, 0))
    return re.search(r"thread \(0, 0, 0\): (.*)", str(error))[1]


@pytest.fixture(params=["load_at", "store_at"])
def variant(request):
    return request.param


def array(probes, count):
    there = probes.DeviceArray(count, "u1", backend="sim")
    there.fill_bytes(0)
    return there


def test_an_allocation_that_no_pointer_was_passed_for_is_memory_all_the_same(probes, variant):
    """Kernels find pointers in structures, too."""
    there = array(probes, 64)
    probes.traffic("fault", variant, (np.ones(64, np.float32),), (there.pointer, 1))


@pytest.mark.parametrize("address", [0, 4, 400, 4092])
def test_null(probes, variant, address):
    kind = variant.split("_")[0]
    assert access(probes, variant, address) == (
        f"{kind} of 4 bytes at address {address}, a null pointer"
    )


@pytest.mark.parametrize("address", [-4, -(2**31), 2**47, 2**62, -(2**62), 2**63 - 4, 0x7FFF0000])
def test_an_address_that_nobody_has(probes, variant, address):
    assert re.match(
        r"\w+ of 4 bytes (out of bounds|outside every)", access(probes, variant, address)
    )


@pytest.mark.parametrize("distance", [0, 60, 4096, 65536, MIB // 4])
@pytest.mark.parametrize("count", [4, 4096, MIB, 3 * MIB])
def test_far_past_the_end(probes, variant, count, distance):
    """Neighbours in the order of allocation are not reached."""
    arrays = [array(probes, count) for _ in range(5)]
    for there in arrays:
        message = access(probes, variant, there.pointer + count + distance)
        assert f"{distance} bytes past the end of an allocation of {count} bytes" in message
        message = access(probes, variant, there.pointer - distance - 4)
        assert f"{distance + 4} bytes before the start of an allocation of {count}" in message


@pytest.mark.parametrize("count", [64, 65536, 3 * MIB, 40 * MIB])
def test_freed(probes, variant, count):
    there = array(probes, count)
    pointer = there.pointer
    del there
    others = [array(probes, 4096) for _ in range(3)]
    for offset in (0, 60, count - 4):
        message = access(probes, variant, pointer + offset)
        kind = variant.split("_")[0]
        assert message == (
            f"{kind} of 4 bytes of freed memory, {offset} bytes into what was an allocation of "
            f"{count} bytes"
        )
    assert "out of bounds" in access(probes, variant, pointer + count)
    del others


def test_small_freed_memory_is_known_after_more_allocations(probes):
    there = array(probes, 256)
    pointer = there.pointer
    del there
    for _ in range(20):
        array(probes, 256)
    assert "freed memory" in access(probes, "load_at", pointer)


def test_host_memory(probes, variant):
    """Memory of the host is not the device's: heap, an array, a function, a literal."""
    held = np.ones(4096, np.float32)
    text = ctypes.create_string_buffer(64)
    for address in (
        held.ctypes.data,
        ctypes.addressof(text),
        ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value,
        id(held) + 4,
    ):
        assert re.match(r"\w+ of 4 bytes out", access(probes, variant, address & ~3))
    assert held.sum() == 4096


def test_allocations_are_reused_and_apart(probes):
    """Thousands of allocations take neither endless address space nor time."""
    pointers = set()
    for _ in range(3000):
        pointers.add(array(probes, 1000).pointer >> 16)
    assert len(pointers) < 200
    arrays = [array(probes, 1000) for _ in range(1500)]
    starts = sorted(there.pointer for there in arrays)
    assert min(np.diff(starts)) >= MIB
