"""Files larger than memory: in pieces, within a limit, and never half written in silence."""

import io
import itertools
import math
import os

import numpy as np
import pytest
from out_of_core_cases import in_file, make_blocks, make_simulator, make_small, same

import gpumem.out_of_core as gmo
from gpumem.families.inputs import MOVED, random_bytes
from gpumem.families.raw_bytes import opaque
from gpumem.out_of_core import limits, mapped, moves, products
from gpumem.out_of_core.plan import plan

simulator = pytest.fixture(autouse=True)(make_simulator)
small = pytest.fixture(make_small)
blocks = pytest.fixture(make_blocks)

DTYPES = [np.dtype(one) for one in (*MOVED, "u1", ">f4", "V24", "U3")]


# ---- plans --------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 40, 300, 10**6])
@pytest.mark.parametrize("shape", [(1,), (9,), (7, 11), (4, 1, 6), (3, 5, 2, 7)], ids=str)
def test_pieces_cover_an_array_once(shape, most):
    size = 8 * math.prod(shape)
    for axes in itertools.permutations(range(len(shape))):
        a = np.zeros(shape).transpose(axes)
        found = plan(a, np.zeros(a.shape), most)
        seen = np.zeros(a.shape, int)
        for box in found.boxes():
            seen[box] += 1
            assert seen[box].nbytes <= max(8, most)
        assert (seen == 1).all()
        assert found.count() == len(list(found.boxes()))
        assert found.count() <= max(1, 16 * size // min(most, size))


def test_pieces_of_a_transpose_are_squares_and_those_of_a_copy_are_rows():
    a, out = np.zeros((1000, 1200), "f4"), np.zeros((1200, 1000), "f4")
    down, across = plan(a.T, out, 40000).lengths
    assert 80 <= down <= 125 and 80 <= across <= 125 and down * across <= 10000
    assert plan(a, np.zeros_like(a), 48000).lengths == (10, 1200)


@pytest.mark.parametrize("most", [1, 2**17, 2**20, 2**30])
def test_strips_cover_a_part_once(tmp_path, most):
    a = np.memmap(tmp_path / "a", "u1", "w+", shape=(40, 3, 20000))
    for part in (a, a[::3, :, 5:19000], a[:, 1, ::-2], a.T, a[:, :, :1], a[:1, :1, :1]):
        seen = np.zeros(part.shape, int)
        count = 0
        for strip in mapped.strips(np.asarray(part), most):
            seen[strip] += 1
            count += 1
        assert (seen == 1).all()
        assert count == 1 or most < part.nbytes + part.shape[0] * 2**18


def test_blocks_fit_into_memory():
    for m, n, k in ((10**6, 10**6, 10**6), (10, 10**9, 1000), (10**7, 1, 10**6), (5, 7, 10**9)):
        for limit in (2**25, 2**30, 2**36):
            found = products.blocks(m, n, k, limit, None)
            block = 4 * found.rows * found.columns
            panels = 4 * found.depth * (found.rows + found.columns)
            assert 6 * block + 6 * panels <= limit
            assert found.depth == k or found.depth >= 50
    on_device = products.blocks(10**6, 10**6, 10**6, 2**40, 2**34)
    assert 3 * 4 * on_device.rows * on_device.columns < 2**34


# ---- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype, tmp_path, rng, small):
    a = in_file(tmp_path / "a", random_bytes((61, 83), dtype, rng))
    out = np.memmap(tmp_path / "b", dtype, "w+", shape=(83, 61))
    assert gmo.transpose(a, out).filename == out.filename
    assert same(out, a.T)
    out = gmo.permute(a.reshape(61, 1, 83), (2, 0, 1), tmp_path / "c.npy")
    assert same(out, a.reshape(61, 1, 83).transpose(2, 0, 1))
    assert not list(tmp_path.glob("*.incomplete")) + list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("target", "CF")
@pytest.mark.parametrize("source", "CF")
@pytest.mark.parametrize("shape", [(1, 1), (5, 300), (129, 257), (17, 23, 31), (3, 4, 5, 60)])
def test_orders_and_sizes(shape, source, target, tmp_path, rng, small):
    a = in_file(tmp_path / "a", rng.integers(0, 2**30, shape, "i4"), source)
    for axes in (range(a.ndim), range(a.ndim)[::-1], rng.permutation(a.ndim)):
        wanted = a.transpose(axes)
        out = np.memmap(tmp_path / "b", "i4", "w+", shape=wanted.shape, order=target)
        gmo.permute(a, axes, out)
        assert same(out, wanted)


def test_views_that_are_not_contiguous(tmp_path, rng, small):
    a = in_file(tmp_path / "a", rng.integers(0, 2**30, (60, 70, 5), "i4"))
    views = [a[::2, 1:-3], a[::-1, :, ::-2], a[:, :, 0], a[5], a[:, :1], a[3:4, 4, 2], a[:1, 2:2]]
    views += [np.broadcast_to(a[:1], (40, 70, 5)), a.reshape(-1)[7:8].reshape(())]
    for view in views:
        assert same(gmo.permute(view, None, tmp_path / "b.npy"), view.T)


def test_only_the_elements_of_a_view_are_written(tmp_path, rng, small):
    a = rng.integers(1, 2**30, (37, 45), "i4")
    b = np.memmap(tmp_path / "b", "i4", "w+", shape=(90, 111))
    gmo.transpose(a, b[::2, 1:111:3])
    assert same(b[::2, 1:111:3], a.T)
    b[::2, 1:111:3] = 0
    assert not b.any()


def cut_view(a, rng):
    """Return a random view: steps, negative ones too, and some axes cut."""
    steps = [int(rng.choice([1, 1, 2, 3, -1, -2])) for _ in a.shape]
    return a[tuple(slice(None, None, step) for step in steps)]


def test_random_layouts(tmp_path, rng, small, monkeypatch):
    for case in range(25):
        monkeypatch.setattr(moves, "_FEWEST", int(rng.choice([1, 3, 20, 60])))
        shape = tuple(rng.integers(1, 20, int(rng.integers(1, 5))).tolist())
        dtype = np.dtype(rng.choice(["u1", "i2", "f4", "c16", "S3"]))
        a = in_file(tmp_path / "a", random_bytes(shape, dtype, rng), rng.choice(["C", "F"]))
        a = cut_view(a, rng)
        axes = tuple(rng.permutation(a.ndim).tolist())
        wanted = a.transpose(axes)
        sides = tuple(3 * n for n in wanted.shape)
        whole = np.memmap(tmp_path / "b", dtype, "w+", shape=sides, order=rng.choice(["C", "F"]))
        steps = [int(rng.choice([1, 2, 3])) for _ in sides]
        out = whole[tuple(slice(0, s * n, s) for s, n in zip(steps, wanted.shape, strict=True))][
            tuple(slice(None, None, int(rng.choice([1, -1]))) for _ in sides)
        ]
        gmo.permute(a, axes, out)
        assert same(out, wanted), (case, shape, dtype, axes, a.strides, out.strides)
        opaque(out)[...] = np.zeros((), f"V{dtype.itemsize}")
        assert not np.asarray(whole).reshape(-1, order="A").view(np.uint8).any()


def test_arrays_in_memory_and_paths(tmp_path, rng, small):
    a = rng.integers(0, 2**30, (100, 90), "i4")
    np.save(tmp_path / "a.npy", a)
    out = np.empty((90, 100), "i4")
    assert gmo.transpose(str(tmp_path / "a.npy"), out) is out
    assert same(out, a.T)
    os.symlink("real.npy", tmp_path / "link.npy")
    found = gmo.copy(a, tmp_path / "link.npy")
    assert found.mode == "r+" and same(found, a)
    assert (tmp_path / "link.npy").is_symlink() and (tmp_path / "real.npy").is_file()


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,)], ids=str)
def test_nothing_to_move(shape, tmp_path):
    assert gmo.permute(np.zeros(shape), None, tmp_path / "b.npy").shape == shape[::-1]
    assert gmo.copy(np.zeros(shape, "V0"), np.zeros(shape, "V0")).shape == shape
    none = gmo.matmul(np.zeros((*shape[:1], 0), "f4"), np.zeros((0, 3), "f4"), tmp_path / "c.npy")
    assert (none == np.zeros((shape[0], 3))).all()


