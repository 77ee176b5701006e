"""shift_points: what it refuses."""

import numpy as np
import pytest
from layout_cases import FLOATS, POINTS, fields, guarded, layouts, random_points
from support import here

import gpumem as gm


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", POINTS, ids=str)
def test_a_named_variant_refuses_another_layout(variant, dtype, backend, rng):
    here(variant, backend)
    for layout in {"aos", "soa", "fields"} - set(layouts(variant)):
        p = random_points(rng, 33, dtype, layout)
        for each in (p, gm.to_device(p, backend=backend)):
            out = guarded(rng, p, backend)
            with pytest.raises(ValueError, match=r"\bp\b"):
                keywords = {} if each is p else {"out": out.array}
                variant(each, 1, 2, **keywords, backend=backend)
            out.assert_unchanged()
        if layout != "fields":
            with pytest.raises(ValueError, match=r"\bp\b"):
                gm.traffic("shift_points", p, variant=variant, dx=1, dy=2)


DTYPES = {
    "int": "i4",
    "long": "i8",
    "byte": "u1",
    "bool": "bool",
    "half": "f2",
    "complex": "c8",
    "double-complex": "c16",
    "text": "S8",
    "time": "m8[s]",
    "bytes": "V8",
    "fields-of-ints": fields("i4"),
    "fields-of-halves": fields("f2"),
    "other-names": [("a", "f4"), ("b", "f4")],
    "other-types": [("x", "f4"), ("y", "f8")],
    "one-field": [("x", "f4")],
    "three-fields": [("x", "f4"), ("y", "f4"), ("z", "f4")],
    "a-gap-between": {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [0, 8]},
    "a-gap-at-the-end": {
        "names": ["x", "y"],
        "formats": ["f4", "f4"],
        "offsets": [0, 4],
        "itemsize": 12,
    },
    "one-upon-the-other": {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [0, 0]},
    "fields-of-fields": [("x", fields("f4")), ("y", fields("f4"))],
    "fields-of-arrays": [("x", "f4", 2), ("y", "f4", 2)],
}


@pytest.mark.parametrize("kind", DTYPES)
def test_unsupported_dtypes(kind, backend):
    dtype = np.dtype(DTYPES[kind])
    p = np.zeros(7 if dtype.names else (7, 2), dtype)
    for each in (p, gm.to_device(p, backend=backend)):
        for name in ("auto", *(v.name for v in POINTS)):
            with pytest.raises(TypeError, match=r"\bp\b.*float32.*float64"):
                gm.shift_points(each, 1, 2, variant=name, backend=backend)


