"""Atomic writes: a reader finds the old content of a file or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys

from .messages import quoted

_OPEN_FILE = re.compile(r"/dev/(stdin|stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)", re.ASCII)
_NO_RENAME = (errno.EBUSY, errno.EXDEV)  # a file that is a mount point cannot be replaced


def write(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file atomically.

    The data go to a new file in the same folder, which replaces the old one once they are on the
    disk. It keeps the old one's permissions; a symbolic link still points to it. Anything but a
    regular file, such as a pipe or /dev/stdout, is written to directly.

    Parameters
    ----------
    path : str or path
        The file.
    data : bytes or str
        Its content; text is encoded in UTF-8.

    Raises
    ------
    OSError
        If it cannot be written; the exception names the file, which is unchanged.
    """
    name = os.fsdecode(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        _write(name, content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, name) from None


def check_path(name: str, path: object) -> None:
    """Raise TypeError or ValueError, which name the argument, unless it can be a path.

    Python would take an int for an open file.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{name} must be a path, not {quoted(path)}")
    try:
        null = b"\0" in os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"{name} is {quoted(path)}, which no file can be called") from None
    if null:
        raise ValueError(f"{name} is {quoted(path)}, which holds a null character")


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise OSError if a file cannot be written, before the work whose result it will hold.

    Raises
    ------
    FileNotFoundError, NotADirectoryError, IsADirectoryError
        If its folder is missing or not a folder, or the path itself is a folder.
    PermissionError
        If the file is read-only; for a new file, if its folder is.
    """
    name = os.fsdecode(path)
    folder = os.path.dirname(os.path.abspath(name))
    if not os.path.exists(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", name)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder", name)
    if os.path.isdir(name) or not os.path.basename(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.access(name if os.path.exists(name) else folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def _write(name: str, content: bytes) -> None:
    if match := _OPEN_FILE.fullmatch(name):
        _write_open_file(match, content)
        return
    try:
        old: os.stat_result | None = os.stat(name)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        _write_directly(name, content)
        return
    target = os.path.realpath(name)
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        _replace(target, content, old)
    except PermissionError:
        if old is None:  # otherwise only the folder is read-only, and the file can be written
            raise
        _write_directly(target, content)
    except OSError as error:
        if old is None or error.errno not in _NO_RENAME:
            raise
        _write_directly(target, content)


def _replace(target: str, content: bytes, old: os.stat_result | None) -> None:
    folder, base = os.path.split(target)
    beside = os.path.join(folder, f".{base[:32]}.{os.urandom(4).hex()}.tmp")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(file, "wb") as stream:
            if old is not None:
                with contextlib.suppress(OSError):  # another user's file becomes the writer's
                    os.fchown(stream.fileno(), old.st_uid, old.st_gid)
                os.fchmod(stream.fileno(), stat.S_IMODE(old.st_mode))
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _write_directly(name: str, content: bytes) -> None:
    with open(name, "wb", buffering=0) as stream:
        _write_all(stream.fileno(), content)


def _write_open_file(match: re.Match[str], content: bytes) -> None:
    """Append to the process's own output; opening it again would start over at its beginning."""
    number = match[2] or match[3] or {"stdin": 0, "stdout": 1, "stderr": 2}[match[1]]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    _write_all(int(number), content)


def _write_all(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
