"""Output that cannot be written, and the width of output."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

import gpumem as gm
from gpumem import cli
from gpumem.cli import common

COMMAND = [sys.executable, "-m", "gpumem"]
FULL = "/dev/full"


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")


def environment(**changes):
    """Return this environment without variables that change buffering or width."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PYTHONUNBUFFERED")}
    return kept | changes


def execute(*words, **options):
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("env", environment())
    return subprocess.run([*COMMAND, *words], text=True, check=False, timeout=120, **options)


# ---- destination --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        (("list",), ""),
        (("list", "--json"), ""),
        (("--help",), ""),
        (("--version",), ""),
        (("list",), "1"),
        (("--version",), "1"),
    ],
)
def test_a_full_disk_is_an_error(words, unbuffered):
    with open(FULL, "w") as full:
        done = execute(*words, stdout=full, env=environment(PYTHONUNBUFFERED=unbuffered))
    assert done.returncode == 2
    assert done.stderr == "gpumem: cannot write to stdout: No space left on device\n"


def test_a_closed_stdout_is_an_error():
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "list"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gpumem: cannot write to stdout: it is closed\n"


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [(("list", "copy"), ""), (("list", "--json"), ""), (("list", "--json"), "1")],
)
def test_a_reader_that_went_away_is_no_success(words, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        env = environment(PYTHONUNBUFFERED=unbuffered)
        done = execute(*words, stdout=writing, env=env)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("end", ["2>&-", f"2>{FULL}"])
def test_an_error_that_nobody_can_read_is_one_still(end):
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {end}', "sh", *COMMAND, "list", "nonsense"],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")


def test_results_on_stdout_are_not_mixed_up(tmp_path):
    """/dev/stdout is a file here: later output must not overwrite it."""
    words = ("bench", "copy", "--variants", "scalar", "--sizes", "4K", "-o", "/dev/stdout")
    with open(tmp_path / "out", "w") as file:
        assert execute(*words, stdout=file).returncode == 0
    text = (tmp_path / "out").read_text()
    result, rest = json.JSONDecoder().raw_decode(text)
    assert result["records"] and "copy, shape 1024" in text[rest:]


@pytest.mark.parametrize("words", [("-o", FULL), ("--json", FULL)])
def test_a_result_that_does_not_fit_is_an_error(words, capsys):
    assert cli.main(["bench", "copy", "--variants", "scalar", "--sizes", "4K", *words]) == 2
    assert capsys.readouterr().err == f"gpumem: {FULL}: No space left on device\n"


def test_verify_prints_each_variant_at_once(monkeypatch):
    """Each line appears at once, also in a pipe, so it has to be flushed."""

    class Output(io.StringIO):
        flushed = ""

        def flush(self):
            self.flushed = self.getvalue()

    output = Output()

    def verify(chosen, backend):
        for variant in chosen:
            report = {"family": variant.family, "variant": variant.name, "backend": backend}
            yield report | {"status": "passed", "cases": 1, "reason": None}
            assert output.flushed.splitlines()[-1].startswith(f"{variant} ")

    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(cli.verify, "verify", verify)
    assert cli.main(["verify", "copy"]) == 0
    assert len(output.flushed.splitlines()) == len(gm.variants("copy"))


# ---- progress -----------------------------------------------------------------------------


def test_long_counting_tells_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(common, "_SECONDS", -1.0)
    assert cli.main(["traffic", "copy", "--shape", "64"]) == 0
    err = capsys.readouterr().err.splitlines()
    count = len(gm.variants("copy"))
    assert err[0] == f"traffic: 0 of {count}, copy-scalar" and len(err) == count


def test_short_counting_is_quiet(capsys):
    assert cli.main(["traffic", "copy", "--shape", "64"]) == 0
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with common.show_progress("traffic") as progress:
        progress(1, 2, "copy-scalar")
    assert "copy-scalar" in sys.stderr.getvalue()


# ---- width --------------------------------------------------------------------------------


NARROW = [("list", "copy"), ("explain", "copy", "vec4")]
WIDER = [  # their titles need more than 60 columns
    ("traffic", "transpose", "--shape", "64x64"),
    ("traffic", "transpose", "--shape", "64x64", "--variant", "tile"),
    ("compare", "copy-h200", "copy-h200"),
]


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        *((words, columns) for words in NARROW for columns in (60, 80, 100, 160)),
        *((words, columns) for words in WIDER for columns in (80, 100, 160)),
    ],
)
def test_output_is_as_wide_as_the_terminal(words, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert cli.main(list(words)) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_printed_result_is_as_wide_as_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = gm.results["sgemm-h200"]
    tables = re.findall(r"^size .*?(?=\n\n|\Z)", str(result), re.DOTALL | re.MULTILINE)
    heads = [table.splitlines()[0] for table in tables]
    assert max(len(line) for table in tables for line in table.splitlines()) <= columns
    assert (len(heads) == 1) == (columns == 200)
    names = {name for head in heads for name in head.split()}
    assert {r["variant"] for r in result.records if r["median_ms"]} <= names


def test_no_column_is_lost_on_a_narrow_terminal(monkeypatch, capsys):
    def cells(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert cli.main(["traffic", "transpose", "--variant", "tile", "--shape", "64x64"]) == 0
        return capsys.readouterr().out

    wide, narrow = cells(100), cells(60)
    words = ("sectors/req", "lines/req", "efficiency", "ways", "32.00")
    assert all(word in wide and word in narrow for word in words)
    assert wide.count("\ntile.cu:") < narrow.count("\ntile.cu:")


def test_ideas_are_wrapped_at_80_in_a_pipe():
    done = execute("list", stdout=subprocess.PIPE)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = re.sub(r"\s+", " ", done.stdout)
    assert all(variant.doc in text for variant in gm.variants())


# ---- completion ---------------------------------------------------------------------------


def complete(line):
    """Return what argcomplete offers at the end of a command line."""
    pytest.importorskip("argcomplete")
    reading, writing = os.pipe()
    script = (
        "import os, sys; os.dup2(int(sys.argv[1]), 8); sys.argv = ['gpumem'];"
        "from gpumem.cli import main; main()"
    )
    told = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_IFS": "\n"}
    told |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
    subprocess.run(
        [sys.executable, "-c", script, str(writing)],
        pass_fds=[writing],
        env=environment(**told),
        timeout=120,
        check=False,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        return {word.strip() for word in answer.read().split("\n")}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("gpumem tr", {"traffic"}),
        ("gpumem traffic transp", {"transpose"}),
        ("gpumem bench transf", {"transfer"}),
        ("gpumem verify transpose --variant tile_p", {"tile_padded"}),
        ("gpumem explain copy vec4_", {"vec4_unrolled", "vec4_prefetch"}),
        ("gpumem compare copy-", {"copy-h200"}),
        ("gpumem plot copy-h200 --kind roo", {"roofline"}),
    ],
)
def test_the_shell_completes_names(line, offered):
    assert complete(line) == offered


def test_completion_is_marked_for_argcomplete():
    from gpumem import __file__ as package

    folder = os.path.dirname(package)
    for name in ("__main__.py", "cli/__init__.py"):
        with open(os.path.join(folder, name)) as file:
            assert "PYTHON_ARGCOMPLETE_OK" in file.read(1024)
