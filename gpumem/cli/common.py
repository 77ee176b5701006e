"""What several commands need: their parser, their errors, keywords, progress and output."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO

from ..base.files import check_target, write
from ..base.messages import quoted, shortened, unknown
from ..base.sizes import parse_shape, text_width
from ..families.table import families, variants

Progress = Callable[[int, int, str], None]
Run = Callable[[argparse.Namespace], int]

_SECONDS = 5.0  # between two lines of progress


class UsageError(Exception):
    """What the user typed is wrong; the message is the line to print."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, one line each, that suggest the nearest word."""

    def error(self, message: str) -> NoReturn:
        short = " ".join(shortened(word) for word in message.split())
        raise UsageError(f"{short} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is not None:
            file.write(message)  # argparse's own way with it keeps quiet where that fails

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "invalid choice:"
            raise argparse.ArgumentError(action, unknown(what, value, map(str, action.choices)))


class Commands:
    """The commands of a parser, to which the files of this package add theirs."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._common = Parser(add_help=False)
        backends = ("auto", "cuda", "sim")
        self._common.add_argument("--backend", choices=backends, help="where to run")
        self._parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(self, name: str, run: Run, text: str, json_file: bool = False) -> Any:
        """Add a command; with `json_file` its --json may name a file."""
        one = self._parsers.add_parser(name, parents=[self._common], help=text, description=text)
        one.set_defaults(run=run)
        if json_file:
            told = "print JSON, and nothing else; or write it to FILE"
            one.add_argument("--json", nargs="?", const=True, metavar="FILE", help=told)
        else:
            one.add_argument("--json", action="store_true", help="print JSON, and nothing else")
        return one


# ---- completion ---------------------------------------------------------------------------


def complete_families(**_: Any) -> tuple[str, ...]:
    """The families, for argcomplete."""
    return families()


def complete_variants(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """The variants of the family that stands on the line already, for argcomplete."""
    family = getattr(parsed_args, "family", None)
    return [v.name for v in variants(family)] if family in families() else []


def completed(action: Any, completer: Callable[..., Iterable[str]]) -> None:
    """Say what argcomplete, where it is installed, offers for an argument."""
    action.completer = completer


# ---- arguments ----------------------------------------------------------------------------


def chosen_families(family: str | None) -> tuple[str, ...]:
    """The family that was named, or all of them."""
    if family is None:
        return families()
    variants(family)
    return (family,)


def _value(text: str) -> Any:
    """One value of a keyword: true, 4, 0.5, 8x32, or else a word such as auto."""
    if text in ("true", "false"):
        return text == "true"
    for convert in (int, float, parse_shape):
        try:
            return convert(text)
        except ValueError:
            continue
    if text.isidentifier():
        return text
    raise ValueError(text)


def keywords(words: Sequence[str] | None) -> dict[str, Any]:
    """Keywords of a family's function from NAME=VALUE; a sweep as 1,2,4 or 1:16."""
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--set {shortened(word)}: expected NAME=VALUE")
        try:
            if ":" in text:
                first, last = map(int, text.split(":"))
                found[name] = range(first, last + 1)
            elif "," in text:
                found[name] = [_value(one) for one in text.split(",")]
            else:
                found[name] = _value(text)
        except ValueError:
            raise UsageError(
                f"--set {shortened(word)}: {quoted(text)} is neither a number, nor numbers as in "
                "8x32, nor a word, nor a sweep as in 1,2,4 or 1:16"
            ) from None
    return found


# ---- output -------------------------------------------------------------------------------


def note(text: str) -> str:
    """Return a text in lines that the terminal has room for, all but the first indented."""
    return textwrap.fill(text, text_width(), subsequent_indent="  ", break_on_hyphens=False)


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print a line on stderr, if anybody can read it."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Let go of a stream that cannot be written to: the interpreter flushes it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def show_progress(title: str) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal that rich can draw on, else lines."""
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            pass
        else:
            console = Console(stderr=True)
            with Bar(console=console, transient=True, redirect_stdout=False) as bar:
                task = bar.add_task(title, total=None)
                yield lambda done, total, text: bar.update(
                    task, completed=done, total=total, description=text
                )
            return
    last = time.monotonic()

    def line(done: int, total: int, text: str) -> None:
        nonlocal last
        if done < total and time.monotonic() - last > _SECONDS:
            last = time.monotonic()
            say(f"{title}: {done} of {total}, {text}")

    yield line


def picture_target(what: str, file: str) -> None:
    """Check, before there is a picture to lose, that it can be drawn and written to a file.

    Pictures need no window; the end of a name says which kind: png, svg, pdf.
    """
    check_target(file)
    try:
        import matplotlib
    except ImportError:
        raise UsageError(f"{what} needs matplotlib: pip install gpumem[plot]") from None
    matplotlib.use("Agg")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if _kind(file) not in kinds:
        raise UsageError(unknown(f"{shortened(file)}: the kind of picture is", _kind(file), kinds))


def write_picture(figure: Any, file: str, dpi: int) -> None:
    """Write a figure as :func:`gpumem.base.files.write` does."""
    import io

    held = io.BytesIO()
    figure.savefig(held, dpi=dpi, format=_kind(file))
    write(file, held.getvalue())


def _kind(file: str) -> str:
    return os.path.splitext(file)[1][1:].lower() or "png"
