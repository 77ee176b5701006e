"""strided_read and strided_write by threads per block."""

import inspect

import numpy as np
import pytest
from access import APART, BY_CHOICE, LADDER, WORDS, by_element, guarded, random_bytes, raw, written
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

FAMILIES = ("strided_read", "strided_write")
ROWS = [v for family in FAMILIES for v in gm.variants(family)]
WITH_THREADS = [v for v in ROWS if v.source.endswith(".cu")]
WITHOUT = [v for v in ROWS if v not in WITH_THREADS]
THREADS = range(32, 1025, 32)
SLICES = [(0, 1), (1, 1), (1, 2), (-1, -3), (5, 32)]


def arrays_of(rng, family, n, dtype, offset, stride):
    """Return the arguments of a call, and its result."""
    a = random_bytes(rng, (n,), dtype)
    wanted = a[offset::stride]
    if family == "strided_read":
        return (a,), wanted
    part = random_bytes(rng, wanted.shape, dtype)
    return (a, part), written(a, part, offset, stride)


def block_of(variant, arrays, **parameters):
    """Return the grid and the block of a call on the simulator."""
    family = variant.family
    counted = _core.traffic(family, variant.name, arrays, table.parameters(family, parameters))
    return counted["grid"], counted["block"]


def test_rows_that_have_threads():
    names = [[v.name for v in WITH_THREADS if v.family == family] for family in FAMILIES]
    assert names == [[*LADDER, WORDS], [*LADDER, "any"]]
    assert [v.name for v in WITHOUT] == ["strided", "strided"]


