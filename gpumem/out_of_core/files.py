"""The arrays of a call: opened, checked, and complete or marked as incomplete."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.format import open_memmap

from ..base.files import check_path, check_target
from ..base.files import write as write_file
from ..base.messages import quoted
from .errors import IncompleteError
from .mapped import Array, Mapped, find_map

Path: TypeAlias = str | os.PathLike[str]

_MARKER = ".incomplete"
_PARTIAL = ".partial"
_FLUSHED = 2**27  # bytes of a step
_MOST_WORK = 10**6  # to find out whether two layouts share an element


@dataclass(frozen=True)
class Opened:
    """An array that is read or written, and its file's map if it has one."""

    array: Array
    mapped: Mapped | None

    @staticmethod
    def of(array: Array) -> Opened:
        """Look for the map."""
        return Opened(np.asarray(array), find_map(array))


def _is_path(one: Any) -> bool:
    return isinstance(one, str | os.PathLike)


def _npy(name: str, path: Any) -> str:
    check_path(name, path)
    text = os.fsdecode(path)
    if not text.endswith(".npy"):
        raise ValueError(
            f"{name} is {quoted(text)}, expected a path that ends in .npy; map other files "
            "with numpy.memmap"
        )
    return text


def _mapped_npy(name: str, path: str) -> Array:
    try:
        found: Array = open_memmap(path, "r")
    except ValueError as error:
        kind = TypeError if "Python objects" in str(error) else ValueError  # as of an ndarray
        raise kind(
            f"{name} is {quoted(path)}, which cannot be read as an .npy file: {error}"
        ) from None
    return found


def _checked(name: str, a: Any) -> Array:
    if isinstance(a, np.ma.MaskedArray) or not isinstance(a, np.ndarray):
        raise TypeError(
            f"{name} must be a numpy.memmap, an ndarray or the path of an .npy file, "
            f"not {quoted(type(a).__name__)}"
        )
    if a.dtype.hasobject:
        raise TypeError(f"{name} has dtype {a.dtype}, which refers to Python objects")
    return a


def open_source(name: str, a: Any) -> Opened:
    """Return an input.

    Raises
    ------
    TypeError
        If it is neither an array nor a path, or holds Python objects.
    ValueError
        If the file is no complete .npy file.
    IncompleteError
        If a call that wrote the file was interrupted.
    OSError
        If the file cannot be opened.
    """
    if _is_path(a):
        a = _mapped_npy(name, _npy(name, a))
    opened = Opened.of(_checked(name, a))
    file = opened.mapped.file if opened.mapped else None
    if file is not None and os.path.exists(file + _MARKER):
        raise IncompleteError(
            f"{name} is in {file}, which is incomplete: a call that wrote it was interrupted. "
            f"Write it again, or remove {file + _MARKER}"
        )
    return opened


# ---- the result ---------------------------------------------------------------------------------


