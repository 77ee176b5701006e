"""``gpumem plot`` and ``traffic --draw``: what is left out, and which memory is drawn."""

import re

import pytest

import gpumem as gm
from gpumem import cli

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(params=["constant", "constant_divergent"])
def report(request):
    return gm.traffic("polynomial", variant=request.param, shape=4096)


# ---- what is left out ---------------------------------------------------------------------


def plot(capsys, *words):
    status = cli.main(["plot", *map(str, words), "--kind", "size"])
    out, err = capsys.readouterr()
    assert status == 0 and len(out.splitlines()) == 1
    return err


def test_variants_without_a_line_are_named(tmp_path, capsys):
    result = gm.results["transpose-h200"]
    err = plot(capsys, "transpose-h200", "-o", tmp_path / "x.png")
    assert all(line.startswith("gpumem: plot: left out: ") for line in err.splitlines())
    drawn = set()
    figure = result.plot("size")
    for line in figure.axes[0].lines:
        if line.get_gid() == "line":
            drawn |= set(line.get_label().replace("\n", " ").split(", "))
    for name in {one["variant"] for one in result.records if one["family"] == "transpose"}:
        told = name in re.findall(r"\w+", " ".join(err.split("left out: ")))
        assert told == (name not in drawn), name
    assert "fastest" in err and "50000x5000" in err and "elements of 4 bytes" in err


def test_what_the_caller_left_out_is_not_told(tmp_path, capsys):
    words = ("copy-h200", "-o", tmp_path / "x.png", "--set", "variants=vec4,memcpy")
    assert plot(capsys, *words) == ""


def test_a_variant_without_a_time_is_told_with_its_reason(tmp_path, capsys):
    result = gm.results["copy-h200"]
    for one in result.records:
        if one["variant"] == "bulk":
            one |= {"median_ms": None, "gbps": None, "reason": "needs compute capability 9.0"}
    result.to_json(tmp_path / "r.json")
    err = plot(capsys, tmp_path / "r.json", "-o", tmp_path / "x.png")
    assert err == "gpumem: plot: left out: bulk: needs compute capability 9.0\n"


# ---- constant memory ----------------------------------------------------------------------


def texts(ax, gid):
    return [text.get_text() for text in ax.texts if text.get_gid() == gid]


def test_constant_memory_is_drawn_by_default_and_by_name(report):
    divergent = report.variant == "constant_divergent"
    for ax in (report.draw(), report.draw(space="constant")):
        passes = 32 if divergent else 1
        word = "passes" if divergent else "pass"
        assert f"constant load, 32 bits: {passes} {word}" in ax.get_title()
        assert texts(ax, "lanes") == (["1"] * 32 if divergent else ["32"])
        assert len(texts(ax, "pass")) == 32
        assert max(map(int, texts(ax, "pass"))) == passes


def test_the_drawn_passes_are_the_counted_ones(report):
    for place, site in enumerate(report.sites):
        if site["space"] == "constant":
            ax = report.draw(place)
            assert max(map(int, texts(ax, "pass"))) == site["bank_ways"]


def test_another_space_of_the_same_kernel(report):
    assert "global load" in report.draw(space="global").get_title()
    site = next(i for i, one in enumerate(report.sites) if one["space"] == "global")
    assert "global load" in report.draw(site).get_title()
    with pytest.raises(ValueError, match=f"site {site} is of global memory, not of constant"):
        report.draw(site, space="constant")
    with pytest.raises(ValueError, match=r"space is 'shared', but polynomial-.* uses: const"):
        report.draw(space="shared")


def test_the_command_draws_the_space_that_it_is_told(tmp_path, capsys, monkeypatch):
    drawn = []
    true = gm.Traffic.draw
    monkeypatch.setattr(
        gm.Traffic, "draw", lambda *args, **keys: (drawn.append(true(*args, **keys)), drawn[-1])[1]
    )
    words = ["traffic", "polynomial", "--variant", "constant", "--shape", "4096"]
    for space in ("constant", "global"):
        file = str(tmp_path / f"{space}.png")
        assert cli.main([*words, "--draw", file, "--space", space]) == 0
        assert f"{space} load" in drawn[-1].get_title()
    assert cli.main([*words, "--draw", file, "--space", "shared"]) == 2
    assert "uses: constant, global" in capsys.readouterr().err
