"""Which backend the tests of modules use."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def simulator_by_default(request, monkeypatch):
    """Load for the simulator where a test does not say otherwise; tests of GPUs do."""
    if "gpu" not in request.keywords:
        monkeypatch.setenv("GPUMEM_BACKEND", "sim")
