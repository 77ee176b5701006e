"""transpose: every variant over edge-case shapes, element sizes, layouts and thread blocks."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import exhaustive, here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

TRANSPOSE = gm.variants("transpose", instances=True)
KERNELS = [v for v in TRANSPOSE if v.source.endswith(".cu")]
FREE_BLOCK = [v for v in TRANSPOSE if v.name.startswith(("copy", "naive", "unroll", "diagonal"))]
TILED = [v for v in KERNELS if v not in FREE_BLOCK and not v.name.startswith("narrow")]
NARROW_SMALL = [v for v in KERNELS if v.name in ("narrow_words", "narrow_vectors")]
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
DTYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}
MARGIN = 256
MANY = 8192  # long side of a narrow matrix: whole blocks, so that tails hardly count


def random_bytes(rng, shape, dtype):
    """An array of random bytes; floats include NaNs of any payload."""
    a = np.empty(shape, dtype)
    a.reshape(-1).view("u1")[...] = rng.integers(0, 256, a.nbytes, dtype=np.uint8)
    return a


def poisoned_out(rng, shape, dtype, backend):
    """A device array inside a larger buffer, and a function that checks the bytes around it."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    around = rng.integers(0, 256, nbytes + 2 * MARGIN, dtype=np.uint8)
    buffer = gm.to_device(around, backend=backend)
    out = buffer[MARGIN : MARGIN + nbytes].view(dtype).reshape(shape)

    def intact():
        after = buffer.to_host()
        np.testing.assert_array_equal(after[:MARGIN], around[:MARGIN])
        np.testing.assert_array_equal(after[MARGIN + nbytes :], around[MARGIN + nbytes :])

    return out, intact


def run_and_check(rng, variant, a, there, backend, **parameters):
    wanted = oracle.expected("transpose", a, variant=variant.name)
    out, intact = poisoned_out(rng, wanted.shape, a.dtype, backend)
    got = variant(there, out=out, **parameters)
    assert got is out
    oracle.check("transpose", got.to_host(), a, variant=variant.name)
    intact()


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
        ("u1", (3, 4099), "narrow_words"),
        ("u1", (4096, 3), "strided"),  # which permute moves as pixels
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


# ---- contiguous rows, and arbitrary layouts --------------------


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


# ---- blocks and grids ------------------------------------------------


@pytest.mark.parametrize(
    "block", [(1, 1), (32, 1), (1, 32), (8, 32), (3, 5), (1024, 1), (1, 1024), (64, 16)]
)
@pytest.mark.parametrize("variant", FREE_BLOCK, ids=str)
def test_any_block(variant, block, backend, rng):
    for shape in [(1, 1), (33, 70), (129, 97), (5, 2050), (1025, 3)]:
        a = random_bytes(rng, shape, "f4")
        run_and_check(rng, variant, a, gm.to_device(a, backend=backend), backend, block=block)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("few", [2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28, 32, 33, 64, 96, 100, 128])
