"""DLPack through ctypes: producers with arbitrary capsule contents, and a reader of capsules."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
api.PyCapsule_IsValid.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
api.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
BFLOAT = 4
CPU, CUDA, CUDA_HOST, ROCM, MANAGED = 1, 2, 3, 10, 13
# CFUNCTYPE releases the GIL while it calls the deleter, as a consumer in C may.
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Legacy(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Producer:
    """Exports a host array through DLPack; records requests in `asked`, deletions in `freed`.

    Other keywords are `fields` of `Tensor` and `Versioned`, which replace those of the array in the
    capsule; `shape` and `strides` are lists. ``__dlpack_device__`` returns `device`. `old`
    rejects ``max_version``, as producers older than DLPack 1.0 do.
    """

    def __init__(self, array, *, legacy=False, old=False, name=None, device=(CPU, 0), **fields):
        self.array, self.legacy, self.old, self.device = array, legacy, old, device
        self.name = name or (LEGACY if legacy or old else VERSIONED)
        self.fields, self.asked, self.lent, self.freed = fields, [], [], 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        if self.old and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        array, fields = self.array, dict(self.fields)
        shape = fields.pop("shape", list(array.shape))
        strides = fields.pop("strides", [s // array.itemsize for s in array.strides])
        managed = Legacy() if self.legacy or self.old else Versioned(1, 0)
        managed.tensor = Tensor(
            data=array.ctypes.data,
            device_type=CPU,
            ndim=len(shape or ()),
            code=CODES[array.dtype.kind],
            bits=array.itemsize * 8,
            lanes=1,
            shape=None if shape is None else (ctypes.c_int64 * len(shape))(*shape),
            strides=None if strides is None else (ctypes.c_int64 * len(strides))(*strides),
        )
        managed.deleter = Deleter(self.free)
        for field, value in fields.items():
            owner = managed.tensor if hasattr(managed.tensor, field) else managed
            setattr(owner, field, value)
        capsule = api.PyCapsule_New(ctypes.addressof(managed), self.name, None)
        self.lent.append((managed, capsule))
        return capsule

    def free(self, address):
        assert address in {ctypes.addressof(managed) for managed, _ in self.lent}
        self.freed += 1

    def used(self):
        """Return for each exported capsule whether a consumer has taken it."""
        return [bool(api.PyCapsule_IsValid(c, b"used_" + self.name)) for _, c in self.lent]


class Bare:
    """An ndarray that offers only the DLPack protocol, like a host array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def read(capsule):
    """Return the structure in an unused capsule, and the name of the capsule."""
    for name, kind in ((VERSIONED, Versioned), (LEGACY, Legacy)):
        if api.PyCapsule_IsValid(capsule, name):
            return kind.from_address(api.PyCapsule_GetPointer(capsule, name)), name
    raise AssertionError(f"{capsule} is none of DLPack's")


def take(capsule):
    """Read a capsule and mark it as used: the caller then runs its deleter."""
    managed, name = read(capsule)
    assert api.PyCapsule_SetName(capsule, TAKEN[name]) == 0
    return managed


# Capsules do not copy their names, so these strings must stay alive.
TAKEN = {name: b"used_" + name for name in (LEGACY, VERSIONED)}


def layout(tensor):
    """Return the shape and the strides of a tensor as lists."""
    return (
        list(itertools.islice(tensor.shape, tensor.ndim)),
        list(itertools.islice(tensor.strides, tensor.ndim)),
    )


def awkward_arrays():
    """Return {name: array}: NumPy dtypes that DLPack supports, and unusual shapes and strides."""
    codes = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
    arrays = {code: np.arange(1, 7).reshape(2, 3).astype(code) for code in codes}
    cube = np.arange(60, dtype="f4").reshape(3, 4, 5)
    return arrays | {
        "scalar": np.array(2.5),
        "empty": np.zeros((3, 0, 2), "i4"),
        "transposed": cube.T,
        "sliced": cube[::2, 1:, ::2],
        "one": cube[1:2, 1:2, 1:2],
        "tall": np.ones((1,) * 64, "u1"),
    }
