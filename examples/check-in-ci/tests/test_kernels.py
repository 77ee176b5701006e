"""The kernels, checked on any machine: neither a GPU nor the CUDA toolkit is needed.

Three of them are wrong on purpose. Run ``python -m pytest --runxfail`` to see what is said of them.
"""

from pathlib import Path

import numpy as np
import pytest

import gpumem as gm

KERNELS = Path(__file__).resolve().parent.parent / "kernels"


def kernel(name):
    return gm.load(KERNELS / f"{name}.cu")[name]


def matrix(rows, cols):
    return np.arange(rows * cols, dtype="float32").reshape(rows, cols)


def test_saxpy():
    n = 1000  # no multiple of a block
    x, y = np.linspace(0, 1, n, dtype="float32"), np.ones(n, "float32")
    report = gm.check(kernel("saxpy")[4, 256], x, y, n, 2.0, max_sectors=4, min_efficiency=0.9)
    assert report.ok, str(report)
    np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6)


def test_block_sums():
    values, sums = np.ones(1000, "float32"), np.zeros(4, "float32")
    launch = kernel("block_sums")[4, 256, None, 256 * 4]  # stream, bytes of shared memory
    report = gm.check(launch, values, sums, 1000, max_bank_ways=1)
    assert report.ok, str(report)
    np.testing.assert_array_equal(sums, [256, 256, 256, 232])


@pytest.mark.xfail(strict=True, reason="no barrier between clearing the bins and counting")
def test_histogram():
    values = np.arange(4096)[::-1].astype("uint8")
    counts = np.zeros(256, "uint32")
    report = gm.check(kernel("histogram")[4, 256], values, counts, 4096)
    assert report.ok, str(report)
    np.testing.assert_array_equal(counts, np.full(256, 16))


@pytest.mark.xfail(strict=True, reason="writes columns: 32 sectors for 32 words")
def test_transpose():
    rows, cols = 64, 96
    values, out = matrix(rows, cols), np.zeros((cols, rows), "float32")
    launch = kernel("transpose")[(3, 8), (32, 8)]
    report = gm.check(launch, values, out, rows, cols, max_sectors=4)
    np.testing.assert_array_equal(out, values.T)
    assert report.ok, str(report)


@pytest.mark.xfail(strict=True, reason="reads columns of the tile, which are in one bank")
def test_transpose_tiled():
    rows, cols = 64, 96
    values, out = matrix(rows, cols), np.zeros((cols, rows), "float32")
    launch = kernel("transpose_tiled")[(3, 2), (32, 32)]
    report = gm.check(launch, values, out, rows, cols, max_sectors=4, max_bank_ways=1)
    np.testing.assert_array_equal(out, values.T)
    assert report.ok, str(report)
