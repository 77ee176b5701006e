"""What tests of several families say alike."""

import pytest


def here(variant, backend):
    """Skip a test of a variant that this backend has not, for the reason that the row gives."""
    reason = variant.reason_on(backend)
    if reason is not None:
        pytest.skip(reason)


def exhaustive(*values):
    """Parameters that are tried when everything is: others cross the same edges."""
    return [pytest.param(value, marks=pytest.mark.exhaustive) for value in values]


def integers(rng, *shape):
    """Return small integers: their products and sums are exact in any order."""
    return rng.integers(-8, 9, shape).astype("f4")
