"""What a page of ``gpumem doctor`` consists of: facts, and jobs that were measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LATENCY", "LEAST_OTHER", "LEAST_SAME", "Fact", "Measured", "clock_note", "verdict_on"]

LATENCY = "ns"  # the unit of jobs for which less is better
# Runs of one GPU differ by a few per cent. Another model reaches other shares of its peaks.
LEAST_SAME, LEAST_OTHER = 0.92, 0.75


@dataclass(frozen=True)
class Fact:
    """Something that is here, or why it is not.

    Attributes
    ----------
    name, text : str
        What it is, and what there is to say of it.
    ok : bool
        False if something that gpumem can use is missing, or is in the way of measuring.
    """

    name: str
    text: str
    ok: bool = True


@dataclass(frozen=True)
class Measured:
    """A job measured here, beside what it should reach.

    Attributes
    ----------
    what : str
        The job.
    unit : str
        "GB/s", "TFLOP/s", or "ns" for a latency, of which less is better.
    figure, expected, shipped : float or None
        What was measured; what this device should reach: the share of its peak that the GPU of the
        shipped results reaches of its own (on the bus, 0.8 of the link's rate; a latency, that of
        the same model); and the shipped figure. None where unknown.
    least : float or None
        Below this share of ``expected`` the job is slow; a latency, if ``expected`` is below this
        share of it.
    verdict : {"ok", "slow", "no yardstick", "not measured"}
    note : str
        Why there is no figure, or what the device said of its clock.
    theory : float or None
        What the data sheet allows: of the memory, of the FP32 units or of the bus. None where it
        says nothing, as of latencies.
    """

    what: str
    unit: str
    figure: float | None
    expected: float | None
    shipped: float | None
    least: float | None
    verdict: str
    note: str = ""
    theory: float | None = None

    @property
    def share(self) -> float | None:
        """What is reached of what is expected; of a latency, the inverse."""
        if not self.figure or not self.expected:
            return None
        if self.unit == LATENCY:
            return self.expected / self.figure
        return self.figure / self.expected


def verdict_on(unit: str, figure: float | None, expected: float | None, least: float | None) -> str:
    """Return the verdict on a figure."""
    if figure is None:
        return "not measured"
    if expected is None or least is None:
        return "no yardstick"
    reached = expected / figure if unit == LATENCY else figure / expected
    return "ok" if reached >= least else "slow"


def clock_note(clock_mhz: int | None, throttled: Iterable[str] | None) -> str:
    """Return what the device said of its clock during a job."""
    words = [f"{clock_mhz} MHz"] if clock_mhz else []
    return ", ".join([*words, *(f"lowered by: {word}" for word in throttled or [])])
