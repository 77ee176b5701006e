"""Textures and surfaces by object, against the programming guide's formulas in NumPy."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from loading import load

import gpumem as gm
from gpumem import surface, texture

BORDER = (7, 8, 9, 10)

SOURCE = """
__global__ void d1(float *out, const float *at, cudaTextureObject_t texture, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = tex1D<float>(texture, at[i]);
    }
}
__global__ void d2(float *out, const float2 *at, cudaTextureObject_t texture, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = tex2D<float>(texture, at[i].x, at[i].y);
    }
}
__global__ void d3(float *out, const float *at, cudaTextureObject_t texture, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        tex3D(&out[i], texture, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
    }
}
__global__ void layered(float *out, const float2 *at, cudaTextureObject_t texture, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = tex2DLayered<float>(texture, at[i].x, at[i].y, i % 3);
    }
}
__global__ void fetch(uchar4 *out, cudaTextureObject_t texture, int n)
{
    int i = threadIdx.x;
    out[i] = tex1Dfetch<uchar4>(texture, i - 2);
}
__global__ void pairs(float2 *out, cudaTextureObject_t texture)
{
    out[threadIdx.x] = tex2D<float2>(texture, threadIdx.x + 0.5f, 0.5f);
}
__global__ void whole(short *out, cudaTextureObject_t texture)
{
    out[threadIdx.x] = tex1D<short>(texture, threadIdx.x + 0.5f);
}
__global__ void surface(cudaSurfaceObject_t object, cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = threadIdx.y;
    float4 value = surf2Dread<float4>(object, x * sizeof(float4), y);
    value.w = surf2Dread<float4>(object, (x + 1) * sizeof(float4), y, cudaBoundaryModeClamp).x;
    value.z = surf2Dread<float4>(object, (x - 1) * (int)sizeof(float4), y, cudaBoundaryModeZero).y;
    surf2Dwrite(value, to, x * sizeof(float4), y);
    surf2Dwrite(value, to, (x + 100) * sizeof(float4), y, cudaBoundaryModeZero);
}
__global__ void twice(cudaSurfaceObject_t object)
{
    float value = surf2Dread<float>(object, threadIdx.x * sizeof(float), threadIdx.y);
    surf2Dwrite(2 * value, object, threadIdx.x * sizeof(float), threadIdx.y);
}
__global__ void layers_of_rows(float *out, cudaTextureObject_t texture)
{
    int i = threadIdx.x, layer = blockIdx.x;
    out[layer * blockDim.x + i] = tex1DLayered<float>(texture, i + 0.5f, layer);
}
__global__ void read(float *out, const float *from)
{
    out[threadIdx.x] = from[threadIdx.x];
}
__global__ void outside(cudaSurfaceObject_t object)
{
    surf2Dwrite(make_float4(1, 2, 3, 4), object, threadIdx.x * sizeof(float4), 0);
}
"""


@functools.cache
def module():
    return load(source=SOURCE, name="textures.cu")


@pytest.fixture(params=["plain", "traced"])
def run(request):
    def call(*arguments, **options):
        if request.param == "plain":
            module().run(*arguments, **options)
        else:
            assert module().check(*arguments, **options) is None

    return call


def index(at, size, address):
    """The element's index; -1 is the border."""
    if address == "wrap":
        return at % size
    if address == "mirror":
        return np.where(at % (2 * size) < size, at % (2 * size), 2 * size - 1 - at % (2 * size))
    if address == "border":
        return np.where((at < 0) | (at >= size), -1, at)
    return np.clip(at, 0, size - 1)


def expected(data, at, address, linear, normalised):
    """The value at the coordinates in the rows of `at`: x, then y, then z."""
    found = np.zeros(len(at), np.float64)
    sides, shares = [], []
    for dimension, size in enumerate(reversed(data.shape)):
        u = at[:, dimension].astype(np.float64) * (size if normalised else 1)
        steps = np.floor((u - 0.5) * 256 + 0.5) if linear else np.floor(u) * 256
        low = np.floor(steps / 256).astype(int)
        sides.append([index(low, size, address), index(low + 1, size, address)])
        shares.append(steps / 256 - low)
    for corner in itertools.product((0, 1), repeat=data.ndim):
        weight, indices, inside = 1.0, [], True
        for dimension, high in enumerate(corner):
            weight = weight * (shares[dimension] if high else 1 - shares[dimension])
            indices.append(sides[dimension][high])
            inside = inside & (indices[-1] >= 0)
        found += weight * np.where(inside, data[tuple(reversed(indices))], 7)
    return found


MODES = [
    (address, linear, normalised)
    for address in ("wrap", "clamp", "mirror", "border")
    for linear in (False, True)
    for normalised in (False, True)
    if normalised or address in ("clamp", "border")
]


