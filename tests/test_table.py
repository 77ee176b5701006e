"""The table: a row per kernel file, a file per row, traffic as claimed, no stray accesses."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from support import exhaustive

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

KERNELS = Path(__file__).resolve().parent.parent / "csrc" / "kernels"
FAMILIES = gm.families()
ROWS = gm.variants()
VARIANTS = gm.variants(instances=True)
ON_SIM = [v for v in VARIANTS if v.reason_on("sim") is None]
TRACED = [v for v in ON_SIM if v.source.endswith(".cu")]
AWKWARD = [0, 1, 17, 1027, 65536 + 5]  # bytes
FULL = 2**16  # elements of float32


def rows(family):
    """Return (macro, name) of each row and instance in the text of a ladder."""
    text = (KERNELS / family / "ladder.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    row = r"^\s*((?:HOST_|MULTI_)?VARIANT|HELPER)\(\s*(\w+)|^\s*(INSTANCE)\(\s*(\w+),\s*(\w+)"
    found = re.findall(row, text, flags=re.MULTILINE)
    return [(one[0] or one[2], one[1] or f"{one[3]}:{one[4]}") for one in found]


def trace(variant, *arrays, **parameters):
    """Count the traffic of a variant, as the extension module reports it."""
    return _core.traffic(
        variant.family, variant.name, arrays, table.parameters(variant.family, parameters)
    )


def total(counted, space, kind, what):
    """Sum a count over the sites of one memory space and one kind, "load" or "store"."""
    return sum(s[what] for s in counted["sites"] if (s["space"], s["kind"]) == (space, kind))


# ---- files and rows ---------------------------------------------------------------------------


def test_families_are_the_folders_that_hold_a_ladder():
    text = (KERNELS / "families.def").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    listed = re.findall(r"^\s*FAMILY\((\w+)\)", text, flags=re.MULTILINE)
    assert len(listed) == len(set(listed)) > 0
    folders = {path.parent.name for path in KERNELS.glob("*/ladder.def")}
    assert (*listed, *sorted(folders - set(listed))) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_each_kernel_file_has_one_row_and_each_row_its_file(family):
    macros = rows(family)
    names = [name for _, name in macros]
    assert len(names) == len(set(names))
    listed = [name for macro, name in macros if macro not in ("HELPER", "INSTANCE")]
    assert listed == [v.name for v in gm.variants(family)]
    listed = [name for macro, name in macros if macro not in ("HELPER", "MULTI_VARIANT")]
    assert listed == [v.name for v in gm.variants(family, instances=True)]
    kernels = {path.stem for path in (KERNELS / family).glob("*.cu")}
    with_kernel = ("VARIANT", "MULTI_VARIANT", "HELPER")
    assert kernels == {name for macro, name in macros if macro in with_kernel}
    # The choice for "auto", what rows take, the check of an index, and plans may be separate files.
    hosts = {path.stem for path in (KERNELS / family).glob("*.c")}
    hosts -= {family, "choose", "takes", "check"}
    hosts = {name for name in hosts if not name.startswith("plan_")}
    assert hosts == {name for macro, name in macros if macro == "HOST_VARIANT"}
    for file in (f"{family}.c", f"{family}.h"):
        assert (KERNELS / family / file).is_file()


@pytest.mark.parametrize("variant", ROWS, ids=str)
def test_the_file_of_a_row_is_where_the_row_says(variant):
    path = KERNELS.parent.parent / variant.source
    assert path.is_file() and path.parent == KERNELS / variant.family
    text = path.read_text()
    assert re.match(rf"/\*\s*\*?\s*{variant.family} / {variant.name}: ", text)
    if path.suffix == ".cu":
        # WAYS(name, ...) defines the kernel of an instance and its parts, WAY(name, ...) a part.
        kernels = re.findall(r"GM_KERNEL(?:_CLUSTERED)?(?:_BOUNDED)?\(\s*(\w+)(?!\w|##)", text)
        ways = re.findall(r"^WAYS\((\w+)", text, flags=re.MULTILINE)
        more = ways + re.findall(r"^WAY\((\w+)", text, flags=re.MULTILINE)
        kernels += [f"{variant.family}_{variant.name}_{name}" for name in more]
        names = [v.name.replace(":", "_") for v in variant.instances or (variant,)]
        ladder = (KERNELS / variant.family / "ladder.def").read_text()
        parts = re.findall(rf"^PART\({variant.name}, (\w+)", ladder, flags=re.MULTILINE)
        names += [] if ways else [f"{variant.name}_{name}" for name in parts]
        assert kernels == [f"{variant.family}_{name}" for name in names]


@pytest.mark.parametrize("variant", ROWS, ids=str)
def test_instances_share_the_work_of_their_row(variant):
    for one in variant.instances:
        assert one.row is variant and not one.instances
        assert pickle.loads(pickle.dumps(one)) is one
        assert one.name.startswith(f"{variant.name}:") and one.source == variant.source
        assert set(one.itemsizes) <= set(variant.itemsizes)
        assert (one.layout, one.memory, one.kinds) == (
            variant.layout,
            variant.memory,
            variant.kinds,
        )
    if variant.instances:
        taken = {size for one in variant.instances for size in one.itemsizes}
        assert taken == set(variant.itemsizes) and len(variant.instances) > 1
        former = [one.formerly for one in variant.instances if one.formerly]
        assert len(former) == len(set(former)) and not {*former} & {v.name for v in VARIANTS}


@pytest.mark.parametrize("variant", [*ROWS, *(v for v in VARIANTS if v.row)], ids=str)
def test_a_row_is_complete(variant):
    names = [v.name for v in gm.variants(variant.family)]
    if variant.follows is not None:
        assert variant.follows in names[: names.index(variant.name.partition(":")[0])]
    assert variant.doc == variant.doc.strip() and 10 <= len(variant.doc) <= 80
    assert "\n" not in variant.doc and not variant.doc.endswith(".")
    assert re.fullmatch("[a-z][a-z0-9_]*(:[a-z0-9_]+)?", variant.name) and variant.name != "auto"
    if variant.source.endswith(".cu"):
        threads = int(np.prod(variant.block))
        assert 1 <= threads <= 1024 and threads % 32 == 0
        assert variant.elements >= 1
    assert variant.alignment in (0, 1, 2, 4, 8, 16, 32, 64, 128)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_rung_follows_nothing(family):
    assert gm.variants(family)[0].follows is None


def test_the_sources_repeat_the_table_as_it_is(monkeypatch):
    """The lists of variants in docstrings, and the functions in gpumem/__init__.py."""
    monkeypatch.syspath_prepend(KERNELS.parent.parent / "tools")
    import docstrings

    for path, text in docstrings.rewritten().items():
        assert path.read_text(encoding="utf-8") == text, "run tools/docstrings.py"


def test_tools_write_into_the_package_beside_them(monkeypatch, tmp_path):
    """An editable install of another checkout is not written to."""
    monkeypatch.syspath_prepend(KERNELS.parent.parent / "tools")
    from own_package import check_own_package

    check_own_package(str(tmp_path / "gpumem" / "__init__.py"), tmp_path)
    with pytest.raises(SystemExit, match=f"PYTHONPATH={tmp_path}"):
        check_own_package(str(tmp_path / "other" / "gpumem" / "__init__.py"), tmp_path)


def test_a_stale_list_of_variants_is_seen(monkeypatch):
    monkeypatch.syspath_prepend(KERNELS.parent.parent / "tools")
    import docstrings

    path = docstrings.PACKAGE / "families" / "copy.py"
    text = path.read_text(encoding="utf-8")
    for stale in (
        text.replace("    ``vec2``\n", "    ``vec3``\n"),
        re.sub(r"    ``vec4``\n.*\n", "", text),
    ):
        assert stale != text and docstrings.with_variants("copy", stale) == text
    with pytest.raises(ValueError, match="0 lists of variants"):
        docstrings.with_variants("copy", "")
    package = docstrings.PACKAGE / "__init__.py"
    whole = package.read_text(encoding="utf-8")
    without = whole.replace("from .families.add import add\n", "").replace('    "add",\n', "")
    assert whole != without and docstrings.with_functions(without) == whole


# ---- claims -----------------------------------------------------------------------------------


def full_arrays(variant):
    """Arguments for which the variant's claims hold: aligned, full tiles."""
    return oracle.claimed_arguments(variant, 4 * FULL)


