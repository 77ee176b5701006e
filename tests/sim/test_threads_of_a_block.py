"""Barriers, shuffles and votes have the results that they have on a device."""

from __future__ import annotations

import concurrent.futures
import signal

import midway
import numpy as np
import pytest

SIZES = [1, 2, 31, 32, 33, 255, 256, 257, 511, 1000, 4096, 100003]


@pytest.fixture(params=["plain", "traced"])
def run(request, probes):
    def call(variant, a):
        if request.param == "plain":
            return probes.call("barrier", variant, (a,), None, None, None, (0, 1))
        return probes.traffic("barrier", variant, (a,), (0, 1))["result"]

    return call


def by_group(a, size):
    """Return rows of `size` elements, the last one filled up with zeros."""
    rows = -(-len(a) // size)
    return np.concatenate([a, np.zeros(rows * size - len(a), a.dtype)]).reshape(rows, size)


def whole_numbers(rng, n):
    """Return numbers whose sums are exact in float32."""
    return rng.integers(-50, 50, n).astype(np.float32)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("variant", ["reverse", "dynamic"])
def test_reverse(run, rng, variant, n):
    a = rng.standard_normal(n, dtype=np.float32)
    expected = np.concatenate([a[i : i + 256][::-1] for i in range(0, n, 256)])
    assert np.array_equal(run(variant, a), expected)


@pytest.mark.parametrize("n", SIZES)
def test_block_sum(run, rng, n):
    a = whole_numbers(rng, n)
    expected = np.repeat(by_group(a, 256).sum(axis=1), 256)[:n]
    assert np.array_equal(run("sum_tree", a), expected)


@pytest.mark.parametrize("n", SIZES)
def test_warp_sum(run, rng, n):
    a = whole_numbers(rng, n)
    assert np.array_equal(run("warp_sum", a), np.repeat(by_group(a, 32).sum(axis=1), 32)[:n])


@pytest.mark.parametrize("n", SIZES)
def test_warp_scan(run, rng, n):
    a = whole_numbers(rng, n)
    assert np.array_equal(run("warp_scan", a), by_group(a, 32).cumsum(axis=1).ravel()[:n])


@pytest.mark.parametrize("n", SIZES)
def test_warp_reverse(run, rng, n):
    a = whole_numbers(rng, n)
    assert np.array_equal(run("warp_reverse", a), by_group(a, 32)[:, ::-1].ravel()[:n])


@pytest.mark.parametrize("n", SIZES)
def test_halves_of_a_warp_shift_independently(run, rng, n):
    a = whole_numbers(rng, n)
    expected = by_group(a, 32).copy()
    expected[:, :15] = expected[:, 1:16]  # the last of the sixteen keeps its own
    expected[:, 16:] = expected[:, 19:20]
    assert np.array_equal(run("warp_halves", a), expected.ravel()[:n])


@pytest.mark.parametrize("n", SIZES)
def test_votes(run, rng, n):
    a = whole_numbers(rng, n)
    a[: n // 3] = abs(a[: n // 3]) + 1
    a[2 * n // 3 :] = -1
    positive = (by_group(a, 32) > 0).sum(axis=1)
    expected = np.where(positive == 32, -32, np.where(positive == 0, 100, positive))
    assert np.array_equal(run("votes", a), np.repeat(expected, 32)[:n].astype(np.float32))


@pytest.mark.parametrize("n", SIZES)
def test_votes_of_the_block(run, rng, n):
    a = whole_numbers(rng, n)
    a[: n // 3] = abs(a[: n // 3]) + 1
    a[2 * n // 3 :] = -1
    positive = (by_group(a, 256) > 0).sum(axis=1)
    expected = positive + 1000 * (positive == 256) + 2000 * (positive > 0)
    assert np.array_equal(run("block_votes", a), np.repeat(expected, 256)[:n].astype(np.float32))


def count_active_lanes(a):
    """Return what the probe counts for each element."""
    positive = by_group(a, 32) > 0
    there = np.arange(positive.size).reshape(positive.shape) < len(a)
    sides = [(positive & there).sum(axis=1), -(~positive & there).sum(axis=1)]
    expected = np.where(positive, sides[0][:, None], sides[1][:, None])
    expected[:, 16:] += 100 * there[:, 16:].sum(axis=1)[:, None]
    return expected.ravel()[: len(a)].astype(np.float32)


@pytest.mark.parametrize("n", SIZES)
def test_active_lanes(run, rng, n):
    a = whole_numbers(rng, n)
    assert np.array_equal(run("active_lanes", a), count_active_lanes(a))


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("first_of_other_side", [1, 15, 16, 17, 31])
def test_lanes_meet_again_after_a_branch(run, side, first_of_other_side):
    """Whichever side goes first, it waits behind the branch for the other."""
    a = np.full(32, side, np.float32)
    a[first_of_other_side:] = -side
    a[-1] = side
    assert np.array_equal(run("active_lanes", a), count_active_lanes(a))


def test_many_blocks_on_several_host_threads(probes, rng):
    a = whole_numbers(rng, 1 << 20)
    expected = np.repeat(by_group(a, 256).sum(axis=1), 256)
    result = probes.call("barrier", "sum_tree", (a,), None, None, None, (0, 1))
    assert np.array_equal(result, expected)


def test_fibers_move_between_host_threads(probes, rng):
    """A fiber may resume on a host thread other than the one on which it waited."""
    a = whole_numbers(rng, 1 << 16)
    expected = by_group(a, 256)[:, ::-1].ravel()
    results = []

    def work():
        results.append(probes.call("barrier", "reverse", (a,), None, None, None, (0, 1)))
        report = probes.traffic("pattern", "affine", (a[:4096],), (0, 1))
        assert np.array_equal(report["result"], a[:4096])
        assert [site["sectors"] for site in report["sites"]] == [512, 512]

    for _ in range(20):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for future in [pool.submit(work) for _ in range(3)]:
                future.result()
        work()
    assert all(np.array_equal(result, expected) for result in results)


def test_a_signal_handler_may_run_a_kernel_while_a_block_runs(probes, rng):
    """Both use the same __shared__ variable."""
    large = np.arange(1 << 20, dtype=np.float32) % 50
    out = probes.DeviceArray(large.shape, backend="sim")
    progress = midway.Progress(midway.bytes_of(out))
    small = rng.standard_normal(256, dtype=np.float32)
    results = []

    def handler(*_):
        if progress.half_done():
            results.append(probes.call("barrier", "reverse", (small,), None, None, None, (0, 1)))

    source = probes.to_device(large, backend="sim")
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        for _ in range(100):
            progress.restart()
            probes.call("barrier", "reverse", (source,), out, None, None, (0, 1))
            if results:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert results
    assert all(np.array_equal(result, small[::-1]) for result in results)
    assert np.array_equal(out.to_host(), large.reshape(-1, 256)[:, ::-1].ravel())
