"""Benchmarks: limits, Ctrl-C, and sweeps."""

import pytest
from bench_cases import make_device

from gpumem.base.result import BenchResult

device = pytest.fixture(make_device)


# ---- limits, Ctrl-C, and what the device was like -----------------------------------


def test_what_there_is_no_time_for_says_so(device):
    result = device.bench("copy", ["scalar"], sizes="64K,1M", timeout=0)
    assert {r["reason"] for r in result.records} == {"not measured: the 0 s were over"}
    assert "copy-scalar: not measured" in str(result)
    result = device.bench("copy", ["scalar"], sizes="64K", timeout=1e6)
    assert not result.records[0]["reason"]
    assert result.provenance["settings"]["timeout"] == 1e6
    for wrong in ({"timeout": -1}, {"spread": float("nan")}, {"budget": -0.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            device.bench("copy", sizes="4K", **wrong)


def test_an_interrupt_keeps_what_was_measured(device):
    def progress(done, total, text):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        device.bench("copy", ["scalar"], sizes="4K,64K,1M,4M", progress=progress)
    result = stopped.value.result
    assert [r["shape"][0] * 4 for r in result.records if r["variant"] == "scalar"] == [4096, 65536]
    assert all(r["median_ms"] for r in result.records)
    assert result.provenance["interrupted"] and "was interrupted" in str(result)
    assert BenchResult.from_json(result.to_json()).records == result.records


# ---- sweeps -------------------------------------------------------------------------


def test_a_sweep_measures_each_variant_with_what_means_something_to_it(device):
    result = device.bench(
        "prefetch_sum",
        ["baseline", "unroll", "smem_batch"],
        shapes=[(2, 100)],
        work=[1, 2],
        distance=range(2, 4),
        padding=["auto", 0],
        threads=64,
    )
    measured = [(r["variant"], r["parameters"]) for r in result.records]
    common = [{"work": work, "threads": 64} for work in (1, 2)]
    assert measured == [
        one
        for base in common
        for one in [
            ("baseline", base),
            *(("unroll", base | {"distance": d}) for d in (2, 3)),
            *(("smem_batch", base | {"distance": d, "padding": p}) for d in (2, 3) for p in AUTO_0),
        ]
    ]
    assert all(r["reason"] is None and r["median_ms"] for r in result.records)
    assert result.provenance["settings"]["parameters"] == {
        "work": [1, 2],
        "distance": [2, 3],
        "padding": ["auto", 0],
        "threads": 64,
    }
    assert BenchResult.from_json(result.to_json()).records == result.records
    lines = str(result).splitlines()
    head = next(line.split() for line in lines if line.startswith("size"))
    assert head == ["size", "work", "distance", "padding", "baseline", "unroll", "smem_batch"]
    rows = [line.split() for line in lines if line.startswith("2x100")]
    assert len(rows) == 8 and not any(
        "-" in row for row in rows
    )  # the baseline is in all of its rows
    assert len({row[4] for row in rows}) <= 2 and len({row[5] for row in rows}) <= 4


AUTO_0 = ("auto", 0)


def test_what_is_swept_is_checked_before_anything_runs(device):
    for wrong in ({"distance": [1, 17]}, {"distance": []}, {"work": range(0)}):
        with pytest.raises(ValueError, match=r"distance is 17|over no values"):
            device.bench("prefetch_sum", ["baseline"], shapes=[(1, 10)], **wrong)
    with pytest.raises(TypeError, match="no parameter 'steps'"):
        device.bench("prefetch_sum", ["baseline"], shapes=[(1, 10)], steps=[1, 2])
    assert not device.events


def test_a_wrong_result_is_found_at_one_point_of_a_sweep(device):
    device.idle = "unroll"
    result = device.bench("prefetch_sum", ["baseline", "unroll"], shapes=[(3, 50)], distance=[1, 5])
    for r in result.records:
        assert (r["reason"] or "").startswith("wrong result") == (r["variant"] == "unroll")
