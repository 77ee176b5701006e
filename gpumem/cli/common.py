"""What commands share: parser, errors, keyword arguments, progress and output."""

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
from ..base.progress import Progress
from ..base.sizes import parse_shape
from ..base.tables import text_width
from ..base.version import pip_install
from ..families.table import families, variants

Run = Callable[[argparse.Namespace], int]

_SECONDS = 5.0  # between two lines of progress


class UsageError(Exception):
    """A mistake in the command line; the message is the line to print."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions of one line that suggest the nearest word."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError rather than exit."""
        short = " ".join(shortened(word) for word in message.split())
        raise UsageError(f"{short} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is not None:
            file.write(message)  # argparse would ignore a failure

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "invalid choice:"
            raise argparse.ArgumentError(action, unknown(what, value, map(str, action.choices)))


class Commands:
    """The commands of a parser; the modules of this package add theirs."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._common = Parser(add_help=False)
        backends = ("auto", "cuda", "sim")
        self._common.add_argument("--backend", choices=backends, help="where to run")
        self._parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(self, name: str, run: Run, text: str, json_file: bool = False) -> Any:
        """Add a command; with `json_file`, its --json takes the name of a file."""
        one = self._parsers.add_parser(name, parents=[self._common], help=text, description=text)
        one.set_defaults(run=run)
        if json_file:
            text = "print JSON, and nothing else; or write it to FILE"
            one.add_argument("--json", nargs="?", const=True, metavar="FILE", help=text)
        else:
            one.add_argument("--json", action="store_true", help="print JSON, and nothing else")
        return one


# ---- completion ---------------------------------------------------------------------------


def complete_families(**_: Any) -> tuple[str, ...]:
    """Return the families, for argcomplete."""
    return families()


def complete_variants(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the variants of the family given on the command line, for argcomplete."""
    family = getattr(parsed_args, "family", None)
    return [v.name for v in variants(family)] if family in families() else []


def completed(action: Any, completer: Callable[..., Iterable[str]]) -> None:
    """Set what argcomplete, if it is installed, offers for an argument."""
    action.completer = completer


# ---- arguments ----------------------------------------------------------------------------


def chosen_families(family: str | None) -> tuple[str, ...]:
    """Return the given family, or all of them."""
    if family is None:
        return families()
    variants(family)
    return (family,)


def _value(text: str) -> Any:
    """Convert the value of a keyword argument: true, 4, 0.5, 8x32, or a word such as auto."""
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
    """Convert NAME=VALUE to keyword arguments; 1,2,4 and 1:16 are sweeps."""
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
                f"--set {shortened(word)}: {quoted(text)} is not a value; write a number, numbers "
                "as in 8x32, a word, or a sweep as in 1,2,4 or 1:16"
            ) from None
    return found


# ---- output -------------------------------------------------------------------------------


def note(text: str) -> str:
    """Wrap a text to the width of the terminal, and indent all lines but the first."""
    return textwrap.fill(text, text_width(), subsequent_indent="  ", break_on_hyphens=False)


def print_json(content: Any) -> None:
    """Print JSON."""
    print(json.dumps(content, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print a line on stderr; ignore that it cannot be written."""
    if sys.stderr is not None:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Redirect a broken stream to the null device, since the interpreter flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def show_progress(title: str) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal if rich is installed, else lines."""
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
    """Check in advance that a picture can be drawn and written to a file.

    No window is needed; the suffix of the name gives the format: png, svg, pdf.
    """
    check_target(file)
    try:
        import matplotlib
    except ImportError:
        raise UsageError(f"{what} needs matplotlib: {pip_install('plot')}") from None
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
