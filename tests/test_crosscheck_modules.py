"""tools/crosscheck_modules.py, as far as it goes without a GPU."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import crosscheck_modules as tool
import cuda_driver
import foreign


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5scaleIfLi2EEvPKT_PS0_i", "scale<float, 2>"),
        ("_Z6reduceIi3SumLj64EEvPKT_PS1_", "reduce<int, Sum, 64>"),
        ("_ZN5image8brightenEPKiPii", "image::brighten"),
        ("plain_name", "plain_name"),
    ],
)
def test_names_as_sources_spell_them(symbol, name):
    assert cuda_driver.demangle(symbol) == name


def test_results_of_both_sides():
    case = foreign.CASES[0]
    right = case.wanted()
    sides = {f"{case.name} {way}": ("ok", right) for way in ("plain", "traced", "gpu")}
    record = tool.compared("foreign", sides)[0]
    assert (record["difference"], record["identical"]) == ("", True)
    sides[f"{case.name} gpu"] = ("ok", [right[0] + 1])
    record = tool.compared("foreign", sides)[0]
    assert record["difference"] and not record["identical"]
    assert tool.feature_rows([record])[0][2:] == ("right", "right", "right", "differs")


def test_what_is_missing():
    lost = {"file": "a.cu", "kernel": "k", "plain": "ok", "traced": "SimulationError: a race"}
    whole = dict.fromkeys(("plain", "traced"), "CompileError: no\na.cu:3:1: error: x")
    files = [{"file": "b.cu", "kernel": k, **whole} for k in "mn"]
    assert tool.missing([lost, *files]) == {
        "a.cu:k traced": "SimulationError: a race",
        "b.cu": "a.cu:3:1: error: x",
    }


def test_figures_of_atomic_operations():
    site = {"by": "thread", "kind": "atomic", "passes": 5, "fewest_passes": 1, "uncertain": 0}
    sites = [
        {**site, "space": space, "requests": 2, "sectors": 9, "lanes": 40}
        for space in ("global", "shared")
    ]
    figures, _ = tool.simulator_figures(sites)
    assert (figures["atomic_requests"], figures["atomic_sectors"]) == (2, 9)
    assert figures["atomic_lanes"] == 40
    shared = ("shared_atomic_requests", "shared_atomic_passes_per_request")
    assert tuple(map(figures.get, shared)) == (2, 2.5)


def test_a_process_that_ends_is_started_again(tmp_path, monkeypatch):
    script = tmp_path / "side.py"
    script.write_text(
        "import json, os, pathlib, sys\n"
        "folder = pathlib.Path(sys.argv[4])\n"
        "done = json.loads((folder / 'done').read_text())\n"
        "log = (folder / 'log').open('a', buffering=1)\n"
        "for key in 'abc':\n"
        "    if key not in done:\n"
        "        print(json.dumps({'begin': key}), file=log)\n"
        "        if key == 'b': os.abort()\n"
        "        print(json.dumps({'end': key, 'status': 'ok'}), file=log)\n"
    )
    monkeypatch.setattr(tool, "__file__", str(script))
    found = tool.watched("sim", "foreign", tmp_path)
    assert {key: status for key, (status, _) in found.items()} == {
        "a": "ok",
        "b": "ends Python: status -6",
        "c": "ok",
    }


def test_tables():
    assert tool.markdown(("a", "b"), [("1", "x|y")]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n"
    assert np.array_equal(tool.three((2, 3)), (2, 3, 1))
