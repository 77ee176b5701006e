"""The oracle must be right itself, and find a single wrong bit."""

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

PADDED = np.dtype([("small", "u1"), ("large", "f8")], align=True)
NESTED = np.dtype([("flag", "?"), ("name", "U3"), ("inner", [("x", "f4", (2, 3)), ("on", "?")])])
DTYPES = ["?", "i1", "u8", "f2", "f4", "c16", "M8[s]", "S5", "U4", "V7", PADDED, NESTED, ">f4"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), 5, (3, 4), (2, 0, 3)], ids=str)
def test_arguments_of_any_dtype_and_shape(dtype, shape):
    (a,) = oracle.arguments("copy", shape, dtype, seed=3)
    assert a.dtype == np.dtype(dtype)
    assert a.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert a.flags.c_contiguous and a.flags.owndata
    repr(a)  # every element is a value that NumPy can print
    (again,) = oracle.arguments("copy", shape, dtype, seed=3)
    assert a.tobytes() == again.tobytes()
    oracle.check("copy", oracle.expected("copy", a), a)


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "c16", PADDED], ids=str)
def test_numbers_have_no_zero_bytes(dtype):
    (a,) = oracle.arguments("copy", 1000, dtype)
    assert 0 not in a.tobytes()


def test_bools_are_valid_and_of_both_values():
    (a,) = oracle.arguments("copy", 1000, bool)
    assert a[0] and set(a.tobytes()) == {0, 1}


@pytest.mark.filterwarnings("error")
def test_halves_beyond_their_range_are_infinite():
    (p,) = oracle.arguments("shift_points", (1000, 2), "f2")
    assert np.isposinf(p).any()


def test_arguments_are_fresh():
    assert oracle.arguments("copy", 100)[0].tobytes() != oracle.arguments("copy", 100)[0].tobytes()


def test_no_two_tiles_of_a_large_array_are_equal():
    (a,) = oracle.arguments("copy", 2**25 + 5, "u1", seed=0)
    assert len({a[i : i + 4096].tobytes() for i in range(0, a.size - 4096, 4096)}) == 8192
    assert a[: 2**24].tobytes() != a[2**24 : 2**25].tobytes()


@pytest.mark.parametrize("dtype", ["O", [("x", "O")]])
def test_python_objects_are_refused(dtype):
    with pytest.raises(TypeError, match="object"):
        oracle.arguments("copy", 3, dtype)


@pytest.mark.parametrize(
    "shape", [-1, (2, -3), 1.5, (2**62,), (2**40, 2**40), (0, 2**63), "4", None]
)
def test_bad_shapes_are_named(shape):
    with pytest.raises(ValueError, match="shape"):
        oracle.arguments("copy", shape)


@pytest.mark.parametrize("function", [oracle.arguments, oracle.work, oracle.shape_for])
def test_an_unknown_family_is_refused_with_the_known_ones(function):
    with pytest.raises(ValueError, match=r"nope.*copy"):
        function("nope", 4, "f4")


# ---- comparing ----------------------------------------------------------------------------


