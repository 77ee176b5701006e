"""A copy of the checkout in a folder below build/, with an extension module of its own."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_checkout(name: str) -> Path:
    """build/NAME with all files that git knows or would add; its builds share this cache."""
    folder = ROOT / "build" / name
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for known in names:
        source, copy = ROOT / known, folder / known
        if not copy.exists() or not filecmp.cmp(source, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    for top in {Path(known).parts[0] for known in names}:
        for copy in (folder / top).rglob("*"):
            unknown = str(copy.relative_to(folder)) not in names and copy.is_file()
            if unknown and copy.suffix != ".pyc" and not copy.name.startswith("_core."):
                copy.unlink()
    cache = folder / "build" / "cache"
    cache.parent.mkdir(exist_ok=True)
    (ROOT / "build" / "cache").mkdir(exist_ok=True)
    if not cache.exists():
        cache.symlink_to(ROOT / "build" / "cache")
    return folder


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """For processes that import gpumem from the copy; they build no CUDA kernels."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return own | {"PYTHONPATH": str(folder), "GPUMEM_CUDA": "0"} | more


def build(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Build the extension module of the copy in place."""
    return subprocess.run(
        [sys.executable, str(folder / "csrc/build.py")],
        env=environment_of(folder, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
