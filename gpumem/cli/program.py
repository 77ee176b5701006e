"""The program: its commands, and how errors become exit statuses."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

import numpy as np

from .. import _core
from ..base.messages import quoted
from ..base.version import __version__
from ..base.wall_clock import FAMILIES as WALL_CLOCK_FAMILIES
from ..cuda_c.errors import CompileError
from ..families.table import variants
from . import (
    attributes,
    bench,
    bench_distributed,
    cache,
    check,
    compare,
    doctor,
    explain,
    info,
    listing,
    plot,
    sass,
    traffic,
    verify,
)
from .common import Commands, Parser, UsageError, give_up, say
from .kernels import is_source

_COMMANDS = (
    info,
    doctor,
    listing,
    verify,
    bench,
    traffic,
    explain,
    sass,
    attributes,
    compare,
    plot,
    check,
    cache,
)

INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
BROKEN_PIPE = 141  # as of a program that SIGPIPE ends: 128 and the signal's number


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="gpumem", description="A laboratory for GPU memory.")
    parser.add_argument("--version", action="version", version=f"gpumem {__version__}")
    commands = Commands(parser)
    for one in _COMMANDS:
        one.add_to(commands)
    return parser


def _complete(parser: Parser) -> None:
    """Answer a shell that asks for completions, and exit; otherwise do nothing."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    _complete(parser)
    options = parser.parse_args(arguments)
    family = getattr(options, "family", None)
    others = (*WALL_CLOCK_FAMILIES, bench_distributed.NAME)
    no_family = family is None or (options.run is bench.run and family in others)
    if not (no_family or is_source(family) or options.run is check.run):
        variants(family)
    if getattr(options, "dtype", None) is not None:
        try:
            np.dtype(options.dtype)
        except (TypeError, ValueError, SyntaxError):
            raise UsageError(f"--dtype: {quoted(options.dtype)} is not a NumPy dtype") from None
    status: int = options.run(options)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default, those of the process.

    Returns
    -------
    int
        0 on success; 1 if a kernel is wrong or slower than before, or a device failed; 2 if the
        command is wrong, asks for something unavailable, or cannot write its output; 70 after an
        error in gpumem itself, whose traceback is printed; 130 after Ctrl-C; 141 if the reader of
        its output closed the pipe.
    """
    lost: OSError | None = None
    status = 2
    try:
        status = _guarded(arguments)
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        lost = error
    lost = _end_output() or lost
    if lost is None:
        return status
    if lost.errno == errno.EPIPE:
        return BROKEN_PIPE
    return _complain(f"cannot write to stdout: {lost.strerror}", 2)


def _guarded(arguments: Sequence[str] | None) -> int:
    """Run a command, print its errors and return its status; raise OSError if stdout failed."""
    if sys.stdout is None:
        return _complain("cannot write to stdout: it is closed", 2)
    try:
        return _run(arguments)
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    except (_core.CudaError, _core.SimulationError, MemoryError) as error:
        return _complain(error, 1)
    except OSError as error:
        if error.filename is None:  # files have a name, stdout has none
            raise
        return _complain(f"{error.filename}: {error.strerror}", 2)
    except CompileError as error:  # whose lines are the compiler's
        say(f"gpumem: {error}")
        return 2
    except (UsageError, _core.UnavailableError, ValueError, TypeError, ImportError) as error:
        return _complain(error, 2)
    except Exception:  # Python would exit with 1, which stands for a finding
        say(traceback.format_exc().rstrip())
        return INTERNAL_ERROR


def _end_output() -> OSError | None:
    """Flush stdout; if that fails, redirect it and return the error."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except OSError as error:
        give_up(sys.stdout)
        return error
    return None


def _complain(error: Exception | str, status: int) -> int:
    line = " ".join(str(error).split()) or type(error).__name__
    say(f"gpumem: {line}")
    return status
