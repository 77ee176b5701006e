"""Names of kernels and their parameters: how they are printed, and which of several is meant."""

from __future__ import annotations

import numpy as np
import pytest

import gpumem as gm


@pytest.mark.parametrize(
    "text",
    [
        "float (*rows)[4]",
        "const float *const *rows",
        "float *const (*rows)[4][2]",
        "int (*function)(int, float *)",
        "float x[]",
        "int x[][4]",
        "wide<float *, true> *x",
        "int (*(*nested)(int))[3]",
        "unsigned long long",
        "point point",
        "float *",
    ],
)
def test_parameters_are_printed_as_c_writes_them(text):
    module = gm.load(
        source=f"""
        namespace shapes {{ struct point {{ float x; }}; }}
        using shapes::point;
        template <typename T, bool b> struct wide {{ T x; }};
        __global__ void k({text}) {{}}
    """
    )
    assert [str(one) for one in module["k"].parameters] == [text]
    assert repr(module["k"]) == f"<kernel k({text})>"


def test_qualifiers_for_the_compiler_alone_are_not_printed():
    module = gm.load(
        source="__global__ void k(float*__restrict__*const x,int(*__restrict__ rows) [ 4 ]) {}"
    )
    assert repr(module["k"]) == "<kernel k(float **const x, int (*rows)[4])>"


def test_a_name_in_two_namespaces():
    module = gm.load(
        source="""
        namespace a { __global__ void k(int *x) { *x = 1; } }
        namespace b { __global__ void k(int *x) { *x = 2; } }
    """
    )
    with pytest.raises(KeyError, match=r'several: a::k, b::k; say which, as module\["a::k"\]'):
        module["k"]
    x = np.zeros(1, np.int32)
    module["b::k"][1, 1](x)
    assert x[0] == 2


OVERLOADS = """
    __global__ void scale(float *x, int n) { x[threadIdx.x] *= n; }
    __global__ void __launch_bounds__(32) scale(double *x, int n) { x[threadIdx.x] *= 10 * n; }
    template <typename T> __global__ void __launch_bounds__(64) scale(T *x) { x[threadIdx.x] = 7; }
    namespace shop {
    struct point { float x, y; };
    __global__ void put(point one, float *out);
    __global__ void put(point one, float *out) { *out = one.y; }
    __global__ void put(float (*rows)[4], unsigned int n) { rows[1][n] = 1; }
    }
    template <typename T> __global__ void fill(T *x) { *x = 1; }
    template <typename T> __global__ void fill(T *x, int n) { x[n] = 1; }
"""


def test_overloads_are_asked_for_by_their_parameters():
    module = gm.load(source=OVERLOADS)
    first, second = module["scale(float *, int)"], module["scale( double*,int )"]
    assert (first.name, second.name) == ("scale(float *, int)", "scale(double *, int)")
    assert [str(one) for one in second.parameters] == ["double *x", "int n"]
    x, y, z = np.ones(64, np.float32), np.ones(64), np.ones(64, np.float32)
    first[1, 64](x, 3)
    second[1, 32](y, 3)
    module["scale<float>"][1, 64](z)
    assert (x == 3).all() and (y[:32] == 30).all() and (z == 7).all()
    with pytest.raises(gm.SimulationError, match="__launch_bounds__"):
        module["scale<float>"][1, 65](np.ones(65, np.float32))
    rows, out = np.zeros((2, 4), np.float32), np.zeros(1, np.float32)
    module["put(float (*)[4], unsigned int)"][1, 1](rows, 2)
    module["shop::put(point, float *)"][1, 1](np.array([5, 6], np.float32), out)
    assert rows[1, 2] == 1 and out[0] == 6
    assert gm.traffic(second[1, 32], y, 1).loads.requests == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "scale",
            r'scale\(float \*, int\), scale\(double \*, int\); say which, as module\["scale\(f',
        ),
        (
            "shop::put",
            r"several: shop::put\(point, float \*\), shop::put\(float \(\*\)\[4\], unsi",
        ),
        ("scale(int *)", r"no kernel 'scale\(int \*\)'; it has: .*Did you mean 'scale\("),
        ("fill<int>", r"several: fill\(T \*\), fill\(T \*, int\); .*different names in the source"),
        ("fill", r"fill is a template"),
    ],
)
def test_overloads_that_are_not_told_apart(name, words):
    with pytest.raises(KeyError, match=words):
        gm.load(source=OVERLOADS)[name]
