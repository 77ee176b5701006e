"""DeviceArray: ways to the host."""

import numpy as np
import pytest
from device_array_cases import CUBE, make_cube, make_points

import gpumem as gm

cube = pytest.fixture(make_cube)
points = pytest.fixture(make_points)


pytestmark = pytest.mark.usefixtures("frozen")


VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "sliced": lambda a: a[:, 1:, ::2],
    "one": lambda a: a[1, 2, 3, ...],
    "none": lambda a: a[:, 3:],
    "misaligned": lambda a: a[1, 1, 1:],
}

OUTS = {
    "contiguous": lambda a: np.full(a.shape, 7, a.dtype),
    "fortran": lambda a: np.full(a.shape, 7, a.dtype, order="F"),
    "sliced": lambda a: np.full((*a.shape, 3), 7, a.dtype)[..., 1],
    "reversed": lambda a: np.full(a.size, 7, a.dtype)[::-1].reshape(a.shape),
    "unaligned": lambda a: np.ndarray(a.shape, a.dtype, bytearray(a.nbytes + 1), 1),
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("view", VIEWS)
def test_into_out(view, out, cube):
    here = VIEWS[view](CUBE)
    target = OUTS[out](here)
    assert VIEWS[view](cube).to_host(target) is target
    np.testing.assert_array_equal(target, here)
    target[...] = 7
    assert VIEWS[view](cube).to_host(out=target, stream=None) is target
    np.testing.assert_array_equal(target, here)


def test_bytes_beside_a_strided_out_stay(cube):
    buffer = np.full((2, 3, 8), -1, "f4")
    cube.to_host(buffer[:, :, 1::2])
    np.testing.assert_array_equal(buffer[:, :, 1::2], CUBE)
    assert np.all(buffer[:, :, ::2] == -1)


def test_padding_is_transferred(points):
    here, there = points
    aligned = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    here = here.view("u1")[:, : 16 * 4].copy().view(aligned)
    there = gm.to_device(here, backend=there.backend)
    for view in (lambda a: a, lambda a: a.T, lambda a: a[::2, ::-1]):
        wanted = view(here).view("V16").tobytes()
        assert view(there).to_host().tobytes() == wanted
        for order in "CF":
            target = np.zeros(view(here).shape, aligned, order)
            assert view(there).to_host(target).view("V16").tobytes() == wanted


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        (np.zeros((2, 3, 4)), TypeError, "out has dtype.*float64.*float32"),
        (np.zeros((2, 3, 4), ">f4"), TypeError, "out has dtype.*expected.*float32"),
        (np.zeros((2, 3), "f4"), ValueError, r"out .*shape.*\(2, 3\).*\(2, 3, 4\)"),
        (np.zeros((4, 3, 2), "f4"), ValueError, r"out .*shape.*\(4, 3, 2\).*\(2, 3, 4\)"),
        (np.broadcast_to(np.float32(0), (2, 3, 4)), ValueError, "out.*read-only"),
        (
            np.lib.stride_tricks.as_strided(np.zeros(12, "f4"), (2, 3, 4), (0, 16, 4)),
            ValueError,
            "elements of out share memory",
        ),
        ([0.0], TypeError, "out must be a NumPy array, not list"),
        (bytearray(96), TypeError, "out must be a NumPy array, not bytearray"),
        (0, TypeError, "out must be a NumPy array, not int"),
    ],
    ids=["dtype", "swapped", "ndim", "shape", "read-only", "shared", "list", "bytearray", "int"],
)
def test_a_wrong_out(out, error, words, cube):
    for view, target in ((cube, out), (cube.T.T[...], out)):
        with pytest.raises(error, match=words):
            view.to_host(target)
    assert not np.any(np.asarray(out))


def test_out_has_to_be_on_the_host(cube):
    with pytest.raises(TypeError, match=r"out must be a NumPy array, not gpumem\.Dev"):
        cube.to_host(cube)
    for arguments in (((None, None), {}), ((), {"wrong": 1})):
        with pytest.raises(TypeError):
            cube.to_host(*arguments[0], **arguments[1])
    for stream in (1.5, "s", True):
        with pytest.raises(TypeError, match=r"stream must be a gpumem\.Stream"):
            cube.to_host(stream=stream)
