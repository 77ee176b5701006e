"""The text behind the files and lines that findings name."""

from __future__ import annotations

import os
from pathlib import Path

from ..cuda_c.compile import Source

__all__ = ["Sources"]


class Sources:
    """The files of a module: its own source, and what that includes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._read: dict[str, list[str]] = {}

    def name(self, file: str) -> str:
        """Return a file as its user names it: the module's by its name, others by their path."""
        own = self._source.name
        # The compiler gives names relative to the source's folder.
        if file in (own, os.path.basename(own)):
            return own
        found = self._find(file)
        if found is None:
            return file
        here = Path.cwd()
        return os.fspath(found.relative_to(here) if found.is_relative_to(here) else found)

    def line(self, name: str, number: int) -> str | None:
        """Return a line of a file that :meth:`name` has named; None if it is not there."""
        if name not in self._read:
            self._read[name] = self._lines(name)
        lines = self._read[name]
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _lines(self, name: str) -> list[str]:
        if name == self._source.name:
            return self._source.text.splitlines()
        try:
            return Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _find(self, file: str) -> Path | None:
        folders = (self._source.folder, *map(Path, self._source.include_dirs))
        tried = (Path(os.path.normpath(folder / file)) for folder in folders)
        return next((path for path in tried if path.is_file()), None)
