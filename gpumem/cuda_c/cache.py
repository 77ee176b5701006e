"""The cache of compiled modules: a folder that is the user's alone, of limited size.

An entry is compiled code (a shared object for the simulator, or machine code of a GPU) and a
manifest with the same name. The manifest says which files the code was made from, so that a later
load need not run the compiler to know that it fits. Files appear by renaming, so that several
processes can use the folder at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..base.sizes import parse_sizes
from .declarations import Parameter
from .errors import CompileError

__all__ = ["Compiled", "cached", "folder", "keep", "put", "remove_all", "stamp", "usage"]

_FORMAT = 1  # of manifests
_LIMIT = "512M"
_CODE = (".so", ".cubin")

Extents = tuple[list[tuple[int, int, str]], ...]


@dataclass(frozen=True)
class Compiled:
    """A compiled module, and what its source says about it."""

    path: Path
    parameters: dict[str, list[Parameter]]  # of kernels, and of templates of kernels
    templates: list[str]
    declared: list[str]  # device variables
    extents: Extents


def folder() -> Path:
    """Return the folder: GPUMEM_CACHE_DIR, or one in the user's cache; make it if need be.

    Raises
    ------
    CompileError
        If it cannot be made, belongs to somebody else, or others may write to it: they could have
        code run. If GPUMEM_CACHE_LIMIT is no size.
    """
    limit()  # if it is wrong, say so before anything is compiled
    if chosen := os.environ.get("GPUMEM_CACHE_DIR"):
        path = Path(chosen, "modules")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        path = Path(base, "gpumem", "modules")
    with _writing(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise CompileError(
            f"{path} is no place for compiled code: it should belong to you, and nobody else "
            f"should be able to write to it (chmod 700); GPUMEM_CACHE_DIR chooses another"
        )
    return path


@contextlib.contextmanager
def _writing(at: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CompileError(
            f"cannot write to {at}, the cache of compiled kernels: {error.strerror}; "
            "GPUMEM_CACHE_DIR chooses another folder"
        ) from error


def stamp(path: str | os.PathLike[str]) -> list[Any] | None:
    """Return what changes when a file does: [size, time of change]; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def cached(at: Path, key: str) -> Compiled | None:
    """Return the entry of a key, if the files that it was made from are as they were."""
    manifest = at / f"{key}.json"
    try:
        entry = json.loads(manifest.read_bytes())
        if entry["format"] != _FORMAT or any(stamp(p) != s for p, s in entry["files"].items()):
            return None
        compiled = Compiled(
            at / entry["object"],
            {
                name: [Parameter(**one) for one in parameters]
                for name, parameters in entry["parameters"].items()
            },
            entry["templates"],
            entry["declared"],
            tuple([(int(o), int(b), str(n)) for o, b, n in each] for each in entry["extents"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not compiled.path.exists():
        return None
    with contextlib.suppress(OSError):  # the folder may be read-only
        os.utime(compiled.path)  # used last
    return compiled


def put(file: Path, made: Path) -> None:
    """Copy a file into the folder, where it appears whole; it may be on another file system."""
    with _writing(made.parent):
        handle, beside = tempfile.mkstemp(dir=made.parent, suffix=".part")
        os.close(handle)
        shutil.copyfile(file, beside)
        os.replace(beside, made)


def keep(at: Path, key: str, compiled: Compiled, files: Iterable[str]) -> None:
    """Write the manifest of an entry; remove the entries that were used longest ago."""
    entry = {
        "format": _FORMAT,
        "files": {file: stamp(file) for file in files},
        "object": compiled.path.name,
        "parameters": {
            name: [asdict(one) for one in parameters]
            for name, parameters in compiled.parameters.items()
        },
        "templates": compiled.templates,
        "declared": compiled.declared,
        "extents": compiled.extents,
    }
    with _writing(at):
        handle, beside = tempfile.mkstemp(dir=at, suffix=".part")
        with os.fdopen(handle, "w") as file:
            json.dump(entry, file)
        os.replace(beside, at / f"{key}.json")
    _trim(at, keeping=compiled.path)


def usage(at: Path) -> tuple[int, int]:
    """Return how many compiled modules there are, and the bytes that all files take."""
    files = [one.stat().st_size for one in at.iterdir() if one.is_file()]
    return sum(one.suffix in _CODE for one in at.iterdir()), sum(files)


def remove_all(at: Path) -> None:
    """Empty the folder. Modules that are loaded go on to work."""
    for one in at.iterdir():
        one.unlink(missing_ok=True)


def limit() -> int:
    """Return how many bytes the folder may take: GPUMEM_CACHE_LIMIT, or 512 MiB.

    Raises
    ------
    CompileError
        If the variable is no size.
    """
    text = os.environ.get("GPUMEM_CACHE_LIMIT") or _LIMIT
    with contextlib.suppress(ValueError):
        sizes = parse_sizes(text)
        if len(sizes) == 1:
            return sizes[0]
    raise CompileError(f"GPUMEM_CACHE_LIMIT is {text!r}; it should be a size such as 512M or 2G")


def _trim(at: Path, keeping: Path) -> None:
    found = []
    for one in at.iterdir():
        try:
            status = one.stat()
        except OSError:  # removed by another process
            continue
        found.append((status.st_mtime_ns, status.st_size, one))
    excess = sum(size for _, size, _ in found) - limit()
    for _, size, one in sorted(found):
        if excess <= 0:
            return
        if one != keeping and one.suffix in _CODE:
            one.unlink(missing_ok=True)
            excess -= size
