"""Results: JSON, shipped files, merging, filtering, pandas, and comparing two of them."""

import builtins
import importlib
import json
import sys
from collections.abc import Mapping

import pytest
from results_cases import DEVICE, record, result

import gpumem as gm
from gpumem import results
from gpumem.base.provenance import origin
from gpumem.base.record import FIELDS
from gpumem.base.result import BenchResult

# ---- JSON ---------------------------------------------------------------------------


def near(a, b):
    """Whether two values are equal; floats may differ by a relative 1e-5."""
    return a == pytest.approx(b, rel=1e-5) if isinstance(a, float) else a == b


@pytest.mark.parametrize("name", results.names())
def test_packing_loses_nothing(name):
    original = results.load(name)
    unpacked = BenchResult.from_json(original.to_json(packed=True))
    assert unpacked.provenance == original.provenance
    for one, other in zip(unpacked.records, original.records, strict=True):
        assert set(one) == set(other)
        assert all(near(one[key], other[key]) for key in one)
    assert BenchResult.from_json(unpacked.to_json(packed=True)).records == unpacked.records


@pytest.mark.parametrize("number", [0, 1, 2, 40])
def test_packing_few_records(number):
    """Equal records, different records, and no records."""
    for records in (
        [record("a", 1.5) for _ in range(number)],
        [record(f"v{i % 3}", 0.5 + i, shape=(i, 7), work=i // 20) for i in range(number)],
    ):
        original = result(*records)
        unpacked = BenchResult.from_json(original.to_json(packed=True))
        assert unpacked.records == BenchResult.from_json(original.to_json()).records


def test_unpacked_records_do_not_share_lists_or_dicts():
    packed = result(*(record("a", 1.0 + i, work=1) for i in range(9))).to_json(packed=True)
    first, second, *_ = BenchResult.from_json(packed).records
    first["parameters"]["work"] = 2
    first["shape"].append(3)
    assert second["parameters"] == {"work": 1} and second["shape"] == [1024]


def test_fields_missing_from_older_results_are_none():
    old = {"family": "copy", "variant": "vec4", "shape": [4], "dtype": "float32", "cache": "cold"}
    (one,) = BenchResult.from_json(
        json.dumps({"schema": 1, "provenance": {}, "records": [old]})
    ).records
    assert set(one) == set(FIELDS)
    assert one["parameters"] == {} and one["median_ms"] is None and one["shape"] == [4]


def test_the_order_of_older_results():
    """Kernels were timed in a row when nothing could be said of it."""
    old = record("vec4", 1.0)
    del old["order"]
    bus = record("to_host", 1.0, "transfer", kind="pinned", pieces=1) | {"cache": None}
    single = record("vec4", 1.0) | {"order": "single"}
    made = result(old, bus, single, record("vec4", 1.0))
    assert [row.order for row in made.rows] == ["stream", None, "single", "stream"]
    for packed in (False, True):
        read = BenchResult.from_json(made.to_json(packed=packed))
        assert [one["order"] for one in read.records] == ["stream", None, "single", "stream"]
    assert {row.order for row in results.load("gather-h200").rows} == {"stream"}
    assert {row.order for row in results.load("transfer-h200").rows} == {None}


GOOD = {"family": "copy", "variant": "vec4", "shape": [4], "dtype": "float32", "cache": "cold"}


HEAD = {"schema": 2, "provenance": {}, "common": GOOD, "levels": {}, "fields": ["median_ms"]}


@pytest.mark.parametrize(
    "content",
    [
        {"schema": 1, "provenance": {}, "records": [7]},
        {"schema": 1, "provenance": {}, "records": [GOOD | {"shape": 4}]},
        {"schema": 1, "provenance": {}, "records": [{"family": "copy"}]},
        {"schema": 1, "provenance": {}, "records": [GOOD | {"median_ms": "fast"}]},
        {"schema": 1, "provenance": {}, "records": [GOOD | {"parameters": [1]}]},
        {"schema": 1, "provenance": 5, "records": []},
        {"schema": 1, "provenance": {}, "records": None},
        {"schema": 2, "provenance": {}, "records": []},
        HEAD | {"records": [[1, 2]]},
        HEAD | {"records": [3]},
        HEAD | {"levels": {"median_ms": [1.0]}, "records": [[1]]},
        HEAD | {"levels": {"median_ms": [1.0]}, "records": [[-1]]},
        HEAD | {"levels": {"median_ms": [1.0]}, "records": [["x"]]},
    ],
)
def test_damaged_results_are_refused(content, tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"r\.json is a damaged benchmark result"):
        BenchResult.from_json(file)
    file.write_text("{" + json.dumps(content))
    with pytest.raises(ValueError, match=r"r\.json is not JSON"):
        BenchResult.load(file)


# ---- shipped results ----------------------------------------------------------------


def test_shipped_results_are_small_and_complete():
    from pathlib import Path

    files = list((Path(gm.__file__).parent / "results").glob("*.json"))
    assert sorted(file.stem for file in files) == results.names()
    assert sum(file.stat().st_size for file in files) < 400_000, "tools/ship_result.py packs"
    for file in files:
        loaded = results.load(file.stem)
        source = loaded.provenance
        assert source["device"]["bandwidth_gbps"] and source["commit"] and source["date"]
        assert "dirty" not in source["commit"]
        for one in loaded.records:
            assert set(FIELDS) <= set(one) and one["backend"] == "cuda"
            assert (one["median_ms"] is None) == (one["reason"] is not None)
            if one["median_ms"]:
                assert 0 < one["min_ms"] <= one["p20_ms"] <= one["median_ms"] <= one["p80_ms"]
                assert one["gbps"] == pytest.approx(one["bytes"] / one["median_ms"] / 1e6, rel=1e-3)


def test_results_are_a_mapping():
    importlib.import_module("gpumem.results")  # must not replace the object gm.results
    assert isinstance(gm.results, Mapping) and gm.results.get("nothing") is None
    known = gm.results.names()
    assert list(gm.results) == known and len(gm.results) == len(known)
    assert "copy-h200" in gm.results and "nothing" not in gm.results and 7 not in gm.results
    assert gm.results["copy-h200"].records == BenchResult.load("copy-h200").records
    with pytest.raises(KeyError, match="copy-h200"):
        gm.results["nothing"]
    assert set(gm.results.families()) <= set(gm.families())


@pytest.mark.parametrize("family", gm.families())
def test_results_of_a_family(family):
    found = gm.results.for_family(family)
    assert bool(found.records) == (family in gm.results.families())
    if found.records:
        assert family in {one["family"] for one in found.records}
        assert found.provenance["device"]["name"]
    with pytest.raises(ValueError, match="nope"):
        gm.results.for_family("nope")


def test_merged_records_name_their_source():
    one, other = result(record("a", 1.0)), result(record("b", 2.0), commit="fedcba9876543210")
    assert BenchResult.merge({"one": one}) is one
    both = BenchResult.merge({"one": one, "other": other})
    assert [r["source"] for r in both.records] == ["one", "other"]
    assert both.provenance["device"] == DEVICE and "commit" not in both.provenance
    assert origin(both.provenance) == "a device, 2030-01-02, commits 0123456789, fedcba9876"
    assert origin(one.provenance) == "a device, 2030-01-02, commit 0123456789"
    assert BenchResult.merge({}).records == [] and origin({}) == "no device"


def test_merged_results_keep_their_own_noise_limits():
    quiet = result(record("vec4", 1.0, noise=0.1), settings={"within": 0.02})
    rough = result(record("tile", 1.0, "transpose", noise=0.1), settings={"within": 0.5})
    text = str(BenchResult.merge({"quiet": quiet, "rough": rough}))
    assert "1 of 2 did not settle within 2.0% or 50.0%; the noisiest is copy-vec4" in text


def test_unknown_families_are_accepted():
    unknown = record("there", 1.0, "teleport", kind="odd") | {"cache": None}
    text = str(result(unknown, record("vec4", 1.0), record("back", None, "teleport")))
    assert "vec4" in text and "teleport" not in text
    refused = unknown | {"median_ms": None, "reason": "no way"}
    assert "teleport-there odd: no way" in str(result(refused))


def test_a_long_sweep_does_not_hide_other_results():
    sweep = result(*(record("vec4", 1.0, stride=i) for i in range(40)))
    other = result(record("tile", 2.0, "transpose"))
    both = str(BenchResult.merge({"sweep": sweep, "other": other}))
    assert "and 8 more rows, in the records" in both and "tile" in both
    assert len([line for line in both.splitlines() if line.startswith("4 KiB")]) == 32 + 1
    assert "more rows" not in str(sweep) and len(str(sweep).splitlines()) > 40


# ---- filter and pandas --------------------------------------------------------------


def test_filter():
    r = result(
        record("a", 1.0, work=1, distance=2),
        record("a", 2.0, work=2, distance=4),
        record("b", 3.0, shape=(7, 9), work=2),
    )

    def times(**conditions):
        found = r.filter(**conditions)
        assert found.provenance is r.provenance
        return [one["median_ms"] for one in found.records]

    assert times() == [1, 2, 3] and times(variant="a") == [1, 2]
    assert times(shape=(7, 9)) == [3] and times(shape=[(7, 9), (1024,)]) == [1, 2, 3]
    assert times(work=2) == [2, 3] and times(work=2, variant="a") == [2]
    assert times(distance=range(1, 4)) == [1]  # variant b has no distance
    assert times(median_ms=lambda ms: ms > 1.5) == [2, 3]
    assert times(variant={"c"}) == []
    with pytest.raises(TypeError, match=r"no record has 'height'; they have: family, variant"):
        r.filter(height=3)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    table = result(record("a", 1.0, work=1), record("b", 2.0, cache="odd")).to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert list(table["median_ms"]) == [1.0, 2.0] and table["work"][0] == 1
    assert table["shape"][0] == (1024,) and table["cache_parameter"][1] == "odd"
    assert table.attrs["provenance"]["device"] == DEVICE
    assert "median_ms" in result().to_pandas()


def test_missing_pandas_is_an_error_that_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'gpumem-lab\[pandas\]'"):
        result().to_pandas()
