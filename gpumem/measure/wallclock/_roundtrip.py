"""`roundtrip`: what a caller of NumPy waits for, from ndarray to ndarray."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ... import _core
from ...base.bench_result import block, size_label
from . import _jobs
from ._callers import OURS, PEERS, absent
from ._choices import chosen
from ._contender import Checked, Contender, prepare
from ._family import Choices, Family, Parameter, Record, Step
from ._trip import floor, trip

_KINDS = ("pageable", "pinned")
_FLOOR = "bus"  # who does it, in the record of the floor


def _steps(nbytes: int, names: list[str]) -> list[Step]:
    return [Step(f"roundtrip {job}", _jobs.shape_for(job, nbytes), [job]) for job in names]


def _contenders(step: Step, choices: Choices, backend: str) -> list[Contender]:
    (job,) = step.variants
    found = [Contender(job, {"by": _FLOOR, "kind": "pinned"})]
    for kind in choices["kind"]:
        found += [Contender(job, {"by": by, "kind": kind}) for by in OURS]
        found += [
            Contender(job, {"by": by, "kind": kind}, reason=absent(by), foreign=True)
            for by in choices["with_peers"]
        ]
    return found


def _host_bytes(step: Step, contenders: Sequence[Contender]) -> int:
    """Inputs of two kinds and those of the floor, each with a result; and what is compared."""
    (job,) = step.variants
    in_bytes, out_bytes, _ = _jobs.work(job, step.shape)
    return 3 * in_bytes + 6 * out_bytes


def _prepare(
    step: Step, contenders: Sequence[Contender], backend: str, pool: ThreadPoolExecutor
) -> None:
    (job,) = step.variants
    inputs = _jobs.random_inputs(job, step.shape)
    places: dict[str, tuple[list[Any], Any]] = {"pageable": (inputs, None)}
    for one in contenders:
        by, kind = one.parameters["by"], one.parameters["kind"]

        def make(by: str = by, kind: str = kind) -> Checked:
            if by == _FLOOR:
                return floor(job, step.shape, backend, pool)
            if kind not in places:
                arrays = [
                    _core.empty(step.shape, "float32", kind=kind, backend=backend)
                    for _ in range(len(inputs) + 1)
                ]
                for to, a in zip(arrays, inputs, strict=False):
                    to[...] = a
                places[kind] = arrays[:-1], arrays[-1]
            return trip(job, by, *places[kind], backend)

        prepare(one, make)


def _work(variant: str, shape: tuple[int, ...]) -> tuple[int, int | None]:
    there, back, flops = _jobs.work(variant, shape)
    return there + back, flops


def _compare(records: list[Record]) -> None:
    """Fill in the fractions: the floor's time over the record's own."""
    least = next((one["median_ms"] for one in records if one["parameters"]["by"] == _FLOOR), None)
    for record in records:
        if least and record["median_ms"]:
            record["fraction_of_reference"] = least / record["median_ms"]


def _table(variant: str, records: list[Record]) -> Iterator[str]:
    yield f"{variant}: round trip, host clock, ms from ndarray to ndarray; ratio: bus over gpumem"
    labels = dict.fromkeys(
        (size_label(one), one["parameters"]["kind"])
        for one in records
        if one["parameters"]["by"] != _FLOOR
    )
    columns: dict[str, dict[tuple[str, ...], str]] = {}
    ratio: dict[tuple[str, ...], str] = {}
    for one in records:
        by, kind = one["parameters"]["by"], one["parameters"]["kind"]
        for row in labels:
            # The floor is the same for memory of every kind.
            mine = row[0] == size_label(one) and (by == _FLOOR or row[1] == kind)
            if mine and one["median_ms"] is not None:
                columns.setdefault(by, {})[row] = f"{one['median_ms']:.4g}"
                if by == "gpumem" and one["fraction_of_reference"] is not None:
                    ratio[row] = f"{one['fraction_of_reference']:.3f}"
    if _FLOOR in columns:
        columns[_FLOOR] = columns.pop(_FLOOR)  # last
    if ratio:
        columns["ratio"] = ratio
    yield block(["size", "kind"], list(columns), columns, labels)


FAMILY = Family(
    variants=tuple(_jobs.JOBS),
    sizes="1M:256M:x4",
    dtype="float32",
    parameters={"kind": Parameter(None, lambda value: chosen("kind", value, _KINDS))},
    peers=PEERS,
    steps=_steps,
    contenders=_contenders,
    host_bytes=_host_bytes,
    prepare=_prepare,
    work=_work,
    compare=_compare,
    is_ours=lambda parameters: parameters.get("by") in OURS,
    strain=lambda parameters: f"{parameters.get('kind')} memory",
    table=_table,
)
