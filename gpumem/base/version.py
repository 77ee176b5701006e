"""The version of gpumem and the name that pip knows, in the one place where they are written."""

__version__ = "0.1.0"
DISTRIBUTION = "gpumem-lab"  # on PyPI "gpumem" is another tool


def pip_install(extra: str) -> str:
    """Return the command that installs an optional dependency of gpumem."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