def test_sectors_and_bank_conflicts_of_narrow_words(few, dtype):
    """Accesses fill whole sectors. Bank conflicts are two-way if the short side is 2, 6, 10, ...;
    if it is a multiple of four they begin at 64, where adjacent lanes are whole lines apart."""
    bank_ways = 2 if few % 4 == 2 else max(1, (few & -few) // 32)
    for shape in [(4096, few), (few, 4096)]:
        traffic = gm.traffic("transpose", variant="narrow_words", shape=shape, dtype=dtype)
        assert traffic.shared.bank_ways == bank_ways
        long_side = traffic.stores if shape[1] == few else traffic.loads
        assert (long_side.width, long_side.sectors_per_request) == (32, 4)
        assert traffic.bytes_moved == traffic.bytes_asked


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("few", [1, 3, 4, 8, 17, 31, *exhaustive(2, 5, 7, 9, 12, 15, 16, 24)])
def test_sectors_and_bank_conflicts_of_narrow(few, dtype):
    """Stores fill whole sectors although runs start anywhere, and nothing is loaded twice. Lanes an
    odd number of elements apart have no bank conflicts, except at both ends of a run."""
    size = np.dtype(dtype).itemsize
    for many in (8192, 8192 + 1, 8192 + 32 // size - 1):
        tall = gm.traffic("transpose", variant="narrow", shape=(many, few), dtype=dtype)
        flat = gm.traffic("transpose", variant="narrow", shape=(few, many), dtype=dtype)
        assert (tall.stores.width, flat.loads.width) == (8 * size, 8 * size)
        if few % 2 == 1:
            assert max(flat.shared.bank_ways, tall.shared.bank_ways) < 1.15
        if many == 8192:
            max_ways = 1 if few % 2 else 2
            assert max(flat.shared.bank_ways, tall.shared.bank_ways) <= max_ways or size > 4
            assert tall.bytes_moved == tall.bytes_asked
            assert flat.bytes_moved == flat.bytes_asked
        # Adjacent runs share only the sector where one ends and the next begins.
        runs = few * tall.grid[0]
        assert tall.stores.sectors <= few * many * size / 32 + 2 * runs


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize(
    "few", [3, 8, 33, 64, 100, *exhaustive(17, 65, 72, 96, 128, 129, 150, 255, 256)]
)
def test_sectors_and_bank_conflicts_of_narrow_vectors(few, dtype):
    """Vector stores fill whole sectors wherever columns start, and bank conflicts are few."""
    size = np.dtype(dtype).itemsize
    for many in (MANY, MANY + 5):
        for shape in [(many, few), (few, many)]:
            if shape[0] == many and few < 8:
                continue  # most pairs of lanes are idle
            report = gm.traffic("transpose", variant="narrow_vectors", shape=shape, dtype=dtype)
            stores = [s for s in report.sites if (s["space"], s["kind"]) == ("global", "store")]
            vectors = [site for site in stores if site["width"] == 128]
            assert all(site["efficiency"] > 0.99 for site in vectors)
            ends = sum(site["sectors"] for site in stores if site["width"] < 128)
            assert ends <= 32 * few  # elements before the first whole sector and after the last
            assert report.loads.sectors < 1.3 * many * few * size / 32
            # With few columns, rows can be padded only if all start at multiples of 16 bytes.
            if shape[0] == few or many % 32 == 0 or few * size % 16 == 0:
                loads = [s for s in report.sites if (s["space"], s["kind"]) == ("shared", "load")]
                ways = max(loads, key=lambda site: site["requests"])["bank_ways"]
                assert ways < (6.5 if size == 2 and shape[0] == many else 3.5)


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("shape", [(4099, 6), (3, 4099), (4, 4099), (7, 4101), (12, 4102)])
@pytest.mark.parametrize("variant", NARROW_SMALL, ids=str)
def test_narrow_runs_that_share_words(variant, shape, dtype):
    """Lanes access only their own bytes; the trace finds races and out-of-bounds accesses."""
    a = gm.DeviceArray(shape, dtype, backend="sim")
    gm.traffic("transpose", a, variant=variant)
    wide = gm.DeviceArray((shape[0], shape[1] + 1), dtype, backend="sim")
    gm.traffic("transpose", wide[:, 1:], variant=variant)


def test_thin_blocks_fill_more_of_each_sector():
    """With block (8, 32), a warp writes 8 columns of 4 adjacent elements each."""
    wide = gm.traffic("transpose", variant="naive_row", shape=(256, 256), block=(32, 8))
    thin = gm.traffic("transpose", variant="naive_row", shape=(256, 256), block=(8, 32))
    assert (wide.loads.sectors_per_request, wide.stores.sectors_per_request) == (4, 32)
    assert (thin.loads.sectors_per_request, thin.stores.sectors_per_request) == (4, 8)


# One variant per way of counting tiles; the other variants share code with one of these.
COUNTS_TILES = [
    v
    for v in KERNELS
    if v in FREE_BLOCK
    or v.name.startswith("narrow")
    or v.name in ("tile", "tile_vector:b32", "shifted:b32", "tma")
]


@pytest.mark.parametrize("lies", [False, *exhaustive(True)], ids=["tall", "wide"])
@pytest.mark.parametrize(
    "variant",
    [*COUNTS_TILES, *exhaustive(*(v for v in KERNELS if v not in COUNTS_TILES))],
    ids=str,
)
def test_more_rows_of_tiles_than_the_grid_limit_in_y(variant, lies, backend, rng):
    here(variant, backend)
    tiles = 65536 * (variant.block[1] if variant in FREE_BLOCK else 32)
    dtype = DTYPES[variant.itemsizes[0]]
    shapes = [(tiles + extra, cols) for cols in (2, 4, 8, 16) for extra in (37, 64)]
    shape = next(shape for shape in shapes if oracle.takes(variant, shape, dtype))
    a = random_bytes(rng, shape[::-1] if lies else shape, dtype)
    run_and_check(rng, variant, a, gm.to_device(a, backend=backend), backend)


@pytest.mark.parametrize("variant", TILED, ids=str)
def test_columns_of_tiles_split_into_bands(variant, backend, rng):
    """More than 128 rows of tiles; the last band and the last column of tiles are partial."""
    here(variant, backend)
    for itemsize in variant.itemsizes[-1:]:
        odd = 0 if variant.alignment else 1
        shape = (16 * 3001 + odd, (304 if itemsize < 4 else 80) + odd)
        a = random_bytes(rng, shape, DTYPES[itemsize])
        run_and_check(rng, variant, a, gm.to_device(a, backend=backend), backend)


@pytest.mark.parametrize("pitch", [2**16, 2**17, 2**18, 2**19, 2**20, 3 * 2**17])
@pytest.mark.parametrize("variant", TILED, ids=str)
def test_power_of_two_pitch(variant, pitch, backend, rng):
    """Such pitches load memory channels unevenly, so blocks alternate between parts of the width.
    There may be fewer columns of tiles than parts, or an unequal number in each part."""
    here(variant, backend)
    for itemsize in variant.itemsizes[-1:]:
        a = np.zeros((48, pitch // itemsize), DTYPES[itemsize])
        a[:, :1104] = random_bytes(rng, (48, 1104), a.dtype)
        there = gm.to_device(a, backend=backend)
        for cols in (48, 272, 1104):
            run_and_check(rng, variant, a[:, :cols], there[:, :cols], backend)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((46400, 46400), "u1"), ((2**31 + 7, 1), "u1"), ((3, 2**30), "u1"), ((65537, 33000), "f4")],
    ids=str,
)
def test_beyond_32_bits(shape, dtype, rng):
    """More elements than an int can count: check the rows where overflow shows, and samples."""
    m, n = shape
    row = gm.to_device(random_bytes(rng, (2**20 - 3,), "u1"), backend="cuda")
    nbytes = m * n * np.dtype(dtype).itemsize
    source = gm.DeviceArray(nbytes, "u1", backend="cuda")
    for first in range(0, nbytes, row.size):
        part = source[first : first + row.size]
        gm.copy(row[: part.size], out=part)
    a = source.view(dtype).reshape(m, n)
    out = gm.DeviceArray((n, m), dtype, backend="cuda")
    out.fill_bytes(0xA5)
    gm.transpose(a, out=out)
    rows = {0, m - 1, m // 2, *rng.integers(0, m, 20).tolist()}
    for r in sorted(rows):
        np.testing.assert_array_equal(
            gm.copy(out[:, r : r + 1]).to_host()[:, 0].view("u1"), a[r].to_host().view("u1")
        )


def test_an_input_is_not_written(backend, rng):
    a = random_bytes(rng, (65, 66), "f4")
    there = gm.to_device(a, backend=backend)
    gm.transpose(there)
    assert there.to_host().tobytes() == a.tobytes()


def test_transposing_twice_is_the_identity(backend, rng):
    a = random_bytes(rng, (123, 457), "f4")
    assert gm.transpose(gm.transpose(a, backend=backend), backend=backend).tobytes() == a.tobytes()


def test_a_transposed_view_is_copied_without_scattered_accesses():
    """transpose(d.T) copies d: a transposed view is recognised."""
    d = gm.to_device(np.ones((256, 256), "f4"), backend="sim").T
    t = gm.traffic("transpose", d)
    assert t.loads.efficiency == t.stores.efficiency == 1


# ---- refusals ------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda a, b: gm.transpose(a[0], backend=b),
            ValueError,
            "a has 1 dimension, expected at least 2",
        ),
        (lambda a, b: gm.transpose(a.astype("O"), backend=b), TypeError, "a has dtype"),
        (
            lambda a, b: gm.transpose(a, out=np.empty((8, 6), "f4"), backend=b),
            ValueError,
            "out has shape",
        ),
        (
            lambda a, b: gm.transpose(a, out=np.empty((6, 8), "f8"), backend=b),
            TypeError,
            "out has dtype",
        ),
        (lambda a, b: gm.transpose(a, block=(8, 8), backend=b), ValueError, r"block is \(8, 8\)"),
        (
            lambda a, b: gm.transpose(a, block=(8, 8), variant="tile", backend=b),
            ValueError,
            "variant tile has a block of its own",
        ),
        (
            lambda a, b: gm.transpose(a, block=(64, 32), variant="naive_row", backend=b),
            ValueError,
            "at most 1024 together",
        ),
        (
            lambda a, b: gm.transpose(a, block=(0, 8), variant="naive_row", backend=b),
            ValueError,
            "block",
        ),
        (lambda a, b: gm.transpose(a, block=8, variant="naive_row", backend=b), TypeError, "block"),
        (
            lambda a, b: gm.transpose(a, block="8x", variant="naive_row", backend=b),
            TypeError,
            "block",
        ),
        (
            lambda a, b: gm.transpose(a, block=(8, 2, 1), variant="naive_row", backend=b),
            TypeError,
            "block",
        ),
        (
            lambda a, b: gm.transpose(a, block=(8.0, 2), variant="naive_row", backend=b),
            TypeError,
            "block",
        ),
        (
            lambda a, b: gm.transpose(a.astype("u1"), variant="tile", backend=b),
            ValueError,
            "elements of 1 bytes",
        ),
        (
            lambda a, b: gm.transpose(gm.to_device(a, backend=b).T, variant="tile"),
            ValueError,
            "needs a with contiguous rows",
        ),
    ],
)
def test_refusals(call, error, said, backend):
    a = np.arange(48, dtype="f4").reshape(8, 6)
    with pytest.raises(error, match=said):
        call(a, backend)


