"""Pictures of requests, drawn with matplotlib, imported when the first one is asked for."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .plots._style import DARK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .traffic import Traffic

WARP = 32
BANKS = 32
WORD = 4  # bytes of a bank
SECTOR = 32  # bytes
LINE = 128  # bytes
WIDEST = 128  # bits that one thread can access; only an engine moves more at once
MOST_SECTORS = 64  # drawn of one request
GAP = 0.4  # of a column, between sectors that are not neighbours
IDLE = "0.93"


def need_matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install gpumem[plot]"
        ) from None
    return matplotlib


# ---- which request ------------------------------------------------------------------------


def _place(site: dict[str, Any]) -> str:
    """A source line as it is written in tables: "tile.cu:39"."""
    return f"{site['file'].rsplit('/', 1)[-1]}:{site['line']}" if site["file"] else "?"


def _telling(sites: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst of these by bank ways, else by efficiency; loads before stores."""
    sites = sorted(sites, key=lambda site: str(site["kind"]))
    banked = [site for site in sites if site.get("bank_ways") is not None]
    if banked:
        return max(banked, key=lambda site: site["bank_ways"])
    sectored = [site for site in sites if site.get("efficiency") is not None]
    return min(sectored or sites, key=lambda site: site.get("efficiency") or 0)


def choose(report: Traffic, site: int | str | None) -> dict[str, Any]:
    """Return one of a report's sites.

    Parameters
    ----------
    report : Traffic
        Whose.
    site : int, str or None
        Its place in ``report.sites``; or a source line, "tile.cu:39", of whose sites the most
        telling is taken; "tile.cu:39 load" and "tile.cu:39 shared" say which. None is the
        most telling of all: the worst by bank ways if a warp used shared memory, else the
        worst by efficiency.

    Raises
    ------
    ValueError
        If there is no such site; the message says which there are.
    """
    sites = report.sites
    if not sites:
        raise ValueError(f"{report.family}-{report.variant} touched no memory: nothing to draw")
    if site is None:
        drawable = [one for one in sites if one["space"] in ("shared", "global")]
        return _telling(drawable or sites)
    if isinstance(site, str):
        place, *words = site.split() or [""]
        found = [
            one
            for one in sites
            if place in (_place(one), f"{one['file']}:{one['line']}")
            and all(word in (one["space"], one["kind"]) for word in words)
        ]
        if not found:
            known = ", ".join(f"{_place(one)} {one['space']} {one['kind']}" for one in sites)
            raise ValueError(f"site {site!r} is not in this report; it has: {known}")
        return _telling(found)
    if isinstance(site, bool) or not hasattr(site, "__index__"):
        raise TypeError(f"site must be an index, 'file:line' or None, not {site!r}")
    if not 0 <= site < len(sites):
        raise ValueError(f"site must be 0 to {len(sites) - 1}, not {site}")
    return sites[site]


def _sample(site: dict[str, Any], request: int) -> dict[str, Any]:
    samples = site.get("samples", ())
    if isinstance(request, bool) or not hasattr(request, "__index__"):
        raise TypeError(f"request must be an integer, not {request!r}")
    if not samples:
        raise ValueError(f"no request of {_place(site)} was kept")
    if not 0 <= request < len(samples):
        raise ValueError(
            f"request must be 0 to {len(samples) - 1}, not {request}: of the "
            f"{site['requests']} requests of {_place(site)} the first {len(samples)} are kept"
        )
    return samples[request]


def _by_engine(site: dict[str, Any]) -> bool:
    return site["width"] > WIDEST


# ---- banks --------------------------------------------------------------------------------


class Touch(NamedTuple):
    """A lane that asks a bank for a word, and the pass of its group that serves it, from 1."""

    lane: int
    bank: int
    word: int
    number: int


class Banks(NamedTuple):
    """What a request asks of the banks of shared memory."""

    touches: list[Touch]
    words: list[int]  # per bank, different words that the groups ask for
    passes: int
    fewest: int
    lanes: int  # of a group: lanes that are served together


