"""Checks of faulty probes: what the error says, and at which place."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PROBES = Path(__file__).resolve().parent.parent / "probes"
FAULTY = ("fault", "race", "unwritten", "meeting", "pipeline", "survival", "too_early")
CORRECT = (
    "pattern",
    "barrier",
    "order",
    "written",
    "pipelined",
    "bank",
    "constant",
    "speed",
    "early",
)


def names(probes, family):
    (table,) = [f for f in probes.families() if f["name"] == family]
    return [v["name"] for v in table["variants"]]


def line_of(family, variant, text):
    """Return the number of the line of a probe that holds the text; for text#2, of the second."""
    text, _, nth = text.partition("#")
    lines = (PROBES / family / f"{variant}.cu").read_text().splitlines()
    found = [i for i, line in enumerate(lines, 1) if text in line]
    assert nth or len(found) == 1, (variant, text, found)
    return found[int(nth or 1) - 1]


def faults(
    probes,
    family,
    variant,
    where,
    thread,
    message,
    *,
    block=(0, 0, 0),
    n=256,
    offset=0,
    stride=4,
    plain=False,
):
    """Run a probe, and check the error's kernel, line, block, thread and message.

    In `message`, ``<text>`` stands for the file and the number of the line that holds the text.
    """

    def place(match):
        return re.escape(f"{family}/{variant}.cu:{line_of(family, variant, match[1])}") + r"\b"

    a = np.ones(n, np.float32)
    with pytest.raises(probes.SimulationError, match=re.sub("<(.*?)>", place, message)) as caught:
        if plain:
            probes.call(family, variant, (a,), None, None, None, (offset, stride))
        else:
            probes.traffic(family, variant, (a,), (offset, stride))
    error = caught.value
    assert error.kernel == f"{family}_{variant}"
    assert error.file == f"tests/probes/{family}/{variant}.cu"
    assert error.line == line_of(family, variant, where)
    assert (error.block, error.thread) == (block, thread)
    assert f"block {block}, thread {thread}: " in str(error)
