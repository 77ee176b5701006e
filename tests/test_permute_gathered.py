"""permute's gathered matrices: bytes and halves whose rows begin anywhere, on both sides."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpumem as gm

DTYPES = {"u1": "gathered_b8", "u2": "gathered_b16"}
SIDES = [2, 15, 16, 17, 31, 33, 47, 65, 100, 129, 151, 260, 301, 515, 701]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_rows_and_columns(dtype, backend, rng, data):
    """Cut out of larger arrays at any place, mirrored or not, into results with gaps or without."""
    rows, cols = data.draw(st.sampled_from(SIDES)), data.draw(st.sampled_from(SIDES))
    outer = data.draw(st.integers(1, 4))
    order = data.draw(st.sampled_from([(0, 2, 1), (2, 1, 0), (2, 0, 1)]))
    shape = (outer, rows, cols) if order == (0, 2, 1) else (rows, outer, cols)
    dtype = np.dtype(dtype)
    gap, offset = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 20))
    whole = (shape[0], shape[1], shape[2] + gap)
    memory = rng.integers(0, 256, (np.prod(whole) + offset) * dtype.itemsize, dtype=np.uint8)
    mirrored = data.draw(st.booleans())

    def view(bytes_):
        array = bytes_.view(dtype)[offset:].reshape(whole)[:, :, : shape[2]]
        return array[::-1] if mirrored else array

    out_shape = [shape[axis] for axis in order]
    out_gap, out_offset = data.draw(st.sampled_from([0, 0, 1, 5])), data.draw(st.integers(0, 20))
    out_whole = (*out_shape[:2], out_shape[2] + out_gap)
    size = (np.prod(out_whole) + out_offset + 20) * dtype.itemsize
    poison = rng.integers(0, 256, size, dtype=np.uint8)

    def result(bytes_):
        array = bytes_.view(dtype)[out_offset : out_offset + np.prod(out_whole)]
        return array.reshape(out_whole)[:, :, : out_shape[2]]

    there, out = (gm.to_device(m, backend=backend) for m in (memory, poison))
    try:
        gm.permute(view(there), order, out=result(out), variant=f"matrices:{DTYPES[dtype.str[1:]]}")
    except ValueError as error:  # what fits together moves as larger units, or not as matrices
        assert "units of" in str(error) or "no axis" in str(error)
        return
    result(poison)[...] = view(memory).transpose(order)
    np.testing.assert_array_equal(out.to_host(), poison)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((3, 335, 240), (0, 2, 1)), ((335, 30, 24), (2, 1, 0)), ((700, 30, 10), (2, 1, 0))],
    ids=["next column", "next matrix", "several tiles"],
)
def test_rows_that_follow_share_sectors(shape, axes, dtype):
    """The tile with a row's end stores the sector in which the next row begins: few are stored
    twice."""
    a = gm.to_device(np.ones(shape, dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=axes, variant=f"matrices:{DTYPES[dtype]}")
    assert counted.stores.sectors * 32 < 1.05 * a.nbytes


@pytest.mark.parametrize(
    ("dtype", "columns", "rows", "ways"),
    [
        ("u1", 224, 256, 1),  # 1 - p q is odd: columns beside each other are four apart,
        ("u1", 223, 257, 1),  # a multiple of 2: two,
        ("u1", 221, 257, 1),  # of 4: one
        ("u1", 225, 273, 4),  # of 16: all four in one word of the banks
        ("u2", 160, 128, 2),  # eight more lanes of the column
        ("u2", 161, 129, 4),
    ],
)
def test_bank_conflicts(dtype, columns, rows, ways):
    a = gm.to_device(np.ones((2, rows, columns), dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=(0, 2, 1), variant=f"matrices:{DTYPES[dtype]}")
    loads = [site for site in counted.sites if (site["space"], site["kind"]) == ("shared", "load")]
    most = max(loads, key=lambda site: site["requests"])
    assert most["passes"] / most["requests"] == pytest.approx(ways, rel=0.02)