def _instruction_bytes(sample: dict[str, Any]) -> int:
    """Bytes that one instruction moves per lane; wider or odd accesses take several."""
    bits = 16
    for count in sample["bytes"]:
        bits |= count
    return bits & -bits


def banks(sample: dict[str, Any]) -> Banks:
    """Return the passes of a request through the banks, lane by lane.

    Up to 4 bytes per lane, the warp is served at once; with 8 each half of it, with 16 each
    quarter. A group takes as many passes as its busiest bank has different words to give.
    """
    piece = _instruction_bytes(sample)
    lanes = WARP if piece <= WORD else WARP * WORD // piece
    found = Banks([], [0] * BANKS, 0, 0, lanes)
    passes = fewest = 0
    for at in range(0, max(sample["bytes"]), piece):
        groups: dict[int, list[list[int]]] = {}
        for lane, address, count in zip(
            sample["lanes"], sample["addresses"], sample["bytes"], strict=True
        ):
            if at >= count:
                continue
            asked = groups.setdefault(lane // lanes, [[] for _ in range(BANKS)])
            first = address + at
            for word in range(first // WORD, (first + piece - 1) // WORD + 1):
                bank = asked[word % BANKS]
                if word not in bank:
                    bank.append(word)
                number = bank.index(word) + 1
                found.touches.append(Touch(lane, word % BANKS, word, number))
        for asked in groups.values():
            passes += max(map(len, asked))
            fewest += 1
            for bank, words in enumerate(asked):
                found.words[bank] += len(words)
    return found._replace(passes=passes, fewest=fewest)


# ---- sectors ------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Bytes that a lane asks for in one sector."""

    lane: int
    sector: int
    begin: int  # in the sector
    count: int


def pieces(sample: dict[str, Any]) -> Iterator[Piece]:
    """Yield what each lane of a request asks for, sector by sector."""
    for lane, address, count in zip(
        sample["lanes"], sample["addresses"], sample["bytes"], strict=True
    ):
        at = address
        while at < address + count:
            end = min(address + count, (at // SECTOR + 1) * SECTOR)
            yield Piece(lane, at // SECTOR, at % SECTOR, end - at)
            at = end


def columns(sectors: list[int]) -> dict[int, float]:
    """Return where the column of each sector begins: neighbours touch, others leave a gap."""
    places: dict[int, float] = {}
    at = 0.0
    for i, sector in enumerate(sectors):
        if i and sector != sectors[i - 1] + 1:
            at += GAP
        places[sector] = at
        at += 1
    return places


# ---- drawing ------------------------------------------------------------------------------


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %"


def _title(report: Traffic, site: dict[str, Any], figures: str) -> str:
    what = f"{site['space']} {site['kind']}"
    what += " by the copy engine" if _by_engine(site) else f", {site['width']} bits"
    return f"{report.family}-{report.variant}, {_place(site)}\n{what}: {figures}"


def _points(ax: Axes, units: float) -> float:
    """How many points wide one unit of the x axis is, about."""
    return 72 * ax.figure.get_figwidth() * ax.get_position().width / units


def _wrapped(ax: Axes, text: str) -> str:
    """A label in as many lines as it takes under a narrow picture."""
    return textwrap.fill(text, max(20, int(_points(ax, 1) / 5.2)))


def _fitting(number: int, points: float) -> float:
    """The size of type, in points, in which a number fits into so many points."""
    return min(8, 0.8 * points / (0.6 * len(str(number))))


class _Rows(NamedTuple):
    """Where the rows are: lanes, a little space, sums."""

    lanes: int
    space: float
    height: float

    @property
    def sums(self) -> float:
        return self.lanes + self.space

    @property
    def middle(self) -> float:
        return self.sums + self.height / 2


_OF_WARP, _OF_ENGINE = _Rows(WARP, 0.5, 1.2), _Rows(1, 0.1, 0.6)


def _lanes(ax: Axes, sample: dict[str, Any], rows: _Rows, sums: str) -> None:
    """The axis of lanes, 0 on top, with one more row below for sums."""
    warp = rows.lanes > 1
    lanes = [0, 8, 16, 24, 31] if warp else list(sample["lanes"])
    ax.set_ylim(rows.sums + rows.height, 0)
    ax.set_yticks([*(lane + 0.5 if warp else 0.5 for lane in lanes), rows.middle])
    ax.set_yticklabels([*map(str, lanes), sums])
    ax.tick_params(axis="y", length=0)
    x, y, z = sample["block"]
    ax.set_ylabel(f"lane of warp {sample['warp']}, block ({x}, {y}, {z})" if warp else "lane")
    ax.axhspan(rows.lanes, rows.sums, facecolor="white", edgecolor="black", linewidth=0.8, zorder=4)
    if warp:
        for lane in sorted(set(range(WARP)) - set(sample["lanes"])):
            ax.axhspan(lane, lane + 1, color=IDLE, linewidth=0, zorder=0, gid="idle")


def _write(
    ax: Axes, x: float, y: float, number: int, points: float, gid: str, color: str = "black"
) -> None:
    size = _fitting(number, points)
    if size >= 3.5:
        ax.text(
            x,
            y,
            str(number),
            fontsize=size,
            color=color,
            ha="center",
            va="center_baseline",
            gid=gid,
        )


def _draw_banks(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    import numpy as np

    engine = _by_engine(site)
    rows = _OF_ENGINE if engine else _OF_WARP
    found = banks(sample)
    cells = np.ma.masked_all((rows.lanes, BANKS), dtype=int)
    for touch in found.touches:
        cells[(0, touch.bank) if engine else (touch.lane, touch.bank)] = (
            1 if engine else touch.number
        )
    most = 8 if engine else max(8, found.passes)
    mesh = ax.pcolormesh(
        np.arange(BANKS + 1),
        np.arange(rows.lanes + 1),
        cells,
        cmap="YlGnBu",
        vmin=-0.4 * most,  # the first pass is not white
        vmax=most,
        edgecolors="0.85",
        linewidth=0.4,
        gid="passes",
    )
    points = _points(ax, BANKS)
    if found.passes > found.fewest and not engine:
        for (lane, bank), number in np.ndenumerate(cells):
            if not np.ma.getmaskarray(cells)[lane, bank]:
                color = "black" if mesh.norm(number) < 0.5 else "white"
                _write(ax, bank + 0.5, lane + 0.5, number, 0.9 * points, "pass", color)
    for bank, count in enumerate(found.words):
        if count:
            _write(ax, bank + 0.5, rows.middle, count, points, "words")
    _lanes(ax, sample, rows, "words")
    ax.set_xlim(0, BANKS)
    ax.set_xticks([bank + 0.5 for bank in (0, 8, 16, 24, 31)], ["0", "8", "16", "24", "31"])
    label = "bank of 4 bytes"
    if engine:
        figures = f"{sum(sample['bytes'])} bytes"
    else:
        ways = found.passes / found.fewest
        figures = f"{_counted(found.passes, 'pass')}, {ways:.3g} way{'s' if ways != 1 else ''}"
        ax.set_aspect("equal")
        if found.lanes < WARP:
            label += f"; {found.lanes} lanes are served together"
        for lane in range(found.lanes, WARP, found.lanes):
            ax.axhline(lane, color="black", linewidth=0.8, linestyle="--", gid="group")
    ax.set_xlabel(_wrapped(ax, label))
    ax.set_title(_title(report, site, figures), fontsize="medium")


def _line_labels(ax: Axes, places: dict[int, float], width: float) -> None:
    """Byte offsets of as many lines as there is room for."""
    starts = {}
    for sector, place in places.items():
        starts.setdefault(sector * SECTOR // LINE, (place, sector * SECTOR))
    ticks = list(starts.values())
    points = _points(ax, width)
    letters = 6.5 * (len(str(ticks[-1][1])) + 2)  # points
    shown = [ticks[0]]
    for place, offset in ticks[1:]:
        if (place - shown[-1][0]) * points >= letters:
            shown.append((place, offset))
    ax.set_xticks([place for place, _ in shown], [str(offset) for _, offset in shown])


def _draw_sectors(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    engine = _by_engine(site)
    rows = _OF_ENGINE if engine else _OF_WARP
    asked = list(pieces(sample))
    sectors = sorted({piece.sector for piece in asked})
    lines = {sector * SECTOR // LINE for sector in sectors}
    shown = sectors[:MOST_SECTORS]
    places = columns(shown)
    width = places[shown[-1]] + 1

    used: dict[int, set[int]] = {}  # bytes of each sector
    touched, asked_for = set(), set()
    for piece in asked:
        used.setdefault(piece.sector, set()).update(range(piece.begin, piece.begin + piece.count))
        if piece.sector in places:
            place, row = places[piece.sector], 0 if engine else piece.lane
            touched.add((place, row))
            asked_for.add((place + piece.begin / SECTOR, row, piece.count / SECTOR))
    pale = [Rectangle((x, y), 1, 1) for x, y in sorted(touched)]
    dark = [Rectangle((x, y + 0.08), wide, 0.84) for x, y, wide in sorted(asked_for)]
    ax.add_collection(PatchCollection(pale, facecolor=PALE, linewidth=0, gid="sectors"))
    ax.add_collection(PatchCollection(dark, facecolor=DARK, linewidth=0, zorder=3, gid="bytes"))

    for before, sector in itertools.pairwise(shown):
        at = places[sector]
        if sector != before + 1:
            ax.axvspan(
                at - GAP,
                at,
                facecolor="white",
                edgecolor="0.75",
                hatch="//////",
                linewidth=0,
                zorder=1.5,
                gid="gap",
            )
            at -= GAP / 2
        if sector * SECTOR // LINE != before * SECTOR // LINE:
            ax.axvline(at, color="black", linewidth=0.9, zorder=2, gid="line")
        elif sector == before + 1:
            ax.axvline(at, color="0.6", linewidth=0.4, zorder=2, gid="sector")
    points = _points(ax, width)
    for sector, place in places.items():
        _write(ax, place + 0.5, rows.middle, len(used[sector]), points, "used")
    _lanes(ax, sample, rows, "bytes")
    ax.set_xlim(0, width)
    _line_labels(ax, places, width)
    label = "sectors of 32 bytes, by offset in the array; black rules part lines of 128 bytes"
    if len(shown) < len(sectors):
        label += f"; the first {len(shown)} of {len(sectors)} sectors"
    ax.set_xlabel(_wrapped(ax, label))
    figures = (
        f"{_counted(len(sectors), 'sector')}, {_counted(len(lines), 'line')}, "
        f"{_percent(sum(map(len, used.values())), len(sectors) * SECTOR)}"
    )
    ax.set_title(_title(report, site, figures), fontsize="medium")


def draw_request(
    report: Traffic, site: int | str | None = None, request: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw one request of a report: what :meth:`gpumem.Traffic.draw` does."""
    need_matplotlib()
    chosen = choose(report, site)
    sample = _sample(chosen, request)
    if chosen["space"] not in ("shared", "global"):
        raise ValueError(f"there is no picture of {chosen['space']} memory")
    shared = chosen["space"] == "shared"
    if ax is None:
        from matplotlib import pyplot

        height = 2.2 if _by_engine(chosen) else 5.6
        _, ax = pyplot.subplots(figsize=(5.2 if shared else 8, height), layout="constrained")
    (_draw_banks if shared else _draw_sectors)(ax, report, chosen, sample)
    return ax
