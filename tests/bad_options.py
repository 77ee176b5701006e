"""The calls of `bad_calls` on results and reports: filters, pictures, and suites of benchmarks."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from bad_arrays import nothing
from bad_calls import Call

import gpumem as gm
from gpumem.measure import suite

os.environ.setdefault("MPLBACKEND", "agg")

COPY = gm.results["copy-h200"]
# Values that are functions: where one is accepted, what it raises is the caller's own.
CALLABLE = (
    "<class 'int'> type",
    "<built-in function len> builtin_function_or_method",
    "function",
    "class",
    "Variant",
)
NAMES = "str | Names | None"  # one name or several


def _call(name: str, function: Callable[..., Any], kinds: dict[str, str], **more: Any) -> Call:
    good = more.pop("good", {})
    without = tuple(
        f"{name}({parameter}={label})" for parameter in more.pop("calls", ()) for label in CALLABLE
    )
    return Call(name, lambda: (function, dict(good)), kinds, nothing, without=without, **more)


# ---- filters ------------------------------------------------------------------------------------


def _filter(**conditions: Any) -> None:
    """Filter by what records have, of which any value may be wanted."""
    chosen = COPY.filter(**conditions)
    assert len(chosen.records) <= len(COPY.records)
    assert chosen.provenance is COPY.provenance


FILTERS = [
    _call(
        "BenchResult.filter",
        _filter,
        dict.fromkeys(("variant", "shape", "gbps"), "Any"),
        calls=("variant", "shape", "gbps"),
    ),
]

# ---- pictures -----------------------------------------------------------------------------------

PICTURES = {
    "size": ("copy-h200", {"variants": NAMES, "cache": "str | None", "order": "str | None"}),
    "ladder": ("copy-h200", {"variants": NAMES, "cache": "str | None", "shape": "Shape | None"}),
    "roofline": ("sgemm-h200", {"variants": NAMES, "order": "str | None", "shape": "Shape | None"}),
    "sweep": ("strided_read-h200", {"variants": NAMES, "parameter": "str | None"}),
    "transfer": ("transfer-h200", {"memory": NAMES, "direction": NAMES}),
    "roundtrip": ("roundtrip-h200", {"memory": NAMES, "by": NAMES, "variants": NAMES}),
    "distance": ("prefetch_sum-h200", {"work": "Numbers | None", "warps": "Numbers | None"}),
    "map": ("prefetch_sum-h200", {"variant": "str | None", "padding": "Padding"}),
}


def _plot(result: gm.BenchResult, kind: str) -> Callable[..., None]:
    def plot(**options: Any) -> None:
        figure = result.plot(kind, **options)
        figure.clear()
        _close()

    return plot


def _close() -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def _plots() -> list[Call]:
    calls = []
    for kind, (name, kinds) in PICTURES.items():
        if name in gm.results:
            plot = _plot(gm.results[name], kind)
            calls.append(_call(f"plot({kind!r})", plot, kinds))
    return calls


def _kind(kind: Any) -> None:
    COPY.plot(kind)
    _close()


def _draw(**options: Any) -> None:
    REPORT.draw(**options)
    _close()


REPORT = gm.traffic("transpose", variant="tile", shape=(64, 64))
DRAWING = {"site": "int | str | None", "request": "int", "space": "str | None", "ax": "Axes | None"}
PLOTS = [
    *_plots(),
    _call("plot(kind)", _kind, {"kind": "str"}, called={"no_such_keyword": "no_such_keyword"}),
    _call("Traffic.draw", _draw, DRAWING),
]

# ---- benchmarks ---------------------------------------------------------------------------------

# Where there is no clock a benchmark plans its records and measures nothing.
BENCH = {
    "samples": "Pair",
    "spread": "float",
    "budget": "float",
    "timeout": "float | None",
    "device": "Device | None",
    "progress": "Progress | None",
}
FAMILY = {
    "variants": "Variants | None",
    "sizes": "Sizes | None",
    "dtype": "DTypeLike | None",
    "cache": "Names",
    "order": "Names",
    "shapes": "Shapes | None",
    "with_peers": "Names | None",
    "backend": "str | None",
}


PARTS, FEW = suite.parts, ("copy", "roundtrip")
CALLED = {
    "variants": r"variants?\b",
    "shapes": r"shapes?\b",
    "dtype": r"dtype|one element of",
}


def _bench(family: str, **good: Any) -> Call:
    kinds = {k: v for k, v in (BENCH | FAMILY).items() if k != "sizes" or "shapes" not in good}
    kinds |= {name: "Any" for name in good if name not in kinds}

    def bench(**options: Any) -> None:
        gm.bench(family, **options)

    good = {"variants": ["auto"], "backend": "sim", "sizes": "4K"} | good
    if "shapes" in good:
        del good["sizes"]
    return _call(f"bench({family!r})", bench, kinds, good=good, calls=("progress",), called=CALLED)


def _bench_all(**options: Any) -> None:
    """Call it with two of its parts: a case is about the arguments, and all parts take a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "parts", lambda device: {name: PARTS(device)[name] for name in FEW})
        gm.bench_all(**{"backend": "sim"} | options)


BENCHMARKS = [
    _bench("strided_read", stride=[1, 2], offset=0, threads=64),
    _bench("transpose", shapes=[(32, 32)]),
    _bench("prefetch_sum", distance=2, work=1, sync=False, threads=32, padding="auto"),
    _bench("transfer", kind="pinned", pieces=1, variants=["to_host"]),
    _bench("roundtrip", kind="pinned", variants=["copy"]),
    _call("bench_all", _bench_all, {"timeout": "float", "with_peers": "Names | None"}),
]
