"""The tool that plants faults: its operators, what it draws, and one fault that a test finds."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import mutate

    return mutate


@pytest.fixture
def changes(tool):
    """The changes that an operator makes to a text: (before, after) of each line."""

    def found(operator, text):
        return [m.lines(text) for m in tool.mutations(text) if m.operator == operator]

    return found


OPERATORS = {
    "off_by_one": {
        "if (i < n) {": ["if (i <= n) {"],
        "while (i >= n) {": ["while (i > n) {"],
        "f(a[n - 1], b + 1);": ["f(a[n], b + 1);", "f(a[n - 1], b);"],
        "f(n + 1.5, n - 10);": [],
        "load<unit>(a, b << 1);": [],
    },
    "lost_tail": {
        "n = (count + N - 1) / N;": ["n = (count) / N;"],
        "    copy_tail(a, n);": [";"],
        "n = (count - 1) / N;": [],
    },
    "missing_barrier": {
        "__syncthreads();": [";"],
        "__pipeline_wait_prior(stages - 1);": [";"],
        "__shfl_sync(all, a, 0);": [],
        "void mbarrier_wait(int a) {\n    f(a);": [],
    },
    "wrong_stride": {
        "in[row * a.pitch + col]": ["in[row * (a.pitch + 1) + col]"],
        "i += threads)": ["i += (threads + 1))"],
        "const unit *rows;": [],
    },
    "swapped_index": {
        "n = blockIdx.z;": ["n = blockIdx.y;"],
        "if (a.rows > 2) {": ["if (a.cols > 2) {"],
        "int64_t row = 0;": [],
    },
    "relaxed_bound": {
        "if (row < rows && f(col, 2) && x) {": [
            "if (row < rows && 1 && x) {",
            "if (row < rows && f(col, 2) && 1) {",
        ],
        "ok = a && (b || c);": ["ok = a && 1;"],
        "ok = a && b ? c : d;": ["ok = a && 1 ? c : d;"],
    },
    "dropped_check": {
        "if (bad(x)) {\n    return 1;\n}": ["if (0) {"],
        'if (!x) {\n    set(E, "a; }");\n    goto fail;\n}': ["if (0) {"],
        "if (x) {\n    y = 2;\n}": [],
    },
    "changed_constant": {
        "x = 0x1f + a32 + 7u;": ["x = 0x20 + a32 + 7u;", "x = 0x1f + a32 + 8u;"],
        "x = 2.5f + 1e10 + .5;": [],
        "return -1;": [],
        "char text[32];": [],
    },
    "negated_condition": {'if (is(a, "b)")) {': ['if (!(is(a, "b)"))) {']},
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_an_operator_changes(changes, operator):
    for text, expected in OPERATORS[operator].items():
        assert [after for _, after in changes(operator, text)] == expected, text


def test_each_operator_is_tested(tool):
    assert OPERATORS.keys() == tool.OPERATORS.keys()


ELSEWHERE = """\
/* a < b */ // c < d
const char *s = "e < f";
#define LESS g < h
static_assert(i < j, "k < l");
#if __CUDA_ARCH__ >= 900
x = m < n;
#else
x = o < p;
#endif
#ifndef __CUDACC__
x = q < r;
#if defined(__clang__) || 1
x = s < t;
#endif
#endif
"""


def test_only_code_that_runs_here_is_changed(tool, changes):
    changed = changes("off_by_one", ELSEWHERE)
    assert [after for _, after in changed] == ["x = o <= p;", "x = q <= r;"]
    assert len(tool.mutations(ELSEWHERE)) == 2


def test_a_mutation_changes_what_it_says(tool):
    """Of every file: the change is in one place, and neither in comments nor in strings."""
    for mutant in tool.all_mutants(ROOT, ["csrc/kernels/transpose/*", "csrc/call/*.c"]):
        text, mutation = mutant.text, mutant.mutation
        changed = mutation.apply(text)
        assert changed != text
        assert changed[: mutation.start] == text[: mutation.start]
        assert changed.endswith(text[mutation.end :])
        record = mutant.record()
        lines = text.splitlines()[record["line"] - 1 :]
        assert record["from"].startswith(" ".join(lines[0].split()))
        assert not re.match(r"\s*(?:/\*|\* |#)", lines[0])


def test_every_file_has_tests_that_exist(tool):
    sources = tool.mutation_tests.sources(ROOT)
    assert {"csrc/sim/block.c", "csrc/kernels/copy/vec4.cu", "csrc/error.c"} < set(sources)
    for path in sources:
        runs = tool.mutation_tests.selection(path)
        assert len(runs) >= tool.mutation_tests.quick(path) > 0
        for words in runs:
            assert all((ROOT / word).exists() for word in words if word.startswith("tests/"))
    with pytest.raises(ValueError, match=r"README\.md is not among"):
        tool.mutation_tests.selection("README.md")


def test_a_seed_draws_the_same(tool):
    mutants = tool.all_mutants(ROOT)
    drawn = tool.draw(mutants, 5, 60)
    assert drawn == tool.draw(mutants, 5, 60) != tool.draw(mutants, 6, 60)
    assert drawn[:20] == tool.draw(mutants, 5, 20)
    assert sum("/kernels/" in one.path for one in drawn) == 30
    assert {one.mutation.operator for one in drawn} == set(tool.OPERATORS)
    assert len({one.key for one in drawn}) == 60
    few = tool.all_mutants(ROOT, ["csrc/kernels/copy/vec4.cu"])
    assert sorted(tool.draw(few, 1, 10**6)) == sorted(few)


def test_what_was_found_can_be_tried_again(tool, tmp_path, monkeypatch):
    mutants = tool.draw(tool.all_mutants(ROOT, ["csrc/kernels/copy/vec4.cu"]), 1, 3)
    results, tried = tmp_path / "results.jsonl", []
    fates = ["survived", "killed", "survived"]
    rows = [{**one.record(), "fate": f} for one, f in zip(mutants, fates, strict=True)]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(tool, "try_all", lambda tries, *_, **__: tried.extend(tries) or [])
    tool.main(["--again", "survived", "--results", str(results)])
    assert sorted(tried) == sorted([mutants[0], mutants[2]])


def test_listing_and_wrong_patterns(tool, capsys):
    assert tool.main(["--list", "--count", "3", "--files", "csrc/kernels/add/*"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("csrc/kernels/add/") == 3 and listed.count("\n  + ") == 3
    with pytest.raises(SystemExit):
        tool.main(["--files", "nowhere/*"])
    assert "no mutants in files such as nowhere/*" in capsys.readouterr().err


def test_each_known_equivalent_mutant_exists(tool):
    """A line that was changed since leaves an entry that says nothing."""
    entries = json.loads(tool.KNOWN.read_text())
    made = {}
    for one in entries:
        if one["path"] not in made:
            records = [mutant.record() for mutant in tool.all_mutants(ROOT, [one["path"]])]
            made[one["path"]] = {(r["from"], r["to"]) for r in records}
        assert (one["from"], one["to"]) in made[one["path"]], one
        assert len(one["why"]) > 20 and set(one) == {"path", "from", "to", "why"}
        assert tool.why_equivalent(one) == one["why"]


def failing(tool, *answers):
    """A runner whose runs of tests have these outcomes, and the words that it is given."""
    left, given = list(answers), []

    def test(folder, words):
        given.append(list(words))
        return left.pop(0)

    return tool.Runner(ROOT, test=test), given


def test_tests_run_until_one_fails(tool):
    good, bad = tool.Outcome(), tool.Outcome("failed: t", "t")
    path = "csrc/kernels/copy/vec4.cu"
    runner, given = failing(tool, good, bad)
    assert runner.outcome(path) == bad and len(given) == 2
    runner, given = failing(tool, good, good)
    assert runner.outcome(path) == good
    assert given == [list(words) for words in tool.mutation_tests.selection(path)]


def test_tests_that_have_found_faults_come_first(tool):
    good = tool.Outcome()
    path = "csrc/kernels/copy/vec4.cu"
    runner, given = failing(tool, *[good] * 9)
    runner.quick = True
    for name in "abca":
        runner.remember("csrc/kernels/copy/copy.c", f"t::{name}")
    runner.remember("csrc/kernels/copy/copy.c", "")
    runner.remember("csrc/kernels/add/add.c", "t::d")
    runner.outcome(path)
    assert given[0] == ["t::b", "t::c", "t::a"] and len(given) == 3
    runner.left_out.append("t::b")
    runner.outcome("csrc/kernels/copy/copy.c")
    assert given[3] == ["t::c", "t::a", "--deselect", "t::b"] and len(given) == 6
    runner.outcome("csrc/sim/block.c")
    assert len(given) == 7


def test_a_remembered_test_that_is_gone_finds_nothing(tool):
    gone = tool.Outcome("exit status 4: not found: t::a")
    runner, given = failing(tool, gone, tool.Outcome(), tool.Outcome())
    runner.remember("csrc/kernels/copy/copy.c", "t::a")
    assert not runner.outcome("csrc/kernels/copy/vec4.cu").failed and len(given) == 3


def test_a_test_that_fails_without_a_fault_is_left_out(tool, capsys):
    good, bad = tool.Outcome(), tool.Outcome("failed: t", "t")
    path = "csrc/kernels/copy/vec4.cu"
    runner, given = failing(tool, good)
    assert runner.is_sound(bad, path) and runner.is_sound(bad, path)
    assert given == [["t"]]
    runner, given = failing(tool, bad, good, good)
    assert not runner.is_sound(bad, path) and "left out" in capsys.readouterr().out
    assert not runner.outcome(path).failed
    assert all(words[-2:] == ["--deselect", "t"] for words in given[1:])
    runner, _ = failing(tool, bad)
    with pytest.raises(SystemExit, match="without any fault"):
        runner.is_sound(tool.Outcome("exit status 4: "), path)
    runner, _ = failing(tool, bad, bad)
    assert not runner.is_sound(bad, path)
    with pytest.raises(SystemExit, match="without any fault"):  # leaving it out did not help
        runner.is_sound(bad, path)


PROGRAMS = {
    "pass": ("def test_it(): pass", ""),
    "fail": ("def test_it(): assert 0", "failed: tests/test_it.py::test_it"),
    "crash": ("import os\ndef test_it(): os.abort()", "SIGABRT: tests/test_it.py::test_it"),
    "hang": (
        "import time\ndef test_it(): time.sleep(100)",
        "no end after 3 s: tests/test_it.py::test_it",
    ),
    "crash of a case": (
        "import os, pytest, faulthandler\n"
        "@pytest.mark.parametrize('a', ['x y'])\ndef test_it(a): faulthandler._sigsegv()",
        "SIGSEGV: tests/test_it.py::test_it[x y]",
    ),
    "no import": ("1 / 0", "exit status 2: tests/test_it.py"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_outcomes_of_tests(tool, monkeypatch, tmp_path, case):
    program, expected = PROGRAMS[case]
    (tmp_path / "tests").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(program)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    if case == "hang":
        monkeypatch.setattr(tool, "HANGS", 3)
    outcome = tool.run_tests(tmp_path, ["tests/test_it.py"])
    assert outcome.failed.startswith(expected)
    assert not outcome.test or expected.endswith(outcome.test)


def test_results_are_kept_and_counted(tool, tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    assert tool.load_results(path) == {}
    mutants = tool.draw(tool.all_mutants(ROOT, ["csrc/kernels/copy/vec4.cu"]), 1, 4)
    fates = ["survived", "killed", "killed", "same code"]
    rows = [
        {**one.record(), "fate": fate, "detail": "d", "test": ""}
        for one, fate in zip(mutants, fates, strict=True)
    ]
    again = {**rows[0], "fate": "killed"}
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, again]))
    assert [tool.load_results(path)[one.key]["fate"] for one in mutants] == ["killed", *fates[1:]]
    assert tool.main(["--table", "--results", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 faults found: 100.0 %" in printed
    assert re.search(r"^all +3 +0 +1 +0 +0$", printed, re.M)
    assert "2 of 3 faults found: 66.7 %" in tool.summary(rows)


PLANT = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
import mutate
(mutant,) = (
    one
    for one in mutate.all_mutants(mutate.ROOT, ["csrc/kernels/copy/scalar.cu"])
    if one.mutation.operator == "lost_tail"
)
mutate.try_all([mutant], pathlib.Path(sys.argv[2]), name="mutants-tests")
"""


def test_a_planted_fault_is_found(tool, tmp_path):
    """From the draw to the result: on a copy of the checkout, which is as it was after that."""
    path = Path("csrc/kernels/copy/scalar.cu")
    text, before = (ROOT / path).read_text(), (ROOT / path).stat()
    results = tmp_path / "results.jsonl"
    words = [sys.executable, "-c", PLANT, str(ROOT / "tools"), str(results)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = tool.load_results(results).values()
    assert row["fate"] == "killed" and "copy-scalar" in row["detail"]
    assert (ROOT / path).read_text() == text and (ROOT / path).stat().st_mtime == before.st_mtime
    assert (ROOT / "build" / "mutants-tests" / path).read_text() == text


def test_a_loaded_module_is_not_tested_in_its_place(tool, tmp_path):
    assert "gpumem" in sys.modules
    with pytest.raises(RuntimeError, match="gpumem is loaded"):
        tool.try_all([], tmp_path / "results.jsonl")
