"""transpose: blocks and grids, refusals, traffic."""

from pathlib import Path

import numpy as np
import pytest
from support import exhaustive, here
from transpose_cases import (
    DTYPES,
    KERNELS,
    NARROW_SMALL,
    TRANSPOSE,
    poisoned_out,
    random_bytes,
    run_and_check,
)

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

FREE_BLOCK = [v for v in TRANSPOSE if v.name.startswith(("copy", "naive", "unroll", "diagonal"))]


TILED = [v for v in KERNELS if v not in FREE_BLOCK and not v.name.startswith("narrow")]


CSRC = Path(__file__).parents[1] / "csrc"


TILES_OF_BYTES = """
#undef __CUDACC__ /* the header takes the simulator's side */
#undef __CUDA_ARCH__
#include "device.h"

#undef GM_KERNEL_BOUNDED
#define GM_KERNEL_BOUNDED(name, args_type, ...) static __device__ void name(const args_type &a)
#include "transpose/shifted.cu"

template <typename tile> static __device__ void measure(unsigned *words)
{
    words[0] = byte_tile_column<tile::WORDS>(tile::COLS - 1) + tile::WORDS;
    words[1] = 4 * tile::SIZE;
}

__global__ void sizes(unsigned *words)
{
    measure<b8>(words);
    measure<b8_wide>(words + 2);
}
"""


MANY = 8192  # long side of a narrow matrix: whole blocks, so that tails hardly count


# ---- blocks and grids ---------------------------------------------------------------


@pytest.mark.parametrize(
    "block", [(1, 1), (32, 1), (1, 32), (8, 32), (3, 5), (1024, 1), (1, 1024), (64, 16)]
)
@pytest.mark.parametrize("variant", FREE_BLOCK, ids=str)
def test_any_block(variant, block, backend, rng):
    for shape in [(1, 1), (33, 70), (129, 97), (5, 2050), (1025, 3)]:
        a = random_bytes(rng, shape, "f4")
        run_and_check(rng, variant, a, gm.to_device(a, backend=backend), backend, block=block)


def test_tiles_of_bytes_have_room_for_their_last_column():
    """Behind a kernel's tile are those of others in the simulator: no call of it would show."""
    folders = [CSRC, CSRC / "kernels"]
    module = gm.load(source=TILES_OF_BYTES, name="sizes.cu", include_dirs=folders, backend="sim")
    words = np.zeros((2, 2), "u4")
    module["sizes"][1, 1](words)
    for end, size in words:
        assert 0 < end <= size


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
@pytest.mark.usefixtures("gigabytes")
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


# ---- refusals -----------------------------------------------------------------------


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
            "elements of 1 byte",
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


# ---- traffic ------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match=f"a has {len(shape)} dimensions?, variant tile takes 2"):
        gm.transpose(a, variant="tile", backend=backend)
