"""tools/measure_stalls.py with a stand-in for ncu, which runs the program on the simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpumem as gm

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_stalls as tool

ROOT = Path(__file__).resolve().parent.parent
LONG = tool.STALL.format("long_scoreboard")
BARRIER = tool.STALL.format("barrier")

# Two launches per kernel, the second twice as long; ncu does not know the counter of gmma.
NCU = """\
#!{python}
import json, subprocess, sys
arguments = sys.argv[1:]
if "--version" in arguments:
    sys.exit(print("Version 2099.1.0.0 (build 1)"))
metrics = arguments[arguments.index("--metrics") + 1].split(",")
log = open(arguments[arguments.index("--log-file") + 1], "w")
unknown = [m for m in metrics if "gmma" in m]
if unknown:
    print("==ERROR== Failed to find metric", unknown[0], file=log)
    sys.exit(1)
program = arguments[arguments.index({python!r}) :]
subprocess.run(program, check=True)
told = json.load(open(program[program.index("--run") + 1]))
names = ["ID", "Kernel Name", *metrics]
print(",".join(f'"{{n}}"' for n in names), file=log)
for i, one in enumerate(told["launches"]):
    for j in (2, 1):
        if "error" in one:
            continue
        cells = [2 * i + j, f"{{one['family']}}_{{one['variant']}}"]
        cells += [1000 * j if "time" in m else 50 if "pct" in m else j for m in metrics]
        print(",".join(f'"{{c}}"' for c in cells), file=log)
"""


def run(folder, *words):
    ncu = folder / "ncu"
    ncu.write_text(NCU.format(python=sys.executable))
    ncu.chmod(0o755)
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {"NCU": str(ncu), "GPUMEM_BACKEND": "sim", "PYTHONPATH": path}
    command = [sys.executable, str(ROOT / "tools" / "measure_stalls.py"), *words]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)


def test_the_tool_from_launch_to_json(tmp_path):
    file = tmp_path / "found.json"
    done = run(tmp_path, "--families", "add,shift_points", "--bytes", "64K", "--json", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    assert found["ncu"] == "2099.1.0.0" and found["unknown_metrics"] == [tool.STALL.format("gmma")]
    names = [(one["family"], one["variant"]) for one in found["figures"]]
    assert names == [(v.family, v.name) for v in tool.variants(["add", "shift_points"])]
    assert ("add", "zero_copy") in names
    for one in found["figures"]:
        assert one["us"] == 2.0 and one["l1"] == one["l2"] == one["warps"] == 0.5
        assert one["stalls"] == {reason: 2.0 for reason in tool.REASONS if reason != "gmma"}
    assert len(done.stdout.splitlines()) == len(names) + 1


def test_a_kernel_that_was_not_launched_says_so():
    launches = [{"family": "copy", "variant": "bulk"}, {"family": "copy", "variant": "vec4"}]
    text = f'"ID","Kernel Name","{LONG}","{BARRIER}"\n"0","copy_vec4","3.5","n/a"\n'
    bulk, vec4 = tool.records(launches, text)
    assert bulk["error"] == "ncu shows 0 launches of copy_bulk in 1 calls"
    assert vec4["stalls"] == {"long_scoreboard": 3.5} and vec4["l1"] is None
    assert "0 launches" in tool.line(bulk) and "long_scoreboard 3.5" in tool.line(vec4)


def test_cases_of_a_kernel_are_told_by_their_order():
    """Each was launched twice, and the longer launch counts; a third of the rows fits to none."""
    launches = [
        {"family": "prefetch_sum", "variant": "baseline", "shape": [132, 64]},
        {"family": "prefetch_sum", "variant": "baseline", "error": "no"},
        {
            "family": "prefetch_sum",
            "variant": "baseline",
            "shape": [8, 8],
            "parameters": {"work": 4},
        },
    ]
    head = f'"ID","Kernel Name","{tool.TIME}","{LONG}"\n'
    rows = [
        f'"{i}","prefetch_sum_baseline","{us}000","{us}"\n' for i, us in enumerate((1, 2, 4, 3))
    ]
    usual, failed, chosen = tool.records(launches, head + "".join(rows))
    assert usual["us"] == 2 and usual["stalls"] == {"long_scoreboard": 2}
    assert failed["error"] == "no" and chosen["us"] == 4
    assert "8 rows, work 4" in tool.line(chosen)
    found = tool.records(launches, head + "".join(rows[:3]))
    assert found[0]["error"] == "ncu shows 3 launches of prefetch_sum_baseline in 2 calls"


def test_what_is_left_at_the_end_of_the_time_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    header = tmp_path / "launches.json"
    tool.run(["add"], 2**14, 0, header)
    launches = json.loads(header.read_text())["launches"]
    assert launches and {one["error"] for one in launches} == {"not launched within 0 s"}
    file = tmp_path / "found.json"
    done = run(
        tmp_path, "--families", "add", "--bytes", "64K", "--seconds", "0", "--json", str(file)
    )
    assert done.returncode != 0 and "measured nothing" in done.stderr


def test_a_run_that_takes_too_long_is_ended_with_its_program(tmp_path):
    """The stand-in waits for its program, which would go on alone."""
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\nsleep 600 & echo $! >$PIDFILE; wait\n")
    ncu.chmod(0o755)
    pid = tmp_path / "pid"
    command = [sys.executable, str(ROOT / "tools" / "measure_stalls.py"), "--timeout", "1"]
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = os.environ | {"NCU": str(ncu), "PIDFILE": str(pid), "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode and "ncu took longer than 1 s" in done.stderr
    assert done.stderr.count("ended with status") == 1  # it is not tried again
    state = Path("/proc", pid.read_text().strip(), "stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_families_that_are_not_there_are_named(tmp_path):
    done = run(tmp_path, "--families", "copy,paste")
    assert done.returncode == 2 and "--families has paste, expected" in done.stderr


@pytest.mark.parametrize("family", gm.families())
def test_every_variant_has_a_call(family, tmp_path, monkeypatch):
    """On small arrays; what cannot run on the simulator says why."""
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    header = tmp_path / "launches.json"
    tool.run([family], 2**14, 600, header)
    launches = json.loads(header.read_text())["launches"]
    usual = [one for one in launches if "parameters" not in one]
    assert len(usual) == len(tool.variants([family]))
    assert (len(usual) < len(launches)) == (family == "prefetch_sum")
    for one in launches:
        variant = next(v for v in tool.variants([family]) if v.name == one["variant"])
        assert ("error" in one) == (variant.reason_on("sim") is not None), one
