"""What warps wait for, from what tools/measure_stalls.py has found."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Prefetching", "measured", "prefetching", "waits"]

_ISSUED = "selected"  # not a wait: the warp issues in this cycle
_LOADS = "long_scoreboard"  # a wait for global, local or texture memory
_PLAIN = "baseline"

Figure = dict[str, Any]


def measured(found: dict[str, Any], family: str) -> list[Figure]:
    """Return the figures of a family's kernels, one each; those that failed are left out."""
    return [
        one
        for one in found["figures"]
        if one["family"] == family and one.get("stalls") and "parameters" not in one
    ]


def waits(stalls: dict[str, float]) -> list[tuple[str, float]]:
    """Return reasons in words, and cycles per instruction, the longest wait first."""
    found = [(name.replace("_", " "), cycles) for name, cycles in stalls.items() if name != _ISSUED]
    return sorted(found, key=lambda one: -one[1])


class Prefetching(NamedTuple):
    """What the plain loop of prefetch_sum waits for, and what prefetching gains.

    Attributes
    ----------
    blocks : float
        Per multiprocessor.
    work : int
        Rounds of arithmetic per element.
    loads : float
        The share of its time between two instructions that a warp waits for loads.
    issued : float or None
        The share of cycles in which a scheduler issues an instruction.
    gains : dict
        The plain loop's time over that of each other variant.
    """

    blocks: float
    work: int
    loads: float
    issued: float | None
    gains: dict[str, float]


def prefetching(found: dict[str, Any]) -> list[Prefetching]:
    """Return a point for each amount of work and number of rows, ordered by these."""
    sms = found["provenance"]["device"]["multiprocessors"]
    points: dict[tuple[float, int], dict[str, Figure]] = {}
    for one in found["figures"]:
        if "parameters" in one and one.get("stalls") and one["us"]:
            place = (one["shape"][0] / sms, one["parameters"]["work"])
            points.setdefault(place, {})[one["variant"]] = one
    told = []
    for (blocks, work), ways in sorted(points.items()):
        plain = ways.pop(_PLAIN, None)
        if plain is not None and ways:
            stalls = plain["stalls"]
            loads = stalls.get(_LOADS, 0.0) / sum(stalls.values())
            gains = {name: plain["us"] / one["us"] for name, one in ways.items()}
            told.append(Prefetching(blocks, work, loads, plain["issued"], gains))
    return told
