"""Operations per byte that the requests of a variant move, from the simulator."""

from __future__ import annotations

import math

from .. import _core
from ..base.record import Record
from ..families import oracle
from .access import SECTOR
from .traffic import Traffic, traffic

__all__ = ["intensity"]

_SIDE, _TILE = 512, 128  # of a simulated product: the most and the least
_DEPTHS = (32, 64)
_DEEPEST = 1024
_VECTOR, _MATRIX = 2**20, 256  # sides of other jobs that are simulated, at most


def _like(side: int, most: int) -> int:
    """Return a side of at most `most` elements with the same alignment to vectors."""
    return side if side <= most else most - (-side) % 4


class _Product:
    """A product of matrices, of which smaller ones are simulated.

    What tiles move grows linearly with the depth; the rest is the result. If blocks share the depth
    of a tile, their number depends on it and their sums are written and read: then the simulated
    product is as deep as the real one, within reason. Factors that are packed first grow with the
    sides and not with the tiles.
    """

    def __init__(self, record: Record, multiprocessors: int | None) -> None:
        self.record = record
        self.rows, self.columns, self.depth = record.shape
        self.steps = [_like(self.depth, most) for most in _DEPTHS]
        here: int = _core.backend_info("sim")["devices"][0]["multiprocessors"]
        alone = self.simulate(
            min(self.rows, _TILE), min(self.columns, _TILE), min(self.depth, 4 * self.steps[-1])
        )
        shares = any("share" in one["name"] for one in alone.helpers())
        # As many tiles per multiprocessor as on the device.
        scale = math.sqrt(here / (multiprocessors or here))
        most = _SIDE if shares else _SIDE // 2
        self.sides = [
            _like(side, min(most, _TILE * max(1, round(scale * side / _TILE))))
            for side in (self.rows, self.columns)
        ]
        if shares and math.prod(self.simulate(*self.sides, self.steps[0]).grid) < here:
            self.steps = [min(self.depth, _DEEPEST)] * 2

    def simulate(self, *shape: int) -> Traffic:
        name, dtype = self.record.variant, self.record.dtype
        return traffic(self.record.family, variant=name, shape=shape, dtype=dtype)

    def bytes_per_operation(self) -> float:
        few, more = (self.simulate(*self.sides, step) for step in self.steps)
        area, whole = math.prod(self.sides), self.rows * self.columns * self.depth
        moved = [report.bytes_moved - _packed(report) for report in (few, more)]
        if self.steps[0] == self.steps[1]:
            tiles = moved[1] / (area * self.steps[1])
        else:
            each = (moved[1] - moved[0]) / (self.steps[1] - self.steps[0])
            tiles = (moved[0] + each * (self.depth - self.steps[0])) / (area * self.depth)
        packed = _packed(more) / (sum(self.sides) * self.steps[1])
        packed *= (self.rows + self.columns) * self.depth / whole
        return (tiles + packed) / 2


def _packed(report: Traffic) -> int:
    """Return the bytes that packing the factors moves."""
    sites = [one for one in report.sites if str(one["file"]).endswith("/pack.cu")]
    return int(sum(one["sectors"] for one in sites)) * SECTOR


def intensity(record: Record, multiprocessors: int | None) -> tuple[float, bool]:
    """Return the operations per byte of a variant, and whether they were simulated.

    Simulated, the bytes are those that requests move, without caches; otherwise they are those of
    the arrays. A block of a large job does what a block of a small one does, so a small job is
    simulated.

    Parameters
    ----------
    record : Record
        The variant and the shape; it has ``flops`` and ``bytes``.
    multiprocessors : int or None
        Of the device that was measured.
    """
    family, name = record.family, record.variant
    flops, nbytes = record.flops or 0, record.bytes or 0
    try:
        if family == "sgemm":
            return 1 / _Product(record, multiprocessors).bytes_per_operation(), True
        most = _MATRIX if len(record.shape) > 1 else _VECTOR
        shape = tuple(min(side, most) for side in record.shape)
        report = traffic(family, variant=name, shape=shape, dtype=record.dtype)
        _, operations = oracle.work(family, shape, record.dtype)
        if report.bytes_moved and operations:
            return operations / report.bytes_moved, True
    except (_core.UnavailableError, ValueError, TypeError, ZeroDivisionError):
        pass
    return flops / nbytes, False
