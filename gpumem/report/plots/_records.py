"""Which records of a result a picture shows, and what it calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.messages import quoted
from ...families import oracle
from ...families.table import variants

if TYPE_CHECKING:
    from ...base.bench_result import BenchResult


def listed(name: str, wanted: Any, known: list[Any]) -> list[Any]:
    """Those of the known values that an option names; None is all."""
    if wanted is None:
        return known
    several = list(wanted) if isinstance(wanted, list | tuple | range) else [wanted]
    for one in several:
        if one not in known:
            words = ", ".join(map(str, known))
            raise ValueError(f"{name} {quoted(one)} was not measured; there are: {words}")
    return several


def timed_records(result: BenchResult, cache: str | None) -> list[dict[str, Any]]:
    """Records with a time, of one state of the cache."""
    timed = [record for record in result.records if record["median_ms"]]
    if not timed:
        raise ValueError("the result has no times to draw")
    caches = list(dict.fromkeys(record["cache"] for record in timed))
    (cache,) = listed("cache", caches[0] if cache is None else cache, caches)
    return [record for record in timed if record["cache"] == cache]


def varied_parameters(records: list[dict[str, Any]]) -> list[str]:
    """The parameters that have several values."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for name, value in (record["parameters"] or {}).items():
            seen.setdefault(name, set()).add(repr(value))
    return [name for name, values in seen.items() if len(values) > 1]


def one_family(
    result: BenchResult, cache: str | None, swept: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The family that was benchmarked, and its records with those of its reference beside."""
    timed = timed_records(result, cache)
    found = list(dict.fromkeys(record["family"] for record in timed))
    named = [one["family"] for one in result.records if one["variant"] == "auto"]
    family = named[0] if named else found[0]
    others = [name for name in found if name not in (family, oracle.reference(family)[0])]
    if others:
        raise ValueError(
            f"the result is of several families, {', '.join([family, *others])}: "
            "result.filter(family=...) chooses one"
        )
    varied = [name for name in varied_parameters(timed) if name != swept]
    varied += ["dtype"] if len({record["dtype"] for record in timed}) > 1 else []
    if varied:
        raise ValueError(
            f"the result has several values of {', '.join(varied)}: result.filter(...) chooses one"
        )
    return family, timed


def called(record: dict[str, Any], family: str) -> str:
    return record["variant"] if record["family"] == family else full_name(record)


def reference_name(family: str) -> str:
    kin, name = oracle.reference(family)
    return name if kin == family else f"{kin}-{name}"


def full_name(record: dict[str, Any]) -> str:
    return f"{record['family']}-{record['variant']}"


def in_order(names: list[str], family: str) -> list[str]:
    """As the table tells the ladder; then "auto", then what is from elsewhere."""
    known = [variant.name for variant in variants(family)]
    return sorted(names, key=lambda n: known.index(n) if n in known else 99 + (n != "auto"))


_FEW_BYTES = 1024  # which any memory moves in less time than a launch takes


def unit_of(records: list[dict[str, Any]]) -> tuple[str, str, str]:
    """The figure that all records have, its name, and the device's peak of it."""
    if all(record["bytes"] <= _FEW_BYTES for record in records):
        return "median_ms", "ms, shorter is better", ""
    if all(record["tflops"] is not None for record in records):
        return "tflops", "TFLOP/s", "fp32_tflops"
    return "gbps", "GB/s, bytes read and written", "bandwidth_gbps"


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["bytes"] == other["bytes"] and sorted(one["shape"]) == sorted(other["shape"])


def at_shape(records: list[dict[str, Any]], shape: Any) -> list[dict[str, Any]]:
    """Those of one shape: by default where most have a time, the largest of these.

    And beside them who did as much with axes in another order, and has no time in this one.
    """
    shapes: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for record in records:
        shapes.setdefault(tuple(record["shape"]), []).append(record)
    if shape is None:
        chosen = max(shapes.values(), key=lambda found: (len(found), found[0]["bytes"]))
        here = {full_name(one) for one in chosen}
        turned = [found for found in shapes.values() if _alike(found[0], chosen[0])]
        return [*chosen, *(one for found in turned for one in found if full_name(one) not in here)]
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    (wanted,) = listed("shape", [wanted], list(shapes))
    return shapes[wanted]
