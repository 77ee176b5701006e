"""What each kind of picture shows."""

import figure_checks
import pytest
from plot_cases import SGEMM, products, record, result, strides, transfers, trips

import gpumem as gm
from gpumem.base.record import Record
from gpumem.count import intensity as intensity_module


def test_a_sweep():
    (ax,) = result(*strides(), record("copy", "memcpy", 3900.0)).plot("sweep").axes
    drawn = {line.get_label(): line for line in ax.lines if line.get_gid() == "line"}
    assert list(drawn) == ["cached", "uncached"]
    assert list(drawn["cached"].get_xdata()) == [1, 2, 8]
    assert list(drawn["cached"].get_ydata()) == [3000, 2000, 500]
    assert list(drawn["uncached"].get_ydata()) == [6000, 4000, 1000]
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "reference"] == [3900]
    assert ax.get_xlabel() == "stride" and "stride" in ax.figure.get_suptitle()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "8"]
    (ax,) = result(*strides()).plot("sweep", variants="cached").axes
    assert [line.get_label() for line in figure_checks.named_lines(ax)] == ["cached"]


def test_a_sweep_over_words():
    shown = [record("copy", "vec4", 1.0 + i, parameters={"way": w}) for i, w in enumerate("ba")]
    (ax,) = result(*shown).plot("sweep").axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["b", "a"]
    assert list(ax.lines[0].get_ydata()) == [1, 2]


def test_round_trips():
    figure = result(*trips()).plot("roundtrip")
    panels = [ax for ax in figure.axes if ax.patches]
    assert [ax.get_title() for ax in panels] == [
        "copy, 1 MiB, pageable", "copy, 1 MiB, pinned", "add, 1 MiB, pageable", "add, 1 MiB, pinned"
    ]  # fmt: skip
    for i, ax in enumerate(panels):
        names = [tick.get_text() for tick in ax.get_yticklabels()]
        assert names == ([] if i % 2 else ["gpumem", "numpy"])  # once for both
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        assert ends == pytest.approx([16, 120])  # of the larger size
        assert [line.get_xdata()[0] for line in ax.lines] == [10]
    cells = [ax.get_yticklabels() for ax in figure.axes if not ax.patches]
    assert [[tick.get_text().strip() for tick in one] for one in cells] == [["16.0", "120.0"]] * 4
    one = result(*trips()).plot("roundtrip", variants="add", memory="pinned", by=["numpy"])
    (ax,) = (ax for ax in one.axes if ax.patches)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["numpy"]
    assert len(ax.patches) == 1 and ax.get_title().startswith("add, 1 MiB, pinned")


def test_a_round_trip_that_was_not_measured_leaves_its_row_empty():
    """Panels have the rows of the panel at the left, which has the names."""
    some = [
        t
        for t in trips()
        if (t["parameters"]["by"], t["parameters"]["kind"]) != ("numpy", "pinned")
    ]
    figure = result(*some).plot("roundtrip", variants="copy")
    panels = [ax for ax in figure.axes if ax.patches]
    cells = [ax.get_yticklabels() for ax in figure.axes if not ax.patches]
    assert [len(ax.patches) for ax in panels] == [2, 1]
    assert [tick.get_text().strip() for tick in cells[1]] == ["16.0", "\N{EN DASH}"]


def test_many_variants_are_the_fastest():
    names = [v.name for v in gm.variants("transpose")]
    shown = result(
        *(
            record("transpose", name, 100 * (1 + i), 8 * side * side, (side, side))
            for i, name in enumerate([*names, "auto"])
            for side in (64, 128)
        ),
        *(record("copy", "memcpy", 50, 8 * side * side, (side, side)) for side in (64, 128)),
        record("transpose", "auto", 9.0, 8 * 5 * 99, (5, 99)),  # not square
    )
    lines = [one for one in shown.plot("size").axes[0].lines if one.get_gid() == "line"]
    assert [line.get_label() for line in lines] == [*names[-8:], "auto", "copy-memcpy"]
    assert all(len(line.get_xdata()) == 2 for line in lines)


def test_a_ladder_of_bars():
    shown = result(
        *(record("copy", name, rate) for name, rate in (("vec4", 3000.0), ("scalar", 1000.0))),
        record("copy", "memcpy", 2000.0),
        record("copy", "auto", 3000.0),
        record("copy", "torch", 500.0),
        record("copy", "scalar", 10.0, 2**13),
    )
    ax, beside = shown.plot("ladder").axes
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["scalar", "vec4", "auto", "torch"]
    assert [bar.get_width() for bar in ax.patches] == [1000, 3000, 3000, 500]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, False, False, True]
    cells = [tick.get_text().split() for tick in beside.get_yticklabels()]
    assert cells == [["1000", "0.500"], ["3000", "1.500"], ["3000", "1.500"], ["500", "0.250"]]
    assert [line.get_xdata()[0] for line in ax.lines] == [2000]
    small, _ = shown.plot("ladder", shape=(1024,)).axes
    assert [tick.get_text() for tick in small.get_yticklabels()] == ["scalar"]


