"""What the tests of the build share."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "csrc" / "build.py"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


build = load("gpumem_build_tested", SOURCE)


build_cache = sys.modules["build_cache"]


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path
