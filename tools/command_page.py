"""The page of the site about the command: what --help prints, of every subcommand."""

from __future__ import annotations

import argparse
import os
from unittest import mock

from gpumem import cli

OPENING = """\
# Commands

What `gpumem --help` and the help of every command print. The exit status is 0 on success, 1 for a
finding (a wrong kernel, a slower one), 2 for a wrong command, a wrong file or output that cannot be
written, and 141 if the reader of the output closed the pipe. [The tour](tour.md) has examples.
"""


def commands() -> str:
    """Return the page."""
    with mock.patch.dict(os.environ, COLUMNS="96"):  # argparse breaks lines there
        return _commands(cli.build_parser())


def _commands(parser: argparse.ArgumentParser) -> str:
    text = f"{OPENING}\n```text\n{parser.format_help()}```\n"
    (subparsers,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for name, one in subparsers.choices.items():
        text += f"\n## {name}\n\n```text\n{one.format_help()}```\n"
    return text