class Target:
    """Where a result goes. Its file is complete once the ``with`` block of `writing` is left."""

    def __init__(self, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._path, self._out = None, out
        if _is_path(out):
            self._path = os.path.realpath(_npy("out", out))
            check_target(self._path)
            return
        self.opened = Opened.of(_checked("out", out))
        self._check(out)

    def _check(self, out: Array) -> None:
        if out.dtype != self._dtype:
            raise TypeError(f"out has dtype {out.dtype}, expected {self._dtype}")
        if out.shape != self._shape:
            raise ValueError(f"out has shape {out.shape}, expected {self._shape}")
        if self.opened.mapped is not None and self.opened.mapped.root.mode == "c":
            raise ValueError(
                'out is mapped with mode "c": what is written would not reach its file'
            )
        if not out.flags.writeable:
            raise ValueError('out is read-only; map a file with mode "r+" or "w+"')
        if out.size and any(s == 0 and n > 1 for s, n in zip(out.strides, out.shape, strict=True)):
            raise ValueError(f"out has strides {out.strides}: its elements share memory")

    def check_apart(self, name: str, source: Opened) -> None:
        """Raise ValueError if the result would overwrite an input."""
        mine = source.mapped
        if self._path is not None:
            if mine is not None and mine.file == self._path:
                raise ValueError(f"out is the file of {name}")
            return
        if _overlap(self.opened.array, source.array):
            raise ValueError(f"out overlaps {name}")
        other = self.opened.mapped
        if mine is None or other is None or mine.memory is other.memory:
            return
        if mine.file is None or other.file is None:
            return
        if not (self.opened.array.size and source.array.size) or not _same(mine.file, other.file):
            return
        (begin, end), (low, high) = mine.extent(), other.extent()
        if begin < high and low < end:
            raise ValueError(f"out and {name} overlap in {other.file}")

    @contextlib.contextmanager
    def writing(self, call: str) -> Iterator[Opened]:
        """Yield the array to write to."""
        block = self._beside() if self._path is not None else self._marked(call)
        with block as opened:
            yield opened

    def result(self) -> Array:
        """Return the complete array."""
        found: Array = self._out
        if self._path is not None:
            found = np.load(self._path, mmap_mode="r+")
        return found

    # ---- a path: the file is written beside it and renamed ---------------------------------------

    @contextlib.contextmanager
    def _beside(self) -> Iterator[Opened]:
        assert self._path is not None
        partial = self._path + _PARTIAL
        try:
            created = open_memmap(partial, "w+", dtype=self._dtype, shape=self._shape)
            if created.size:
                _reserve(partial, created.offset, created.nbytes)
            opened = Opened.of(created)
            yield opened
            _flush(opened.mapped)
            if os.path.exists(self._path):
                shutil.copymode(self._path, partial)
            os.replace(partial, self._path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path + _MARKER)  # of the file that this one replaces
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise

    # ---- an array: a marker beside its file ------------------------------------------------------

    @contextlib.contextmanager
    def _marked(self, call: str) -> Iterator[Opened]:
        mapped = self.opened.mapped
        if mapped is None or mapped.file is None or not self.opened.array.size:
            yield self.opened
            return
        marker, text = mapped.file + _MARKER, self._described(mapped, call)
        _check_marker(marker, text)
        begin, end = mapped.extent()
        if os.path.getsize(mapped.file) < end:
            raise ValueError(f"out is mapped from {mapped.file}, which has become shorter")
        _reserve(mapped.file, begin, end - begin)
        write_file(marker, json.dumps(text, indent=1))
        yield self.opened
        _flush(mapped)
        os.unlink(marker)

    def _described(self, mapped: Mapped, call: str) -> dict[str, Any]:
        array = self.opened.array
        return {
            "incomplete": os.path.basename(mapped.file or ""),
            "call": call,
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "strides": list(array.strides),
            "extent": list(mapped.extent()),
        }


def _flush(mapped: Mapped | None) -> None:
    """Wait until all is on the disk, in steps between which Ctrl-C ends it."""
    if mapped is not None:
        for begin in range(0, len(mapped.memory), _FLUSHED):
            mapped.memory.flush(begin, min(_FLUSHED, len(mapped.memory) - begin))


def _overlap(one: Array, other: Array) -> bool:
    try:
        # NumPy's stub allows its two special values alone.
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _check_marker(marker: str, text: dict[str, Any]) -> None:
    """Refuse a file of which another part is incomplete: success here would hide that."""
    try:
        with open(marker, encoding="utf-8") as file:
            found = json.load(file)
        places = [{k: one[k] for k in ("shape", "strides", "extent")} for one in (found, text)]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        places = [{}, text]
    if places[0] != places[1]:
        raise IncompleteError(
            f"another part of out's file is incomplete, as {marker} says; write that part again "
            "first, or remove the marker"
        )


def _reserve(name: str, begin: int, count: int) -> None:
    """Reserve the blocks of a file.

    A full disk is an error here. Later it would end the process, which writes through a map.
    """
    file = os.open(name, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.posix_fallocate(file, begin, count)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, name) from None
    finally:
        os.close(file)
