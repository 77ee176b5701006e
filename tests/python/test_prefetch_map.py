"""The map of prefetch_sum and the advice made from it, for measurements with known answers."""

import matplotlib
import pytest
from matplotlib import pyplot

import gpumem as gm
from gpumem import cli
from gpumem.base.result import BenchResult
from gpumem.report import prefetch_points

matplotlib.use("Agg")

SM, PEAK = 10, 4000.0


def record(variant, ms, rows=10, n=12800, **parameters):
    nbytes = rows * n * 8
    gbps = nbytes / ms / 1e6
    return {
        "family": "prefetch_sum",
        "variant": variant,
        "ran": variant,
        "backend": "cuda",
        "shape": [rows, n],
        "dtype": "float64",
        "parameters": parameters,
        "bytes": nbytes,
        "flops": None,
        "cache": "cold",
        "median_ms": ms,
        "gbps": gbps,
        "tflops": None,
        "fraction_of_peak": gbps / PEAK,
        "fraction_of_reference": None,
        "reason": None,
    }


def result(*records):
    device = {"name": "a device", "multiprocessors": SM}
    return BenchResult(
        list(records), {"device": device, "date": "2030-01-02", "commit": "0123456789abc"}
    )


def few_and_many():
    """Prefetching pays with one block per multiprocessor and not with eight."""
    return result(
        record("baseline", 0.10, work=1),
        record("unroll", 0.099, work=1, distance=4),
        record("smem_rolling_async", 0.04, work=1, distance=4, padding="auto"),
        record("smem_rolling_async", 0.02, work=1, distance=8, padding="auto"),
        record("smem_rolling_async", 0.05, work=1, distance=8, padding=0),
        record("baseline", 0.02048, rows=80, work=1),
        record("unroll", 0.0204, rows=80, work=1, distance=4),
        record("smem_rolling_async", 0.0256, rows=80, work=1, distance=8, padding="auto"),
        record("smem_rolling_async", 0.0512, rows=80, work=1, distance=8, padding=0),
    )


def test_points_are_ordered_and_counted():
    few, many = prefetch_points.points(few_and_many())
    assert (few.blocks, few.warps, few.threads, few.steps) == (1, 4, 128, 100)
    assert (many.blocks, many.warps) == (8, 32)
    assert few.best == ("smem_rolling_async", 8, "auto", 0.02, pytest.approx(5))
    assert [t.median_ms for t in few.tries] == sorted(t.median_ms for t in few.tries)
    assert few.find(distance=4).speed_up == pytest.approx(2.5)
    assert few.find("smem_rolling_async", 8, 0).speed_up == pytest.approx(2)
    assert few.find("bulk") is None
    assert many.best.variant == "unroll"


def test_threads_and_barriers_are_points_of_their_own():
    found = prefetch_points.points(
        result(
            record("baseline", 1.0, threads=128),
            record("l2", 0.5, threads=128, distance=1),
            record("baseline", 1.0, threads=256, sync=True),
            record("l2", 0.8, threads=256, sync=True, distance=1),
        )
    )
    assert [(p.warps, p.steps, p.parameters["sync"], p.work) for p in found] == [
        (4, 100, False, 2),
        (8, 50, True, 2),
    ]


def test_orders_are_points_of_their_own():
    stream = few_and_many()
    single = result(*(one | {"order": "single", "median_ms": 1.0} for one in stream.records))
    both = result(*stream.records, *single.records)
    assert [p.order for p in prefetch_points.points(both)] == ["single"] * 2 + ["stream"] * 2
    assert prefetch_points.points(both)[2:] == prefetch_points.points(stream)
    pytest.importorskip("matplotlib")
    for kind in ("distance", "map"):
        with pytest.raises(ValueError, match=r"several values of order: result\.filter\(order="):
            both.plot(kind)
        assert "single calls" in single.plot(kind).get_suptitle()


