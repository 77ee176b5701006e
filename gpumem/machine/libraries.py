"""Where to look for NVIDIA's libraries and programs, in addition to the system's own paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path


def _folders(name: str) -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield from (Path(os.environ[variable], folder) for folder in ("lib64", "lib"))
    for entry in sys.path:
        wheels = Path(entry or ".", "nvidia")
        yield from (wheels / "cu13" / "lib", wheels / name / "lib")
    yield Path("/usr/local/cuda/lib64")


def paths(name: str) -> list[str]:
    """Return candidates for the file of a library, the most likely first.

    Parameters
    ----------
    name : str
        Such as "cublas".
    """
    found: list[str] = []
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        found.append(str(load_nvidia_dynamic_lib(name).abs_path))
    except Exception:  # not installed, or it does not find the library
        pass
    for folder in _folders(name):
        found += [str(path) for path in sorted(folder.glob(f"lib{name}.so.*"), reverse=True)]
    return list(dict.fromkeys(found))


def program(name: str) -> str | None:
    """Return the path of a program of the CUDA toolkit, None if it is not found.

    Parameters
    ----------
    name : str
        Such as "cuobjdump".
    """
    import shutil

    found = [shutil.which(name)]
    homes = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    folders = [Path(home, "bin") for home in (*homes, "/usr/local/cuda") if home]
    for entry in sys.path:
        # Packages of the toolkit, the newest first, then Triton's.
        wheels = Path(entry or ".", "nvidia")
        folders += sorted(wheels.glob("cu[0-9]*/bin"), reverse=True)
        folders += [wheels / f"cuda_{name}" / "bin", wheels / "cuda_nvcc" / "bin"]
        folders.append(Path(entry or ".", "triton", "backends", "nvidia", "bin"))
    found += [shutil.which(name, path=str(folder)) for folder in folders]
    return next(filter(None, found), None)
