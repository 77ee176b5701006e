"""Pictures of what tools measure of a memory system: latency, mixes, random access."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...base.provenance import origin
from ...base.sizes import format_bytes
from ._axes import byte_axis, mark_peak, note
from ._lines import coincident
from ._style import STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = dict[str, Any]

SECTOR = 32  # bytes
_STRIDE = 128  # bytes between the places of the chains that are drawn
_LEVELS = ("L1", "L2", "memory")


def _axes(ax: Axes | None) -> Axes:
    """Return the axes to draw into, by default of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(figsize=(10, 5.6), layout="constrained")[1]
    return made


# ---- latency --------------------------------------------------------------------------------


def levels(found: Found) -> dict[str, Found]:
    """Return the plateaus of L1, L2 and memory of what tools/measure_latency.py has found.

    They are those of `cached` with places 128 bytes apart, the first three by footprint.
    """
    flat = [p for p in found["plateaus"] if (p["variant"], p["stride"]) == ("cached", _STRIDE)]
    return dict(zip(_LEVELS, sorted(flat, key=lambda p: p["least"]), strict=False))


def draw_latency(found: Found, variants: Iterable[str], ax: Axes | None = None) -> Axes:
    """Draw the latency of dependent loads by footprint, and name the plateaus.

    Parameters
    ----------
    found : dict
        What tools/measure_latency.py has found.
    variants : iterable of str
        The variants of chase to draw.
    ax : Axes, optional
        Where; by default in a new figure.
    """
    ax = _axes(ax)
    for variant, style in zip(variants, STYLES, strict=False):
        rows = [f for f in found["figures"] if (f["variant"], f["stride"]) == (variant, _STRIDE)]
        line = {f["footprint"]: f["ns"] for f in rows}
        ax.plot(list(line), list(line.values()), label=variant, markersize=4, **style)
    for name, plateau in levels(found).items():
        ends = f"{format_bytes(plateau['least'])} to {format_bytes(plateau['most'])}"
        middle = math.sqrt(plateau["least"] * plateau["most"])
        first = name == _LEVELS[0]  # beside its end: other lines are above it
        place = (plateau["most"] if first else middle, plateau["ns"])
        words = f"{name}: {plateau['ns']:.0f} ns\n{ends}"
        note(ax, words, place, (30, 0) if first else (0, 10), ha="left" if first else "center")
    byte_axis(ax, sorted({f["footprint"] for f in found["figures"]}))
    highest = max(f["ns"] for f in found["figures"])
    ax.set(xlabel="footprint of the chain", ylabel="ns per load", ylim=(0, 1.15 * highest))
    ax.set_title(f"Dependent loads, 128 bytes apart: {origin(found['provenance'])}", fontsize=10)
    ax.legend(loc="upper left", fontsize="small")
    ax.grid(color="0.92")
    return ax


# ---- mixes of reads and writes --------------------------------------------------------------


def draw_mixes(found: Found, ax: Axes | None = None) -> Axes:
    """Draw bandwidth by the share of it that is written.

    Parameters
    ----------
    found : dict
        What tools/measure_mixes.py has found.
    ax : Axes, optional
        Where; by default in a new figure.
    """
    ax = _axes(ax)
    peak = found["provenance"]["device"]["bandwidth_gbps"]
    looks = {"stream": STYLES[0], "the driver's copy": STYLES[1]}
    for name, rows in (("stream", found["figures"]), ("the driver's copy", found["copies"])):
        shares = [one["writes"] / (one["reads"] + one["writes"]) for one in rows]
        style = looks[name] | {"linestyle": "none"}
        ax.plot(shares, [one["gbps"] for one in rows], label=name, **style)
    named: dict[str, tuple[float, float]] = {}
    for one in found["figures"]:
        divisor = math.gcd(one["reads"], one["writes"])
        mix = f"{one['reads'] // divisor} : {one['writes'] // divisor}"
        share = one["writes"] / (one["reads"] + one["writes"])
        named.setdefault(mix, (share, one["gbps"]))  # 2 : 2 is the same mix as 1 : 1
    for i, (mix, place) in enumerate(sorted(named.items(), key=lambda one: one[1])):
        below = i % 2 == 0  # neighbours are close
        note(ax, mix, place, (0, -9 if below else 9), ha="center", va="top" if below else "bottom")
    mark_peak(ax, peak, "bandwidth_gbps")
    least = min(one["gbps"] for one in found["figures"])
    ax.set(xlim=(-0.05, 1.05), ylim=(0.9 * least, 1.04 * peak))
    ax.set(xlabel="share of the bytes that is written", ylabel="GB/s, read and written")
    ax.set_title(f"Reads to writes: {origin(found['provenance'])}", fontsize=10)
    ax.legend(loc="lower left", fontsize="small")
    ax.grid(color="0.92")
    return ax


# ---- random access --------------------------------------------------------------------------


def _by_footprint(found: Found) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield useful rates by element, for each footprint; of several variants the best."""
    lines: dict[int, dict[int, float]] = {}
    for one in found["figures"]:
        line = lines.setdefault(one["footprint"], {})
        line[one["element"]] = max(one["gbps"], line.get(one["element"], 0))
    logs = {name: {x: math.log2(rate) for x, rate in line.items()} for name, line in lines.items()}
    every = [y for line in logs.values() for y in line.values()]
    for group in coincident(logs, max(every) - min(every)):
        yield ", ".join(map(format_bytes, group)), lines[group[0]]


def draw_random(found: Found, ax: Axes | None = None) -> Axes:
    """Draw useful bytes per second by the size of an element, a line per footprint.

    Parameters
    ----------
    found : dict
        What tools/measure_random.py has found.
    ax : Axes, optional
        Where; by default in a new figure.
    """
    ax = _axes(ax)
    for (name, line), style in zip(_by_footprint(found), itertools.cycle(STYLES), strict=False):
        ax.plot(list(line), list(line.values()), label=name, markersize=5, **style)
    elements = sorted({one["element"] for one in found["figures"]})
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(elements, [str(element) for element in elements])
    low, high = ax.get_ylim()
    ticks = [digit * 10**power for power in range(5) for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.axvline(SECTOR, color="0.5", linewidth=0.9, linestyle="-.", gid="sector")
    top = ("data", "axes fraction")
    note(ax, "a sector", (SECTOR, 0.02), (4, 0), xycoords=top, ha="left", va="bottom")
    ax.set(xlabel="bytes of an element", ylabel="GB/s of useful bytes")
    ax.set_title(f"Elements at random places: {origin(found['provenance'])}", fontsize=10)
    ax.legend(title="footprint", loc="upper left", fontsize="small")
    ax.grid(color="0.92")
    return ax
