"""Asynchronous copies that no wait covers, and those that a wait does."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

COPY = "__pipeline_memcpy_async"

# variant, text on the line, block, thread, message
PIPELINE = [
    ("no_wait", "value =", 0, 0, rf"reads .*\(0, 0, 0\) at .*<{COPY}> writes, and no wait"),
    ("not_committed", "a.out", 0, 0, rf"reads .*<{COPY}> writes, and .* not committed"),
    ("waits_for_too_few", "a.out", 0, 0, rf"reads .*<{COPY}#2> writes, and no wait of"),
    (
        "commit_in_branch",
        "sum +=",
        0,
        0,
        rf"reads .*\(0, 0, 0\) at .*<{COPY}#1> writes, and no wait",
    ),
    ("other_no_barrier", COPY, 0, 1, r"writes over what thread \(0, 0, 0\) read at .*<a.out>"),
    ("barrier_before_wait", "a.out", 0, 0, rf"reads .* thread \(63, 0, 0\) at .*<{COPY}> writes"),
    ("one_waits_for_all", "a.out", 0, 0, rf"reads .*\(63, 0, 0\) at .*<{COPY}> .* no wait of that"),
    ("overwritten", "held[t] = 0", 0, 0, rf"writes over what .*<{COPY}> writes, and no wait"),
    ("copied_twice", f"{COPY}#2", 0, 0, rf"writes over what .*<{COPY}#1> writes, and no wait"),
    ("refilled_too_early", "sum +=", 0, 32, rf"reads .*\(31, 0, 0\) at .*<{COPY}> .* no barrier"),
    ("other_byte", "a.out", 0, 32, rf"reads what .*\(0, 0, 0\) at .*<{COPY}> .* no barrier"),
    ("never_waited", COPY, 0, 0, r"asynchronous copy that no wait covers before its thread ends"),
    ("never_committed", COPY, 0, 7, r"asynchronous copy that is never committed"),
    ("last_group_unwaited", COPY, 0, 0, r"asynchronous copy that no wait covers"),
    ("out_of_shared", COPY, 0, 0, r"not from global to shared memory"),
    ("past_end", COPY, 1, 0, r"load of 16 bytes out of bounds"),
]


@pytest.mark.parametrize(
    ("variant", "where", "block", "thread", "message"), PIPELINE, ids=lambda v: str(v)
)
def test_faults(probes, variant, where, block, thread, message):
    faults(probes, "pipeline", variant, where, (thread, 0, 0), message, block=(block, 0, 0))


def test_every_fault_is_here(probes):
    assert {row[0] for row in PIPELINE} | {"impossible_copy"} == set(names(probes, "pipeline"))


@pytest.mark.parametrize("plain", [False, True], ids=["traced", "plain"])
@pytest.mark.parametrize(
    ("element", "size", "zeros", "message"),
    [
        (1, 16, 0, "not multiples of its size"),
        (0, 12, 0, "of a size other than 4, 8 or 16 bytes"),
        (0, 4, 8, "fills more bytes with zero than its size"),
    ],
)
def test_impossible_copies(probes, element, size, zeros, message, plain):
    faults(
        probes,
        "pipeline",
        "impossible_copy",
        COPY,
        (0, 0, 0),
        message,
        offset=element,
        stride=size + 256 * zeros,
        plain=plain,
    )


def test_a_commit_in_the_branch_is_caught_only_in_the_tail(probes):
    """Waits cover rounds 0 to n - 3, but not the last but one: shorter rows are correct."""
    for rounds in (0, 1, 2, 3, 4, 5, 9):
        a = np.ones(64 * max(rounds, 1), np.float32)
        if rounds <= 3:
            # Every group of the first fill is committed, and no other group follows.
            continue
        faults(
            probes,
            "pipeline",
            "commit_in_branch",
            "sum +=",
            (0, 0, 0),
            "no wait of that thread covers",
            n=len(a),
            stride=rounds,
        )


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("variant", ["rolling", "ring_of_tiles"])
def test_a_rolling_pipeline_sums_its_row(probes, rng, variant, rounds):
    a = rng.integers(-50, 50, 64 * max(rounds, 1)).astype(np.float32)
    wanted = a.reshape(-1, 64)[:rounds].sum(axis=0)
    for result in (
        probes.traffic("pipelined", variant, (a,), (0, rounds))["result"],
        probes.call("pipelined", variant, (a,), None, None, None, (0, rounds)),
    ):
        assert np.array_equal(result[:64], wanted if variant == "rolling" else wanted[::-1])


@pytest.mark.parametrize("n", [4, 61, 64, 65, 255, 256, 257, 1000])
def test_no_false_alarm(probes, rng, n):
    for variant in names(probes, "pipelined"):
        rolls = variant in ("rolling", "ring_of_tiles")  # over rows of 64
        a = rng.standard_normal(-(-n // 64) * 64 if rolls else n, dtype=np.float32)
        traced = probes.traffic("pipelined", variant, (a,), (0, n // 64))["result"]
        plain = probes.call("pipelined", variant, (a,), None, None, None, (0, n // 64))
        if variant in ("one", "zero_fill", "empty_groups", "other_slots"):
            assert np.array_equal(traced, a) and np.array_equal(plain, a), variant


def test_an_asynchronous_copy_is_a_load_and_a_store_of_the_warp(probes):
    a = np.ones(256, np.float32)
    report = probes.traffic("pipelined", "one", (a,), (0, 1))
    load, store = (
        next(s for s in report["sites"] if (s["space"], s["kind"]) == which)
        for which in (("global", "load"), ("shared", "store"))
    )
    assert load["line"] == store["line"]
    for site in (load, store):
        assert (site["requests"], site["lanes"], site["width"], site["bytes"]) == (8, 256, 32, 1024)
    assert load["sectors"] == 32
    assert (store["passes"], store["fewest_passes"]) == (8, 8)


def test_bytes_that_become_zero_are_not_read(probes):
    a = np.ones(5, np.float32)  # one vector, and a quarter of the next
    report = probes.traffic("pipelined", "zero_fill", (a,), (0, 1))
    loads = [s for s in report["sites"] if (s["space"], s["kind"]) == ("global", "load")]
    assert sum(s["bytes"] for s in loads) == 20


@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 67])
def test_elements_past_the_end_become_zero(probes, n):
    a = np.arange(1, n + 1, dtype=np.float32)
    filled = np.concatenate([a, np.zeros(4 * n - n, np.float32)])
    wanted = filled.reshape(-1, 4).sum(axis=1)
    for result in (
        probes.traffic("pipelined", "zero_sum", (a,), (0, 1))["result"],
        probes.call("pipelined", "zero_sum", (a,), None, None, None, (0, 1)),
    ):
        assert np.array_equal(result, wanted)
