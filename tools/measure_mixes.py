"""Measure the bandwidth of memory by the mix of reads and writes.

    python tools/measure_mixes.py [--row 1G] [--rounds 5] [--json FILE]

Needs a GPU. `gm.stream` reads 0 to 4 rows of --row bytes and writes 0 to 4; a figure is the median
of the rounds in GB/s, read and written together, of launches in a row. The driver's copy of a row,
of as many reads as writes, is measured beside it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tool_results

from gpumem.base import sizes
from gpumem.machine.device import Device, open_device
from gpumem.measure.mixes import Mixes

ROWS = 4  # the most that stream reads, and the most that it writes


def measure(device: Device, row: int, rounds: int) -> dict[str, Any]:
    """Measure all mixes; print figures as they come."""
    mixes = Mixes(device, row, ROWS, ROWS)

    def figure(reads: int, writes: int, call: Any) -> dict[str, Any]:
        rate = mixes.gbps(call, reads + writes, rounds)
        print(f"{call.variant:9} {reads} : {writes}  {rate:.0f} GB/s", flush=True)
        return {"variant": call.variant, "reads": reads, "writes": writes, "gbps": rate}

    every = [(r, w) for r in range(ROWS + 1) for w in range(ROWS + 1) if r or w]
    figures = [figure(reads, writes, mixes.stream(reads, writes)) for reads, writes in every]
    return {"row_bytes": row, "figures": figures, "copies": [figure(1, 1, mixes.driver_copy())]}


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
