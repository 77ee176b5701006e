"""Kernels in which two threads access one byte without order are stopped, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from expected import faults, names

# variant, text on the line, thread, message (<text>: the place of another line)
SHARED = [
    (
        "read_before",
        "held[t] =",
        1,
        r"\(1, 0, 0\) writes over what .*\(0, 0, 0\) read at .*<next =>",
    ),
    (
        "read_after",
        "float before",
        1,
        r"\(1, 0, 0\) reads what .*\(0, 0, 0\) wrote at .*<held[t] =>",
    ),
    ("reuse", "sum +=", 32, r"reads what thread \(31, 0, 0\) wrote at .*<held[t] =>"),
    ("same_byte", "flag = 1", 1, r"writes over what thread \(0, 0, 0\) wrote at .*<flag = 1>"),
    ("across_warps", "held[t] =", 32, r"writes over what thread \(0, 0, 0\) read at .*<a.out>"),
    ("across_halves", "a.out", 0, r"reads what thread \(16, 0, 0\) wrote at .*<held[t] =>"),
    ("one_lane_left_out", "held[t + 1]", 30, r"reads what thread \(31, 0, 0\) wrote at .*<a.in>"),
    ("meets_too_early", "held[t] =", 1, r"writes over what thread \(0, 0, 0\) read at .*<a.out>"),
    ("byte_overlap", "held[t] = 1", 1, r"writes over what thread \(0, 0, 0\) wrote at .*<= 2>"),
    (
        "vector_overlap",
        "held[t] =",
        1,
        r"writes over what thread \(0, 0, 0\) wrote at .*<parts[4 * t + 4 <>",
    ),
    (
        "last_warp",
        "held[t + 32]",
        1,
        r"writes over what thread \(0, 0, 0\) read at .*<held[t + width]>",
    ),
    (
        "scan_in_place",
        "held[t - delta]",
        2,
        r"reads what thread \(1, 0, 0\) wrote at .*<held[t - delta]>",
    ),
    ("histogram", "bins[(int)", 1, r"reads what thread \(0, 0, 0\) wrote at .*<bins[(int)>"),
    (
        "half_has_met",
        "held = 2",
        0,
        r"writes over what thread \(16, 0, 0\) read at .*<value = held>",
    ),
    ("rest_of_the_word", "bytes[3]", 32, r"reads what thread \(0, 0, 0\) wrote at .*<0x01020304>"),
    ("after_arrival", "= factor", 1, r"reads what thread \(0, 0, 0\) wrote at .*<factor = 2>"),
    ("before_the_end", "a.out", 1, r"reads what thread \(0, 0, 0\) wrote at .*<held[t] =>"),
    ("before_a_shuffle", "float before", 1, r"reads what .*\(0, 0, 0\) wrote at .*<held[t] =>"),
    ("among_readers", "held[0] = 1", 70, r"writes over what .* read at .*<float first>"),
    ("dynamic", "held[t] =", 32, r"writes over what thread \(31, 0, 0\) read at .*<a.out>"),
]
ENGINE = [
    ("bulk_read_at_once", "a.out", 0, r"reads what .*\(0, 0, 0\) at .*<bulk_load> writes, without"),
    ("bulk_waits_alone", "a.out", 1, r"reads .*<bulk_load> writes, with no barrier after .*\(0, 0"),
    ("bulk_barrier_is_no_wait", "value =", 0, r"reads .*<bulk_load> writes, without waiting for"),
    ("bulk_overwritten", "chunk[5]", 0, r"writes over .*<bulk_store> reads, without waiting until"),
    (
        "bulk_overwritten_later",
        "= 1",
        1,
        r"writes over .*<bulk_store> reads, with no barrier after",
    ),
    ("bulk_store_unwaited", "bulk_store(", 0, r"whose thread ends without waiting until"),
    (
        "bulk_store_too_early",
        "bulk_store(",
        63,
        r"engine read what thread \(1, 0, 0\) wrote .*<chunk[t] =>",
    ),
    ("bulk_refilled", "a.out", 1, r"reads what the copy of thread \(0, 0, 0\) at .*<bulk_load>"),
    (
        "bulk_read_under_way",
        "bulk_load",
        0,
        r"write over what thread \(\d+, 0, 0\) read at .*<sum +=>, which may .* under way: .*fence",
    ),
    (
        "bulk_store_unfenced",
        "bulk_store(",
        0,
        r"has the copy engine read what threads have written .* none of them has called a fence",
    ),
    (
        "bulk_changed_unfenced",
        "bulk_store(",
        0,
        r"read what thread \(37, 0, 0\) wrote at .*<chunk[t] += 1>, which the engine may not see",
    ),
    ("bulk_never_waited", "bulk_load", 0, r"no thread waits for before the block"),
    ("bulk_wrong_parity", "a.out", 0, r"reads .*<load(chunk, a> writes, without waiting"),
    ("bulk_another_waits", "chunk[1]", 1, r"writes over .*<bulk_store> reads, without waiting"),
    ("mbarrier_unmade", "expect", 0, r"an mbarrier that nothing in the block has initialised"),
    (
        "mbarrier_unready",
        "mbarrier_wait",
        1,
        r"uses an mbarrier that thread \(0, 0, 0\) initialised",
    ),
    (
        "mbarrier_twice",
        "gm_mbarrier_init",
        32,
        r"initialises an mbarrier that thread \(0, 0, 0\) initialised",
    ),
]
GLOBAL = [
    ("blocks_overlap", "= 1", 0, r"block \(1, 0, 0\) writes .*block \(0, 0, 0\) wrote at .*<= 2>"),
    (
        "blocks_neighbour",
        "a.out[i] +=",
        0,
        r"block \(1, 0, 0\) reads .*\(0, 0, 0\) wrote at .*<= a.in>",
    ),
    (
        "blocks_in_place",
        "= next",
        0,
        r"block \(1, 0, 0\) writes .*\(0, 0, 0\) read at .*<float next>",
    ),
    ("blocks_one_total", "a.out[0]", 0, r"block \(1, 0, 0\) writes .*\(0, 0, 0\) wrote .*<a.out>"),
    ("blocks_bytes_after_words", "bytes[21]", 0, r"writes .*\(0, 0, 0\) wrote at .*<a.out[i] = 1>"),
    ("blocks_both_read", "a.out[0] =", 63, r"writes .*\(0, 0, 0\) read at .*<value = a.out>"),
    ("blocks_share_a_byte", "bytes[3", 0, r"block \(1, 0, 0\) writes .*\(0, 0, 0\) wrote"),
]


@pytest.mark.parametrize(("variant", "where", "thread", "message"), SHARED, ids=lambda v: str(v))
def test_threads_of_a_block(probes, variant, where, thread, message):
    faults(probes, "race", variant, where, (thread, 0, 0), message + ", with no barrier between")


def test_threads_of_a_block_in_two_dimensions(probes):
    message = r"a race: thread \(0, 1, 0\) writes over what thread \(1, 0, 0\) read at .*<a.out>"
    faults(probes, "race", "tile", "a.in", (0, 1, 0), message)


@pytest.mark.parametrize(("variant", "where", "thread", "message"), ENGINE, ids=lambda v: str(v))
def test_copies_by_an_engine(probes, variant, where, thread, message):
    n = 64 if variant == "mbarrier_unready" else 256
    faults(probes, "race", variant, where, (thread, 0, 0), message, n=n)


@pytest.mark.parametrize(("variant", "where", "thread", "message"), GLOBAL, ids=lambda v: str(v))
def test_blocks(probes, variant, where, thread, message):
    faults(probes, "race", variant, where, (thread, 0, 0), message, block=(1, 0, 0))


def test_blocks_that_overlap_in_the_second_half_of_a_long_copy(probes):
    """The two halves are on different pages of the observer's records."""
    message = r"block \(1, 0, 0\) writes .*\(0, 0, 0\) wrote at .*<bulk_store>"
    faults(
        probes,
        "race",
        "blocks_overlap_in_bulk",
        "bulk_store",
        (0, 0, 0),
        message,
        n=8192,
        block=(1, 0, 0),
    )


