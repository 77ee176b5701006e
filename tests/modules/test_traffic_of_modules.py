"""Traffic of users' kernels: counted by source line, printed, saved and drawn as a family's."""

import json

import numpy as np
import pytest

import gpumem as gm

SOURCE = """
__global__ void scale(float *x, int stride)
{
    x[threadIdx.x * stride] *= 2;
}

__global__ void column(float *x)
{
    extern __shared__ float tile[];
    tile[threadIdx.x * 32] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x * 32];
}

template <typename T> __global__ void fill(T *x)
{
    x[(blockIdx.y * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] = 1;
}
"""


@pytest.fixture(scope="module")
def module():
    return gm.load(source=SOURCE, name="folder/mine.cu", backend="sim")


@pytest.mark.parametrize(("stride", "sectors", "efficiency"), [(1, 4, 1), (8, 32, 0.125)])
def test_global_memory(module, stride, sectors, efficiency):
    x = np.arange(32 * stride, dtype="f4")
    found = gm.traffic(module["scale"][1, 32], x, stride)
    for access in (found.loads, found.stores):
        assert (access.sectors_per_request, access.efficiency) == (sectors, efficiency)
    assert [site["line"] for site in found.sites] == [4, 4]
    assert found.result is None and x[stride] == 2 * stride


def test_shared_memory_and_barriers(module):
    found = gm.traffic(module["column"][1, 64, None, 8192], np.ones(64, "f4"))
    assert found.shared.bank_ways == 32 and found.barriers == 1
    assert (found.threads, found.warps, found.shared_bytes) == (64, 2, 8192)


def test_names(module):
    found = gm.traffic(module["fill<int>"][(1, 2), (8, 4)], np.zeros(64, "i4"))
    assert (found.family, found.variant) == ("folder/mine.cu", "fill<int>")
    assert found.name == "fill<int> of mine.cu"
    assert (found.grid, found.block) == ((1, 2, 1), (8, 4, 1))
    assert str(found).startswith("fill<int> of mine.cu: grid 1 x 2 x 1, block 8 x 4 x 1: 64 thr")
    assert not found.helpers()


def test_json_and_drawing(module):
    found = gm.traffic(module["scale"][1, 32], np.ones(256, "f4"), 8)
    assert json.loads(found.to_json()) == json.loads(json.dumps(found.to_dict()))
    assert found.draw().get_title().startswith("scale, mine.cu:4")


def test_keywords_of_families_are_refused(module):
    for given in ({"shape": 3}, {"variant": "vec4"}, {"dtype": "f4"}, {"stride": 2}):
        with pytest.raises(TypeError, match=f"no {next(iter(given))}="):
            gm.traffic(module["scale"][1, 32], np.ones(32, "f4"), 1, **given)


def test_wrong_arguments_and_wrong_kernels(module):
    with pytest.raises(TypeError, match="scale takes 2 arguments"):
        gm.traffic(module["scale"][1, 32], np.ones(32, "f4"))
    with pytest.raises(gm.SimulationError, match=r"mine\.cu:4"):
        gm.traffic(module["scale"][1, 32], np.ones(31, "f4"), 1)