def test_moved_elements_must_be_equal_bit_for_bit():
    quiet, loud = np.array([0x7FC00000, 0x7FC00001], "u4").view("f4")[:, None]
    oracle.compare("copy", quiet, quiet.copy())
    with pytest.raises(AssertionError, match=r"index \(0,\)"):
        oracle.compare("copy", loud, quiet)
    with pytest.raises(AssertionError):
        oracle.compare("copy", np.array([-0.0]), np.array([0.0]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("index", [(0, 0), (1, 2), (2, 3)])
def test_the_first_difference_is_named(dtype, index):
    (a,) = oracle.arguments("copy", (3, 4), dtype, seed=1)
    got = oracle.expected("copy", a)
    raw = got.view((np.uint8, got.dtype.itemsize)) if got.dtype.itemsize > 1 else got.view("u1")
    raw[index] ^= 1
    with pytest.raises(AssertionError) as caught:
        oracle.check("copy", got, a)
    assert f"1 of 12 elements differ, the first at index {index}" in str(caught.value)


def test_other_differences_are_named():
    wanted = np.arange(24.0).reshape(2, 12)
    got = wanted.copy()
    got[0, 3], got[1, 2:4] = -1, 5
    with pytest.raises(AssertionError) as caught:
        oracle.compare("copy", got, wanted)
    assert str(caught.value).endswith("; (1, 2): 5.0, not 14.0; (1, 3): 5.0, not 15.0")
    with pytest.raises(AssertionError, match=r"; \(0, 8\): 1.0, not 8.0; …$"):
        oracle.compare("copy", np.ones_like(wanted), wanted)


def test_padding_counts():
    (a,) = oracle.arguments("copy", 5, PADDED)
    got = oracle.expected("copy", a[::2])
    oracle.check("copy", got, a[::2])
    got.view("u1").reshape(3, 16)[2, 3] ^= 0x80  # between the fields
    with pytest.raises(AssertionError, match=r"\(2,\)"):
        oracle.check("copy", got, a[::2])


def test_shape_dtype_and_type_count():
    a = np.arange(6, dtype="f4")
    with pytest.raises(AssertionError, match="shape"):
        oracle.check("copy", a.reshape(2, 3), a)
    with pytest.raises(AssertionError, match="dtype"):
        oracle.check("copy", a.view("i4"), a)
    with pytest.raises(AssertionError, match="list"):
        oracle.check("copy", [0.0], a)


def test_sums_must_lie_within_the_bound():
    wanted = np.array([1.0, np.nan, np.inf, 4.0])
    within = np.full(4, 0.1)
    oracle.compare("sum", np.array([1.05, np.nan, np.inf, 4.0]), wanted, within)
    for i, wrong in [(0, 1.2), (1, 0.0), (2, -np.inf), (2, 1.0), (3, np.nan), (3, np.inf)]:
        got = wanted.copy()
        got[i] = wrong
        with pytest.raises(AssertionError, match=rf"first at index \({i},\)"):
            oracle.compare("sum", got, wanted, within)


def test_expected_is_a_contiguous_array_of_its_own():
    a = np.arange(24).reshape(4, 6)[::-1, ::2]
    b = oracle.expected("copy", a)
    assert b.flags.c_contiguous and not np.shares_memory(a, b)
    np.testing.assert_array_equal(b, a)


# ---- figures ------------------------------------------------------------------------------


def test_a_copy_reads_and_writes_every_byte_once():
    assert oracle.work("copy", (3, 5), "f8") == (240, None)
    assert oracle.work("copy", 2**40, "f4") == (2**43, None)
    assert oracle.work("copy", (0, 7), "f4") == (0, None)


def test_shape_for_a_size():
    assert oracle.shape_for("copy", 4096) == (1024,)
    assert oracle.shape_for("copy", 4099, "f8") == (512,)
    with pytest.raises(ValueError, match="sizes"):
        oracle.shape_for("copy", 3)


def test_cases_have_edges_element_sizes_and_parameters():
    cases = list(oracle.cases("copy"))
    assert {(0,), (1,), (31,), (33,), (2**20 + 3,)} <= {case.shape for case in cases}
    assert {1, 2, 3, 4, 8, 16} <= {case.dtype.itemsize for case in cases}
    assert any(case.parameters for case in cases)


def test_a_polynomial_is_rounded_once(rng):
    """Also if there are more points than the oracle computes at a time."""
    x = rng.uniform(-1.5, 1.5, 70_001).astype("f4")
    coefficients = rng.standard_normal(16).astype("f4")
    wide, exact_coefficients = x.astype("longdouble"), coefficients.astype("longdouble")
    exact = np.polynomial.polynomial.polyval(wide, exact_coefficients)
    terms = np.polynomial.polynomial.polyval(abs(wide), abs(exact_coefficients))
    got = oracle.expected("polynomial", x, coefficients)
    assert got.dtype == "f4"
    assert (abs(got - exact) <= 0.5 * np.spacing(abs(exact.astype("f4"))) + 1e-13 * terms).all()


def test_every_point_of_many_is_expected_where_it_is(rng):
    """With more points than the oracle computes at a time, all of them on pixels."""
    image = rng.standard_normal((300, 250)).astype("f4")
    y, x = np.divmod(rng.permutation(image.size), image.shape[1])
    got = oracle.expected("sample", image, np.stack([x, y], 1).astype("f4"))
    assert np.array_equal(got, image[y, x])


# ---- the families' files ------------------------------------------------------------------


@pytest.mark.parametrize("family", gm.families())
def test_the_oracle_names_variants_and_keywords_that_exist(family):
    entry = table.FAMILIES[family].oracle
    known = {v.name for v in gm.variants(family)}
    named = {*entry.bounds, *entry.otherwise, *entry.shapes_of, *entry.coarse, *entry.ignores}
    assert named <= known
    ignored = {keyword for keywords in entry.ignores.values() for keyword in keywords}
    for keywords in (*entry.keywords, dict.fromkeys(ignored, 1)):
        table.parameters(family, keywords)
    other, variant = entry.reference
    assert variant in {v.name for v in gm.variants(other)}


@pytest.mark.parametrize("family", gm.families())
def test_inputs_are_those_that_arguments_makes(family):
    """The oracle states shapes and dtypes of inputs without making them."""
    inputs = table.FAMILIES[family].oracle.inputs
    for shape, dtype, keywords in oracle.cases(family):
        if table.parameters(family, keywords) == table.parameters(family, {}):
            made = oracle.arguments(family, shape, dtype)
            stated = [(tuple(s), np.dtype(d)) for s, d in inputs(shape, dtype)]
            assert stated == [(a.shape, a.dtype) for a in made]


# ---- what variants take -------------------------------------------------------------------


def reason(family, variant, *inputs, **keywords):
    return _core.takes(family, variant, inputs, table.parameters(family, keywords), "sim")


@pytest.mark.parametrize(
    ("family", "variant", "shape", "dtype", "keywords"),
    [
        ("transpose", "narrow", (65, 66), "f4", {}),
        ("transpose", "tma", (64, 63), "f4", {}),
        ("transpose", "tile", (8, 8), "f8", {}),
        ("shift_points", "soa", (5, 2), "f4", {"dx": 1.0, "dy": 2.0}),
        (
            "prefetch_sum",
            "smem_batch",
            (3, 9),
            "f8",
            {"distance": 16, "padding": 64, "threads": 1024},
        ),
    ],
)
def test_the_reason_is_the_error_of_the_call(family, variant, shape, dtype, keywords):
    with pytest.raises(ValueError, match=f"variant {variant}") as caught:
        getattr(gm, family)(np.zeros(shape, dtype), variant=variant, backend="sim", **keywords)
    assert reason(family, variant, (shape, dtype), **keywords) == str(caught.value)


def test_what_is_taken_need_not_exist():
    assert reason("copy", "vec4", ((2**50,), "u1")) is None
    assert reason("transpose", "narrow", ((2**45, 64), "u1")) is None
    assert "at most 64" in reason("transpose", "narrow", ((2**45, 65), "u1"))
    assert reason("polynomial", "register", (5, "f4"), (16, "f4")) is None
    assert "room for 16" in reason("polynomial", "register", (5, "f4"), (17, "f4"))
    assert reason("add", "zero_copy", (5, "f4"), (5, "f4")) is None  # memory is not asked after
    for number in (0, 2):
        with pytest.raises(TypeError, match="takes 1 arrays"):
            reason("copy", "vec4", *[((4,), "u1")] * number)
    with pytest.raises(ValueError, match="auto"):
        reason("copy", "auto", ((4,), "u1"))
    with pytest.raises(TypeError, match="pair"):
        reason("copy", "vec4", "u1")