def test_a_ladder_has_those_who_take_another_shape():
    """A structure of arrays has its axes in the other order."""
    rates = {"aos": ((9, 2), 1000.0), "aos_vec2": ((9, 2), 2000.0), "soa": ((2, 9), 3000.0)}
    shown = [record("shift_points", v, r, 2**20, shape) for v, (shape, r) in rates.items()]
    shown += [record("copy", "memcpy", 4000.0, 2**20, shape) for shape in ((9, 2), (2, 9))]
    shown += [record("shift_points", "soa", 1.0, 2**10, (2, 3))]
    ax, _ = result(*shown).plot("ladder").axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(rates)
    assert [bar.get_width() for bar in ax.patches] == [1000, 2000, 3000]
    (ax, _) = result(*shown).plot("ladder", shape=(2, 9)).axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["soa"]


def test_a_family_with_another_reference_is_told_in_its_unit():
    """A copy has no operations: if it is the reference, bytes per second are compared."""
    flops = record("polynomial", "global", 1000.0, flops=10**9)
    ax, _ = result(flops, record("copy", "memcpy", 2000.0)).plot("ladder").axes
    assert ax.patches[0].get_width() == 1000 and "GB/s" in ax.get_xlabel()
    ax, _ = products().plot("ladder").axes
    assert ax.get_xlabel().startswith("TFLOP/s") and ax.patches[0].get_width() == pytest.approx(1)


def test_a_roofline():
    figure = products().plot("roofline")
    (ax,) = figure.axes
    points = [line for line in ax.lines if line.get_gid() == "point"]
    assert len(points) == len(SGEMM)
    assert [p.get_ydata()[0] for p in points] == pytest.approx(list(SGEMM.values()))
    where = dict(zip(SGEMM, (p.get_xdata()[0] for p in points), strict=True))
    # 40 bytes per 32 products of a warp, whose lanes share a; the block's 128 x 128 of smem.
    assert 0.3 < where["naive"] < 0.5 < 3 < where["vec4"] < 5 < 25 < where["smem"] < 32
    assert where["cublas"] == pytest.approx(2 * 1024 / 12)
    assert [p.get_fillstyle() for p in points] == ["full"] * 8 + ["none"] * 2
    slope, peak = (line for line in ax.lines if line.get_gid() == "roof")
    assert list(peak.get_ydata()) == [60, 60]
    for x, y in zip(slope.get_xdata(), slope.get_ydata(), strict=True):
        assert y == pytest.approx(4 * x)  # TFLOP/s at 4 TB/s
    labels = [text.get_text() for text in ax.texts if text.get_gid() == "label"]
    assert sorted(labels) == sorted(SGEMM)


def test_how_much_a_product_moves_does_not_depend_on_what_is_simulated():
    """Whole tiles of 128 x 128: per step 8 * 128 bytes for 2 * 128 * 128 operations, and C once."""

    def intensity(variant, shape):
        row = Record.from_dict(record("sgemm", variant, 1.0, 1, shape, 1))
        return intensity_module.intensity(row, 132)

    for n in (256, 1024, 8192):
        exact = 2 * n / (8 * n / 128 + 4)
        for variant in ("smem", "warp_tile"):
            assert intensity(variant, (n, n, n)) == (pytest.approx(exact), True)
    # Enough tiles for all multiprocessors: no tile is shared.
    assert intensity("warp_tile_tma", (8192,) * 3)[0] == pytest.approx(exact)
    # Tiles for half of them: blocks share tiles, and write and read their sums.
    few, _ = intensity("warp_tile_tma", (1024, 1024, 256))
    assert few < 0.6 * intensity("warp_tile", (1024, 1024, 256))[0]
    # Factors with unaligned rows are packed first, which adds little for large sides.
    odd, _ = intensity("warp_tile_tma", (4095, 4097, 4099))
    assert 0.8 * exact < odd < 0.95 * exact
    assert intensity("smem", (1, 1, 1))[1] and intensity("vec4", (5, 300, 1))[1]


def test_transfers():
    figure = transfers().plot("transfer")
    assert [ax.get_title() for ax in figure.axes] == ["to device", "to host"]
    for ax in figure.axes:
        assert [line.get_label() for line in ax.lines] == ["pageable", "pinned", "write_combined"]
        assert len(ax.lines[0].get_xdata()) == 19
    one = transfers().plot("transfer", memory="pinned", direction="to_host")
    assert len(one.axes) == 1 and len(one.axes[0].lines) == 1


def test_single_calls_have_a_picture_of_their_own():
    """The title says so; of both orders, calls in a row are drawn unless the other is chosen."""
    sizes = (2**20, 2**22)
    rates = {"stream": 2000.0, "single": 1000.0}
    both = result(
        *(
            record("copy", name, rate, nbytes, order=order)
            for order, rate in rates.items()
            for nbytes in sizes
            for name in ("auto", "memcpy")
        )
    )
    for given, order in (({}, "stream"), ({"order": "single"}, "single")):
        (ax,) = both.plot("size", **given).axes
        (line,) = (one for one in figure_checks.named_lines(ax) if one.get_label() == "auto")
        assert list(line.get_ydata()) == [rates[order]] * 2
        assert ("float32, cold L2, single calls\n" in ax.figure.get_suptitle()) == bool(given)
        figure = both.plot("ladder", **given)
        assert figure.axes[0].patches[0].get_width() == rates[order]
        assert ("single calls" in figure.get_suptitle()) == bool(given)
    swept = [one | {"order": "single"} for one in strides()]
    assert "cold L2, single calls" in result(*swept).plot("sweep").get_suptitle()
    squares = [one | {"order": "single"} for one in products().records]
    assert ", single calls: roofline" in result(*squares).plot("roofline").get_suptitle()
