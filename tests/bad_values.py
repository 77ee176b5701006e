"""Wrong, odd and hostile values for any argument: name -> function that makes one anew.

Nothing here is random, so that a case that fails once fails always.
"""

import decimal
import fractions
import sys

import numpy as np
from dlpack import CPU, CUDA, Bare, Producer

import gpumem as gm

SWAPPED = "<" if sys.byteorder == "big" else ">"


class HookError(Exception):
    """What the hooks of hostile objects raise; a call may pass it on."""


def _raise(*_, **__):
    raise HookError("a hook of the caller raised")


def hostile(name, *hooks, base=object):
    """A class whose hooks raise."""
    return type(name, (base,), dict.fromkeys(hooks, _raise))


class Answers:
    """Returns from __index__, __float__ and __bool__ what it was given."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    __float__ = __bool__ = __index__


# ---- values of the wrong type, and numbers of any size -------------------------------------------

_PLAIN = [
    None,
    True,
    False,
    Ellipsis,
    NotImplemented,
    "",
    "text",
    "1",
    "sim\0",
    "\ud800",
    "ü" * 5000,
    b"",
    b"bytes",
    0,
    -1,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**32,
    2**62,
    -(2**62),
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    2**200,
    2.0,
    2.5,
    -0.0,
    1e300,
    5e-324,
    float("nan"),
    float("inf"),
    -float("inf"),
    1j,
    complex("nan"),
    (),
    (1,),
    (1, 2),
    (-1, 2),
    (0, 0),
    (2**40, 2**40),
    (2**62, 4),
    (2**63, 0),
    ("a", "b"),
    (None, None),
    (1.5, 2),
    (1,) * 65,
    slice(None),
    range(3),
    int,
    len,
    np.int8(1),
    np.int64(2),
    np.uint64(2**64 - 1),
    np.float16(2),
    np.float32("nan"),
    np.float64(2),
    np.bool_(True),
    np.complex64(1),
    np.str_("text"),
    np.bytes_(b"text"),
    np.datetime64("2020-02-02"),
    np.timedelta64(1, "s"),
    np.dtype("f4"),
    decimal.Decimal("NaN"),
    fractions.Fraction(1, 3),
]
SCALARS = {f"{ascii(v)[:40]} {type(v).__name__}": lambda v=v: v for v in _PLAIN}
SCALARS |= {
    "list": lambda: [],
    "list of lists": lambda: [[1, 2], [3, 4]],
    "ragged list": lambda: [[1], [2, 3]],
    "list that holds itself": lambda: (it := [], it.append(it), it)[-1],
    "dict": lambda: {},
    "set": lambda: {1},
    "object": object,
    "bytearray": lambda: bytearray(b"12345678"),
    "memoryview": lambda: memoryview(b"12345678"),
    "generator": lambda: (i for i in range(3)),
    "function": lambda: lambda: None,
    "class": lambda: np.ndarray,
    "module": lambda: np,
    "array of no dimensions": lambda: np.array(1),
    "array of one": lambda: np.array([1]),
    "array of objects": lambda: np.array([None, 1]),
    "array of text": lambda: np.array(["a", "b"]),
    "DeviceArray": lambda: gm.to_device(np.arange(4, dtype="f4"), backend="sim"),
    "Stream": lambda: gm.Stream(backend="sim"),
    "Variant": lambda: gm.variants("copy")[0],
    "hook: __index__": hostile("NoIndex", "__index__"),
    "hook: __float__": hostile("NoFloat", "__float__"),
    "hook: __bool__": hostile("NoBool", "__bool__"),
    "hook: __len__": hostile("NoLength", "__len__", "__getitem__"),
    "hook: __iter__": hostile("NoIteration", "__iter__"),
    "hook: __repr__": hostile("NoRepr", "__repr__", "__str__"),
    "hook: __eq__": hostile("NoEquality", "__eq__", "__hash__"),
    "hook: __getattr__": hostile("NoAttributes", "__getattr__"),
    "hook: __array__": hostile("NoArray", "__array__"),
    "hook: __fspath__": hostile("NoPath", "__fspath__"),
    "hook: str": lambda: hostile("Text", "__eq__", "__hash__", base=str)("auto"),
    "hook: int": lambda: hostile("Int", "__index__", "__int__", "__eq__", base=int)(1),
    "__index__ that is a float": lambda: Answers(1.5),
    "__index__ that is None": lambda: Answers(None),
    "__index__ that is huge": lambda: Answers(2**100),
}

TEXTS = {
    f"text {ascii(text)[:30]}": lambda _, text=text: text
    for text in (
        *("", "-", "--", "-1", "0", "nan", "inf", "1e999", str(2**62), "text", "a,b,,", ",", "4K:"),
        *(
            "1x",
            "4096x4096x4096x4096x4096",
            "x" * 3000,
            "sim\0",
            "\ud800",
            "../..",
            "1=2",
            "stride=",
        ),
    )
}

# ---- arrays: each is made of an array that the function takes ------------------------------------


def _of(dtype):
    def make(a):
        return np.zeros(a.shape, dtype)

    return make


def misaligned(a):
    """The same elements, one byte behind an address that suits them."""
    raw = np.empty(a.nbytes + 1, "u1")
    there = raw[1:].view(a.dtype).reshape(a.shape)
    there[...] = a
    return there


def strided(a):
    if a.ndim == 0:
        return a
    return np.repeat(a, 2, axis=-1)[..., ::2]


def reversed_(a):
    back = (slice(None, None, -1),) * a.ndim
    return a[back].copy()[back]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _without(axis):
    def make(a):
        shape = list(a.shape)
        if not shape:
            shape = [1]
        shape[axis] = 0
        return np.zeros(shape, a.dtype)

    return make


def _masked(a):
    return np.ma.array(a, mask=np.ones(a.shape, bool))


class Quiet(np.ndarray):
    """A subclass that changes nothing."""


def _subclass(*hooks):
    def make(a):
        kind = type("Hostile", (np.ndarray,), {})
        made = np.ndarray.__new__(kind, a.shape, a.dtype, a.tobytes())
        for hook in hooks:  # now that it exists
            setattr(kind, hook, _raise)
        return made

    return make


DTYPES = {
    "float16": "f2",
    "float64": "f8",
    "longdouble": "g",
    "complex": "c8",
    "bool": "?",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "swapped": f"{SWAPPED}f4",
    "swapped int": f"{SWAPPED}i8",
    "object": "O",
    "datetime": "M8[s]",
    "timedelta": "m8[s]",
    "text": "U3",
    "bytes": "S5",
    "no bytes": "V0",
    "V3": "V3",
    "V4": "V4",
    "structured": [("x", "f4"), ("y", "i2")],
    "structured with objects": [("x", "f4"), ("y", "O")],
    "structured, swapped": [("x", f"{SWAPPED}f4")],
    "nested": [("x", [("y", "i2", (3,))])],
}
LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "negative strides": reversed_,
    "broadcast": lambda a: np.broadcast_to(a.reshape(-1)[:1].reshape(()), a.shape),
    "broadcast rows": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim else a,
    "misaligned": misaligned,
    "read-only": read_only,
    "subclass": lambda a: a.copy().view(Quiet),
}
SHAPES = {
    "0-d": lambda a: a.reshape(-1)[:1].reshape(()).copy(),
    "1-d": lambda a: a.reshape(-1).copy(),
    "one more dimension": lambda a: a[None].copy(),
    "5-d": lambda a: a.reshape((1,) * (5 - a.ndim) + a.shape).copy(),
    "64-d": lambda a: a.reshape(a.shape + (1,) * (64 - a.ndim)).copy(),
    "no rows": _without(0),
    "no columns": _without(-1),
    "one less": lambda a: a[:-1].copy() if a.ndim else a,
    "one less at the end": lambda a: a[..., :-1].copy() if a.ndim else a,
    "one more": lambda a: np.concatenate([a, a[:1]]) if a.ndim else a,
    "turned": lambda a: a.T.copy(),
}
SUBCLASSES = {
    "masked": _masked,
    "matrix": lambda a: np.asmatrix(a) if a.ndim == 2 else np.asmatrix(a.reshape(1, -1)),
    "hook of a subclass: __array_finalize__": _subclass("__array_finalize__"),
    "hook of a subclass: __array_ufunc__": _subclass("__array_ufunc__"),
    "hook of a subclass: __array_function__": _subclass("__array_function__"),
    "hook of a subclass: __array__": _subclass("__array__"),
    "hook of a subclass: __getitem__": _subclass(
        "__getitem__", "__setitem__", "__len__", "__iter__"
    ),
    "hook of a subclass: __array_wrap__": _subclass("__array_wrap__", "__array_prepare__"),
    "hook of a subclass: shape": _subclass(
        "reshape", "astype", "copy", "view", "tobytes", "__eq__"
    ),
    "hook of a subclass: __dlpack__": _subclass(
        "__dlpack__", "__dlpack_device__", "__cuda_array_interface__"
    ),
}
ARRAYS = {f"dtype {name}": _of(dtype) for name, dtype in DTYPES.items()}
ARRAYS |= LAYOUTS | SHAPES | SUBCLASSES

# ---- arrays on the device: each is made of one that the function takes ---------------------------


def _first(a):
    return a[(slice(0, 1),) * a.ndim] if a.ndim else a


DEVICE_VIEWS = {
    "device": lambda a: a,
    "device, transposed": lambda a: a.T,
    "device, every other": lambda a: a[..., ::2] if a.ndim else a,
    "device, negative strides": lambda a: a[(slice(None, None, -1),) * a.ndim],
    "device, one less": lambda a: a[1:] if a.ndim else a,
    "device, first element": _first,
    "device, one more dimension": lambda a: a[None],
    "device, no dimensions": lambda a: a[(0,) * a.ndim],
    "device, empty": lambda a: a[:0] if a.ndim else a,
    "device, 64-d": lambda a: a.reshape(a.shape + (1,) * (64 - a.ndim)),
    "device, bytes": lambda a: a.view("u1") if a.ndim else a,
    "device, misaligned": lambda a: (
        gm.to_device(np.zeros(a.nbytes + 1, "u1"), backend="sim")[1:].view(a.dtype).reshape(a.shape)
    ),
    "device, structured": lambda a: gm.to_device(np.zeros(a.shape, "i1,f4"), backend="sim"),
    "device, float16": lambda a: gm.to_device(np.zeros(a.shape, "f2"), backend="sim"),
    "device, datetime": lambda a: gm.to_device(np.zeros(a.shape, "M8[s]"), backend="sim"),
    "device, V3": lambda a: gm.to_device(np.zeros(a.shape, "V3"), backend="sim"),
}

# ---- producers that lie about what they have -----------------------------------------------------


class Lying:
    """Offers one attribute, whose pointer is an array's."""

    def __init__(self, name, value, array=None):
        setattr(self, name, value)
        self.array = array


