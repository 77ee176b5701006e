"""Runs a program under Nsight Compute's ncu, and reads what it writes."""

from __future__ import annotations

import csv
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)

# Atomic operations: "red" are those that return nothing.
ATOMIC = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
)

# Used if the first is unknown: these patch the machine code, which is slow.
INSTEAD = {
    "smsp__inst_executed_op_shared_ld.sum": "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum": "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_shared_atom.sum": "smsp__sass_inst_executed_op_shared_atom.sum",
}

LATE = 124  # the status of a run that took too long


def find_ncu() -> str:
    """Return the path of ncu, or exit if there is none."""
    places = sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)
    for place in (os.environ.get("NCU"), shutil.which("ncu"), "/usr/local/cuda/bin/ncu", *places):
        if place and os.access(place, os.X_OK):
            return place
    raise SystemExit("ncu not found; set NCU to its path")


class Profiler(ABC):
    """Runs a command that launches kernels under ncu.

    The command writes the list of its launches as JSON to `header`.
    """

    metrics: Sequence[str] = METRICS
    one_by_one = True  # if a run fails and says nothing of metrics, try each of them

    def __init__(self, folder: Path, seconds: float) -> None:
        self.ncu = find_ncu()
        self.folder, self.seconds = folder, seconds
        self.header = folder / "launches.json"

    @abstractmethod
    def kernels(self) -> list[str]:
        """Return the names of the functions to profile, or patterns of them."""

    @abstractmethod
    def program(self) -> list[str]:
        """Return the command that launches the kernels."""

    def version(self) -> str:
        done = subprocess.run([self.ncu, "--version"], capture_output=True, text=True)
        found = re.search(r"Version\s+(\S+)", done.stdout)
        return found[1] if found else done.stdout.strip()

    def profile(self, metrics: Sequence[str], *more: str) -> tuple[int, str, str]:
        """Return the exit status, the CSV and all other output."""
        log = self.folder / "ncu.csv"
        log.unlink(missing_ok=True)
        self.header.unlink(missing_ok=True)
        names = "|".join(self.kernels())
        profiler = [self.ncu, "--clock-control", "none", "--target-processes", "all"]
        profiler += ["--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
        profiler += ["-k", f"regex:^({names})$", "--metrics", ",".join(metrics), *more]
        environment = {"GPUMEM_BACKEND": "cuda", **os.environ, "LC_ALL": "C"}
        command = profiler + self.program()
        output: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(
            command, env=environment, text=True, start_new_session=True, **output
        ) as process:
            try:
                said, _ = process.communicate(timeout=self.seconds)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # the program as well
                said = f"{process.communicate()[0]}\nncu took longer than {self.seconds:g} s"
                status = LATE
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        return status, text, said

    def launches(self) -> dict[str, Any]:
        return json.loads(self.header.read_text(encoding="utf-8"))

    def collect(self) -> tuple[str, list[str]]:
        """Return the CSV of all launches, and the metrics that ncu does not know."""
        metrics = list(self.metrics)
        dropped: list[str] = []
        while metrics:
            status, text, said = self.profile(metrics)
            rows = read_csv(text)
            if status or not rows:
                said = f"{text if not rows else ''}\n{said}"
                print(f"ncu ended with status {status}:\n{said[-4000:]}", file=sys.stderr)
            if rows:
                refused = [m for m in metrics if all(r["metrics"].get(m) is None for r in rows)]
                if not any(m in INSTEAD for m in refused):
                    return text, dropped + refused
            else:
                refused = refused_metrics(said, metrics)
            if not refused and self.one_by_one and status != LATE:
                once = ("-c", "1", "--kill", "yes")
                refused = [m for m in metrics if not read_csv(self.profile([m], *once)[1])]
            if not refused:
                break
            print(f"without {', '.join(refused)}:", file=sys.stderr)
            dropped += refused
            metrics = [m for m in metrics if m not in refused]
            metrics += [INSTEAD[m] for m in refused if m in INSTEAD]
        raise SystemExit("ncu measured nothing; its output is above")


def refused_metrics(said: str, metrics: Sequence[str]) -> list[str]:
    """Return the metrics that error messages name."""
    errors = [line for line in said.splitlines() if re.match(r"==(ERROR|WARNING)==", line)]
    words = {word for line in errors for word in re.findall(r"\w+__\w+(?:\.\w+)*", line)}
    return [m for m in metrics if m in words or m.rsplit(".", 1)[0] in words]


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:  # "n/a"
        return None
    return value if np.isfinite(value) else None


def read_csv(text: str) -> list[dict[str, Any]]:
    """Return the launches in ncu's CSV in order: ``{"kernel", "grid", "block", "metrics"}``.

    Reads the raw page, one row per launch, and the details page, one per launch and metric.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    starts = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        return []
    launches: dict[tuple[str, str], dict[str, Any]] = {}
    for row in csv.DictReader(lines[starts[0] :]):
        if not (row["ID"] or "").isdigit():
            continue  # units, or the header again
        launch = launches.setdefault(
            (row.get("Process ID", ""), row["ID"]),
            {
                "kernel": re.split(r"[(<]", row["Kernel Name"])[0].split()[-1],
                "grid": [int(n) for n in re.findall(r"\d+", row.get("Grid Size") or "")],
                "block": [int(n) for n in re.findall(r"\d+", row.get("Block Size") or "")],
                "metrics": {},
            },
        )
        if "Metric Name" in row:
            row = {row["Metric Name"]: row["Metric Value"]}
        for name, value in row.items():
            if name and "__" in name:
                launch["metrics"][name] = _number(value or "")
    return list(launches.values())
