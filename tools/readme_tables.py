"""Writes the tables of README.md that come from elsewhere: the ladders, and the H200's figures.

    python tools/readme_tables.py [--check]

A table stands between ``<!-- NAME -->`` and ``<!-- end -->``; NAME is ``ladder: FAMILY``, from the
table of variants, or ``figures: FAMILY FILE [VARIANT,...]``, from a benchmark in gpumem/results.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import gpumem as gm
from gpumem import oracle
from gpumem.bench import size_label

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- (ladder|figures): ([^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows_to_markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ladder(family: str) -> str:
    variants = gm.variants(family)
    shared = any(variant.claims["bank_ways"] for variant in variants)
    header = ["variant", "idea", "bits", "sectors, load / store", "bank ways", "needs"]
    rows = []
    for variant in variants:
        claims = variant.claims
        both = [claims["load_sectors"], claims["store_sectors"]]
        sectors = " / ".join(f"{value:g}" if value else "–" for value in both)
        sectors = sectors if any(both) else "–"
        name = f"[`{variant.name}`]({variant.source})"
        width = f"{claims['width']}" if claims["width"] else "–"
        ways = f"{claims['bank_ways']:g}" if claims["bank_ways"] else "–"
        rows.append([name, variant.doc, width, sectors, ways, variant.requires or "–"])
    if not shared:
        header, *rows = [[*row[:4], row[5]] for row in (header, *rows)]
    return rows_to_markdown(header, rows)


def figures(family: str, file: str, chosen: str | None = None) -> str:
    """GB/s, or TFLOP/s, against size, columns by variant; the last is auto over the reference."""
    result = gm.results.load(file)
    reference = "-".join(oracle.reference(family))
    records: dict[str, dict[str, dict]] = {}
    names: list[str] = []
    for record in result.records:
        size = record["bytes"] // 2 if record["family"] == family else None
        if record["cache"] != "cold" or (len(record["shape"]) == 1 and size and size < 2**20):
            continue
        label = size_label(record)
        if record["dtype"] != "float32":
            label += f" {record['dtype']}"
        name = record["variant"]
        if record["family"] != family:
            name = f"{record['family']}-{name}"
        names.append(name)
        records.setdefault(label, {})[name] = record
    names = chosen.split(",") if chosen else list(dict.fromkeys(names))
    rows = []
    for label, row in records.items():
        if "auto" not in row:
            continue
        rate, form = ("tflops", "{:.1f}") if row["auto"]["flops"] else ("gbps", "{:.0f}")
        found = [row.get(name, {}).get(rate) for name in names]
        cells = [form.format(value) if value else "–" for value in found]
        rows.append([label, *cells, f"{row['auto']['fraction_of_reference']:.3f}"])
    device, date = result.provenance["device"]["name"], result.provenance["date"][:10]
    commit = result.provenance["commit"][:10]
    caption = f"\n{device}, {date}, commit {commit}.\n"
    against = reference.removeprefix("copy-")
    return rows_to_markdown(["size", *names, f"auto / {against}"], rows) + caption


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