def test_a_stack_is_transposed_matrix_by_matrix(tmp_path, small):
    a = np.arange(2 * 3 * 40 * 50).reshape(2, 3, 40, 50)
    assert same(gmo.transpose(a, tmp_path / "b.npy"), a.mT)


def test_a_private_map_keeps_its_changes(tmp_path, small):
    in_file(tmp_path / "a", np.zeros((300, 400), "i4")).flush()
    a = np.memmap(tmp_path / "a", "i4", "c", shape=(300, 400))
    a[...] = 7
    assert (gmo.transpose(a, tmp_path / "b.npy") == 7).all()
    assert (a == 7).all()


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("sides", [(1, 1, 1), (7, 11, 5), (20, 30, 23), (15, 1, 12), (3, 4, 0)])
def test_products(sides, order, tmp_path, rng, blocks):
    m, n, k = sides
    a = in_file(tmp_path / "a", rng.standard_normal((m, k)).astype("f4"), order) if k else None
    a = np.zeros((m, 0), "f4") if a is None else a
    b = rng.standard_normal((k, n)).astype("f4")
    out = np.memmap(tmp_path / "c", "f4", "w+", shape=(m, n), order=order)
    out[...] = np.nan
    gmo.matmul(a, b, out)
    exact = a.astype("f8") @ b.astype("f8")
    bound = (k + 3) * np.finfo("f4").eps * (abs(a.astype("f8")) @ abs(b.astype("f8")))
    assert (abs(out - exact) <= bound).all()
    assert same(gmo.matmul(a, b, tmp_path / "again.npy"), np.asarray(out))


