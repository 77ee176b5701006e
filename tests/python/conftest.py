"""What tests of wall-clock benchmarks share."""

import pytest
from made_up import ClockedSimulator

from gpumem.measure import wall_clock


@pytest.fixture
def clock(monkeypatch):
    """The simulator as a device with a clock; samples are short."""
    monkeypatch.setattr(wall_clock, "SAMPLE_S", 1e-4)
    return ClockedSimulator()
