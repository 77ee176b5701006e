"""The documents agree with the table and with the results that are shipped."""

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


def test_readme_example_runs(monkeypatch):
    """The Python block of the README, word for word but for the benchmark."""
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


def test_every_public_name_is_documented():
    for name in gm.__all__:
        thing = getattr(gm, name)
        assert name == "__version__" or (thing.__doc__ or "").strip(), name


def test_stub_names_what_the_module_has():
    """_core.pyi and the extension module list the same public names."""
    from gpumem import _core

    text = (ROOT / "gpumem" / "_core.pyi").read_text(encoding="utf-8")
    stub = set(re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)) | {"build"}
    assert stub == {name for name in dir(_core) if not name.startswith("_")}
    for kind in (_core.DeviceArray, _core.Stream, _core.Event, _core.Prepared):
        body = re.search(rf"^class {kind.__name__}:\n((?:    .*\n|\n)+)", text, re.MULTILINE)[1]
        members = set(re.findall(r"^    def (\w+)", body, re.MULTILINE))
        members = {name for name in members if not name.startswith("_")}
        assert members == {name for name in vars(kind) if not name.startswith("_")}, kind
