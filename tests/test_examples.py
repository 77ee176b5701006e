"""The example projects work as they say, and the commands in documents print what they show."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpumem import cli

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "examples" / "check-in-ci"
COMMAND = re.compile(r"^ *(?:\$ )?gpumem (check .*?)(?: --sarif \S+ .*)?$", re.M)


def test_the_project_passes_its_own_tests():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0 and "2 passed, 3 xfailed" in done.stdout, done.stdout


def commands(file):
    """Return the commands that a file has, as words."""
    return [line.split() for line in COMMAND.findall(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("file", "statuses"),
    [
        (PROJECT / ".github" / "workflows" / "kernels.yml", [0, 1, 1]),
        (ROOT / "docs" / "check-your-kernels-in-ci.md", [1, 1]),
        (ROOT / "README.md", [1]),
    ],
    ids=["workflow", "document", "readme"],
)
def test_commands(file, statuses, monkeypatch, capsys):
    monkeypatch.chdir(PROJECT)
    text = file.read_text(encoding="utf-8")
    found = commands(file)
    assert len(found) == len(statuses)
    for words, status in zip(found, statuses, strict=True):
        assert cli.main(words) == status
        printed = capsys.readouterr().out
        if file.suffix == ".md":
            assert f"$ gpumem {' '.join(words)}\n{printed}```\n" in text


def test_the_document_of_a_session_in_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from terminal_document import DOCUMENT, rewrite

    text = DOCUMENT.read_text(encoding="utf-8")
    assert rewrite(text, tmp_path) == text, "run tools/terminal_document.py"


def test_the_test_in_the_document(monkeypatch):
    monkeypatch.chdir(PROJECT)
    text = (ROOT / "docs" / "check-your-kernels-in-ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(compile(block, "check-your-kernels-in-ci.md", "exec"), names)
    names["test_saxpy"]()


def test_the_transcript_of_a_users_kernel(monkeypatch):
    monkeypatch.chdir(PROJECT)
    text = (ROOT / "docs" / "own-kernels.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)
    shown = block.replace("\n\n", "\n<BLANKLINE>\n")
    test = doctest.DocTestParser().get_doctest(shown, {}, "own-kernels.md", None, 0)
    assert len(test.examples) == 9
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