def test_the_table_has_the_best_and_the_worst(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")  # a row is one line
    lines = gm.prefetch_table(few_and_many()).splitlines()
    assert lines[0].split()[:4] == ["work", "blocks/SM", "warps/SM", "GB/s"]
    assert "5.00" in lines[1] and "smem_rolling_async at distance 8 " in lines[1]
    assert "0.40" in lines[2] and "smem_rolling_async at distance 8, padding 0" in lines[2]


def test_the_advice_follows_from_the_figures():
    text = gm.prefetch_advice(few_and_many())
    assert "a device: prefetching pays at 1 of 2 points measured." in text
    assert "smem_rolling_async at distance 8 is 5.00 times as fast" in text
    assert "bandwidth is not saturated: the baseline moves 10 GB/s, 0 % of the peak" in text
    # 8 times as many warps make it 39 times as fast
    assert "few warps: 8 times as many warps (32) make the baseline 39.06 times as fast" in text
    assert "a long loop: 100 steps per thread, 12.5 times the distance" in text
    assert "Not at work 1, 32 warps per multiprocessor: the best, unroll at distance 4" in text
    assert "It loses most at work 1, 32 warps per multiprocessor" in text
    assert "only 0.40 times as fast" in text
    assert "at distance 8 takes 150 % longer without it (work 1, 4 warps" in text


def test_other_figures_make_other_words():
    text = gm.prefetch_advice(
        result(
            record("baseline", 0.00003, n=1280, work=0, sync=True),
            record("l2", 0.000029, n=1280, work=0, sync=True, distance=2),
            record("baseline", 0.00006, rows=20, n=1280, work=0, sync=True),
            record("l2", 0.00006, rows=20, n=1280, work=0, sync=True, distance=2),
        )
    )
    assert "pays at 0 of 2 points" in text and "Most at" not in text
    assert "bandwidth is saturated: the baseline moves 3413 GB/s, 85 % of the peak" in text
    assert "enough warps: 2 times as many warps (8) make the baseline 1.00 times as fast" in text
    assert "a short loop: 10 steps per thread, 5 times the distance" in text
    assert "a barrier in every step" in text
    assert "loses" not in text and "Padding" not in text


def test_an_unknown_peak_is_told():
    records = few_and_many().records
    for one in records:
        one["fraction_of_peak"] = None
    text = gm.prefetch_advice(result(*records))
    assert "the device's peak is not known" in text and "saturated" not in text


@pytest.mark.parametrize(
    "records",
    [[], [record("baseline", 1.0)], [record("l2", 1.0, distance=1)], [record("auto", 1.0)]],
    ids=["none", "baseline", "no-baseline", "auto"],
)
def test_a_result_without_a_comparison_is_refused(records):
    for ask in (gm.prefetch_advice, gm.prefetch_table, prefetch_points.points):
        with pytest.raises(ValueError, match="together with its baseline"):
            ask(result(*records))


# ---- pictures -----------------------------------------------------------------------------


def numbers(figure):
    return sorted(text.get_text() for ax in figure.axes for text in ax.texts)


def test_a_map_has_the_best_of_each_distance():
    figure = few_and_many().plot("map")
    (ax,) = figure.axes
    assert [t.get_text() for t in ax.get_xticklabels()] == ["4", "8"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["4", "32"]
    assert numbers(figure) == sorted(["2.50 b", "5.00 b", "1.00 a", "0.80 b"])
    assert "a device, 2030-01-02, commit 0123456789" in figure.get_suptitle()
    assert "a unroll" in figure.get_supxlabel()


def test_a_map_of_one_variant():
    figure = few_and_many().plot("map", variant="smem_rolling_async", padding=0)
    assert numbers(figure) == ["0.40", "2.00"]
    assert "smem_rolling_async, padding 0" in figure.get_suptitle()


def test_lines_against_distance():
    figure = few_and_many().plot("distance")
    few, many = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in few.lines}
    assert drawn["smem_rolling_async"] == pytest.approx([2.5, 5])
    assert drawn["smem_rolling_async, no padding"] == pytest.approx([2])
    assert few.get_title() == "work 1, 4 warps per SM"
    assert many.get_title() == "work 1, 32 warps per SM"
    looks = [(line.get_marker(), line.get_linestyle()) for line in few.lines[:3]]
    assert len(set(looks)) == 3  # distinct without colour
    chosen = few_and_many().plot("distance", warps=4, variants=["unroll"])
    assert len(chosen.axes) == 1 and len(chosen.axes[0].lines) == 2  # and the baseline


@pytest.mark.parametrize(
    ("kind", "options", "error", "message"),
    [
        ("pie", {}, ValueError, "kind is 'pie', expected one of: size, .*, map"),
        ("map", {"work": 7}, ValueError, "work 7 was not measured; there are: 1"),
        ("map", {"variant": "bulk"}, ValueError, "variant 'bulk' was not measured"),
        ("map", {"variant": "unroll", "padding": 0}, ValueError, "was not measured"),
        ("map", {"warps": 4}, TypeError, "map has no option 'warps'; its options: work"),
        ("distance", {"warps": 5}, ValueError, "warps 5 was not measured; there are: 4"),
        ("distance", {"variants": ["x"]}, ValueError, "variants 'x' was not measured"),
    ],
)
def test_what_cannot_be_drawn_is_told(kind, options, error, message):
    with pytest.raises(error, match=message):
        few_and_many().plot(kind, **options)
    assert not pyplot.get_fignums()


def test_the_command_line_draws_a_result(tmp_path, capsys):
    source, picture = tmp_path / "r.json", tmp_path / "r.png"
    few_and_many().to_json(source)
    command = ["plot", str(source), "--kind", "map", "--set", "work=1", "-o", str(picture)]
    assert cli.main(command) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "map of" in capsys.readouterr().out
    assert cli.main([*command[:2], "--kind", "tree", "-o", str(picture)]) == 2
    assert "expected one of: size, ladder" in capsys.readouterr().err
