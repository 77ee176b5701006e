"""Elements of 0 bytes: moved as NumPy moves them, or refused by name; never a crash."""

import numpy as np
import pytest

import gpumem as gm

STRINGS = np.zeros(6, [("S0", "S0"), ("U0", "U0"), ("x", "f4")])
EMPTY = {
    "V0": np.empty(6, "V0"),
    "fields": np.empty(6, np.dtype([])),
    "S0": STRINGS["S0"],  # NumPy has them as fields alone: it gives others room for a character
    "U0": STRINGS["U0"],
}
MOVED = {
    "copy": lambda a: ((a,), {}, a),
    "strided_read": lambda a: ((a,), {"offset": 1, "stride": 2}, a[1::2]),
    "strided_write": lambda a: ((a[:4], a[4:]), {"offset": 0, "stride": 2}, a[:4]),
    "gather": lambda a: ((a, np.array([5, 0], "i8")), {}, a[:2]),
    "transpose": lambda a: ((a.reshape(2, 3),), {}, a.reshape(3, 2)),
}
REFUSED = {
    "shift_points": lambda a: (a[:4].reshape(2, 2), 1, 2),
    "polynomial": lambda a: (a, a),
    "sample": lambda a: (a[:4].reshape(2, 2), a[:4].reshape(2, 2)),
    "static_value": lambda a: (a[:1],),
    "prefetch_sum": lambda a: (a[:4].reshape(2, 2),),
    "add": lambda a: (a, a),
    "sgemm": lambda a: (a[:4].reshape(2, 2), a[:4].reshape(2, 2)),
    "matmul": lambda a: (a[:4].reshape(2, 2), a[:4].reshape(2, 2)),
}


def place(arrays, where, backend):
    if where == "host":
        return arrays
    return [gm.to_device(a, backend=backend) if isinstance(a, np.ndarray) else a for a in arrays]


def test_every_function_is_here():
    assert {*MOVED, *REFUSED} == {*gm.families(), "matmul"}


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", ["V0", "fields"])
@pytest.mark.parametrize("family", MOVED)
def test_moved_as_numpy_moves_them(family, dtype, where, backend):
    assert EMPTY[dtype].itemsize == 0
    arrays, keywords, wanted = MOVED[family](EMPTY[dtype])
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
    arrays = REFUSED[name](EMPTY[dtype])
    if EMPTY[dtype].dtype.kind == "V":  # others are refused on their way there
        arrays = place(arrays, where, backend)
    with pytest.raises(TypeError, match=r"^(image|x|p|a) has dtype .*accepted"):
        getattr(gm, name)(*arrays, backend=backend)


@pytest.mark.parametrize("dtype", ["S0", "U0"])
@pytest.mark.parametrize("family", MOVED)
def test_strings_without_characters_are_refused(family, dtype, backend):
    arrays, keywords, _ = MOVED[family](EMPTY[dtype])
    with pytest.raises(TypeError, match=r"^(a|out) has dtype .*accepted are sizes from 1"):
        getattr(gm, family)(*arrays, **keywords, backend=backend)
    there = gm.to_device(STRINGS, backend=backend)[dtype]
    arrays, keywords, _ = MOVED[family](there[:6]) if family != "transpose" else ((there,), {}, 0)
    with pytest.raises(TypeError, match=r"^(a|out) has dtype .*accepted are sizes from 1"):
        getattr(gm, family)(*place(arrays, "device", backend), **keywords)
    for make in (there.to_host, lambda: gm.empty(3, dtype), lambda: gm.to_device(EMPTY[dtype])):
        with pytest.raises(TypeError, match="accepted are sizes from 1"):
            make()


@pytest.mark.parametrize("family", MOVED)
def test_traffic_has_none(family):
    arrays, keywords, _ = MOVED[family](EMPTY["V0"])
    traffic = gm.traffic(family, *arrays, **keywords)
    assert traffic.loads.requests == traffic.stores.requests == 0