CLAIMS = [(v, claim) for v in TRACED for claim, value in v.claims.items() if value is not None]


@pytest.mark.parametrize(("variant", "claim"), CLAIMS, ids=str)
def test_traffic_is_as_claimed(variant, claim):
    claimed = variant.claims[claim]
    arrays = full_arrays(variant)
    counted = trace(variant, *arrays)
    oracle.check(variant.family, counted["result"], *arrays, variant=variant.name)
    if claim == "width":
        seen = max(s["width"] for s in counted["sites"] if s["space"] == "global")
    elif claim == "bank_ways":
        seen = gm.traffic(variant.family, *arrays, variant=variant).shared.bank_ways
    else:
        kind = claim.partition("_")[0]
        requests = total(counted, "global", kind, "requests")
        seen = total(counted, "global", kind, "sectors") / requests
    assert seen == claimed


@pytest.mark.parametrize("variant", [v for v in TRACED if v.family == "copy"], ids=str)
def test_a_copy_stores_each_byte_once(variant):
    """Whatever the length of the tail. Loads may repeat, but only in the tail."""
    for count in (*AWKWARD, 4095, 2**16, 2**16 + 15):
        a = np.arange(count, dtype=np.uint32).astype(np.uint8)
        counted = trace(variant, a)
        assert np.array_equal(counted["result"], a)
        assert total(counted, "global", "store", "bytes") == count
        loaded = total(counted, "global", "load", "bytes")
        assert loaded >= count and (loaded == count or count % 2**16)


