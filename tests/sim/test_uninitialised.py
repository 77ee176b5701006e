"""Reads of shared memory that nothing in the block has written."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

# variant, text on the line, block, thread, bytes read, bytes missing
UNWRITTEN = [
    ("never", "held[t]", 0, 0, 4, 4),
    ("last_element", "held[63 - t]", 3, 0, 4, 4),
    ("padding", "a.out", 0, 7, 4, 4),
    ("second_block", "a.out", 1, 0, 4, 4),
    ("dynamic", "a.out", 0, 63, 4, 4),
    ("half_a_vector", "float2 both", 0, 0, 8, 4),
    ("three_bytes", "a.out", 0, 0, 4, 1),
    ("as_index", "int64_t at", 0, 0, 8, 8),
    ("before_the_rest", "held[48 + t]", 0, 0, 4, 4),
    ("before_a_race", "value = held", 0, 0, 4, 4),
    ("bulk_too_short", "a.out", 0, 32, 4, 4),
    ("bulk_stored", "gm_bulk_store", 0, 0, 256, 128),
]


@pytest.mark.parametrize(
    ("variant", "where", "block", "thread", "width", "missing"), UNWRITTEN, ids=lambda v: str(v)
)
def test_unwritten(probes, variant, where, block, thread, width, missing):
    message = f"load of {width} bytes of shared memory, {missing} of which nothing in the block has"
    n = 200 if variant == "last_element" else 256
    faults(probes, "unwritten", variant, where, (thread, 0, 0), message, block=(block, 0, 0), n=n)


def test_every_unwritten_probe_is_here(probes):
    assert {row[0] for row in UNWRITTEN} == set(names(probes, "unwritten"))


def test_a_block_does_not_see_what_the_one_before_wrote(probes):
    """One block alone is correct, whichever kernel ran before."""
    a = np.ones(64, np.float32)
    probes.traffic("unwritten", "second_block", (a,), (0, 1))
    probes.traffic("unwritten", "last_element", (a,), (0, 1))


def test_a_race_is_reported_as_a_race(probes):
    """The neighbour writes the element later: the fault is the missing order."""
    with pytest.raises(probes.SimulationError, match="a race: ") as caught:
        probes.traffic("race", "read_before", (np.ones(64, np.float32),), (0, 1))
    assert "uninitialised" not in str(caught.value)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 256, 4096])
def test_no_false_alarm(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    for variant in names(probes, "written"):
        traced = probes.traffic("written", variant, (a,), (0, 1))["result"]
        assert np.array_equal(
            traced, probes.call("written", variant, (a,), None, None, None, (0, 1))
        )
