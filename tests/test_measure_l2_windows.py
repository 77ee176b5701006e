"""tools/measure_l2_windows.py with a stand-in for l2_windows.cu; the table of its figures."""

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
import measure_l2_windows as tool

MIB = 2**20
STREAM_MS = 0.25
SET_ASIDE, MOST_WINDOW = 30 * MIB, 64 * MIB


class Library:
    """l2_windows.cu: what persists costs nothing, the rest as much as the stream.

    The first round is slow, the third too.
    """

    def __init__(self, set_aside=SET_ASIDE, fails=None):
        self.set_aside, self.fails = set_aside, fails
        self.calls, self.opened, self.closed = [], None, 0

    def windows_open(self, most_hot, stream, set_aside, window):
        self.opened = most_hot.value, stream.value
        set_aside._obj.value, window._obj.value = self.set_aside, MOST_WINDOW
        return 0

    def windows_measure(self, streamed, hint, random, hot, window, ratio, set_aside, launches, ms):
        case = (
            *(one.value for one in (streamed, hint, random)),
            *(one.value for one in (hot, window, ratio, set_aside)),
        )
        self.calls.append((*case, launches.value))
        if self.fails == len(self.calls):
            return 700
        number = sum(one[:-1] == case for one in self.calls)
        kept = min(window.value * ratio.value, set_aside.value) / hot.value if hot.value else 0
        missed = (1 - kept) / streamed.value if hot.value else 0
        ms._obj.value = STREAM_MS * (1 + missed) * {1: 3, 3: 2}.get(number, 1)
        return 0

    def windows_close(self):
        self.closed += 1
        return 0

    def windows_error(self, error):
        return b"cudaErrorIllegalAddress"


def run(monkeypatch, library, *words):
    monkeypatch.setattr(sys, "argv", ["measure_l2_windows.py", *words])
    monkeypatch.setattr(tool, "compile_program", lambda folder: library)
    monkeypatch.setattr(tool, "open_device", lambda backend: MadeUpDevice())
    tool.main()


def test_figures_are_over_the_stream_alone(monkeypatch, tmp_path, capsys):
    file, library = tmp_path / "found.json", Library()
    words = ("--hot", "1M,40M,96M", "--rounds", "4", "--launches", "2", "--json", str(file))
    run(monkeypatch, library, *words)
    found = json.loads(file.read_text())
    assert found["provenance"]["device"]["name"] == "made-up device"
    assert (found["stream"], found["launches"], found["rounds"]) == (2**30, 2, 4)
    assert (found["most_set_aside_bytes"], found["most_window_bytes"]) == (SET_ASIDE, MOST_WINDOW)
    assert library.opened == (96 * MIB, 2**30) and library.closed == 1
    assert {call[-1] for call in library.calls} == {2}
    by_case = {
        (one["streamed"], one["order"], one["hot_bytes"], one["way"]): one
        for one in found["figures"]
    }
    assert len(by_case) == len(found["figures"]) == len(library.calls) // 4
    # Both streams alone, two orders, 1 MiB by four ways, the others by six.
    assert len(by_case) == 2 * 2 + 2 * 2 * (4 + 6 + 6)
    for (streamed, _, hot, way), one in by_case.items():
        memory = 1 / streamed if hot else 0
        if way == tool.WINDOW.name:
            memory *= 1 - min(hot, SET_ASIDE) / hot
        if way == tool.TUNED.name:
            memory *= 1 - SET_ASIDE / hot
        if way == tool.HALF.name:
            memory *= 1 - SET_ASIDE / 2 / hot
        # Of four rounds the median is between a slow one and those that count.
        assert one["slowdown"] == pytest.approx(1 + memory)
        assert one["least_ms"] == pytest.approx(STREAM_MS * (1 + memory))
        assert one["most_ms"] == pytest.approx(3 * STREAM_MS * (1 + memory))
        read = 2**30 * (1 + (1 / streamed if hot else 0))
        assert one["gbps"] == pytest.approx(read / one["ms"] / 1e6)
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * (1 + 2 * 3)


