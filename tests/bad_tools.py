"""The calls of `bad_calls` that count, measure, compare and explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from bad_arrays import nothing
from bad_calls import Call
from bad_public import kinds_of

import gpumem as gm

MEASURED = gm.results["copy-h200"]
FILES = (OSError,)
# The name of a result, which the message quotes.
NAMES = dict.fromkeys(
    ("before", "after", "results", "name"), r"before|after|results|no result '|name (is|must)"
)


def _call(function: Any, good: dict[str, Any], kinds: dict[str, str], **more: Any) -> Call:
    """A call; `kinds` are the parameters that the signature does not show, or not so."""
    left_out = ("args", "arrays", *more.pop("left_out", ()))
    name = more.pop("name", None) or function.__name__
    shown = {k: v for k, v in kinds_of(function).items() if k not in left_out}
    return Call(name, lambda: (function, dict(good)), shown | kinds, nothing, **more)


BENCH = {
    "family": "str | Launch",
    "dtype": "DTypeLike | None",
    "samples": "Iterable",
    "backend": "str | None",
}
GIGABYTES = (2**31 - 1, 2**31, 2**32)  # elements that a large machine has the memory for
VARIANT = gm.variants("copy")[0]
A = np.ones(4, "f4")

COUNTING = [
    _call(
        gm.traffic,
        {"family": "copy", "shape": 4},
        {"max_blocks": "int | None"},
        without=tuple(f"traffic(shape={n} int)" for n in GIGABYTES),
    ),
    _call(gm.sass, {"family": "copy", "variant": "vec4"}, {}),
    _call(
        gm.explain,
        {"family": "copy", "variant": "vec4"},
        {
            "variant": "str | Variant",
            "shape": "int | tuple[int, ...] | None",
            "results": "BenchResult | str | os.PathLike[str] | None",
            "live": "bool",
        },
        errors=FILES,
        called=NAMES,
    ),
    _call(gm.variants, {"family": "copy"}, {}),
    _call(VARIANT.reason_on, {}, {}, name="Variant.reason_on"),
    _call(VARIANT.attributes, {}, {}, name="Variant.attributes"),
    _call(VARIANT, {"a": A, "backend": "sim"}, {"a": "array"}, name="Variant()"),
]
MEASURING = [
    _call(
        gm.bench,
        {"family": "copy", "variants": "vec4", "sizes": "4K", "backend": "sim"},
        BENCH,
        left_out=("progress",),
        called={"dtype": "dtype|one element of"},
    ),
]
RESULTS = [
    _call(gm.compare, {"before": MEASURED, "after": MEASURED}, {}, errors=FILES, called=NAMES),
    _call(gm.prefetch_advice, {"result": gm.results["prefetch_sum-h200"]}, {}),
    _call(gm.prefetch_table, {"result": gm.results["prefetch_sum-h200"]}, {}),
    _call(
        MEASURED.compare,
        {"after": MEASURED},
        {},
        name="BenchResult.compare",
        called=NAMES,
        errors=FILES,
    ),
    _call(MEASURED.to_json, {}, {}, name="BenchResult.to_json", errors=FILES, left_out=("packed",)),
    _call(
        gm.BenchResult.from_json,
        {"source": MEASURED.to_json()},
        {},
        name="BenchResult.from_json",
        errors=FILES,
    ),
    _call(
        gm.BenchResult.load,
        {"name": "copy-h200"},
        {},
        name="BenchResult.load",
        errors=FILES,
        called=NAMES,
    ),
    _call(gm.BenchResult.merge, {"parts": {"a": MEASURED}}, {}, name="BenchResult.merge"),
]
