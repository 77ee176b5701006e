"""tools/measure_launches.py with a stand-in for launches.cu; the table that shows its figures."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_up import MadeUpDevice

from gpumem.results import of_tools

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import document_tables
import measure_launches as tool


class Library:
    """launches.cu: the first call of each way is slow, the last of three too."""

    def __init__(self, errors=()):
        self.errors = dict(errors)
        self.calls = []

    def launches_measure(self, kind, launches, count, host, device, making):
        way = kind.value, count.value
        self.calls.append((*way, launches.value))
        number = sum(one[:2] == way for one in self.calls)
        if kind.value in self.errors:
            return 1 + list(self.errors).index(kind.value)
        host._obj.value = {1: 1000, 4: 90}.get(number, 2 + kind.value + count.value / 8)
        if kind.value != tool.WAITING:
            device._obj.value = 1.5 / count.value
        if kind.value == tool.GRAPH:
            making._obj.value = 7
        return 0

    def launches_error(self, error):
        return list(self.errors.values())[error - 1].encode()


def run(monkeypatch, library, *words):
    monkeypatch.setattr(sys, "argv", ["measure_launches.py", *words])
    monkeypatch.setattr(tool, "compile_launches", lambda folder: library)
    monkeypatch.setattr(tool, "open_device", lambda backend: MadeUpDevice())
    tool.main()


def test_a_figure_is_the_median_of_the_rounds_that_count(monkeypatch, tmp_path, capsys):
    file = tmp_path / "found.json"
    library = Library()
    run(monkeypatch, library, "--launches", "50", "--rounds", "3", "--json", str(file))
    found = json.loads(file.read_text())
    assert (found["launches"], found["rounds"]) == (50, 3)
    assert found["provenance"]["device"]["name"] == "made-up device"
    assert len(found["figures"]) == len(tool.LADDER) and len(library.calls) == 4 * len(tool.LADDER)
    assert {launches for *_, launches in library.calls} == {50}
    for way, one in zip(tool.LADDER, found["figures"], strict=True):
        assert (one["way"], one["streams"]) == (way.name, way.count)
        assert one["host_us"] == 2 + way.kind + way.count / 8
        assert one["device_us"] == (None if way.kind == tool.WAITING else 1.5 / way.count)
        assert one["making_us"] == (7 if way.kind == tool.GRAPH else None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(tool.LADDER) and lines[1].split()[-3:] == ["2.12", "-", "-"]


def test_ways_take_turns(monkeypatch, capsys):
    library = Library()
    run(monkeypatch, library, "--rounds", "2")
    ways = [call[:2] for call in library.calls]
    assert ways == [(way.kind, way.count) for way in tool.LADDER] * 3


def test_a_way_that_the_device_does_not_know_is_left_out(monkeypatch, capsys):
    run(monkeypatch, Library({tool.PROGRAMMATIC: "cudaErrorNotSupported"}), "--rounds", "1")
    out = capsys.readouterr().out
    assert "programmatic launches: not available, cudaErrorNotSupported" in out
    assert len(out.splitlines()) == 1 + len(tool.LADDER)


@pytest.mark.parametrize("kind", [tool.QUEUED, tool.PROGRAMMATIC])
def test_other_errors_end_it(kind, monkeypatch):
    with pytest.raises(SystemExit, match="cudaErrorLaunchFailure"):
        run(monkeypatch, Library({kind: "cudaErrorLaunchFailure"}))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--launches", "501"], "--launches is 501, expected 1 to 500"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, Library(), *words)
    assert told in capsys.readouterr().err


def test_the_program_compiles(tmp_path):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not here")
    command = [nvcc, "-arch=sm_80", "-std=c++17", "-Werror", "all-warnings", "-c"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "launches.o"), str(tool.SOURCE)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_table_has_a_row_per_way_and_is_empty_without_a_result(monkeypatch):
    document = "<!-- launches: launches-h200 -->\n<!-- end -->"
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    assert document_tables.filled(document) == document
    figures = [
        tool.Figure("one by one", 1, 2.125, 1.0, None)._asdict(),
        tool.Figure("a graph", 1, 0.25, 0.5, 3.0)._asdict(),
    ]
    provenance = {"device": {"name": "a device"}, "date": "2026-01-01"}
    found = {"provenance": provenance, "launches": 200, "figures": figures}
    monkeypatch.setattr(of_tools, "load", lambda name: found)
    rows = document_tables.filled(document).splitlines()[1:]
    assert rows[2] == "| one by one | 2.12 | 1.00 | – |"
    assert rows[3] == "| a graph | 0.25 | 0.50 | 3.00 |"
    assert rows[5] == "a device, 2026-01-01: 200 launches."