@pytest.mark.parametrize(("address", "linear", "normalised"), MODES)
@pytest.mark.parametrize(("kernel", "shape"), [("d1", (13,)), ("d2", (5, 7)), ("d3", (3, 4, 5))])
def test_filter_and_address_modes(run, rng, kernel, shape, address, linear, normalised):
    data = rng.standard_normal(shape).astype(np.float32)
    made = texture(
        data,
        address=address,
        filter="linear" if linear else "point",
        normalized=normalised,
        border=BORDER,
    )
    reach = 2.5 if normalised else 20
    at = rng.uniform(-reach, reach, (200, len(shape)))
    # Between two elements a coordinate may be rounded to either.
    scale = np.array(shape[::-1]) if normalised else 1
    beside = np.abs(at * scale - np.round(at * scale)) < 1e-3
    at = np.where(beside, at + 0.01 / scale, at).astype(np.float32)
    out = np.zeros(200, np.float32)
    run(kernel, 1, 256, (out, at, made, 200))
    want = expected(data, at, address, linear, normalised)
    # A coordinate next to a step of the weights may be rounded to the other side of it.
    assert np.isclose(out, want, atol=1e-5).mean() > 0.95
    assert np.allclose(out, want, atol=0.05 if linear else 1e-6)


def test_layers(run, rng):
    data = rng.standard_normal((3, 5, 7)).astype(np.float32)
    at = rng.uniform(0, 5, (60, 2)).astype(np.float32)
    out = np.zeros(60, np.float32)
    run("layered", 1, 64, (out, at, texture(data), 60))
    x, y = at.astype(int).T
    assert np.array_equal(out, data[np.arange(60) % 3, y, x])


def test_fetch_by_index(run, rng):
    data = rng.integers(0, 255, (10, 4)).astype(np.uint8)
    out = np.ones((16, 4), np.uint8)
    run("fetch", 1, 16, (out, texture(data, channels=4), 16))
    assert np.array_equal(out[2:12], data)
    assert not out[:2].any() and not out[12:].any()


def test_normalised_floats(run):
    data = np.array([[-128, 127], [-127, 0], [64, -1]], np.int8).reshape(1, 3, 2)
    out = np.zeros((3, 2), np.float32)
    run("pairs", 1, 3, (out, texture(data, channels=2, read="normalized_float")))
    assert np.allclose(out, np.maximum(data[0] / 127, -1))
    data = np.array([0, 255, 51, 102, 1, 2], np.uint8).reshape(1, 3, 2)
    run("pairs", 1, 3, (out, texture(data, channels=2, read="normalized_float")))
    assert np.allclose(out, data[0] / 255)


def test_integers(run):
    data = np.array([-32768, 5, 32767], np.int16)
    out = np.zeros(3, np.int16)
    run("whole", 1, 3, (out, texture(data)))
    assert np.array_equal(out, data)


def test_another_type_is_found():
    made = texture(np.zeros(3, np.float32))
    finding = module().check("whole", 1, 3, (np.zeros(3, np.int16), made))
    assert "another type" in str(finding)
    finding = module().check("whole", 1, 3, (np.zeros(3, np.int16), 0))
    assert "object that is 0" in str(finding)


def test_surfaces(run, rng):
    data = rng.standard_normal((3, 5, 4)).astype(np.float32)
    to = surface(np.zeros_like(data), channels=4)
    run("surface", 1, (5, 3), (surface(data, channels=4), to))
    want = data.copy()
    want[:, :, 3] = data[:, [1, 2, 3, 4, 4], 0]
    want[:, 1:, 2] = data[:, :-1, 1]
    want[:, 0, 2] = 0
    assert np.array_equal(to.to_host(), want)


def test_outside_of_a_surface():
    made = surface(np.zeros((3, 5, 4), np.float32), channels=4)
    finding = module().check("outside", 1, 6, (made,))
    assert "outside of a surface" in str(finding)
    assert finding.thread == (5, 0, 0)


def test_rows_at_a_distance(run, rng):
    """As of cudaMallocPitch, and upside down."""
    wide = gm.to_device(rng.standard_normal((6, 9)).astype(np.float32), backend="sim")
    at = np.stack(np.meshgrid(np.arange(5), np.arange(6)), -1).reshape(-1, 2).astype(np.float32)
    for view in (np.s_[:, 2:7], np.s_[::2, 2:7], np.s_[::-1, 2:7], np.s_[4:5, 2:7]):
        out = np.zeros(30, np.float32)
        run("d2", 1, 32, (out, at, texture(wide[view]), 30))
        data = wide.to_host()[view]
        x, y = at.astype(int).T
        assert np.array_equal(out, data[np.minimum(y, len(data) - 1), x])


def test_a_host_array_is_copied_and_a_device_array_is_not(run):
    host = np.arange(3, dtype=np.int16)
    device = gm.to_device(host, backend="sim")
    copied, shared = texture(host), texture(device)
    host[:] = 7
    gm.copy(gm.to_device(host, backend="sim"), out=device)
    for made, wanted in ((copied, [0, 1, 2]), (shared, [7, 7, 7])):
        out = np.zeros(3, np.int16)
        run("whole", 1, 3, (out, made))
        assert out.tolist() == wanted