def test_geam_takes_numbers_only(backend):
    variant = next(v for v in TRANSPOSE if v.name == "geam")
    here(variant, backend)
    with pytest.raises(ValueError, match=r"dtype.kind"):
        variant(gm.to_device(np.ones((4, 4), "i4"), backend=backend))
    a = np.array([[np.nan, np.inf, -0.0], [1e-45, -np.inf, 5]], "f4")
    np.testing.assert_array_equal(variant(a, backend=backend), a.T)


# ---- traffic ------------------------------------------------


def test_bank_conflicts_of_tiles():
    ways = {
        name: gm.traffic("transpose", variant=name, shape=(128, 128)).shared.bank_ways
        for name in ("tile", "tile_padded", "tile_swizzled", "tile_vector:b32", "tma")
    }
    assert gm.traffic("transpose", variant="tile", shape=(64, 64)).shared_bytes == 32 * 32 * 4
    assert gm.traffic("transpose", variant="tile_padded", shape=(64, 64)).shared_bytes == 4220
    assert gm.traffic("transpose", variant="naive_row", shape=(64, 64)).shared_bytes == 0
    assert ways == {
        "tile": 32,
        "tile_padded": 1,
        "tile_swizzled": 1,
        "tile_vector:b32": 1,
        "tma": 1,
    }


