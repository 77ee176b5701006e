"""Elements of 0 bytes: moved as NumPy moves them, or refused by name; never a crash."""

import numpy as np
import pytest
import small_calls

import gpumem as gm
from gpumem.families import oracle

STRINGS = np.dtype([("S0", "S0"), ("U0", "U0"), ("x", "f4")])
EMPTY = {
    "V0": lambda shape: np.empty(shape, "V0"),
    "fields": lambda shape: np.empty(shape, np.dtype([])),
    # As fields only: NumPy makes room for one character in other arrays.
    "S0": lambda shape: np.zeros(shape, STRINGS)["S0"],
    "U0": lambda shape: np.zeros(shape, STRINGS)["U0"],
}
MOVED = [f for f in gm.families() if {case.dtype.kind for case in oracle.cases(f)} >= {"S", "V"}]
REFUSED = [f for f in gm.families() if f not in MOVED]


def arrays_of(family, new):
    """The inputs of a small call, the first and floats replaced by new arrays of their shape."""
    arrays = enumerate(small_calls.make(family).arrays.values())
    return [new(a.shape) if i == 0 or a.dtype.kind == "f" else a for i, a in arrays]


def place(arrays, where, backend):
    if where == "host":
        return arrays
    return [gm.to_device(a, backend=backend) if isinstance(a, np.ndarray) else a for a in arrays]


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", ["V0", "fields"])
@pytest.mark.parametrize("family", MOVED)
def test_moved_as_numpy_moves_them(family, dtype, where, backend):
    arrays, keywords = arrays_of(family, EMPTY[dtype]), small_calls.keywords_of(family)
    assert arrays[0].itemsize == 0
    wanted = oracle.expected(family, *arrays, **keywords)
    for run in [getattr(gm, family), *gm.variants(family)]:
        named = isinstance(run, gm.Variant)
        if named and run.reason_on(backend) is not None:
            continue
        try:
            got = run(*place(arrays, where, backend), **keywords, backend=backend)
        except ValueError as error:
            assert named and f"variant {run.name} " in str(error)
            continue
        got = got if where == "host" else got.to_host()
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape or run.name in ("copy_row", "copy_col")


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", EMPTY)
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name, dtype, where, backend):
    arrays = arrays_of(name, EMPTY[dtype])
    keywords = small_calls.keywords_of(name)
    if dtype in ("V0", "fields"):  # to_device refuses the others
        arrays = place(arrays, where, backend)
    with pytest.raises(TypeError, match=r"^(image|x|p|a|next|out) has dtype .*accepted"):
        getattr(gm, name)(*arrays, **keywords, backend=backend)


@pytest.mark.parametrize("dtype", ["S0", "U0"])
@pytest.mark.parametrize("family", MOVED)
def test_strings_without_characters_are_refused(family, dtype, backend):
    keywords = small_calls.keywords_of(family)
    refused = pytest.raises(TypeError, match=r"^(a|out) has dtype .*accepted are lengths from 1")
    with refused:
        getattr(gm, family)(*arrays_of(family, EMPTY[dtype]), **keywords, backend=backend)

    def on_device(shape):
        return gm.to_device(np.zeros(shape, STRINGS), backend=backend)[dtype]

    arrays = place(arrays_of(family, on_device), "device", backend)
    with refused:
        getattr(gm, family)(*arrays, **keywords)


@pytest.mark.parametrize("dtype", ["S0", "U0"])
def test_arrays_of_strings_without_characters_are_refused(dtype, backend):
    there = gm.to_device(np.zeros(6, STRINGS), backend=backend)[dtype]
    here = EMPTY[dtype](6)
    for make in (there.to_host, lambda: gm.empty(3, dtype), lambda: gm.to_device(here)):
        with pytest.raises(TypeError, match="accepted are lengths from 1"):
            make()


@pytest.mark.parametrize("family", MOVED)
def test_traffic_has_none(family):
    arrays = arrays_of(family, EMPTY["V0"])
    traffic = gm.traffic(family, *arrays, **small_calls.keywords_of(family))
    assert traffic.loads.requests == traffic.stores.requests == 0