# ---- arguments ----------------------------------------------------------------------------------


def read_only(tmp_path):
    in_file(tmp_path / "r", np.zeros((3, 2)))
    return np.memmap(tmp_path / "r", "f8", "r", shape=(3, 2))


REFUSED = {
    "a list": (lambda p: ([1], p / "b.npy"), TypeError, "a must be a numpy.memmap, an ndarray"),
    "a number": (lambda p: (np.zeros((2, 3)), 3), TypeError, "out must be a numpy.memmap"),
    "a raw file": (lambda p: (p / "a.raw", p / "b.npy"), ValueError, "a is .*ends in .npy"),
    "a raw result": (lambda p: (np.zeros((2, 3)), p / "b"), ValueError, "out is .*ends in .npy"),
    "no file": (lambda p: (p / "none.npy", p / "b.npy"), FileNotFoundError, "none.npy"),
    "no folder": (
        lambda p: (np.zeros((2, 3)), p / "none" / "b.npy"),
        FileNotFoundError,
        "there is no folder",
    ),
    "objects": (lambda p: (np.array([[None]]), p / "b.npy"), TypeError, "a has dtype object"),
    "a mask": (lambda p: (np.ma.zeros((2, 3)), p / "b.npy"), TypeError, "a must be"),
    "a vector": (lambda p: (np.zeros(3), p / "b.npy"), ValueError, "a has 1 axes"),
    "another dtype": (
        lambda p: (np.zeros((2, 3)), np.zeros((3, 2), "f4")),
        TypeError,
        "out has dtype float32, expected float64",
    ),
    "another shape": (
        lambda p: (np.zeros((2, 3)), np.zeros((2, 3))),
        ValueError,
        r"out has shape \(2, 3\), expected \(3, 2\)",
    ),
    "read only": (lambda p: (np.zeros((2, 3)), read_only(p)), ValueError, "out is read-only"),
    "private": (
        lambda p: (
            np.zeros((2, 3)),
            np.memmap(in_file(p / "c", np.zeros((3, 2))).filename, "f8", "c", shape=(3, 2)),
        ),
        ValueError,
        'out is mapped with mode "c"',
    ),
    "one row for all": (
        lambda p: (
            np.zeros((2, 3)),
            np.lib.stride_tricks.as_strided(np.zeros(2), (3, 2), (0, 8)),
        ),
        ValueError,
        "its elements share memory",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, tmp_path):
    make, error, message = REFUSED[name]
    arguments = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=message):
        gmo.transpose(*arguments)
    assert sorted(tmp_path.iterdir()) == before


def npy(a):
    """Return what numpy.save writes."""
    file = io.BytesIO()
    np.save(file, a)
    return file.getvalue()


NOT_NPY = {
    "empty": (b"", ValueError),
    "text": (b"hello, world", ValueError),
    "an archive": (b"PK\x03\x04" + bytes(60), ValueError),
    "cut off": (npy(np.arange(1000.0))[:500], ValueError),
    "objects": (npy(np.array([[None]])), TypeError),
}


