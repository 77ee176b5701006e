"""The records of a running benchmark, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

import numpy as np

from ..base.progress import Progress, silent
from ..base.record import Record
from ..base.result import BenchResult
from ..base.result_json import rounded
from ..machine import nvml
from ..machine.device import Device
from ..machine.provenance import provenance
from .contender import Contender
from .sampling import Limits

__all__ = ["Interrupted", "Recording", "Run", "record_of"]


@dataclass(frozen=True)
class Run:
    """How to measure, whatever is measured.

    Attributes
    ----------
    limits : Limits
        When a contender has enough samples.
    timeout : float or None
        Seconds for all of it.
    progress : callable
        Called before each step.
    """

    limits: Limits
    timeout: float | None = None
    progress: Progress = silent


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a benchmark; `result` is what was measured until then."""

    def __init__(self, result: BenchResult) -> None:
        super().__init__()
        self.result = result


class Recording:
    """A context around measuring, which keeps the records when Ctrl-C ends it.

    Parameters
    ----------
    device : Device
        What is measured; the clocks of a CUDA device are read before and after.
    run : Run
        How it is measured, for the provenance.
    parameters : dict
        The parameters that were asked for, for the provenance.
    """

    def __init__(self, device: Device, run: Run, parameters: dict[str, Any]) -> None:
        self.records: list[Record] = []
        self.provenance = provenance(device)
        settings = asdict(run.limits) | {"timeout": run.timeout, "parameters": parameters}
        self.provenance["settings"] = settings
        self._has_clocks = device.backend == "cuda"
        if self._has_clocks:
            before = nvml.clocks(self.provenance["device"])
            self.provenance["clocks"] = {"before": before}

    def result(self) -> BenchResult:
        """Return what is recorded."""
        if self._has_clocks:
            self.provenance["clocks"]["after"] = nvml.clocks(self.provenance["device"])
        records = [
            {key: rounded(value) for key, value in one.to_dict().items()} for one in self.records
        ]
        return BenchResult(records, self.provenance)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.provenance["interrupted"] = True
            raise Interrupted(self.result()) from None


def record_of(
    one: Contender,
    *,
    backend: str,
    shape: tuple[int, ...],
    dtype: str,
    cache: str | None,
    order: str | None,
    work: tuple[int | None, int | None],
) -> Record:
    """Return the record of a contender.

    Parameters
    ----------
    one : Contender
        With its samples, or the reason why there are none.
    backend, shape, dtype, cache, order
        What was measured.
    work : (int or None, int or None)
        Bytes moved and floating-point operations of one call, as far as they are known.
    """
    nbytes, flops = work
    record = Record(
        family=one.family,
        variant=one.variant,
        ran=one.ran,
        backend=backend,
        shape=shape,
        dtype=dtype,
        parameters=one.parameters,
        bytes=nbytes,
        flops=flops,
        cache=cache,
        order=order,
        reason=one.reason,
    )
    if one.samples:
        _fill_in_times(record, one.samples)
    return record


def _fill_in_times(record: Record, samples: Sequence[float]) -> None:
    """Fill in the times of a record, and the rates that follow from them."""
    quantiles = np.quantile(samples, (0, 0.2, 0.5, 0.8))
    record.min_ms, record.p20_ms, record.median_ms, record.p80_ms = map(float, quantiles)
    record.samples = len(samples)
    if record.median_ms:
        if record.bytes is not None:
            record.gbps = record.bytes / record.median_ms / 1e6
        record.tflops = record.flops / record.median_ms / 1e9 if record.flops else None
