"""The documents agree with the table and with the shipped results."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path

import pytest
from made_up import MadeUpDevice

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@pytest.fixture
def tool(monkeypatch):
    """Return a function that imports a tool."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))

    def load(name):
        if name != "site":  # the standard library has one
            return importlib.import_module(name)
        pytest.importorskip("nbformat", reason="the site has notebooks (gpumem[notebooks])")
        pytest.importorskip("matplotlib", reason="the site has pictures (gpumem[plot])")
        specification = importlib.util.spec_from_file_location(
            "gpumem_site", ROOT / "tools/site.py"
        )
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return load


def test_readme_tables_are_up_to_date(tool):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- summary -->\n| job |" in text
    assert tool("document_tables").filled(text) == text, "run tools/readme_tables.py"


def test_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 10 * 1024


@pytest.mark.parametrize("family", gm.families())
def test_the_page_of_a_family_has_all_its_kernels(family, tool):
    site = tool("site")
    page = tool("document_tables").filled(site.family_page(family))
    ladder, sections = page.split("\n## The kernels\n")
    for variant in gm.variants(family):
        assert f"[`{variant.name}`](#kernel-{variant})" in ladder
        (section,) = re.findall(
            rf"\(kernel-{variant}\)=\n### {variant.name}\n(.*?)\n:::\n", sections, re.DOTALL
        )
        assert variant.doc[1:] in section
        assert (ROOT / variant.source).read_text(encoding="utf-8").rstrip("\n") in section


def test_a_new_family_gets_a_page(tool, monkeypatch, tmp_path):
    site = tool("site")
    monkeypatch.setattr(site, "DOCS", tmp_path)
    page = tool("document_tables").filled(site.family_page("add"))
    assert page.startswith("# add\n\nAdd two arrays, which may be in any kind of memory.\n")
    assert tool("document_tables").ladder("add") in page


def test_links_of_the_site(tool):
    """Between pages they stay links; to a kernel's file they lead to its section."""
    links = tool("site").Links()
    given = "[a](../notebooks/01-copy.ipynb) [b](../csrc/kernels/copy/vec4.cu) [c](../examples)"
    made = "[a](notebooks/01-copy.ipynb) [b](families/copy.md#kernel-copy-vec4) c"
    assert links.rewritten(given, "docs/tour.md") == made
    code = "```c\na[b](../csrc)\n```"
    assert links.rewritten(code, "docs/tour.md") == code
    with pytest.raises(SystemExit, match=r"docs/tour.md links to csrc/none.c, which is not there"):
        links.rewritten("[a](../csrc/none.c)", "docs/tour.md")


def test_the_reference_has_every_public_name():
    text = "".join(file.read_text(encoding="utf-8") for file in (DOCS / "api").glob("*.md"))
    named = re.findall(r"^\.\. (?:auto|py:data)\w*:: gpumem\.(\w+)$", text, re.MULTILINE)
    assert sorted([*named, "__version__"]) == sorted(gm.__all__)


@pytest.mark.parametrize("page", ["index", "tour", "results"])
def test_transcripts_of_the_site(page, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    monkeypatch.setenv("COLUMNS", "96")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)
    # What is printed may have empty lines; statements follow them.
    shown = re.sub(r"\n\n(?!>>>)", "\n<BLANKLINE>\n", "\n".join(blocks))
    test = doctest.DocTestParser().get_doctest(shown, {}, page, None, 0)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_single_calls_are_a_column(tool, monkeypatch):
    """Only of a result that has both orders; the other columns are those of calls in a row."""
    tables = tool("document_tables")
    stream = MadeUpDevice().bench("copy", ["auto"], sizes="1M,2M")
    single = MadeUpDevice().bench("copy", ["auto"], sizes="2M", order="single")
    for result in (stream, single):
        result.provenance["commit"] = "0123456789abc"
    single.records[0]["fraction_of_reference"] = 0.75
    both = gm.BenchResult(stream.records + single.records, stream.provenance)
    loaded = {"one": stream, "both": both}
    monkeypatch.setattr(gm.results.__class__, "load", lambda _, name: loaded[name])
    one = [line.split(" | ") for line in tables.figures("copy", "one").splitlines()]
    two = [line.split(" | ") for line in tables.figures("copy", "both").splitlines()]
    assert one[0][-1] == "auto / memcpy |" and two[0][-1] == "auto / memcpy, single calls |"
    assert [line[-1] for line in two[2:4]] == ["– |", "0.750 |"]
    assert [line[1:3] for line in two[2:4]] == [line[1:3] for line in one[2:4]]


def test_readme_example_runs(monkeypatch):
    """The Python block of the README runs as it is, without the benchmark."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.setattr(gm, "bench", lambda *args, **keywords: None)
    exec(compile(block, "README.md", "exec"), {})


def test_the_tour_names_the_commands_there_are():
    from gpumem import cli

    text = (DOCS / "tour.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^gpumem (\w+)", text, re.MULTILINE))
    (subparsers,) = [a for a in cli.build_parser()._actions if a.dest == "command"]
    assert named == set(subparsers.choices)


def test_the_site_has_the_help_of_every_command(tool):
    from gpumem import cli

    page = tool("command_page").commands()
    (subparsers,) = [a for a in cli.build_parser()._actions if a.dest == "command"]
    for name in subparsers.choices:
        assert f"\n## {name}\n\n```text\nusage: gpumem {name} " in page


def test_contributing_shows_a_variant_as_it_is():
    """The file and the line of the example are those of copy-vec4."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folder = ROOT / "csrc" / "kernels" / "copy"
    file, line = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    assert file == (folder / "vec4.cu").read_text(encoding="utf-8")
    assert line in (folder / "ladder.def").read_text(encoding="utf-8")


def test_every_public_name_is_documented():
    for name in gm.__all__:
        thing = getattr(gm, name)
        assert name == "__version__" or (thing.__doc__ or "").strip(), name


def test_the_tests_that_security_names_exist():
    """Each promise in the table has at least one."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!promise|---)(.*) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) > 10
    for promise, tests in rows:
        named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", tests)
        assert named and len(named) == len(tests.split()), promise
        for file, function in named:
            source = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^def {function}\(", source, re.MULTILINE), f"{file}::{function}"
