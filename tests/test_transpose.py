"""transpose: every variant over edge-case shapes, element sizes, layouts and thread blocks."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import exhaustive, here
from transpose_cases import (
    DTYPES,
    KERNELS,
    MARGIN,
    NARROW_SMALL,
    TRANSPOSE,
    poisoned_out,
    random_bytes,
    run_and_check,
)

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

BYTES = [v for v in KERNELS if 1 in v.itemsizes and not v.alignment]


SIDES = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 257]


LONG = [
    (1, 5003),
    (5003, 1),
    (3, 4099),
    (4099, 5),
    (16, 2050),
    (2050, 17),
    (520, 1030),
    (1030, 257),
]


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", TRANSPOSE, ids=str)
def test_every_shape_on_the_device(variant, itemsize, backend, rng):
    here(variant, backend)
    dtype = np.dtype(DTYPES[itemsize])
    for shape in [(m, n) for m in SIDES for n in SIDES] + LONG:
        a = random_bytes(rng, shape, dtype)
        there = gm.to_device(a, backend=backend)
        if oracle.takes(variant, shape, dtype):
            run_and_check(rng, variant, a, there, backend)
        else:
            with pytest.raises(ValueError, match=f"variant {variant.name}"):
                variant(there)


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16", "S3", "V12", "V32"])
def test_auto_at_every_shape(dtype, backend, rng):
    for shape in [(m, n) for m in SIDES for n in SIDES] + LONG:
        a = random_bytes(rng, shape, dtype)
        there = gm.to_device(a, backend=backend)
        out, intact = poisoned_out(rng, shape[::-1], dtype, backend)
        oracle.check("transpose", gm.transpose(there, out=out).to_host(), a)
        intact()


@pytest.mark.parametrize(
    ("dtype", "shape", "wanted"),
    [
        ("u1", (4096, 40), "narrow_words"),  # every output row starts at a sector boundary
        ("u1", (4096, 100), "narrow_vectors"),
        ("u1", (4099, 48), "narrow_vectors"),
        ("u1", (4101, 33), "narrow_words"),  # narrow_vectors would have bank conflicts
        ("u1", (6, 4099), "narrow_words"),
        ("u1", (3, 4099), "strided"),  # which permute moves as pixels
        ("u1", (4096, 3), "strided"),
        ("u2", (4099, 2), "strided"),
        ("f4", (2, 1000), "strided"),
        ("u1", (100, 4099), "narrow_vectors"),
        ("u1", (385, 4099), "shifted:b8"),
        ("u1", (1024, 1024), "tile_vector:b8"),
        ("u2", (4096, 40), "tile_vector:b16"),
        ("u2", (4099, 100), "narrow_vectors"),
        ("u2", (65, 4096), "narrow_vectors"),
        ("u2", (1025, 1025), "shifted:b16"),
        ("f4", (4096, 7), "narrow"),
        ("f4", (1000, 1000), "tile_vector:b32"),
        ("f4", (100, 4099), "shifted:b32"),
        ("f4", (4099, 40), "narrow"),
        ("f4", (4099, 80), "shifted:b32_tall"),
        ("f4", (4099, 100), "shifted:b32"),
        ("f8", (100, 100), "tile_vector:b64"),
        ("c16", (100, 100), "tile_vector:b128"),
        ("V3", (100, 100), "strided"),
    ],
    ids=str,
)
def test_variant_selected_by_auto(dtype, shape, wanted):
    assert gm.traffic("transpose", gm.DeviceArray(shape, dtype, backend="sim")).variant == wanted


@pytest.mark.parametrize(
    ("row", "dtype", "shape", "wanted"),
    [
        ("tile_vector", "u1", (64, 48), "tile_vector:b8"),
        ("tile_vector", "u2", (64, 48), "tile_vector:b16"),
        ("tile_vector", "f4", (64, 48), "tile_vector:b32"),
        ("tile_vector", "f4", (4099, 4099), "tile_vector:b32_wide"),
        ("tile_vector", "f8", (64, 48), "tile_vector:b64"),
        ("tile_vector", "c16", (64, 48), "tile_vector:b128"),
        ("shifted", "u1", (225, 125), "shifted:b8_wide"),
        ("shifted", "u1", (224, 124), "shifted:b8"),
        ("shifted", "u2", (65, 49), "shifted:b16"),
        ("shifted", "f4", (4099, 100), "shifted:b32"),
        ("shifted", "f4", (4099, 48), "shifted:b32_tall"),
    ],
    ids=str,
)
def test_variant_selects_its_instance(row, dtype, shape, wanted):
    a = gm.DeviceArray(shape, dtype, backend="sim")
    out = gm.DeviceArray(shape[::-1], dtype, backend="sim")
    assert _core.prepare("transpose", row, (a,), out, None, (0, 0)).variant == wanted
    (variant,) = (v for v in gm.variants("transpose") if v.name == row)
    assert wanted in [one.name for one in variant.instances]


@pytest.mark.parametrize("variant", [v for v in TRANSPOSE if v.formerly], ids=str)
def test_former_names_are_aliases(variant, backend, rng):
    here(variant, backend)
    (a,) = oracle.claimed_arguments(variant, 2**14)
    with pytest.warns(DeprecationWarning, match=f'{variant.formerly}".*"{variant.name}"') as warned:
        got = gm.transpose(a, variant=variant.formerly, backend=backend)
    assert [one.filename for one in warned] == [__file__]
    oracle.check("transpose", got, a)
    with pytest.warns(DeprecationWarning, match=variant.name) as warned:
        assert gm.traffic("transpose", a, variant=variant.formerly).variant == variant.name
    assert [one.filename for one in warned] == [__file__]


def test_variant_with_instances_has_no_attributes(backend):
    for row in gm.variants("transpose"):
        if row.instances:
            with pytest.raises(ValueError, match=row.instances[0].name):
                row.attributes(backend)


@pytest.mark.parametrize(
    "shape", [*exhaustive((8320, 8200), (8223, 8196), (8196, 8223)), (4100, 4111)], ids=str
)
def test_auto_at_large_matrices(shape, backend, rng):
    """auto selects other variants than for small matrices."""
    a = random_bytes(rng, shape, "f4")
    out, intact = poisoned_out(rng, shape[::-1], "f4", backend)
    oracle.check("transpose", gm.transpose(gm.to_device(a, backend=backend), out=out).to_host(), a)
    intact()


@pytest.mark.parametrize("variant", TRANSPOSE, ids=str)
def test_from_the_host(variant, backend):
    here(variant, backend)
    (a,) = oracle.claimed_arguments(variant, 2**16)
    wanted = oracle.expected("transpose", a, variant=variant.name)
    got = variant(a, backend=backend)
    assert got.flags.c_contiguous and got.dtype == a.dtype and not np.shares_memory(got, a)
    oracle.check("transpose", got, a, variant=variant.name)
    out = np.empty(wanted.shape, a.dtype)
    out.view("u1")[...] = 0xA5
    assert variant(a, out=out, backend=backend) is out
    oracle.check("transpose", out, a, variant=variant.name)


@pytest.mark.parametrize("layout", ["F", "reversed", "stepped", "broadcast", "column"])
def test_any_layout_from_the_host(layout, backend, rng):
    base = rng.standard_normal((70, 90))
    view = {
        "F": lambda: np.asfortranarray(base),
        "reversed": lambda: base[::-1, ::-1],
        "stepped": lambda: base[::3, 1::2],
        "broadcast": lambda: np.broadcast_to(base[0], (40, 90)),
        "column": lambda: base[:, 3:4],
    }[layout]()
    np.testing.assert_array_equal(gm.transpose(view, backend=backend), view.T)


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", [v for v in TRANSPOSE if v.layout != "contiguous"], ids=str)
def test_padded_rows_are_read_in_place(variant, itemsize, backend, rng):
    """Transpose a column slice of a wider matrix, starting at any element."""
    here(variant, backend)
    dtype = np.dtype(DTYPES[itemsize])
    for rows, cols, first, last in [
        (33, 65, 1, 2),
        (64, 64, 0, 64),
        (70, 130, 3, 5),
        (5, 700, 1, 0),
    ]:
        whole = random_bytes(rng, (rows, first + cols + last), dtype)
        a, there = whole[:, first : first + cols], gm.to_device(whole, backend=backend)
        view = there[:, first : first + cols]
        try:
            run_and_check(rng, variant, a, view, backend)
        except ValueError as error:  # the variant refuses this layout
            assert f"variant {variant.name}" in str(error)
            assert (
                variant.name == "tma"
                or not oracle.takes(variant, (rows, cols), dtype)
                or (variant.alignment)
            )


LAYOUTS = {
    "turned": lambda d: d.T,
    "turned-part": lambda d: d[3:40, 5:60].T,
    "rows": lambda d: d[::2],
    "reversed-rows": lambda d: d[::-1],
    "columns": lambda d: d[:, ::3],
    "reversed-columns": lambda d: d[:, ::-1],
    "both": lambda d: d[::-2, 50:2:-3],
    "one-row": lambda d: d[7:8],
    "one-column": lambda d: d[:, 7:8],
    "no-rows": lambda d: d[5:5],
    "second-element": lambda d: d.reshape(-1)[1:-1].reshape(-1, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "V3", "V24"])
def test_auto_accepts_any_layout_on_the_device(layout, dtype, backend, rng):
    a = random_bytes(rng, (64, 75), dtype)
    view, there = LAYOUTS[layout](a), LAYOUTS[layout](gm.to_device(a, backend=backend))
    out, intact = poisoned_out(rng, view.shape[::-1], dtype, backend)
    oracle.check("transpose", gm.transpose(there, out=out).to_host(), view)
    intact()


ROWS = {
    "reversed": np.s_[::-1],
    "every-third-back": np.s_[::-3],
    "every-other": np.s_[::2],
    "columns": np.s_[:, 3:-2],
    "reversed-columns": np.s_[::-1, 3:-2],
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", ["auto", *[v for v in KERNELS if v.itemsizes]], ids=str)
def test_any_row_stride(variant, itemsize, rows, backend, rng):
    """Contiguous rows at any row stride: the result is right, or the variant refuses."""
    for shape in [(301, 515), (700, 129), (140, 997)]:
        a = random_bytes(rng, shape, DTYPES[itemsize])
        there = gm.to_device(a, backend=backend)
        view = a[ROWS[rows]]
        if variant == "auto":
            oracle.check("transpose", gm.transpose(there[ROWS[rows]]).to_host(), view)
            if backend == "sim":  # the trace finds any access outside these rows
                gm.traffic("transpose", there[ROWS[rows]])
            continue
        here(variant, backend)
        try:
            run_and_check(rng, variant, view, there[ROWS[rows]], backend)
        except ValueError as error:
            assert f"variant {variant.name}" in str(error)
            assert (
                "reversed" in rows
                or "back" in rows
                or not oracle.takes(variant, view.shape, view.dtype)
                or variant.alignment
                or variant.name.startswith("narrow")
            )


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shift", range(0, 20))
def test_auto_accepts_any_address(dtype, shift, backend, rng):
    """Input and output start at any byte, also unaligned to the element size."""
    dtype = np.dtype(dtype)
    shape = (67, 131)
    a = random_bytes(rng, shape, dtype)
    buffers = [gm.DeviceArray(a.nbytes + 32, "u1", backend=backend) for _ in range(2)]
    for in_offset, out_offset in [(shift, 0), (0, shift), (shift, (7 * shift + 3) % 19)]:
        views = [
            buffer[first : first + a.nbytes].view(dtype)
            for buffer, first in zip(buffers, (in_offset, out_offset), strict=True)
        ]
        there, out = views[0].reshape(shape), views[1].reshape(shape[::-1])
        gm.copy(gm.to_device(a, backend=backend), out=there)
        out.fill_bytes(0xA5)
        oracle.check("transpose", gm.transpose(there, out=out).to_host(), a)


@pytest.mark.parametrize("begins", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("variant", BYTES, ids=str)
def test_output_rows_start_at_any_byte_of_a_sector(variant, begins, backend, rng):
    """Start and pitch of the output are odd multiples of `begins` bytes."""
    here(variant, backend)
    for rows, cols in [(37, 129), (521, 67), (1029, 253)]:
        rows = (rows // begins | 1) * begins
        a = random_bytes(rng, (rows, cols), "u1")
        if not oracle.takes(variant, a.shape, a.dtype):
            a = a[:, :60].copy()
        around = rng.integers(0, 256, a.nbytes + 2 * MARGIN, dtype=np.uint8)
        buffer = gm.to_device(around, backend=backend)
        first = MARGIN - begins
        out = buffer[first : first + a.nbytes].reshape(a.shape[::-1])
        out.fill_bytes(0xA5)
        oracle.check("transpose", variant(gm.to_device(a, backend=backend), out=out).to_host(), a)
        after = buffer.to_host()
        np.testing.assert_array_equal(after[:first], around[:first])
        np.testing.assert_array_equal(after[first + a.nbytes :], around[first + a.nbytes :])


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("pitch", [0, 1, 2, 3, 4, 61, 600])
@pytest.mark.parametrize("variant", NARROW_SMALL, ids=str)
def test_short_padded_rows(variant, dtype, pitch, backend, rng):
    """Padded rows, for example three of the four colour channels of each pixel."""
    here(variant, backend)
    for rows, cols in [(1000, 3), (3001, 16), (777, 33), (300, 80), (200, 200)]:
        base = random_bytes(rng, (rows, cols + pitch), dtype)
        there = gm.to_device(base, backend=backend)
        for first in {0, pitch}:
            view = np.s_[:, first : first + cols]
            if base.strides[0] <= 512:
                run_and_check(rng, variant, base[view], there[view], backend)
            else:
                with pytest.raises(ValueError, match=f"bytes apart, variant {variant.name} needs"):
                    variant(there[view])
            oracle.check("transpose", gm.transpose(there[view]).to_host(), base[view])


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("rows", [2, 3, 15, 16, 17, 31, 32, 63, 129, 384])
def test_few_padded_rows_at_any_byte(rows, dtype, backend, rng):
    """Each input row and each output column starts at another offset in its sector."""
    (variant,) = (v for v in NARROW_SMALL if v.name == "narrow_vectors")
    here(variant, backend)
    for cols, gap in [(rows + 1, 0), (777, 5), (4099, 1), (5000, 3)]:
        base = random_bytes(rng, (rows, cols + gap), dtype)
        there = gm.to_device(base, backend=backend)
        for first in (0, gap):
            view = np.s_[:, first : first + cols]
            run_and_check(rng, variant, base[view], there[view], backend)
            oracle.check("transpose", gm.transpose(there[view]).to_host(), base[view])


@pytest.mark.parametrize("rows", [98, 99, 226, 227])
@pytest.mark.parametrize("variant", NARROW_SMALL, ids=str)
def test_the_last_elements_of_rows_that_need_one_more_step(variant, rows, backend, rng):
    """Output rows of 24 or 56 words and 2 or 3 bytes, at every offset in a sector."""
    here(variant, backend)
    for cols in (33, 65):
        a = random_bytes(rng, (rows, cols), "u1")
        if oracle.takes(variant, a.shape, a.dtype):
            run_and_check(rng, variant, a, gm.to_device(a, backend=backend), backend)
            there = gm.to_device(np.ascontiguousarray(a.T), backend=backend)
            run_and_check(rng, variant, a.T, there, backend)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_shapes_and_views(backend, data):
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "u2", "f4", "f8", "c16", "V3"])))
    shape = data.draw(st.tuples(st.integers(0, 150), st.integers(0, 150)))
    a = random_bytes(np.random.default_rng(data.draw(st.integers(0, 2**32))), shape, dtype)
    slices = tuple(
        slice(*sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))), step)
        for n, step in zip(
            shape, data.draw(st.tuples(*2 * [st.sampled_from([1, 1, 2, 5])])), strict=True
        )
    )
    there = gm.to_device(a, backend=backend)
    oracle.check("transpose", gm.transpose(there[slices]).to_host(), a[slices])
