"""Simulated device memory: guards around allocations, alignment, and out-of-memory errors."""

import ctypes
import itertools
import random
import re
import resource

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core

ON_SIM = [v for v in gm.variants("copy") if v.reason_on("sim") is None]
KERNELS = [v for v in ON_SIM if v.source.endswith(".cu")]


def empty(count):
    there = gm.DeviceArray(count, "u1", backend="sim")
    there.fill_bytes(0)
    return there


def launch(variant=KERNELS[0]):
    """Run any kernel; the simulator checks the guards when it ends."""
    return variant(gm.to_device(np.arange(64, dtype="f4"), backend="sim"))


# ---- guards -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3, 255, 256, 257, 4096, 100_003])
@pytest.mark.parametrize("distance", [1, 2, 16, 63, 64])
@pytest.mark.parametrize("side", ["before the start of", "past the end of"])
def test_a_write_just_outside_an_allocation_is_found(side, distance, count):
    victim = empty(count)
    launch()
    offset = victim.nbytes + distance - 1 if side.startswith("past") else -distance
    ctypes.memset(victim.pointer + offset, 0x5A, 1)
    words = rf"kernel copy_{KERNELS[0].name} wrote just {side} an allocation of {count} bytes"
    with pytest.raises(gm.SimulationError, match=words) as caught:
        launch()
    assert "gpumem.traffic" in str(caught.value)
    assert caught.value.kernel == f"copy_{KERNELS[0].name}"
    assert caught.value.file is caught.value.line is None
    assert caught.value.block is caught.value.thread is None
    launch()  # reported once; the guards are restored
    assert victim.to_host().tobytes() == bytes(count)


def test_a_count_of_traffic_does_not_check_what_others_wrote():
    """It looks at each access of its own kernel; what was written before, the next call reports."""
    victim = empty(100)
    ctypes.memset(victim.pointer + 100, 0x5A, 1)
    gm.traffic("copy", shape=64)
    with pytest.raises(gm.SimulationError, match="just past the end of an allocation of 100"):
        launch()


@pytest.mark.parametrize("variant", KERNELS, ids=str)
def test_the_kernel_is_named(variant):
    victim = empty(100)
    ctypes.memset(victim.pointer + 100, 0, 1)
    name = rf"copy_{variant.name}(_unrolled)?"  # that of an instance, for this size
    with pytest.raises(gm.SimulationError, match=f"{name} ") as caught:
        launch(variant)
    assert re.fullmatch(name, caught.value.kernel)
    launch(variant)


def test_all_guards_are_restored_at_once():
    victims = [empty(n) for n in (10, 300, 5000)]
    for victim in victims:
        ctypes.memset(victim.pointer - 64, 0, 64)
        ctypes.memset(victim.pointer + victim.nbytes, 0, 64)
    with pytest.raises(gm.SimulationError, match="before the start"):
        launch()
    launch()


def test_a_failing_host_call_leaves_out_unchanged():
    """`out` stays unchanged if the kernel writes outside an allocation."""
    victim = empty(16)
    out = np.full(64, -1, "f4")
    ctypes.memset(victim.pointer + 16, 0, 1)
    with pytest.raises(gm.SimulationError, match="of 16 bytes"):
        gm.copy(np.ones(64, "f4"), variant=KERNELS[0].name, out=out, backend="sim")
    assert np.all(out == -1)


def test_a_released_allocation_is_not_checked():
    victim = empty(64)
    ctypes.memset(victim.pointer + 64, 0, 1)
    del victim
    launch()


def test_writes_inside_an_allocation_are_accepted():
    victim = empty(64)
    ctypes.memset(victim.pointer, 0xFF, 64)
    launch()
    assert victim.to_host().tobytes() == b"\xff" * 64


def test_a_kernel_that_writes_past_the_end(probes):
    """A probe kernel writes out of bounds, both untraced and traced."""
    a = np.ones(300, "f4")
    with pytest.raises(probes.SimulationError) as caught:
        probes.call("fault", "write_past_end", (a,), None, None, "sim", (0, 0))
    assert "wrote just past the end of an allocation of 1200 bytes" in str(caught.value)
    assert caught.value.kernel == "fault_write_past_end"
    with pytest.raises(probes.SimulationError, match="4 bytes out of bounds") as caught:
        probes.traffic("fault", "write_past_end", (a,), (0, 0))
    assert caught.value.file.endswith("write_past_end.cu") and caught.value.line > 1
    assert caught.value.block == (1, 0, 0) and caught.value.thread == (44, 0, 0)
    got = probes.call("fault", "none", (a,), None, None, "sim", (0, 0))
    assert np.array_equal(got, a)


