"""Runs clang-tidy, with the checks of .clang-tidy, over the C code as csrc/build.py compiles it.

Other arguments are files to check instead of all. Needs the extra `dev`.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "compile_commands.json")
        build = [sys.executable, str(ROOT / "csrc/build.py"), "--compile-commands", str(database)]
        subprocess.run(build, check=True, env=os.environ | {"GPUMEM_CUDA": "0"})
        files = [entry["file"] for entry in json.loads(database.read_text())]
        wanted = {str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]}
        files = [name for name in files if not wanted or name in wanted]

        def check(name: str) -> str:
            code = "import clang_tidy; clang_tidy.clang_tidy()"
            words = ["-p", folder, "--quiet", str(ROOT / name)]
            done = subprocess.run(
                [sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, text=True
            )
            return done.stdout + done.stderr if done.returncode else ""

        workers = len(os.sched_getaffinity(0))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            findings = [text for text in pool.map(check, files) if text]
    print("\n".join(findings) or f"clang-tidy: {len(files)} files, no findings")
    return 1 if findings or not files else 0


if __name__ == "__main__":
    sys.exit(main())
