"""An installed package, away from the checkout, loads kernels with the sources that it has."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import python

from gpumem import _core

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "csrc" / "sim" / "cuda" / "include"

KERNEL = """\
__global__ void halve(float4 *x, const float4 *y, int from) {
    __shared__ float4 t[64];
    t[threadIdx.x] = y[threadIdx.x];
    float4 other = t[threadIdx.x ^ from];
    x[threadIdx.x] = make_float4(other.x / 2, other.y / 2, other.z / 2, other.w / 2);
}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a kernel and, as in a virtual environment inside it, the installed package."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("project")
    (folder / "halve.cu").write_text(KERNEL)
    site = folder / ".venv" / "site-packages"
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(site)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    shutil.copy(_core.__file__, site / "gpumem")
    return folder


def run(project, code):
    """Run code with the installed package, in the project's folder."""
    paths = [str(project / ".venv" / "site-packages"), str(ROOT / "tests")]
    code = f"import os\nos.chdir({str(project)!r})\nimport numpy as np, gpumem as gm\n{code}"
    cache = str(project / "cache")
    return python(code, PYTHONPATH=os.pathsep.join(paths), GPUMEM_CACHE_DIR=cache)


def test_it_has_copies_of_what_kernels_need(project):
    package = project / ".venv" / "site-packages" / "gpumem"
    copies = [path for path in (package / "csrc").rglob("*") if path.is_file()]
    for copy in copies:
        assert (
            copy.read_bytes() == (ROOT / "csrc" / copy.relative_to(package / "csrc")).read_bytes()
        )
    assert len(copies) > 100
    assert {copy.name for copy in copies if copy.suffix == ".c"} == {"side.c", "sim_kernels.c"}
    assert not (package / "csrc" / "kernels").exists()
    where = "from gpumem.cuda_c.own_sources import csrc\nprint(gm.__file__, csrc())"
    assert run(project, where).split() == [str(package / "__init__.py"), str(package / "csrc")]


def test_it_has_the_shipped_results(project):
    code = "from gpumem.results import of_tools\n"
    code += "print(len(gm.results), of_tools.load('latency-h200') is not None)"
    shipped = len(list((ROOT / "gpumem" / "results").glob("*.json")))
    assert run(project, code) == f"{shipped} True\n"


def test_all_headers_are_there(project):
    headers = [path for path in INCLUDE.rglob("*") if path.is_file()]
    names = [str(p.relative_to(INCLUDE)) for p in headers if "#error" not in p.read_text()]
    (project / "all.cu").write_text(
        "".join(f"#include <{name}>\n" for name in names)
        + "__global__ void k(int *x) { *x = sizeof(half2); }\n"
    )
    code = "x = np.zeros(1, 'i4'); print(gm.check(gm.load('all.cu')['k'][1, 1], x).ok, *x)"
    assert len(names) > 50 and run(project, code) == "True 4\n"


def test_findings_and_counts_are_those_of_the_users_lines(project):
    """gpumem's headers are inside the project here, but no lines of it."""
    code = """
    launch = gm.load("halve.cu")["halve"][1, 64]
    x, y = np.zeros((64, 4), "f4"), np.ones((64, 4), "f4")
    print([(f.rule, f.file, f.line) for f in gm.check(launch, x, y, 32).findings])
    print(gm.traffic(launch, x, y, 0))
    """
    printed = run(project, "\n".join(map(str.strip, code.splitlines()))).splitlines()
    assert printed[0] == "[('race-shared', 'halve.cu', 3), ('uninitialised', 'halve.cu', 4)]"
    rows = [line.split()[:4] for line in printed if line.startswith("halve.cu:")]
    assert rows == [
        ["halve.cu:3", "global", "load", "128"],
        ["halve.cu:3", "shared", "store", "128"],
        ["halve.cu:4", "shared", "load", "128"],
        ["halve.cu:5", "global", "store", "128"],
    ]


def test_without_the_sources_the_error_says_so(project, tmp_path):
    copied = tmp_path / "project"
    shutil.copytree(project, copied)
    shutil.rmtree(copied / ".venv" / "site-packages" / "gpumem" / "csrc")
    code = "try: gm.load('halve.cu')\nexcept gm.CompileError as error: print(error)"
    printed = run(copied, code)
    assert printed.endswith("gpumem/csrc: install gpumem again\n"), printed