# ---- allocations ------------------------------------------------------------------------------


def test_allocations_are_aligned_and_separated():
    arrays = [gm.DeviceArray(n, "u1", backend="sim") for n in [*range(70), 255, 256, 257, 2**20]]
    spans = sorted((d.pointer, d.pointer + d.nbytes) for d in arrays)
    assert all(begin % 256 == 0 and begin > 0 for begin, _ in spans)
    assert all(end + 128 <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_many_allocations_in_any_order():
    rng = random.Random(7)
    live = {}
    for step in range(3000):
        if live and rng.random() < 0.45:
            key = rng.choice(list(live))
            assert live.pop(key).to_host().tobytes() == bytes([key % 251]) * (key % 97)
        else:
            live[step] = gm.DeviceArray(step % 97, "u1", backend="sim")
            live[step].fill_bytes(step % 251)
    for key, there in live.items():
        assert there.to_host().tobytes() == bytes([key % 251]) * (key % 97)
    traffic = _core.traffic("copy", KERNELS[0].name, (np.arange(9, dtype="u1"),), (0,))
    assert traffic["result"].tolist() == list(range(9))


# ---- running out ------------------------------------------------------------------------------


def free_and_total():
    device = _core.backend_info("sim")["devices"][0]
    return device["free_bytes"], device["memory_bytes"]


def test_memory_sizes_are_those_of_the_machine():
    free, total = free_and_total()
    assert 0 < free <= total
    with open("/proc/meminfo") as file:
        kib = int(re.search(r"MemTotal:\s+(\d+) kB", file.read())[1])
    assert 0.9 < total / (kib * 1024) < 1.1


@pytest.mark.parametrize("excess", [-(2**20), 2**30, 2**40, 2**55])
def test_more_than_is_free(excess):
    """Refused before the host overcommits memory."""
    _, total = free_and_total()
    asked = total + excess
    for make in (
        lambda: gm.DeviceArray(asked, "u1", backend="sim"),
        lambda: gm.DeviceArray((1, asked), "S1", backend="sim"),
    ):
        with pytest.raises(MemoryError) as caught:
            make()
        found = re.search(rf"asked for {asked} bytes, (\d+) are free", str(caught.value))
        assert found and 0 < int(found[1]) <= total
        assert type(caught.value) is MemoryError


@pytest.mark.parametrize("asked", [2**63 - 1, 2**63 - 768, 2**62, 2**47])
def test_absurd_sizes(asked):
    with pytest.raises(MemoryError, match=f"asked for {asked} bytes"):
        gm.DeviceArray(asked, "u1", backend="sim")


def test_calls_work_after_running_out():
    for _ in range(100):
        with pytest.raises(MemoryError):
            gm.DeviceArray(2**60, "u1", backend="sim")
    assert np.array_equal(gm.copy(np.arange(1000), backend="sim"), np.arange(1000))


def test_an_empty_array_of_a_large_shape():
    """An array with a dimension of length zero needs no memory, however long the others are."""
    there = gm.DeviceArray((0, 2**40), "u1", backend="sim")
    assert gm.copy(there).shape == (0, 2**40)
    assert there.T.to_host().shape == (2**40, 0)


# ---- the simulator's own memory -----------------------------------------------------------------


COPY = """
__global__ void copy(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
"""


def resident():
    """Return the bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_what_runs_have_recorded_is_freed():
    """Of allocations shorter than a page of the records, and longer by a part of one."""
    kernel = gm.load(source=COPY, backend="sim")["copy"]
    arrays = [np.ones(count, "f4") for count in (4032, 3 * 4096 + 4032)]

    def run(times):
        for _ in range(times):
            for a in arrays:
                gm.check(kernel[(a.size + 63) // 64, 64], a, np.zeros_like(a))

    run(5)
    before = resident()
    run(60)
    assert resident() - before < 2**22
