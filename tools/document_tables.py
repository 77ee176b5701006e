"""The tables of the documents: ladders, and measurements on an H200.

A table is between ``<!-- NAME -->`` and ``<!-- end -->``. NAME is one of ``ladder: FAMILY``, from
the table of variants; ``families``, all of them; ``figures: FAMILY FILE [VARIANT,...]``,
``summary`` and ``round trips: FILE``, from benchmarks in gpumem/results; ``conflicts:
prefetch_sum``, from the simulator; ``map: FILE``, the best of a sweep; ``advice: FILE``, a sweep in
words; ``spaces: FILE``, the memory spaces by speed; ``crosscheck: FILE``, of docs/; ``random
access: FILE``, ``launches: FILE``, ``l2 windows: FILE STREAMED ORDER``, ``sweep: FILE SWEEP
[KEY=VALUE ...]``, ``structures: FILE``, ``host memory: FILE PART``, ``stalls: FAMILY`` and
``prefetch stalls``, what tools have measured, nothing or a line if it is not shipped; and
``machine code: FAMILY [VARIANT,...]``, from the facts that tools/machine_code.py makes.
tools/site.py fills in those of docs/, tools/readme_tables.py writes those of README.md.
"""

from __future__ import annotations

import re
import textwrap

import crosscheck_report
import numpy as np
import tool_tables
from tool_tables import breakable, rows_to_markdown

import gpumem as gm
from gpumem.base.provenance import origin
from gpumem.base.record import SINGLE, STREAM, size_label
from gpumem.base.sizes import format_bytes
from gpumem.count.disassembly import MEMORY
from gpumem.families import oracle, shipped_code
from gpumem.report import prefetch_points
from gpumem.results import of_tools

BLOCK = re.compile(
    r"(<!-- (ladder|families|figures|summary|round trips|conflicts|map|machine code|advice|spaces"
    r"|random access|launches|l2 windows|sweep|structures|host memory|stalls|prefetch stalls"
    r"|crosscheck|ranks|strides)"
    r"(?:: ([^\n]*?))? -->\n)"
    r".*?(<!-- end -->)",
    re.DOTALL,
)


def anchor(variant: gm.Variant) -> str:
    """Return the target of links to a kernel on the page of its family."""
    return f"kernel-{variant.family}-{variant.name}"


def first_line(family: str) -> str:
    """Return what a family's function does, in one line."""
    return getattr(gm, family).__doc__.splitlines()[0]


def families() -> str:
    """Return all families, each with its page, and these as a part of the site's navigation."""
    rows = []
    for family in gm.families():
        lessons = [one.name for one in gm.variants(family) if not one.serves]
        rows.append([f"[`{family}`]({family}.md)", first_line(family), str(len(lessons))])
    table = rows_to_markdown(["family", "what it does", "lessons"], rows)
    return table + "\n```{toctree}\n:hidden:\n\n" + "\n".join(gm.families()) + "\n```\n"


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
        name = f"[`{variant.name}`](#{anchor(variant)})"
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
            row.append(f"{point.best.speed_up:.2f}, {breakable(str(point.best))}")
        rows.append(row)
    header = ["work", *(f"{count:g} warps per SM" for count in warps)]
    return rows_to_markdown(header, rows) + source(result)


def source(result: gm.BenchResult) -> str:
    told = result.provenance
    return f"\n{told['device']['name']}, {told['date'][:10]}, commit {told['commit'][:10]}.\n"


def figures(family: str, file: str, chosen: str | None = None) -> str:
    """Return GB/s, or TFLOP/s of arithmetic, by size, and auto over the reference.

    The last column is that of single calls, if the result has any.
    """
    result = gm.results.load(file)
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
        counts = (row["auto"]["flops"] or 0) > row["auto"]["bytes"]  # more operations than bytes
        rate, form = ("tflops", "{:.1f}") if counts else ("gbps", "{:.0f}")
        found = [row.get(name, {}).get(rate) for name in names]
        cells = [form.format(value) if value else "–" for value in found]
        cells.append(f"{row['auto']['fraction_of_reference']:.3f}")
        if single:
            cells.append(f"{single[label]:.3f}" if label in single else "–")
        rows.append([label, *cells])
    ratio = f"auto / {oracle.reference(family)[1]}"
    names = [breakable(name) for name in names]
    header = ["size", *names, ratio, *([f"{ratio}, single calls"] if single else [])]
    return rows_to_markdown(header, rows) + source(result)


