"""One way to do a job: set up, checked once, and sampled."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ... import _core

_SAMPLE_S = 2e-3  # the least that a sample lasts
_MOST_CALLS = 2**20  # per sample

# Does so many transfers or calls, all of which are done on return.
Runs = Callable[[int], None]
# The same, and how many seconds they took.
Timed = Callable[[int], float]
# What is timed, and what does it once and raises AssertionError if the result is wrong.
Checked = tuple[Timed, Callable[[], None]]


class Contender:
    """One way to do one job of one size."""

    def __init__(
        self,
        variant: str,
        parameters: dict[str, Any],
        reason: str | None = None,
        foreign: bool = False,
    ) -> None:
        self.variant = variant
        self.parameters = parameters
        self.reason = reason
        self.foreign = foreign  # another library's
        self.run: Timed | None = None
        self.samples: list[float] = []


def timed(run: Runs) -> Timed:
    def with_clock(count: int) -> float:
        begin = time.perf_counter()
        run(count)
        return time.perf_counter() - begin

    return with_clock


def sampler(run: Timed) -> Callable[[], float]:
    """Return what takes a sample that is long enough, in milliseconds per call."""
    count, taken = 1, run(1)
    while taken < _SAMPLE_S and count < _MOST_CALLS:
        more = math.ceil(1.2 * count * _SAMPLE_S / max(taken, 1e-9))
        count = min(max(more, 2 * count), 100 * count, _MOST_CALLS)
        taken = run(count)
    return lambda: run(count) * 1e3 / count


def no_memory(error: MemoryError) -> str:
    """Return the reason of what found no memory."""
    return str(error) or "needs more memory than there is"


def prepare(one: Contender, make: Callable[[], Checked]) -> None:
    """Set up a contender, and let it do its job once; what is wrong becomes its reason."""
    try:
        run, check = make()
        check()
        one.run = run
    except AssertionError as error:
        one.reason = f"wrong result: {error}"
    except MemoryError as error:
        one.reason = no_memory(error)
    except Exception as error:
        # A contender that another library fails must not take the others with it.
        if not one.foreign and not isinstance(error, _core.UnavailableError | ValueError):
            raise
        one.reason = f"{type(error).__name__}: {error}"
