"""Textures and surfaces as arguments: on either backend, under observation, and on a driver."""

from __future__ import annotations

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pytest

import gpumem as gm
from gpumem.modules import device_textures
from gpumem.modules.driver import Driver
from gpumem.modules.texture_layout import Layout, Sampling

SOURCE = r"""
__global__ void rows(float *out, cudaTextureObject_t t)
{
    out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 1.0f);
}
__global__ void by_index(float *out, cudaTextureObject_t t, int n)
{
    out[threadIdx.x] = tex1Dfetch<float>(t, n - 1 - (int)threadIdx.x);
}
__global__ void planes(float *out, cudaTextureObject_t t, float dx, float dy)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * blockDim.x + x] = tex2D<float>(t, x + dx, y + dy);
}
__global__ void normalized(float4 *out, cudaTextureObject_t t)
{
    out[threadIdx.x] = tex2D<float4>(t, (threadIdx.x + 0.5f) / blockDim.x, 0.5f);
}
__global__ void cubes(float *out, cudaTextureObject_t t)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * blockDim.y + y) * blockDim.x + x] = tex3D<float>(t, x + 0.5f, y + 0.5f, z + 0.5f);
}
__global__ void layers(short *out, cudaTextureObject_t t)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * blockDim.y + y) * blockDim.x + x] = tex2DLayered<short>(t, x + 0.5f, y + 0.5f, z);
}
__global__ void layers_of_rows(short *out, cudaTextureObject_t t)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = tex1DLayered<short>(t, threadIdx.x, blockIdx.x);
}
__global__ void twice(cudaSurfaceObject_t s)
{
    float value = surf2Dread<float>(s, threadIdx.x * 4, blockIdx.x);
    surf2Dwrite(2 * value, s, threadIdx.x * 4, blockIdx.x);
}
"""


@pytest.fixture(scope="module", params=["sim", pytest.param("cuda", marks=pytest.mark.gpu)])
def m(request):
    return gm.load(source=SOURCE, name="mine.cu", backend=request.param)


@pytest.fixture
def image(rng):
    return rng.random((5, 7), np.float32)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


# ---- what kernels read and write -----------------------------------------------------------------


def test_rows_are_filtered(m):
    out = zeros(3)
    m["rows"][1, 3](out, gm.texture(np.array([2, 4, 8], "f4"), filter="linear"))
    assert out.tolist() == [3, 6, 8]


def test_images_at_the_border(m, image):
    out = zeros(5, 7)
    m["planes"][5, 7](out, gm.texture(image, address="border", border=3), 1.5, -0.5)
    assert np.array_equal(out[1:, :-1], image[:-1, 1:])
    assert (out[0] == 3).all() and (out[:, -1] == 3).all()


def test_colours_as_numbers(m, rng):
    colours = rng.integers(0, 256, (1, 6, 4)).astype(np.uint8)
    made = gm.texture(colours, channels=4, read="normalized_float", normalized=True)
    out = zeros(6, 4)
    m["normalized"][1, 6](out, made)
    assert np.allclose(out, colours[0] / 255, atol=1e-6)


def test_three_dimensions_and_layers(m, rng):
    cube = rng.random((3, 4, 5), np.float32)
    out = zeros(3, 4, 5)
    m["cubes"][3, (5, 4)](out, gm.texture(cube))
    assert np.array_equal(out, cube)
    numbers = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    out = zeros(3, 4, 5, dtype=np.int16)
    m["layers"][3, (5, 4)](out, gm.texture(numbers, layered=True))
    assert np.array_equal(out, numbers)
    out = zeros(3, 20, dtype=np.int16)
    m["layers_of_rows"][3, 20](out, gm.texture(numbers.reshape(3, 20), layered=True))
    assert np.array_equal(out, numbers.reshape(3, 20))


