"""The text behind the files and lines that findings name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..cuda_c.compile import Source

__all__ = ["Sources"]


class Sources:
    """The files of a module: its own source, and what that includes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._read: dict[str, list[str]] = {}

    def name(self, file: str | None = None) -> str:
        """Return a file's name, by default the source's: relative to the current folder if below.

        The compiler names files relative to the source's folder.
        """
        own = self._source.name
        if file in (None, own, os.path.basename(own)):
            return _relative(Path(own)) if os.path.isabs(own) else own
        assert file is not None
        found = self._find(file)
        return file if found is None else _relative(found)

    def line(self, name: str, number: int) -> str | None:
        """Return a line of a file that :meth:`name` has named; None if it is not there."""
        if name not in self._read:
            self._read[name] = self._lines(name)
        lines = self._read[name]
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _lines(self, name: str) -> list[str]:
        if name == self.name():
            return self._source.text.splitlines()
        try:
            return Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _find(self, file: str) -> Path | None:
        folders = (self._source.folder, *map(Path, self._source.include_dirs))
        tried = (Path(os.path.normpath(folder / file)) for folder in folders)
        return next((path for path in tried if path.is_file()), None)


def _relative(path: Path) -> str:
    here = Path.cwd()
    return os.fspath(path.relative_to(here) if path.is_relative_to(here) else path)
