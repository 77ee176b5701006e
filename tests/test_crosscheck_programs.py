"""tools/crosscheck_programs.py, as far as it goes without a GPU."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import crosscheck_programs as tool  # which finds tests/programs
import programs


def test_a_step_on_the_simulator():
    program = next(one for one in programs.PROGRAMS if one.name == "saxpy")
    assert tool.run_step(program, "plain")["status"] == tool.OK


def test_a_program_is_right_if_it_says_so_and_ends_with_0(tmp_path):
    answers = {}
    for name, body in {
        "right": "echo 3 ms; echo OK",
        "silent": "exit 0",
        "wrong": "echo OK; exit 1",
        "failing": "echo OK; echo no device >&2; echo FAILED",
    }.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
        answers[name] = tool.run_main(path)["status"]
    assert answers == {
        "right": tool.OK,
        "silent": "status 0: no output",
        "wrong": "status 1: OK",
        "failing": "status 0: no device",
    }


def test_the_table():
    found = {
        "a": {"nvcc": {"status": tool.OK}, "main": {"status": tool.OK}},
        "b": {"nvcc": {"status": "b.cu(3): error: x\nmore"}},
    }
    assert tool.rows(found) == [
        ("a", "right", "right", "-", "-", "-"),
        ("b", "b.cu(3): error: x", "-", "-", "-", "-"),
    ]
    assert tool.summary(found) == "nvcc: 1 of 2; main on the GPU: 1 of 1"
