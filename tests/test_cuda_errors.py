"""The CUDA backend on a runtime that fails: no error stays for the next launch to report."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def find_headers():
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for home in [*filter(None, homes), "/usr/local/cuda"]:
        if Path(home, "include", "cuda_runtime_api.h").exists():
            return Path(home, "include")
    return None


def test_no_error_is_left_behind(tmp_path):
    """After any one or two calls of the runtime have failed."""
    headers = find_headers()
    if headers is None:
        pytest.skip("the headers of CUDA are not here")
    backend = [
        str(path)
        for path in sorted((ROOT / "csrc/backend").glob("cuda*.c"))
        if path.name != "cuda_absent.c"
    ]
    program = tmp_path / "stand_in"
    command = [os.environ.get("CC", "cc"), "-std=c11", "-DGM_WITH_CUDA=1", f"-I{ROOT / 'csrc'}"]
    command += ["-isystem", str(headers), str(ROOT / "tests/stand_in/cudart.c"), *backend]
    # What the operations do not call has no stand-in.
    others = "error", "per_thread", "backend/settings", "backend/kernel_list"
    command += [str(ROOT / f"csrc/{name}.c") for name in others]
    command += ["-Wl,--unresolved-symbols=ignore-all", "-no-pie"]
    subprocess.run([*command, "-lpthread", "-ldl", "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[0]) > 100
