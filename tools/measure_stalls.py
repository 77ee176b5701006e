"""Measure why warps wait, and how often caches hit, by the counters of Nsight Compute.

    python tools/measure_stalls.py [--bytes 32M] [--families copy,sgemm] [--json FILE]

Needs a GPU, and ncu with the right to read counters. Every variant with a kernel of its own runs
once, all in one process under ncu, on a first array of about --bytes bytes; its longest launch
counts. Some variants of prefetch_sum also run with other amounts of work and numbers of rows,
`parameters` in their records. ncu writes nothing before the process ends: after --seconds it
launches nothing more, and what is left says so. To be shipped, FILE is
gpumem/results/tools/stalls-MACHINE.json.

ncu empties the caches before a kernel. Figures of a kernel:

us         its time in microseconds
stalls     cycles that a warp spends per instruction issued, by the reason it waits for
warps      the share of a multiprocessor's warps that are active
issued     the share of cycles in which a scheduler issues an instruction
l1, l2     the share of the sectors that are found in the L1, in the L2
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tool_results
from ncu import Profiler, read_csv

import gpumem as gm
from gpumem.base.sizes import parse_sizes
from gpumem.families import oracle
from gpumem.machine.device import open_device

REASONS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
SHARES = {
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issued": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "l1": "l1tex__t_sector_hit_rate.pct",
    "l2": "lts__t_sector_hit_rate.pct",
}
PARAMETERS = {"shift_points": {"dx": 1.0, "dy": -1.0}}  # those without a default

# Where prefetching pays and where not: blocks per multiprocessor, and rounds of arithmetic.
PREFETCH = "prefetch_sum"
PREFETCHING = ("baseline", "scalar_batch", "smem_rolling_async")
BLOCKS, WORK, ROW = (1, 4, 8), (0, 1, 4), 32768

TIME = "gpu__time_duration.sum"  # nanoseconds

Figure = dict[str, Any]


def variants(families: Sequence[str]) -> list[gm.Variant]:
    """Return the variants that have a kernel of their own."""
    everything = [v for name in families for v in gm.variants(name, instances=True)]
    return [v for v in everything if v.source.endswith(".cu")]


def kernel(variant: gm.Variant) -> str:
    """Return the C symbol of a variant's kernel."""
    return f"{variant.family}_{variant.name}".replace(":", "_")


