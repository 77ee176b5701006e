"""The tool that runs kernels under compute-sanitizer, with a stand-in for it."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gpumem as gm
from gpumem.families.table import find

ROOT = Path(__file__).resolve().parent.parent

SANITIZER = """\
#!{python}
import subprocess, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("NVIDIA (R) Compute Sanitizer\\nVersion 2099.4.0.0 (build 7)"))
_, tool, option, found, *program = sys.argv[1:]
assert option == "--error-exitcode"
if tool == "synccheck":
    program[-1] = "no such family"
status = subprocess.run(program).returncode
faults = 3 * (tool == "racecheck")
for at in range(faults):
    print("========= Invalid __shared__ read of size 4 bytes")
    print(f"=========     at shift_points_{{'xy'[at % 2]}}+0x40")
print(f"========= ERROR SUMMARY: {{faults}} errors" if tool != "initcheck" else "")
sys.exit(int(found) if faults else status)
"""


@pytest.fixture
def sanitize(tmp_path):
    stand_in = tmp_path / "compute-sanitizer"
    stand_in.write_text(SANITIZER.format(python=sys.executable))
    stand_in.chmod(0o755)
    environment = os.environ | {"GPUMEM_BACKEND": "sim", "PYTHONPATH": str(ROOT)}

    def run(*words, sanitizer=stand_in):
        return subprocess.run(
            [sys.executable, str(ROOT / "tools" / "sanitize.py"), *words],
            env=environment | {"SANITIZER": str(sanitizer)},
            capture_output=True,
            text=True,
        )

    return run


def test_a_clean_run(sanitize):
    done = sanitize("shift_points", "static_value", "--tools", "memcheck")
    assert (done.returncode, done.stderr) == (0, "")
    _, *lines = done.stdout.splitlines()
    for line, family in zip(lines, ("shift_points", "static_value"), strict=True):
        found = re.fullmatch(rf"{family}, memcheck +clean +(\d+) +(\d+) +\d+ +0", line)
        assert found and int(found[1]) == len(gm.variants(family, instances=True)) <= int(found[2])


def test_what_is_wrong_is_told_apart(sanitize, tmp_path):
    done = sanitize("shift_points", "--jobs", "1", "--logs", str(tmp_path / "logs"))
    assert done.returncode == 1
    found = {line.split()[1]: line for line in done.stdout.splitlines()[1:5]}
    assert " clean " in found["memcheck"] and found["memcheck"].endswith(" 0")
    assert " REPORTED " in found["racecheck"] and found["racecheck"].endswith(" 3")
    assert " FAILED " in found["initcheck"]  # the sanitizer said nothing
    assert " FAILED " in found["synccheck"]  # nor did the program
    kind = "times Invalid __shared__ read of size 4 bytes, in shift_points"
    assert done.stdout.splitlines()[5:] == [
        f"shift_points, racecheck: 2 {kind}_x",
        f"shift_points, racecheck: 1 {kind}_y",
    ]
    log = (tmp_path / "logs" / "shift_points-synccheck.log").read_text()
    assert "no such family" in log


def test_what_was_found_is_kept(sanitize, tmp_path):
    """A record per tool and family, which later runs add to and replace."""
    kept = tmp_path / "kept.json"
    for words in (["static_value", "--tools", "memcheck"], ["shift_points"]):
        sanitize(*words, "--record", str(kept))
    found = json.loads(kept.read_text())
    assert found["sanitizer"] == "2099.4.0.0" and found["provenance"]["backend"] == "sim"
    records = {(r["family"], r["tool"]): r for r in found["records"]}
    assert list(records) == [
        *(("shift_points", tool) for tool in ("memcheck", "racecheck", "initcheck", "synccheck")),
        ("static_value", "memcheck"),
    ]
    names = [v.name for v in gm.variants("shift_points")]
    clean = records["shift_points", "memcheck"]
    assert (clean["status"], clean["findings"], clean["variants"]) == ("clean", 0, names)
    assert clean["calls"] > len(names) and clean["kinds"] == {}
    assert records["shift_points", "racecheck"]["findings"] == 3
    assert sum(records["shift_points", "racecheck"]["kinds"].values()) == 3
    assert records["shift_points", "initcheck"]["findings"] is None

    found["provenance"]["commit"] = "another"
    kept.write_text(json.dumps(found))
    done = sanitize("static_value", "--tools", "memcheck", "--record", str(kept))
    assert "of another commit" in done.stdout
    (only,) = json.loads(kept.read_text())["records"]
    assert (only["family"], only["tool"]) == ("static_value", "memcheck")


def test_every_variant_is_in_one_process_of_each_tool():
    tool = runpy.run_path(str(ROOT / "tools" / "sanitize.py"))
    jobs = tool["jobs"](gm.families(), tool["TOOLS"])
    named = sorted((job.tool, job.family, name) for job in jobs for name in job.variants)
    assert named == sorted(
        (t, v.family, v.name) for t in tool["TOOLS"] for v in gm.variants(instances=True)
    )
    assert all(len(job.variants) <= tool["TOGETHER"] for job in jobs)


def test_what_takes_too_long(sanitize, tmp_path):
    endless = tmp_path / "endless"
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o755)
    words = ("copy", "--tools", "memcheck", "--timeout", "0.1")
    done = sanitize(*words, sanitizer=endless)
    assert done.returncode == 1 and " TOO LATE " in done.stdout


def test_what_is_asked_for_is_known(sanitize):
    for words, part in (
        (["cpy"], "'cpy' is none of copy,"),
        (["copy", "--tools", "leakcheck"], "'leakcheck' is none of memcheck,"),
    ):
        done = sanitize(*words)
        assert done.returncode == 2 and part in done.stderr and not done.stdout


def test_a_sanitizer_that_is_not_there(monkeypatch):
    path = ROOT / "tools" / "sanitize.py"
    find = runpy.run_path(str(path))["find_sanitizer"]
    monkeypatch.setenv("SANITIZER", "/no/such/file")
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("glob.glob", lambda pattern: [])
    with pytest.raises(SystemExit, match="set SANITIZER to its path"):
        find()


# ---- what the GPUs said -------------------------------------------------------------------


def test_no_kernel_was_found_wanting():
    seen = {}
    for path in sorted((ROOT / "docs").glob("sanitize-*.json")):
        for record in json.loads(path.read_text(encoding="utf-8"))["records"]:
            assert (record["status"], record["findings"], record["kinds"]) == ("clean", 0, {})
            family = record["family"]
            names = (*record["variants"], *record["unavailable"])  # perhaps former ones
            found = {find(family, name).name for name in names}
            seen.setdefault((family, record["tool"]), set()).update(found)
    tools = ("memcheck", "racecheck", "initcheck", "synccheck")
    assert seen == {
        (family, tool): {v.name for v in gm.variants(family, instances=True)}
        for family in gm.families()
        for tool in tools
    }
