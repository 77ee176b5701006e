"""What the tests of memory spaces share."""

import numpy as np

import gpumem as gm

POLYNOMIAL = gm.variants("polynomial")


SAMPLE = gm.variants("sample")


STATIC = gm.variants("static_value")


FLOATS = ["f4", "f8"]


def there(a, backend):
    return gm.to_device(a, backend=backend)


def poisoned(shape, dtype, backend):
    out = gm.DeviceArray(shape, dtype, backend=backend)
    out.fill_bytes(0xA5)
    return out


def check_polynomial(got, x, c):
    """Compare with Horner's rule in long double, within one rounding per operation."""
    assert isinstance(got, np.ndarray) and (got.shape, got.dtype) == (x.shape, x.dtype)
    wide, magnitude = np.zeros(x.shape, np.longdouble), np.zeros(x.shape, np.longdouble)
    with np.errstate(all="ignore"):
        for i, coefficient in enumerate(c[::-1].astype(np.longdouble)):
            wide = wide * x + coefficient if i else np.full(x.shape, coefficient)
            size = abs(coefficient)
            magnitude = magnitude * abs(x) + size if i else np.full(x.shape, size)
        wanted, eps = wide.astype(x.dtype), np.finfo(x.dtype).eps
        near = abs(got - wide) <= (2 * len(c) + 1) * eps * magnitude + 1e-40
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    assert (near | same).all()


def random_points(rng, shape, dtype):
    x = rng.uniform(-1.4, 1.4, shape).astype(dtype)
    flat = x.reshape(-1)
    flat[5::97], flat[6::97], flat[7::97] = np.nan, np.inf, -np.inf
    return x