def test_a_texture_of_a_surface_reads_what_kernels_wrote(run, rng):
    data = rng.standard_normal((5, 7)).astype(np.float32)
    held = surface(data)
    filtered = texture(held, filter="linear")
    at = np.stack(np.meshgrid(np.arange(6) + 1, np.arange(5) + 0.5), -1).reshape(-1, 2)
    for written in (data, 2 * data):
        out = np.zeros(30, np.float32)
        run("d2", 1, 32, (out, at.astype(np.float32), filtered, 30))
        assert np.allclose(out, ((written[:, 1:] + written[:, :-1]) / 2).ravel())
        run("twice", 1, (7, 5), (held,))
    assert np.array_equal(held.to_host(), 4 * data)


def test_a_surface_is_a_copy(run):
    host = np.ones((2, 3), np.float32)
    device = gm.to_device(host, backend="sim")
    for given in (host, device):
        held = surface(given)
        run("twice", 1, (3, 2), (held,))
        assert np.array_equal(held.to_host(), 2 * np.ones((2, 3)))
    assert np.array_equal(host, np.ones((2, 3)))
    assert np.array_equal(device.to_host(), host)
    held.to_host()[:] = 9
    assert np.array_equal(held.to_host(), 2 * host)


@pytest.mark.parametrize("rows", [3, 1])
def test_layers_of_rows(run, rng, rows):
    data = rng.standard_normal((rows, 5)).astype(np.float32)
    for given in (data, gm.to_device(data, backend="sim")):
        out = np.zeros((rows, 5), np.float32)
        run("layers_of_rows", rows, 5, (out, texture(given, layered=True, filter="linear")))
        assert np.array_equal(out, data)


def test_arguments_of_a_loaded_module(rng):
    module = gm.load(source=SOURCE, name="textures.cu")
    data, out = rng.integers(0, 99, 5).astype(np.int16), np.zeros(5, np.int16)
    module["whole"][1, 5](out, texture(data))
    assert np.array_equal(out, data)
    held = surface(data)
    for wrong in (data, gm.to_device(data, backend="sim"), held):
        with pytest.raises(
            TypeError, match=r"texture takes what gpumem\.texture\(\.\.\.\) returns"
        ):
            module["whole"][1, 5](out, wrong)
    with pytest.raises(TypeError, match=r"object takes what gpumem\.surface\(\.\.\.\) returns"):
        module["outside"][1, 5](texture(data))
    with pytest.raises(TypeError, match=r"read: float \*out takes an array of float32"):
        module["read"][1, 5](texture(data), None)
    with pytest.raises(TypeError, match=r"d1: int n takes an integer"):
        module["d1"][1, 5](None, None, texture(data), texture(data))


FLOATS = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    ("array", "options", "error", "message"),
    [
        (np.zeros((0, 3), np.float32), {}, ValueError, r"array of shape \(0, 3\) has none"),
        (np.zeros((2, 2, 2, 2), np.float32), {}, ValueError, "one to three dimensions"),
        (FLOATS, {"channels": 3}, ValueError, "channels is 3, expected 1, 2 or 4"),
        (FLOATS, {"channels": 2}, ValueError, "dimensions and the channels"),
        (FLOATS[0], {"layered": True}, ValueError, "one or two dimensions and layers"),
        (np.zeros((1, 2, 3, 4), "f4"), {"layered": True}, ValueError, "one or two dimensions"),
        (FLOATS.astype("f2"), {}, ValueError, "channel is a float of 32 bits"),
        (np.zeros(3), {}, ValueError, "channel is a float of 32 bits"),
        (np.zeros(3, bool), {}, TypeError, "integers and floats"),
        ([1, 2], {}, TypeError, "ndarray"),
        (FLOATS, {"address": "clmap"}, ValueError, "address is 'clmap'.*'clamp'"),
        (FLOATS, {"address": "wrap"}, ValueError, "normalised coordinates"),
        (FLOATS, {"address": ("clamp", "wrap")}, ValueError, "normalised coordinates"),
        (FLOATS, {"filter": "cubic"}, ValueError, "filter is 'cubic'"),
        (FLOATS.astype("i4"), {"filter": "linear"}, ValueError, "linear"),
        (FLOATS.astype("i4"), {"read": "normalized_float"}, ValueError, "8 and 16"),
    ],
    ids=range(16),
)
def test_wrong_textures(array, options, error, message):
    with pytest.raises(error, match=message):
        texture(array, **options)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 3), "f4"), "surface takes elements"),
        (np.zeros(3), "surface: a channel is a float"),
        (np.zeros((2, 2, 2, 2), "f4"), "surface takes one to three dimensions"),
    ],
)
def test_wrong_surfaces(array, message):
    with pytest.raises(ValueError, match=message):
        gm.surface(array)


@pytest.mark.parametrize("view", [lambda d: d.T, lambda d: d[:, ::-1]])
def test_rows_are_contiguous(view):
    with pytest.raises(ValueError, match="side by side"):
        texture(view(gm.to_device(FLOATS, backend="sim")))
