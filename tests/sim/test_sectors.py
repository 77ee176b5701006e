"""The simulator's counts for kernels whose traffic follows from the hardware's rules."""

from __future__ import annotations

import numpy as np
import pytest

WARPS = 64
N = WARPS * 32


@pytest.fixture
def a(rng):
    return rng.standard_normal(N, dtype=np.float32)


def only(report, kind, space="global"):
    """Return the one source line of this kind."""
    sites = [s for s in report["sites"] if s["kind"] == kind and s["space"] == space]
    assert len(sites) == 1, sites
    return sites[0]


def per_request(site, what="sectors"):
    return site[what] / site["requests"]


def affine(probes, a, offset=0, stride=1):
    return probes.traffic("pattern", "affine", (a,), (offset, stride))


@pytest.mark.parametrize("offset", range(34))
def test_an_offset_costs_a_fifth_sector(probes, a, offset):
    """Four sectors where the first lane is at the start of one, five elsewhere."""
    report = affine(probes, a[: N - 64], offset)
    load = only(report, "load")
    assert load["width"] == 32
    assert load["requests"] == WARPS - 2
    whole = [4 if offset % 8 == 0 else 5] * (WARPS - 2)
    whole[-1] = load["sectors"] - sum(whole[:-1])  # the last warp wraps around the end
    assert load["sectors"] == sum(whole)
    assert 4 <= whole[-1] <= 6
    assert per_request(only(report, "store")) == 4


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32])
def test_a_stride_touches_a_sector_per_lane_at_most(probes, stride):
    # Each warp walks over the whole array once, beginning at its start.
    a = np.ones(32 * stride, np.float32)
    load = only(affine(probes, a, stride=stride), "load")
    assert load["requests"] == stride
    assert per_request(load) == min(32, 4 * stride)
    assert per_request(load, "lines") == min(32, stride)


def test_stores_count_like_loads(probes, a):
    for offset, stride, sectors in [(0, 1, 4), (1, 1, 5), (8, 1, 4), (0, 2, 8), (0, 8, 32)]:
        small = a[: 32 * stride + offset]
        report = probes.traffic("pattern", "affine_store", (small,), (offset, stride))
        store = only(report, "store")
        assert store["requests"] == 1
        assert store["sectors"] == sectors, (offset, stride)


def test_no_request_spans_a_barrier_of_the_warp(probes, a):
    """Each lane loads three times; there are two requests before the barrier and two after it."""
    load = only(probes.traffic("pattern", "warp_meets", (a,), (0, 1)), "load")
    assert (load["requests"], load["lanes"]) == (4 * WARPS, 3 * 32 * WARPS)


def test_no_request_spans_two_rounds_of_a_loop(probes, a):
    """The load that all lanes make in each round separates the rounds."""
    report = probes.traffic("pattern", "loop_meets", (a,), (0, 1))
    by_all, by_some = (s for s in report["sites"] if s["kind"] == "load")
    assert by_all["line"] < by_some["line"]
    assert (by_all["requests"], by_all["lanes"]) == (2 * WARPS, 2 * 32 * WARPS)
    assert (by_some["requests"], by_some["lanes"]) == (4 * WARPS, 3 * 32 * WARPS)


