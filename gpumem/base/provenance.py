"""What a provenance says in words."""

from __future__ import annotations

from typing import Any

_DATE, _COMMIT = 10, 10  # characters that are shown


def origin(provenance: dict[str, Any]) -> str:
    """Return where measurements come from, in words: device, date, commit."""
    sources = list((provenance.get("sources") or {}).values()) or [provenance]
    words = []
    for key, most in (("device", None), ("date", _DATE), ("commit", _COMMIT)):
        values = [one.get(key) or "" for one in sources]
        names = [value.get("name", "") if isinstance(value, dict) else value for value in values]
        found = [name for name in dict.fromkeys(str(name)[:most] for name in names) if name]
        if found:
            plural = "commits" if len(found) > 1 else "commit"
            words.append(f"{plural} {', '.join(found)}" if key == "commit" else " and ".join(found))
    if not any(one.get("device") for one in sources):
        words.insert(0, "no device")
    return ", ".join(words)
