"""Packs a result of ``gpumem bench -o FILE`` into gpumem/results, where it is shipped.

python tools/ship_result.py FILE [NAME]
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
    parser.add_argument("name", nargs="?", help="such as copy-h200; by default the file's")
    options = parser.parse_args()
    target = RESULTS / f"{options.name or options.file.stem}.json"
    text = gm.BenchResult.from_json(options.file).to_json(target, packed=True)
    print(f"{target}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
