"""The distribution of tests over workers, in conftest.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist")

TESTS = Path(__file__).resolve().parent

CRASHES = """
import os

import pytest


@pytest.mark.parametrize("number", range(12))
def test_one(number):
    if number % 5 == 2:
        os.abort()


def test_another():
    pass
"""


def test_a_test_that_crashes_its_worker_runs_once(tmp_path):
    (tmp_path / "test_crashes.py").write_text(CRASHES)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "conftest", "--rootdir", "."]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    crashed = sorted(line.split()[1] for line in done.stdout.splitlines() if "FAILED" in line)
    assert crashed == [f"test_crashes.py::test_one[{number}]" for number in (2, 7)], done.stdout
    assert "2 failed, 11 passed" in done.stdout
