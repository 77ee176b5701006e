"""Benchmarks of round trips, where the simulator stands in for a device with a clock."""

import itertools

import numpy as np
import pytest

import gpumem as gm
from gpumem.measure import callers, roundtrips

QUICK = {"samples": (1, 2)}


def test_records_of_round_trips(clock):
    result = clock.bench("roundtrip", sizes="64K", with_peers=["numpy"], **QUICK)
    n = 2**16
    wanted = {  # shape, bytes in and out, operations
        "copy": ([2**14], 2 * n, None),
        "transpose": ([128, 128], 2 * n, None),
        "add": ([2**14], 3 * n, None),
        "sgemm": ([128, 128], 3 * n, 2 * 128**3),
    }
    for job, (shape, nbytes, flops) in wanted.items():
        records = [r for r in result.records if r["variant"] == job]
        ways = itertools.product(("pageable", "pinned"), ("gpumem", "one_piece", "numpy"))
        assert [(r["parameters"]["kind"], r["parameters"]["by"]) for r in records] == [
            ("pinned", "bus"),
            *ways,
        ]
        floor = records[0]["median_ms"]
        for r in records:
            assert r["reason"] is None and r["dtype"] == "float32"
            assert (r["shape"], r["bytes"], r["flops"]) == (shape, nbytes, flops)
            share = floor / r["median_ms"]
            assert r["fraction_of_reference"] == pytest.approx(share, rel=1e-4)
            assert (r["tflops"] is None) == (flops is None)


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
@pytest.mark.parametrize("job", roundtrips.JOBS)
def test_a_wrong_result_has_no_time(clock, monkeypatch, job, kind):
    """One that keeps what the last one left, and one that is wrong in the last element."""

    def idle(job, backend, inputs, out):
        shape = (len(inputs[0]), *inputs[-1].shape[1:])
        return np.empty(shape, np.float32) if out is None else out

    def damaging(*arguments):
        found = callers.call_gpumem(*arguments)
        found.reshape(-1)[-1] += 1
        return found

    monkeypatch.setitem(callers.CALLERS, "gpumem", idle)
    monkeypatch.setitem(callers.CALLERS, "one_piece", damaging)
    result = clock.bench("roundtrip", job, "64K", kind=kind, with_peers=["numpy"], **QUICK)
    records = {r["parameters"]["by"]: r for r in result.records}
    for by in ("gpumem", "one_piece"):
        assert records[by]["reason"].startswith("wrong result") and records[by]["gbps"] is None
    assert records["bus"]["gbps"] and records["numpy"]["gbps"]


def test_only_some_rows_of_a_large_product_are_checked(clock, monkeypatch, rng):
    monkeypatch.setattr(roundtrips, "WHOLE_SIDE", 100)
    a, b = roundtrips.random_inputs("sgemm", (300, 300))
    good = a @ b
    roundtrips.check_result("sgemm", good, (a, b))
    for place in ((0, 0), (299, 299)):
        bad = good.copy()
        bad[place] += 1
        with pytest.raises(AssertionError):
            roundtrips.check_result("sgemm", bad, (a, b))
    with pytest.raises(AssertionError, match="shape"):
        roundtrips.check_result("sgemm", good[:-1], (a, b))


@pytest.mark.parametrize("job", roundtrips.JOBS)
@pytest.mark.parametrize("pinned", [False, True])
def test_how_numpy_is_asked(job, pinned, rng):
    inputs = roundtrips.random_inputs(job, (40, 40))
    out = np.empty((40, 40), np.float32) if pinned else None
    got = callers.call_numpy(job, None, inputs, out)
    assert got.flags.c_contiguous and (got is out) == pinned
    roundtrips.check_result(job, got, inputs)
    assert not any(np.shares_memory(got, a) for a in inputs)


@pytest.mark.parametrize("job", roundtrips.JOBS)
def test_one_piece_is_a_chunk_that_divides_nothing(clock, monkeypatch, job):
    chunks, real = [], clock.call

    def call(family, inputs, out, values, chunk):
        chunks.append(chunk)
        return real(family, inputs, out, values, chunk)

    monkeypatch.setattr(clock, "call", call)
    inputs = roundtrips.random_inputs(job, (40, 40))
    for by in ("one_piece", "gpumem"):
        roundtrips.check_result(job, callers.CALLERS[by](job, clock, inputs, None), inputs)
    assert chunks == [2**62]


def test_peers_that_are_not_installed(clock, monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(callers.importlib, "import_module", absent)
    result = clock.bench("roundtrip", "copy", "64K", with_peers=["cupy", "torch"], **QUICK)
    for r in result.records:
        by = r["parameters"]["by"]
        assert (r["reason"] is None) == (by in ("gpumem", "one_piece", "bus"))
        assert r["reason"] is None or r["reason"].startswith(f"{by} is not installed: No module")
    assert str(result).count("cupy is not installed") == 1  # for memory of both kinds


def test_a_peer_that_fails_leaves_the_others(clock, monkeypatch):
    def fails(*_):
        raise RuntimeError("out of order")

    monkeypatch.setitem(callers.CALLERS, "numpy", fails)
    result = clock.bench("roundtrip", "copy", "64K", with_peers=["numpy"], **QUICK)
    reasons = {r["parameters"]["by"]: r["reason"] for r in result.records}
    assert reasons["numpy"] == "RuntimeError: out of order" and reasons["gpumem"] is None
    monkeypatch.setitem(callers.CALLERS, "gpumem", fails)  # ours is not passed over
    with pytest.raises(RuntimeError, match="out of order"):
        clock.bench("roundtrip", "copy", "64K", with_peers=(), **QUICK)


def test_the_table_of_round_trips(clock):
    text = str(clock.bench("roundtrip", ["add", "sgemm"], "64K", with_peers=["numpy"], **QUICK))
    title = "round trip, wall clock, ms from ndarray to ndarray; ratio: bus over gpumem"
    assert f"add: {title}\n" in text and f"sgemm: {title}\n" in text
    lines = text.splitlines()
    first = lines.index(f"sgemm: {title}")
    assert lines[first + 1].split() == [
        "size", "kind", "gpumem", "one_piece", "numpy", "bus", "ratio",
    ]  # fmt: skip
    pageable, pinned = lines[first + 2].split(), lines[first + 3].split()
    assert pageable[:2] == ["128x128", "pageable"] and pinned[:2] == ["128x128", "pinned"]
    assert pageable[5] == pinned[5]  # one floor
    assert "-" not in pageable + pinned


# ---- a real device -------------------------------------------------------------------------------


@pytest.mark.gpu
def test_round_trips_of_a_gpu():
    result = gm.bench("roundtrip", sizes="64K,1M", samples=(3, 10), backend="cuda")
    for r in result.records:
        by = r["parameters"]["by"]
        if by in ("cupy", "torch") and callers.absent(by):
            assert r["reason"] == callers.absent(by)
            continue
        assert r["reason"] is None, r
        assert r["median_ms"] > 0 and r["samples"] >= 3
        assert by == "numpy" or r["fraction_of_reference"] > 0
    assert result.provenance["clocks"].keys() == {"before", "after"}
