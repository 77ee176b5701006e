"""Samples of contenders that take turns, until each has settled or time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Deadline", "Limits", "interleave", "relative_spread"]


@dataclass(frozen=True)
class Limits:
    """When a contender has enough samples.

    Attributes
    ----------
    least, most : int
        Samples of each contender.
    within : float
        A contender has settled once its :func:`relative_spread` is smaller.
    budget : float
        Seconds after which a contender with `least` samples has settled anyway.
    """

    least: int
    most: int
    within: float
    budget: float


class Deadline:
    """The moment when a number of seconds is over; None seconds never are."""

    def __init__(self, seconds: float | None) -> None:
        self.at = math.inf if seconds is None else time.perf_counter() + seconds
        self.reason = "" if seconds is None else f"not measured: the {seconds:g} s were over"

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.at - time.perf_counter())

    @property
    def passed(self) -> bool:
        """Whether the seconds are over."""
        return time.perf_counter() >= self.at


def relative_spread(samples: Sequence[float]) -> float:
    """Return the distance from the 20th to the 80th percentile, as a share of the median."""
    low, middle, high = np.quantile(samples, (0.2, 0.5, 0.8))
    return float((high - low) / middle) if middle > 0 else math.inf


def interleave(
    contenders: Sequence[Callable[[], float]],
    limits: Limits,
    *,
    clock: Callable[[], float] = time.perf_counter,
    deadline: float = math.inf,
    between: Callable[[], None] = lambda: None,
) -> list[list[float]]:
    """Sample contenders in turn until each has settled.

    Parameters
    ----------
    contenders : sequence of callables
        Each call measures once and returns the time.
    limits : Limits
        When a contender has settled.
    clock : callable
        Returns seconds.
    deadline : float
        On that clock; from then on the least number of samples is enough for all.
    between : callable
        Called after each turn.

    Returns
    -------
    list of list of float
        The samples of each contender.
    """
    samples: list[list[float]] = [[] for _ in contenders]
    spent = [0.0] * len(contenders)

    def settled(i: int) -> bool:
        taken = len(samples[i])
        late = spent[i] >= limits.budget or clock() >= deadline
        if taken >= limits.most or taken < limits.least:
            return taken >= limits.most
        return late or relative_spread(samples[i]) < limits.within

    active = list(range(len(contenders)))
    turn = 0
    while active:
        first = turn % len(active)  # rotated, so that neighbours change
        for i in active[first:] + active[:first]:
            begin = clock()
            samples[i].append(contenders[i]())
            spent[i] += clock() - begin
        between()
        active = [i for i in active if not settled(i)]
        turn += 1
    return samples
