"""Pictures of who holds which tile, held against the stores that the simulator sees."""

import pytest

import gpumem as gm
from gpumem.report import plots
from gpumem.report.plots import _tiles


@pytest.fixture
def drawn():
    """Return a function that checks a figure for visible faults."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    import figure_checks
    from matplotlib import pyplot

    def check(figure):
        figure.draw_without_rendering()
        assert not figure_checks.complaints(figure)
        return figure

    yield check
    pyplot.close("all")


@pytest.mark.parametrize(
    ("variant", "owners"),
    [
        ("thread_tile", _tiles.thread_tile_owners),
        ("warp_tile", _tiles.warp_tile_owners),
        ("warp_tile_tma", _tiles.warp_tile_owners),
    ],
)
def test_owners_store_their_elements(variant, owners):
    """Lanes store what they hold; addresses are relative to the first that a request has."""
    warps, lanes = owners()
    report = gm.traffic("sgemm", variant=variant, shape=(128, 128, 8))
    samples = [
        one
        for site in report.sites
        if (site["space"], site["kind"], site["width"]) == ("global", "store", 128)
        for one in site["samples"]
    ]
    assert samples
    for one in samples:
        base = (warps == one["warp"]) & (lanes == one["lanes"][0])
        assert base.any()
        first = base.reshape(-1).argmax() * 4
        for lane, address in zip(one["lanes"], one["addresses"], strict=True):
            at = (first + address - one["addresses"][0]) // 4
            row, column = divmod(at, 128)
            assert (warps[row, column], lanes[row, column]) == (one["warp"], lane)
            assert (lanes[row, column : column + 4] == lane).all()


@pytest.mark.parametrize(
    ("owners", "held"), [(_tiles.thread_tile_owners, 8 * 8), (_tiles.warp_tile_owners, 8 * 16)]
)
def test_every_thread_holds_as_much(owners, held):
    warps, lanes = owners()
    counts = {}
    for thread in zip(warps.flat, lanes.flat, strict=True):
        counts[thread] = counts.get(thread, 0) + 1
    assert len(counts) == 128 * 128 // held and set(counts.values()) == {held}


def test_tiles_are_drawn_without_faults(drawn):
    figure = drawn(plots.draw_tiles())
    words = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert {f"warp {n}" for n in range(8)} <= set(words)
    assert {str(lane) for lane in range(32)} <= set(words)


def test_a_slot_is_filled_only_when_it_was_read(drawn):
    times = [_tiles.stage_times(n) for n in range(9)]
    for number, (requested, arrived, computed) in enumerate(times):
        assert requested < arrived <= computed
        if number >= 3:
            assert requested == times[number - 3][2] + 1  # a turn after its compute began
    bars = drawn(plots.draw_ring()).axes[0].patches
    assert len(bars) == 2 * 7
