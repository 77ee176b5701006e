"""Records that are being measured, and where they come from."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..base.bench_result import BenchResult, rounded
from ..machine import devices


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a benchmark; `result` is what was measured until then."""

    def __init__(self, result: BenchResult) -> None:
        super().__init__()
        self.result = result


class Recording:
    """Around the measuring: keeps what there is when Ctrl-C ends it.

    Parameters
    ----------
    backend : {"cuda", "sim"}
        Of a device, the clocks before and after are kept.
    settings : dict
        Of the run, for its provenance.
    """

    def __init__(self, backend: str, settings: dict[str, Any]) -> None:
        self.records: list[dict[str, Any]] = []
        self.provenance = devices.provenance(backend)
        self.provenance["settings"] = settings
        self._clocks = backend == "cuda"
        if self._clocks:
            before = devices.clocks(self.provenance["device"])
            self.provenance["clocks"] = {"before": before}

    def result(self) -> BenchResult:
        """Return what is recorded."""
        if self._clocks:
            self.provenance["clocks"]["after"] = devices.clocks(self.provenance["device"])
        exact = [{key: rounded(value) for key, value in one.items()} for one in self.records]
        return BenchResult(exact, self.provenance)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.provenance["interrupted"] = True
            raise Interrupted(self.result()) from None
