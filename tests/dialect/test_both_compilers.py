"""Clang too compiles every name of the other tests, for both runs."""

from __future__ import annotations

import shutil

import pytest
import test_asynchronous_copies
import test_atomics
import test_groups
import test_textures
import test_unions
import test_warps
from loading import load

SOURCES = {
    "copies": test_asynchronous_copies.SOURCE,
    "groups": test_groups.SOURCE,
    "objects": test_atomics.OBJECTS,
    "sixteen": test_atomics.SIXTEEN,
    "textures": test_textures.SOURCE,
    "unions": test_unions.SOURCE,
    "vectors": test_atomics.VECTORS,
    "warps": test_warps.SOURCE,
}


@pytest.mark.exhaustive
@pytest.mark.skipif(not shutil.which("clang++"), reason="there is no clang++ here")
@pytest.mark.parametrize("traced", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize("name", SOURCES)
def test_clang(monkeypatch, name, traced):
    monkeypatch.setenv("CXX", "clang++")
    image = load(source=SOURCES[name], name=f"{name}.cu").compile(traced)
    assert len(image.kernels) == SOURCES[name].count("__global__")
