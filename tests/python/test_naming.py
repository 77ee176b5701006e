"""Messages about names: the nearest known one, and never all of a long one."""

import numpy as np
import pytest

import gpumem as gm
from gpumem import cli
from gpumem.base import messages as naming

LONG = "x" * 100_000
A = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: gm.variants("tranpose"), "transpose"),
        (lambda: gm.transpose(A, variant="tile_paded"), "tile_padded"),
        (lambda: gm.traffic("copy", variant="vec_4", shape=9), "vec4"),
        (lambda: gm.traffic("cpoy", shape=9), "copy"),
        (lambda: gm.bench("transpse"), "transpose"),
        (lambda: gm.bench("copy", "vec_4"), "vec4"),
        (lambda: gm.bench("copy", sizes="4K", with_peers=["pytorch"]), "torch"),
        (lambda: gm.results["copyh200"], "copy-h200"),
        (lambda: gm.results.load("transpose_h200"), "transpose-h200"),
        (lambda: gm.results.for_family("sgem"), "sgemm"),
        (lambda: gm.compare("copy-h100", "copy-h200"), "copy-h200"),
        (lambda: gm.empty(3, kind="pined"), "pinned"),
        (lambda: gm.results["copy-h200"].filter(varient="vec4"), "variant"),
        (lambda: gm.results["copy-h200"].plot("ladders"), "ladder"),
        (lambda: gm.traffic("strided_read", shape=9, strid=2), "stride"),
    ],
)
def test_the_nearest_name_is_suggested(call, near):
    with pytest.raises((ValueError, TypeError, KeyError), match=f"Did you mean '{near}'"):
        call()


@pytest.mark.parametrize("name", ["quux", "", LONG, 7, None, ["copy"]])
def test_nothing_is_suggested_where_nothing_is_near(name):
    assert naming.nearest(name, gm.families()) is None
    assert "Did you mean" not in naming.unknown("family is", name, gm.families())


@pytest.mark.parametrize(
    "call",
    [
        lambda: gm.variants(LONG),
        lambda: gm.copy(A, variant=LONG),
        lambda: gm.copy(A, backend=LONG),
        lambda: gm.to_device(A, backend=LONG),
        lambda: gm.empty(3, kind=LONG),
        lambda: gm.empty(3, dtype=LONG),
        lambda: gm.DeviceArray((3,), LONG, backend="sim"),
        lambda: gm.copy(A, stream=10**4000),
        lambda: gm.sgemm(A, A, variant=f"{LONG}\0"),
        lambda: gm.traffic("copy", shape=9, variant=LONG),
        lambda: gm.traffic("copy", shape=LONG),
        lambda: gm.traffic("copy", shape=(10**4000,)),
        lambda: gm.traffic("copy", shape=9, dtype=LONG),
        lambda: gm.traffic("copy", shape=9, **{LONG: 1}),
        lambda: gm.bench(LONG),
        lambda: gm.bench("copy", LONG),
        lambda: gm.bench("copy", sizes=LONG),
        lambda: gm.bench("copy", cache=LONG),
        lambda: gm.bench("copy", dtype=LONG),
        lambda: gm.bench("copy", with_peers=[LONG]),
        lambda: gm.bench("copy", **{LONG: 1}),
        lambda: gm.bench("transfer", **{LONG: 1}),
        lambda: gm.bench("transfer", kind=LONG),
        lambda: gm.bench_all(**{LONG: 1}),
        lambda: gm.results[LONG],
        lambda: gm.results.load(LONG),
        lambda: gm.results["copy-h200"].filter(**{LONG: 1}),
        lambda: gm.results["copy-h200"].plot(LONG),
        lambda: gm.results["copy-h200"].plot("size", variants=LONG),
        lambda: gm.results["copy-h200"].plot("size", **{LONG: 1}),
        lambda: gm.compare("copy-h200", "copy-h200", LONG),
        lambda: gm.explain("copy", LONG),
        lambda: gm.traffic("polynomial", variant="constant", shape=64).draw(LONG),
        lambda: gm.traffic("polynomial", variant="constant", shape=64).draw(space=LONG),
    ],
)
def test_long_names_are_cut(call):
    with pytest.raises((ValueError, TypeError, KeyError)) as caught:
        call()
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    "words",
    [
        (LONG,),
        ("list", LONG),
        ("list", f"--{LONG}"),
        ("traffic", "copy", "--variant", LONG),
        ("traffic", "copy", "--dtype", LONG),
        ("traffic", "copy", "--shape", LONG),
        ("traffic", "copy", "--set", LONG),
        ("traffic", "copy", "--set", f"max_blocks={LONG}"),
        ("traffic", "copy", "--set", f"max_blocks={LONG}-"),
        ("bench", "copy", "--peers", LONG),
        ("bench", "copy", "--timeout", LONG),
        ("compare", LONG, "copy-h200"),
        ("plot", "copy-h200", "--kind", "size", "-o", f"x.{LONG}"),
    ],
)
def test_long_words_on_the_command_line_are_cut(words, capsys):
    assert cli.main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and len(err) < 800


def test_quoting():
    assert naming.quoted("vec4") == "'vec4'"
    assert naming.quoted(LONG) == "'" + "x" * 78 + "…"
    assert len(naming.quoted(list(range(1000)))) == 80
    assert naming.shortened("short") == "short"
