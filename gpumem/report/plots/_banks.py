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


def _rounds(asked: list[tuple[int, int]], turns: bool) -> list[tuple[int, int, int]]:
    """Return lane, word and round of what a group asks for; without turns there is one round."""
    seen: dict[int, int] = {}
    found = []
    for lane, word in asked:
        found.append((lane, word, seen.get(word, 0)))
        seen[word] = seen.get(word, 0) + turns
    return found


def _serve(asked: list[tuple[int, int]], turn: int) -> tuple[list[Touch], list[int], int]:
    """Return what serves a group: each touch with its pass, words per bank, and the passes."""
    each, begin = max(turn, 1), 0
    touches, words = [], [0] * BANKS
    rounds = _rounds(asked, turn > 0)
    for number in range(max((one[2] for one in rounds), default=-1) + 1):
        of_bank: list[list[int]] = [[] for _ in range(BANKS)]
        for lane, word, of_round in rounds:
            if of_round != number:
                continue
            bank = of_bank[word % BANKS]
            if word not in bank:
                bank.append(word)
            touches.append(Touch(lane, word % BANKS, word, begin + bank.index(word) * each + 1))
        begin += each * max(map(len, of_bank))
        words = [before + len(more) for before, more in zip(words, of_bank, strict=True)]
    return touches, words, begin


def banks(sample: dict[str, Any], kind: str = "load", turn: int = 0) -> Banks:
    """Return the passes of a request through the banks, lane by lane.

    With up to 4 bytes per lane the whole warp is one group; with 8 each half of it is, with 16
    each quarter; twice as many lanes if neighbours load the same. A group takes as many passes as
    it wants different words of one bank. Where lanes of one word take turns, of `turn` passes, it
    does so for each round of lanes.
    """
    piece = _instruction_bytes(sample)
    lanes = _lanes_at_once(sample, piece, kind)
    found = Banks([], [0] * BANKS, 0, 0, lanes)
    for at in range(0, max(sample["bytes"]), piece):
        groups: dict[int, list[tuple[int, int]]] = {}
        for lane, address, count in zip(
            sample["lanes"], sample["addresses"], sample["bytes"], strict=True
        ):
            if at < count:
                first, last = (address + at) // WORD, (address + at + piece - 1) // WORD
                asked = groups.setdefault(lane // lanes, [])
                asked += [(lane, word) for word in range(first, last + 1)]
        for asked in groups.values():
            touches, words, passes = _serve(asked, turn)
            found = Banks(
                found.touches + touches,
                [sum(both) for both in zip(found.words, words, strict=True)],
                found.passes + passes,
                found.fewest + max(turn, 1),
                lanes,
            )
    return found


def draw_banks(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    """Draw lanes against banks."""
    engine = by_engine(site)
    rows = OF_ENGINE if engine else OF_WARP
    found = banks(sample, site["kind"], site["turn"])
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
