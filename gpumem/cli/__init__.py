# PYTHON_ARGCOMPLETE_OK
"""The command line: ``python -m gpumem``, also installed as ``gpumem``. One file per command."""

from .program import build_parser, main

__all__ = ["build_parser", "main"]
