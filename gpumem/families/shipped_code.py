"""What gpumem ships about its kernels' machine code, for machines that have none of their own.

``tools/machine_code.py`` makes the files in the folder ``code``, one per family.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from .. import _core
from ..base.messages import quoted

__all__ = ["MEASURED_ON", "arch_name", "file_of", "made_with", "of_arch", "of_family", "of_kernel"]

MEASURED_ON = "90a"  # the target of the GPU whose times are shipped
_FOLDER = Path(__file__).parent / "code"


def file_of(family: str) -> Path:
    """Return the file about a family's kernels."""
    return _FOLDER / f"{family}.json"


@functools.cache
def of_family(family: str) -> dict[str, Any]:
    """Return what is shipped about a family; without kernels if there is nothing."""
    import json  # `import gpumem` does without

    try:
        text = file_of(family).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {"nvcc": None, "kernels": {}}
    found: dict[str, Any] = json.loads(text)
    return found


def of_kernel(family: str, name: str) -> dict[str, dict[str, Any]]:
    """Return the facts about a kernel, by target such as "90a".

    Raises
    ------
    UnavailableError
        If none are shipped, as for variants that have no kernel of their own.
    """
    kernels = of_family(family)["kernels"]
    if name not in kernels:
        raise _core.UnavailableError(f"{family}-{name}: nothing about its machine code is shipped")
    archs: dict[str, dict[str, Any]] = kernels[name]["archs"]
    return archs


def of_arch(archs: dict[str, dict[str, Any]], arch: object) -> dict[str, Any]:
    """Return the facts for one target, given as "90a" or "sm_90a", and its name as ``arch``."""
    name = arch_name(arch)
    if name not in archs:
        known = ", ".join(archs)
        raise ValueError(f"nothing is shipped for arch {quoted(arch)}; it is for: {known}")
    return {**archs[name], "arch": name}


def arch_name(arch: object) -> str:
    """Return the name of a target without "sm_"; ValueError if it is no text."""
    if not isinstance(arch, str):
        raise ValueError(f"arch must be a name such as '90a', not {quoted(arch)}")
    return arch.removeprefix("sm_")


def made_with(family: str) -> str:
    """Return where the facts come from, in words."""
    return f"shipped with gpumem, made with nvcc {of_family(family)['nvcc']}"
