"""Tables of what tools have measured, from gpumem/results/tools; nothing if it is not shipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpumem.base.provenance import origin
from gpumem.base.record import STREAM
from gpumem.base.sizes import format_bytes
from gpumem.report.stalls import measured, prefetching, waits
from gpumem.results import of_tools

Rows = list[list[str]]


def rows_to_markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def breakable(name: str) -> str:
    """Return a name that a browser may break after each underscore."""
    return name.replace("_", "_\u200b")


def source(found: dict[str, Any]) -> str:
    return f"\n{origin(found['provenance'])}.\n"


# ---- tools/measure_sweeps.py ----------------------------------------------------------------


_NO_SWEEP = "Not measured yet: `tools/measure_sweeps.py --sweeps {}` measures it, on a GPU.\n"


def sweep(file: str, name: str, *chosen: str) -> str:
    """Return GB/s by the values of a parameter, a row per variant and other parameters that vary.

    Parameters
    ----------
    file : str
        What tools/measure_sweeps.py has written: the name of a file, or without that of the machine
        for the newest.
    name : str
        The sweep.
    *chosen : str
        ``KEY=VALUE``: series with that family, dtype, first extent (``rows``) or fixed parameter;
        ``values=A,B,...``: the columns, by default all; ``variants=A,B,...``: the rows.
    """
    found = of_tools.load(file) or of_tools.newest(file)
    measured = [one for one in found["series"] if one["sweep"] == name] if found else []
    if not found or not measured:
        return _NO_SWEEP.format(name)
    wanted = dict(word.split("=", 1) for word in chosen)
    columns, variants = (wanted.pop(key, "") for key in ("values", "variants"))
    series = [one for one in measured if is_chosen(one, wanted)]
    if variants:
        named = variants.split(",")
        series = [one for variant in named for one in series if one["variant"] == variant]
    values = columns.split(",") if columns else list(map(word_of, series[0]["values"]))
    varying = [key for key in series[0]["fixed"] if len({one["fixed"][key] for one in series}) > 1]
    rows = []
    for one in series:
        rates = dict(zip(map(word_of, one["values"]), one["gbps"], strict=True))
        others = "".join(f", {key} {one['fixed'][key]}" for key in varying)
        label = f"`{breakable(one['variant'])}`{others}"
        rows.append([label, *(rate(rates.get(value)) for value in values)])
    return rows_to_markdown([f"`{series[0]['parameter']}`", *values], rows) + source(found)


def is_chosen(series: dict[str, Any], wanted: dict[str, str]) -> bool:
    known = {**series, **series["fixed"], "rows": series["shape"][0]}
    return all(str(known[key]) == value for key, value in wanted.items())


def word_of(value: Any) -> str:
    """Return the value of a parameter as a heading: a block is its sides."""
    if value is None:
        return "default"
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def rate(gbps: float | None) -> str:
    return "–" if gbps is None else f"{gbps:.0f}"


# Variant of copy, and the bytes of its structures that are no padding.
STRUCTURES = (
    ("12", "struct12", 12),
    ("12, padded to 16", "struct16", 12),
    ("20", "struct20", 20),
    ("20, padded to 32", "struct32", 20),
    ("24", "struct24", 24),
    ("24, padded to 32", "struct32", 24),
)


def structures(file: str) -> str:
    """Return GB/s of structures of odd sizes, with and without padding."""
    found = of_tools.load(file)
    if found is None:
        return ""
    figures = {
        one["variant"]: one["gbps"][0] for one in found["series"] if one["sweep"] == "structures"
    }
    rows = []
    for label, variant, useful in STRUCTURES:
        gbps = figures[variant]
        share = useful / int(variant.removeprefix("struct"))
        rows.append([label, f"`{variant}`", f"{gbps:.0f}", f"{gbps * share:.0f}"])
    header = ["bytes of the structure", "variant", "GB/s moved", "GB/s without padding"]
    return rows_to_markdown(header, rows) + source(found)


# ---- tools/measure_stalls.py ----------------------------------------------------------------

_MOST_REASONS = 3
_NO_STALLS = (
    "Not measured yet: no counters of a GPU are shipped. `tools/measure_stalls.py` reads them, on "
    "a GPU with Nsight Compute.\n"
)
_NO_KERNELS = "The counters that are shipped have none of this family.\n"


def stalls(family: str) -> str:
    """Return caches' hit rates and the main reasons to wait, a row per kernel of a family."""
    found = of_tools.newest("stalls")
    if found is None:
        return _NO_STALLS
    rows = []
    for one in measured(found, family):
        shares = [
            f"{one[name]:.0%}" if one[name] is not None else "–"
            for name in ("warps", "issued", "l1", "l2")
        ]
        most = waits(one["stalls"])[:_MOST_REASONS]
        reasons = ", ".join(f"{reason} {cycles:.1f}" for reason, cycles in most)
        rows.append([f"`{breakable(one['variant'])}`", *shares, reasons])
    if not rows:
        return _NO_KERNELS
    header = ["kernel", "warps active", "cycles with an issue", "L1 hits", "L2 hits"]
    table = rows_to_markdown([*header, "cycles per instruction, by reason"], rows)
    picture = (
        f"![A bar per kernel: the cycles that its warps wait](../pictures/stalls-{family}.png)"
    )
    return f"{table}{source(found)}\n{picture}\n"


