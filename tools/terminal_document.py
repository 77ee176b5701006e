"""Write what the commands of docs/own-kernels-in-a-terminal.md print into it.

Blocks of the document are run from top to bottom, in one new folder: ``cuda`` after a line
``<!-- file: NAME -->`` is written to that file, ``console`` has commands of a shell behind ``$``,
``pycon`` statements behind ``>>>``. Of a traceback the last line stays.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "own-kernels-in-a-terminal.md"
BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(cuda|console|pycon)\n(.*?)```\n", re.DOTALL)


class Session:
    """A shell and an interpreter in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0
        self.names: dict[str, object] = {}
        tools = folder / ".bin"
        tools.mkdir()
        command = tools / "gpumem"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpumem "$@"\n')
        command.chmod(0o755)
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path}

    def shell(self, command: str) -> str:
        """Return what a command prints; $? is the status of the one before."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {command}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.status = done.returncode
        return done.stdout

    def python(self, statement: str) -> str:
        """Return what a statement prints in an interpreter."""
        printed = io.StringIO()
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(statement, "<stdin>", "single"), self.names)
        except Exception as error:
            said = f"Traceback (most recent call last):\n  ...\n{type(error).__name__}: {error}\n"
            printed.write(said)
        finally:
            os.chdir(here)
        return printed.getvalue()


def rewrite(text: str, folder: Path) -> str:
    """Return the document with what its commands print."""
    session = Session(folder)

    def rewritten(match: re.Match[str]) -> str:
        file, kind, inside = match.groups()
        if kind == "cuda":
            if file:
                (folder / file).write_text(inside)
            return match[0]
        prompt, run = ("$ ", session.shell) if kind == "console" else (">>> ", session.python)
        typed = [line for line in inside.splitlines() if line.startswith(prompt)]
        shown = [f"{line}\n{run(line.removeprefix(prompt))}" for line in typed]
        return f"```{kind}\n{''.join(shown)}```\n"

    return BLOCK.sub(rewritten, text)


def main() -> None:
    """Rewrite the document."""
    os.environ |= {"GPUMEM_BACKEND": "sim", "COLUMNS": "100"}  # as in the tests
    with tempfile.TemporaryDirectory() as folder:
        DOCUMENT.write_text(rewrite(DOCUMENT.read_text(encoding="utf-8"), Path(folder)))


if __name__ == "__main__":
    main()
