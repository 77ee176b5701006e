"""Pictures of sweeps and of additions in each kind of host memory."""

import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

import figure_checks
from matplotlib import pyplot

from gpumem.report import plots
from gpumem.results import of_tools

SWEEPS = of_tools.load("sweeps-h200")


@pytest.fixture
def drawn():
    """Return a function that checks a picture for visible faults, and returns its axes."""

    def check(ax):
        ax.figure.draw_without_rendering()
        assert not figure_checks.complaints(ax.figure)
        return ax

    yield check
    pyplot.close("all")


def rates(variant, **wanted):
    (one,) = (
        s
        for s in SWEEPS["series"]
        if s["variant"] == variant and all(s[key] == value for key, value in wanted.items())
    )
    return one["gbps"]


def test_a_line_per_variant(drawn):
    names = ["scalar", "vec4"]
    ax = drawn(plots.draw_series(SWEEPS, "max_blocks", names))
    assert [line.get_label() for line in ax.lines] == names
    for line, name in zip(ax.lines, names, strict=True):
        assert list(line.get_ydata()) == rates(name, sweep="max_blocks")
    assert ax.get_xticklabels()[-1].get_text() == "default" and ax.get_ylim()[0] == 0


def test_shares_of_the_first_value(drawn):
    chosen = {"family": "strided_write", "dtype": "float64"}
    ax = drawn(plots.draw_series(SWEEPS, "offset", ["unroll4"], relative=True, **chosen))
    wanted = rates("unroll4", sweep="offset", **chosen)
    (line,) = ax.lines
    assert list(line.get_ydata()) == pytest.approx([rate / wanted[0] for rate in wanted])
    assert "dtype=float64" in ax.get_title()


def test_some_values_of_one_of_several_series(drawn):
    ax = drawn(plots.draw_series(SWEEPS, "block", ["naive_row"], values=[[8, 32], [32, 8]]))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["8x32", "32x8"]
    thin, wide = ax.lines[0].get_ydata()
    assert thin > wide
    one = plots.draw_series(SWEEPS, "threads", ["baseline"], rows=132, sync=True)
    other = plots.draw_series(SWEEPS, "threads", ["baseline"], rows=1056, sync=True)
    assert list(one.lines[0].get_ydata()) != list(other.lines[0].get_ydata())


def test_additions_by_kind_of_memory(drawn):
    found = of_tools.load("host-memory-h200")
    ax = drawn(plots.draw_additions(found))
    points = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
    assert points["pinned"] > points["managed"]  # managed memory is measured up to 64 MiB
    assert sum(points.values()) == len(found["add"])
