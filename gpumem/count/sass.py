"""What the compiler made of a kernel: the memory instructions of its machine code."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from .. import _core
from ..base.messages import quoted
from ..base.sizes import format_table
from ..families.table import Variant, find, resolve
from ..machine import libraries

__all__ = ["Instruction", "Sass", "sass"]

_TOOLS = ("cuobjdump", "nvdisasm")  # the first calls the second
_SECONDS = 120  # that a disassembler may take

# By the first part of the opcode: which memory, in which direction.
_MEMORY = {
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
_ORDER = list(_MEMORY)

_ARCH = r"^\s*code for sm_(\w+)"
_FUNCTION = r"^\s*Function : (\S+)"
_LINE = (
    r"^\s*/\*([0-9a-f]{4,})\*/\s+\{?\s*"  # address
    r"((?:@!?U?P\w+\s+)?"  # under a condition
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
        All of it, with condition and operands.
    memory : str or None
        Which memory it uses and how, such as "global load"; None if none, or if the instruction
        is never executed.
    """

    address: int
    opcode: str
    text: str
    memory: str | None


def _instruction(match: re.Match[str]) -> Instruction:
    text = " ".join(match[2].split())
    # Under a condition that never holds, it fills a gap between others.
    never = text.startswith(("@!PT ", "@!UPT "))
    memory = None if never else _MEMORY.get(match[3].split(".")[0])
    return Instruction(int(match[1], 16), match[3], text, memory)


def parse(text: str, kernel: str) -> dict[str, list[Instruction]]:
    """Return the instructions of a kernel, by architecture, from what cuobjdump prints."""
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


class Sass:
    """The machine code of one kernel; made by :func:`sass`.

    Attributes
    ----------
    family, variant : str
        Whose it is.
    code : dict
        A list of :class:`Instruction` for each architecture, such as "90a".
    """

    def __init__(self, family: str, variant: str, code: dict[str, list[Instruction]]) -> None:
        self.family = family
        self.variant = variant
        self.code = code

    @property
    def archs(self) -> tuple[str, ...]:
        return tuple(self.code)

    def counts(self, arch: str | None = None) -> dict[str, int]:
        """Return how many memory instructions of each opcode there are.

        Parameters
        ----------
        arch : str, optional
            Such as "90a"; by default the last, which is the newest.
        """
        found: dict[str, int] = {}
        for one in self.code[arch or self.archs[-1]]:
            if one.memory:
                found[one.opcode] = found.get(one.opcode, 0) + 1
        place = {name: _ORDER.index(name.split(".")[0]) for name in found}
        return dict(sorted(found.items(), key=lambda item: (place[item[0]], item[0])))

    def to_dict(self, whole: bool = False) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold.

        Parameters
        ----------
        whole : bool
            With the instructions that use no memory.
        """
        return {
            "family": self.family,
            "variant": self.variant,
            "archs": {
                arch: {
                    "counts": self.counts(arch),
                    "instructions": [one._asdict() for one in code if whole or one.memory],
                }
                for arch, code in self.code.items()
            },
        }

    def listing(self, arch: str | None = None) -> str:
        """Return all instructions, a line each; by default of every architecture."""
        lines = []
        for name in self.archs if arch is None else [arch]:
            lines += ["", f"{self.family}-{self.variant} for sm_{name}", ""]
            lines += [f"{one.address:#07x}  {one.text}" for one in self.code[name]]
        return "\n".join(lines[1:])

    def __repr__(self) -> str:
        return f"<gpumem machine code of {self.family}-{self.variant} for {', '.join(self.archs)}>"

    def __str__(self) -> str:
        counted = {arch: self.counts(arch) for arch in self.archs}
        names = dict.fromkeys(name for counts in counted.values() for name in counts)
        names = sorted(names, key=lambda name: (_ORDER.index(name.split(".")[0]), name))
        rows = [
            [
                name,
                _MEMORY[name.split(".")[0]],
                *(str(counts.get(name, "-")) for counts in counted.values()),
            ]
            for name in names
        ]
        head = ("instruction", "what it does", *(f"sm_{arch}" for arch in self.archs))
        lines = [
            f"{self.family}-{self.variant}: memory instructions in the machine code",
            "",
            format_table(head, rows, left=2),
        ]
        for arch, code in self.code.items():
            lines += ["", f"sm_{arch}, {len(code)} instructions, of which these use memory:"]
            lines += [f"  {one.address:#07x}  {one.text}" for one in code if one.memory]
        lines += ["", "Counted in the code, not as executed; a loop may have been unrolled."]
        return "\n".join(lines)


def _disassemble(kernel: str) -> str:
    """What cuobjdump says of one kernel in the extension module."""
    import subprocess

    tools = {name: libraries.program(name) for name in _TOOLS}
    missing = [name for name, path in tools.items() if path is None]
    if missing:
        packages = " and ".join(f"nvidia-cuda-{name}" for name in missing)
        raise _core.UnavailableError(
            f"{' and '.join(missing)} not found on PATH, under CUDA_HOME or /usr/local/cuda, or "
            f"among the packages; the CUDA toolkit has them, and so have {packages}"
        )
    command = [str(tools["cuobjdump"]), "-sass", "-fun", kernel, str(_core.__file__)]
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
        # It warns of every other file in the module that the kernel is not there.
        said = [line for line in done.stderr.splitlines() if "not found" not in line]
        why = said[0] if said else "it knows no such kernel"
        raise _core.UnavailableError(f"{tools['cuobjdump']} does not show {kernel}: {why}")
    return done.stdout


def sass(family: str, variant: str | Variant, arch: str | None = None) -> Sass:
    """Return the machine code of a variant's kernel, as it was built.

    Parameters
    ----------
    family : str
        Such as "copy".
    variant : str or Variant
        Such as "vec4".
    arch : str, optional
        One of the architectures that gpumem was built for, "90a" or "sm_90a". By default, all.

    Returns
    -------
    Sass
        Printed, it is the memory instructions, counted by opcode, and listed.

    Raises
    ------
    ValueError
        If there is no such family or variant, or gpumem was not built for `arch`.
    UnavailableError
        If gpumem was built without nvcc, the variant has no kernel of its own, or cuobjdump and
        nvdisasm are not found.

    Notes
    -----
    The widths are the modifiers: LDG.E loads 32 bits per thread, LDG.E.64 and LDG.E.128 twice and
    four times as many. No GPU is needed.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.sass("copy", "vec4").counts("90a")["LDG.E.128"] > 0  # doctest: +SKIP
    True
    """
    row = find(family, resolve(family, variant))
    if arch is not None and not isinstance(arch, str):
        raise ValueError(f"arch must be a name such as '90a', not {quoted(arch)}")
    if not _core.build["cuda"]:
        raise _core.UnavailableError("gpumem was built without nvcc: there is no machine code")
    if not row.source.endswith(".cu"):
        raise _core.UnavailableError(f"{row} has no kernel of its own")
    code = parse(_disassemble(f"{row.family}_{row.name}"), f"{row.family}_{row.name}")
    if arch is not None:
        name = arch.removeprefix("sm_")
        if name not in code:
            known = ", ".join(code)
            raise ValueError(f"gpumem was not built for arch {quoted(arch)}; it was for: {known}")
        code = {name: code[name]}
    return Sass(row.family, row.name, code)
