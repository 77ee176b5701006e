"""permute's row joined: rows along several axes of the result, columns along several of a."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpumem as gm
from gpumem import _core
from gpumem.families.permute import _parameters

UNITS = {"u1": "b8", "u2": "b16", "f4": "b32", "f8": "b64", "c16": "b128"}
SIDES = [2, 3, 5, 8, 15, 16, 17, 31, 33, 40, 64, 97, 131, 300]
# What a thread does with columns: one after the other along an axis, from a table as they begin
# alike in sectors, sorted by that, or with units in an order that differs by column.
LAYOUTS = {
    "one axis": ((40, 7, 97), (1, 2, 0)),
    "alike": ((33, 32, 3, 5, 64), (3, 2, 4, 1, 0)),
    "sorted": ((131, 3, 40, 5), (2, 1, 3, 0)),
    "turned": ((3, 273, 225), (0, 2, 1)),
    "next column along the second axis": ((45, 11, 9, 13), (3, 1, 2, 0)),
    "next matrix": ((77, 6, 4, 20), (2, 3, 1, 0)),
    # Units that stay together: rows of a line.
    "pixels": ((41, 67, 3), (1, 0, 2)),
    "pixels along several axes": ((2, 37, 3, 43, 5), (3, 2, 1, 0, 4)),
    "next column of pixels": ((7, 6, 11, 19, 3), (2, 3, 1, 0, 4)),
    "long runs": ((19, 21, 33), (1, 0, 2)),
    "runs of two axes of matrices": ((3, 12, 34, 7), (0, 2, 1, 3)),
}


def random_array(rng, shape, dtype):
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(
        shape
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("dtype", UNITS)
def test_any_axes(dtype, backend, rng, data):
    """Any order of them, cut out of a larger array and mirrored or not, at any place of a sector,
    into results with gaps or without."""
    dims = data.draw(st.integers(2, 5))
    shape = [data.draw(st.sampled_from(SIDES)) for _ in range(dims)]
    while np.prod(shape) > 2**17 // np.dtype(dtype).itemsize:
        shape[int(np.argmax(shape))] = 3
    axes = data.draw(st.permutations(range(dims)))
    whole = [side + data.draw(st.sampled_from([0, 0, 0, 1])) for side in shape]
    steps = [data.draw(st.sampled_from([1, 1, 1, -1])) for _ in shape]
    out_shape = [shape[axis] for axis in axes]
    out_whole = [side + data.draw(st.sampled_from([0, 0, 0, 0, 1])) for side in out_shape]
    offset, out_offset = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 20))
    itemsize = np.dtype(dtype).itemsize
    memory, poison = (
        rng.integers(0, 256, (np.prod(s) + o + 20) * itemsize, dtype=np.uint8)
        for s, o in ((whole, offset), (out_whole, out_offset))
    )

    def view(bytes_):
        array = bytes_.view(f"V{itemsize}")[offset : offset + np.prod(whole)].reshape(whole)
        return array[tuple(slice(side) for side in shape)][
            tuple(slice(None, None, s) for s in steps)
        ]

    def result(bytes_):
        array = bytes_.view(f"V{itemsize}")[out_offset : out_offset + np.prod(out_whole)]
        return array.reshape(out_whole)[tuple(slice(side) for side in out_shape)]

    there, out = (gm.to_device(m, backend=backend) for m in (memory, poison))
    try:
        gm.permute(view(there), axes, out=result(out), variant=f"joined:{UNITS[dtype]}")
    except ValueError as error:  # what fits together moves as larger units, or not as matrices
        assert any(why in str(error) for why in ("units of", "without gaps", "run on"))
        return
    result(poison)[...] = view(memory).transpose(axes)
    assert out.to_host().tobytes() == poison.tobytes()


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("u2", (1_430_007, 16, 3), (2, 1, 0)),  # few columns: longer ones
        ("f4", (33, 2711, 7, 9, 6), (0, 4, 3, 2, 1)),
        ("f8", (67, 45_007, 6), (1, 2, 0)),  # few rows: longer ones
        ("c16", (601, 7, 2011), (0, 2, 1)),
        ("u1", (32, 34, 27, 48, 98), (4, 1, 2, 3, 0)),  # columns that fill a tile's room with gaps
    ],
)
def test_narrow_matrices_of_large_arrays(dtype, shape, axes, backend, rng):
    a = random_array(rng, shape, dtype)
    assert a.nbytes >= 2**27
    got = gm.permute(gm.to_device(a, backend=backend), axes, variant="joined").to_host()
    assert np.array_equal(got.view("u1"), np.ascontiguousarray(a.transpose(axes)).view("u1"))


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_way_to_store(layout, dtype, backend, rng):
    shape, axes = LAYOUTS[layout]
    for offset in (0, 1, 3):
        a = random_array(rng, (np.prod(shape) + offset,), dtype)[offset:].reshape(shape)
        got = gm.permute(gm.to_device(a, backend=backend), axes, variant="joined")
        assert got.to_host().tobytes() == a.transpose(axes).tobytes()


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("u1", (66, 40, 11, 97), (2, 3, 1, 0)),  # rows of the result follow each other,
        ("u1", (700, 7, 22, 6), (2, 1, 3, 0)),  # columns of the input;
        ("f4", (74, 14, 5, 11, 45), (4, 1, 2, 3, 0)),  # the next column is along the second axis
        ("f8", (5, 14, 5, 236), (3, 1, 2, 0)),
        ("u1", (401, 333, 3), (1, 0, 2)),  # pixels; the next column ends and begins in a sector
        ("f4", (40, 3, 101, 67, 5), (3, 2, 1, 0, 4)),
    ],
)
def test_memory_is_moved_by_sectors(dtype, shape, axes):
    a = gm.to_device(np.ones(shape, dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=axes, variant="joined")
    assert counted.stores.sectors * 32 < 1.1 * a.nbytes


@pytest.mark.parametrize(
    ("rows", "columns", "ways"),
    [(256, 224, 1), (273, 225, 1), (265, 225, 1)],  # 1 - p q: odd, a multiple of 16, of 8
)
def test_lanes_read_different_banks(rows, columns, ways):
    """Also where the places of four columns' units are the same in vectors."""
    a = gm.to_device(np.ones((2, rows, columns), "u1"), backend="sim")
    counted = gm.traffic("permute", a, axes=(0, 2, 1), variant="joined")
    loads = [site for site in counted.sites if (site["space"], site["kind"]) == ("shared", "load")]
    most = max(loads, key=lambda site: site["requests"])
    assert most["passes"] / most["requests"] == pytest.approx(ways, rel=0.02)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("u1", (480, 320, 3)),
        ("u1", (801, 401, 3)),  # lanes of four columns read the same words in the same order
        ("u1", (263, 511, 7)),
        ("u2", (128, 512, 3)),
        ("u2", (402, 301, 5)),
        ("f4", (334, 200, 3)),
    ],
)
def test_lines_of_pixels_are_in_different_banks(dtype, shape):
    """With a gap of a vector behind the lines of a lane, as for rows, these took 3 to 5 passes."""
    a = gm.to_device(np.ones(shape, dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=(1, 0, 2), variant="joined")
    loads = [site for site in counted.sites if (site["space"], site["kind"]) == ("shared", "load")]
    units = sorted(loads, key=lambda site: -site["requests"])[: 16 // a.itemsize]
    passes = sum(site["passes"] for site in units) / sum(site["requests"] for site in units)
    assert passes < 2.6


def test_columns_are_sorted_by_where_they_begin():
    """Places of units are looked up once for all columns of a thread that begin alike: of six along
    an axis of odd length, which are all different, and the 37 next ones."""
    a = gm.to_device(np.ones((1689, 3, 37, 6), "u1"), backend="sim")
    counted = gm.traffic("permute", a, axes=(2, 1, 3, 0), variant="joined")
    vectors = a.nbytes / 16
    loads = sum(
        32 * site["requests"]
        for site in counted.sites
        if (site["space"], site["kind"]) == ("shared", "load")
    )
    assert loads / vectors < 16 + 12  # units, and fewer places than units


@pytest.mark.parametrize(("shape", "axes"), [((65537, 2, 3, 2), (0, 3, 2, 1))])
def test_more_matrices_than_a_grid_counts(shape, axes, backend, rng):
    a = random_array(rng, shape, "u2")
    got = gm.permute(gm.to_device(a, backend=backend), axes, variant="joined")
    assert got.to_host().tobytes() == a.transpose(axes).tobytes()


def test_bands_of_tiles(backend, rng):
    """Three of them; the last one and the last column of tiles are partial."""
    a = random_array(rng, (2, 34000, 13, 3), "u2")
    got = gm.permute(gm.to_device(a, backend=backend), (0, 3, 2, 1), variant="joined")
    assert got.to_host().tobytes() == a.transpose(0, 3, 2, 1).tobytes()


@pytest.mark.parametrize("dtype", UNITS)
def test_auto_takes_it_where_axes_join(dtype):
    """Axes in reverse, of 9 to 23 elements each: neither rows nor columns are long along one."""
    shape = (23, 17, 13, 19, 22) if dtype in ("u1", "u2") else (12, 11, 13, 9, 11)
    view = gm.to_device(np.zeros(shape, dtype), backend="sim")
    out = gm.to_device(np.empty(view.shape[::-1], dtype), backend="sim")
    plan = _core.prepare("permute", "auto", (view,), out, None, _parameters((4, 3, 2, 1, 0)))
    assert plan.variant == f"joined:{UNITS[dtype]}"


@pytest.mark.parametrize(
    ("dtype", "channels", "name"),
    [("u1", 3, "joined:b8"), ("u2", 5, "joined:b16"), ("f4", 3, "joined:b32"), ("u1", 12, "units")],
)
def test_auto_takes_it_for_images_that_are_turned(dtype, channels, name):
    """By a quarter to the left and to the right; into a part of another image, too."""
    a = gm.to_device(np.zeros((1200, 1801, channels), dtype), backend="sim")
    for view in (a.transpose(1, 0, 2), a[::-1].transpose(1, 0, 2), a[:, ::-1].transpose(1, 0, 2)):
        out = gm.DeviceArray(view.shape, dtype, backend="sim")
        plan = _core.prepare("permute", "auto", (view,), out, None, _parameters((0, 1, 2)))
        assert plan.variant == name
    if name != "units":
        part = gm.DeviceArray((1810, 1210, channels), dtype, backend="sim")[5:1806, 3:1203]
        plan = _core.prepare("permute", "auto", (a,), part, None, _parameters((1, 0, 2)))
        assert plan.variant == name


def test_errors_say_what_is_wrong():
    pairs = np.zeros((4, 5, 6, 2), "u1")
    with pytest.raises(ValueError, match=r"moves units of 1 byte; .* units of 2"):
        gm.permute(pairs, (2, 1, 0, 3), variant="joined:b8")
    with pytest.raises(ValueError, match="without gaps"):
        first = gm.to_device(pairs, backend="sim")[..., 0]
        gm.permute(first, (1, 0, 2), variant="joined")
    with pytest.raises(ValueError, match="runs of at most 64 units"):
        gm.permute(np.zeros((4, 5, 65), "u1"), (1, 0, 2), variant="joined")
