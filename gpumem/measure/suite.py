"""Every family, at sizes chosen to tell the most in ten minutes.

What it measures on an H200 is what :mod:`gpumem.results` holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from .. import _core
from ..base.bench_result import BenchResult
from ..base.messages import quoted, unknown
from ..families.table import families
from . import wallclock as hostclock
from .bench import Progress, bench, deadline_after
from .recording import Interrupted

__all__ = ["bench_all"]

TIMEOUT = 600  # seconds, by default
_LIBRARIES = ("torch", "cupy")
_SIZES = "4M,256M"  # of what has no part below


class _Part(NamedTuple):
    """One family: what :func:`bench` is asked, the seconds that it takes on an H200, and which
    wishes of a caller mean nothing to it."""

    asked: dict[str, Any]
    seconds: float = 5
    ignores: tuple[str, ...] = ()


def _parts(backend: str) -> dict[str, _Part]:
    blocks = max([d["multiprocessors"] for d in _core.backend_info(backend)["devices"]], default=1)
    known = {
        "copy": _Part({"sizes": "4K:4G:x2"}, 12),
        "strided_read": _Part(
            {"sizes": "256M", "offset": 0, "stride": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]}
        ),
        "polynomial": _Part({"sizes": "256M"}),
        "sample": _Part({"sizes": _SIZES}, 30),
        "static_value": _Part({"shapes": [()]}, 1),
        # One to eight blocks for each multiprocessor: where prefetching pays, and where not.
        "prefetch_sum": _Part(
            {
                "shapes": [(count * blocks, 32768) for count in (1, 2, 4, 8)],
                "distance": [1, 2, 3, 4, 6, 8, 9, 12, 16],
                "padding": ["auto", 0],
                "work": [0, 1, 2, 4],
            },
            50,
        ),
        "transpose": _Part(
            {
                "shapes": [
                    *((side, side) for side in (1024, 2048, 4096, 8192, 16384, 32768)),
                    (16384, 8191),
                    (8191, 16384),
                    (50000, 5000),
                    (4000037, 7),
                ],
                "with_peers": _LIBRARIES,
            },
            90,
        ),
        "sgemm": _Part(
            {
                "shapes": [
                    *((side, side, side) for side in (1024, 2048, 4096, 8192)),
                    (4096, 4096, 1024),
                    (8192, 128, 8192),
                    (127, 10000, 2049),
                    (4095, 4097, 4099),
                ],
                "with_peers": _LIBRARIES,
                "samples": (5, 11),
                "budget": 0.25,
            },
            60,
        ),
        "transfer": _Part(
            {"sizes": "64K:1G:x4", "samples": (5, 15), "budget": 0.3}, 25, ("cache", "with_peers")
        ),
        "roundtrip": _Part(
            {"sizes": "4M:256M:x4", "samples": (3, 7), "budget": 0.3}, 70, ("cache",)
        ),
    }
    names = (*families(), *hostclock.FAMILIES)
    return {name: known.get(name, _Part({"sizes": _SIZES})) for name in names}


def _asked(part: _Part, told: dict[str, Any]) -> dict[str, Any]:
    """What is asked of a part: what it says itself where the caller says nothing."""
    return part.asked | {key: value for key, value in told.items() if key not in part.ignores}


def bench_all(
    *,
    timeout: float = TIMEOUT,
    with_peers: Iterable[str] | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> BenchResult:
    """Time every family, at sizes chosen to tell the most in ten minutes.

    Transfers and round trips come last.

    Parameters
    ----------
    timeout : float
        Seconds for all of it. Each family has its share of what is left, by how long it takes on
        an H200; what is not measured by then has a record that says so.
    with_peers : iterable of {"torch", "cupy"}, optional
        Other libraries to measure beside every kernel and round trip. By default, those that are
        told of are beside transposes, products and round trips.
    backend, progress
        As of :func:`bench`.
    **settings
        Of :func:`bench`: ``cache``, ``samples``, ``spread``, ``budget``. Otherwise each family has
        its own.

    Returns
    -------
    BenchResult
        Of all, as of :meth:`BenchResult.merge`: ``split()["copy"]`` is what :func:`bench` returned
        of that family.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; its ``result`` is a BenchResult of what was done.

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.bench_all(timeout=600)
    >>> list(result.split())[:3]
    ['copy', 'strided_read', 'strided_write']
    """
    known = ("cache", "samples", "spread", "budget")
    for name in settings:
        if name not in known:
            raise TypeError(unknown("bench_all has no parameter", name, known, "; its settings"))
    if not timeout >= 0:
        raise ValueError(f"timeout must be 0 or more, not {quoted(timeout)}")
    end = deadline_after(timeout)
    backend = _core.backend(backend)
    if with_peers is not None:
        settings["with_peers"] = list(with_peers)
    parts = _parts(backend)
    done: dict[str, BenchResult] = {}

    def result(**told: Any) -> BenchResult:
        merged = BenchResult.merge(done)
        if len(done) > 1:
            first = next(iter(done.values())).provenance
            told |= {"date": first["date"], "device": first["device"]}
            told["settings"] = {"timeout": timeout}
        return BenchResult(merged.records, merged.provenance | told)

    for i, (family, part) in enumerate(parts.items()):

        def step(now: int, total: int, text: str, i: int = i) -> None:
            assert progress is not None
            progress(100 * i + 100 * now // max(total, 1), 100 * len(parts), text)

        left = max(0.0, end - time.perf_counter())
        usual = [one.seconds for one in list(parts.values())[i:]]
        try:
            done[family] = bench(
                family,
                backend=backend,
                timeout=left * part.seconds / sum(usual),
                progress=None if progress is None else step,
                **_asked(part, settings),
            )
        except Interrupted as stop:
            done[family] = stop.result
            raise Interrupted(result(interrupted=True)) from None
        except KeyboardInterrupt:  # before it measured, or after
            raise Interrupted(result(interrupted=True)) from None
    if progress is not None:
        progress(100 * len(parts), 100 * len(parts), "done")
    return result()
