"""Unions with vectors, which nvcc copies: named or not, local, shared, and as arguments."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from loading import load

from gpumem import CompileError

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
union Bytes { float4 vector; unsigned char bytes[16]; float f[4]; };
typedef union { int4 v; int i[4]; } Words;
union Halves { uint2 all; __half2 h[2]; __nv_bfloat162 b[2]; };
struct Point { union { float4 v; struct { float x, y, z, w; }; }; int n, unused[3]; };

__device__ float sum(Bytes b) { return b.f[0] + b.f[1] + b.f[2] + b.f[3]; }
__device__ Bytes made(float4 v) { Bytes b; b.vector = v; return b; }
__device__ float4 add(float4 a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__global__ void copies(const Bytes *in, Bytes *out, Words *words)
{
    int i = threadIdx.x;
    out[i] = in[i];
    Words one = words[i], other = one;
    other.i[1] = one.v.x;
    words[i] = other;
}
__global__ void uses(const float4 *in, Bytes *out, float *sums)
{
    int i = threadIdx.x;
    Bytes a = {in[i]}, b = a, one = {{1, 2, 3, 4}}, c;
    c = b;
    float4 *pointer = &c.vector, &same = c.vector;
    pointer->x += 1;
    same.y += 1;
    c.vector = add(c.vector, one.vector);
    float4 taken = c.vector;
    c.vector.w = taken.x;
    out[i] = c;
    sums[i] = sum(made(in[i]));
}
__global__ void in_other_places(Halves *halves, Point *points)
{
    __shared__ Halves tile[32];
    Halves mine = halves[threadIdx.x];
    mine.h[1] = __hadd2(mine.h[0], mine.h[1]);
    tile[threadIdx.x] = mine;
    __syncthreads();
    halves[threadIdx.x] = tile[31 - threadIdx.x];
    Point p = points[threadIdx.x];
    p.x = p.v.y;
    union { float4 f; int i[4]; } local = {make_float4(1, 2, 3, 4)}, more;
    more = local;
    p.n = more.i[2];
    points[threadIdx.x] = p;
}
"""


@functools.cache
def module():
    return load(source=SOURCE, name="unions.cu")


@pytest.fixture(params=["plain", "traced"])
def run(request):
    def call(*arguments):
        if request.param == "plain":
            module().run(*arguments)
        else:
            assert module().check(*arguments) is None

    return call


def test_copies(run, rng):
    x, words = rng.random((32, 4), np.float32), np.arange(128, dtype="i4").reshape(32, 4)
    out, want = np.zeros_like(x), words.copy()
    want[:, 1] = want[:, 0]
    run("copies", 1, 32, (x, out, words))
    assert np.array_equal(out, x) and np.array_equal(words, want)


def test_uses(run, rng):
    x = rng.integers(0, 9, (32, 4)).astype(np.float32)
    out, sums = np.zeros_like(x), np.zeros(32, np.float32)
    run("uses", 1, 32, (x, out, sums))
    want = x + np.array([2, 3, 3, 4], "f4")
    want[:, 3] = want[:, 0]
    assert np.array_equal(out, want) and np.array_equal(sums, x.sum(axis=1))


def test_in_other_places(run):
    halves = np.arange(128, dtype=np.float16).reshape(32, 4)
    points = np.zeros(32, np.dtype([("v", "f4", 4), ("n", "i4"), ("unused", "i4", 3)]))
    points["v"] = np.arange(128).reshape(32, 4)
    want = halves.copy()
    want[:, 2:] += want[:, :2]
    run("in_other_places", 1, 32, (halves, points))
    assert np.array_equal(halves, want[::-1])
    assert np.array_equal(points["v"][:, 0], points["v"][:, 1])
    assert (points["n"].view("f4") == 3).all()


def test_a_copy_is_one_access():
    arrays = np.zeros((32, 4), "f4"), np.zeros((32, 4), "f4"), np.zeros((32, 4), "i4")
    counted = module().traffic("copies", 1, 32, arrays)
    (line,) = (n for n, text in enumerate(SOURCE.splitlines(), 1) if "out[i] = in[i]" in text)
    sites = [(s["kind"], s["width"], s["requests"]) for s in counted["sites"] if s["line"] == line]
    assert sorted(sites) == [("load", 128, 1), ("store", 128, 1)]


def test_what_cannot_be_copied_is_an_error_in_the_words_of_the_source():
    text = """
    struct Four { float4 v; };
    union Either { Four four; float f[4]; float4 v; };
    __global__ void k(const Either *in, Either *out) { *out = *in; }
    """
    with pytest.raises(CompileError, match="Either") as caught:
        load(source=text).compile(traced=False)
    assert "gm_in_union" not in str(caught.value)
