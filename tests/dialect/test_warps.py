"""Shuffles, votes, matches, reductions and barriers with a predicate, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from both_ways import both_ways
from loading import load

from gpumem import CompileError

TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long": np.int64,
    "unsigned long": np.uint64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}

SHUFFLES = """
__global__ void shuffles_{name}({type} *out, const {type} *x, int by, int width)
{{
    int t = threadIdx.x;
    out[t] = __shfl_sync(0xffffffff, x[t], by, width);
    out[32 + t] = __shfl_up_sync(0xffffffff, x[t], by, width);
    out[64 + t] = __shfl_down_sync(0xffffffff, x[t], by, width);
    out[96 + t] = __shfl_xor_sync(0xffffffff, x[t], by, width);
    out[128 + t] = __shfl_sync(0xffffffff, x[t], by);
    out[160 + t] = __shfl_xor_sync(0xffffffff, x[t], by);
}}
__global__ void match_{name}(unsigned *out, const {type} *x)
{{
    int t = threadIdx.x, all = -1;
    out[t] = __match_any_sync(0xffffffff, x[t]);
    out[32 + t] = __match_all_sync(0xffffffff, x[t], &all);
    out[64 + t] = all;
    unsigned half = t < 16 ? 0x0000ffff : 0xffff0000;
    out[96 + t] = __match_all_sync(half, x[t], &all);
    out[128 + t] = all;
}}
"""

OTHERS = """
__global__ void votes(unsigned *out, const int *x)
{
    int t = threadIdx.x;
    out[t] = __ballot_sync(0xffffffff, x[t]);
    out[32 + t] = __any_sync(0xffffffff, x[t]);
    out[64 + t] = __all_sync(0xffffffff, x[t]);
    unsigned half = t < 16 ? 0x0000ffff : 0xffff0000;
    out[96 + t] = __ballot_sync(half, x[t]);
    out[128 + t] = __any_sync(half, x[t]);
    out[160 + t] = __all_sync(half, x[t]);
}
__global__ void reductions(int *out, unsigned *uout, const int *x)
{
    int t = threadIdx.x;
    unsigned u = x[t];
    out[t] = __reduce_add_sync(0xffffffff, x[t]);
    out[32 + t] = __reduce_min_sync(0xffffffff, x[t]);
    out[64 + t] = __reduce_max_sync(0xffffffff, x[t]);
    uout[t] = __reduce_add_sync(0xffffffff, u);
    uout[32 + t] = __reduce_min_sync(0xffffffff, u);
    uout[64 + t] = __reduce_max_sync(0xffffffff, u);
    uout[96 + t] = __reduce_and_sync(0xffffffff, u);
    uout[128 + t] = __reduce_or_sync(0xffffffff, u);
    uout[160 + t] = __reduce_xor_sync(0xffffffff, u);
}
__global__ void blocks(int *out, const int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __syncthreads_count(x[i]);
    out[n + i] = __syncthreads_and(x[i]);
    out[2 * n + i] = __syncthreads_or(x[i]);
}
__global__ void active(unsigned *out)
{
    unsigned all = __activemask();
    unsigned odd = threadIdx.x % 2 ? __activemask() : 0;
    out[threadIdx.x] = all;
    out[blockDim.x + threadIdx.x] = odd;
}
/* 40 threads: the second warp has 8 lanes. */
__global__ void partial(int *out, const int *x)
{
    int t = threadIdx.x;
    out[t] = __ballot_sync(0xffffffff, x[t] >= 0);
    int all = 0;
    __match_all_sync(0xffffffff, 7, &all);
    out[40 + t] = all;
    out[80 + t] = __reduce_add_sync(0xffffffff, 1);
    out[120 + t] = __all_sync(0xffffffff, 1);
}
/* A reduction over 8 lanes that shuffles down without a width. */
__global__ void tail(int *out, const int *x)
{
    int t = threadIdx.x, sum = x[t];
    if (t < 8) {
        for (int delta = 4; delta > 0; delta /= 2) {
            sum += __shfl_down_sync(0xff, sum, delta);
        }
    }
    out[t] = sum;
}
__global__ void sources(int *out, int mask, int by, int how, int width)
{
    int t = threadIdx.x, got = 0;
    if (mask >> t & 1) {
        switch (how) {
        case 0: got = __shfl_sync(mask, t, by, width); break;
        case 1: got = __shfl_up_sync(mask, t, by, width); break;
        case 2: got = __shfl_down_sync(mask, t, by, width); break;
        default: got = __shfl_xor_sync(mask, t, by, width);
        }
    }
    out[t] = got;
}
"""


SOURCE = "".join(SHUFFLES.format(name=t.replace(" ", "_"), type=t) for t in TYPES) + OTHERS


module, run = both_ways(SOURCE, "warps.cu")


@pytest.mark.parametrize("width", [1, 2, 8, 32])
@pytest.mark.parametrize("by", [0, 1, 5, 31])
@pytest.mark.parametrize("type_", TYPES)
def test_shuffles(run, rng, type_, by, width):
    x = rng.integers(0, 1 << 20, 32).astype(TYPES[type_])
    out = np.zeros((6, 32), TYPES[type_])
    run(f"shuffles_{type_.replace(' ', '_')}", 1, 32, (out, x, by, width))
    lane = np.arange(32)
    first = lane - lane % width
    up = np.where(lane - by >= first, lane - by, lane)
    down = np.where(lane + by < first + width, lane + by, lane)
    xor = np.where((lane ^ by) < first + width, lane ^ by, lane)
    sources = (first + by % width, up, down, xor, by + 0 * lane, lane ^ by)
    for row, source in zip(out, sources, strict=True):
        assert np.array_equal(row, x[source])


def masks(x, lanes):
    """Of the lanes with the value of each lane, among those in `lanes`."""
    return [sum(1 << int(j) for j in lanes if x[j] == x[i]) for i in lanes]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("values", [1, 3])
def test_matches(run, rng, type_, values):
    x = rng.integers(0, values, 32).astype(TYPES[type_])
    x[:16] = 1
    x[16] = values
    out = np.zeros((5, 32), np.uint32)
    run(f"match_{type_.replace(' ', '_')}", 1, 32, (out, x))
    assert out[0].tolist() == masks(x, range(32))
    assert not out[1].any() and not out[2].any()
    assert out[3, :16].tolist() == 16 * [0xFFFF] and out[4, :16].all()
    same = len(set(x[16:].tolist())) == 1
    assert out[3, 16:].tolist() == 16 * [same * 0xFFFF0000] and (out[4, 16:] == same).all()


@pytest.mark.parametrize("kind", ["none", "all", "some", "half"])
def test_votes(run, rng, kind):
    x = {"none": np.zeros(32), "all": np.full(32, 2), "some": rng.integers(0, 2, 32)}.get(
        kind, np.arange(32) // 16
    )
    x = x.astype(np.int32)
    out = np.zeros((6, 32), np.uint32)
    run("votes", 1, 32, (out, x))
    ballot = sum(1 << i for i in range(32) if x[i])
    halves = np.repeat([0xFFFF, 0xFFFF0000], 16)
    assert (out[0] == ballot).all()
    assert (out[1] == x.any()).all() and (out[2] == x.all()).all()
    assert (out[3] == (ballot & halves)).all()
    assert (out[4] == np.repeat(x.reshape(2, 16).any(axis=1), 16)).all()
    assert (out[5] == np.repeat(x.reshape(2, 16).all(axis=1), 16)).all()


def test_reductions(run, rng):
    x = rng.integers(-(2**31), 2**31, 32).astype(np.int32)
    out, uout = np.zeros((3, 32), np.int32), np.zeros((6, 32), np.uint32)
    run("reductions", 1, 32, (out, uout, x))
    u = x.view(np.uint32)
    assert (out.T == [np.add.reduce(x, dtype=np.int32), x.min(), x.max()]).all()
    bits = [f.reduce(u) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
    assert (uout.T == [np.add.reduce(u, dtype=np.uint32), u.min(), u.max(), *bits]).all()


def test_barriers_with_a_predicate(run):
    x = np.zeros((4, 64), np.int32)
    x[1], x[2, 5], x[3, ::3] = 1, 7, -1
    out = np.zeros((3, 4, 64), np.int32)
    run("blocks", 4, 64, (out, x))
    assert (out[0] == (x != 0).sum(axis=1, keepdims=True)).all()
    assert ((out[1] != 0) == (x != 0).all(axis=1, keepdims=True)).all()
    assert ((out[2] != 0) == (x != 0).any(axis=1, keepdims=True)).all()


def test_active_lanes(run):
    out = np.zeros((2, 48), np.uint32)
    run("active", 1, 48, (out,))
    assert out[0].tolist() == 32 * [0xFFFFFFFF] + 16 * [0xFFFF]
    assert out[1].tolist() == 16 * [0, 0xAAAAAAAA] + 8 * [0, 0xAAAA]


def test_a_warp_with_fewer_lanes(run):
    out = np.zeros((4, 40), np.int32)
    run("partial", 1, 40, (out, np.arange(40, dtype=np.int32)))
    assert out[0].tolist() == 32 * [-1] + 8 * [0xFF]
    assert (out[1] == 1).all() and (out[3] != 0).all()
    assert out[2].tolist() == 32 * [32] + 8 * [8]


def test_a_tail_that_nobody_uses_is_no_error(run):
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    run("tail", 1, 32, (out, x))
    assert out[0] == x[:8].sum() and np.array_equal(out[8:], x[8:])


@pytest.mark.parametrize(
    ("mask", "by", "how", "width", "threads"),
    [
        (0x0000FFFF, 16, 0, 32, 32),  # index
        (0x0000FFFF, 16, 2, 32, 32),  # down: the lowest lane too
        (0x0F0F, 4, 2, 32, 32),  # down, into a hole
        (0xFFFF0000 - (1 << 32), 16, 1, 32, 32),  # up: the highest lane too
        (0x0F0F, 4, 1, 32, 32),  # up, into a hole
        (0x00FF, 8, 3, 32, 32),  # xor
        (0xFFFF, 16, 2, 32, 16),  # lanes that the block does not have
        (-1, 12, 0, 32, 8),
    ],
)
def test_sources_that_do_not_take_part_are_found(mask, by, how, width, threads):
    arguments = (np.zeros(32, np.int32), mask, by, how, width)
    finding = module().check("sources", 1, threads, arguments)
    assert "does not take part" in str(finding)
    assert "_sync(mask" in SOURCE.splitlines()[finding.line - 1]
    with pytest.raises(type(finding), match="does not take part"):
        module().run("sources", 1, threads, arguments)


def test_a_wrong_width_is_found():
    finding = module().check("sources", 1, 32, (np.zeros(32, np.int32), -1, 1, 0, 12))
    assert "power of two" in str(finding)


LEGACY = ["__shfl(1, 2)", "__shfl_up(1, 2)", "__shfl_down(1, 2)", "__shfl_xor(1, 2)",
          "__ballot(1)", "__any(1)", "__all(1)"]  # fmt: skip


@pytest.mark.parametrize("call", LEGACY)
def test_names_without_sync_are_refused(call):
    source = f"__global__ void k(int *out)\n{{\n    {call};\n}}\n"
    name = call.split("(")[0]
    with pytest.raises(CompileError, match=rf"legacy\.cu:3:.*{name}(.|\n)*use {name}_sync"):
        load(source=source, name="legacy.cu").kernels()
