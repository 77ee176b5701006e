"""CUDA C functions compiled by a host compiler against the simulator's headers, called by ctypes.

No simulator runs: this is for what the headers compute by themselves.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

CSRC = Path(__file__).resolve().parents[2] / "csrc"

MISSING_CLANG = pytest.mark.skipif(not shutil.which("clang++"), reason="no clang++ here")
COMPILERS = ["g++", pytest.param("clang++", marks=[MISSING_CLANG, pytest.mark.exhaustive])]

# As modules are compiled; nothing here ends a kernel.
FLAGS = (
    "-std=c++17 -x c++ -O2 -fPIC -shared -fno-math-errno -ffp-contract=off -fno-strict-aliasing"
    " -Wall -Wno-unused -Werror -DGM_USER_MODULE=1 -DGM_BUILD_PLAIN=1 -include sim/simt.h"
).split()
STAND_IN = """
#include <stdlib.h>
void gm_sim_fault(const char *, int, const char *what) { puts(what); abort(); }
void gm_sim_fault_of(gm_rule, const char *, int, const char *what) { puts(what); abort(); }
"""


def build(source: str, folder: Path, compiler: str = "g++") -> ctypes.CDLL:
    """Compile a source without including anything but what a user's source gets by itself."""
    text = folder / "source.cu"
    text.write_text(source + STAND_IN)
    made = folder / f"library-{compiler}.so"
    includes = ["-isystem", CSRC / "sim" / "cuda" / "include", f"-I{CSRC}"]
    command = [compiler, *FLAGS, *includes, text, "-o", made]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(made))


def loop(name: str, expression: str, result: str, *types: str) -> str:
    """A function that evaluates an expression of a, b, c for each element of its arrays."""
    letters = "abc"[: len(types)]
    arrays = "".join(f", const {t} *in_{x}" for t, x in zip(types, letters, strict=True))
    values = " ".join(f"{t} {x} = in_{x}[i];" for t, x in zip(types, letters, strict=True))
    return f"""
extern "C" void {name}(long n, {result} *out{arrays})
{{
    for (long i = 0; i < n; i++) {{
        {values}
        out[i] = ({result})({expression});
    }}
}}
"""


def call(library: ctypes.CDLL, name: str, dtype: str, *arrays: np.ndarray) -> np.ndarray:
    """Call a function that `loop` wrote."""
    arrays = tuple(np.ascontiguousarray(a) for a in arrays)
    out = np.empty(arrays[0].shape, dtype)
    getattr(library, name)(
        ctypes.c_long(out.size), out.ctypes.data_as(ctypes.c_void_p),
        *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays),
    )  # fmt: skip
    return out
