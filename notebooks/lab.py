"""What the notebooks share: whose figures they show, and pictures of them.

With a GPU the figures are measured while the notebook runs, without one they are those that
gpumem ships. GPUMEM_NOTEBOOK_QUICK=1 has a GPU measure less, for a run of all notebooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from IPython.display import Code, Markdown, display
from matplotlib import pyplot, ticker
from matplotlib.axes import Axes

import gpumem as gm
from gpumem.sizes import format_bytes

ROOT = Path(__file__).resolve().parent.parent
QUICK = os.environ.get("GPUMEM_NOTEBOOK_QUICK", "") not in ("", "0")
LIVE = gm.backend() == "cuda"

Record = dict[str, Any]

# No two share marker and dash: they are told apart in black and white as well.
STYLES = [
    {"color": "#1b4f72", "marker": "o", "linestyle": "-"},
    {"color": "#b03a2e", "marker": "s", "linestyle": "--"},
    {"color": "#117a65", "marker": "^", "linestyle": "-."},
    {"color": "#7d3c98", "marker": "D", "linestyle": ":"},
    {"color": "#9c640c", "marker": "v", "linestyle": "-"},
    {"color": "#2e4053", "marker": "P", "linestyle": "--"},
    {"color": "black", "marker": "X", "linestyle": "-."},
    {"color": "#6e2c00", "marker": "*", "linestyle": ":"},
]


def say(text: str) -> None:
    """Show a sentence with figures in it, as text."""
    display(Markdown(text))


def source(what: gm.Variant | str) -> Code:
    """The source of a variant, or of a file named from the root of the repository."""
    return Code(filename=str(ROOT / (what if isinstance(what, str) else what.source)))


def variant(family: str, name: str) -> gm.Variant:
    return next(one for one in gm.variants(family) if one.name == name)


# ---- figures --------------------------------------------------------------------------------


def origin(result: gm.BenchResult) -> str:
    """Which device was measured, when, and with which code."""
    told = result.provenance
    words = [(told.get("device") or {}).get("name", "no device"), str(told.get("date"))[:10]]
    if told.get("commit"):
        words.append(f"commit {told['commit'][:10]}")
    return ", ".join(words)


def measured(
    shipped: str, family: str, quick: dict[str, Any] | None = None, **arguments: Any
) -> gm.BenchResult | None:
    """Figures of this machine's GPU, else those that are shipped; a banner says which.

    Parameters
    ----------
    shipped : str
        The name of the result in ``gm.results``.
    family : str
        What ``gm.bench`` measures.
    quick : dict, optional
        Arguments that make a short run of it, where one is asked for.
    **arguments
        Of ``gm.bench``.

    Returns
    -------
    BenchResult or None
        None if there is neither a GPU nor a shipped result.
    """
    if LIVE:
        if QUICK:
            arguments |= {"samples": (3, 5), "budget": 0.02} | (quick or {})
        result = gm.bench(family, **arguments)
        say(f"> **Measured just now:** {origin(result)}.")
        return result
    why = gm.info()["reason"]
    if shipped not in gm.results.names():
        say(f"> **No figures:** none of `{family}` are shipped. Nothing was measured here: {why}.")
        return None
    result = gm.results.load(shipped)
    say(f"> **Shipped figures, not of this machine:** {origin(result)}. Here: {why}.")
    return result


def records(result: gm.BenchResult, variants: Iterable[str] = (), **where: Any) -> list[Record]:
    """The records with a time, of these variants in this order, of which all of `where` holds."""
    names = list(variants)
    found = [
        one
        for one in result.records
        if one["median_ms"] is not None
        and all(one[key] == value for key, value in where.items())
        and (not names or one["variant"] in names)
    ]
    return sorted(found, key=lambda one: names.index(one["variant"])) if names else found


# ---- pictures -------------------------------------------------------------------------------


def bytes_axis(ax: Axes, sizes: list[int]) -> None:
    """A log2 axis with ticks at some of the sizes, in KiB and MiB."""
    ax.set_xscale("log", base=2)
    ticks = sorted(set(sizes))
    ax.set_xticks(ticks[:: -(-len(ticks) // 10)])
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: format_bytes(round(x))))
    ax.xaxis.set_minor_locator(ticker.NullLocator())
    ax.tick_params(axis="x", labelrotation=30)


def draw_sizes(result: gm.BenchResult, family: str, variants: Iterable[str]) -> Axes:
    """GB/s against the bytes of the input: medians, and bands from the 20th percentile to the
    80th."""
    device = result.provenance["device"]
    _, ax = pyplot.subplots(figsize=(9, 4.6), layout="constrained")
    sizes: list[int] = []
    for name, style in zip(variants, STYLES, strict=False):
        line = sorted(records(result, [name], family=family), key=lambda one: one["bytes"])
        x = [one["bytes"] // 2 for one in line]  # half of what is read and written
        sizes += x
        rates = {key: [one["bytes"] / one[key] / 1e6 for one in line] for key in _TIMES}
        ax.fill_between(x, rates["p80_ms"], rates["p20_ms"], color=style["color"], alpha=0.2)
        ax.plot(x, rates["median_ms"], label=name, markersize=4, linewidth=1.2, **style)
    peak = device["bandwidth_gbps"]
    if peak:
        ax.axhline(peak, color="black", linewidth=0.9)
        ax.text(
            0.01,
            peak,
            f"theoretical peak, {peak:.0f} GB/s",
            va="bottom",
            fontsize="small",
            transform=ax.get_yaxis_transform(),
        )
        ax.set_ylim(0, 1.1 * peak)
    if device["l2_bytes"]:
        ax.axvline(device["l2_bytes"], color="0.5", linewidth=0.9, linestyle=":")
        ax.text(
            device["l2_bytes"],
            0.02,
            " size of the L2",
            color="0.3",
            fontsize="small",
            transform=ax.get_xaxis_transform(),
        )
    bytes_axis(ax, sizes)
    ax.set_xlabel("bytes of the array")
    ax.set_ylabel("GB/s, bytes read and written")
    ax.grid(color="0.92")
    ax.set_title(f"{family}: {origin(result)}", fontsize="medium")
    ax.figure.legend(loc="outside right upper", fontsize="small")
    return ax


_TIMES = ("median_ms", "p20_ms", "p80_ms")


def draw_bars(
    found: list[Record], title: str, key: str = "gbps", line: tuple[str, float] | None = None
) -> Axes:
    """A bar per record, from the top in the order given, and a line to hold them against."""
    unit = {"gbps": "GB/s, bytes read and written", "tflops": "TFLOP/s"}[key]
    _, ax = pyplot.subplots(figsize=(9, 0.32 * len(found) + 1.3), layout="constrained")
    most = max([one[key] for one in found] + ([line[1]] if line else []))
    for i, one in enumerate(found):
        value = one[key]
        ax.barh(i, value, color="#3f6f9f")
        inside = value > 0.12 * most  # at the foot of the bar, away from the line
        at, color = (0, "white") if inside else (value, "black")
        ax.text(at, i, f" {value:.4g}", va="center", color=color, fontsize="small")
    ax.set_yticks(range(len(found)), [one["variant"] for one in found])
    ax.invert_yaxis()
    if line:
        label, at = line
        ax.axvline(at, color="black", linewidth=0.9, linestyle="--", label=f"{label}: {at:.4g}")
        ax.figure.legend(loc="outside lower right", fontsize="small")
    ax.set_xlim(0, 1.05 * most)
    ax.set_xlabel(unit)
    ax.set_title(title, fontsize="medium")
    return ax
