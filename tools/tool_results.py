"""Writes what a tool has measured, as gpumem/results/tools has it: a line per figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpumem.base import files
from gpumem.machine.device import Device
from gpumem.machine.provenance import provenance


def to_json(record: dict[str, Any]) -> str:
    """Return a dict as JSON, with each value on a line; of lists of dicts, each dict."""
    parts = []
    for name, value in record.items():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            lines = ",\n".join(f"  {json.dumps(one, allow_nan=False)}" for one in value)
            text = f"[\n{lines}\n ]"
        else:
            text = json.dumps(value, allow_nan=False)
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(path: Path, device: Device, record: dict[str, Any]) -> None:
    """Write a record to a file, after where it comes from."""
    files.write(path, to_json({"provenance": provenance(device), **record}))