# ---- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", WITH_THREADS, ids=str)
def test_any_width(variant, backend, rng):
    here(variant, backend)
    for threads in THREADS:
        for n in (0, 1, 33, 1027, 9001):
            offset, stride = SLICES[(threads // 32 + n) % len(SLICES)]
            arrays, wanted = arrays_of(rng, variant.family, n, "f4", offset, stride)
            got = variant(*arrays, offset=offset, stride=stride, threads=threads, backend=backend)
            oracle.compare(variant.family, got, wanted)


@by_element(WITH_THREADS, ["u1", "u2", "f8", "c16"])
def test_any_element_on_the_device(variant, dtype, backend, rng):
    """Nothing around the result changes, also where the last block has little to do."""
    here(variant, backend)
    for threads in (32, 96, 1024):
        for offset, stride in SLICES:
            arrays, wanted = arrays_of(rng, variant.family, 5003, dtype, offset, stride)
            how = {"offset": offset, "stride": stride, "threads": threads}
            if variant.in_place:
                out = guarded(rng, wanted.shape, dtype, backend, values=arrays[0])
                variant(out.array, gm.to_device(arrays[1], backend=backend), **how)
            else:
                out = guarded(rng, wanted.shape, dtype, backend)
                variant(gm.to_device(arrays[0], backend=backend), out=out.array, **how)
            out.check(variant.family, wanted)


def test_any_layout_by_any(backend, rng):
    """`any` splits elements into pieces, which its blocks share whatever their width."""
    base = random_bytes(rng, (6000,), "V6")
    a = gm.to_device(random_bytes(rng, (2000,), "V6"), backend=backend)
    for threads in (32, 160, 1024):
        for variant in ("any", "auto"):
            out = gm.to_device(base, backend=backend)
            gm.strided_write(out[::-1], a[::2], 3, 6, threads=threads, variant=variant)
            wanted = base.copy()
            wanted[::-1][3::6] = a.to_host()[::2]
            assert out.to_host().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("integer", [np.int64, np.uint16, np.array], ids=str)
def test_any_kind_of_integer(integer, backend):
    for family in FAMILIES:
        given = inspect.signature(getattr(gm, family)).parameters["threads"]
        assert given.default is None and given.kind is inspect.Parameter.KEYWORD_ONLY
    got = gm.strided_read(np.arange(9), threads=integer(64), backend=backend)
    assert got.tolist() == [1, 3, 5, 7]


# ---- blocks and traffic ----------------------------------------------------------------------


@pytest.mark.parametrize("variant", WITH_THREADS, ids=str)
def test_the_grid_covers_the_slice_once(variant, rng):
    arrays, _ = arrays_of(rng, variant.family, 40_000, "f4", 0, 2)
    for threads in (None, *THREADS):
        width = threads or 256
        blocks = -(-20_000 // (width * variant.elements))
        found = block_of(variant, arrays, offset=0, stride=2, threads=threads)
        assert found == ((blocks, 1, 1), (width, 1, 1))


@pytest.mark.parametrize("variant", WITH_THREADS, ids=str)
def test_sectors_do_not_depend_on_the_width(variant, rng):
    arrays, _ = arrays_of(rng, variant.family, 2**16, "f4", 1, 2)
    counted = [gm.traffic(variant.family, *arrays, variant=variant)]
    for threads in (32, 64, 512, 1024):
        counted.append(gm.traffic(variant.family, *arrays, variant=variant, threads=threads))
        assert counted[-1].block == (threads, 1, 1)
    for side in ("loads", "stores"):
        sides = [getattr(one, side) for one in counted]
        assert len({(one.requests, one.sectors, one.bytes_asked) for one in sides}) == 1


# ---- what auto takes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    BY_CHOICE,
    [
        ("f4", 0, 1, "unroll4", "cached"),
        ("f4", 1, 1, "unroll4", "cached"),
        ("f4", 0, 2**62, "unroll4", "cached"),  # a single element
        ("u1", 0, 1, "words", "unroll4"),
        ("u2", 1, 1, "words", "unroll4"),
        ("u2", 0, 2**62, "words", "unroll4"),
        ("c16", 0, 1, "unroll4", "cached"),
        *APART,
    ],
)
def test_auto_takes_a_row_that_has_threads(dtype, offset, stride, read, write, rng):
    for family, wanted in zip(FAMILIES, (read, write), strict=True):
        arrays, _ = arrays_of(rng, family, 4096, dtype, offset, stride)
        t = gm.traffic(family, *arrays, offset=offset, stride=stride, threads=64)
        assert (t.variant, t.block) == (wanted, (64, 1, 1))


def test_auto_takes_gaps_and_odd_elements_of_the_host(backend, rng):
    a = random_bytes(rng, (500,), "f4")
    got = gm.strided_read(a[::-2], 1, 3, threads=64, backend=backend)
    oracle.compare("strided_read", got, a[::-2][1::3])
    out = random_bytes(rng, (500,), "V3")
    part = random_bytes(rng, (250,), "V3")
    wanted = written(out, part, 0, 2)
    gm.strided_write(out, part, 0, 2, threads=64, backend=backend)
    assert out.tobytes() == wanted.tobytes()


def test_a_result_with_gaps(backend, rng):
    a, whole = random_bytes(rng, (500,), "f4"), random_bytes(rng, (500,), "f4")
    out = gm.to_device(whole, backend=backend)
    gm.strided_read(gm.to_device(a, backend=backend), 0, 2, threads=96, out=out[1::2])
    whole[1::2] = a[::2]
    assert raw(out) == whole.tobytes()


def test_auto_says_that_no_row_with_threads_takes_the_arrays(backend, rng):
    """Of what only `strided` takes."""
    there = gm.to_device(random_bytes(rng, (100,), "f4"), backend=backend)
    for a in (there[::2], random_bytes(rng, (100,), "V3")):
        with pytest.raises(ValueError, match="threads is 64, but variant strided has a block of"):
            gm.strided_read(a, threads=64, backend=backend)
        assert len(gm.strided_read(a, backend=backend)) == len(range(1, len(a), 2))


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", WITHOUT, ids=str)
def test_rows_without_a_kernel_refuse_threads(variant, backend, rng):
    for n in (0, 97):
        for offset, stride in ((0, 1), (0, 2)):
            arrays, _ = arrays_of(rng, variant.family, n, "f4", offset, stride)
            before = [raw(array) for array in arrays]
            said = (
                "^threads is 256, but variant strided has a block of its own; threads can be set "
                "for those with a kernel$"
            )
            with pytest.raises(ValueError, match=said):
                variant(*arrays, offset=offset, stride=stride, threads=256, backend=backend)
            assert [raw(array) for array in arrays] == before


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (0, ValueError, "threads is 0, expected 32 to 1024"),
        (31, ValueError, "threads is 31, expected 32 to 1024"),
        (-32, ValueError, "threads is -32, expected 32 to 1024"),
        (1056, ValueError, "threads is 1056, expected 32 to 1024"),
        (2**70, ValueError, f"threads is {2**70}, expected 32 to 1024"),
        (48, ValueError, "threads is 48, expected a multiple of 32"),
        (1023, ValueError, "threads is 1023, expected a multiple of 32"),
        (64.0, TypeError, "threads must be an integer or None, not float"),
        (True, TypeError, "threads must be an integer or None, not bool"),
        ("64", TypeError, "threads must be an integer or None, not str"),
        ((64, 1), TypeError, "threads must be an integer or None, not tuple"),
    ],
)
def test_what_is_no_number_of_threads(family, value, error, said, backend, rng):
    for n in (0, 97):
        arrays, _ = arrays_of(rng, family, n, "f4", 1, 2)
        before = [raw(array) for array in arrays]
        for variant in ("auto", *(v.name for v in gm.variants(family))):
            with pytest.raises(error, match=said):
                getattr(gm, family)(*arrays, threads=value, variant=variant, backend=backend)
            with pytest.raises(error, match=said):
                gm.traffic(family, *arrays, threads=value, variant=variant)
        assert [raw(array) for array in arrays] == before


# ---- elsewhere -------------------------------------------------------------------------------


def test_shipped_results_are_of_calls_without_threads():
    """They were measured before there was a choice; so they go with calls that make none."""
    for family in FAMILIES:
        shipped = gm.results.for_family(family)
        assert shipped.records and not any(
            "threads" in one["parameters"] for one in shipped.records
        )
        told = gm.explain(family, "unroll4")
        assert "threads" not in told.traffic_where and "GB/s" in str(told)


def test_a_benchmark_sweeps_threads():
    found = gm.bench(
        "strided_write", ["cached", "any"], shapes=[(4096,)], threads=[None, 64], backend="sim"
    )
    widths = [one["parameters"] for one in found.records if one["family"] == "strided_write"]
    assert widths == [{"threads": None}, {"threads": None}, {"threads": 64}, {"threads": 64}]
    with pytest.raises(ValueError, match="threads is 16, expected 32 to 1024"):
        gm.bench("strided_write", shapes=[(4096,)], threads=[16], backend="sim")
