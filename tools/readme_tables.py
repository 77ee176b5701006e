"""Write the generated table of README.md, from measurements on an H200.

python tools/readme_tables.py [--check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from document_tables import filled

from gpumem.base import files

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only check that README.md is up to date"
    )
    options = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    new = filled(text)
    if options.check:
        return int(new != text)
    files.write(README, new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
