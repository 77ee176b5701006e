"""Chains of dependent loads: random cycles through a footprint, and the time per load.

Two launches make a figure: one takes steps to warm the caches, and the other the same plus those
that count. Their difference has no launch, no check and no warming in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import DeviceArray
from ..families import table
from ..machine.device import Device
from .hold import Hold

__all__ = [
    "ITEM",
    "LEAD",
    "ChainClock",
    "chain_of",
    "latency",
    "lead_of",
    "random_cycle",
    "starts",
]

ITEM = 4  # bytes of an element
LEAD = 8192  # steps before the clock counts, where there are many places
_MOST_WARMED = 65536  # places that are all visited before it counts

Array = np.ndarray[Any, Any]


def random_cycle(places: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Return the places in the order of a random cycle, and for each place the one after it."""
    order = random.permutation(np.arange(places, dtype=np.uint32))
    after = np.empty(places, np.uint32)
    after[order] = np.roll(order, -1)
    return order, after


def starts(order: Array, span: int, count: int) -> list[int]:
    """Return where `count` walks of `span` steps begin, each behind the last one's end."""
    return [int(order[i * span % len(order)]) for i in range(count)]


def lead_of(places: int) -> int:
    """Return the steps that warm the caches: once around if that is short."""
    return places if places <= _MOST_WARMED else LEAD


def chain_of(device: Device, after: Array, footprint: int, stride: int) -> DeviceArray:
    """Return a chain on the device, with its places a stride of bytes apart."""
    step = stride // ITEM
    chain = device.array((footprint // ITEM,), "uint32")
    chain.fill_bytes(0)
    chain[: len(after) * step : step] = after * np.uint32(step)
    return chain


class ChainClock:
    """Times single launches of chase on a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.hold = Hold(device)
        self.out = device.array((), "uint32")
        self.start, self.stop = device.event(), device.event()

    def milliseconds(self, chain: Any, variant: str, steps: int, start: int) -> float:
        """Return the time of one launch, which is queued behind the hold."""
        values = table.parameters("chase", {"steps": steps, "start": start})
        call = self.device.prepare("chase", variant, (chain,), self.out, values)
        self.hold.queue()
        self.start.record()
        self.device.launch_all([call], 1)
        self.stop.record()
        return self.start.elapsed(self.stop)

    def nanoseconds(
        self, chain: Any, variant: str, places: Sequence[int], lead: int, steps: int
    ) -> list[float]:
        """Return nanoseconds per load: a figure for each two places to start from."""
        found = []
        for first, second in zip(places[::2], places[1::2], strict=True):
            short = self.milliseconds(chain, variant, lead, first)
            long = self.milliseconds(chain, variant, lead + steps, second)
            found.append((long - short) * 1e6 / steps)
        return found


def latency(
    device: Device, variant: str, footprint: int, stride: int, steps: int, rounds: int
) -> float:
    """Return nanoseconds per load of one random cycle: the median of the rounds."""
    order, after = random_cycle(footprint // stride, np.random.default_rng(0))
    chain = chain_of(device, after, footprint, stride)
    lead = lead_of(len(after))
    step = stride // ITEM
    places = [place * step for place in starts(order, lead + steps, 2 * rounds)]
    clock = ChainClock(device)
    clock.milliseconds(chain, variant, lead, places[0])
    return float(np.median(clock.nanoseconds(chain, variant, places, lead, steps)))
