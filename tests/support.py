"""What tests of several families say alike."""

import numpy as np
import pytest

import gpumem as gm


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


def exact(x, turned=False, backend="sim"):
    """Return a device array equal to x that ends where its allocation ends; turned: columns of x
    are contiguous. A host's view would be copied first."""
    if not turned:
        return gm.to_device(x, backend=backend)
    laid = np.ascontiguousarray(x.swapaxes(-1, -2))
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return gm.to_device(laid, backend=backend).transpose(axes)


def there(x, backend, turned=False, past=0):
    """Return a device array equal to x, which begins `past` numbers behind an aligned address."""
    laid = np.ascontiguousarray(x.swapaxes(-1, -2) if turned else x)
    around = np.full(laid.size + past + 5, np.nan, "f4")
    around[past : past + laid.size] = laid.ravel()
    array = gm.to_device(around, backend=backend)[past : past + laid.size].reshape(laid.shape)
    return array.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)) if turned else array
