"""Floors, circles and lengths in csrc, and the script that checks them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def layers():
    specification = importlib.util.spec_from_file_location(
        "check_layers", ROOT / "tools/check_layers.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_csrc(layers):
    """No problem but the known ones, all of which are still there."""
    assert set(layers.problems(layers.sources(ROOT / "csrc"))) == layers.KNOWN


def test_the_simulator_has_no_circle_of_calls(layers):
    graph = layers.calls(layers.sources(ROOT / "csrc"))
    assert not [c for c in layers.circles(graph) if any(f.startswith("sim/") for f in c)]


def test_an_include_that_goes_up(layers):
    files = {"gpumem.h": '#include "sim/trace.h"\n', "sim/trace.h": "", "sim/trace.c": ""}
    assert layers.problems(files) == ["gpumem.h includes sim/trace.h, which is on a floor above it"]
    files = {"gpumem.h": "", "sim/trace.c": '#include "gpumem.h"\n#include "trace.h"\n'}
    assert layers.problems(files) == []


def test_kernels_include_from_their_folder(layers):
    files = {"kernels/device.h": "", "kernels/copy/copy.h": '#include "device.h"\n'}
    assert layers.includes(files)["kernels/copy/copy.h"] == {"kernels/device.h"}


def test_a_circle_of_headers(layers):
    files = {
        "sim/a.h": '#include "sim/b.h"\n',
        "sim/b.h": '#include "c.h"\n',
        "sim/c.h": '#include "sim/a.h"\n',
        "sim/d.h": '#include "sim/a.h"\n',
    }
    (problem,) = layers.problems(files)
    assert problem == "include each other in a circle: sim/a.h, sim/b.h, sim/c.h"


def test_a_circle_of_calls(layers):
    files = {
        "sim/a.c": "void gm_a(void)\n{\n    gm_b();\n}\n",
        "sim/b.c": "const int gm_c = 1;\n\nvoid gm_b(void)\n{\n    gm_a(gm_c);\n}\n",
        "sim/d.c": "static void gm_a(void)\n{\n}\n\nvoid gm_d(void)\n{\n    gm_a();\n}\n",
    }
    assert layers.problems(files) == []
    assert layers.problems(files, with_calls=True) == [
        "call each other in a circle: sim/a.c, sim/b.c"
    ]
    files["sim/b.c"] = files["sim/b.c"].replace("gm_a(gm_c);", '/* gm_a() */ puts("gm_a()");')
    assert layers.problems(files, with_calls=True) == []


@pytest.mark.parametrize("lines", [80, 81])
def test_a_long_function(layers, lines):
    body = "    work();\n" * (lines - 4)
    text = f"/* What it is for. */\nstatic int\nlong_one(int a)\n{{\n{body}}}\n"
    assert list(layers.functions(text)) == [("long_one", lines)]
    assert len(layers.problems({"sim/a.c": text})) == (lines > 80)
    kernel = "GM_KERNEL(copy_vec4, copy_args)\n{\n}\n"
    assert list(layers.functions(kernel)) == [("copy_vec4", 3)]


@pytest.mark.parametrize("lines", [500, 501])
def test_a_long_file(layers, lines):
    assert len(layers.problems({"sim/a.h": "\n" * lines})) == (lines > 500)
