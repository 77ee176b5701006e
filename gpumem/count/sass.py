"""The machine code of a kernel, and the memory instructions in it."""

from __future__ import annotations

import re
from typing import Any

from .. import _core
from ..base.messages import quoted
from ..base.tables import format_table
from ..families import shipped_code
from ..families.table import Variant, find, resolve
from ..modules.kernel import Kernel
from .disassembly import MEMORY, Instruction, disassemble, missing_tools, parse, rank

__all__ = ["Sass", "sass"]


class Sass:
    """The machine code of one kernel; made by :func:`sass`.

    Attributes
    ----------
    family, variant : str
        Which kernel; of a user's, the name of the module and of the kernel.
    name : str
        Both in one: "copy-vec4", or "saxpy of mine.cu".
    code : dict
        A list of :class:`Instruction` for each architecture, such as "90a"; empty for shipped
        facts, which are counts.
    shipped : str or None
        Where the counts come from if not from this build, in words.

    Examples
    --------
    >>> import gpumem as gm
    >>> "90a" in gm.sass("copy", "vec4").archs  # doctest: +SKIP
    True
    """

    def __init__(
        self,
        family: str,
        variant: str,
        code: dict[str, list[Instruction]],
        name: str | None = None,
        facts: dict[str, dict[str, Any]] | None = None,
        shipped: str | None = None,
    ) -> None:
        self.family = family
        self.variant = variant
        self.name = name or f"{family}-{variant}"
        self.code = code
        self.shipped = shipped
        self._facts = facts or {}

    @property
    def archs(self) -> tuple[str, ...]:
        """The architectures that the kernel was built for."""
        return tuple(self._facts or self.code)

    def counts(self, arch: str | None = None) -> dict[str, int]:
        """Return the number of memory instructions of each opcode.

        Parameters
        ----------
        arch : str, optional
            Such as "90a"; by default, the last and newest.

        Examples
        --------
        >>> import gpumem as gm
        >>> "LDG.E.128" in gm.sass("copy", "vec4").counts()  # doctest: +SKIP
        True
        """
        chosen = arch or self.archs[-1]
        found: dict[str, int] = {}
        if self._facts:
            return dict(self._facts[chosen]["memory"])
        for one in self.code[chosen]:
            if one.memory:
                found[one.opcode] = found.get(one.opcode, 0) + 1
        return {opcode: found[opcode] for opcode in sorted(found, key=rank)}

    def to_dict(self, whole: bool = False) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold; of shipped facts, only the counts.

        Parameters
        ----------
        whole : bool
            Include the instructions that use no memory.

        Examples
        --------
        >>> import gpumem as gm
        >>> list(gm.sass("copy", "vec4").to_dict())  # doctest: +SKIP
        ['family', 'variant', 'shipped', 'archs']
        """
        return {
            "family": self.family,
            "variant": self.variant,
            "shipped": self.shipped,
            "archs": {arch: self._arch_dict(arch, whole) for arch in self.archs},
        }

    def _arch_dict(self, arch: str, whole: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"counts": self.counts(arch)}
        if not self._facts:
            code = self.code[arch]
            found["instructions"] = [one._asdict() for one in code if whole or one.memory]
        return found

    def listing(self, arch: str | None = None) -> str:
        """Return all instructions, one per line; by default, of every architecture.

        Raises
        ------
        UnavailableError
            If only counts are shipped.

        Examples
        --------
        >>> import gpumem as gm
        >>> print(gm.sass("copy", "vec4").listing())  # doctest: +SKIP
        """
        if self.shipped:
            raise _core.UnavailableError(
                f"{self.name}: no instructions, only counts: {self.shipped}"
            )
        lines = []
        for name in self.archs if arch is None else [arch]:
            lines += ["", f"{self.name} for sm_{name}", ""]
            lines += [f"{one.address:#07x}  {one.text}" for one in self.code[name]]
        return "\n".join(lines[1:])

    def __repr__(self) -> str:
        return f"<gpumem machine code of {self.name} for {', '.join(self.archs)}>"

    def __str__(self) -> str:
        counted = {arch: self.counts(arch) for arch in self.archs}
        names = sorted({name for counts in counted.values() for name in counts}, key=rank)
        rows = [
            [
                name,
                MEMORY[name.split(".")[0]],
                *(str(counts.get(name, "-")) for counts in counted.values()),
            ]
            for name in names
        ]
        head = ("instruction", "what it does", *(f"sm_{arch}" for arch in self.archs))
        lines = [
            f"{self.name}: memory instructions in the machine code",
            "",
            format_table(head, rows, left=2),
        ]
        for arch, code in self.code.items():
            lines += ["", f"sm_{arch}, {len(code)} instructions, of which these use memory:"]
            lines += [f"  {one.address:#07x}  {one.text}" for one in code if one.memory]
        for arch, facts in self._facts.items():
            lines += ["", f"sm_{arch}, {facts['instructions']} instructions"]
        lines += ["", "Counted in the code, not as executed; loops may have been unrolled."]
        if self.shipped:
            lines += [f"{self.shipped[0].upper()}{self.shipped[1:]}."]
        return "\n".join(lines)


def sass(
    family: str | Kernel, variant: str | Variant | None = None, arch: str | None = None
) -> Sass:
    """Return the machine code of a variant's kernel as it was built, or of a user's kernel.

    Of a variant of a gpumem that was built without CUDA, or where there is no disassembler, it is
    the number of memory instructions that gpumem ships, and `Sass.shipped` says so.

    Parameters
    ----------
    family : str or Kernel
        Such as "copy"; or a kernel of a loaded module, which NVRTC or nvcc compiles.
    variant : str or Variant
        Such as "vec4". Of a row with instances, the first one. A user's kernel has none.
    arch : str, optional
        An architecture such as "90a" or "sm_90a". Of a variant one that gpumem was built for, by
        default all; of a user's kernel by default the GPU's, or "90a" without one.

    Returns
    -------
    Sass
        Printed, it counts the memory instructions by opcode and lists them.

    Raises
    ------
    ValueError
        If there is no such family or variant, or gpumem was not built for `arch`.
    CompileError
        If a user's kernel does not compile for `arch`.
    UnavailableError
        If the variant has no kernel of its own; if there is no compiler for a user's kernel, or
        cuobjdump and nvdisasm are not found for it.

    Notes
    -----
    Modifiers give the widths: LDG.E loads 32 bits per thread, LDG.E.64 and LDG.E.128 twice and
    four times as many. No GPU is needed.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.sass("copy", "vec4").counts("90a")["LDG.E.128"] > 0  # doctest: +SKIP
    True
    """
    if arch is not None:
        shipped_code.arch_name(arch)
    if isinstance(family, Kernel):
        if variant is not None:
            raise TypeError("sass of a loaded kernel takes no variant")
        return _of_kernel(family, arch)
    if variant is None:
        raise TypeError(f"sass of a family needs a variant: sass({quoted(family)}, ...)")
    row = find(family, resolve(family, variant))
    if not row.source.endswith(".cu"):
        raise _core.UnavailableError(f"{row} has no kernel of its own")
    row = row.instances[0] if row.instances else row
    if why := _why_shipped():
        archs = shipped_code.of_kernel(row.family, row.name)
        if arch is not None:
            told = shipped_code.of_arch(archs, arch)
            archs = {told["arch"]: told}
        words = f"{shipped_code.made_with(row.family)}, because {why}"
        return Sass(row.family, row.name, {}, facts=archs, shipped=words)
    kernel = f"{row.family}_{row.name}".replace(":", "_")
    code = parse(disassemble(kernel), kernel)
    if arch is not None:
        name = shipped_code.arch_name(arch)
        if name not in code:
            known = ", ".join(code)
            raise ValueError(f"gpumem was not built for arch {quoted(arch)}; it was for: {known}")
        code = {name: code[name]}
    return Sass(row.family, row.name, code)


def _why_shipped() -> str | None:
    """Return why the build's own machine code cannot be shown, or None if it can."""
    if not _core.build["cuda"]:
        return "this gpumem was built without CUDA"
    return missing_tools()


def _of_kernel(kernel: Kernel, arch: str | None) -> Sass:
    """Compile a user's kernel for a GPU, and return its machine code."""
    # Only who asks for users' code needs what compiles it: `import gpumem` does without.
    from ..cuda_c.compile_device import compile_for_device, why_no_compiler
    from ..cuda_c.described import read_code
    from ..cuda_c.device_side import kernel_names
    from ..modules.driver import architecture

    if reason := why_no_compiler():
        raise _core.UnavailableError(reason)
    source = kernel.module.source
    target = arch.removeprefix("sm_") if arch is not None else architecture()
    if not re.fullmatch(r"\d{2,3}[af]?", target):
        raise ValueError(f"arch must be a name such as '90a', not {quoted(arch)}")
    compiled = compile_for_device(source, target)
    names = kernel_names(compiled, source.instances)
    symbol = read_code(compiled.path, names, compiled.declared).symbols[kernel.name]
    code = parse(disassemble(symbol, compiled.path), symbol)
    return Sass(kernel.module.name, kernel.name, code, kernel.title)
