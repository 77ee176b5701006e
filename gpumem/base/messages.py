"""How messages quote what a caller gave, and which known name is nearest to a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST = 80  # characters of a quoted value


def shortened(text: str, most: int = MOST) -> str:
    """Return a text cut to `most` characters, the last of them an ellipsis if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: Any) -> str:
    """Return the repr of a value, shortened."""
    if isinstance(value, str | bytes):
        value = value[: MOST + 1]  # its repr is no shorter
    return shortened(repr(value))


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that is most like this one, None if none is similar."""
    import difflib

    if not isinstance(name, str):
        return None
    return next(iter(difflib.get_close_matches(name[:MOST], list(known), 1)), None)


def unknown(
    before: str, name: Any, known: Iterable[str], between: str = ", expected one of"
) -> str:
    """Return the error message for an unknown name, with the accepted ones.

    The extension module calls it as well.

    Parameters
    ----------
    before : str
        The words before the name, such as "kind is".
    name : object
        What was given.
    known : iterable of str
        What would have been accepted.
    between : str
        The words between the name and the accepted ones.
    """
    known = list(known)
    near = nearest(name, known)
    listed = ", ".join(known) or "none"
    message = f"{before} {quoted(name)}{between}: {listed}"
    return message if near is None else f"{message}. Did you mean {near!r}?"
