"""The tool that runs kernels under compute-sanitizer, with a stand-in for it."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent

SANITIZER = """\
#!{python}
import subprocess, sys
_, tool, option, found, *program = sys.argv[1:]
assert option == "--error-exitcode"
if tool == "synccheck":
    program[-1] = "no such family"
status = subprocess.run(program).returncode
faults = 3 * (tool == "racecheck")
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
        calls = re.fullmatch(rf"{family}, memcheck +clean +(\d+) +\d+  0 errors", line)
        assert calls and int(calls[1]) >= len(gm.variants(family))


def test_what_is_wrong_is_told_apart(sanitize, tmp_path):
    done = sanitize("shift_points", "--jobs", "1", "--logs", str(tmp_path / "logs"))
    assert done.returncode == 1
    found = {line.split()[1]: line for line in done.stdout.splitlines()[1:]}
    assert " clean " in found["memcheck"]
    assert " REPORTED " in found["racecheck"] and found["racecheck"].endswith("3 errors")
    assert " FAILED " in found["initcheck"]  # the sanitizer said nothing
    assert " FAILED " in found["synccheck"]  # nor did the program
    log = (tmp_path / "logs" / "shift_points-synccheck.log").read_text()
    assert "no such family" in log


def test_what_takes_too_long(sanitize):
    done = sanitize("copy", "--tools", "memcheck", "--timeout", "0.01")
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
    with pytest.raises(SystemExit, match="SANITIZER= may name it"):
        find()