@pytest.mark.parametrize("name", NOT_NPY)
def test_files_that_cannot_be_read(name, tmp_path):
    data, error = NOT_NPY[name]
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(error, match=r"^a is '.*a\.npy', which cannot be read as an \.npy file: "):
        gmo.copy(tmp_path / "a.npy", tmp_path / "b.npy")
    assert [one.name for one in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (2**20, ValueError, r"limit is 1048576 bytes, expected at least 33554432 \(32 MiB\)"),
        ("1M", ValueError, "limit is 1048576 bytes"),
        ("64M,32M", ValueError, "expected one size"),
        ("much", ValueError, "limit is 'much', expected bytes such as"),
        (1.5, TypeError, "limit is 1.5"),
        ([2**26], TypeError, r"limit is \[67108864\]"),
    ],
)
def test_limits(limit, error, message, tmp_path):
    with pytest.raises(error, match=message):
        gmo.copy(np.zeros(3), tmp_path / "b.npy", limit=limit)
    with pytest.raises(error, match=message):
        one = np.zeros((2, 2), "f4")
        gmo.matmul(one, one, tmp_path / "b.npy", limit=limit)
    assert not list(tmp_path.iterdir())


def test_the_default_limit(monkeypatch):
    for free, wanted in ((2**40, 2**34), (2**33, 2**31), (0, limits.LEAST)):
        monkeypatch.setattr(limits, "host_memory", lambda free=free: free)
        assert limits.checked_limit(None) == wanted


def test_an_element_larger_than_the_limit(tmp_path):
    with pytest.raises(ValueError, match=r"limit is 33554432 bytes, expected at least \d+ "):
        gmo.copy(np.zeros(2, "V2000000"), tmp_path / "b.npy", limit=limits.LEAST)


def test_other_keywords(tmp_path):
    """They are checked before a file is marked."""
    one = np.zeros((2, 2), "f4")
    out = in_file(tmp_path / "b", one)
    for call, inputs in ((gmo.transpose, (one,)), (gmo.matmul, (one, one))):
        with pytest.raises(TypeError, match="progress must be callable, not True"):
            call(*inputs, out, progress=True)
        with pytest.raises(ValueError, match='backend is "gpu"'):
            call(*inputs, out, backend="gpu")
    assert [one.name for one in tmp_path.iterdir()] == ["b"]


def test_axes(tmp_path):
    with pytest.raises(ValueError, match=r"axes is \(0, 0\), no permutation of 2 axes"):
        gmo.permute(np.zeros((2, 3)), (0, 0), tmp_path / "b.npy")
    with pytest.raises(TypeError, match=r"axes\[1\] must be an integer, not float"):
        gmo.permute(np.zeros((2, 3)), (1, 0.0), tmp_path / "b.npy")


def test_factors_that_do_not_fit(tmp_path):
    one = np.zeros((2, 3), "f4")
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(2, 3\), no m x k and k x n"):
        gmo.matmul(one, one, tmp_path / "c.npy")
    with pytest.raises(TypeError, match="b has dtype float64, expected float32"):
        gmo.matmul(one, np.zeros((3, 2)), tmp_path / "c.npy")
    with pytest.raises(ValueError, match="precision is 'low'"):
        gmo.matmul(one, one.T, tmp_path / "c.npy", precision="low")


def test_a_result_over_its_input(tmp_path):
    a = in_file(tmp_path / "a", np.zeros((40, 40)))
    with pytest.raises(ValueError, match="out overlaps a"):
        gmo.transpose(a, a)
    again = np.memmap(tmp_path / "a", "f8", "r+", shape=(40, 40))
    with pytest.raises(ValueError, match=r"out and a overlap in .*/a"):
        gmo.transpose(a, again)
    np.save(tmp_path / "b.npy", np.zeros((4, 4)))
    with pytest.raises(ValueError, match="out is the file of a"):
        gmo.transpose(tmp_path / "b.npy", tmp_path / "b.npy")
    a[:, :20] = 1
    gmo.transpose(a[:20, :20], a[20:, 20:])
    gmo.copy(a[:, :20], a[:, 20:])
    gmo.copy(a[:20], again[20:])
    assert (a == 1).all()