def _interface(name, **lies):
    def make(a):
        told = {"version": 3} | a.__array_interface__ | lies
        return Lying(name, {k: v for k, v in told.items() if v is not Ellipsis}, a)

    return make


_LIES = {
    "negative shape": {"shape": (-4,)},
    "negative and empty": {"shape": (0, -1)},
    "shape is text": {"shape": "4"},
    "shape is None": {"shape": None},
    "shape is a float": {"shape": (4.0,)},
    "shape overflows": {"shape": (2**40, 2**40)},
    "shape of 70 bits": {"shape": (2**70,)},
    "65 dimensions": {"shape": (1,) * 65},
    "no shape": {"shape": ...},
    "too few strides": {"shape": (2, 2), "strides": (4,)},
    "too many strides": {"shape": (4,), "strides": (4, 4)},
    "strides are text": {"strides": "ab"},
    "strides of 70 bits": {"shape": (4,), "strides": (2**70,)},
    "pointer is text": {"data": ("address", False)},
    "pointer is a float": {"data": (1.5, False)},
    "pointer is None": {"data": (None, False)},
    "pointer of 70 bits": {"data": (2**70, False)},
    "pointer alone": {"data": (16,)},
    "data is a number": {"data": 7},
    "no type": {"typestr": ...},
    "type is a number": {"typestr": 4},
    "type is unknown": {"typestr": "<q9"},
    "type is an object": {"typestr": "|O"},
    "type is empty": {"typestr": ""},
}
_NO_DICT = {"None": None, "text": "interface", "list": [], "number": 3, "empty": {}}
HOST, DEVICE = "__array_interface__", "__cuda_array_interface__"
PRODUCERS = {
    f"{name}: {lie}": _interface(name, **told)
    for name in (HOST, DEVICE)
    for lie, told in _LIES.items()
}
PRODUCERS |= {
    f"{name} is {lie}": lambda a, name=name, told=told: Lying(name, told)
    for name in (HOST, DEVICE)
    for lie, told in _NO_DICT.items()
}
PRODUCERS |= {
    f"DLPack: {lie}": lambda a, told=told: Producer(np.arange(4, dtype="f4"), **told)
    for lie, told in {
        "negative shape": {"shape": [-4]},
        "overflowing shape": {"shape": [2**40, 2**40], "strides": [1, 1]},
        "no shape": {"shape": None, "ndim": 2},
        "negative dimensions": {"ndim": -1},
        "1000 dimensions": {"ndim": 1000},
        "unknown code": {"code": 99},
        "0 bits": {"bits": 0},
        "7 bits": {"bits": 7},
        "no lanes": {"lanes": 0},
        "three lanes": {"lanes": 3},
        "version 99": {"major": 99},
        "unknown name": {"name": b"nonsense"},
        "unknown device": {"device": (77, 0), "device_type": 77},
        "device of another type": {"device": ("cpu", 0)},
        "device is no pair": {"device": CPU},
        "device of 70 bits": {"device": (2**70, 2**70)},
        "on a GPU that is not here": {"device": (CUDA, 99), "device_type": CUDA},
        "null": {"data": None},
    }.items()
}


class NoCapsule(Bare):
    def __dlpack__(self, **keywords):
        return "capsule"


PRODUCERS |= {
    "DLPack: no capsule": NoCapsule,
    "hook of a producer: DLPack": lambda a: hostile("Raises", "__dlpack__", "__dlpack_device__")(),
    "hook of a producer: __dlpack__": lambda a: hostile("Raises", "__dlpack__", base=Bare)(a),
    "hook of a producer: __array_interface__": lambda a: type(
        "Raises", (), {HOST: property(_raise), DEVICE: property(_raise)}
    )(),
}
