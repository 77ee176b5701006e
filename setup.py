"""Builds the extension module with csrc/build.py; everything else is in pyproject.toml."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent
CSRC = ROOT / "csrc"


def load(name):
    """Load a module of csrc; `import build` may find others."""
    spec = importlib.util.spec_from_file_location(f"gpumem_{name}", CSRC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class BuildPackage(build_py):
    """Also copies what users' kernels are compiled with to gpumem/csrc.

    An editable install compiles them with csrc itself.
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib, "gpumem", "csrc"), ignore_errors=True)
            for source, copy in self.sources():
                self.mkpath(str(copy.parent))
                self.copy_file(str(source), str(copy))

    def get_outputs(self, include_bytecode=True):
        copies = [] if self.editable_mode else [str(copy) for _, copy in self.sources()]
        return [*super().get_outputs(include_bytecode), *copies]

    def sources(self):
        names = load("build_module_sources").module_sources(CSRC)
        return [(CSRC / name, Path(self.build_lib, "gpumem", "csrc", name)) for name in names]


class BuildCore(build_ext):
    """Builds gpumem._core with a cache in build/cache, which pip does not delete."""

    def build_extension(self, ext):
        build = load("build")
        work = ROOT / "build" / "cache"
        if not os.access(ROOT, os.W_OK):
            work = Path(self.build_temp).absolute()
        try:
            build.build_module(CSRC / "kernels", self.get_ext_fullpath(ext.name), work, cuda=True)
        except build.BuildError as error:
            raise CompileError(str(error)) from error


setup(
    ext_modules=[Extension("gpumem._core", sources=[])],
    cmdclass={"build_ext": BuildCore, "build_py": BuildPackage},
)
