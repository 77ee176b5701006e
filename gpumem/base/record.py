"""One record of a benchmark: a variant at one size, with its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .sizes import format_shape

__all__ = [
    "FIELDS",
    "NO_TIMES",
    "ORDERS",
    "SINGLE",
    "STREAM",
    "Record",
    "order_of",
    "order_words",
    "size_label",
]

# The reason of records that were made without a clock.
NO_TIMES = "the simulator counts traffic and has no clock"

# What comes before a timed call: others of its kind, or nothing that it could overlap with.
STREAM, SINGLE = ORDERS = ("stream", "single")


def order_of(record: Mapping[str, Any]) -> str | None:
    """Return the order of a record in ``BenchResult.records``.

    Records of kernels that do not say are from when there was no choice: "stream".
    """
    return record.get("order") or (STREAM if record.get("cache") else None)


def order_words(order: str | None) -> str:
    """Return what a heading adds for an order; the usual one is not named."""
    return ", single calls" if order == SINGLE else ""


@dataclass
class Record:
    """A row of a benchmark; :class:`gpumem.BenchResult` explains the fields and their units.

    What does not apply or is not known is None.
    """

    family: str
    variant: str
    ran: str | None = None
    backend: str | None = None
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    parameters: dict[str, Any] = field(default_factory=dict)
    bytes: int | None = None
    flops: int | None = None
    cache: str | None = None
    order: str | None = None
    median_ms: float | None = None
    min_ms: float | None = None
    p20_ms: float | None = None
    p80_ms: float | None = None
    samples: int | None = None
    gbps: float | None = None
    tflops: float | None = None
    fraction_of_peak: float | None = None
    fraction_of_reference: float | None = None
    clock_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    throttled: list[str] | None = None
    reason: str | None = None
    # The name of the result that a merged record comes from.
    source: str | None = None

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Record:
        """Return a record from its form in ``BenchResult.records``; unknown keys are ignored."""
        given = {name: record[name] for name in (*FIELDS, "source") if name in record}
        given["shape"] = tuple(record["shape"])
        given["order"] = order_of(record)
        given["parameters"] = dict(record.get("parameters") or {})
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the form in ``BenchResult.records``."""
        found = asdict(self) | {"shape": list(self.shape)}
        if self.source is None:
            del found["source"]
        return found

    @property
    def name(self) -> str:
        """The variant with its family, such as "copy-vec4"."""
        return f"{self.family}-{self.variant}"

    @property
    def label(self) -> str:
        """The name; of a record without a state of the cache, also who or what did the work."""
        if self.cache is not None:
            return self.name
        return f"{self.name} {self.parameters.get('by', self.parameters.get('kind'))}"

    @property
    def conditions(self) -> str:
        """The state of the L2, and the order of calls unless it is the usual one."""
        return f"{self.cache} L2{order_words(self.order)}"

    @property
    def size(self) -> str:
        """The size as tables show it, such as "4 KiB" or "1024x1024"."""
        return format_shape(self.shape, self.dtype)

    @property
    def spread(self) -> float | None:
        """The distance from the 20th to the 80th percentile, as a share of the median."""
        if not self.median_ms or self.p20_ms is None or self.p80_ms is None:
            return None
        return (self.p80_ms - self.p20_ms) / self.median_ms

    @property
    def is_launch(self) -> bool:
        """Whether the launch is what was measured: there is one number and nothing to move."""
        return not self.shape


FIELDS = tuple(one.name for one in fields(Record) if one.name != "source")


def size_label(record: Mapping[str, Any]) -> str:
    """Return the size of a record in ``BenchResult.records`` as tables show it."""
    return format_shape(record["shape"], record["dtype"])
