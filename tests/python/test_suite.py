"""bench_all: keywords of each family, timeouts, interrupts, split results and shipped files."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from made_up import ClockedSimulator, MadeUpDevice

import gpumem as gm
from gpumem.base.record import NO_TIMES
from gpumem.base.result import BenchResult
from gpumem.base.wall_clock import FAMILIES
from gpumem.measure import sampling, suite, wall_clock
from gpumem.measure.recording import Interrupted

ROOT = Path(__file__).resolve().parent.parent.parent
ALL = (*gm.families(), *FAMILIES)
QUICK = {"budget": 0, "samples": (2, 2)}

REAL_PARTS = suite.parts


def small_parts(device):
    """The parts of a run, with a small size for each family."""
    sizes = dict.fromkeys(ALL, "16K") | {"transfer": "64K", "roundtrip": "64K"}
    return {
        name: part._replace(asked={"sizes": sizes[name]})
        for name, part in REAL_PARTS(device).items()
    }


@pytest.fixture
def device(monkeypatch):
    """A made-up device for kernels; transfers and round trips run on the simulator."""
    clocked = ClockedSimulator()

    def bench(family, device, **keywords):
        return gm.bench(family, device=clocked if family in FAMILIES else device, **keywords)

    monkeypatch.setattr(suite, "bench", bench)
    monkeypatch.setattr(suite, "parts", small_parts)
    monkeypatch.setattr(wall_clock, "SAMPLE_S", 1e-4)
    return MadeUpDevice()


def test_all_families(device):
    steps = []
    result = device.bench_all(**QUICK, progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(r["source"] for r in result.records)) == list(ALL)
    assert sum(1 for r in result.records if r["median_ms"]) > 40
    assert result.provenance["device"]["name"] == "made-up device"
    assert result.provenance["settings"] == {"timeout": 600}
    assert steps[0][:2] == (0, 100 * len(ALL)) and steps[-1] == (100 * len(ALL),) * 2 + ("done",)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    text = str(result)
    for family in ("copy", "transpose", "shift_points"):
        assert text.count(f"\n{family}, cold L2, ") == 1
    assert max(map(len, text.splitlines())) <= 160  # wider than a table: reasons are not wrapped
    assert BenchResult.from_json(result.to_json()).records == result.records
    assert not result.compare(result).warnings


def test_a_part_equals_the_result_of_bench(device):
    parts = device.bench_all(**QUICK).split()
    assert list(parts) == list(ALL)
    alone = device.bench("gather", sizes="16K", **QUICK)
    assert list(parts["gather"].provenance) == list(alone.provenance)
    assert parts["gather"].provenance["settings"]["least"] == 2
    assert [list(r) for r in parts["gather"].records] == [list(r) for r in alone.records]
    found = [(r["family"], r["variant"], r["parameters"]) for r in parts["gather"].records]
    assert found == [(r["family"], r["variant"], r["parameters"]) for r in alone.records]
    assert ("copy", "memcpy", {}) in found  # the reference of its family


def test_keywords_passed_to_each_family(device, monkeypatch):
    passed, now = {}, [1000.0]
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: now[0])

    def bench(family, **keywords):
        passed[family] = keywords
        now[0] += 100
        return BenchResult([], {"date": family, "device": {"free_bytes": len(passed)}})

    monkeypatch.setattr(suite, "bench", bench)
    monkeypatch.setattr(suite, "parts", lambda device: parts)
    real = REAL_PARTS(device)
    parts = {
        "copy": suite.Part({"sizes": "1M", "samples": (3, 4), "with_peers": ("torch",)}, 15),
        "transfer": real["transfer"]._replace(asked={"sizes": "2M"}, seconds=5),
        "roundtrip": real["roundtrip"]._replace(asked={"sizes": "4M"}, seconds=5),
    }
    whole = device.bench_all().provenance
    assert (whole["date"], whole["device"]) == ("copy", {"free_bytes": 1})  # from the first family
    assert passed["copy"]["samples"] == (3, 4) and passed["copy"]["with_peers"] == ("torch",)
    assert passed["copy"]["timeout"] == 360  # 15 of 25 s: 3/5 of 600 s
    assert passed["transfer"]["timeout"] == 250  # 5 of 10 s: half of the 500 s that remain
    assert passed["roundtrip"]["timeout"] == 400
    device.bench_all(samples=(5, 6), cache="warm", order="single", with_peers=["cupy"], timeout=10)
    assert passed["copy"]["samples"] == passed["transfer"]["samples"] == (5, 6)
    assert passed["copy"]["cache"] == "warm" and passed["copy"]["with_peers"] == ["cupy"]
    assert passed["copy"]["order"] == "single"
    assert passed["roundtrip"]["with_peers"] == ["cupy"]
    assert not {"cache", "order"} & set(passed["roundtrip"])
    assert not {"with_peers", "cache", "order"} & set(passed["transfer"])
    assert passed["copy"]["timeout"] == 6 and passed["roundtrip"]["timeout"] == 0


def test_timeout_and_invalid_keywords(device):
    timed_out = device.bench_all(timeout=0)
    assert not any(r["median_ms"] for r in timed_out.records)
    for family in ("copy", "transfer", "roundtrip"):
        (reasons,) = [{r["reason"] for r in timed_out.records if r["source"] == family}]
        assert "not measured: the 0 s were over" in reasons
    with pytest.raises(TypeError, match="sizes"):
        device.bench_all(sizes="4K")
    with pytest.raises(ValueError, match="timeout must be 0 or more, not -1"):
        device.bench_all(timeout=-1)


@pytest.mark.parametrize("done", [1, 2, 13])
def test_an_interrupt_keeps_the_finished_families(device, done):
    def interrupt(now, total, text):
        if now >= 100 * done:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        device.bench_all(**QUICK, progress=interrupt)
    result = stopped.value.result
    assert result.provenance["interrupted"] and "was interrupted" in str(result)
    found = {one: part for one, part in result.split().items() if part.records}
    assert list(found) == list(ALL[:done])


def test_the_default_sizes_of_all_families_are_valid():
    result = gm.bench_all(backend="sim")
    assert {r["family"] for r in result.records} == set(ALL)
    reasons = {r["reason"] for r in result.records if r["variant"] == "auto"}
    assert reasons == {NO_TIMES}
    assert len({str(r["shape"]) for r in result.records if r["family"] == "copy"}) > 4


def test_a_result_of_one_family_splits_into_itself(device):
    alone = device.bench("gather", sizes="16K", **QUICK)
    assert alone.split() == {"gather": alone}
    assert BenchResult.merge({}).split() == {}


def test_ship_result_writes_one_file_per_family(device, tmp_path, monkeypatch, capsys):
    specification = importlib.util.spec_from_file_location("ship", ROOT / "tools/ship_result.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    monkeypatch.setattr(tool, "RESULTS", tmp_path)
    result = device.bench_all(**QUICK)
    for record in result.records:
        if record["source"] == "sample":
            record["median_ms"] = None
    result.to_json(tmp_path / "all.txt")
    monkeypatch.setattr(sys, "argv", ["ship_result.py", str(tmp_path / "all.txt"), "h200"])
    assert tool.main() == 0
    measured = {
        name for name, part in result.split().items() if any(r["median_ms"] for r in part.records)
    }
    assert {path.stem for path in tmp_path.glob("*.json")} == {f"{one}-h200" for one in measured}
    printed = capsys.readouterr().out
    assert f"gather-h200.json: {(tmp_path / 'gather-h200.json').stat().st_size} bytes" in printed
    assert "sample" not in measured
    assert set(ALL) - measured == {one for one in ALL if f"{one}: nothing measured" in printed}
    shipped = BenchResult.from_json(tmp_path / "gather-h200.json")
    assert shipped.records == result.split()["gather"].records
    assert json.loads((tmp_path / "gather-h200.json").read_text())["schema"] == 2
