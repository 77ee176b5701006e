"""The calls of `bad_calls` for the command line: each option of each command with odd texts."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable
from typing import Any

from bad_arrays import nothing
from bad_calls import Call

from gpumem import cli

# Commands that work on results and families, and where they would not take long.
GOOD = {
    "info": [],
    "list": ["copy"],
    "verify": ["copy", "--variant", "scalar"],
    "traffic": ["copy", "--variant", "vec4", "--shape", "64"],
    "bench": ["copy", "--variants", "vec4", "--sizes", "4K"],
    "explain": ["copy", "vec4"],
    "sass": ["copy", "vec4"],
    "attributes": ["copy", "vec4"],
    "compare": ["copy-h200", "copy-h200"],
}
WRITES = {"--json", "--output", "--draw"}  # files


def _command(words: list[str], option: str) -> Callable[[str], None]:
    def run(value: str) -> None:
        """Raise ValueError with what the command says if it fails."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                status = cli.main([*words, option, value])
            except SystemExit as end:  # of argparse
                status = end.code
        assert status in (0, 1, 2), f"exit status {status}"
        if status != 0:
            raise ValueError(said.getvalue())

    return run


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options that take a value, by their long names."""
    return [
        action.option_strings[-1]
        for action in parser._actions
        if action.option_strings and action.nargs != 0
    ]


def _calls() -> list[Call]:
    parsers = next(a for a in cli.build_parser()._actions if isinstance(a.choices, dict)).choices
    calls = []
    for name, words in GOOD.items():
        for option in _options(parsers[name]):
            if option in WRITES or (name, option) == ("verify", "--backend"):
                continue
            run: Any = _command([name, *words], option)
            said = {"value": r"\S", "no_such_keyword": "unexpected keyword argument"}
            calls.append(
                Call(
                    f"gpumem {name} {option}",
                    lambda run=run: (run, {"value": ""}),
                    {"value": "text"},
                    nothing,
                    said,
                )
            )
    return calls


CALLS = _calls()
