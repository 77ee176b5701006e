"""Writes the tables of README.md that come from elsewhere: the ladders, and the H200's figures.

    python tools/readme_tables.py [--check]

A table stands between ``<!-- NAME -->`` and ``<!-- end -->``; NAME is ``ladder: FAMILY``, from the
table of variants, or ``figures: FAMILY FILE``, from a benchmark in gpumem/results.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import gpumem as gm
from gpumem.sizes import format_bytes

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- (ladder|figures): ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows_to_markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ladder(family: str) -> str:
    rows = []
    for variant in gm.variants(family):
        claims = variant.claims
        sectors = "–"
        if claims["load_sectors"]:
            sectors = f"{claims['load_sectors']:g} / {claims['store_sectors']:g}"
        name = f"[`{variant.name}`]({variant.source})"
        width = f"{claims['width']}" if claims["width"] else "–"
        rows.append([name, variant.doc, width, sectors, variant.requires or "–"])
    return rows_to_markdown(["variant", "idea", "bits", "sectors, load / store", "needs"], rows)


def figures(family: str, file: str) -> str:
    """GB/s against size; the best of a row is bold."""
    result = gm.results.load(file)
    records = [r for r in result.records if r["family"] == family and r["cache"] == "cold"]
    names = list(dict.fromkeys(r["variant"] for r in records))
    by_size: dict[int, dict[str, dict]] = {}
    for record in records:
        by_size.setdefault(record["bytes"] // 2, {})[record["variant"]] = record
    rows = []
    for size, row in by_size.items():
        if size < 2**20:
            continue
        cells = [f"{row[name]['gbps']:.0f}" for name in names]
        ratio = f"{row['auto']['fraction_of_reference']:.3f}"
        rows.append([format_bytes(size), *cells, ratio])
    device, date = result.provenance["device"]["name"], result.provenance["date"][:10]
    commit = result.provenance["commit"][:10]
    caption = f"\n{device}, {date}, commit {commit}.\n"
    return rows_to_markdown(["size", *names, "auto / memcpy"], rows) + caption


def rewrite(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        words = match[3].split()
        body = ladder(*words) if match[2] == "ladder" else figures(*words)
        return f"{match[1]}{body}{match[4]}"

    return BLOCK.sub(replace, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="say whether README.md is up to date")
    options = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    new = rewrite(text)
    if options.check:
        return int(new != text)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
