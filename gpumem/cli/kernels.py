"""Users' kernels on the command line: a file, a kernel, its grid and its arguments."""

from __future__ import annotations

import argparse
import glob
import os
import re
from typing import Any

import numpy as np

from .. import _core
from ..base.messages import quoted, shortened
from ..base.sizes import check_shape, parse_shape
from ..families.table import families
from ..modules.kernel import Kernel
from ..modules.launch import Launch
from ..modules.loading import load
from ..modules.module import Module
from .common import UsageError, complete_variants, completed

__all__ = [
    "LAUNCH_OPTIONS",
    "add_kernel",
    "add_launch",
    "add_source",
    "add_variant_or_kernel",
    "complete_families_and_sources",
    "complete_kernels",
    "complete_sources",
    "is_source",
    "kernel_of",
    "launch_of",
    "refuse_launch",
    "refuse_options",
]

_ARRAY = re.compile(r"(\w+)\[([^\]]*)\](?:=(.+))?", re.ASCII)
_ACCEPTED = (
    "write a number, true, false, null, or an array as in float32[1024], float32[64x64]=zeros, "
    "int32[100]=range or uint8[16]=7"
)
_KERNEL = re.compile(r"__global__[^;{}]*?(\w+)\s*\([^;{}]*\)\s*\{")
LAUNCH_OPTIONS = ("grid", "block", "arg", "shared_bytes", "cooperative", "define", "include")


def is_source(name: object) -> bool:
    """Whether what a command is given is a file with kernels, and not a family."""
    return isinstance(name, str) and name.endswith(".cu")


# ---- options ------------------------------------------------------------------------------


def add_kernel(one: Any) -> None:
    """Add the kernel, which may be left out if the file has only one."""
    text = "of FILE.cu; tile<float, 32> for a template (default: the only one)"
    name = one.add_argument("kernel", nargs="?", metavar="KERNEL", help=text)
    completed(name, complete_kernels)


def add_variant_or_kernel(one: Any) -> None:
    """Add the variant of a family, or the kernel of a file that may be left out."""
    text = "of a file a kernel, tile<float, 32> for a template (default: the only one)"
    variant = one.add_argument("variant", nargs="?", metavar="VARIANT|KERNEL", help=text)
    completed(variant, lambda **given: [*complete_variants(**given), *complete_kernels(**given)])


def add_source(one: Any) -> None:
    """Add the options by which a file is compiled."""
    one.add_argument(
        "-D", action="append", dest="define", metavar="NAME[=VALUE]", help="of FILE.cu: a macro"
    )
    one.add_argument(
        "-I", action="append", dest="include", metavar="DIR", help="of FILE.cu: look there as well"
    )


def add_launch(one: Any) -> None:
    """Add the options that say how a kernel is launched."""
    one.add_argument("--grid", metavar="N", help="of FILE.cu: blocks, 64 or 8x8")
    one.add_argument("--block", metavar="N", help="of FILE.cu: threads of a block, 256 or 32x8")
    one.add_argument(
        "--arg",
        action="append",
        metavar="VALUE",
        help="of FILE.cu, in order: 2.0, null, float32[65536] (random), float32[64x64]=zeros "
        "(or ones, range, empty, a number)",
    )
    one.add_argument("--shared-bytes", type=int, metavar="N", help="dynamic shared memory")
    one.add_argument("--cooperative", action="store_true", help="blocks may wait for each other")


def refuse_launch(command: str, options: argparse.Namespace) -> None:
    """Raise UsageError for options that only files with kernels take."""
    refuse_options(command, options, LAUNCH_OPTIONS, f"{options.family} is a family")
    if options.kernel is not None:
        option = "--variants" if command == "bench" else "--variant"
        raise UsageError(
            f"{command}: {shortened(options.kernel)} after {options.family}, which is a family; "
            f"{option} names one of its kernels"
        )


def refuse_options(
    command: str, options: argparse.Namespace, names: tuple[str, ...], why: str
) -> None:
    """Raise UsageError if one of the options is given."""
    shown = {"define": "-D", "include": "-I"}
    for name in names:
        if getattr(options, name, None) not in (None, False):
            option = shown.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(f"{command}: {option} makes no sense here: {why}")


# ---- kernels ------------------------------------------------------------------------------


