"""Faulty kernels are stopped, and the error says where; correct ones are left alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PROBES = Path(__file__).resolve().parent.parent / "probes"


def source_line(variant, text):
    """Number of the line of a probe that holds the text."""
    lines = (PROBES / "fault" / f"{variant}.cu").read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if text in line]
    return number


# variant, elements, what stands on the line, thread, what is said
FAULTS = [
    ("read_past_end", 1000, "a.in[i + 1]", (231, 0, 0), r"load of 4 bytes .* 0 bytes past the end"),
    ("read_before_start", 1000, "a.in[i - 1]", (0, 0, 0), r"load .* 4 bytes before the start"),
    ("write_past_end", 1000, "a.out[i] = 1", (232, 0, 0), r"store .* past the end .* 4000 bytes"),
    ("write_far_away", 1000, "<< 40", (44, 0, 0), r"store of 4 bytes out of bounds"),
    ("vector_past_end", 1001, "float4 whole", (250, 0, 0), r"begins 4 bytes before the end"),
    ("vector_misaligned", 1000, "= *from", (3, 0, 0), r"load of 16 .* 4 past a multiple of 16"),
    ("shared_misaligned", 1000, "= *pair", (40, 0, 0), r"load of 8 .* 4 past a multiple of 8"),
    ("null_pointer", 10, "nowhere[0]", (0, 0, 0), r"a null pointer"),
    ("dynamic_past_end", 300, "threadIdx.x + 1", (255, 0, 0), r"past the end of 1024 bytes of dyn"),
    ("prefetch_past_end", 1024, "gm_bulk_prefetch", (1, 0, 0), r"prefetch .* begins 1008 bytes"),
    ("constant_written", 1000, "] = a.in", (0, 0, 0), r"a store to constant memory"),
    ("bulk_past_end", 1000, "gm_bulk_load", (0, 0, 0), r"load of 128 bytes .* 64 bytes before the"),
]
SYNCHRONISATION_FAULTS = [
    ("barrier_in_branch", 1000, "__syncthreads", (0, 0, 0), r"not all threads .* \(128, 0, 0\)"),
    ("early_exit", 1000, "__syncthreads", (0, 0, 0), r"not all threads .* \(232, 0, 0\) has ended"),
    ("shuffle_without_lane", 1000, "__shfl_xor_sync", (16, 0, 0), r"leaves out the calling lane"),
    ("bulk_misaligned", 1000, "gm_bulk_load", (0, 0, 0), r"no multiples of 16"),
    ("bulk_never_loaded", 1000, "gm_mbarrier_wait", (0, 0, 0), r"mbarrier whose bytes never come"),
    ("shuffle_alone", 1000, "__shfl_xor_sync", (0, 0, 0), r"waits for lanes that do not come"),
]


@pytest.mark.parametrize(
    ("variant", "n", "text", "thread", "said"),
    FAULTS + SYNCHRONISATION_FAULTS,
    ids=lambda v: str(v),
)
def test_traced(probes, variant, n, text, thread, said):
    a = np.ones(n, np.float32)
    with pytest.raises(probes.SimulationError, match=said) as caught:
        probes.traffic("fault", variant, (a,), (0, 1))
    error = caught.value
    assert error.kernel == f"fault_{variant}"
    assert error.file == f"tests/probes/fault/{variant}.cu"
    assert error.line == source_line(variant, text)
    assert error.thread == thread
    if variant.startswith(("read_past", "write_past")):
        assert error.block == (3, 0, 0)
    place = f"kernel fault_{variant} at {error.file}:{error.line}, block {error.block}"
    assert place in str(error)


@pytest.mark.parametrize(
    ("variant", "n", "text", "thread", "said"), SYNCHRONISATION_FAULTS, ids=lambda v: str(v)
)
def test_plain_run_finds_faulty_synchronisation(probes, variant, n, text, thread, said):
    a = np.ones(n, np.float32)
    with pytest.raises(probes.SimulationError, match=said) as caught:
        probes.call("fault", variant, (a,), None, None, None, (0, 1))
    assert caught.value.line == source_line(variant, text)


def test_plain_run_finds_a_store_next_to_an_array(probes):
    a = np.ones(1000, np.float32)
    with pytest.raises(probes.SimulationError, match=r"wrote just past the end .* 4000 bytes"):
        probes.call("fault", "write_past_end", (a,), None, None, None, (0, 1))
    # The guard is whole again: the next, correct kernel is not blamed.
    assert np.array_equal(probes.call("fault", "none", (a,), None, None, None, (0, 1)), a)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 255, 256, 257, 1000, 4096])
def test_no_false_alarm(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    assert np.array_equal(probes.traffic("fault", "none", (a,), (0, 1))["result"], a)
    for family in ("pattern", "barrier"):
        (table,) = [f for f in probes.families() if f["name"] == family]
        for variant in table["variants"]:
            if variant["name"] == "permuted" and n % 32:
                continue  # reaches into the line's other lanes
            probes.traffic(family, variant["name"], (a,), (0, 1))


def test_the_simulator_goes_on_after_a_fault(probes, rng):
    """Fibers dropped in mid-kernel, then the same kernels again."""
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
