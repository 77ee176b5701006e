"""Signatures, type hints and help of everything public; what mypy says of users' programs."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pydoc
import subprocess
import sys
import typing
from pathlib import Path

import pytest
import small_calls

import gpumem as gm

ROOT = Path(__file__).resolve().parent.parent


def public():
    """(name, object) of what users call and read: functions, classes, methods, properties.

    Exceptions, which users only catch, and what others define, such as Mapping, are left out.
    """
    for name in gm.__all__:
        one = getattr(gm, name)
        kind = one if isinstance(one, type) else type(one)
        if inspect.isroutine(one):
            yield name, one
        elif kind.__module__.startswith("gpumem") and not issubclass(kind, BaseException):
            yield name, kind
            yield from ((f"{name}.{inner}", got) for inner, got in members(kind))


def members(kind):
    for inner, raw in vars(kind).items():
        got = raw.fget if isinstance(raw, property) else getattr(kind, inner)
        if not inner.startswith("_") and inspect.isroutine(got):
            yield inner, got


PUBLIC = [pytest.param(one, id=name) for name, one in public()]


@pytest.mark.parametrize("one", PUBLIC)
def test_signature_hints_and_help(one):
    signature = inspect.signature(one)
    hints = typing.get_type_hints(one)
    if inspect.isfunction(one):  # functions of the extension module have theirs in the stub
        named = [name for name in signature.parameters if name != "self"]
        assert set(hints) == {*named, "return"}
    shown = pydoc.plain(pydoc.render_doc(one))
    assert one.__name__ in shown and inspect.getdoc(one).splitlines()[0] in shown


def test_everything_public_was_looked_at():
    seen = {param.id.split(".")[0] for param in PUBLIC}
    errors = {n for n in gm.__all__ if n.endswith("Error")}
    assert set(gm.__all__) - seen == errors | {"__version__"}


@pytest.mark.skipif(not hasattr(typing, "get_overloads"), reason="Python 3.10 keeps no overloads")
@pytest.mark.parametrize("name", [*gm.families(), "matmul"])
def test_overloads_take_what_the_function_takes(name):
    """Each has all parameters of the function, by name or in its TypedDict."""
    function = getattr(gm, name)
    overloads = typing.get_overloads(function)
    assert overloads or name in small_calls.IN_PLACE  # which return the array that they are given
    for one in overloads:
        *named, last = inspect.signature(one).parameters.values()
        (keywords,) = eval(last.annotation, {**function.__globals__, "Unpack": list}).__args__
        assert {*(p.name for p in named), *keywords.__annotations__} == set(
            inspect.signature(function).parameters
        )


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_what_users_write(tmp_path):
    command = [sys.executable, ROOT / "tools" / "check_types.py", tmp_path]
    found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # wherever gpumem was found
    done = subprocess.run(command, capture_output=True, text=True, env=found)
    assert done.returncode == 0, done.stdout + done.stderr
    examples = (tmp_path / "examples.py").read_text(encoding="utf-8")
    assert all(
        f"def {name}()" in examples for name in ("document_README", "copy", "DeviceArray_to_host")
    )
