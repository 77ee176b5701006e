"""tools/measure_atomics.py: its kernels on the simulator, its patterns, its table and its files."""

import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gpumem as gm

TOOLS = Path(__file__).resolve().parent.parent / "tools"
BLOCKS = 3


@pytest.fixture(scope="module")
def tool():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        yield importlib.import_module("measure_atomics")


@pytest.fixture(scope="module")
def module(tool):
    return gm.load(tool.SOURCE, backend="sim")


# The elements of each type that threads add to: THREADS * BLOCKS = 768 of them.
PLACES = {
    "one": lambda line: {0},
    "warp": lambda line: {i * line for i in range(24)},
    "random32": lambda line: set(range(32)),
    "random1K": lambda line: set(range(1024)),
    "random1M": lambda line: set(range(2**20)),
    "own": lambda line: set(range(768)),
    "lines": lambda line: {i * line for i in range(768)},
}


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("name", ["int32", "uint64", "float32", "float64"])
def test_each_kernel_adds_where_its_pattern_says(tool, module, name, key):
    variants = tool.variants_for(tool.PATTERNS[key])
    assert {v.scope for v in variants} >= {"device", "system"}
    additions = tool.Additions(module, name, key, BLOCKS)
    places = PLACES[key](128 // np.dtype(name).itemsize)
    assert additions.out.size == max(places) + 1
    for variant in variants:
        additions.out.fill_bytes(0)
        additions.launch(variant, 6)
        out = additions.out.to_host()
        assert out.sum() == 6 * BLOCKS * tool.THREADS
        touched = set(np.flatnonzero(out).tolist())
        assert touched <= places
        if not key.startswith("random"):
            assert touched == places and (out[sorted(places)] == out[0]).all()


def test_random_addresses_are_drawn_evenly_and_anew(tool, module):
    additions = tool.Additions(module, "int32", "random1K", BLOCKS)
    variant = tool.VARIANTS[0]
    additions.launch(variant, 1)
    once = additions.out.to_host()
    assert 480 < np.count_nonzero(once) < 600  # 768 draws from 1024: 540 on average
    additions.launch(variant, 400)
    counts = additions.out.to_host()
    mean = 401 * 768 / 1024
    assert abs(counts - mean).max() < 6 * mean**0.5
    assert np.var(counts) == pytest.approx(mean, rel=0.25)  # that of independent draws


def test_no_two_blocks_share_an_address_in_the_scope_of_a_block(tool):
    """A block more has as many addresses more as the first."""
    for key, pattern in tool.PATTERNS.items():
        scopes = {v.scope for v in tool.variants_for(pattern)}
        assert ("block" in scopes) == (key in ("warp", "own", "lines"))
        if "block" not in scopes:
            continue
        assert (tool.THREADS >> pattern.shift) << pattern.shift == tool.THREADS
        ends = [pattern.elements(n * tool.THREADS, 4) for n in (1, 2, 3)]
        addresses = tool.THREADS >> pattern.shift
        assert ends[2] - ends[1] == ends[1] - ends[0] == addresses * pattern.spacing(4)


def test_every_variant_has_a_kernel_of_each_type(tool, module):
    names = {v.kernel(name) for v in tool.VARIANTS for name in tool.TYPES}
    assert names == set(module.kernels) and len(names) == 24
    assert tool.Variant("system", True).kernel("float32") == "float32_system_returns"
    assert [v.title for v in tool.VARIANTS] == [
        "device",
        "device, returns",
        "system",
        "system, returns",
        "block",
        "block, returns",
    ]


def test_launches_take_about_as_long_as_asked_for(tool):
    assert tool.FIRST_STEPS == 8
    assert tool.steps_for(0.5, 1) == 16
    assert tool.steps_for(8, 1) == 1 and tool.steps_for(100, 1) == 1
    assert tool.steps_for(1e-9, 1) == tool.MOST_STEPS
    assert tool.steps_for(0.004, 20) == 40_000


def figures(tool):
    return [
        tool.Figure("int32", "one", "device", False, 8, 1.0, 1.25e9),
        tool.Figure("int32", "one", "system", True, 8, 1.0, 0.5e9),
        tool.Figure("float64", "own", "block", True, 8, 1.0, 234.5e9),
    ]


def test_the_table_has_a_row_per_type_and_pattern(tool):
    assert tool.table(figures(tool)) == (
        "| type | addresses | device | device, returns | system | system, returns | block |"
        " block, returns |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| int32 | one address | 1.25 | – | – | 0.5 | – | – |\n"
        "| float64 | one per thread, side by side | – | – | – | – | – | 234 |\n"
    )


class Device:
    def info(self):
        return {"devices": [{"multiprocessors": 1}]}


@pytest.fixture
def run(tool, monkeypatch):
    """Run the tool where 8 additions of each thread take 0.1 ms, and nothing is added."""
    queue = object()
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(current_stream=lambda: queue)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(tool, "open_device", lambda backend: Device())
    monkeypatch.setattr(tool, "BLOCKS", 2)
    launched = []

    class Additions(tool.Additions):
        def __init__(self, module, name, key, blocks, stream):
            assert stream is queue and module == "atomics.cu for cuda" and blocks == 2
            self.name, self.key, self.threads = name, key, blocks * tool.THREADS

        def launch(self, variant, steps):
            launched.append((self.name, self.key, variant, steps))

    def measure(calls, rounds):
        for call in calls.values():
            call()
        return {name: launched[i][3] / 80 for i, name in enumerate(calls, -len(calls))}

    monkeypatch.setattr(tool, "Additions", Additions)
    monkeypatch.setattr(tool.gm, "load", lambda path, backend: f"{path.name} for {backend}")
    monkeypatch.setattr(tool, "measure", measure)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["measure_atomics.py", *words])
        tool.main()
        return launched

    return run


