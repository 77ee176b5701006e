"""How much a variant computes per byte that its requests move, from the simulator."""

from __future__ import annotations

import math
from typing import Any

from ... import _core
from ...count.traffic import SECTOR, Traffic, traffic
from ...families import oracle

_SIDE, _TILE = 512, 128  # of a product that is simulated, at most and at least

_DEPTHS = (32, 64)

_DEEPEST = 1024


def _like(side: int, most: int) -> int:
    """A side of at most so many elements that falls on vectors as the other does."""
    return side if side <= most else most - (-side) % 4


def _moved_by_product(record: dict[str, Any], device: dict[str, Any]) -> float:
    """Bytes that the requests of a product of matrices move, per operation.

    A small product with as many tiles for each multiprocessor is simulated. What its tiles move
    grows with the depth by so much per step, and what is left is the result. Where blocks share the
    depth of a tile their number depends on it, and their sums are written and read: such a
    product is as deep as it was, within reason. Factors that are written out first grow with the
    sides, not with the tiles.
    """

    def simulate(*shape: int) -> Traffic:
        name = record["variant"]
        return traffic(record["family"], variant=name, shape=shape, dtype=record["dtype"])

    def packing(report: Traffic) -> int:
        sites = [one for one in report.sites if str(one["file"]).endswith("/pack.cu")]
        return sum(one["sectors"] for one in sites) * SECTOR

    rows, columns, depth = record["shape"]
    here = _core.backend_info("sim")["devices"][0]["multiprocessors"]
    scale = math.sqrt(here / (device.get("multiprocessors") or here))
    steps = [_like(depth, most) for most in _DEPTHS]
    alone = simulate(min(rows, _TILE), min(columns, _TILE), min(depth, 4 * steps[-1]))
    shares = any("share" in one["name"] for one in alone.helpers())
    sides = []
    for side in (rows, columns):
        tiles = max(1, round(scale * side / _TILE))
        sides.append(_like(side, min(_SIDE if shares else _SIDE // 2, _TILE * tiles)))
    if shares and math.prod(simulate(*sides, steps[0]).grid) < here:
        steps[1] = min(depth, _DEEPEST)
        steps[0] = steps[1]
    few, more = (simulate(*sides, one) for one in steps)
    own = [report.bytes_moved - packing(report) for report in (few, more)]
    packed = packing(more) / (sum(sides) * steps[1]) * (rows + columns) * depth
    if steps[0] == steps[1]:
        moved = own[1] / (math.prod(sides) * steps[1])
    else:
        each = (own[1] - own[0]) / (steps[1] - steps[0])
        moved = (own[0] + each * (depth - steps[0])) / (math.prod(sides) * depth)
    return (moved + packed / (rows * columns * depth)) / 2


def intensity(record: dict[str, Any], device: dict[str, Any]) -> tuple[float, bool]:
    """Operations per byte that requests move, from the simulator; else per byte of the arrays.

    A block of a large job does what a block of a small one does, so a small one is simulated.
    """
    family, name = record["family"], record["variant"]
    try:
        if family == "sgemm":
            return 1 / _moved_by_product(record, device), True
        most = 256 if len(record["shape"]) > 1 else 2**20
        shape = tuple(min(side, most) for side in record["shape"])
        report = traffic(family, variant=name, shape=shape, dtype=record["dtype"])
        _, flops = oracle.work(family, shape, record["dtype"])
        if report.bytes_moved and flops:
            return flops / report.bytes_moved, True
    except (_core.UnavailableError, ValueError, TypeError, ZeroDivisionError):
        pass
    return record["flops"] / record["bytes"], False