def kernel_of(command: str, options: argparse.Namespace, backend: str | None) -> Kernel:
    """Load the file that a command is given, and return the kernel."""
    defines = {}
    for word in options.define or ():
        name, equals, value = word.partition("=")
        defines[name] = value if equals else "1"
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise UsageError(f"{command}: -D {shortened(name)}: expected NAME or NAME=VALUE")
    module = load(
        options.family,
        defines=defines,
        include_dirs=options.include or (),
        backend=backend,
    )
    try:
        return module[_name(command, module, options.kernel)]
    except KeyError as error:
        raise UsageError(f"{command}: {error.args[0]}") from None


def _name(command: str, module: Module, given: str | None) -> str:
    if given is not None:
        return given
    names = [*module.kernels, *(f"{name}<...>" for name in module.templates)]
    if len(names) != 1 or module.templates:
        raise UsageError(f"{command}: which kernel? {module.name} has {', '.join(names)}")
    return names[0]


def launch_of(
    command: str, options: argparse.Namespace, backend: str | None = "sim"
) -> tuple[Launch, list[Any]]:
    """Return the kernel of a command with its grid, and its arguments."""
    sizes = []
    for name in ("grid", "block"):
        given = getattr(options, name)
        if given is None:
            raise UsageError(f"{command}: needs --{name}, as in --{name} 64")
        try:
            sizes.append(parse_shape(given))
        except ValueError:
            raise UsageError(
                f"{command}: --{name} {shortened(given)}: expected 64 or 8x8"
            ) from None
    kernel = kernel_of(command, options, backend)
    place = kernel.module.backend
    args = [_argument(command, word, at, place) for at, word in enumerate(options.arg or ())]
    launch = kernel.launch(
        *sizes, shared_bytes=options.shared_bytes or 0, cooperative=options.cooperative
    )
    return launch, args


# ---- arguments ----------------------------------------------------------------------------


def _argument(command: str, word: str, number: int, backend: str) -> Any:
    """Return the argument that a word stands for."""
    named = {"true": True, "false": False, "null": None}
    if word in named:
        return named[word]
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            continue
    match = _ARRAY.fullmatch(word)
    if match is None:
        raise UsageError(f"{command}: --arg {shortened(word)}: {_ACCEPTED}")
    try:
        dtype = np.dtype(match[1])
        shape = parse_shape(match[2].replace(",", "x"))
        if dtype.kind not in "biuf":
            raise TypeError(match[1])
    except (TypeError, ValueError):
        raise UsageError(f"{command}: --arg {shortened(word)}: {_ACCEPTED}") from None
    try:
        check_shape(shape, dtype.itemsize)
        return _array(command, word, dtype, shape, match[3] or "random", number, backend)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"{command}: --arg {shortened(word)}: {error}") from None


def _array(
    command: str,
    word: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    fill: str,
    number: int,
    backend: str,
) -> Any:
    """Return an array; random ones are the same in every run."""
    if fill == "empty":  # no kernel and no copy has written it
        return _core.DeviceArray(shape, dtype, backend=backend)
    if fill == "random":
        random = np.random.default_rng(number)
        if dtype.kind == "f":
            return random.uniform(-1, 1, shape).astype(dtype)
        return random.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    if fill == "range":
        return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
    try:
        value = {"zeros": 0, "ones": 1}.get(fill)
        with np.errstate(over="raise"):
            one = dtype.type(fill) if value is None else dtype.type(value)
    except (ValueError, ArithmeticError):
        raise UsageError(
            f"{command}: --arg {shortened(word)}: {quoted(fill)} is no value of {dtype}; write "
            "zeros, ones, range, random, empty or a number"
        ) from None
    return np.full(shape, one, dtype)


# ---- completion ---------------------------------------------------------------------------


def complete_sources(prefix: str, **_: Any) -> list[str]:
    """Return files with kernels and the folders on the way, for argcomplete."""
    found = [one + "/" for one in glob.glob(f"{glob.escape(prefix)}*") if os.path.isdir(one)]
    return [*glob.glob(f"{glob.escape(prefix)}*.cu"), *found]


def complete_families_and_sources(prefix: str, **_: Any) -> list[str]:
    """Return families and files with kernels, for argcomplete."""
    return [*families(), *glob.glob(f"{glob.escape(prefix)}*.cu")]


def complete_kernels(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the kernels of the file given, for argcomplete, without compiling it."""
    name = getattr(parsed_args, "family", None)
    if not is_source(name):
        return []
    try:
        with open(str(name), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    return _KERNEL.findall(re.sub(r"__launch_bounds__\s*\([^)]*\)", "", text))
