"""One way to do a job: why it cannot be measured, or its samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .sampling import Deadline, Limits, interleave

__all__ = ["Contender", "out_of_memory", "take_turns"]


@dataclass
class Contender:
    """A variant with its parameters, measured beside others on the same job.

    Attributes
    ----------
    family, variant : str
        What is measured; `variant` may be "auto", or another library.
    parameters : dict
        The keywords of the family's function, or what tells records of the family apart.
    reason : str or None
        Why there are no samples.
    foreign : bool
        Whether another library does the work.
    ran : str or None
        The variant that ran, where `variant` is "auto".
    sample : callable or None
        Takes one sample, in milliseconds per call. It holds the memory that the call needs.
    samples : list of float
        What was measured.
    """

    family: str
    variant: str
    parameters: dict[str, Any]
    reason: str | None = None
    foreign: bool = False
    ran: str | None = None
    sample: Callable[[], float] | None = None
    samples: list[float] = field(default_factory=list)


def take_turns(
    contenders: Sequence[Contender],
    limits: Limits,
    deadline: Deadline,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Fill in the samples of those that can be sampled, and release their memory."""
    able = [one for one in contenders if one.sample is not None]
    samplers = [one.sample for one in able if one.sample is not None]
    found = interleave(samplers, limits, deadline=deadline.at, between=between)
    for one, samples in zip(able, found, strict=True):
        one.samples, one.sample = samples, None


def out_of_memory(error: BaseException) -> str:
    """Return the reason of contenders for which there was not enough memory."""
    return str(error) or "needs more memory than there is"
