"""`transfer`: bytes from where they are to where they should be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ... import _core
from ...base.bench_result import block, size_label
from ...base.sizes import format_bytes
from ._arrays import Arrays
from ._choices import chosen, piece_counts
from ._contender import Checked, Contender, no_memory, prepare
from ._directions import both_ways, one_way, within
from ._family import Choices, Family, Parameter, Record, Step
from ._peer import WAYS, to_peer

KINDS = ("pageable", "pageable_driver", "pinned", "write_combined", "mapped", "managed")

_MOST_MANAGED = 2**26  # bytes
# Threads copy pageable memory, pages of managed memory move; of the rest, the bus alone does.
_STRAIN = {
    "pageable": "pageable memory",
    "pageable_driver": "pageable memory",
    "pinned": "pinned memory",
    "write_combined": "pinned memory",
    "mapped": "pinned memory",
    "managed": "managed memory",
}
_DIRECTIONS: dict[str, Callable[[Arrays, str, int], Checked]] = {
    "to_device": functools.partial(one_way, to_device=True),
    "to_host": functools.partial(one_way, to_device=False),
    "both": both_ways,
    "within": within,
    "to_peer": to_peer,
}
# Those in which each byte counts twice.
_TWICE = {"both": "both directions together", "within": "bytes read and written"}


def _kinds(variant: str, kinds: list[Any], backend: str) -> Sequence[str]:
    """Return what there is to choose from; "device" where the host's memory takes no part."""
    if variant == "to_peer" and len(_core.backend_info(backend)["devices"]) > 1:
        return WAYS
    return ("device",) if variant in ("within", "to_peer") else kinds


def _why_not(variant: str, kind: str, pieces: int, nbytes: int) -> str | None:
    """The reason why there is nothing to measure, None if there is."""
    if variant == "to_peer" and kind == "device":
        return "there is no second device"
    if pieces > nbytes:
        return f"{format_bytes(nbytes)} cannot be cut into {pieces} pieces"
    if kind == "managed":
        if nbytes > _MOST_MANAGED:
            return f"managed memory is measured up to {format_bytes(_MOST_MANAGED)}"
        if variant == "both":
            return "managed memory is measured in one direction at a time"
        if pieces > 1:
            return "the pages of managed memory move one by one, not in pieces"
    return None


def _contenders(step: Step, choices: Choices, backend: str) -> list[Contender]:
    (nbytes,) = step.shape
    return [
        Contender(
            name, {"kind": kind, "pieces": pieces}, reason=_why_not(name, kind, pieces, nbytes)
        )
        for name in step.variants
        for kind in _kinds(name, choices["kind"], backend)
        for pieces in choices["pieces"]
    ]


def _host_bytes(step: Step, contenders: Sequence[Contender]) -> int:
    """Each kind full and to be written to, the data, and what comes back to be compared."""
    (nbytes,) = step.shape
    kinds = {one.parameters["kind"] for one in contenders}
    return (2 + 2 * len(kinds)) * nbytes


def _prepare(
    step: Step, contenders: Sequence[Contender], backend: str, pool: ThreadPoolExecutor
) -> None:
    (nbytes,) = step.shape
    try:
        arrays = Arrays(nbytes, backend, pool)
    except MemoryError as error:
        for one in contenders:
            one.reason = no_memory(error)
        return
    for one in contenders:
        kind, pieces = one.parameters["kind"], one.parameters["pieces"]
        prepare(one, functools.partial(_DIRECTIONS[one.variant], arrays, kind, pieces))


def _work(variant: str, shape: tuple[int, ...]) -> tuple[int, int | None]:
    (nbytes,) = shape
    return (2 if variant in _TWICE else 1) * nbytes, None


def _compare(records: list[Record]) -> None:
    """Fill in the fractions, of pinned memory with as few pieces as were measured; on the way to
    another device, of the copy engine with access."""
    for record in records:
        pinned = [
            one
            for one in records
            if one["gbps"]
            and one["variant"] == record["variant"]
            and one["parameters"]["kind"] in ("pinned", "access")
        ]
        if pinned and record["gbps"]:
            least = min(pinned, key=lambda one: one["parameters"]["pieces"])
            record["fraction_of_reference"] = record["gbps"] / least["gbps"]


def _table(variant: str, records: list[Record]) -> Iterator[str]:
    counted = f", {_TWICE[variant]}" if variant in _TWICE else ""
    yield f"transfer {variant}, host clock, GB/s{counted}"
    several = len({one["parameters"]["pieces"] for one in records}) > 1
    columns: dict[str, dict[tuple[str, ...], str]] = {}
    labels: dict[tuple[str, ...], None] = {}
    for one in records:
        values = one["parameters"]
        row = (size_label(one), *([str(values["pieces"])] if several else []))
        labels[row] = None
        if one["gbps"] is not None:
            columns.setdefault(values["kind"], {})[row] = f"{one['gbps']:.4g}"
    yield block(["size", *(["pieces"] if several else [])], list(columns), columns, labels)


FAMILY = Family(
    variants=tuple(_DIRECTIONS),
    sizes="64K:1G:x4",
    dtype="uint8",
    parameters={
        "kind": Parameter(None, lambda value: chosen("kind", value, KINDS)),
        "pieces": Parameter(1, piece_counts),
    },
    peers=(),
    steps=lambda nbytes, names: [Step("transfer", (nbytes,), names)],
    contenders=_contenders,
    host_bytes=_host_bytes,
    prepare=_prepare,
    work=_work,
    compare=_compare,
    is_ours=lambda parameters: parameters.get("kind") in ("pageable", "mapped", "kernel"),
    strain=lambda parameters: _STRAIN.get(str(parameters.get("kind")), "no host memory"),
    table=_table,
)
