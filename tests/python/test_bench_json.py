"""Benchmarks as JSON: what is written, read, and refused."""

import json
import sys
import types

import numpy as np
import pytest
from bench_cases import KEYS, by_variant, make_device

import gpumem as gm
from gpumem import results
from gpumem.base.result import BenchResult
from gpumem.families import peers, table

device = pytest.fixture(make_device)


def test_json_round_trip(device, tmp_path):
    result = device.bench("copy", ["vec4"], sizes="4K")
    text = result.to_json(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_text() == text
    for source in (text, tmp_path / "r.json", str(tmp_path / "r.json")):
        again = BenchResult.from_json(source)
        assert again.records == result.records and again.provenance == result.provenance
    assert str(again) == str(result)
    assert results.load(tmp_path / "r.json").records == result.records


def test_provenance_of_the_simulator():
    p = gm.bench("copy", sizes="4K", backend="sim").provenance
    assert p["gpumem"] == gm.__version__ and p["numpy"] == np.__version__
    assert p["backend"] == "sim" and p["date"].startswith("20")
    json.dumps(p, allow_nan=False)


def test_the_environment_can_name_the_commit(monkeypatch):
    monkeypatch.setenv("GPUMEM_COMMIT", "abc123")
    assert gm.bench("copy", sizes="4K", backend="sim").provenance["commit"] == "abc123"


@pytest.mark.parametrize("content", ["{}", "[]", '{"schema": 1}'])
def test_other_json_is_refused(content, tmp_path):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(ValueError, match=r"r\.json is not a benchmark result"):
        BenchResult.from_json(tmp_path / "r.json")


def test_a_later_schema_is_refused():
    text = json.dumps({"schema": 99, "provenance": {}, "records": []})
    with pytest.raises(ValueError, match="schema 99"):
        BenchResult.from_json(text)


def test_results_that_are_shipped():
    for name in results.names():
        loaded = results.load(name)
        assert loaded.records and loaded.provenance["device"]["name"]
    with pytest.raises(ValueError, match="no-such"):
        results.load("no-such")


def test_flops_are_shown_as_tflops():
    zero = dict.fromkeys(KEYS) | {"family": "product", "shape": [64, 64], "dtype": "float32"}
    zero |= {"cache": "cold", "median_ms": 1.0, "gbps": 2.0, "tflops": 12.34, "variant": "best"}
    text = str(BenchResult([zero], {}))
    assert "product, cold L2, TFLOP/s" in text and "64x64" in text and "12.34" in text


def test_shapes_instead_of_sizes(device):
    """The matrix's own shape, and a reference of another family on the same bytes."""
    names = ["copy_row", "tile", "strided", "auto"]
    result = device.bench("transpose", names, shapes=[(96, 64), (33, 70)])
    assert [r["reason"] for r in result.records] == [None] * 10
    assert [r["shape"] for r in result.records] == 5 * [[96, 64]] + 5 * [[33, 70]]
    last = result.records[4]
    assert (last["family"], last["variant"], last["bytes"]) == ("copy", "memcpy", 2 * 4 * 96 * 64)
    text = str(result)
    assert "96x64" in text and "copy-memcpy" in text and "auto over copy-memcpy" in text


def test_each_variant_is_held_to_its_own_job(device):
    device.damaging = "copy_row"
    records = by_variant(device.bench("transpose", ["copy_row", "naive_row"], shapes=[(40, 40)]))
    assert "wrong result" in records["copy_row"]["reason"]
    assert records["naive_row"]["reason"] is None


def test_each_in_place_variant_starts_from_the_same_array(device):
    """One that writes nothing is found out, and the reference copies what nobody has changed."""
    device.idle = "unroll2"
    result = device.bench("strided_write", ["cached", "unroll2", "any"], shapes=[(1000,)], stride=3)
    reasons = {r["variant"]: r["reason"] for r in result.records}
    assert "wrong result" in reasons.pop("unroll2")
    assert reasons == {"cached": None, "any": None, "memcpy": None}
    assert result.records[0]["bytes"] == 2 * 4 * 333


def test_a_peer_works_in_place_too(device, monkeypatch):
    """On the array that the others begin with, and held to what NumPy makes of it."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    monkeypatch.setitem(peers._ADOPT, "torch", lambda array: array)
    done = []

    def add(out, first, index, a):
        assert out is first
        new = out.to_host()
        np.add.at(new, index.to_host(), a.to_host())
        new[7] += wrong
        out[...] = new
        done.append(out)

    job = table.FAMILIES["scatter_add"]._replace(peers={"torch": add})
    monkeypatch.setitem(table.FAMILIES, "scatter_add", job)
    for wrong in (0, 1):
        result = device.bench("scatter_add", ["shared"], shapes=[(9, 99)], with_peers=["torch"])
        reasons = {r["variant"]: r["reason"] for r in result.records}
        said = reasons.pop("torch")
        assert reasons == {"shared": None, "memcpy": None}
        assert said is None if not wrong else "wrong result" in said
    assert done


def test_variants_that_want_another_shape_get_it(device):
    records = device.bench("shift_points", sizes="64K").records
    shapes = {r["variant"]: r["shape"] for r in records if r["variant"] != "memcpy"}
    assert shapes == {
        "aos": [8192, 2],
        "aos_vec2": [8192, 2],
        "auto": [8192, 2],
        "soa": [2, 8192],
        "soa_vec2": [2, 8192],
        "vec4": [8192, 2],
    }
    assert not any(r["reason"] for r in records)


def test_what_a_variant_does_not_take_has_no_time(device):
    records = by_variant(device.bench("transpose", ["tile", "auto"], shapes=[(9, 9)], dtype="u1"))
    assert "elements of 1 byte" in records["tile"]["reason"]
    assert records["auto"]["median_ms"] > 0


def test_peers_that_are_not_installed_say_so(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "cupy", None)
    records = by_variant(
        device.bench("transpose", ["tile"], shapes=[(64, 64)], with_peers=["torch", "cupy"])
    )
    for name in ("torch", "cupy"):
        assert f"{name} is not installed" in records[name]["reason"]
    with pytest.raises(ValueError, match=r"with_peers names 'jax'.*torch"):
        device.bench("transpose", shapes=[(4, 4)], with_peers=["jax"])
    with pytest.raises(ValueError, match="shape"):
        device.bench("transpose", shapes=[(4, -4)])
