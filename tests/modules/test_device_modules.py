"""Users' kernels on a GPU: every kind of argument, every error, and what belongs to a module."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core

pytestmark = pytest.mark.gpu

SOURCE = r"""
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cooperative_groups.h>

struct Point { int id; float at[2]; double weight; };
enum Mode { ADD, SUBTRACT };

__constant__ float factors[2][3];
__device__ int hits;
__device__ Point last;
__managed__ int shared_with_host[2];

__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void scalars(double *out, bool b, int8_t c, uint16_t s, int i, uint64_t u, int64_t l,
                        float f, double d, Mode mode)
{
    out[0] = b; out[1] = c; out[2] = s; out[3] = i; out[4] = (double)(u >> 32); out[5] = (double)l;
    out[6] = f; out[7] = d; out[8] = mode;
}
__global__ void points(const Point *in, Point one, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = in[i].id + in[i].at[1] + (float)one.weight;
    if (i == 0) last = one;
}
__global__ void is_null(const void *p, int *out) { *out = p == nullptr; }
__global__ void vectors(float4 *x) { x[threadIdx.x].w += 1; }
template <typename type, int n> __global__ void fill(type *x)
{
    x[threadIdx.x] = n;
    if (threadIdx.x == 0) hits = n;
}
namespace shop { namespace deep {
__global__ void count(int *x) { atomicAdd(x, 1); atomicAdd(&hits, 1); }
} }
namespace one { __global__ void twin(int *x) { *x = 1; } }
namespace two { __global__ void twin(int *x) { *x = 2; } }
extern "C" __global__ void c_name(int *x) { *x = 7; }
__global__ void use_factors(float *out)
{
    out[threadIdx.x] = factors[threadIdx.x / 3][threadIdx.x % 3];
}
__global__ void use_managed(int *out) { out[0] = shared_with_host[1]; shared_with_host[0] = 5; }
__global__ void reverse(int *x, int n)
{
    extern __shared__ int held[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) held[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = held[n - 1 - i];
}
__global__ void everybody(int *counter, int *seen)
{
    if (threadIdx.x == 0) atomicAdd(counter, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) seen[blockIdx.x] = *(volatile int *)counter;
}
__global__ void ranks(unsigned *out)
{
    auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x == 0) out[blockIdx.x] = 10 * cluster.num_blocks() + cluster.block_rank();
}
__global__ void slow(int *x, int64_t cycles)
{
    int64_t start = clock64();
    while (clock64() - start < cycles) {}
    *x += 1;
}
__global__ void say(int x) { printf("value %d\n", x); }
__global__ __launch_bounds__(128) void bounded(int *x) { *x = blockDim.x; }