def strides(file: str) -> str:
    """Return the time of reading an array by its stride, and what memory moves in that time.

    That is the result, and of the array either sectors of 32 bytes or blocks of 64.
    """
    result = gm.results.load(file).filter(variant="auto", order=STREAM)
    rows = []
    for one in result.records:
        length, itemsize = one["shape"][0], np.dtype(one["dtype"]).itemsize
        step = one["parameters"]["stride"] * itemsize
        count = -(-length * itemsize // step)
        rates = [
            (min(length * itemsize, count * unit) + count * itemsize) / one["median_ms"] / 1e6
            for unit in (32, 64)
        ]
        micro = f"{one['median_ms'] * 1e3:.1f}"
        rows.append([f"{step} bytes", micro, *(f"{rate:.0f}" for rate in rates)])
    header = ["from element to element", "µs", "GB/s of sectors", "GB/s of blocks of 64 bytes"]
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


def machine_code(family: str, chosen: str | None = None, arch: str = "90a") -> str:
    """Return registers, shared memory, occupancy and memory instructions, a row per kernel."""
    told = shipped_code.of_family(family)
    rows = []
    for name, one in told["kernels"].items():
        if chosen and name not in chosen.split(","):
            continue
        found = one["archs"][arch]
        counts = {code: n for code, n in found["memory"].items() if not is_constant(code)}
        code = ", ".join(f"{n} `{opcode}`" for opcode, n in counts.items())
        spilled = found["spill_store_bytes"] + found["spill_load_bytes"]
        shared = found["shared_bytes"] + found["dynamic_shared_bytes"]
        cells = [found["registers"], spilled, shared, f"{found['occupancy']:.0%}", code or "–"]
        rows.append([f"`{breakable(name)}`", *map(str, cells)])
    header = ["kernel", "registers", "spilled, bytes", "shared memory, bytes", "occupancy"]
    made = f"\nsm_{arch}, nvcc {told['nvcc']} {told['flags']}.\n"
    return rows_to_markdown([*header, "memory instructions"], rows) + made


def advice(file: str) -> str:
    """Return what a sweep says about prefetching, in words."""
    result = gm.results.load(file)
    lines = str(gm.prefetch_advice(result)).splitlines()
    more = {True: "  ", False: ""}  # below the dash of a point
    wrapped = [
        textwrap.fill(line, 90, subsequent_indent=more[line.startswith("- ")]) for line in lines
    ]
    return "\n".join(["```text", *wrapped, "```", source(result)])


# Memory spaces: the variant of polynomial whose coefficients are there, scope and lifetime.
SPACES = (
    ("registers", "register", "thread", "thread"),
    ("local memory", "local", "thread", "thread"),
    ("shared memory", "shared", "block", "block"),
    ("constant memory", "constant", "all, read only", "program"),
    ("constant, an address per lane", "constant_divergent", "all, read only", "program"),
    ("global memory", "global", "all", "until freed"),
    ("global, read-only path", "readonly", "all, read only", "until freed"),
)


def spaces(file: str) -> str:
    """Return each memory space with its scope, its lifetime and the measured speed."""
    result = gm.results.load(file)
    rates = {one["variant"]: one["tflops"] for one in result.filter(order=STREAM).records}
    rows = [
        [space, scope, life, f"`{breakable(name)}`", f"{rates[name]:.2f}"]
        for space, name, scope, life in SPACES
    ]
    header = ["space", "scope", "lifetime", "variant", "TFLOP/s"]
    return rows_to_markdown(header, rows) + source(result)


def random_access(file: str) -> str:
    """Return useful GB/s by element and footprint; nothing without a result."""
    found = of_tools.load(file)
    if found is None:
        return ""
    rates = {(one["element"], one["footprint"]): one["gbps"] for one in found["figures"]}
    footprints = sorted({footprint for _, footprint in rates})
    rows = [
        [str(element), *(f"{rates[element, footprint]:.0f}" for footprint in footprints)]
        for element in sorted({element for element, _ in rates})
    ]
    table = rows_to_markdown(["bytes", *map(format_bytes, footprints)], rows)
    return f"{table}\n{origin(found['provenance'])}.\n"


def launches(file: str) -> str:
    """Return microseconds per launch, a row per way to launch; nothing without a result."""
    found = of_tools.load(file)
    if found is None:
        return ""
    rows = []
    for one in found["figures"]:
        times = [one[name] for name in ("host_us", "device_us", "making_us")]
        rows.append([one["way"], *("–" if time is None else f"{time:.2f}" for time in times)])
    table = rows_to_markdown(["µs per launch", "host", "device", "making the graph"], rows)
    return f"{table}\n{origin(found['provenance'])}: {found['launches']} launches.\n"


def l2_windows(file: str, streamed: str, order: str) -> str:
    """Return the slowdown by a hot region, a row per size; nothing without a result."""
    found = of_tools.load(file)
    if found is None:
        return ""
    mix = [one for one in found["figures"] if one["streamed"] == int(streamed)]
    columns: dict[str, dict[int, float]] = {}
    for one in sorted(mix, key=lambda one: -one["hot_bytes"]):  # the largest has all ways
        if one["hot_bytes"] and one["order"] == order.replace("-", " "):
            columns.setdefault(one["way"], {})[one["hot_bytes"]] = one["slowdown"]
    rows = [
        [format_bytes(size), *(f"{c[size]:.2f}" if size in c else "–" for c in columns.values())]
        for size in sorted({size for column in columns.values() for size in column})
    ]
    table = rows_to_markdown(["hot region", *columns], rows)
    alone = [one["gbps"] for one in mix if not one["hot_bytes"] and one["way"] == "plain loads"]
    return f"{table}\n{origin(found['provenance'])}: the stream alone, {alone[0]:.0f} GB/s.\n"


def is_constant(opcode: str) -> bool:
    """Whether an instruction loads constants, such as arguments; every kernel does."""
    return MEMORY[opcode.split(".")[0]] == "constant load"


# Rows of the summary: what it is in words, the result, its family and size, the reference.
SUMMARY = (
    ("copy 1 GiB", "copy-h200", "copy", "1 GiB", "the driver's copy"),
    ("transpose 8192 x 8192", "transpose-h200", "transpose", "8192x8192", "the driver's copy"),
    ("running sums of 2 GiB", "scan-h200", "scan", "2 GiB", "the driver's copy"),
    ("multiply 8192 x 8192", "sgemm-h200", "sgemm", "8192x8192x8192", "cuBLAS, FP32 units"),
)


def summary() -> str:
    """Return what "auto" reaches beside the reference and other libraries, a row per job."""
    rows = []
    dates = set()
    for job, file, family, size, reference in SUMMARY:
        result = gm.results.load(file).filter(order=STREAM)
        found = {
            (one["family"], one["variant"]): one
            for one in result.records
            if one["cache"] == "cold" and size_label(one) == size
        }
        ours = found[family, "auto"]
        rate, unit, form = (
            ("tflops", "TFLOP/s", ".1f") if ours["flops"] else ("gbps", "GB/s", ".0f")
        )
        others = [oracle.reference(family), (family, "torch"), (family, "cupy")]
        cells = [f"{found[key][rate]:{form}}" if key in found else "–" for key in others]
        rows.append(
            [f"{job}, float32, {unit}", f"{ours[rate]:{form}}", f"{cells[0]} ({reference})"]
        )
        rows[-1] += cells[1:]
        dates.add(source(result).strip().rstrip("."))
    header = ["job", "gpumem", "reference", "PyTorch", "CuPy"]
    return rows_to_markdown(header, rows) + "\n" + "; ".join(sorted(dates)) + ".\n"


KINDS = {
    "ladder": ladder,
    "families": families,
    "summary": summary,
    "round trips": round_trips,
    "figures": figures,
    "conflicts": conflicts,
    "map": best_of_map,
    "machine code": machine_code,
    "advice": advice,
    "spaces": spaces,
    "crosscheck": crosscheck_report.table,
    "random access": random_access,
    "launches": launches,
    "l2 windows": l2_windows,
    "sweep": tool_tables.sweep,
    "structures": tool_tables.structures,
    "host memory": tool_tables.host_memory,
    "stalls": tool_tables.stalls,
    "prefetch stalls": tool_tables.prefetch_stalls,
    "ranks": tool_tables.ranks,
    "strides": strides,
}


def filled(text: str) -> str:
    """Return a document with its tables."""

    def replace(match: re.Match[str]) -> str:
        body = KINDS[match[2]](*(match[3] or "").split())
        return f"{match[1]}{body}{match[4]}"

    return BLOCK.sub(replace, text)
