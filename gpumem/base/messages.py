"""How messages quote what a caller gave, and which known name is nearest to a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST = 80  # characters of a quoted value


def shortened(text: str, most: int = MOST) -> str:
    """Return a text of at most so many characters, the last an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: Any) -> str:
    """Return the repr of a value, shortened."""
    if isinstance(value, str | bytes):
        value = value[: MOST + 1]  # its repr is no shorter
    return shortened(repr(value))


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that is most like this one, None if none is."""
    import difflib

    if not isinstance(name, str):
        return None
    return next(iter(difflib.get_close_matches(name[:MOST], list(known), 1)), None)


def unknown(says: str, name: Any, known: Iterable[str], are: str = ", expected one of") -> str:
    """Return the message for a name that is not among those known.

    The extension module calls it as well.

    Parameters
    ----------
    says : str
        What stands before the name, such as "kind is".
    name : object
        What was given.
    known : iterable of str
        What would have been accepted.
    are : str
        What stands between the name and those.
    """
    known = list(known)
    near = nearest(name, known)
    listed = ", ".join(known) or "none"
    told = f"{says} {quoted(name)}{are}: {listed}"
    return told if near is None else f"{told}. Did you mean {near!r}?"
