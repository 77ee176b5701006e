"""Sources in many forms: what stands around kernels, types of parameters, values of variables."""

from pathlib import Path

import numpy as np
import pytest

import gpumem as gm

HABITS = Path(__file__).with_name("habits.cu")


@pytest.mark.parametrize("observed", [False, True])
def test_declarations_and_statements_of_all_forms(observed):
    module = gm.load(HABITS)
    assert list(module.kernels) == ["k"]
    assert set(module.symbols) == {
        *("flag", "flag2", "arr", "pos", "s_dev", "pi", "cn", "nodes", "man"),
    }
    a, b, c = np.zeros((3, 1, 4), np.float32)
    launch = module["k"][1, 1, None, 64]
    if observed:
        launch.observe((a, b, c, 0, 7))
    else:
        launch(a, b, c, 0, 7)
    assert (a[0, 0], b[0, 1]) == (10, 15)
    assert np.isclose(c[0, 0], 40.14)
    assert (gm.get_symbol(module, "flag"), gm.get_symbol(module, "flag2")) == (1, 2)


def test_symbols_take_whole_numbers_that_fit():
    module = gm.load(
        source="""
        __device__ unsigned int count; __device__ unsigned char small[2];
        __global__ void k() {}
    """
    )
    gm.set_symbol(module, "count", 2**32 - 1)
    gm.set_symbol(module, "small", [0, 255])
    assert gm.get_symbol(module, "count") == 2**32 - 1
    for name, value in (("count", -1), ("count", 2**32), ("small", [3, 256])):
        with pytest.raises(ValueError, match=f"{name} holds 0 to .*, and was given"):
            gm.set_symbol(module, name, value)
    assert gm.get_symbol(module, "small").tolist() == [0, 255]


def test_matrices_as_parameters(rng):
    module = gm.load(
        source="""
        #define N 4
        __global__ void matAdd(const float a[N][N], float (*b)[N], float c[][N]) {
            int i = threadIdx.x, j = threadIdx.y;
            c[i][j] = a[i][j] + b[i][j];
        }
    """
    )
    a, b, c = rng.standard_normal((3, 4, 4), dtype=np.float32)
    module["matAdd"][1, (4, 4)](a, b, c)
    assert np.array_equal(c, a + b)
    assert [one.written for one in module["matAdd"].parameters] == [False, True, True]
    with pytest.raises(TypeError, match="takes an array of float32"):
        module["matAdd"][1, 1](a, b.astype(np.float64), c)
