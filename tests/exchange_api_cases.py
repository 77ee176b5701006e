"""What the tests of the exchange API share."""

import ctypes
import importlib.util
import os
import subprocess
import sysconfig
from pathlib import Path

import dlpack
import numpy as np

import gpumem as gm

HERE = Path(__file__).resolve().parent


ARRAYS = dlpack.awkward_arrays()


SIX = np.arange(6, dtype="f4").reshape(2, 3)


API = "__dlpack_c_exchange_api__"


def make_library(tmp_path_factory):
    """The module with the type Array, and functions that make tables and count calls."""
    path = tmp_path_factory.mktemp("exchange") / "exchange_producer.so"
    command = [*os.environ.get("CC", "cc").split(), "-std=c11", "-shared", "-fPIC", "-o", str(path)]
    command += ["-I", sysconfig.get_path("include"), "-I", str(HERE.parent / "third_party")]
    subprocess.run([*command, str(HERE / "exchange/producer.c")], check=True)
    return load_library(path)


def load_library(path):
    specification = importlib.util.spec_from_file_location("exchange_producer", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def make_kinds(library):
    """The ways to offer the API: with all functions, and without the one that may be left out."""
    return {
        "all": type("All", (library.Array,), {API: library.table()}),
        "managed": type("Managed", (library.Array,), {API: library.table(without="tensor")}),
    }


def lend(kind, array, *, error=None, flags=0, major=1, **fields):
    """Return an object of the type over an ndarray; fields are as in `dlpack.Producer`."""
    producer = dlpack.Producer(array, legacy=True, **fields)
    producer.__dlpack__()
    managed, _ = producer.lent[0]
    return kind(ctypes.addressof(managed.tensor), (producer, managed), error, flags, major)


def make_dlpack_type(library):
    """A type that lends SIX by DLPack."""
    return type(
        "ByDLPack",
        (library.Array,),
        {
            "__dlpack__": lambda self, **keywords: SIX.__dlpack__(**keywords),
            "__dlpack_device__": lambda self: (1, 0),
        },
    )


def reads_by_the_api(kind):
    """Whether an array of this type is read by the API, which says other elements than DLPack."""
    return gm.copy(lend(kind, SIX + 1))[0, 0] == 1


class Counted:
    """Counts what is asked of the library in a block, and checks that all is given back."""

    def __init__(self, library):
        self.library = library

    def __enter__(self):
        self.before = self.library.counts()
        return self

    def __exit__(self, *error):
        after = self.library.counts()
        self.tensors, self.managed, self.streams, self.lent = (
            b - a for a, b in zip(self.before, after, strict=True)
        )
