"""The error of files that are half written."""

from __future__ import annotations


class IncompleteError(ValueError):
    """A file is not complete: the call that wrote it was interrupted."""