@pytest.mark.parametrize(
    ("way", "hot", "window"),
    [
        (tool.PLAIN, 96 * MIB, (0, 0, 0)),
        (tool.FIRST, 96 * MIB, (0, 0, 0)),
        (tool.LAST, 96 * MIB, (0, 0, 0)),
        (tool.WINDOW, 8 * MIB, (8 * MIB, 1, 8 * MIB)),
        (tool.WINDOW, 40 * MIB, (40 * MIB, 1, 30 * MIB)),
        (tool.WINDOW, 96 * MIB, (64 * MIB, 1, 30 * MIB)),
        (tool.TUNED, 40 * MIB, (40 * MIB, 0.75, 30 * MIB)),
        (tool.TUNED, 96 * MIB, (64 * MIB, 30 / 64, 30 * MIB)),
        (tool.HALF, 20 * MIB, (20 * MIB, 0.75, 20 * MIB)),
        (tool.HALF, 60 * MIB, (60 * MIB, 0.25, 30 * MIB)),
    ],
)
def test_windows_are_within_the_limits(way, hot, window):
    assert tool.window_of(way, hot, tool.Limits(SET_ASIDE, MOST_WINDOW)) == window


def test_ways_take_turns(monkeypatch, capsys):
    library = Library()
    run(monkeypatch, library, "--hot", "1M,64M", "--rounds", "3")
    third = len(library.calls) // 3
    assert library.calls[:third] == library.calls[third : 2 * third] == library.calls[2 * third :]
    assert len(set(library.calls[:third])) == third


def test_a_device_without_a_set_aside_is_named(monkeypatch):
    library = Library(set_aside=0)
    with pytest.raises(SystemExit, match="sets no part of its L2 aside"):
        run(monkeypatch, library)
    assert not library.calls and library.closed == 1


def test_an_error_ends_it_and_the_device_is_left_as_it_was(monkeypatch):
    library = Library(fails=3)
    with pytest.raises(SystemExit, match="cudaErrorIllegalAddress"):
        run(monkeypatch, library)
    assert len(library.calls) == 3 and library.closed == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--hot", "1000"], "--hot has 1000, expected a multiple of 512"),
        (["--stream", "512"], "--stream has 512, expected a multiple of 2048"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
        (["--launches", "0"], "--launches is 0, expected at least 1"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, Library(), *words)
    assert told in capsys.readouterr().err


def test_the_program_compiles_and_has_a_kernel_per_mix(tmp_path):
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not here")
    command = [nvcc, "-arch=sm_80", "-std=c++17", "-Werror", "all-warnings", "-c"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "l2_windows.o"), str(tool.SOURCE)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for streamed in tool.STREAMED:
        assert f"case {streamed}: " in tool.SOURCE.read_text()


def test_the_table_has_a_row_per_size_and_is_empty_without_a_result(monkeypatch):
    document = "<!-- l2 windows: l2-windows-h200 4 in-turn -->\n<!-- end -->"
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    assert document_tables.filled(document) == document

    def one(streamed, hot, way, slowdown, order="in turn"):
        return {
            **{"order": order, "streamed": streamed, "hot_bytes": hot, "way": way},
            **{"slowdown": slowdown, "gbps": 1000.0 * streamed},
        }

    figures = [
        one(1, 0, "plain loads", 1.0),
        one(4, 0, "plain loads", 1.0),
        one(4, 0, "stream evicted first", 1.0),
        one(1, MIB, "plain loads", 1.9),
        one(4, MIB, "plain loads", 1.01),
        one(4, 2 * MIB, "plain loads", 1.2),
        one(4, 2 * MIB, "plain loads", 1.3, "random"),
        one(4, 2 * MIB, "a window", 1.1),
    ]
    provenance = {"device": {"name": "a device"}, "date": "2026-01-01"}
    found = {"provenance": provenance, "figures": figures}
    monkeypatch.setattr(of_tools, "load", lambda name: found)
    rows = document_tables.filled(document).splitlines()[1:]
    assert rows[0] == "| hot region | plain loads | a window |"
    assert rows[2:4] == ["| 1 MiB | 1.01 | – |", "| 2 MiB | 1.20 | 1.10 |"]
    assert rows[5] == "a device, 2026-01-01: the stream alone, 4000 GB/s."


def test_shipped_figures_are_of_the_tools_ways():
    found = of_tools.load("l2-windows-h200")
    assert {one["way"] for one in found["figures"]} <= {way.name for way in tool.WAYS}
    for one in found["figures"]:
        read = found["stream"] * (1 + bool(one["hot_bytes"]) / one["streamed"])
        assert one["gbps"] == pytest.approx(read / one["ms"] / 1e6)
