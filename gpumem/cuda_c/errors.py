"""What is wrong with a source."""

from __future__ import annotations

__all__ = ["CompileError"]


class CompileError(ValueError):
    """A source that does not compile, or that uses what the simulator does not have."""
