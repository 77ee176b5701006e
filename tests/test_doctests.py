"""Every example in a docstring runs, without a GPU, and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import gpumem
from gpumem import _core

# Examples that are skipped, since they need a GPU build or pandas; other tests cover these.
SKIPPED = (
    ".BenchResult.to_pandas",
    *(f".sass.{name}" for name in ("sass", "Sass", "Sass.counts", "Sass.listing", "Sass.to_dict")),
)


def is_function(one):
    """Whether it is a function or a method, written in Python or in C."""
    return inspect.isroutine(getattr(one, "__func__", one))  # __func__: of a classmethod


def public_callables():
    """(name, object) of what users can call: functions, classes, public methods of classes.

    Exceptions are left out: users catch them.
    """
    for name in gpumem.__all__:
        one = getattr(gpumem, name)
        if is_function(one):
            yield name, one
        elif not isinstance(one, type):
            yield from methods(name, type(one))  # results
        elif not issubclass(one, BaseException):
            yield name, one
            yield from methods(name, one)


def methods(name, kind):
    """(name, object) of the public methods of a class; none of a built-in one, such as str."""
    if kind.__module__ != "builtins":
        for inner, one in vars(kind).items():
            if not inner.startswith("_") and is_function(one):
                yield f"{name}.{inner}", one


@pytest.mark.parametrize("one", [pytest.param(one, id=name) for name, one in public_callables()])
def test_every_public_callable_has_an_example(one):
    doc = inspect.cleandoc(one.__doc__)
    assert "\nExamples\n--------\n>>> " in doc


def python_examples():
    """Those of all modules of the package, one doctest per docstring."""
    names = [m.name for m in pkgutil.walk_packages(gpumem.__path__, "gpumem.")]
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ["gpumem", *names]:
        if name.endswith(("__main__", "._core")):
            continue
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in ("mpi4py", "torch"):  # an engine of gpumem.distributed
                raise
            continue
        yield from (one for one in finder.find(module, name) if one.examples)


def extension_examples():
    """Those of the extension module, which doctest does not look into."""
    parser = doctest.DocTestParser()
    for name in dir(_core):
        thing = getattr(_core, name)
        members = vars(thing) if isinstance(thing, type) else {}
        for inner, one in {"": thing, **members}.items():
            text = getattr(one, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                where = f"gpumem._core.{name}{'.' if inner else ''}{inner}"
                yield parser.get_doctest(text, {}, where, "_core", 0)


def examples():
    found = {one.name: one for one in [*python_examples(), *extension_examples()]}
    return [pytest.param(one, id=name) for name, one in sorted(found.items())]


@pytest.mark.parametrize("example", examples())
def test_example(example, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)  # some write a file
    told: list[str] = []
    skipped = any(doctest.SKIP in one.options for one in example.examples)
    assert skipped == example.name.endswith(SKIPPED)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    result = runner.run(example, out=told.append)
    assert not result.failed, "".join(told)
