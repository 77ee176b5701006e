"""The simulator's counts do not depend on the compiler of the kernels."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from building import build_probes
from expected import CORRECT, names

# Builds the probes with another compiler, which takes two minutes. test_build.py also checks how
# each compiler reports an access.
pytestmark = pytest.mark.exhaustive


@pytest.mark.skipif(not shutil.which("clang++"), reason="there is no clang++ here")
def test_clang_counts_what_gcc_counts(probes, rng, monkeypatch):
    monkeypatch.setenv("CC", "clang")
    monkeypatch.setenv("CXX", "clang++")
    other = build_probes("probes_clang")
    a = rng.integers(-50, 50, 4096).astype(np.float32)
    for family in ("pattern", "barrier"):
        (table,) = [f for f in probes.families() if f["name"] == family]
        for variant in table["variants"]:
            name = variant["name"]
            want = probes.traffic(family, name, (a,), (0, 7))
            got = other.traffic(family, name, (a,), (0, 7))
            assert result(other, family, name, a) == result(probes, family, name, a), name
            assert got["barriers"] == want["barriers"], name
            for space in ("global", "shared"):
                for kind in ("load", "store"):
                    assert sums(got, space, kind) == sums(want, space, kind), (name, space, kind)


def result(module, family, name, a):
    """Return all bytes of the output, also those that the kernel does not write."""
    out = module.DeviceArray(a.shape, backend="sim")
    out.fill_bytes(0xAA)
    module.call(family, name, (module.to_device(a, backend="sim"),), out, None, None, (0, 7))
    return out.to_host().tobytes()


def sums(report, space, kind):
    """Return what was moved; how often a branch issues it is the compiler's choice."""
    sites = [s for s in report["sites"] if s["space"] == space and s["kind"] == kind]
    return [sum(s[what] for s in sites) for what in ("lanes", "bytes", "sectors")]


@pytest.mark.skipif(not shutil.which("clang++"), reason="there is no clang++ here")
def test_clang_causes_no_false_alarm_and_hides_no_race(monkeypatch):
    monkeypatch.setenv("CC", "clang")
    monkeypatch.setenv("CXX", "clang++")
    other = build_probes("probes_clang")
    for family in CORRECT:
        a = np.ones(32 if family in ("bank", "constant") else 768, np.float32)
        for variant in names(other, family):
            other.traffic(family, variant, (a,), (0, 3))
    for family in ("race", "pipeline"):
        for variant in names(other, family):
            a = np.ones(64 if variant == "mbarrier_unready" else 8192, np.float32)
            with pytest.raises(other.SimulationError):
                other.traffic(family, variant, (a,), (0, 7))
