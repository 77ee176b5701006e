"""Make the facts about the kernels' machine code that gpumem ships: gpumem/families/code.

    python tools/machine_code.py [--check] [FAMILY...]

Every kernel of the table is compiled by nvcc for the targets of a release, without PTX; what ptxas
says (registers, spills, shared memory) and the memory instructions that cuobjdump shows are written
to one JSON file per family; of the further kernels of a variant, its parts, what ptxas says and how
long they are. Only kernels that changed are compiled again, or all of them for another nvcc. With
--check nothing is compiled: it names the kernels whose sources have changed.
Needs nvcc; cuobjdump and nvdisasm come with the toolkit, or with ``pip install
nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm``. No GPU is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from crosscheck_calls import owner
from own_package import check_own_package

import gpumem as gm
from gpumem.count.disassembly import disassemble, parse
from gpumem.count.sass import Sass
from gpumem.families import shipped_code

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "csrc"))

from build_flags import NVCC_FLAGS  # noqa: E402
from build_toolchain import RELEASE_ARCHS, Toolkit, find_toolkit  # noqa: E402

# By its path: a package may be called "build" as well.
_SPECIFICATION = importlib.util.spec_from_file_location("gpumem_build", ROOT / "csrc" / "build.py")
build = importlib.util.module_from_spec(_SPECIFICATION)
_SPECIFICATION.loader.exec_module(build)

KEPT = ROOT / "build" / "machine_code"
INCLUDES = ("csrc", "csrc/kernels", "third_party")
RESOURCES = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?"
    r"(?P<local_bytes>\d+) bytes stack frame, (?P<spill_store_bytes>\d+) bytes spill stores,"
    r" (?P<spill_load_bytes>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)

# ---- occupancy ------------------------------------------------------------------------------

# Per multiprocessor: threads, blocks, bytes of shared memory. CUDA C++ Programming Guide, table
# "Technical Specifications per Compute Capability".
LIMITS = {
    80: (2048, 32, 164 * 1024),
    90: (2048, 32, 228 * 1024),
    100: (2048, 32, 228 * 1024),
    120: (1536, 24, 100 * 1024),
}
REGISTERS, PARTITIONS, GRANULE = 65536, 4, 256  # registers come in 256 per warp
RESERVED = 1024  # bytes of shared memory per block that are the driver's


def resident_blocks(arch: str, registers: int, shared_bytes: int, threads: int) -> int:
    """Return how many blocks of a kernel fit on a multiprocessor, as cuda_occupancy.h does."""
    most_threads, most_blocks, shared = LIMITS[int(arch.rstrip("af"))]
    warps = -(-threads // 32)
    per_warp = -(-registers * 32 // GRANULE) * GRANULE
    fitting = REGISTERS // PARTITIONS // per_warp * PARTITIONS // warps
    per_block = -(-(shared_bytes + RESERVED) // 128) * 128
    return min(most_blocks, most_threads // (warps * 32), fitting, shared // per_block)


def occupancy(arch: str, blocks: int, threads: int) -> float:
    return blocks * threads / LIMITS[int(arch.rstrip("af"))][0]


# ---- sources --------------------------------------------------------------------------------


def _included(file: Path, found: dict[Path, str]) -> None:
    """Add a file and what it includes by a quoted name, less comments and what nvcc skips."""
    text = file.read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    options = re.findall(r"^ \* Build +nvcc (\S+)", text, re.MULTILINE)
    found[file] = " ".join([*options, *code.split()])
    for name in re.findall(r'^\s*#\s*include "(?!sim/)([^"]+)"', text, re.MULTILINE):
        for folder in (file.parent, *(ROOT / one for one in INCLUDES)):
            goal = (folder / name).resolve()
            if goal.is_file():
                if goal not in found:
                    _included(goal, found)
                break


def digest(source: str) -> str:
    """Return a digest of a kernel's file and of the headers that it includes, less comments."""
    found: dict[Path, str] = {}
    _included((ROOT / source).resolve(), found)
    text = "\0".join(found[file] for file in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kernels(family: str) -> list[gm.Variant]:
    """Return the variants and instances of a family that have a kernel of their own."""
    rows = gm.variants(family, instances=True)
    return [one for one in rows if one.source.endswith(".cu")]


def stale(family: str) -> Iterator[str]:
    """Yield a sentence for each kernel whose shipped facts are missing or of another source."""
    advice = f"run tools/machine_code.py {family}"
    told = shipped_code.of_family(family)["kernels"]
    for one in kernels(family):
        if one.name not in told:
            yield f"{one}: no shipped facts; {advice}"
        elif told[one.name]["digest"] != digest(one.source):
            yield f"{one}: {one.source} or a header changed since its facts were made; {advice}"


# ---- compiling ------------------------------------------------------------------------------


def compiled(toolkit: Toolkit, source: str, arch: str) -> tuple[Path, str]:
    """Return the machine code of a file for a target, and what ptxas said."""
    place = Path(source)
    key = f"{place.parent.name}-{place.stem}-{arch}-{digest(source)}-{toolkit.version}"
    cubin, said = KEPT / f"{key}.cubin", KEPT / f"{key}.log"
    if not (cubin.exists() and said.exists()):
        KEPT.mkdir(parents=True, exist_ok=True)
        unfinished = cubin.with_suffix(".part")
        command = [toolkit.nvcc, *NVCC_FLAGS, "-cubin", f"-arch=sm_{arch}", "-Xptxas=-v"]
        command += [*(f"-I{one}" for one in INCLUDES), *build.options_of(ROOT / source, "nvcc")]
        done = subprocess.run(
            [*map(str, command), source, "-o", str(unfinished)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"nvcc does not compile {source} for {arch}:\n{done.stderr}")
        said.write_text(done.stdout + done.stderr)
        unfinished.replace(cubin)
    return cubin, said.read_text()


def residence(one: gm.Variant, arch: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return what follows from a kernel's registers and shared memory, and from its row."""
    x, y, z = one.block
    threads = x * y * z
    shared = told["shared_bytes"] + one.shared_bytes
    blocks = resident_blocks(arch, told["registers"], shared, threads)
    return {
        "dynamic_shared_bytes": one.shared_bytes,
        "blocks": blocks,
        "occupancy": occupancy(arch, blocks, threads),
    }


def has_parts(family: str) -> bool:
    """Return whether variants of a family have further kernels (PART in its ladder)."""
    ladder = ROOT / "csrc" / "kernels" / family / "ladder.def"
    return "PART(" in ladder.read_text(encoding="utf-8")


def symbol_of(one: gm.Variant) -> str:
    return f"{one.family}_{one.name}".replace(":", "_")


def parts_of(one: gm.Variant, compiled_ones: Iterable[str]) -> list[str]:
    """Return the further kernels that a variant's calls may launch instead."""
    own, symbols = symbol_of(one), [symbol_of(other) for other in kernels(one.family)]
    return [name for name in compiled_ones if name != own and owner(name, symbols) == own]


def resources(match: re.Match[str]) -> dict[str, Any]:
    names = ("registers", "local_bytes", "spill_store_bytes", "spill_load_bytes")
    return {name: int(match[name]) for name in names}


def facts(one: gm.Variant, arch: str, cubin: Path, said: str) -> dict[str, Any]:
    """Return what is shipped about a kernel for one target."""
    symbol = symbol_of(one)
    matches = {found["kernel"]: found for found in RESOURCES.finditer(said)}
    match = matches[symbol]
    told = resources(match)
    found = re.search(r"(\d+) bytes smem", match["rest"])
    told["shared_bytes"] = int(found[1]) if found else 0
    told |= residence(one, arch, told)
    code = parse(disassemble(symbol, cubin), symbol)
    told["instructions"] = len(code[arch])
    told["memory"] = Sass(one.family, one.name, code).counts(arch)
    if has_parts(one.family):
        told["parts"] = {
            part.removeprefix(f"{symbol}_"): resources(matches[part])
            | {"instructions": len(parse(disassemble(part, cubin), part)[arch])}
            for part in sorted(parts_of(one, matches))
        }
    return told


def of_family(family: str, toolkit: Toolkit) -> dict[str, Any]:
    """Return the document about a family; kernels that have not changed keep their facts."""
    version = subprocess.run(
        [toolkit.nvcc, "--version"], capture_output=True, text=True, check=True
    ).stdout
    made = {"schema": 1, "nvcc": re.findall(r"V([\d.]+)", version)[0], "flags": NVCC_FLAGS[0]}
    shipped = shipped_code.of_family(family)
    same = all(shipped.get(name) == value for name, value in made.items())
    known = shipped["kernels"] if same else {}
    found = {}
    for one in kernels(family):
        kept = known.get(one.name, {"digest": None, "archs": {}})
        archs = kept["archs"] if kept["digest"] == digest(one.source) else {}
        if has_parts(family):
            archs = {arch: told for arch, told in archs.items() if "parts" in told}
        found[one.name] = {
            "digest": digest(one.source),
            "archs": {
                arch: archs[arch] | residence(one, arch, archs[arch])
                if arch in archs
                else facts(one, arch, *compiled(toolkit, one.source, arch))
                for arch in RELEASE_ARCHS
            },
        }
    return {**made, "kernels": found}


def as_text(document: dict[str, Any]) -> str:
    """Return JSON with a line per kernel and target, so that a change is a few lines of a diff."""
    head = {name: value for name, value in document.items() if name != "kernels"}
    lines = [f'  "{name}": {json.dumps(value)},' for name, value in head.items()]
    parts = []
    for name, one in document["kernels"].items():
        archs = [f'      "{arch}": {json.dumps(told)}' for arch, told in one["archs"].items()]
        opening = f'    "{name}": {{"digest": "{one["digest"]}", "archs": {{\n'
        parts.append(opening + ",\n".join(archs) + "}}")
    body = ",\n".join(parts)
    return "\n".join(["{", *lines, '  "kernels": {']) + f"\n{body}\n  }}\n}}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="by default all")
    parser.add_argument("--check", action="store_true", help="name what is stale; change nothing")
    options = parser.parse_args()
    chosen = options.families or gm.families()
    for family in chosen:
        gm.variants(family)  # an unknown one is an error
    if options.check:
        sentences = [text for family in chosen for text in stale(family)]
        print("\n".join(sentences) or "nothing is stale")
        return bool(sentences)
    check_own_package()
    toolkit = find_toolkit()
    if isinstance(toolkit, str):
        raise SystemExit(f"no nvcc found. {toolkit}")
    for family in chosen:
        document = of_family(family, toolkit)
        file = shipped_code.file_of(family)
        file.write_text(as_text(document), encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: {len(document['kernels'])} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
