"""Launches that may start before the kernel before them has ended."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

EARLY = "{} of global memory in a launch that may be early, before the thread has waited"
# variant, text on the line, block, thread, what it does
TOO_EARLY = [
    ("never_waits", "value = a.in[i]", 0, 0, "load"),
    ("loads_first", "a.in[i]", 0, 0, "load"),
    ("one_waits_alone", "value = a.in[i]", 0, 1, "load"),
    ("second_block", "value = a.in[i]", 1, 0, "load"),
    ("stores_first", "a.out[i] = 0", 0, 0, "store"),
    ("engine_first", "gm_bulk_load", 0, 0, "load"),
]


@pytest.mark.parametrize(
    ("variant", "where", "block", "thread", "what"), TOO_EARLY, ids=lambda v: str(v)
)
def test_a_thread_that_has_not_waited(probes, variant, where, block, thread, what):
    faults(
        probes,
        "too_early",
        variant,
        where,
        (thread, 0, 0),
        EARLY.format(what),
        block=(block, 0, 0),
    )


def test_every_fault_is_here(probes):
    assert [row[0] for row in TOO_EARLY] == names(probes, "too_early")


@pytest.mark.parametrize("n", [64, 128, 1024])
def test_threads_that_have_waited(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    for variant in names(probes, "early"):
        report = probes.traffic("early", variant, (a,), (0, 1))
        assert np.array_equal(report["result"], 2 * a), variant
