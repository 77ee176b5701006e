"""Exchange: __cuda_array_interface__."""

import dlpack
import numpy as np
import pytest
from dlpack import Bare, Producer
from exchange_cases import SIX

import gpumem as gm

pytestmark = pytest.mark.usefixtures("frozen")


class Interface:
    """An object with a given __cuda_array_interface__."""

    def __init__(self, **said):
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (4096, False),
            "version": 3,
            "strides": None,
        } | said


def test_the_simulator_has_no_interface():
    there = gm.to_device(SIX, backend="sim")
    assert not hasattr(there, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="__dlpack__"):
        _ = there.__cuda_array_interface__


INTERFACE_FAULTS = {
    "mask": (ValueError, "a has a mask", {"mask": Interface()}),
    "no-shape": (ValueError, "whose shape is None", {"shape": None}),
    "shape-list": (ValueError, r"whose shape is \[2, 3\]", {"shape": [2, 3]}),
    "shape-float": (ValueError, "whose shape is", {"shape": (2.0, 3)}),
    "shape-huge": (ValueError, "whose shape is", {"shape": (2**70,)}),
    "shape-negative": (ValueError, "negative length -2", {"shape": (-2,)}),
    "shape-count": (ValueError, "too large", {"shape": (2**40, 2**40)}),
    "dimensions": (ValueError, "whose shape is", {"shape": (1,) * 65}),
    "typestr": (ValueError, "whose typestr is None", {"typestr": None}),
    "typestr-unknown": (TypeError, "'<w9'", {"typestr": "<w9"}),
    "typestr-objects": (TypeError, "Python's memory", {"typestr": "|O"}),
    "typestr-swapped": (TypeError, "byte-swapped", {"typestr": ">f4"}),
    "data": (ValueError, "whose data is None", {"data": None}),
    "data-int": (ValueError, "whose data is 4096", {"data": 4096}),
    "data-negative": (ValueError, "whose data is", {"data": (-1, False)}),
    "data-float": (ValueError, "whose data is", {"data": (1.5, False)}),
    "data-null": (ValueError, "null pointer", {"data": (0, False)}),
    "strides-short": (ValueError, "whose strides is", {"strides": (4,)}),
    "strides-list": (ValueError, "whose strides is", {"strides": [12, 4]}),
    "strides-negative": (ValueError, "start of memory", {"strides": (12, -4096)}),
    "stream-zero": (ValueError, "whose stream is 0", {"stream": 0}),
    "stream-str": (ValueError, "whose stream is 'x'", {"stream": "x"}),
    "stream-negative": (ValueError, "whose stream is -1", {"stream": -1}),
    "reach": (ValueError, "end of memory", {"strides": (2**62, 4), "shape": (3, 3)}),
}


@pytest.mark.parametrize("fault", INTERFACE_FAULTS)
def test_faults_of_interfaces(fault):
    error, words, said = INTERFACE_FAULTS[fault]
    with pytest.raises(error, match=words):
        gm.copy(Interface(**said))


def test_an_interface_is_a_dict():
    thing = Interface()
    thing.__cuda_array_interface__ = (2, 3)
    with pytest.raises(TypeError, match="not a dict"):
        gm.copy(thing)


def test_an_interface_that_fails():
    """DLPack is used instead, if the object has it."""

    class Fails(Bare):
        @property
        def __cuda_array_interface__(self):
            raise KeyError("float8")

    class Alone:
        @property
        def __cuda_array_interface__(self):
            raise KeyError("float8")

    assert np.array_equal(gm.copy(Fails(SIX), backend="sim"), SIX)
    for call in (gm.copy, gm.from_dlpack):
        with pytest.raises(KeyError, match="float8"):
            call(Alone())


class Fault(Exception):
    """An exception that no code handles."""


@pytest.mark.parametrize("error", [MemoryError, Fault, KeyboardInterrupt])
def test_what_a_producer_raises_is_not_replaced(error):
    class Number:
        def __index__(self):
            raise error

    class Pair:
        def __len__(self):
            return 2

        def __getitem__(self, _):
            raise error

    class Property(Bare):
        @property
        def __cuda_array_interface__(self):
            raise error

    class Hidden:
        @property
        def __cuda_array_interface__(self):
            raise error

    for device in (Pair(), (1, Number()), (Number(), 0)):
        with pytest.raises(error):
            gm.from_dlpack(Producer(SIX, device=device))
        with pytest.raises(error):
            gm.to_device(Producer(SIX, device=device), backend="sim")
    with pytest.raises(error):
        gm.to_device(SIX, backend="sim").__dlpack__(max_version=(Number(), 0))
    with pytest.raises(error):
        gm.to_device(Hidden(), backend="sim")
    if error is not Fault:  # of others it asks DLPack
        with pytest.raises(error):
            gm.copy(Property(SIX), backend="sim")
    for said in ({"shape": (Number(),)}, {"data": (Number(), False)}):
        thing = Interface()
        thing.__cuda_array_interface__ |= said
        with pytest.raises(error):
            gm.copy(thing)


def test_arrays_on_another_device_are_no_host_arrays():
    for thing in (Interface(), Producer(SIX, device=(dlpack.CUDA, 0))):
        words = "in CUDA memory, here an array on the host is expected"
        with pytest.raises(TypeError, match=words):
            gm.to_device(thing)
        with pytest.raises(TypeError, match=words):
            gm.strided_write(np.zeros(6, "f4"), thing, backend="sim")
    with pytest.raises(TypeError, match="in ROCm memory"):
        gm.copy(Producer(SIX, device=(dlpack.ROCM, 0)))


def test_an_interface_needs_a_gpu():
    if gm.info()["backends"]["cuda"]["available"]:
        pytest.skip("there is a GPU")
    for call in (gm.copy, gm.from_dlpack, lambda x: gm.transpose(x, out=SIX)):
        with pytest.raises(gm.UnavailableError, match=r"nvcc|NVIDIA|CUDA"):
            call(Interface())