_PREFETCHING = """\
The share of the time between two instructions of the plain loop that a warp waits for loads (long
scoreboard) is what prefetching can take away, and the cycles without an issue are what it can fill.
Beside them, from the same run, how many times as fast two kernels are that prefetch:

"""


def prefetch_stalls() -> str:
    """Return what the plain loop of prefetch_sum waits for, and what prefetching gains there."""
    found = of_tools.newest("stalls")
    points = prefetching(found) if found else []
    if not found or not points:
        return ""
    names = list(dict.fromkeys(name for point in points for name in point.gains))
    rows = []
    for point in points:
        issued = "–" if point.issued is None else f"{point.issued:.0%}"
        gains = [f"{point.gains[name]:.2f}" if name in point.gains else "–" for name in names]
        place = [f"{point.blocks:g}", str(point.work)]
        rows.append([*place, f"{point.loads:.0%}", issued, *gains])
    header = ["blocks per multiprocessor", "`work`", "waits for loads", "cycles with an issue"]
    table = rows_to_markdown([*header, *(f"`{breakable(name)}`" for name in names)], rows)
    return f"{_PREFETCHING}{table}{source(found)}"


# ---- tools/measure_host_memory.py -----------------------------------------------------------


_POOLLESS = ("pageable", "managed")  # the state of the pools makes no difference


def host_memory(file: str, part: str) -> str:
    """Return a table of a part: "add", "allocation", "use" or "small"."""
    found = of_tools.load(file)
    return PARTS[part](found) + source(found) if found else ""


def additions(found: dict[str, Any]) -> str:
    """Return GB/s of whole additions by size, a column per kind of memory."""
    rates = {(one["bytes"], one["way"]): f"{one['gbps']:.2f}" for one in found["add"]}
    sizes, ways = columns_of(rates)
    rows = [[format_bytes(n), *(rates.get((n, way), "–") for way in ways)] for n in sizes]
    return rows_to_markdown(["each array", *ways], rows)


def allocations(found: dict[str, Any], time: str = "us") -> str:
    """Return microseconds of allocations by size, a column per kind and state of the pool."""
    times = {}
    for one in found["allocation"]:
        name = one["kind"].replace("_", "-")
        if one["kind"] not in _POOLLESS:
            name += f", pool {one['pool']}"
        if one[time] is not None:
            times.setdefault((one["bytes"], name), one[time])
    sizes, kinds = columns_of(times)
    rows = [
        [format_bytes(n), *(microseconds(times.get((n, kind))) for kind in kinds)] for n in sizes
    ]
    return rows_to_markdown(["µs", *kinds], rows)


def first_uses(found: dict[str, Any]) -> str:
    """Return microseconds of allocations with a first write to every page."""
    return allocations(found, "touched_us")


def small(found: dict[str, Any]) -> str:
    """Return microseconds for many small arrays, a column per way."""
    times = {(one["count"], one["way"]): one["us"] for one in found["small"]}
    counts, ways = columns_of(times)
    rows = [[str(n), *(microseconds(times.get((n, way))) for way in ways)] for n in counts]
    return rows_to_markdown(["arrays of 4 KiB, µs", *ways], rows)


def columns_of(cells: dict[tuple[int, str], Any]) -> tuple[list[int], list[str]]:
    """Return the numbers of the rows, in order, and the names of the columns."""
    return sorted({row for row, _ in cells}), list(dict.fromkeys(name for _, name in cells))


def microseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


PARTS = {"add": additions, "allocation": allocations, "use": first_uses, "small": small}


# ---- gpumem bench distributed ---------------------------------------------------------------

_WAYS = {
    "into_peers": "transpose, into the peers' memory",
    "packed": "transpose, by the library",
    "all_to_all": "the library's all-to-all alone",
    "torch": "PyTorch: permute, all-to-all, permute",
    "matmul": "`matmul`",
    "matmul_of_one": "`matmul` on one rank",
}


def milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def ranks(file: str) -> str:
    """Return milliseconds of ``bench distributed``, a row per matrix; nothing without a result."""
    found = of_tools.load(file)
    if found is None:
        return ""
    cells: dict[str, dict[str, float]] = {}
    for one in found["records"]:
        size = f"{' x '.join(map(str, one['shape']))} {one['dtype']}"
        size += ", in a row" * (one.get("order") == STREAM)
        cells.setdefault(size, {})[one["variant"]] = one["median_ms"]
    ways = [way for way in _WAYS if any(way in times for times in cells.values())]
    rows = [
        [size, *(milliseconds(times.get(way)) for way in ways)] for size, times in cells.items()
    ]
    with_whom = found["records"][0]["parameters"]
    table = rows_to_markdown(["ms", *(_WAYS[way] for way in ways)], rows)
    return f"{table}\n{with_whom['ranks']} ranks, {with_whom['engine']}. {source(found).strip()}\n"