@pytest.mark.parametrize("variant", KERNELS, ids=str)
def test_every_element_is_moved_once(variant):
    for shape in [(64, 128), (100, 36), (33, 20)]:
        for dtype in ("f4", *(DTYPES[size] for size in variant.itemsizes[-1:])):
            if not oracle.takes(variant, shape, dtype):
                continue
            t = gm.traffic("transpose", variant=variant, shape=shape, dtype=dtype)
            nbytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
            assert t.stores.bytes_asked == nbytes
            assert t.loads.bytes_asked >= nbytes


@pytest.mark.parametrize("shape", [(5, 33, 70), (2, 3, 64, 31), (0, 3, 4), (3, 0, 4), (1, 1, 7)])
@pytest.mark.parametrize("dtype", ["u1", "f4", "V3"])
def test_stacks_of_matrices(shape, dtype, backend, rng):
    a = random_bytes(rng, shape, dtype)
    wanted = np.ascontiguousarray(a.swapaxes(-1, -2))
    there = gm.to_device(a, backend=backend)
    out, intact = poisoned_out(rng, wanted.shape, wanted.dtype, backend)
    assert gm.transpose(there, out=out) is out
    assert out.to_host().tobytes() == wanted.tobytes()
    intact()
    assert gm.transpose(a, backend=backend).tobytes() == wanted.tobytes()
    values = (a, None, None, backend, (0, 0), 256)
    assert _core.call("transpose", "auto", (values[0],), *values[1:]).tobytes() == wanted.tobytes()
    with pytest.raises(ValueError, match=f"a has {len(shape)} dimensions, variant tile takes 2"):
        gm.transpose(a, variant="tile", backend=backend)
