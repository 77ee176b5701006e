"""The documents agree with the table and with the shipped results."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from made_up import MadeUpDevice

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent


def load_tool(name):
    specification = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    return tool


def test_readme_tables_are_up_to_date():
    tool = load_tool("readme_tables")
    text = tool.README.read_text(encoding="utf-8")
    assert tool.rewrite(text) == text, "run tools/readme_tables.py"
    for family in gm.families():
        assert f"<!-- ladder: {family} -->" in text
        for variant in gm.variants(family):
            assert f"`{variant.name}`" in text


def test_a_new_family_gets_a_section_in_the_readme():
    tool = load_tool("readme_tables")
    text = tool.README.read_text(encoding="utf-8")
    without = re.sub(r"<!-- ladder: add -->\n.*?<!-- end -->\n", "", text, flags=re.DOTALL)
    assert "<!-- ladder: add -->" not in without
    added = (
        "\n## add\n\nAdd two arrays, which may be in any kind of memory.\n\n<!-- ladder: add -->\n"
    )
    assert added + tool.ladder("add") in tool.rewrite(without)


def test_single_calls_are_a_column_of_the_readme(monkeypatch):
    """Only of a result that has both orders; the other columns are those of calls in a row."""
    tool = load_tool("readme_tables")
    stream = MadeUpDevice().bench("copy", ["auto"], sizes="1M,2M")
    single = MadeUpDevice().bench("copy", ["auto"], sizes="2M", order="single")
    for result in (stream, single):
        result.provenance["commit"] = "0123456789abc"
    single.records[0]["fraction_of_reference"] = 0.75
    both = gm.BenchResult(stream.records + single.records, stream.provenance)
    loaded = {"one": stream, "both": both}
    monkeypatch.setattr(gm.results.__class__, "load", lambda _, name: loaded[name])
    one = [line.split(" | ") for line in tool.figures("copy", "one").splitlines()]
    two = [line.split(" | ") for line in tool.figures("copy", "both").splitlines()]
    assert one[0][-1] == "auto / memcpy |" and two[0][-1] == "auto / memcpy, single calls |"
    assert [line[-1] for line in two[2:4]] == ["– |", "0.750 |"]
    assert [line[1:3] for line in two[2:4]] == [line[1:3] for line in one[2:4]]


def test_readme_example_runs(monkeypatch):
    """The Python block of the README runs as it is, without the benchmark."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.setattr(gm, "bench", lambda *args, **keywords: None)
    exec(compile(block, "README.md", "exec"), {})


def test_readme_traffic_is_what_is_printed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"\n```\n(copy-vec4: .*?)```", text, re.DOTALL)[1]
    printed = str(gm.traffic("copy", variant="vec4", shape=2**20))
    assert printed.startswith(shown.rstrip("\n"))


def test_readme_names_the_commands_there_are():
    from gpumem import cli

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^gpumem (\w+)", text, re.MULTILINE))
    (subparsers,) = [a for a in cli.build_parser()._actions if a.dest == "command"]
    assert named == set(subparsers.choices)


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