def test_device_arrays_are_read_where_they_are(m, rng):
    host = rng.random(64, np.float32)
    array = gm.to_device(host, backend=m.backend)
    made = gm.texture(array)
    for factor in (1, 2):
        out = zeros(64)
        m["by_index"][1, 64](out, made, 64)
        assert np.array_equal(out, factor * host[::-1])
        gm.copy(gm.to_device(2 * host, backend=m.backend), out=array)
    wide = gm.to_device(rng.random((5, 8), np.float32), backend=m.backend)
    out = zeros(5, 7)
    m["planes"][5, 7](out, gm.texture(wide[:, :7]), 0.5, 0.5)
    assert np.array_equal(out, wide.to_host()[:, :7])


def test_surfaces_hold_what_kernels_write(m, image):
    held = gm.surface(image)
    read = gm.texture(held)
    for _ in range(2):
        m["twice"][5, 7](held)
    out = zeros(5, 7)
    m["planes"][5, 7](out, read, 0.5, 0.5)
    assert np.array_equal(out, 4 * image)
    assert np.array_equal(held.to_host(), 4 * image)


def test_kernels_under_observation_get_the_same(m, image):
    padded = np.zeros((5, 8), "f4")  # rows are 32 bytes apart, as the GPU's textures need them
    padded[:, :7] = image
    array = gm.to_device(padded, backend=m.backend)[:, :7]
    held = gm.surface(image)
    m["twice"][5, 7](held)
    assert gm.check(m["twice"][5, 7], held).ok
    m["twice"][5, 7](held)
    assert np.array_equal(held.to_host(), 8 * image)
    for made in (gm.texture(image), gm.texture(array)):
        out = zeros(5, 7)
        assert gm.check(m["planes"][5, 7], out, made, 0.5, 0.5).ok
        assert np.array_equal(out, image)


def test_traffic_says_what_it_leaves_out(m, image):
    out = zeros(5, 7)
    found = gm.traffic(m["planes"][5, 7], out, gm.texture(image), 0.5, 0.5)
    assert found.loads.requests == 0 and found.stores.requests == 5
    (note,) = found.notes
    assert "texture and surface objects is not counted" in note
    assert note in " ".join(str(found).split()) and found.to_dict()["notes"] == [note]
    said = gm.explain(m["planes"][5, 7], out, gm.texture(image), 0.5, 0.5)
    assert note in said.paragraph
    plain = gm.load(source="__global__ void k(float *x) { *x = 1; }")["k"]
    assert gm.traffic(plain[1, 1], zeros(1)).notes == []


def test_one_object_for_both_backends(image):
    """What a kernel wrote on one backend is there on the other."""
    held = gm.surface(image)
    place = held._texels.on("sim")
    other = Elements(held._texels.layout)
    held._texels._places["cuda"] = other
    simulated = gm.load(source=SOURCE, backend="sim")
    simulated["twice"][5, 7](held)
    assert held._texels.on("cuda") is other
    assert np.array_equal(other.read(), 2 * image)
    other.host *= 3
    assert np.array_equal(held.to_host(), 6 * image)
    assert held._texels.on("sim") is place
    simulated["twice"][5, 7](held)
    assert np.array_equal(held.to_host(), 12 * image)


class Elements:
    """The memory of a surface on a made-up backend."""

    def __init__(self, layout):
        self.host = np.zeros(layout.shape, layout.dtype)

    def read(self):
        return self.host.copy()

    def write(self, host):
        self.host[...] = host.reshape(self.host.shape)


def test_a_backend_s_array_is_for_its_own_kernels(image):
    made = gm.texture(gm.to_device(image, backend="sim"))
    with pytest.raises(TypeError, match=r"of backend 'sim' was given .* loaded for 'cuda'"):
        made.on("cuda")


# ---- a driver ------------------------------------------------------------------------------------