def test_every_race_is_here(probes):
    listed = {"tile", "blocks_overlap_in_bulk"} | {row[0] for row in SHARED + ENGINE + GLOBAL}
    assert listed == set(names(probes, "race"))


def test_a_race_is_found_in_a_later_block(probes):
    """The block with two elements in one bin."""
    a = np.arange(256, dtype=np.float32)
    a[200] = a[201]
    with pytest.raises(probes.SimulationError, match="a race") as caught:
        probes.traffic("race", "histogram", (a,), (0, 1))
    assert (caught.value.block, caught.value.thread) == ((3, 0, 0), (9, 0, 0))
    a[200] = 200
    probes.traffic("race", "histogram", (a,), (0, 1))


PARTIAL = (
    "leaves_after",
    "tile",
    "blocks_own_bytes",
    "chain_of_mbarriers",
    "bulk_odd_lanes_wait",
    "bulk_asks_after_meeting",
)  # these do not write all elements


@pytest.mark.parametrize("n", [1, 31, 63, 64, 65, 200, 256, 1000, 4096])
def test_no_false_alarm(probes, rng, n):
    for variant in names(probes, "order"):
        whole = variant.startswith(("bulk", "arrival", "tile", "waiter", "chain_of"))

        count = -(-n // 384) * 384 if whole else n
        a = rng.standard_normal(count, dtype=np.float32)
        for stride in (0, 1):
            traced = probes.traffic("order", variant, (a,), (0, stride))["result"]
        plain = probes.call("order", variant, (a,), None, None, None, (0, 1))
        if variant not in PARTIAL:
            assert np.array_equal(traced, plain), variant


def test_waits_deliver_the_copied_elements(probes, rng):
    a = rng.standard_normal(256, dtype=np.float32)
    reversed_blocks = a.reshape(-1, 64)[:, ::-1].ravel()
    for variant in ("bulk_all_wait", "bulk_one_waits"):
        assert np.array_equal(
            probes.traffic("order", variant, (a,), (0, 1))["result"], reversed_blocks
        )
    neighbours = a + a.reshape(-1, 2)[:, ::-1].ravel()
    report = probes.traffic("order", "bulk_last_warp_asks", (a,), (0, 1))
    assert np.array_equal(report["result"], neighbours)
    # Warps that waited for a later warp still make whole requests: 4 blocks, 3 rounds, 2 warps.
    assert [s["requests"] for s in report["sites"] if s["lanes"] == 768] == [24] * 2
    got = probes.traffic("order", "arrival_orders", (a,), (0, 1))["result"]
    assert np.array_equal(got, 2 * a)
