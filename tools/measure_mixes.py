"""Measure the bandwidth of memory by the mix of reads and writes.

    python tools/measure_mixes.py [--row 1G] [--rounds 5] [--json FILE]

Needs a GPU. `gm.stream` reads 0 to 4 rows of --row bytes and writes 0 to 4; a figure is the median
of the rounds in GB/s, read and written together (launch_clock.py). The driver's copy of a row, of
as many reads as writes, is measured beside it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tool_results
from launch_clock import Clock

from gpumem.base import sizes
from gpumem.families import table
from gpumem.machine.device import Device, open_device

ROWS = 4  # the most that stream reads, and the most that it writes
ITEM = 4  # bytes of a word


def measure(device: Device, row: int, rounds: int) -> dict[str, Any]:
    """Measure all mixes; print figures as they come."""
    clock, words = Clock(device), row // ITEM
    read = device.array((ROWS, words), "uint32")
    written = device.array((ROWS, words), "uint32")
    read.fill_bytes(1)
    total = device.array((), "uint32")

    def figure(reads: int, writes: int, call: Any) -> dict[str, Any]:
        rate = (reads + writes) * row / clock.times(call, rounds).median / 1e6
        print(f"{call.variant:9} {reads} : {writes}  {rate:.0f} GB/s", flush=True)
        return {"variant": call.variant, "reads": reads, "writes": writes, "gbps": rate}

    figures = []
    for reads in range(ROWS + 1):
        for writes in range(ROWS + 1):
            if reads or writes:
                values = table.parameters("stream", {"writes": writes})
                out = written[:writes] if writes else total
                call = device.prepare("stream", "auto", (read[:reads],), out, values)
                figures.append(figure(reads, writes, call))
    values = table.parameters("copy", {})
    copy = device.prepare("copy", "memcpy", (read[0],), written[0], values)
    return {"row_bytes": row, "figures": figures, "copies": [figure(1, 1, copy)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--row", default="1G", help="bytes, a multiple of 16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    (row,) = sizes.parse_sizes(given.row)
    if row % 16:
        parser.error(f"--row is {row}, expected a multiple of 16")
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}, expected at least 1")
    device = open_device("cuda")
    found = measure(device, row, given.rounds)
    if given.json:
        tool_results.write(given.json, device, {"rounds": given.rounds, **found})


if __name__ == "__main__":
    main()
