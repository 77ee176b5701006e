"""A request of shared memory: lanes against banks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ._lanes import (
    OF_ENGINE,
    OF_WARP,
    WARP,
    counted,
    draw_passes,
    empty_cells,
    lane_axis,
    points_wide,
    set_request_title,
    wrapped,
    write_number,
)
from ._sites import by_engine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...count.traffic import Traffic

BANKS = 32
WORD = 4  # bytes of a bank


class Touch(NamedTuple):
    """A lane that asks a bank for a word, and the pass of its group that serves it, from 1."""

    lane: int
    bank: int
    word: int
    number: int


class Banks(NamedTuple):
    """What a request asks of the banks of shared memory."""

    touches: list[Touch]
    words: list[int]  # per bank: different words, summed over the groups
    passes: int
    fewest: int
    lanes: int  # of a group, which is served together


def _instruction_bytes(sample: dict[str, Any]) -> int:
    """Return the bytes per lane of one instruction; wider and odd accesses take several."""
    bits = 16
    for count in sample["bytes"]:
        bits |= count
    return bits & -bits


def _neighbours_agree(sample: dict[str, Any], apart: int) -> bool:
    """Whether all active lanes n and n ^ apart ask for the same."""
    at = dict(zip(sample["lanes"], sample["addresses"], strict=True))
    return all(at.get(lane ^ apart, address) == address for lane, address in at.items())


def _lanes_at_once(sample: dict[str, Any], piece: int, kind: str) -> int:
    if piece <= WORD:
        return WARP
    twice = kind == "load" and (_neighbours_agree(sample, 1) or _neighbours_agree(sample, 2))
    return (2 if twice else 1) * WARP * WORD // piece


def banks(sample: dict[str, Any], kind: str = "load") -> Banks:
    """Return the passes of a request through the banks, lane by lane.

    With up to 4 bytes per lane the whole warp is one group; with 8 each half of it is, with 16
    each quarter; twice as many lanes if neighbours load the same. A group takes as many passes as
    it wants different words of one bank.
    """
    piece = _instruction_bytes(sample)
    lanes = _lanes_at_once(sample, piece, kind)
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
            for number, words in enumerate(asked):
                found.words[number] += len(words)
    return found._replace(passes=passes, fewest=fewest)


def draw_banks(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    """Draw lanes against banks."""
    engine = by_engine(site)
    rows = OF_ENGINE if engine else OF_WARP
    found = banks(sample, site["kind"])
    cells = empty_cells(rows.lanes, BANKS)
    for touch in found.touches:
        cells[(0, touch.bank) if engine else (touch.lane, touch.bank)] = (
            1 if engine else touch.number
        )
    most = 8 if engine else max(8, found.passes)
    conflicts = found.passes > found.fewest and not engine
    draw_passes(ax, cells, most, 1.15, numbers=conflicts)
    points = points_wide(ax, BANKS)
    for bank, count in enumerate(found.words):
        if count:
            write_number(ax, bank + 0.5, rows.middle, count, points, "words")
    lane_axis(ax, sample, rows, "words")
    ax.set_xlim(0, BANKS)
    ax.set_xticks([bank + 0.5 for bank in (0, 8, 16, 24, 31)], ["0", "8", "16", "24", "31"])
    parts = ["bank of 4 bytes; bottom: words asked for"]
    if conflicts:
        parts.append("in cells: pass that serves the lane")
    if engine:
        figures = f"{sum(sample['bytes'])} bytes"
    else:
        ways = found.passes / found.fewest
        figures = f"{counted(found.passes, 'pass')}, {ways:.3g} way{'s' if ways != 1 else ''}"
        ax.set_aspect("equal")
        if found.lanes < WARP:
            parts.append(f"dashed: {found.lanes} lanes are served together")
        for lane in range(found.lanes, WARP, found.lanes):
            ax.axhline(lane, color="black", linewidth=0.8, linestyle="--", gid="group")
    ax.set_xlabel(wrapped(ax, parts))
    set_request_title(ax, report, site, figures)
