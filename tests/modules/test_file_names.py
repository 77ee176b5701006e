"""Lines are those of the user's files, however these are named and wherever they are."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import gpumem as gm

SOURCE = """\
#include "../common/device.h"
#include "listed.h"

__global__ void move(int *to, const int *from, int *counter) {
    to[threadIdx.x] = loaded(from);
    atomicAdd(counter, 1);
    store(to, 1);
}
"""
HEADER = """\
__device__ __noinline__ int loaded(const int *from)
{
    return from[threadIdx.x];
}
"""
LISTED = "__device__ inline void store(int *to, int x) {\n    to[threadIdx.x] += x;\n}\n"


@pytest.fixture
def project(tmp_path):
    for folder in ("cuda/kernels", "cuda/common", "listed", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cuda" / "kernels" / "move.cu").write_text(SOURCE)
    (tmp_path / "cuda" / "kernels" / "größer [1].cu").write_text(SOURCE)
    (tmp_path / "cuda" / "common" / "device.h").write_text(HEADER)
    (tmp_path / "listed" / "listed.h").write_text(LISTED)
    return tmp_path


# Clang names the line of the call for what it inlines.
PLACES = {
    "g++": ["device.h:3 load", "listed.h:2 load", "listed.h:2 store", "5 store", "6 atomic"],
    "clang++": ["5 load", "5 store", "6 atomic", "7 load", "7 store"],
}


COMPILERS = [("gcc", "g++"), ("clang", "clang++")]
# From where a source is loaded, and by which path.
FROM = [
    (".", "cuda/kernels/move.cu"),
    ("cuda/kernels", "move.cu"),
    ("tests", "../cuda/kernels/move.cu"),
    ("cuda/common", "../kernels/move.cu"),
    ("tests", "{project}/cuda/kernels/move.cu"),
    (".", "cuda/kernels/größer [1].cu"),
]


# The second compiler daily with the plainest path, one through "..", and a name that needs quotes.
@pytest.mark.parametrize(
    ("cc", "cxx", "here", "path"),
    [
        pytest.param(*names, *place, marks=[pytest.mark.exhaustive] if j and i in (1, 2, 4) else [])
        for j, names in enumerate(COMPILERS)
        for i, place in enumerate(FROM)
    ],
)
def test_each_access_has_its_file_and_line(project, monkeypatch, cc, cxx, here, path):
    if not shutil.which(cxx):
        pytest.skip(f"no {cxx}")
    monkeypatch.setenv("CC", cc)
    monkeypatch.setenv("CXX", cxx)
    monkeypatch.chdir(project / here)
    path = path.format(project=project)
    kernel = gm.load(path, include_dirs=[project / "listed"])["move"]
    arrays = [np.zeros(32, "i4"), np.ones(32, "i4"), np.zeros(1, "i4")]

    files = {"device.h": project / "cuda" / "common", "listed.h": project / "listed"}
    found = []
    for one in gm.traffic(kernel[1, 32], *arrays).sites:
        place = f"{one['line']} {one['kind']}"
        name = os.path.basename(one["file"])
        if one["file"] != path:
            assert os.path.normpath(one["file"]) == str(files[name] / name)
            place = f"{name}:{place}"
        found.append(place)
    assert sorted(found) == sorted(PLACES[cxx])

    report = gm.check(kernel[1, 32], arrays[0], arrays[1][:31], arrays[2])
    (finding,) = report.findings
    if cxx == "g++":
        assert os.path.abspath(finding.file) == str(project / "cuda" / "common" / "device.h")
        assert finding.line == 3 and "return from[threadIdx.x];" in str(report)
    else:
        assert os.path.abspath(finding.file) == os.path.abspath(path)
        assert finding.line == 5 and "to[threadIdx.x] = loaded(from);" in str(report)
