"""A faulty kernel is stopped, and the error says where; a correct kernel is not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from expected import faults, names

# variant, elements, text on the line, block, thread, message
FAULTS = [
    ("read_past_end", 1000, "a.in[i + 1]", 3, 231, r"load of 4 bytes .* 0 bytes past the end"),
    ("read_before_start", 1000, "a.in[i - 1]", 0, 0, r"load .* 4 bytes before the start"),
    ("write_past_end", 1000, "a.out[i] = 1", 3, 232, r"store .* past the end .* 4000 bytes"),
    ("write_far_away", 1000, "<< 40", 1, 44, r"store of 4 bytes out of bounds"),
    ("vector_past_end", 1001, "float4 whole", 0, 250, r"begins 4 bytes before the end"),
    ("vector_misaligned", 1000, "= *from", 0, 3, r"load of 16 .* 4 past a multiple of 16"),
    ("shared_misaligned", 1000, "= *pair", 0, 40, r"load of 8 .* 4 past a multiple of 8"),
    ("null_pointer", 10, "nowhere[0]", 0, 0, r"a null pointer"),
    ("dynamic_past_end", 300, "threadIdx.x + 1", 0, 255, r"past the end of 1024 bytes of dyn"),
    ("prefetch_past_end", 1024, "gm_bulk_prefetch", 6, 1, r"prefetch .* begins 1008 bytes"),
    ("constant_written", 1000, "] = a.in", 0, 0, r"a store to constant memory"),
    ("bulk_past_end", 1000, "gm_bulk_load", 0, 0, r"load of 128 bytes .* 64 bytes before the"),
]
SYNCHRONISATION_FAULTS = [
    ("barrier_in_branch", 1000, "__syncthreads", 0, 0, r"not all threads .* \(128, 0, 0\)"),
    ("early_exit", 1000, "__syncthreads", 3, 0, r"not all threads .* \(232, 0, 0\) has ended"),
    ("shuffle_without_lane", 1000, "__shfl_xor_sync", 0, 16, r"does not include the calling"),
    ("bulk_misaligned", 1000, "gm_bulk_load", 0, 0, r"not multiples of 16"),
    ("bulk_never_loaded", 1000, "gm_mbarrier_wait", 0, 0, r"whose phase never completes"),
    ("shuffle_alone", 1000, "__shfl_xor_sync", 0, 0, r"waits for lanes that never reach"),
]


@pytest.mark.parametrize(
    ("variant", "n", "where", "block", "thread", "message"),
    FAULTS + SYNCHRONISATION_FAULTS,
    ids=lambda v: str(v),
)
def test_traced(probes, variant, n, where, block, thread, message):
    faults(probes, "fault", variant, where, (thread, 0, 0), message, block=(block, 0, 0), n=n)


@pytest.mark.parametrize(
    ("variant", "n", "where", "block", "thread", "message"),
    SYNCHRONISATION_FAULTS,
    ids=lambda v: str(v),
)
def test_plain_run_finds_faulty_synchronisation(probes, variant, n, where, block, thread, message):
    place = {"block": (block, 0, 0), "n": n}
    faults(probes, "fault", variant, where, (thread, 0, 0), message, plain=True, **place)


def test_every_fault_is_here(probes):
    listed = {row[0] for row in FAULTS + SYNCHRONISATION_FAULTS}
    anywhere = {"load_at", "store_at"}  # see test_wild_addresses.py
    assert listed | anywhere | {"none"} == set(names(probes, "fault"))


def test_plain_run_finds_a_store_next_to_an_array(probes):
    a = np.ones(1000, np.float32)
    with pytest.raises(probes.SimulationError, match=r"wrote just past the end .* 4000 bytes"):
        probes.call("fault", "write_past_end", (a,), None, None, None, (0, 1))
    # The guard is repaired: the next kernel, which is correct, is not blamed.
    assert np.array_equal(probes.call("fault", "none", (a,), None, None, None, (0, 1)), a)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 255, 256, 257, 1000, 4096])
def test_no_false_alarm(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    assert np.array_equal(probes.traffic("fault", "none", (a,), (0, 1))["result"], a)
    for family in ("pattern", "barrier"):
        for variant in names(probes, family):
            if variant == "permuted" and n % 32:
                continue  # loads what other lanes of the line would
            probes.traffic(family, variant, (a,), (0, 1))


def test_the_simulator_goes_on_after_a_fault(probes, rng):
    """Threads are stopped in mid-kernel; then the same kernels run again."""
    a = rng.standard_normal(1000, dtype=np.float32)
    for _ in range(50):
        for variant in ("barrier_in_branch", "shuffle_alone", "read_past_end"):
            with pytest.raises(probes.SimulationError):
                probes.traffic("fault", variant, (a,), (0, 1))
        result = probes.call("barrier", "reverse", (a,), None, None, None, (0, 1))
        assert np.array_equal(result[:256], a[255::-1])


def test_the_lowest_block_is_reported_with_several_host_threads(probes):
    a = np.ones(1 << 20, np.float32)
    for _ in range(5):
        with pytest.raises(probes.SimulationError) as caught:
            probes.call("fault", "barrier_in_branch", (a,), None, None, None, (0, 1))
        assert re.search(r"block \(0, 0, 0\)", str(caught.value))