def test_accesses_whose_requests_are_a_guess_are_counted_as_uncertain(probes, a):
    """Lanes load unequally often, and nothing says which of the loads go together."""
    for variant, uncertain in [("triangle", WARPS * 32 * 33 // 2), ("half_warp", 0), ("bytes", 0)]:
        load = only(probes.traffic("pattern", variant, (a,), (0, 1)), "load")
        assert (load["uncertain"], load["by"]) == (uncertain, "thread")
    report = probes.traffic("pattern", "loop_meets", (a,), (0, 1))
    by_all, by_some = (s for s in report["sites"] if s["kind"] == "load")
    assert (by_all["uncertain"], by_some["uncertain"]) == (0, 3 * 32 * WARPS)


@pytest.mark.parametrize(
    ("variant", "width", "sectors", "lines", "requests"),
    [
        ("permuted", 32, 4, 1, WARPS),
        ("vector2", 64, 8, 2, WARPS // 2),
        ("vector4", 128, 16, 4, WARPS // 4),
        ("vector4_member", 128, 16, 4, WARPS // 4),
        ("half_warp", 32, 4, 1, WARPS),
        ("bytes", 8, 4, 1, 4 * WARPS),
    ],
)
def test_known_patterns(probes, a, variant, width, sectors, lines, requests):
    load = only(probes.traffic("pattern", variant, (a,), (0, 1)), "load")
    assert load["width"] == width
    assert load["requests"] == requests
    assert per_request(load) == sectors
    assert per_request(load, "lines") == lines


def test_vectors_of_every_width(probes, rng):
    """4, 8 and 16 bytes; members are moved one by one, so that each has to be in its place."""
    a = rng.integers(0, 2**32, N, dtype=np.uint32).view(np.float32)
    report = probes.traffic("pattern", "vector_types", (a,), (0, 7))
    assert report["result"].tobytes() == a.tobytes()
    loads = [s["width"] for s in report["sites"] if s["kind"] == "load"]
    stores = [s["width"] for s in report["sites"] if s["kind"] == "store"]
    assert loads == [32, 32, 128, 64]
    assert stores == [32, 32, 64, 128]
    plain = probes.call("pattern", "vector_types", (a,), None, None, None, (0, 1))
    assert plain.tobytes() == a.tobytes()


def test_only_active_lanes_ask_for_bytes(probes, a):
    load = only(probes.traffic("pattern", "half_warp", (a,), (0, 1)), "load")
    assert load["lanes"] == N // 2
    assert load["bytes"] == N // 2 * 4


def test_a_broadcast_asks_for_its_bytes_once(probes, a):
    load = only(affine(probes, a, 3, 0), "load")
    assert (load["requests"], load["sectors"], load["lines"]) == (WARPS, WARPS, WARPS)
    assert load["lanes"] == N
    assert load["bytes"] == 4 * WARPS
    assert load["bytes"] / (32 * load["sectors"]) == 0.125
    assert load["bytes"] / (128 * load["lines"]) == 0.03125


def test_a_strided_device_array_is_traced_without_a_copy(probes):
    d = probes.DeviceArray((4096,), backend="sim")
    d.fill_bytes(0)
    assert only(probes.traffic("pattern", "affine", (d[:2048],), (0, 1)), "load")["requests"] == 64
    with pytest.raises(ValueError, match="needs a C-contiguous"):
        probes.traffic("pattern", "affine", (d[::2],), (0, 1))


def test_a_partial_warp_is_one_request(probes, a):
    load = only(probes.traffic("pattern", "affine", (a[:37],), (0, 1)), "load")
    assert (load["requests"], load["lanes"], load["sectors"]) == (2, 37, 5)


def test_the_nth_access_of_each_lane_is_one_request(probes, a):
    """Lane k loads k + 1 times, all the same addresses: 32 requests, not 528."""
    report = probes.traffic("pattern", "triangle", (a,), (0, 1))
    load = only(report, "load")
    assert load["requests"] == 32 * WARPS
    assert load["lanes"] == 528 * WARPS
    assert per_request(load) == 1


def test_two_loads_on_one_line_are_two_requests(probes, a):
    load = only(probes.traffic("pattern", "two_on_a_line", (a,), (0, 1)), "load")
    assert load["requests"] == 2 * WARPS
    assert load["sectors"] == WARPS * (4 + 5)


def test_source_lines_are_the_kernels_own(probes, a):
    report = probes.traffic("pattern", "vector4_member", (a,), (0, 1))
    with open("tests/probes/pattern/vector4_member.cu") as file:
        text = file.read().splitlines()
    load, store = only(report, "load"), only(report, "store")
    for site in (load, store):
        assert site["file"] == "tests/probes/pattern/vector4_member.cu"
    assert "float4 whole" in text[load["line"] - 1]
    assert "whole.z" in text[store["line"] - 1]


def test_results_are_those_of_the_plain_build(probes, a):
    for family, variant in [("pattern", "triangle"), ("barrier", "sum_tree")]:
        plain = probes.call(family, variant, (a,), None, None, None, (0, 1))
        traced = probes.traffic(family, variant, (a,), (0, 1))["result"]
        assert np.array_equal(plain, traced)


def test_shared_memory_is_a_space_of_its_own(probes, a):
    for variant in ("reverse", "dynamic"):
        report = probes.traffic("barrier", variant, (a,), (0, 1))
        for kind in ("load", "store"):
            site = only(report, kind, "shared")
            assert (site["requests"], site["width"], site["bytes"]) == (WARPS, 32, 4 * N)
            assert only(report, kind)["requests"] == WARPS


def test_totals(probes, a):
    report = probes.traffic("barrier", "sum_tree", (a,), (0, 1))
    assert report["grid"] == (N // 256, 1, 1)
    assert report["block"] == (256, 1, 1)
    assert report["threads"] == N
    assert report["warps"] == WARPS
    assert report["barriers"] == N // 256 * 9


def test_an_empty_launch_counts_nothing(probes):
    report = probes.traffic("pattern", "affine", (np.empty(0, np.float32),), (0, 1))
    assert report["sites"] == []
    assert report["threads"] == 0


def test_a_tiled_product(probes, rng):
    """Tiles of 16 x 16: a warp holds two rows of them."""
    a = rng.integers(-4, 5, (64, 64)).astype(np.float32)
    report = probes.traffic("speed", "product", (a.ravel(),), (0, 64))
    assert (report["result"].reshape(a.shape) == a @ a).all()
    warps, steps = 64 * 64 // 32, 64 // 16
    assert report["barriers"] == 16 * steps * 2
    shared = [s for s in report["sites"] if s["space"] == "shared"]
    assert [(s["kind"], s["requests"]) for s in shared] == [
        ("store", warps * steps),
        ("store", warps * steps),
        ("load", warps * steps * 32),
    ]
    assert all(s["passes"] == s["requests"] for s in shared)
    (stored,) = [s for s in report["sites"] if s["space"] == "global" and s["kind"] == "store"]
    assert per_request(stored) == 4
    loads = [s for s in report["sites"] if s["space"] == "global" and s["kind"] == "load"]
    assert [per_request(s) for s in loads] == [4, 4]
