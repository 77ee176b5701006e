"""Write the generated tables of README.md: the ladders, and measurements on an H200.

    python tools/readme_tables.py [--check]

A table is between ``<!-- NAME -->`` and ``<!-- end -->``. NAME is one of ``ladder: FAMILY``, from
the table of variants; ``figures: FAMILY FILE [VARIANT,...]`` and ``round trips: FILE``, from a
benchmark in gpumem/results; ``conflicts: prefetch_sum``, from the simulator; and ``map: FILE``, the
best of a sweep. A family without a ladder gets a section.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import gpumem as gm
from gpumem.base import files
from gpumem.base.record import SINGLE, STREAM, size_label
from gpumem.families import oracle
from gpumem.report import prefetch_points

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(
    r"(<!-- (ladder|figures|round trips|conflicts|map): ([^\n]*?) -->\n).*?(<!-- end -->)",
    re.DOTALL,
)


def rows_to_markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ladder(family: str) -> str:
    """The lessons, then the kernels that only serve auto."""
    lessons = [one for one in gm.variants(family) if not one.serves]
    others = [one for one in gm.variants(family) if one.serves]
    text = rungs(lessons)
    if others:
        text += f"\nKernels that only serve `auto`:\n\n{rungs(others)}"
    return text


def idea(variant: gm.Variant) -> str:
    names = ", ".join(f"`{one.name.partition(':')[2]}`" for one in variant.instances)
    return f"{variant.doc}; instances {names}" if names else variant.doc


def rungs(variants: list[gm.Variant]) -> str:
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
        rows.append([name, idea(variant), width, sectors, ways, variant.requires or "–"])
    if not shared:
        header, *rows = [[*row[:4], row[5]] for row in (header, *rows)]
    return rows_to_markdown(header, rows)


def conflicts(family: str) -> str:
    """Return bank ways by distance, of the variants that keep elements in shared memory."""
    distances = range(1, 17)
    rows = []
    for variant in ("smem_batch", "smem_rolling", "smem_rolling_async"):
        for padding in (0, "auto"):
            rows.append([f"`{variant}`", str(padding)])
    rows.append(["`smem_rolling_async_interleaved`", "none"])
    for row in rows:
        for distance in distances:
            keywords = {} if row[1] == "none" else {"padding": 0 if row[1] == "0" else "auto"}
            report = gm.traffic(
                family, variant=row[0].strip("`"), shape=(1, 4096), distance=distance, **keywords
            )
            row.append(f"{report.shared.bank_ways:g}")
    return rows_to_markdown(["variant", "padding", *map(str, distances)], rows)


def best_of_map(file: str) -> str:
    """Return the best speed-up and its variant by work and by warps per multiprocessor."""
    result = gm.results.load(file)
    found = prefetch_points.points(result.filter(order=STREAM))
    warps = sorted({point.warps for point in found})
    rows = []
    for work in sorted({point.work for point in found}):
        row = [str(work)]
        for count in warps:
            (point,) = [one for one in found if (one.work, one.warps) == (work, count)]
            row.append(f"{point.best.speed_up:.2f}, {point.best}")
        rows.append(row)
    header = ["work", *(f"{count:g} warps per SM" for count in warps)]
    return rows_to_markdown(header, rows) + source(result)


def source(result: gm.BenchResult) -> str:
    told = result.provenance
    return f"\n{told['device']['name']}, {told['date'][:10]}, commit {told['commit'][:10]}.\n"


def figures(family: str, file: str, chosen: str | None = None) -> str:
    """Return GB/s or TFLOP/s by size, a column per variant, and auto over the reference.

    The last column is that of single calls, if the result has any.
    """
    result = gm.results.load(file)
    reference = "-".join(oracle.reference(family))
    records: dict[str, dict[str, dict]] = {}
    single: dict[str, float] = {}  # auto over the reference
    names: list[str] = []
    for record in result.records:
        size = record["bytes"] // 2 if record["family"] == family else None
        if record["cache"] != "cold" or (len(record["shape"]) == 1 and size and size < 2**20):
            continue
        label = size_label(record)
        if record["dtype"] != "float32":
            label += f" {record['dtype']}"
        if record["order"] == SINGLE:
            if record["variant"] == "auto" and record["fraction_of_reference"]:
                single[label] = record["fraction_of_reference"]
            continue
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
        cells.append(f"{row['auto']['fraction_of_reference']:.3f}")
        if single:
            cells.append(f"{single[label]:.3f}" if label in single else "–")
        rows.append([label, *cells])
    ratio = f"auto / {reference.removeprefix('copy-')}"
    header = ["size", *names, ratio, *([f"{ratio}, single calls"] if single else [])]
    return rows_to_markdown(header, rows) + source(result)


def round_trips(file: str) -> str:
    """Return milliseconds from ndarray to ndarray, for each job at its largest size."""
    result = gm.results.load(file)
    names = ("gpumem", "numpy", "cupy", "torch", "bus")
    largest: dict[str, int] = {}
    for record in result.records:
        largest[record["variant"]] = max(largest.get(record["variant"], 0), record["shape"][0])
    rows = []
    for job, side in largest.items():
        for kind in ("pageable", "pinned"):
            found = {
                record["parameters"]["by"]: record["median_ms"]
                for record in result.records
                if (record["variant"], record["shape"][0]) == (job, side)
                and (record["parameters"]["kind"] == kind or record["parameters"]["by"] == "bus")
            }
            size = next(
                size_label(r)
                for r in result.records
                if r["variant"] == job and r["shape"][0] == side
            )
            cells = [f"{found[name]:.3g}" if found.get(name) else "–" for name in names]
            rows.append([f"{job}, {size}", kind, *cells])
    return rows_to_markdown(["job", "memory", *names], rows) + source(result)


KINDS = {
    "ladder": ladder,
    "round trips": round_trips,
    "figures": figures,
    "conflicts": conflicts,
    "map": best_of_map,
}


def with_all_ladders(text: str) -> str:
    """Return the README with a short section for each family that has none, after the others."""
    for family in gm.families():
        if f"<!-- ladder: {family} -->" not in text:
            end = text.index("\n## ", list(BLOCK.finditer(text))[-1].end())
            idea = getattr(gm, family).__doc__.splitlines()[0]
            section = f"\n## {family}\n\n{idea}\n\n<!-- ladder: {family} -->\n<!-- end -->\n"
            text = text[:end] + section + text[end:]
    return text


def rewrite(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        body = KINDS[match[2]](*match[3].split())
        return f"{match[1]}{body}{match[4]}"

    return BLOCK.sub(replace, with_all_ladders(text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only check that README.md is up to date"
    )
    options = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    new = rewrite(text)
    if options.check:
        return int(new != text)
    files.write(README, new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
