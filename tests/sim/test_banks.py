"""Passes through the banks of shared memory, compared with a model and with known patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from expected import CORRECT, FAULTY


def lanes(mask):
    """Return the offset argument, 64 bits with a sign, that lets only these lanes take part."""
    return (mask << 32) - (mask >> 31 << 64)


def shared_load(probes, variant, offset=0, stride=1, space="shared", kind="load"):
    """The site that the probe is about; other sites only fill the array."""
    a = np.ones(32, np.float32)
    sites = probes.traffic("bank", variant, (a,), (offset, stride))["sites"]
    (site,) = [s for s in sites if (s["space"], s["kind"]) == (space, kind)]
    return site


def passes(probes, *args):
    site = shared_load(probes, *args)
    return site["passes"], site["fewest_passes"]


def model(addresses, width):
    """Passes and fewest passes of one request, by the definition of a bank conflict."""
    group = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    if group < 32 and any(
        all(addresses.get(lane ^ apart, at) == at for lane, at in addresses.items())
        for apart in (1, 2)
    ):
        group *= 2
    total = fewest = 0
    for first in range(0, 32, group):
        words = {
            (at + k) // 4
            for lane, at in addresses.items()
            if first <= lane < first + group
            for k in range(width)
        }
        if words:
            total += max(np.bincount([word % 32 for word in words]))
            fewest += 1
    return total, fewest


@pytest.mark.parametrize("stride", range(1, 34))
def test_a_stride_of_words(probes, stride):
    """As many ways as the stride has factors of two."""
    assert passes(probes, "words", 0, stride) == (math.gcd(stride, 32), 1)


@pytest.mark.parametrize("offset", [1, 7, 31, 33])
def test_the_offset_of_a_pattern_does_not_matter(probes, offset):
    assert passes(probes, "words", offset, 1) == (1, 1)
    assert passes(probes, "words", offset, 2) == (2, 1)


@pytest.mark.parametrize("variant", ["words", "bytes", "shorts"])
def test_one_word_for_all_lanes_is_one_pass(probes, variant):
    assert passes(probes, variant, 5, 0) == (1, 1)


def test_one_vector_for_all_takes_half_the_passes(probes):
    """Neighbouring lanes load the same, so that twice as many lanes are served at once."""
    assert passes(probes, "words2", 5, 0) == (1, 1)
    assert passes(probes, "words4", 5, 0) == (2, 2)


# 8 bytes: 16 lanes at a time, over 32 banks. 16 bytes: 8 lanes at a time.
@pytest.mark.parametrize(
    ("variant", "stride", "ways"),
    [
        ("words2", 1, 1),
        ("words2", 2, 2),
        ("words2", 3, 1),
        ("words2", 4, 4),
        ("words2", 8, 8),
        ("words2", 16, 16),
        ("words2", 17, 1),
        ("words4", 1, 1),
        ("words4", 2, 2),
        ("words4", 3, 1),
        ("words4", 4, 4),
        ("words4", 8, 8),
        ("words4", 9, 1),
        ("words4", 32, 8),
    ],
)
def test_wider_words(probes, variant, stride, ways):
    total, fewest = passes(probes, variant, 0, stride)
    assert fewest == {"words2": 2, "words4": 4}[variant]
    assert total / fewest == ways


def test_parts_of_words(probes):
    assert passes(probes, "bytes", 0, 1) == (1, 1)  # four lanes to a word
    assert passes(probes, "bytes", 3, 1) == (1, 1)
    assert passes(probes, "bytes", 0, 4) == (1, 1)
    assert passes(probes, "bytes", 0, 8) == (2, 1)
    assert passes(probes, "bytes", 0, 128) == (32, 1)
    assert passes(probes, "shorts", 0, 1) == (1, 1)
    assert passes(probes, "shorts", 0, 2) == (1, 1)
    assert passes(probes, "shorts", 0, 3) == (1 + 1, 1)  # 48 words apart, lanes 0 and 22
    assert passes(probes, "shorts", 0, 64) == (32, 1)


@pytest.mark.parametrize(
    "mask", [0x1, 0x3, 0xFFFF, 0xFFFF0000, 0x0F0F0F0F, 0x00FFFF00, 0x00000FF0, 0x7FFFFFFF]
)
def test_few_lanes_are_no_conflict(probes, mask):
    active = [lane for lane in range(32) if mask >> lane & 1]
    for variant, group in (("words", 32), ("words2", 16), ("words4", 8)):
        groups = len({lane // group for lane in active})
        assert passes(probes, variant, lanes(mask), 1) == (groups, groups)


def test_few_lanes_with_conflicts(probes):
    assert passes(probes, "words", lanes(0x000000FF), 32) == (8, 1)
    assert passes(probes, "words", lanes(0x80000001), 32) == (2, 1)
    assert passes(probes, "words4", lanes(0x0F0F0F0F), 8) == (16, 4)  # a group for each four
    assert passes(probes, "words4", lanes(0x01010101), 8) == (4, 2)  # no neighbour wants another
    assert passes(probes, "words4", lanes(0x0000000F), 8) == (4, 1)


def test_columns_of_a_tile(probes):
    for column in (0, 1, 17, 31):
        assert passes(probes, "words", column, 32) == (32, 1)
        assert passes(probes, "words", column, 33) == (1, 1)  # with one spare column
        assert passes(probes, "swizzle", column, 1) == (1, 1)


def test_stores_conflict_like_loads(probes):
    a = np.ones(32, np.float32)
    for stride in (1, 2, 8, 32):
        sites = probes.traffic("bank", "stored", (a,), (0, stride))["sites"]
        (store,) = [
            s
            for s in sites
            if (s["space"], s["kind"]) == ("shared", "store") and s["file"].endswith("stored.cu")
        ]
        assert (store["passes"], store["fewest_passes"]) == (math.gcd(stride, 32), 1)


@pytest.mark.parametrize(("variant", "width"), [("words", 4), ("words2", 8), ("words4", 16)])
def test_random_strides_against_the_model(probes, rng, variant, width):
    for _ in range(20):
        offset, stride = int(rng.integers(0, 1024)), int(rng.integers(0, 4096))
        addresses = {
            lane: (offset + lane * stride) % (16384 // width) * width for lane in range(32)
        }
        assert passes(probes, variant, offset, stride) == model(addresses, width), (offset, stride)


def test_copies_by_an_engine_take_no_passes(probes):
    report = probes.traffic("order", "bulk_all_wait", (np.ones(256, np.float32),), (0, 1))
    for site in report["sites"]:
        by_engine = site["width"] == 256 * 8
        assert (site["passes"] == 0) == (by_engine or site["space"] == "global"), site


# ---- samples --------------------------------------------------------------------------------


def test_samples_of_shared_memory(probes):
    site = shared_load(probes, "words", 3, 5)
    (sample,) = site["samples"]
    assert (sample["block"], sample["warp"]) == ((0, 0, 0), 0)
    assert sample["lanes"] == tuple(range(32))
    assert sample["bytes"] == (4,) * 32
    assert sample["addresses"] == tuple(4 * (3 + 5 * lane) for lane in range(32))


def test_samples_of_some_lanes(probes):
    (sample,) = shared_load(probes, "words4", lanes(0x80000101), 2)["samples"]
    assert sample["lanes"] == (0, 8, 31)
    assert sample["addresses"] == (0, 256, 992)
    assert sample["bytes"] == (16,) * 3


def test_samples_of_lanes_that_diverge(probes):
    """Lane k loads k + 1 times: the n-th request has the lanes from n on."""
    report = probes.traffic("pattern", "triangle", (np.ones(32, np.float32),), (0, 1))
    (load,) = [s for s in report["sites"] if s["kind"] == "load"]
    assert sorted(s["lanes"] for s in load["samples"]) == sorted(
        tuple(range(first, 32)) for first in range(32)
    )


def test_samples_are_the_first_32_requests_of_a_line(probes):
    a = np.ones(64 * 100, np.float32)
    report = probes.traffic("order", "barrier_between", (a,), (0, 1))
    for site in report["sites"]:
        found = [(s["block"][0], s["warp"]) for s in site["samples"]]
        assert found == [(block, warp) for block in range(16) for warp in range(2)]
        if site["space"] == "global":
            assert site["samples"][5]["addresses"] == tuple(range(5 * 128, 6 * 128, 4))


def test_samples_of_dynamic_shared_memory_begin_at_its_start(probes):
    report = probes.traffic("barrier", "dynamic", (np.ones(256, np.float32),), (0, 1))
    (store,) = [s for s in report["sites"] if (s["space"], s["kind"]) == ("shared", "store")]
    assert store["samples"][1]["addresses"] == tuple(range(128, 256, 4))


def test_samples_of_two_sites_on_a_line_alternate(probes):
    report = probes.traffic("pattern", "two_on_a_line", (np.ones(4096, np.float32),), (0, 1))
    (load,) = [s for s in report["sites"] if s["kind"] == "load"]
    assert [s["warp"] for s in load["samples"][:6]] == [0, 0, 1, 1, 2, 2]


# ---- the probes themselves --------------------------------------------------------------------


def test_every_family_of_probes_is_listed(probes):
    assert {f["name"] for f in probes.families()} == {*FAULTY, *CORRECT}
