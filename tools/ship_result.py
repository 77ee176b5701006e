"""Pack the output of ``gpumem bench --all --json FILE`` into gpumem/results, to be shipped.

    python tools/ship_result.py FILE MACHINE

Each family becomes a file, such as copy-h200.json for the machine h200. FILE may also hold the
result of one family.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import gpumem as gm

RESULTS = Path(__file__).resolve().parent.parent / "gpumem" / "results"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("machine", help="such as h200")
    options = parser.parse_args()
    for family, part in gm.BenchResult.from_json(options.file).split().items():
        if not any(record["median_ms"] for record in part.records):
            print(f"{family}: nothing measured")
            continue
        target = RESULTS / f"{family}-{options.machine}.json"
        text = part.to_json(target, packed=True)
        print(f"{target.name}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
