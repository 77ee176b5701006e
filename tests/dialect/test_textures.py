"""Textures and surfaces by object, against the programming guide's formulas in NumPy."""

from __future__ import annotations

import ctypes
import functools
import itertools
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gpumem.cuda_c import load

ROOT = Path(__file__).resolve().parents[2]
WRAP, CLAMP, MIRROR, BORDER = range(4)
SIGNED, UNSIGNED, FLOAT = range(3)

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
__global__ void outside(cudaSurfaceObject_t object)
{
    surf2Dwrite(make_float4(1, 2, 3, 4), object, threadIdx.x * sizeof(float4), 0);
}
"""


class Descriptor(ctypes.Structure):
    """gm_texture_descriptor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("pitch", ctypes.c_int64),
        ("slice", ctypes.c_int64),
        ("size", ctypes.c_int32 * 3),
        ("kind", ctypes.c_int32),
        ("channels", ctypes.c_int32),
        ("channel_bytes", ctypes.c_int32),
        ("address", ctypes.c_int32 * 3),
        ("linear", ctypes.c_int32),
        ("to_float", ctypes.c_int32),
        ("normalised", ctypes.c_int32),
        ("border", ctypes.c_float * 4),
    )


@functools.cache
def module():
    return load(source=SOURCE, name="textures.cu")


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    path = tmp_path_factory.mktemp("texture") / "descriptor.so"
    source = ROOT / "csrc/sim/texture_descriptor.c"
    compiler = sysconfig.get_config_var("CC").split()[0]
    command = [compiler, "-shared", "-fPIC", f"-I{ROOT / 'csrc'}", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(path)).gm_texture_complete
    function.restype = ctypes.c_char_p
    return lambda descriptor: function(ctypes.byref(descriptor))


@pytest.fixture
def texture(complete):
    def make(data, *, channels=1, address=CLAMP, linear=False, to_float=False, normalised=False):
        elements = data.shape[:-1] if channels > 1 else data.shape
        size = (*reversed(elements), 1, 1)[:3]
        kind = {"f": FLOAT, "i": SIGNED, "u": UNSIGNED}[data.dtype.kind]
        made = Descriptor(
            data=data.ctypes.data, size=size, kind=kind, channels=channels,
            channel_bytes=data.itemsize, address=(address,) * 3, linear=linear,
            to_float=to_float, normalised=normalised, border=(7, 8, 9, 10),
        )  # fmt: skip
        assert complete(made) is None
        alive.append((made, data))
        return ctypes.addressof(made)

    alive = []
    yield make


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
    if address == WRAP:
        return at % size
    if address == MIRROR:
        return np.where(at % (2 * size) < size, at % (2 * size), 2 * size - 1 - at % (2 * size))
    if address == BORDER:
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
    for address in (WRAP, CLAMP, MIRROR, BORDER)
    for linear in (False, True)
    for normalised in (False, True)
    if normalised or address in (CLAMP, BORDER)
]


@pytest.mark.parametrize(("address", "linear", "normalised"), MODES)
@pytest.mark.parametrize(("kernel", "shape"), [("d1", (13,)), ("d2", (5, 7)), ("d3", (3, 4, 5))])
def test_filter_and_address_modes(run, rng, texture, kernel, shape, address, linear, normalised):
    data = rng.standard_normal(shape).astype(np.float32)
    made = texture(data, address=address, linear=linear, normalised=normalised)
    reach = 2.5 if normalised else 20
    at = rng.uniform(-reach, reach, (200, len(shape))).astype(np.float32)
    out = np.zeros(200, np.float32)
    run(kernel, 1, 256, (out, at, made, 200))
    want = expected(data, at, address, linear, normalised)
    # A coordinate next to a step of the weights may be rounded to the other side of it.
    assert np.isclose(out, want, atol=1e-5).mean() > 0.95
    assert np.allclose(out, want, atol=0.05 if linear else 1e-6)


def test_layers(run, rng, texture):
    data = rng.standard_normal((3, 5, 7)).astype(np.float32)
    at = rng.uniform(0, 5, (60, 2)).astype(np.float32)
    out = np.zeros(60, np.float32)
    run("layered", 1, 64, (out, at, texture(data), 60))
    x, y = at.astype(int).T
    assert np.array_equal(out, data[np.arange(60) % 3, y, x])


def test_fetch_by_index(run, rng, texture):
    data = rng.integers(0, 255, (10, 4)).astype(np.uint8)
    out = np.ones((16, 4), np.uint8)
    run("fetch", 1, 16, (out, texture(data, channels=4), 16))
    assert np.array_equal(out[2:12], data)
    assert not out[:2].any() and not out[12:].any()


def test_normalised_floats(run, texture):
    data = np.array([[-128, 127], [-127, 0], [64, -1]], np.int8).reshape(1, 3, 2)
    out = np.zeros((3, 2), np.float32)
    run("pairs", 1, 3, (out, texture(data, channels=2, to_float=True)))
    assert np.allclose(out, np.maximum(data[0] / 127, -1))
    data = np.array([0, 255, 51, 102, 1, 2], np.uint8).reshape(1, 3, 2)
    run("pairs", 1, 3, (out, texture(data, channels=2, to_float=True)))
    assert np.allclose(out, data[0] / 255)


def test_integers(run, texture):
    data = np.array([-32768, 5, 32767], np.int16)
    out = np.zeros(3, np.int16)
    run("whole", 1, 3, (out, texture(data)))
    assert np.array_equal(out, data)


def test_another_type_is_found(texture):
    made = texture(np.zeros(3, np.float32))
    finding = module().check("whole", 1, 3, (np.zeros(3, np.int16), made))
    assert "another type" in str(finding)
    finding = module().check("whole", 1, 3, (np.zeros(3, np.int16), 0))
    assert "object that is 0" in str(finding)


def test_surfaces(run, rng, texture):
    data = rng.standard_normal((3, 5, 4)).astype(np.float32)
    to = np.zeros_like(data)
    here, there = texture(data, channels=4), texture(to, channels=4)
    run("surface", 1, (5, 3), (here, there))
    want = data.copy()
    want[:, :, 3] = data[:, [1, 2, 3, 4, 4], 0]
    want[:, 1:, 2] = data[:, :-1, 1]
    want[:, 0, 2] = 0
    assert np.array_equal(to, want)


def test_outside_of_a_surface(texture):
    made = texture(np.zeros((3, 5, 4), np.float32), channels=4)
    finding = module().check("outside", 1, 6, (made,))
    assert "outside of a surface" in str(finding)
    assert finding.thread == (5, 0, 0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": (3, 0, 1)}, b"sizes"),
        ({"address": (0, 4, 0)}, b"address mode"),
        ({"data": None}, b"memory"),
        ({"channels": 3}, b"channels"),
        ({"channel_bytes": 8}, b"channel is"),
        ({"kind": SIGNED, "to_float": 1}, b"8 and 16"),
        ({"kind": SIGNED, "linear": 1}, b"linear"),
        ({"address": (WRAP, WRAP, WRAP)}, b"normalised coordinates"),
    ],
)
def test_wrong_descriptors(complete, fields, message):
    right = {
        "data": 4096, "size": (3, 2, 1), "kind": FLOAT, "channels": 1, "channel_bytes": 4,
        "address": (CLAMP,) * 3,
    }  # fmt: skip
    made = Descriptor(**right)
    assert complete(made) is None
    assert (made.pitch, made.slice) == (12, 24)
    assert message in complete(Descriptor(**(right | fields)))