def test_wider_copies_take_fewer_instructions():
    """The lesson of the ladder: 64 bits halve the requests, 128 bits halve them again."""
    variants = {v.name: v for v in gm.variants("copy")}
    requests = {}
    for name in ("scalar", "vec2", "vec4", "struct16", "vec4_unrolled"):
        counted = trace(variants[name], np.ones(FULL, "f4"))
        requests[name] = total(counted, "global", "load", "requests")
        assert total(counted, "global", "store", "requests") == requests[name]
    assert requests["scalar"] == FULL / 32
    assert requests["vec2"] == requests["scalar"] / 2
    assert requests["vec4"] == requests["struct16"] == requests["scalar"] / 4
    assert requests["vec4_unrolled"] == requests["vec4"]


@pytest.mark.parametrize("variant", [v for v in TRACED if v.family == "copy"], ids=str)
def test_max_blocks_limits_the_grid(variant):
    """As many blocks as there is work for, but at most max_blocks."""
    a = np.ones(FULL // 4, "f4")
    needed = trace(variant, a, max_blocks=2**31 - 1)["grid"][0]
    if variant.layout != "strided":  # its units may be wider than the row's elements
        assert needed == -(-a.size // (int(np.prod(variant.block)) * variant.elements))
    assert needed > 3
    for max_blocks in (1, 2, 3, needed, needed + 1):
        grid = trace(variant, a, max_blocks=max_blocks)["grid"]
        assert grid == (min(max_blocks, needed), 1, 1)


SIXTEENS = np.dtype({"names": ["a"], "formats": ["V16"], "offsets": [0], "itemsize": 40})
FOURS = np.dtype({"names": ["a"], "formats": ["(4,)f8"], "offsets": [0], "itemsize": 33})
WIDTHS = {
    "16-at-16": (lambda d: d.view("V16")[::2], 128),
    "16-at-8": (lambda d: d[8:-8].view("V16")[::2], 64),
    "16-at-4": (lambda d: d[4:-12].view("V16")[::2], 32),
    "16-at-2": (lambda d: d[2:-14].view("V16")[::2], 16),
    "16-at-1": (lambda d: d[1:-15].view("V16")[::2], 8),
    "16-every-40": (lambda d: d[:3200].view(SIXTEENS)["a"], 64),
    "24": (lambda d: d[:2400].view("V24")[::-1], 64),
    "12": (lambda d: d[:2400].view("V12")[::5], 32),
    "length-1": (lambda d: d[:33].view(FOURS)["a"][:, ::2], 64),
    "runs-of-bytes": (lambda d: d[:4096].reshape(64, 64)[:, 3:], 8),
}


@pytest.mark.parametrize("layout", WIDTHS)
def test_the_strided_copy_takes_the_widest_units_that_fit(layout):
    """The widest unit of which every address is a multiple."""
    view, width = WIDTHS[layout]
    there = gm.to_device(np.arange(2**13, dtype="u2").view("u1")[: 2**13], backend="sim")
    counted = _core.traffic("copy", "strided", (view(there),), (0,))
    assert {site["width"] for site in counted["sites"]} == {width}
    assert counted["result"].to_host().tobytes() == view(there).to_host().tobytes()
    assert total(counted, "global", "store", "bytes") == view(there).nbytes


# ---- stray accesses ---------------------------------------------------------------------------


@pytest.mark.parametrize("max_blocks", [None, 1, 2, 3])
@pytest.mark.parametrize("variant", [v for v in TRACED if v.family == "copy"], ids=str)
def test_no_stray_access_in_a_copy(variant, max_blocks):
    for count in AWKWARD:
        a = np.arange(count, dtype=np.uint32).astype(np.uint8)
        assert np.array_equal(trace(variant, a, max_blocks=max_blocks)["result"], a)


@pytest.mark.parametrize("most", [10_000, *exhaustive(100_000)])
@pytest.mark.parametrize("variant", TRACED, ids=str)
def test_no_stray_access_in_any_case_of_the_oracle(variant, most):
    for case in oracle.cases(variant.family):
        if np.prod(case.shape, dtype=int) > most:
            continue
        if not oracle.takes(variant, case.shape, case.dtype):
            continue
        arrays = oracle.arguments(variant.family, case.shape, case.dtype, seed=4, **case.parameters)
        counted = trace(variant, *arrays, **case.parameters)
        keywords = {"variant": variant.name, **case.parameters}
        oracle.check(variant.family, counted["result"], *arrays, **keywords)
        assert counted["variant"] == variant.name


@pytest.mark.parametrize("variant", ON_SIM, ids=str)
def test_every_site_is_on_a_line_of_a_kernel(variant):
    """A variant without a kernel has no sites, or those of the kernel that it calls."""
    arrays = full_arrays(variant)
    counted = trace(variant, *arrays)
    oracle.check(variant.family, counted["result"], *arrays, variant=variant.name)
    assert counted["sites"] or not variant.source.endswith(".cu")
    for site in counted["sites"]:
        assert site["space"] != "global" or site["sectors"] >= site["lines"] > 0
        assert site["requests"] > 0 and site["lanes"] > 0 and site["line"] > 0
        assert (KERNELS.parent.parent / site["file"]).is_file() or Path(site["file"]).is_file()


def test_auto_is_a_row_of_the_table():
    a = np.ones(FULL, "f4")
    counted = _core.traffic("copy", "auto", (a,), (0,))
    assert counted["variant"] in [v.name for v in gm.variants("copy")]
    assert np.array_equal(counted["result"], a)
