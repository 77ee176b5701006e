"""Every family, at sizes chosen to show the most in ten minutes.

What it measures on an H200 is what ``gpumem.results`` holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..base.messages import unknown
from ..base.progress import Progress, checked_progress
from ..base.result import BenchResult
from ..base.several import names_of
from ..base.wall_clock import FAMILIES as WALL_CLOCK_FAMILIES
from ..families.table import families
from ..machine.device import Device
from .bench import bench, device_of, non_negative
from .recording import Interrupted
from .sampling import Deadline

__all__ = ["bench_all"]

TIMEOUT = 600  # seconds, by default
_LIBRARIES = ("torch", "cupy")
_SIZES = "4M,256M"  # of families without a part below
_SETTINGS = ("cache", "order", "samples", "spread", "budget")
_STEPS = 100  # of progress, per family


class Part(NamedTuple):
    """One family of the suite."""

    # What bench is asked for.
    asked: dict[str, Any]
    # How long it takes on an H200.
    seconds: float = 5
    # Settings of the caller that mean nothing to it.
    ignores: tuple[str, ...] = ()


_TRANSPOSES = (
    *((side, side) for side in (1024, 2048, 4096, 8192, 16384, 32768)),
    (16384, 8191),
    (8191, 16384),
    (50000, 5000),
    (4000037, 7),
)
_PRODUCTS = (
    *((side, side, side) for side in (1024, 2048, 4096, 8192)),
    (4096, 4096, 1024),
    (8192, 128, 8192),
    (127, 10000, 2049),
    (4095, 4097, 4099),
)


def parts(device: Device) -> dict[str, Part]:
    """Return what is measured of each family, in order."""
    properties = device.info()["devices"]
    blocks = max([one["multiprocessors"] for one in properties], default=1)
    known = {
        "copy": Part({"sizes": "4K:4G:x2"}, 12),
        "strided_read": Part(
            {"sizes": "256M", "offset": 0, "stride": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]}
        ),
        "polynomial": Part({"sizes": "256M"}),
        "sample": Part({"sizes": _SIZES}, 30),
        "static_value": Part({"shapes": [()]}, 1),
        # One to eight blocks per multiprocessor: where prefetching pays, and where it does not.
        "prefetch_sum": Part(
            {
                "shapes": [(count * blocks, 32768) for count in (1, 2, 4, 8)],
                "distance": [1, 2, 3, 4, 6, 8, 9, 12, 16],
                "padding": ["auto", 0],
                "work": [0, 1, 2, 4],
            },
            50,
        ),
        "transpose": Part({"shapes": list(_TRANSPOSES), "with_peers": _LIBRARIES}, 90),
        "sgemm": Part(
            {
                "shapes": list(_PRODUCTS),
                "with_peers": _LIBRARIES,
                "samples": (5, 11),
                "budget": 0.25,
            },
            60,
        ),
        "transfer": Part(
            {"sizes": "64K:1G:x4", "samples": (5, 15), "budget": 0.3},
            25,
            ("cache", "order", "with_peers"),
        ),
        "roundtrip": Part(
            {"sizes": "4M:256M:x4", "samples": (3, 7), "budget": 0.3}, 70, ("cache", "order")
        ),
    }
    names = (*families(), *WALL_CLOCK_FAMILIES)
    return {name: known.get(name, Part({"sizes": _SIZES})) for name in names}


def bench_all(
    *,
    timeout: float = TIMEOUT,
    with_peers: Iterable[str] | None = None,
    backend: str | None = None,
    device: Device | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> BenchResult:
    """Time every family, at sizes chosen to show the most in ten minutes.

    Transfers and round trips come last.

    Parameters
    ----------
    timeout : float
        Seconds for the whole suite. Each family gets its share of the time that is left, by how
        long it takes on an H200; what is not measured by then has a record that says so.
    with_peers : iterable of {"torch", "cupy"}, optional
        Other libraries to measure beside every kernel and round trip. By default they are measured
        beside transposes, matrix products and round trips.
    backend, device, progress
        As for :func:`bench`.
    **settings
        As for :func:`bench`: ``cache``, ``order``, ``samples``, ``spread``, ``budget``. By default
        each family has its own.

    Returns
    -------
    BenchResult
        All of it, as :meth:`BenchResult.merge` returns it: ``split()["copy"]`` is what
        :func:`bench` returned for that family.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; its ``result`` is a BenchResult of what was measured.

    Examples
    --------
    >>> import gpumem as gm
    >>> result = gm.bench_all(backend="sim")
    >>> sorted(result.split())[:3]
    ['add', 'chase', 'copy']
    """
    for name in settings:
        if name not in _SETTINGS:
            known = _SETTINGS
            raise TypeError(unknown("bench_all has no parameter", name, known, "; its settings"))
    timeout = non_negative("timeout", timeout)
    if with_peers is not None:
        settings["with_peers"] = names_of("with_peers", with_peers, "names of libraries")
    return _measure(device_of(device, backend), timeout, checked_progress(progress), settings)


def _measure(
    device: Device, timeout: float, progress: Progress, settings: dict[str, Any]
) -> BenchResult:
    deadline = Deadline(timeout)
    asked = parts(device)
    done: dict[str, BenchResult] = {}
    for i, (family, part) in enumerate(asked.items()):
        seconds = [one.seconds for one in list(asked.values())[i:]]
        try:
            done[family] = bench(
                family,
                device=device,
                timeout=deadline.left * part.seconds / sum(seconds),
                progress=_within(progress, i, len(asked)),
                **_keywords(part, settings),
            )
        except Interrupted as stop:
            done[family] = stop.result
            raise Interrupted(_whole(done, timeout, interrupted=True)) from None
        except KeyboardInterrupt:  # before it measured, or after
            raise Interrupted(_whole(done, timeout, interrupted=True)) from None
    progress(_STEPS * len(asked), _STEPS * len(asked), "done")
    return _whole(done, timeout)


def _keywords(part: Part, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what bench is asked for: the caller's settings, else those of the part."""
    return part.asked | {key: value for key, value in settings.items() if key not in part.ignores}


def _within(progress: Progress, i: int, families: int) -> Progress:
    """Return the progress of one family as a part of the whole."""

    def step(done: int, total: int, text: str) -> None:
        progress(_STEPS * i + _STEPS * done // max(total, 1), _STEPS * families, text)

    return step


def _whole(done: dict[str, BenchResult], timeout: float, **more: Any) -> BenchResult:
    """Return the results of all families as one."""
    merged = BenchResult.merge(done)
    if len(done) > 1:
        first = next(iter(done.values())).provenance
        more |= {"date": first["date"], "device": first["device"]}
        more["settings"] = {"timeout": timeout}
    return BenchResult(merged.records, merged.provenance | more)
