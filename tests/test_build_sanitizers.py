"""Builds with the host's sanitizers, and what csrc/build.py tells clang-tidy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from building import build_tools

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def sanitizers():
    tools = build_tools()
    return tools.build_sanitizers


def compiler(tools, clang=False):
    return tools.build_sanitizers.Compiler(("cc",), clang, "x86_64", "")


@pytest.mark.parametrize("wish", ["adress", "address,thread", "address,,leak", "1"])
def test_an_unknown_sanitizer_is_named(sanitizers, wish):
    with pytest.raises(sanitizers.BuildError, match=f"GPUMEM_SANITIZE is '{wish}'; it should be"):
        sanitizers.chosen(compiler(build_tools()), {"GPUMEM_SANITIZE": wish})


def test_only_gcc_builds_with_sanitizers(sanitizers):
    clang = compiler(build_tools(), clang=True)
    assert sanitizers.chosen(clang, {}) == []
    with pytest.raises(sanitizers.BuildError, match="needs GCC"):
        sanitizers.chosen(clang, {"GPUMEM_SANITIZE": "thread"})


def test_the_hooks_of_the_simulator_are_not_instrumented(sanitizers):
    kinds = sanitizers.chosen(compiler(build_tools()), {"GPUMEM_SANITIZE": "undefined, address"})
    assert {"-fsanitize=address", "-fsanitize=undefined"} < set(sanitizers.c_flags(kinds, "x.c"))
    assert all((ROOT / name).exists() for name in sanitizers.HOOKS)
    assert all(sanitizers.c_flags(kinds, name) == [] for name in sanitizers.HOOKS)
    assert sanitizers.plain_flags(kinds) == sanitizers.c_flags([], "x.c") == []


def test_hooks_are_renamed_where_they_are_defined_and_called(tmp_path, sanitizers):
    tools = build_tools()
    cc = tools.host_compiler("CC")
    if cc.clang:
        pytest.skip("sanitizers need GCC")
    sources = {
        sanitizers.HOOKS[0]: "void __tsan_read4(void *a) { (void)a; }",
        "csrc/core.c": "void __tsan_read4(void *); void f(void) { __tsan_read4(0); }",
        "csrc/kernel.cu": "void __tsan_read4(void *); void g(void) { __tsan_read4(0); }",
    }
    jobs, objects = [], []
    for number, (name, text) in enumerate(sources.items()):
        made = tmp_path / f"{number}.o"
        (tmp_path / f"{number}.c").write_text(text)
        subprocess.run([*cc.command, "-c", tmp_path / f"{number}.c", "-o", made], check=True)
        jobs.append(tools.Job(name, "traced" if name.endswith(".cu") else "c", [], ""))
        objects.append(made)
    builder = tools.Builder(tmp_path, tmp_path)
    renamed = sanitizers.rename_hooks(builder, jobs, objects)
    assert renamed == sanitizers.rename_hooks(builder, jobs, objects)  # the cache has them
    calls = [
        subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.split()
        for path in renamed
    ]
    assert [("gm_own__tsan_read4" in words) for words in calls] == [True, False, True]
    assert "__tsan_read4" in calls[1]


def test_compile_commands_are_those_of_the_build(tmp_path):
    made = tmp_path / "compile_commands.json"
    command = [sys.executable, str(ROOT / "csrc/build.py"), "--compile-commands", str(made)]
    subprocess.run(command, check=True)
    listed = {entry["file"]: entry["arguments"] for entry in json.loads(made.read_text())}
    assert "csrc/sim/fiber.c" in listed and "csrc/python/module.c" in listed
    for name, arguments in listed.items():
        assert (ROOT / name).exists() and arguments[-1] != "-c" and "-std=c11" in arguments
