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
    assert done or name in ("refuse", "too large")


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


@pytest.mark.parametrize(
    ("module", "kind", "text", "ran_out"),
    [
        ("builtins", MemoryError, "", True),
        ("gpumem", gm.CudaError, "out of memory", False),  # which has to be a MemoryError
        ("torch", RuntimeError, "CUDA out of memory. Tried to allocate 20 MiB", True),
        ("torch", RuntimeError, "an illegal memory access", False),
        ("cupy_backends.cuda.api.runtime", RuntimeError, "x: out of memory", True),
    ],
)
def test_what_counts_as_out_of_memory(module, kind, text, ran_out):
    raised = type("Error", (kind,), {"__module__": module})(text)
    assert soak_steps.ran_out(raised) == ran_out


def test_little_memory_counts_and_is_no_failure(tmp_path):
    found = tmp_path / "soak.json"
    command = [sys.executable, str(ROOT / "tools/soak.py"), "--backend", "sim", "--seconds", "1"]
    command += ["--fill", "0.9", "--threads", "4", "--processes", "2", "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(found.read_text())
    assert 0 < said["out_of_memory"] < said["steps"]
    assert said["counts"]["too large out of memory"] <= said["out_of_memory"]


def test_a_process_that_ends_before_it_is_ready_is_seen(monkeypatch, capsys):
    """The others run, and the run has failed."""
    module = runpy.run_path(str(ROOT / "tools/soak.py"))
    start = module["start"]

    def start_or_end(words, number):
        if number == 0:
            end = "print('no device', flush=True); raise SystemExit(3)"
            pipe = subprocess.PIPE
            return subprocess.Popen([sys.executable, "-c", end], stdin=pipe, stdout=pipe, text=True)
        return start(words, number)

    monkeypatch.setitem(module["run"].__globals__, "start", start_or_end)
    words = ["soak.py", "--backend", "sim", "--seconds", "0.5", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", [*words, "--processes", "2"])
    assert module["main"]() == 1
    said = capsys.readouterr().out
    assert "process 0 ended with 3\nno device" in said and "1 failures" in said


def test_a_process_ends_with_who_started_it():
    words = ["--process", "0", "--backend", "sim", "--threads", "1", "--seconds", "60"]
    command = [sys.executable, str(ROOT / "tools/soak.py"), *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, b"ready\n")


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


def test_growth_is_of_what_stays():
    growth = runpy.run_path(str(ROOT / "tools" / "soak.py"))["growth"]
    rng = np.random.default_rng(0)
    steady = 10**9 + rng.integers(0, 10**8, 1000)  # arrays that come and go
    leaking = steady + np.arange(1000) * 500_000
    assert abs(growth(list(steady))) < 2**22
    assert 1.2e8 < growth(list(leaking)) < 1.8e8
    assert growth([]) == 0
