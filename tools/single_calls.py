"""The clock of tools that compare single calls on a GPU with each other. Needs PyTorch.

Contenders take turns at random. A time is that of one call between two events, behind a kernel that
keeps the GPU busy until the host has queued the call, and after the L2 has been overwritten.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

CUSHION = 2_000_000  # clock cycles: longer than the host takes for a call
OVERWRITTEN = 256 * 2**20  # bytes: several times the L2


def measure(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median of milliseconds by name, after a call of each that does not count."""
    import torch

    scratch = torch.empty(OVERWRITTEN, dtype=torch.uint8, device="cuda")
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in random.sample(list(calls.items()), len(calls)):
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            scratch.zero_()
            torch.cuda._sleep(CUSHION)
            before.record()
            call()
            after.record()
            after.synchronize()
            times[name].append(before.elapsed_time(after))
    return {name: statistics.median(found) for name, found in times.items()}
