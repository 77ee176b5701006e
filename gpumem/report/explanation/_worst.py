"""The source lines that cost most, and what usually helps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...check.rules import RULES
from ...count.access import extra_sectors, source_line
from ...count.traffic import Traffic
from ._words import figure, listed, share

__all__ = ["worst_lines"]

_WORTH = 0.1  # of all sectors, or of all passes: less is not worth a word
_CROWD = 1.5  # lanes that update one address

_NOUNS = {"load": "loads", "store": "stores", "atomic": "atomic operations"}
_ALIGN = "pad the rows, or load a tile that begins at such a multiple"
_COMBINE = "combine the values of a warp or of a block first, and update once"

Site = dict[str, Any]


def worst_lines(report: Traffic) -> list[str]:
    """Name the source lines whose sectors, bank conflicts and atomic operations cost most."""
    return [one for one in (_sectors(report), _banks(report), _atomics(report)) if one]


def _costliest(
    sites: Iterable[Site], cost: Callable[[Site], float]
) -> tuple[str, list[Site], float]:
    """Return the line that costs most, its sites that cost anything, and what it costs."""
    lines: dict[str, list[Site]] = {}
    for site in sites:
        if cost(site) > 0:
            lines.setdefault(source_line(site), []).append(site)
    if not lines:
        return "", [], 0
    line = max(lines, key=lambda one: sum(map(cost, lines[one])))
    return line, lines[line], sum(map(cost, lines[line]))


def _sectors(report: Traffic) -> str | None:
    """Name the line with most sectors beyond those that its bytes would fill."""
    moved = [one for one in report.sites if one["space"] == "global"]
    line, sites, cost = _costliest(moved, extra_sectors)
    everything = sum(one["sectors"] for one in moved)
    if cost < _WORTH * everything or not sites:
        return None
    kinds = listed(list(dict.fromkeys(_NOUNS[site["kind"]] for site in sites)))
    why, hint = "", RULES["sectors"].hint
    if all(map(_is_shifted, sites)):
        why = " The lanes are neighbours, but do not begin at a multiple of 32 bytes."
        hint = _ALIGN
    return (
        f"The line to look at is {line}: its {kinds} move {share(cost / everything)} of all bytes "
        f"for nothing.{why} What usually helps: {hint}."
    )


def _is_shifted(site: Site) -> bool:
    """Whether each request kept has one run of bytes, which then begins inside a sector."""
    return bool(site["samples"]) and all(map(_is_one_run, site["samples"]))


def _is_one_run(sample: dict[str, Any]) -> bool:
    pieces = sorted(zip(sample["addresses"], sample["bytes"], strict=True))
    end = pieces[0][0]
    for begin, nbytes in pieces:
        if begin > end:
            return False
        end = max(end, begin + nbytes)
    return True


def _banks(report: Traffic) -> str | None:
    """Name the line with most passes through the banks beyond the fewest possible."""
    banked = [one for one in report.sites if one["space"] == "shared"]
    line, sites, cost = _costliest(banked, lambda one: one["passes"] - one["fewest_passes"])
    if cost < _WORTH * sum(one["passes"] for one in banked) or not sites:
        return None
    passes, fewest = (sum(one[key] for one in sites) for key in ("passes", "fewest_passes"))
    return (
        f"Bank conflicts cost most at {line}: {figure(passes)} passes instead of {figure(fewest)}. "
        f"What usually helps: {RULES['bank-conflicts'].hint}."
    )


def _atomics(report: Traffic) -> str | None:
    """Name the line where most lanes update an address that another lane of theirs updates."""

    def addresses(site: Site) -> float:
        return float(site["bytes"] / (site["width"] / 8))

    atomics = [one for one in report.sites if one["kind"] == "atomic" and one["bytes"]]
    line, sites, _ = _costliest(atomics, lambda one: one["lanes"] - addresses(one))
    lanes, updated = sum(one["lanes"] for one in sites), sum(map(addresses, sites))
    if not sites or lanes < _CROWD * updated:
        return None
    return (
        f"At {line}, {figure(lanes / updated)} lanes of a warp update the same address on average, "
        f"and take turns unless the compiler combines them. What usually helps: {_COMBINE}."
    )
