"""Constant memory: a request takes a pass per different address."""

import numpy as np
import pytest
from expected import names


def passes(probes, variant, offset, stride):
    a = np.ones(32, np.float32)
    sites = probes.traffic("constant", variant, (a,), (offset, stride))["sites"]
    (site,) = [s for s in sites if s["space"] == "constant"]
    assert (site["kind"], site["requests"], site["fewest_passes"]) == ("load", 1, 1)
    assert site["sectors"] == site["lines"] == 0
    assert site["width"] == (64 if variant == "words2" else 32)
    return site["passes"]


@pytest.mark.parametrize("stride", [0, 1, 2, 7, 32, 100])
@pytest.mark.parametrize("offset", [0, 1, 900])
def test_each_different_address_is_a_pass(probes, offset, stride):
    apart = stride != 0
    assert passes(probes, "words", offset, stride) == (32 if apart else 1)
    assert passes(probes, "words2", offset, stride) == (32 if apart else 1)
    assert passes(probes, "halves", offset, stride) == (2 if apart else 1)
    every_third = int("001" * 11, 2) & 0xFFFFFFFF
    assert passes(probes, "words", every_third << 32 | offset, stride) == (11 if apart else 1)


def test_addresses_are_relative_to_the_start_of_constant_memory(probes):
    a = np.ones(32, np.float32)
    for variant in names(probes, "constant"):
        sites = probes.traffic("constant", variant, (a,), (3, 2))["sites"]
        (site,) = [s for s in sites if s["space"] == "constant"]
        (sample,) = site["samples"]
        assert all(0 <= address < 2**17 for address in sample["addresses"])
        assert len(sample["lanes"]) == 32
