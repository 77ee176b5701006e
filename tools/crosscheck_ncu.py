"""Compare the simulator's counts with the hardware's counters, which Nsight Compute reads.

    python tools/crosscheck_ncu.py -o FILE [--families copy,transpose] [--sizes 4M,3M]
    python tools/crosscheck_ncu.py -o FILE --from-csv FILE.csv

Every variant with a kernel of its own runs once per case and size, all in one process under ncu.
Then the simulator counts the same calls, with as many multiprocessors as the device, so that both
launch the same grids. If a call launches several kernels, their counts are added up on both sides.
FILE is JSON with a record per variant, size and case; FILE.csv beside it is the output of ncu, from
which ``--from-csv`` makes FILE again without a device. ``--csv-only`` writes only that.
``--leave-out`` takes a pattern of calls that FILE is not to have: FAMILY-VARIANT, CASE.

The counters are those of the load and store units. Data moved by Hopper's copy engines (bulk and
tensor copies) do not pass through these, so such figures are not compared.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosscheck_calls import FAMILIES, MOVING, Call, calls, checked, kernel, kernels, owner
from crosscheck_report import by_size, summary, unexplained
from crosscheck_rules import GROUPS, Figures, judge
from ncu import ATOMIC, METRICS, Profiler, read_csv

import gpumem as gm
from gpumem.base import files
from gpumem.base.sizes import parse_sizes
from gpumem.families import oracle
from gpumem.families.table import find
from gpumem.machine.device import open_device
from gpumem.machine.provenance import provenance

SCHEMA = 2
SIZES = "4M,3M,1000003"  # bytes of a call's first array: whole tiles, a partial wave, odd
MULTIPROCESSORS = "GPUMEM_SIM_MULTIPROCESSORS"

# ---- what is run --------------------------------------------------------------------------


def run(families: Sequence[str], sizes: Sequence[int], header: Path, backend: str = "cuda") -> None:
    """Launch everything once, in order, on the device; write down what was launched."""
    launches: list[dict[str, Any]] = []
    for variant, nbytes in itertools.product(checked(families), sizes):
        for call in calls(variant, nbytes):
            one: dict[str, Any] = {"family": variant.family, "variant": variant.name}
            one |= {"bytes": nbytes, "case": call.case}
            launches.append(one)
            try:
                there = [placed(variant, a, backend) for a in call.arrays()]
                variant(*there, **call.parameters)
                gm.synchronize(backend)
            except (ValueError, TypeError, gm.UnavailableError) as error:
                one["error"] = str(error)
            text = json.dumps({"sizes": list(sizes), "launches": launches})
            header.write_text(text, encoding="utf-8")


def placed(variant: gm.Variant, a: Any, backend: str) -> Any:
    """Return an array on the device, or in the kind of host memory that the variant takes."""
    if variant.memory is None:
        return gm.to_device(a, backend=backend)
    return oracle.placed(variant, a, backend)


# ---- ncu ----------------------------------------------------------------------------------


class Launches(Profiler):
    """Runs this file under ncu."""

    metrics = (*METRICS, *ATOMIC)

    def __init__(
        self, families: Sequence[str], sizes: Sequence[int], folder: Path, seconds: float
    ) -> None:
        super().__init__(folder, seconds)
        self.families, self.sizes = families, sizes

    def kernels(self) -> list[str]:
        """Return patterns of the names of the functions to profile: kernels, and parts of them."""
        return [rf"{name}(_\w+)?" for name in kernels(self.families)]

    def program(self) -> list[str]:
        """Return the command that launches the kernels."""
        run = [sys.executable, os.path.abspath(__file__), "--run", str(self.header)]
        sizes = ",".join(map(str, self.sizes))
        return [*run, "--families", ",".join(self.families), "--sizes", sizes]


# ---- figures ------------------------------------------------------------------------------


def _per(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def hardware_figures(metrics: dict[str, float | None]) -> Figures:
    """Return the figures from the counters; None for those that were not read."""
    get = metrics.get
    figures: Figures = {}
    for kind, op in (("load", "ld"), ("store", "st")):
        requests = get(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum")
        sectors = get(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum")
        ratio = get(f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio")
        exact = _per(sectors, requests)
        figures[f"{kind}_requests"] = requests
        figures[f"{kind}_sectors"] = sectors
        figures[f"{kind}_sectors_per_request"] = ratio if exact is None else exact

        executed = get(f"smsp__inst_executed_op_shared_{op}.sum")
        if executed is None:
            executed = get(f"smsp__sass_inst_executed_op_shared_{op}.sum")
        passes = get(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum")
        conflicts = get(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum")
        figures[f"shared_{kind}_requests"] = executed
        figures[f"shared_{kind}_passes_per_request"] = _per(passes, executed)
        figures[f"shared_{kind}_conflicts"] = conflicts
    for name in ("requests", "sectors"):  # those that return the old value, and those that do not
        both = [get(f"l1tex__t_{name}_pipe_lsu_mem_global_op_{op}.sum") for op in ("atom", "red")]
        figures[f"atomic_{name}"] = _sum(both)
    executed = get("smsp__inst_executed_op_shared_atom.sum")
    passes = get("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum")
    figures["shared_atomic_requests"] = executed
    figures["shared_atomic_passes_per_request"] = _per(passes, executed)
    return figures


def added_up(launches: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Return the counters of a call, the sums of its launches'; None for those that have no sum."""
    if len(launches) == 1:
        return launches[0]
    return {
        name: _sum([one.get(name) for one in launches])
        for name in launches[0]
        if name.endswith(".sum")
    }