@pytest.mark.parametrize(
    "shape", [(), (0,), (2,), (7,), (3, 3), (0, 0), (0, 3), (3, 1), (1, 1), (2, 3, 2), (5, 2, 1)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_unsupported_shapes(dtype, shape, backend):
    p = np.zeros(shape, dtype)
    for each in (p, gm.to_device(p, backend=backend)):
        for name in ("auto", *(v.name for v in POINTS)):
            with pytest.raises(ValueError, match=r"\bp\b"):
                gm.shift_points(each, 1, 2, variant=name, backend=backend)


@pytest.mark.parametrize("shape", [(), (3, 2), (2, 3), (1, 1), (2, 2, 2)], ids=str)
def test_unsupported_shapes_of_structures(shape, backend):
    p = np.zeros(shape, fields("f4"))
    for each in (p, gm.to_device(p, backend=backend)):
        with pytest.raises(ValueError, match=r"\bp\b"):
            gm.shift_points(each, 1, 2, backend=backend)


NO_NUMBERS = {
    "text": "1",
    "bytes": b"1",
    "bytearray": bytearray(b"1"),
    "none": None,
    "complex": 1j,
    "complex64": np.complex64(1),
    "list": [1.0],
    "tuple": (1,),
    "array": np.ones(2),
    "array-of-text": np.array("1"),
    "array-of-complex": np.array(1j),
}


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("word", ["dx", "dy"])
def test_shifts_that_are_not_numbers(word, value, backend):
    p = np.zeros((5, 2), "f4")
    keywords = {"dx": 1, "dy": 2} | {word: NO_NUMBERS[value]}
    for each in (p, gm.to_device(p, backend=backend)):
        with pytest.raises(TypeError, match=rf"\b{word}\b"):
            gm.shift_points(each, **keywords, backend=backend)
    with pytest.raises(TypeError, match=rf"\b{word}\b"):
        gm.traffic("shift_points", p, **keywords)


def test_field_order(backend):
    """x is found by field name, at any offset, or the dtype is refused."""
    for dtype in (
        [("y", "f4"), ("x", "f4")],
        {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [4, 0]},
        {"names": ["y", "x"], "formats": ["f4", "f4"], "offsets": [4, 0]},
    ):
        p = np.zeros(3, dtype)
        p["x"], p["y"] = 1, 2
        for each in (p, gm.to_device(p, backend=backend)):
            try:
                got = gm.shift_points(each, 10, 20, backend=backend)
            except TypeError as error:
                assert "p has dtype" in str(error)
                continue
            got = got if each is p else got.to_host()
            assert got["x"].tolist() == [11] * 3 and got["y"].tolist() == [22] * 3


def test_mismatched_out_is_refused(backend):
    p = np.zeros((5, 2), "f4")
    for out, error, message in [
        (np.ones((2, 5), "f4"), ValueError, r"out has shape \(2, 5\), expected \(5, 2\)"),
        (np.ones(10, "f4"), ValueError, r"out has shape \(10,\), expected \(5, 2\)"),
        (np.ones((5, 2), "f8"), TypeError, r"out has dtype.*float64.*float32"),
        (np.ones(5, fields("f4")), (TypeError, ValueError), "out has"),
    ]:
        before = out.tobytes()
        with pytest.raises(error, match=message):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        device_out = gm.to_device(out, backend=backend)
        with pytest.raises(error, match=message):
            gm.shift_points(gm.to_device(p, backend=backend), 1, 2, out=device_out)
        assert out.tobytes() == device_out.to_host().tobytes() == before
    for buffer in (np.zeros((9, 2), "f4"), gm.to_device(np.zeros((9, 2), "f4"), backend=backend)):
        for overlapping in (buffer[:5], buffer[4:]):
            with pytest.raises(ValueError, match="out overlaps p"):
                gm.shift_points(buffer[:5], 1, 2, out=overlapping, backend=backend)


def test_mismatched_structured_out_is_refused(backend):
    p = np.zeros(5, fields("f4"))
    for out, error, message in [
        (np.ones(4, p.dtype), ValueError, r"out has shape \(4,\), expected \(5,\)"),
        (np.ones((5, 1), p.dtype), ValueError, r"out has shape \(5, 1\), expected \(5,\)"),
        (np.ones((5, 2), "f4"), TypeError, r"out has dtype"),
        (np.ones(5, fields("f8")), TypeError, r"out has dtype"),
    ]:
        before = out.tobytes()
        with pytest.raises(error, match=message):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        device_out = gm.to_device(out, backend=backend)
        with pytest.raises(error, match=message):
            gm.shift_points(gm.to_device(p, backend=backend), 1, 2, out=device_out)
        assert out.tobytes() == device_out.to_host().tobytes() == before


def test_overlapping_structures_are_refused(backend):
    """Including layouts that must be copied before the transfer."""
    buffer = np.zeros(10, fields("f4"))
    for p, out in [
        (buffer[:5], buffer[4:9]),
        (buffer[::2], buffer[:5]),
        (buffer[4::-1], buffer[:5]),
    ]:
        with pytest.raises(ValueError, match="out overlaps p"):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        assert buffer.tobytes() == bytes(80)
    device_points = gm.to_device(buffer, backend=backend)
    with pytest.raises(ValueError, match="out overlaps p"):
        gm.shift_points(device_points[:5], 1, 2, out=device_points[4:9])
    out = np.zeros(5, fields("f4"))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gm.shift_points(buffer[:5], 1, 2, out=out, backend=backend)


def test_a_list_of_pairs(backend):
    got = gm.shift_points([[1.0, 2.0], [3.0, 4.0]], 1, 2, backend=backend)
    assert np.array_equal(got, [[2.0, 4.0], [4.0, 6.0]])