static void host_only(std::vector<float> &h) { for (float &v : h) v *= 2; }
int main()
{
    std::vector<float> h(64, 1.f);
    float *d;
    cudaMalloc(&d, 256);
    saxpy<<<1, 64>>>(d, d, 64, 2.f);
    host_only(h);
    return 0;
}
"""


@pytest.fixture(scope="module")
def m():
    return gm.load(source=SOURCE, name="mine.cu", backend="cuda")


@pytest.fixture
def xy(rng):
    return rng.random(1000, np.float32), rng.random(1000, np.float32)


def test_a_gpu_is_the_default(m):
    assert gm.load(source=SOURCE).backend == "cuda"
    assert m.backend == "cuda"
    assert {"saxpy", "shop::deep::count", "one::twin", "c_name"} <= set(m.kernels)
    assert m.templates == ("fill",)
    assert [str(p) for p in m["saxpy"].parameters] == [
        "const float *x", "float *y", "int n", "float a",
    ]  # fmt: skip


# ---- arguments -----------------------------------------------------------------------------------


def test_host_arrays_are_copied_there_and_back(m, xy):
    x, y = xy
    want = np.float32(2.5) * x + y
    m["saxpy"][4, 256](x, y, 1000, 2.5)
    assert np.allclose(y, want)


@pytest.mark.parametrize("scalar", [2, 2.0, np.float32(2), np.float64(2), np.int64(2)])
def test_device_arrays_and_scalars(m, xy, scalar):
    x, y = (gm.to_device(one) for one in xy)
    for _ in range(2):  # the second call takes the short way
        m["saxpy"][(4, 1), (256, 1, 1)](x, y, np.int32(1000), scalar)
    assert np.allclose(y.to_host(), 4 * xy[0] + xy[1])
    assert np.array_equal(x.to_host(), xy[0])


def test_host_and_device_arrays_together(m, xy):
    x, y = gm.to_device(xy[0]), xy[1].copy()
    m["saxpy"][4, 256](x, y, 1000, 1)
    assert np.allclose(y, xy[0] + xy[1])


def test_views_of_device_arrays(m, xy):
    y = gm.to_device(xy[1])
    m["saxpy"][2, 256](y[500:], y[:500], 500, 1.0)
    assert np.allclose(y.to_host()[:500], xy[1][:500] + xy[1][500:])


def test_arrays_of_pytorch(m, xy):
    torch = pytest.importorskip("torch")
    x, y = (torch.from_numpy(one).cuda() for one in xy)
    for _ in range(3):
        m["saxpy"][4, 256](x, y, 1000, 1.0)
    assert np.allclose(y.cpu().numpy(), 3 * xy[0] + xy[1])
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y2 = torch.zeros(1000, device="cuda")
        m["saxpy"][4, 256, side](x, y2, 1000, 1.0)
        total = y2.sum()
    side.synchronize()
    assert np.isclose(total.item(), xy[0].sum(), rtol=1e-4)
    host = torch.zeros(1000)
    m["saxpy"][4, 256](x, host, 1000, 1.0)
    assert np.allclose(host.numpy(), xy[0])


def test_arrays_of_cupy(m, xy):
    cupy = pytest.importorskip("cupy")
    x, y = (cupy.asarray(one) for one in xy)
    for _ in range(3):
        m["saxpy"][4, 256](x, y, 1000, 1.0)
    assert np.allclose(cupy.asnumpy(y), 3 * xy[0] + xy[1])
    stream = cupy.cuda.Stream(non_blocking=True)
    m["saxpy"][4, 256, stream](x, y, 1000, 1.0)
    stream.synchronize()
    assert np.allclose(cupy.asnumpy(y), 4 * xy[0] + xy[1])


def test_arrays_of_numba(m, xy):
    cuda = pytest.importorskip("numba.cuda")
    x, y = (cuda.to_device(one) for one in xy)
    for _ in range(3):
        m["saxpy"][4, 256](x, y, 1000, 1.0)
    assert np.allclose(y.copy_to_host(), 3 * xy[0] + xy[1])


def test_scalars_of_every_type(m):
    out = np.zeros(9)
    m["scalars"][1, 1](out, True, -5, 65535, -(2**31), 2**63, -(2**53), 1.5, 0.1, 1)
    assert out.tolist() == [1, -5, 65535, -(2**31), 2**31, -(2**53), 1.5, 0.1, 1]
    out = gm.to_device(np.zeros(9))
    m["scalars"][1, 1](out, np.True_, np.int8(-5), np.uint16(65535), np.int32(-(2**31)),
                       np.uint64(2**63), np.int64(-(2**53)), np.float32(1.5), np.float64(0.1),
                       np.int32(1))  # fmt: skip
    assert out.to_host().tolist() == [1, -5, 65535, -(2**31), 2**31, -(2**53), 1.5, 0.1, 1]


POINT = np.dtype([("id", "i4"), ("at", "f4", 2), ("weight", "f8")], align=True)


def test_structs(m):
    given = np.array([(i, (0, i / 2), 0) for i in range(4)], POINT)
    one = np.array((9, (8, 7), 6.0), POINT)[()]
    for place in (given, gm.to_device(given)):
        for value in (one, one.tobytes()):
            out = np.zeros(4, np.float32)
            m["points"][1, 4](place, value, out, 4)
            assert out.tolist() == [6, 7.5, 9, 10.5]
    assert gm.get_symbol(m, "last").view(POINT) == one


def test_null_pointers_and_empty_arrays(m):
    out = np.zeros(1, np.int32)
    m["is_null"][1, 1](None, out)
    assert out[0] == 1
    m["is_null"][1, 1](gm.to_device(np.zeros(1)), out)
    assert out[0] == 0
    m["is_null"][1, 1](gm.to_device(np.zeros(0)), out)
    assert out[0] == 1


def test_vector_types(m):
    x = gm.to_device(np.zeros((5, 4), np.float32))
    for _ in range(2):
        m["vectors"][1, 5](x)
    assert x.to_host()[:, 3].tolist() == [2] * 5
    with pytest.raises(TypeError, match=r"vectors: float4 \*x takes an array of elements of 16"):
        m["vectors"][1, 1](gm.to_device(np.zeros(3, "S3")))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("x", "y", 5), TypeError, r"saxpy takes 4 arguments .* and was given 3"),
        (("x", "y", 5, 1.0, 2), TypeError, r"given 5"),
        (("x", "y", 5.0, 1.0), TypeError, r"saxpy: int n takes an integer, not 5.0"),
        (("x", "y", 2**31, 1.0), ValueError, r"int n cannot be 2147483648"),
        (("x", "y", 5, "1"), TypeError, r"float a takes a number"),
        (("x", "y", True, 1.0), TypeError, r"int n takes an integer, not True"),
        ((1, "y", 5, 1.0), TypeError, r"const float \*x takes an array of float32"),
        (("d", "y", 5, 1.0), TypeError, r"float32, not an array of float64"),
        (("s", "y", 5, 1.0), TypeError, r"array of backend 'sim'"),
    ],
)
def test_wrong_arguments(m, args, error, message):
    arrays = {
        "x": gm.to_device(np.zeros(8, np.float32)),
        "y": gm.to_device(np.zeros(8, np.float32)),
        "d": gm.to_device(np.zeros(8)),
        "s": gm.to_device(np.zeros(8, np.float32), backend="sim"),
    }
    given = [arrays.get(one, one) if isinstance(one, str) else one for one in args]
    with pytest.raises(error, match=message):
        m["saxpy"][1, 8](*given)


def test_read_only_arrays(m):
    host = np.zeros(8, np.float32)
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        m["saxpy"][1, 8](host, host, 8, 1.0)

    class ReadOnly:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = dict(array.__cuda_array_interface__)
            self.__cuda_array_interface__["data"] = (array.pointer, True)

    lent = ReadOnly(gm.to_device(np.ones(8, np.float32)))
    out = np.zeros(8, np.float32)
    m["saxpy"][1, 8](lent, out, 8, 1.0)
    assert out.tolist() == [1] * 8
    with pytest.raises(ValueError, match=r"float \*y was given a read-only array"):
        m["saxpy"][1, 8](out, lent, 8, 1.0)


def test_a_wrong_launch_is_an_error_and_the_next_works(m):
    out = gm.to_device(np.zeros(1, np.int32))
    with pytest.raises(gm.CudaError, match=r"bounded \(grid 1 x 1 x 1, block 256"):
        m["bounded"][1, 256](out)
    with pytest.raises(ValueError, match=r"reverse would need 1048576 bytes of shared memory"):
        m["reverse"][1, 32, None, 2**20](out, 1)
    m["bounded"][1, 128](out)
    assert out.to_host()[0] == 128


def test_names(m):
    out = np.zeros(1, np.int32)
    m["count"][2, 32](out)
    assert out[0] == 64
    m["two::twin"][1, 1](out)
    assert out[0] == 2
    m["c_name"][1, 1](out)
    assert out[0] == 7
    with pytest.raises(KeyError, match="several: one::twin, two::twin"):
        m["twin"]
    with pytest.raises(KeyError, match="saxpi"):
        m["saxpi"]
    with pytest.raises(KeyError, match="fill is a template"):
        m["fill"]


# ---- templates and variables -------------------------------------------------------------------


def test_templates_and_what_variables_hold(m):
    module = gm.load(source=SOURCE, backend="cuda")
    count = module["count"]
    count[1, 32](np.zeros(1, np.int32))
    fill = module["fill<double, 42>"]
    assert gm.get_symbol(module, "hits") == 32
    out = np.zeros(8)
    fill[1, 8](out)
    assert out.tolist() == [42] * 8
    module["fill< unsigned char ,7 >"][1, 1](np.zeros(1, np.uint8))
    assert gm.get_symbol(module, "hits") == 7
    count[1, 32](np.zeros(1, np.int32))  # of before: it sees the same variables
    assert gm.get_symbol(module, "hits") == 39
    with pytest.raises(TypeError, match=r"fill<double, 42>: type \*x takes an array of float64"):
        fill[1, 1](np.zeros(1, np.float32))
    with pytest.raises(gm.CompileError):
        module["fill<no_such_type, 1>"]


def test_symbols(m):
    want = np.arange(6, dtype=np.float32).reshape(2, 3)
    gm.set_symbol(m, "factors", want)
    assert np.array_equal(gm.get_symbol(m, "factors"), want)
    out = np.zeros(6, np.float32)
    m["use_factors"][1, 6](out)
    assert np.array_equal(out, want.ravel())
    gm.set_symbol(m, "hits", 5)
    assert gm.get_symbol(m, "hits") == 5
    for value, error in [([1, 2], ValueError), (1.5, TypeError)]:
        with pytest.raises(error):
            gm.set_symbol(m, "hits", value)
    with pytest.raises(KeyError):
        gm.get_symbol(m, "misses")
    assert m.symbols["factors"] == (np.dtype("f4"), (2, 3))


def test_managed_symbols(m):
    gm.set_symbol(m, "shared_with_host", [1, 2])
    out = np.zeros(1, np.int32)
    m["use_managed"][1, 1](out)
    assert out[0] == 2
    assert gm.get_symbol(m, "shared_with_host").tolist() == [5, 2]


def test_modules_of_the_same_source_have_their_own_variables():
    first, second = (gm.load(source=SOURCE, backend="cuda") for _ in range(2))
    gm.set_symbol(first, "hits", 3)
    second["count"][1, 1](np.zeros(1, np.int32))
    assert (gm.get_symbol(first, "hits"), gm.get_symbol(second, "hits")) == (3, 1)


# ---- launches ------------------------------------------------------------------------------------


def test_streams(m):
    stream = gm.Stream(backend="cuda")
    x = gm.to_device(np.zeros(1, np.int32))
    for _ in range(5):
        m["slow"][1, 1, stream](x, 10**6)
    assert x.to_host(stream=stream)[0] == 5
    with pytest.raises(TypeError, match="stream must be"):
        m["slow"][1, 1, "fast"](x, 1)
    with pytest.raises(ValueError, match="stream belongs to backend"):
        m["slow"][1, 1, gm.Stream(backend="sim")](x, 1)


def test_large_dynamic_shared_memory(m):
    for n in (1000, 50 * 1024, 12 * 1024, 55 * 1024):
        x = np.arange(n, dtype=np.int32)
        m["reverse"][1, 256, None, 4 * n](x, n)
        assert np.array_equal(x, np.arange(n)[::-1])


def test_cooperative_launches(m):
    counter, seen = np.zeros(1, np.int32), np.zeros(64, np.int32)
    m["everybody"].launch(64, 64, cooperative=True)(counter, seen)
    assert seen.tolist() == [64] * 64
    with pytest.raises(gm.CudaError, match=r"(?i)cooperative"):
        m["everybody"].launch(10**6, 1024, cooperative=True)(counter, seen)


@pytest.mark.parametrize(("cluster", "blocks"), [(2, 2), ((4, 1), 4), (8, 8), (16, 16)])
def test_clusters(m, cluster, blocks):
    out = np.zeros(32, np.uint32)
    m["ranks"].launch(32, 32, cluster=cluster)(out)
    assert out.tolist() == [10 * blocks + i % blocks for i in range(32)]


def test_attributes(m):
    found = m["saxpy"].attributes()
    assert set(found) == set(gm.variants("copy")[0].attributes(backend="cuda"))
    assert found["max_threads"] == 1024 and found["occupancy"] == 1
    assert m["bounded"].attributes()["max_threads"] == 128
    large = m["reverse"].attributes(256, shared_bytes=200 * 1024)
    assert large["blocks"] == 1


def test_printf_comes_out(m, capfd):
    m["say"][1, 1](41)
    gm.synchronize("cuda")
    ctypes.CDLL(None).fflush(None)
    assert "value 41" in capfd.readouterr().out


def test_threads_launch_side_by_side(m):
    results = []

    def work():
        x = gm.to_device(np.zeros(1, np.int32))
        for _ in range(100):
            m["count"][1, 32](x)
        results.append(int(x.to_host()[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert results == [3200] * 4


def test_options_are_heeded():
    text = "__global__ void k(int *x) { *x = A + B; }"
    module = gm.load(source=text, defines={"A": 1}, options=["-DB=2", "-O3"], backend="cuda")
    out = np.zeros(1, np.int32)
    module["k"][1, 1](out)
    assert out[0] == 3


# ---- both sides ----------------------------------------------------------------------------------


def test_observation_runs_on_the_simulator(m, xy):
    module = gm.load(source=SOURCE, backend="cuda")
    gm.set_symbol(module, "hits", 10)
    x, y = gm.to_device(xy[0]), gm.to_device(xy[1])
    counted = module["saxpy"][4, 256].observe((x, y, 1000, 2.0))
    assert counted["sites"] and counted["kernels"][0]["name"] == "saxpy"
    assert np.allclose(y.to_host(), 2 * xy[0] + xy[1])
    host = np.zeros(1, np.int32)
    module["count"][1, 32].observe((host,))
    assert host[0] == 32
    assert gm.get_symbol(module, "hits") == 42
    module["fill<float, 3>"][1, 8].observe((gm.to_device(np.zeros(8, np.float32)),))
    assert gm.get_symbol(module, "hits") == 3
    with pytest.raises(ValueError, match="overlaps another"):
        module["saxpy"][1, 8].observe((y[4:12], y[:8], 8, 1.0))
    with pytest.raises(ValueError, match="not contiguous"):
        module["saxpy"][1, 8].observe((x[::2], y, 8, 1.0))


def test_addresses_inside_of_structs_cannot_be_observed():
    module = gm.load(
        source="""
        struct list { int n; float *x; };
        __global__ void fill(list one) { one.x[threadIdx.x] = one.n; }
        """,
        backend="cuda",
    )
    x = gm.to_device(np.zeros(4, np.float32))
    one = np.array((3, x.pointer), np.dtype([("n", "i4"), ("x", "u8")], align=True))
    module["fill"][1, 4](one)
    assert x.to_host().tolist() == [3] * 4
    with pytest.raises(ValueError, match=rf"fill: list one was given the address {x.pointer:#x}"):
        gm.check(module["fill"][1, 4], one)


def test_results_are_the_simulator_s(m, xy):
    simulated = gm.load(source=SOURCE, backend="sim")
    ours, theirs = xy[1].copy(), xy[1].copy()
    m["saxpy"][4, 256](xy[0], ours, 1000, 0.5)
    simulated["saxpy"][4, 256](xy[0], theirs, 1000, 0.5)
    assert np.allclose(ours, theirs, rtol=1e-6)


def test_the_native_kernel_refuses_what_it_does_not_know(m):
    native = _core.DeviceKernel(1, "k", (("f", 4, True, False),), ("float *x",))
    d = gm.to_device(np.zeros(2, np.float32))
    size = (1, 1, 1)
    assert native.launch((d,), size, size, size, 0, None, False, False) is False
    assert native.launch((), size, size, size, 0, None, False, False) is False
    with pytest.raises(ValueError, match="no such parameter"):
        native.accept(1, d.dtype)