def cases(families: Sequence[str], nbytes: int, multiprocessors: int) -> list[Figure]:
    """Return what is launched: family, variant, dtype, shape, and parameters if they are chosen."""
    found: list[Figure] = []
    for variant in variants(families):
        dtype = oracle.dtype_of(variant)
        shape = oracle.shape_for(variant.family, nbytes, dtype, variant.name)
        one: Figure = {"family": variant.family, "variant": variant.name}
        found.append({**one, "dtype": dtype, "shape": list(shape)})
    if PREFETCH in families:
        columns = min(ROW, nbytes // 1024)
        found += [
            {
                **{"family": PREFETCH, "variant": name, "dtype": "float64"},
                "shape": [blocks * multiprocessors, columns],
                "parameters": {"work": work},
            }
            for blocks in BLOCKS
            for work in WORK
            for name in PREFETCHING
        ]
    return found


def run(families: Sequence[str], nbytes: int, seconds: float, header: Path) -> None:
    """Launch every case once; write down what was launched, and what was not and why."""
    end = time.monotonic() + seconds
    backend = os.environ.get("GPUMEM_BACKEND", "cuda")
    of_name = {(v.family, v.name): v for v in variants(families)}
    launches = cases(families, nbytes, open_device(backend).info()["devices"][0]["multiprocessors"])
    for one in launches:
        one["error"] = f"not launched within {seconds:g} s"
    for one in launches:
        header.write_text(json.dumps({"launches": launches}), encoding="utf-8")
        if time.monotonic() > end:
            break
        variant = of_name[one["family"], one["variant"]]
        keywords = PARAMETERS.get(variant.family, {}) | one.get("parameters", {})
        try:
            inputs = arguments(variant.family, tuple(one["shape"]), one["dtype"])
            variant(*(placed(variant, a, backend) for a in inputs), **keywords)
            gm.synchronize(backend)
            del one["error"]
        except (ValueError, TypeError, MemoryError, RuntimeError) as error:
            one["error"] = str(error)
    header.write_text(json.dumps({"launches": launches}), encoding="utf-8")


@functools.lru_cache(maxsize=2)
def arguments(family: str, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
    """Return random inputs, the same for all variants in a row that take that shape."""
    return oracle.arguments(family, shape, dtype, seed=0)


def placed(variant: gm.Variant, a: np.ndarray[Any, Any], backend: str) -> Any:
    """Return an array on the device, or in the kind of host memory that the variant takes."""
    if variant.memory is None:
        return gm.to_device(a, backend=backend)
    return oracle.placed(variant, a, backend)


class Launches(Profiler):
    """Runs this file under ncu."""

    metrics = (TIME, *SHARES.values(), *(STALL.format(reason) for reason in REASONS))

    one_by_one = False  # a run is long, and these metrics are known to be there

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        super().__init__(folder, given.timeout)
        self.given = given

    def kernels(self) -> list[str]:
        """Return the names of the functions to profile."""
        return [kernel(variant) for variant in variants(self.given.families)]

    def program(self) -> list[str]:
        """Return the command that launches the kernels."""
        run = [sys.executable, os.path.abspath(__file__), "--run", str(self.header)]
        run += ["--families", ",".join(self.given.families), "--bytes", str(self.given.bytes)]
        return [*run, "--seconds", str(self.given.seconds)]


# ---- figures --------------------------------------------------------------------------------


def figures_of(metrics: dict[str, float | None]) -> Figure:
    """Return the figures of a launch; a counter that was not read is left out of the stalls."""
    shares = {name: metrics.get(metric) for name, metric in SHARES.items()}
    stalls = {reason: metrics.get(STALL.format(reason)) for reason in REASONS}
    return {
        "us": (metrics.get(TIME) or 0) / 1e3,
        **{
            name: None if value is None else round(value / 100, 4) for name, value in shares.items()
        },
        "stalls": {reason: value for reason, value in stalls.items() if value is not None},
    }


def records(launches: list[Figure], text: str) -> list[Figure]:
    """Return a record per case: its longest launch, or why there is none.

    Cases of one kernel were launched in this order, each as often as the others.
    """
    seen: dict[str, list[dict[str, float | None]]] = {}
    for row in read_csv(text):
        seen.setdefault(row["kernel"], []).append(row["metrics"])
    names = [f"{one['family']}_{one['variant']}".replace(":", "_") for one in launches]
    total = Counter(name for name, one in zip(names, launches, strict=True) if "error" not in one)
    done: Counter[str] = Counter()
    found = []
    for name, one in zip(names, launches, strict=True):
        if "error" not in one:
            rows, of = seen.get(name, []), total[name]
            each, rest = divmod(len(rows), of)
            if rest or not rows:
                one = {**one, "error": f"ncu shows {len(rows)} launches of {name} in {of} calls"}
            else:
                own = rows[done[name] * each : (done[name] + 1) * each]
                one = {**one, **figures_of(max(own, key=lambda row: row.get(TIME) or 0))}
            done[name] += 1
        found.append(one)
    return found


def line(one: Figure) -> str:
    """Return a record as a line of the table: its three main reasons to wait."""
    name = f"{one['family']}-{one['variant']}"
    if "parameters" in one:
        name += f" {one['shape'][0]} rows, work {one['parameters']['work']}"
    if "error" in one:
        return f"{name:46} {one['error']}"
    most = sorted(one["stalls"].items(), key=lambda item: -item[1])[:3]
    reasons = "  ".join(f"{reason} {cycles:.1f}" for reason, cycles in most)
    shares = "  ".join(
        f"{name} {one[name]:4.0%}" if one[name] is not None else f"{name}    –" for name in SHARES
    )
    return f"{name:46} {one['us']:9.1f} us  {shares}  {reasons}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", default="32M", help="of a call's first array")
    parser.add_argument("--families", help="by default, all")
    parser.add_argument(
        "--seconds", type=float, default=100, help="after which nothing more is launched"
    )
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds after which ncu is stopped"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)  # run by ncu
    given = parser.parse_args()
    (given.bytes,) = parse_sizes(given.bytes)
    given.families = given.families.split(",") if given.families else list(gm.families())
    for name in given.families:
        if name not in gm.families():
            parser.error(f"--families has {name}, expected {', '.join(gm.families())}")
    return given


def main() -> None:
    given = parse()
    if given.run:
        run(given.families, given.bytes, given.seconds, given.run)
        return
    with tempfile.TemporaryDirectory() as folder:
        profiler = Launches(given, Path(folder))
        text, dropped = profiler.collect()
        found = records(profiler.launches()["launches"], text)
        version = profiler.version()
    for one in found:
        print(line(one))
    if dropped:
        print(f"ncu does not know {', '.join(dropped)}")
    if given.json:
        settings = {"bytes": given.bytes, "ncu": version, "unknown_metrics": dropped}
        tool_results.write(given.json, open_device(), {**settings, "figures": found})


if __name__ == "__main__":
    main()
