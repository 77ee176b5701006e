"""Builds the extension module with csrc/build.py; everything else is in pyproject.toml."""

import importlib.util
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

ROOT = Path(__file__).resolve().parent


def load_builder():
    spec = importlib.util.spec_from_file_location("gpumem_build", ROOT / "csrc" / "build.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class BuildCore(build_ext):
    """Builds gpumem._core with a cache in build/cache, which pip does not delete."""

    def build_extension(self, ext):
        build = load_builder()
        work = ROOT / "build" / "cache"
        if not os.access(ROOT, os.W_OK):
            work = Path(self.build_temp).absolute()
        try:
            build.build_module(
                ROOT / "csrc" / "kernels", self.get_ext_fullpath(ext.name), work, cuda=True
            )
        except build.BuildError as error:
            raise CompileError(str(error)) from error


setup(
    ext_modules=[Extension("gpumem._core", sources=[])],
    cmdclass={"build_ext": BuildCore},
)
