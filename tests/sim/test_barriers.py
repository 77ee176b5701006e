"""Barriers of the block that not all of its threads reach, or at which they do not all meet."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

UNREACHED = "a barrier that not all threads of the block reach: "
# variant, text on the line, block, thread, message
MEETING = [
    ("more_rounds", "__syncthreads#2", 0, 32, r".* waits at another barrier, .*<__syncthreads#1>"),
    ("rounds_by_thread", "__syncthreads", 0, 32, r"thread \(0, 0, 0\) has ended"),
    ("second_block", "__syncthreads", 1, 1, r"thread \(0, 0, 0\) has ended"),
]
plain_and_traced = pytest.mark.parametrize("plain", [False, True], ids=["traced", "plain"])


@plain_and_traced
@pytest.mark.parametrize(
    ("variant", "where", "block", "thread", "message"), MEETING, ids=lambda v: str(v)
)
def test_threads_that_do_not_meet(probes, variant, where, block, thread, message, plain):
    faults(
        probes,
        "meeting",
        variant,
        where,
        (thread, 0, 0),
        UNREACHED + message,
        block=(block, 0, 0),
        plain=plain,
    )


@plain_and_traced
@pytest.mark.parametrize("bit", [0, 5], ids=["within a warp", "between warps"])
def test_threads_that_meet_at_different_barriers(probes, bit, plain):
    faults(
        probes,
        "meeting",
        "two_barriers",
        "__syncthreads#1",
        (1 << bit, 0, 0),
        UNREACHED + r"thread \(0, 0, 0\) waits at another barrier, .*<__syncthreads#2>",
        offset=bit,
        plain=plain,
    )


def test_every_meeting_is_here(probes):
    assert {row[0] for row in MEETING} | {"two_barriers"} == set(names(probes, "meeting"))


@pytest.mark.parametrize("n", [1, 64, 65, 500])
def test_a_block_may_branch_as_one(probes, rng, n):
    a = rng.standard_normal(n, dtype=np.float32)
    filled = np.concatenate([a, np.zeros(-n % 64, np.float32)])
    mirrored = filled.reshape(-1, 64)[:, ::-1].ravel()[:n]
    report = probes.traffic("order", "branch_of_the_block", (a,), (0, 1))
    assert np.array_equal(report["result"], mirrored)
    assert report["barriers"] == -(-n // 64)
    probes.call("order", "leaves_after", (a,), None, None, None, (0, 1))