def test_all_of_it(run, tool, tmp_path, capsys):
    files = tmp_path / "a.json", tmp_path / "a.md"
    launched = run("--milliseconds", "0.5", "--json", str(files[0]), "--markdown", str(files[1]))
    kinds = sum(len(tool.variants_for(p)) for p in tool.PATTERNS.values())
    assert len(launched) == 2 * 4 * kinds  # once to find the number of additions
    found = json.loads(files[0].read_text())
    assert found["threads"] == 512 and found["rounds"] == 7 and found["gpumem"]["version"]
    assert len(found["figures"]) == 4 * kinds
    for one in found["figures"]:
        assert (one["steps"], one["ms"]) == (40, 0.5)
        assert one["rate"] == pytest.approx(512 * 40 / 0.5e-3)
    text = files[1].read_text()
    assert text.count("\n") == 2 + 4 * len(tool.PATTERNS)
    assert "| float64 | 1 Mi in random order | 0.041 | 0.041 | 0.041 | 0.041 | – | – |" in text
    assert "uint64   one per warp, a line apart" in capsys.readouterr().out


def test_some_of_it(run):
    launched = run("--types", "float32", "--patterns", "own,one")
    assert {(name, key) for name, key, *_ in launched} == {("float32", "own"), ("float32", "one")}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--types", "int8"], "--types has 'int8', accepted are int32, uint64, float32, float64"),
        (["--patterns", "one,two"], "--patterns has 'two', accepted are one, warp"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
        (["--milliseconds", "0"], "--milliseconds is 0.0, expected more than 0"),
        (["--milliseconds", "nan"], "--milliseconds is nan, expected more than 0"),
    ],
)
def test_what_it_does_not_take(tool, words, told, capsys):
    with pytest.raises(SystemExit):
        tool.parse(words)
    assert told in capsys.readouterr().err


@pytest.mark.gpu
def test_on_a_gpu(tool, monkeypatch, tmp_path):
    """Every figure is there; how large it is depends on the machine."""
    pytest.importorskip("torch")
    file = tmp_path / "found.json"
    words = ["--types", "int32,float64", "--milliseconds", "0.05", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["measure_atomics.py", *words, "--json", str(file)])
    tool.main()
    found = json.loads(file.read_text())["figures"]
    kinds = sum(len(tool.variants_for(p)) for p in tool.PATTERNS.values())
    assert len(found) == 2 * kinds and all(one["rate"] > 0 for one in found)


@pytest.mark.gpu
def test_no_addition_is_lost_on_a_gpu(tool):
    module = gm.load(tool.SOURCE, backend="cuda")
    for name in tool.TYPES:
        for key, pattern in tool.PATTERNS.items():
            additions = tool.Additions(module, name, key, BLOCKS)
            for number, variant in enumerate(tool.variants_for(pattern), 1):
                additions.launch(variant, 6)
                assert additions.out.to_host().sum() == number * 6 * BLOCKS * tool.THREADS
