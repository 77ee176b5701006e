"""Builds with GCC's sanitizers, which GPUMEM_SANITIZE names: `tools/sanitize_core.py` makes them.

Traced kernels call the hooks of thread-sanitizer instrumentation, and users' those of the
undefined-behaviour sanitizer, but the simulator's own (sim/hooks.c, sim/undefined.c) and not a
library's. Where a sanitizer's library is in the process too, the simulator's get other names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from build_cache import Builder, Job, hash_of, is_whole, keep
from build_toolchain import BuildError, Compiler, run

# What compilers' hooks are named, and the files that define the simulator's and hand them on.
PREFIXES = ("__tsan_", "__ubsan_")
HOOKS = ("csrc/sim/hooks.c", "csrc/sim/undefined.c", "csrc/sim/loader.c")

# With instrumentation GCC sees fewer of the values that are set.
_COMMON = ["-O1", "-g1", "-Wno-maybe-uninitialized"]
_UNDEFINED = ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
_FLAGS = {
    "address": ["-fsanitize=address", "-fno-omit-frame-pointer"],
    "undefined": _UNDEFINED,
    # Functions do not report where they begin and end: the simulator switches stacks.
    "thread": ["-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0"],
    "kernels": [],
}


def chosen(cc: Compiler, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The sanitizers of this build, mostly none."""
    text = environment.get("GPUMEM_SANITIZE", "")
    names = [name for name in text.replace(" ", "").split(",") if name]
    if set(names) - set(_FLAGS) or ("thread" in names and "address" in names):
        raise BuildError(
            f"gpumem: GPUMEM_SANITIZE is {text!r}; it should be some of address, undefined and"
            " kernels (undefined behaviour in plain kernels) with commas between them, or thread"
        )
    if names and cc.clang:
        raise BuildError("gpumem: GPUMEM_SANITIZE needs GCC, and CC is Clang")
    return names


def c_flags(sanitizers: Sequence[str], source: str) -> list[str]:
    """What a C file is compiled with; -O1 keeps stacks readable and compiles faster."""
    if not sanitizers or source in HOOKS:
        return []
    return [*_COMMON, *(flag for name in sanitizers for flag in _FLAGS[name])]


def plain_flags(sanitizers: Sequence[str]) -> list[str]:
    """What a plain kernel is compiled with: tracing finds races and accesses out of bounds."""
    return [*_COMMON, *_UNDEFINED] if "kernels" in sanitizers else []


def link_flags(sanitizers: Sequence[str]) -> list[str]:
    kinds = {"undefined" if name == "kernels" else name for name in sanitizers}
    return [f"-fsanitize={name}" for name in sorted(kinds)]


def rename_hooks(builder: Builder, jobs: Sequence[Job], objects: Sequence[Path]) -> list[Path]:
    """The same objects; those that define or call the simulator's hooks with other names."""
    objcopy = shutil.which("objcopy")
    if objcopy is None:
        raise BuildError("gpumem: GPUMEM_SANITIZE needs objcopy, of binutils")
    made = [o for job, o in zip(jobs, objects, strict=True) if job.source in HOOKS]
    done = run(["nm", "--defined-only", "-P", *made])
    words = [line.split(" ")[0] for line in done.stdout.splitlines()]
    hooks = [word for word in words if word.startswith(PREFIXES)]

    def renamed(job: Job, path: Path) -> Path:
        if job.how != "traced" and job.source not in HOOKS:
            return path
        known = path.with_name(f"{path.stem}-renamed-{hash_of(names)[:8]}.o")
        if not is_whole(known):
            new = names.with_name(known.name)
            builder.call([objcopy, f"--redefine-syms={names}", str(path), str(new)])
            keep(new, known)
        return known

    with builder.work_folder() as folder:
        names = folder / "names"
        names.write_text("".join(f"{hook} gm_own{hook}\n" for hook in hooks))
        return [renamed(job, path) for job, path in zip(jobs, objects, strict=True)]
