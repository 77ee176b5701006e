"""A run under observation that is to find all, and not only the first."""

from __future__ import annotations

import numpy as np
import pytest

import gpumem as gm

SOURCE = r"""
__global__ void many(float *out, const float *in, int n)
{
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = in[i];
    float own = s[63 - i];
    float unset;
    if (n > 3) {
        own += unset;
    }
    if (blockIdx.x == 1) {
        out[64 * gridDim.x + i] = own;
    }
    out[64 * blockIdx.x + i] = own;
    if (i == 5) {
        out[64 * blockIdx.x + 6] = 0;
    }
}

__global__ void outside(float *out, int first)
{
    if ((int)blockIdx.x >= first) {
        out[-1] = 0;
    }
    out[blockIdx.x] = 1;
}

__global__ void waits_for_one_that_stopped(int *flag)
{
    if (blockIdx.x == 0) {
        flag[1000] = 0;
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
    }
}

__global__ void never(int *flag)
{
    while (atomicAdd(flag, 0) == 0) {
    }
}

__global__ void stops_half_way(float *out)
{
    __shared__ float s[32];
    s[threadIdx.x] = 1;
    if (blockIdx.x % 2 == 0) {
        s[threadIdx.x + 32] = 1;
    }
    __syncthreads();
    out[32 * blockIdx.x + threadIdx.x] = s[31 - threadIdx.x];
}

__global__ void clean(float *out, const float *in)
{
    out[threadIdx.x] = in[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def module():
    return gm.load(source=SOURCE, name="findings.cu")


def line_of(text, nth=0):
    return [i for i, line in enumerate(SOURCE.splitlines(), 1) if text in line][nth]


def find(launch, *args):
    return launch.observe(args, all_findings=True)


def test_finds_all_of_a_kernel(module):
    out, values = np.zeros(192, np.float32), np.ones(64, np.float32)
    report = find(module["many"][3, 64], out, values, 5)
    found = {(one["rule"], one["line"]): one for one in report["findings"]}
    race = found["race-shared", line_of("s[63 - i]")]
    assert race["other"] == ("findings.cu", line_of("s[i] = in[i]"))
    # Of the second block only the first thread, at which it stops.
    assert found["uninitialised", line_of("own += unset")]["count"] == 64 + 1 + 64
    outside = found["out-of-bounds", line_of("gridDim.x + i] = own")]
    assert outside["block"] == (1, 0, 0)
    assert outside["message"].startswith("store of 4 bytes out of bounds")
    raced = found["race-global", line_of("out[64 * blockIdx.x + i] = own")]
    assert raced["other"] == ("findings.cu", line_of("+ 6] = 0"))
    assert raced["count"] == 2  # the other block has stopped
    assert not report["cut"]


def test_says_nothing_of_a_clean_kernel(module):
    report = find(module["clean"][1, 32], np.zeros(32, np.float32), np.ones(32, np.float32))
    assert report["findings"] == []
    assert not report["cut"]
    assert sum(site["requests"] for site in report["sites"]) == 2


def test_other_blocks_run_where_one_has_stopped(module):
    out = np.zeros(64 * 32, np.float32)
    report = find(module["stops_half_way"][64, 32], out)
    (finding,) = report["findings"]
    assert (finding["rule"], finding["count"]) == ("out-of-bounds", 32)
    assert np.array_equal(out.reshape(64, 32).sum(axis=1), np.tile([0, 32], 32))


def test_is_cut_where_too_many_blocks_stop(module):
    report = find(module["outside"][1000, 1], np.zeros(1000, np.float32), 20)
    (finding,) = report["findings"]
    assert finding["count"] == 100
    assert report["cut"]


def test_blocks_that_wait_for_one_that_stopped_are_no_finding_of_their_own(module):
    report = find(module["waits_for_one_that_stopped"][3, 1], np.zeros(4, np.int32))
    assert [one["rule"] for one in report["findings"]] == ["out-of-bounds"]
    assert report["cut"]


def test_a_spin_that_never_ends_is_found(module):
    report = find(module["never"][3, 1], np.zeros(4, np.int32))
    assert [one["rule"] for one in report["findings"]] == ["endless"]


def test_the_next_run_knows_nothing_of_it(module):
    for _ in range(3):
        assert find(module["never"][3, 1], np.zeros(4, np.int32))["findings"]
        clean = find(module["clean"][1, 32], np.zeros(32, np.float32), np.ones(32, np.float32))
        assert clean["findings"] == []


def test_without_it_the_first_finding_stops_the_kernel(module):
    out, values = np.zeros(192, np.float32), np.ones(64, np.float32)
    with pytest.raises(gm.SimulationError) as caught:
        module["many"][3, 64].observe((out, values, 5))
    assert caught.value.rule in ("uninitialised", "race-shared")
    assert not out.any()


def test_the_error_names_rule_and_other_side(module):
    out, values = np.zeros(192, np.float32), np.ones(64, np.float32)
    with pytest.raises(gm.SimulationError) as caught:
        module["many"][3, 64].observe((out, values, 0))
    error = caught.value
    other = line_of("out[64 * blockIdx.x + i] = own")
    assert (error.rule, error.line) == ("race-global", other)
    assert error.other == ("findings.cu", line_of("+ 6] = 0"))
