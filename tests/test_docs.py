"""The documents agree with the table and with the shipped results."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

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