def _sum(counts: Sequence[float | None]) -> float | None:
    """Return a sum, or None if a part is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _is_counted(site: dict[str, Any]) -> bool:
    """Whether the counters see an access: not of engines, nor stores of asynchronous copies."""
    return bool(site["by"] == "thread" or (site["by"] == "pipeline" and site["kind"] == "load"))


def simulator_figures(report: gm.Traffic) -> tuple[Figures, list[str]]:
    """Return the figures of the load and store units, and the groups that engines share."""
    figures: Figures = {}
    beside = []
    for group, names in GROUPS.items():
        space, kind = ("shared", group[7:]) if "shared" in group else ("global", group)
        sites = [s for s in report.sites if (s["space"], s["kind"]) == (space, kind)]
        if not all(map(_is_counted, sites)):
            beside.append(group)
        sites = [site for site in sites if _is_counted(site)]
        requests = sum(site["requests"] for site in sites)
        counted: Figures = {"requests": requests}
        if space == "global":
            sectors = sum(site["sectors"] for site in sites)
            counted |= {"sectors": sectors, "sectors_per_request": _per(sectors, requests)}
            if kind == "atomic":
                figures["atomic_lanes"] = sum(site["lanes"] for site in sites)
        else:
            passes = sum(site["passes"] for site in sites)
            fewest = sum(site["fewest_passes"] for site in sites)
            counted["passes_per_request"] = _per(passes, requests)
            counted["conflicts"] = passes - fewest
        figures |= {f"{group}_{name}": counted[name] for name in names}
        figures[f"{group}_uncertain"] = sum(site["uncertain"] for site in sites)
    return figures, beside


def use_multiprocessors(provenance: dict[str, Any]) -> None:
    """Give the simulator as many multiprocessors as the device, or exit if it has started."""
    count = provenance["device"]["multiprocessors"]
    os.environ[MULTIPROCESSORS] = str(count)  # read when the simulator starts
    (device,) = gm.info()["backends"]["sim"]["devices"]
    if device["multiprocessors"] != count:
        raise SystemExit(
            f"crosscheck_ncu: the simulator started with {device['multiprocessors']} "
            f"multiprocessors, the device has {count}: set {MULTIPROCESSORS}={count} first"
        )


def simulate(variant: gm.Variant, call: Call) -> gm.Traffic:
    """Count a call on the simulator."""
    return gm.traffic(variant.family, *call.arrays(), variant=variant, **call.parameters)


def label(record: dict[str, Any]) -> str:
    """Return the name of a call, which the rules refer to."""
    return f"{record['family']}-{record['variant']}, {record['case']}"


def records(header: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """Match launches with what ncu saw, kernel by kernel in order, and compare."""
    known = kernels([*{launch["family"] for launch in header["launches"]}])
    seen: dict[str, collections.deque[Any]] = collections.defaultdict(collections.deque)
    for row in read_csv(text):
        seen[owner(row["kernel"], known)].append(row)
    found = []
    for launch in header["launches"]:
        variant = find(launch["family"], launch["variant"])
        call = next(c for c in calls(variant, launch["bytes"]) if c.case == launch["case"])
        record = {name: launch[name] for name in ("family", "variant", "bytes", "case")}
        shapes = [f"{a.dtype} {list(a.shape)}" for a in call.arrays()]
        record |= {"arrays": shapes, "parameters": call.parameters}
        record |= {"simulator": None, "hardware": None}
        record |= {"engines": [], "agrees": {}, "why": {}}
        found.append(record)
        own = kernel(variant.family, variant.name)
        names = [own]
        try:
            report = simulate(variant, call)
            record["simulator"], record["engines"] = simulator_figures(report)
            record["grid"] = list(report.grid)
            names = [owner(one["name"], known) for one in report.kernels]
        except (ValueError, gm.UnavailableError) as error:
            record["why"]["simulator"] = str(error)
        if len(names) > 1:
            record["kernels"] = names
        missing = [name for name in names if len(seen[name]) < names.count(name)]
        rows = []
        if "error" in launch:
            record["why"]["hardware"] = launch["error"]
        else:  # also of a call that is not complete, so that the next one gets its own
            rows = [(name, seen[name].popleft()) for name in names if seen[name]]
        if "error" not in launch and missing:
            record["why"]["hardware"] = f"ncu shows no launch of {missing[0]}"
        elif rows:
            record["hardware"] = hardware_figures(added_up([row["metrics"] for _, row in rows]))
            record["hardware_grid"] = dict(rows)[own]["grid"]
        if record["simulator"] and record["hardware"]:
            sides = record["simulator"], record["hardware"]
            record |= judge(label(record), *sides, record["engines"])
    for name in known:
        if seen[name]:
            print(f"{len(seen[name])} unexpected launches of {name}", file=sys.stderr)
    return found


# ---- the report ---------------------------------------------------------------------------


def write_json(path: Path, header: dict[str, Any], found: list[dict[str, Any]]) -> None:
    """Write the result with a line per record."""
    head = {"schema": SCHEMA, **{k: v for k, v in header.items() if k != "launches"}}
    head["summary"] = by_size(found)
    lines = json.dumps(head, indent=1, allow_nan=False)[:-2] + ',\n "records": [\n  '
    lines += ",\n  ".join(json.dumps(record, allow_nan=False) for record in found)
    files.write(path, lines + "\n ]\n}\n")


def _head_of(text: str) -> dict[str, Any]:
    first = text.partition("\n")[0]
    if not first.startswith("# {"):
        raise SystemExit("crosscheck_ncu: this CSV does not begin with the list of launches")
    head: dict[str, Any] = json.loads(first[2:])
    return head


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="JSON; the output of ncu goes beside it")
    parser.add_argument("--families", metavar="F,F", help=f"default: {','.join(MOVING)}")
    parser.add_argument("--sizes", default=SIZES, help=f"of a call's first array: {SIZES}")
    parser.add_argument("--from-csv", type=Path, metavar="FILE", help="instead of running ncu")
    parser.add_argument(
        "--csv-only", action="store_true", help="leave the simulation to a later --from-csv"
    )
    parser.add_argument("--leave-out", metavar="PATTERN", help="calls that the result lacks")
    parser.add_argument("--timeout", type=float, default=480, help="seconds for one run of ncu")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)  # run by ncu
    options = parser.parse_args()

    families = options.families.split(",") if options.families else list(MOVING)
    for name in families:
        if name not in FAMILIES:
            parser.error(f"--families has {name}, expected {', '.join(FAMILIES)}")
    sizes = parse_sizes(options.sizes)
    if options.run:
        run(families, sizes, options.run, os.environ.get("GPUMEM_BACKEND", "cuda"))
        return 0
    if options.output is None:
        parser.error("-o FILE is needed")
    if options.from_csv:
        text = options.from_csv.read_text(encoding="utf-8")
        header = _head_of(text)
        use_multiprocessors(header["provenance"])
    else:
        header = {"provenance": provenance(open_device())}
        use_multiprocessors(header["provenance"])  # before anything is measured
        with tempfile.TemporaryDirectory() as folder:
            profiler = Launches(families, sizes, Path(folder), options.timeout)
            text, dropped = profiler.collect()
            header |= {"ncu": profiler.version(), "unknown_metrics": dropped, **profiler.launches()}
        text = f"# {json.dumps(header)}\n{text}"
        files.write(f"{options.output}.csv", text)
        if options.csv_only:
            return 0
    found = records(header, text)
    if options.leave_out:
        found = [r for r in found if not re.fullmatch(options.leave_out, label(r))]
    write_json(options.output, header, found)
    if header["unknown_metrics"]:
        print(f"ncu does not know {', '.join(header['unknown_metrics'])}")
    print(summary(found))
    return int(any(unexplained(record) or record["hardware"] is None for record in found))


if __name__ == "__main__":
    sys.exit(main())
