"""Barriers of the block that not all its threads reach, or not the same one."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

# variant, what stands on the line, block, thread, what is said
MEETING = [
    ("two_places", "__syncthreads#2", 0, 32, r"\(0, 0, 0\) waits at another, .*<__syncthreads#1>"),
    ("more_rounds", "__syncthreads#2", 0, 32, r"\(0, 0, 0\) waits at another, .*<__syncthreads#1>"),
    ("odd_lanes", "__syncthreads#1", 0, 1, r"\(0, 0, 0\) waits at another, .*<__syncthreads#2>"),
    ("rounds_by_thread", "__syncthreads", 0, 32, r"thread \(0, 0, 0\) has ended"),
    ("second_block", "__syncthreads", 1, 1, r"thread \(0, 0, 0\) has ended"),
]


@pytest.mark.parametrize("plain", [False, True], ids=["traced", "plain"])
@pytest.mark.parametrize(
    ("variant", "where", "block", "thread", "said"), MEETING, ids=lambda v: str(v)
)
def test_threads_that_do_not_meet(probes, variant, where, block, thread, said, plain):
    said = "a barrier that not all threads of the block reach: .*" + said
    faults(
        probes,
        "meeting",
        variant,
        where,
        (thread, 0, 0),
        said,
        block=(block, 0, 0),
        plain=plain,
    )


def test_every_meeting_is_here(probes):
    assert {row[0] for row in MEETING} == set(names(probes, "meeting"))


@pytest.mark.parametrize("n", [1, 64, 65, 500])
def test_a_block_may_branch_as_one(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    filled = np.concatenate([a, np.zeros(-n % 64, np.float32)])
    mirrored = filled.reshape(-1, 64)[:, ::-1].ravel()[:n]
    report = probes.traffic("order", "branch_of_the_block", (a,), (0, 1))
    assert np.array_equal(report["result"], mirrored)
    assert report["barriers"] == -(-n // 64)
    probes.call("order", "leaves_after", (a,), None, None, None, (0, 1))