class Struct(SimpleNamespace):
    """A struct of the driver, whose fields come to be when they are named."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Struct()
        setattr(self, name, made)
        return made


class Names:
    """An enumeration whose members are their names."""

    def __getattr__(self, name):
        return name

    def __call__(self, value):
        return value


class MadeUpDriver:
    """Functions of cuda.bindings.driver, on memory of the host."""

    CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST = 1, 2
    CU_TRSF_READ_AS_INTEGER, CU_TRSF_NORMALIZED_COORDINATES = 1, 2
    CUarray_format = CUresourcetype = CUmemorytype = Names()
    CUaddress_mode = CUfilter_mode = CUdeviceptr = CUdevice = int
    CUDA_ARRAY3D_DESCRIPTOR = CUDA_MEMCPY3D = CUDA_RESOURCE_DESC = CUDA_TEXTURE_DESC = Struct
    CUresult = SimpleNamespace(CUDA_SUCCESS=0)
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT=512, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT=32
    )

    def __init__(self):
        self.arrays, self.objects, self.did, self.count = {}, {}, [], 100

    def _add(self, held, value):
        self.count += 1
        held[self.count] = value
        return 0, self.count

    def cuCtxGetCurrent(self):
        return 0, "context"

    def cuCtxPushCurrent(self, context):
        assert context == "context"
        return (0,)

    def cuCtxPopCurrent(self):
        return 0, "context"

    def cuCtxSynchronize(self):
        return (0,)

    def cuDeviceGetAttribute(self, attribute, device):
        return 0, attribute

    def cuArray3DCreate(self, what):
        whole = max(what.Height, 1) * max(what.Depth, 1) * what.Width * what.NumChannels * 4
        return self._add(self.arrays, SimpleNamespace(what=what, memory=bytearray(whole)))

    def cuMemcpy3D(self, how):
        size = how.WidthInBytes * how.Height * how.Depth
        to_device = how.dstMemoryType == "CU_MEMORYTYPE_ARRAY"
        array, pitch = (how.dstArray, how.srcPitch) if to_device else (how.srcArray, how.dstPitch)
        memory = (ctypes.c_char * size).from_buffer(self.arrays[array].memory)
        assert pitch == how.WidthInBytes
        if to_device:
            ctypes.memmove(memory, how.srcHost, size)
        else:
            ctypes.memmove(how.dstHost, memory, size)
        return (0,)

    def cuTexObjectCreate(self, resource, how, view):
        assert view is None
        return self._add(self.objects, (resource, how))

    def cuSurfObjectCreate(self, resource):
        return self._add(self.objects, (resource, None))

    def _destroy(self, held, handle):
        self.did.append(handle)
        del held[handle]
        return (0,)

    def cuTexObjectDestroy(self, handle):
        return self._destroy(self.objects, handle)

    cuSurfObjectDestroy = cuTexObjectDestroy

    def cuArrayDestroy(self, handle):
        return self._destroy(self.arrays, handle)


@pytest.fixture
def driver(monkeypatch):
    api = MadeUpDriver()
    monkeypatch.setattr(Driver, "__init__", lambda self: setattr(self, "api", api))
    monkeypatch.setattr(Driver, "_device", lambda self: SimpleNamespace(device_id=0))
    monkeypatch.setattr(device_textures._core, "synchronize", lambda backend: None)
    return api


@pytest.mark.parametrize(
    ("shape", "layered", "sides", "flags"),
    [
        ((7,), False, (7, 0, 0), 0),
        ((5, 7), False, (7, 5, 0), 0),
        ((3, 5, 7), False, (7, 5, 3), 0),
        ((5, 7), True, (7, 0, 5), 1),
        ((3, 5, 7), True, (7, 5, 3), 1),
    ],
)
def test_cuda_arrays(driver, rng, shape, layered, sides, flags):
    host = rng.random((*shape, 2), np.float32)
    made = gm.texture(
        host, channels=2, layered=layered, filter="linear", address="border", border=5
    )
    number = made.on("cuda")
    assert made.on("cuda") == number
    ((handle, array),) = driver.arrays.items()
    what = array.what
    assert (what.Width, what.Height, what.Depth) == sides
    assert (what.Format, what.NumChannels, what.Flags) == ("CU_AD_FORMAT_FLOAT", 2, flags)
    assert bytes(array.memory) == host.tobytes()
    resource, how = driver.objects[number]
    assert (resource.resType, resource.res.array.hArray) == ("CU_RESOURCE_TYPE_ARRAY", handle)
    assert (how.addressMode, how.filterMode, how.borderColor) == ([3, 3, 3], 1, [5, 5, 5, 5])


@pytest.mark.parametrize(
    ("dtype", "options", "word", "flags"),
    [
        ("i2", {}, "SIGNED_INT16", 1),
        ("u1", {"read": "normalized_float", "normalized": True}, "UNSIGNED_INT8", 2),
        ("i4", {"normalized": True, "address": "wrap"}, "SIGNED_INT32", 3),
    ],
)
def test_formats_and_flags(driver, dtype, options, word, flags):
    number = gm.texture(np.zeros((2, 3), dtype), **options).on
    made = number("cuda")
    (array,) = driver.arrays.values()
    assert array.what.Format == f"CU_AD_FORMAT_{word}"
    assert driver.objects[made][1].flags == flags


def test_surfaces_on_a_driver(driver, image):
    held = gm.surface(image)
    number = held.on("cuda")
    ((handle, array),) = driver.arrays.items()
    assert array.what.Flags == 2
    assert driver.objects[number][0].res.array.hArray == handle
    assert np.array_equal(held.to_host(), image)
    array.memory[: image.nbytes] = (3 * image).tobytes()
    assert np.array_equal(held.to_host(), 3 * image)
    read = gm.texture(held)
    assert driver.objects[read.on("cuda")][0].res.array.hArray == handle
    gm.load(source=SOURCE, backend="sim")["twice"][5, 7](held)
    assert held.on("cuda") == number
    assert bytes(array.memory[: image.nbytes]) == (6 * image).tobytes()


def test_objects_are_destroyed_before_their_memory(driver, image):
    held = gm.surface(image)
    number, read = held.on("cuda"), gm.texture(held)
    second = read.on("cuda")
    (array,) = driver.arrays
    del held
    gc.collect()
    assert driver.did == [number]
    del read
    gc.collect()
    assert driver.did == [number, second, array]
    assert not driver.arrays and not driver.objects


def array_at(address, strides=(32,)):
    return SimpleNamespace(pointer=address, strides=strides)


def test_memory_in_place(driver):
    flat = device_textures.OnMemory(Layout(np.dtype("u2"), 4, (7,), False), array_at(1024))
    _, number = flat.make(Sampling())
    resource, _ = driver.objects[number]
    memory = resource.res.linear
    assert resource.resType == "CU_RESOURCE_TYPE_LINEAR"
    assert (memory.devPtr, memory.sizeInBytes, memory.numChannels) == (1024, 56, 4)
    rows = device_textures.OnMemory(Layout(np.dtype("f4"), 1, (5, 7), False), array_at(512))
    _, number = rows.make(Sampling())
    resource, _ = driver.objects[number]
    memory = resource.res.pitch2D
    assert resource.resType == "CU_RESOURCE_TYPE_PITCH2D"
    assert (memory.width, memory.height, memory.pitchInBytes) == (7, 5, 32)


@pytest.mark.parametrize(
    ("shape", "layered", "array", "words"),
    [
        ((7,), False, array_at(520), "the address is 520 bytes.*multiples of 512"),
        ((5, 7), False, array_at(512, (28,)), "the distance of rows is 28 bytes.*of 32"),
        ((5, 7), False, array_at(512, (-32,)), "the distance of rows is -32"),
        ((3, 5, 7), False, array_at(512), "of one or two dimensions"),
        ((5, 7), True, array_at(512), "without layers"),
    ],
)
def test_memory_that_cannot_be_a_texture(driver, shape, layered, array, words):
    with pytest.raises(ValueError, match=words):
        device_textures.OnMemory(Layout(np.dtype("f4"), 1, shape, layered), array)
