"""What the CUDA toolkit's disassembler prints for a kernel, and which memory instructions use."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .. import _core
from ..machine import libraries

__all__ = ["MEMORY", "Instruction", "disassemble", "missing_tools", "parse", "rank"]

_TOOLS = ("cuobjdump", "nvdisasm")  # the first calls the second
_SECONDS = 120  # a disassembler's time limit

# By the first part of the opcode: which memory, and in which direction.
MEMORY = {
    "LDG": "global load",
    "LD": "generic load",
    "STG": "global store",
    "ST": "generic store",
    "ATOM": "generic atomic",
    "ATOMG": "global atomic",
    "RED": "global atomic",
    "REDG": "global atomic",
    "CCTL": "cache control",
    "TEX": "texture load",
    "TLD": "texture load",
    "TLD4": "texture load",
    "TXD": "texture load",
    "SULD": "surface load",
    "SUST": "surface store",
    "LDS": "shared load",
    "LDSM": "shared load",
    "STS": "shared store",
    "STSM": "shared store",
    "ATOMS": "shared atomic",
    "LDL": "local load",
    "STL": "local store",
    "LDC": "constant load",
    "ULDC": "constant load",
    "LDCU": "constant load",
    "LDGSTS": "asynchronous copy, global to shared",
    "LDGDEPBAR": "asynchronous copies: one group ends",
    "DEPBAR": "wait for groups of asynchronous copies",
    "UBLKCP": "bulk copy engine",
    "UBLKPF": "bulk prefetch into the L2",
    "UBLKRED": "bulk copy engine, adding",
    "UTMALDG": "tensor copy engine, load",
    "UTMASTG": "tensor copy engine, store",
    "UTMAREDG": "tensor copy engine, adding",
    "UTMAPF": "tensor prefetch into the L2",
    "SYNCS": "barrier in shared memory",
}

_ARCH = r"^\s*code for sm_(\w+)"
_FUNCTION = r"^\s*Function : (\S+)"
_LINE = (
    r"^\s*/\*([0-9a-f]{4,})\*/\s+\{?\s*"  # address
    r"((?:@!?U?P\w+\s+)?"  # predicate
    r"([A-Z][\w.]*)[^;]*?)\s*;"  # opcode and operands
)


class Instruction(NamedTuple):
    """One instruction of machine code.

    Attributes
    ----------
    address : int
        In bytes from the start of the kernel.
    opcode : str
        With all its modifiers: "LDG.E.128".
    text : str
        The whole instruction, with predicate and operands.
    memory : str or None
        Which memory it uses and how, such as "global load"; None if it uses none or is never
        executed.
    """

    address: int
    opcode: str
    text: str
    memory: str | None


def _instruction(match: re.Match[str]) -> Instruction:
    text = " ".join(match[2].split())
    # A predicate that is never true: padding between instructions.
    never = text.startswith(("@!PT ", "@!UPT "))
    memory = None if never else MEMORY.get(match[3].split(".")[0])
    return Instruction(int(match[1], 16), match[3], text, memory)


def rank(opcode: str) -> tuple[int, str]:
    """Return the place of a memory instruction in listings."""
    return list(MEMORY).index(opcode.split(".")[0]), opcode


def parse(text: str, kernel: str) -> dict[str, list[Instruction]]:
    """Return the instructions of a kernel by architecture, from the output of cuobjdump."""
    found: dict[str, list[Instruction]] = {}
    arch = listed = None
    for line in text.splitlines():
        if match := re.match(_ARCH, line):
            arch, listed = match[1], None
        elif match := re.match(_FUNCTION, line):
            listed = None
            if match[1] == kernel and arch is not None:
                listed = found.setdefault(arch, [])
        elif listed is not None and (match := re.match(_LINE, line)):
            listed.append(_instruction(match))
    return found


def missing_tools() -> str | None:
    """Return which disassemblers are not found, and where they can be had; None if all are."""
    missing = [name for name in _TOOLS if libraries.program(name) is None]
    if not missing:
        return None
    packages = " and ".join(f"nvidia-cuda-{name}" for name in missing)
    return (
        f"{' and '.join(missing)} not found on PATH, under CUDA_HOME or /usr/local/cuda, or "
        f"among the packages; the CUDA toolkit has them, and so have {packages}"
    )


def disassemble(kernel: str, file: str | os.PathLike[str] = str(_core.__file__)) -> str:
    """Return what cuobjdump prints for one kernel of a file: by default, the extension module."""
    import subprocess

    if missing := missing_tools():
        raise _core.UnavailableError(missing)
    tools = {name: libraries.program(name) for name in _TOOLS}
    command = [str(tools["cuobjdump"]), "-sass", "-fun", kernel, os.fspath(file)]
    folders = [os.path.dirname(str(path)) for path in tools.values()]
    path = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "PATH": path, "LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _core.UnavailableError(f"{tools['cuobjdump']} does not run: {error}") from None
    if "Function :" not in done.stdout:
        # It warns for every other object file in the module that the kernel is not in it.
        said = [line for line in done.stderr.splitlines() if "not found" not in line]
        why = said[0] if said else "it finds no such kernel"
        raise _core.UnavailableError(f"{tools['cuobjdump']} does not show {kernel}: {why}")
    return done.stdout
