"""The feature table: which kernel shows which feature, with inputs and expected results."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import features_arithmetic
import features_language
import features_memory
import features_warps
from kernel_cases import Case

FOLDER = Path(__file__).resolve().parent

CASES: list[Case] = [
    *features_memory.CASES,
    *features_warps.CASES,
    *features_arithmetic.CASES,
    *features_language.CASES,
]


class Refused(NamedTuple):
    """A file that does not compile for the simulator, and the words that its error must have."""

    file: str
    words: str


REFUSED = [Refused("wmma.cu", "mma"), Refused("inline_ptx.cu", "asm")]

# Their arguments are objects that only the host can make.
NO_ARGUMENTS = {"textures.cu", "surfaces.cu"}

# What the simulator does not do yet: a file, "file:kernel", or "file:kernel plain" or "... traced".
MISSING: dict[str, str] = {}
