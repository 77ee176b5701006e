"""The soak: its steps pass, and see what is wrong."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools"))  # where the tools find each other

import soak_steps  # noqa: E402


@pytest.mark.parametrize("name", soak_steps.STEPS)
def test_steps_of_the_soak_pass(name):
    worker = soak_steps.Worker(0, "sim")
    done = 0
    for number in range(12):
        try:
            soak_steps.STEPS[name](worker, np.random.default_rng(number))
            done += 1
        except soak_steps.Refused:
            continue
    assert done or name == "refuse"


@pytest.mark.parametrize("name", ["move", "exchange"])
def test_the_soak_sees_a_wrong_result(name, monkeypatch):
    right = gm.copy

    def wrong(*arguments, **keywords):
        result = right(*arguments, **keywords)
        if result.nbytes:
            result[...] = 101
        return result

    monkeypatch.setattr(gm, "copy", wrong)
    worker = soak_steps.Worker(0, "sim")
    with pytest.raises(AssertionError, match="bytes"):
        for number in range(12):
            soak_steps.STEPS[name](worker, np.random.default_rng(number))


def test_the_soak_reports_and_repeats(tmp_path, monkeypatch, capsys):
    command = [sys.executable, str(ROOT / "tools/soak.py"), "--backend", "sim", "--seconds", "1"]
    found = tmp_path / "soak.json"
    done = subprocess.run(
        [*command, "--threads", "2", "--processes", "2", "--json", str(found)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(found.read_text())
    assert said["steps"] == sum(said["counts"].values()) > 0 and said["failures"] == []

    module = runpy.run_path(str(ROOT / "tools/soak.py"))
    monkeypatch.setitem(soak_steps.STEPS, "move", lambda worker, rng: 1 / 0)
    words = ["soak.py", "--backend", "sim", "--seed", "0", "--step", "0", "0"]
    for number in range(100):
        rng = np.random.default_rng([0, 0, 0, number])
        if list(soak_steps.STEPS)[rng.integers(len(soak_steps.STEPS))] == "move":
            break
    monkeypatch.setattr(sys, "argv", [*words, str(number)])
    assert module["main"]() == 1
    assert f"--seed 0 --step 0 0 {number}: move" in capsys.readouterr().out
