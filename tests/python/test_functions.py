"""The family functions, the table as Python objects, and the cost of importing gpumem."""

import copy
import inspect
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import gpumem as gm
from gpumem.families import oracle, table

RUNNABLE = [v for v in gm.variants() if v.reason_on("sim") is None]


def python(code, **environment):
    """Run code in a fresh interpreter and return what it prints."""
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout


# ---- copy ---------------------------------------------------------------------------------


def test_copy_returns_a_new_equal_array():
    a = np.arange(12.0).reshape(3, 4)
    b = gm.copy(a, backend="sim")
    assert b.tobytes() == a.tobytes() and b.shape == a.shape and b.dtype == a.dtype
    assert not np.shares_memory(a, b)


def test_copy_makes_a_strided_array_contiguous():
    a = np.arange(60, dtype=np.int16).reshape(3, 4, 5)[::2, ::-1, 1:4].transpose(2, 0, 1)
    b = gm.copy(a, backend="sim")
    assert b.flags.c_contiguous
    np.testing.assert_array_equal(b, a)


def test_copy_fills_and_returns_out():
    a, out = np.arange(7), np.full(7, -1)
    assert gm.copy(a, out=out, backend="sim") is out
    np.testing.assert_array_equal(out, a)


def test_copy_stays_on_the_device():
    d = gm.to_device(np.arange(7), backend="sim")
    e = gm.copy(d)
    assert isinstance(e, gm.DeviceArray) and e.backend == "sim"
    np.testing.assert_array_equal(e.to_host(), np.arange(7))


@pytest.mark.parametrize("max_blocks", [1, 2, np.int64(3), 2**31 - 1])
def test_copy_with_any_max_blocks(max_blocks):
    a = np.arange(5000, dtype=np.float32)
    np.testing.assert_array_equal(gm.copy(a, max_blocks=max_blocks, backend="sim"), a)


@pytest.mark.parametrize(
    ("max_blocks", "error"),
    [
        (True, TypeError),
        (False, TypeError),
        ("", TypeError),
        ("8", TypeError),
        (8.0, TypeError),
        ([8], TypeError),
        (0, ValueError),
        (-1, ValueError),
        (2**31, ValueError),
        (2**63, ValueError),
        (2**200, ValueError),
    ],
    ids=repr,
)
def test_a_bad_max_blocks_is_refused_by_name(max_blocks, error):
    with pytest.raises(error, match="max_blocks"):
        gm.copy(np.arange(4), max_blocks=max_blocks, backend="sim")


def test_unknown_keywords_are_named():
    with pytest.raises(TypeError, match="max_block"):
        gm.copy(np.arange(4), max_block=1)
    with pytest.raises(TypeError, match=r"'max_block'.*max_blocks"):
        table.parameters("copy", {"max_block": 1})


def test_parameters_are_numbers_for_the_extension_module():
    assert table.parameters("copy", {}) == (0,)
    assert table.parameters("copy", {"max_blocks": 5}) == (5,)


# ---- the table ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", gm.families())
def test_every_family_is_complete(family):
    """A row in C needs a function, its parameters, and an oracle."""
    assert callable(getattr(gm, family)) and family in gm.__all__
    assert table.FAMILIES[family].function is getattr(gm, family)
    assert isinstance(table.parameters(family, {}), tuple)
    inputs = oracle.arguments(family, next(oracle.cases(family)).shape)
    oracle.check(family, oracle.expected(family, *inputs), *inputs)


def sections(function):
    """The sections of a numpydoc docstring, by heading."""
    parts = re.split(r"\n\n(\w+)\n-+\n", inspect.cleandoc(function.__doc__))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("family", gm.families())
def test_docstrings_are_whole(family):
    """Every parameter is described, in the order of the signature, and so is every variant."""
    function = getattr(gm, family)
    found = sections(function)
    assert {"Parameters", "Returns", "Raises", "Examples"} <= set(found)
    heads = re.findall(r"^(\w[\w, ]*) : ", found["Parameters"], re.MULTILINE)
    assert ", ".join(heads).split(", ") == list(inspect.signature(function).parameters)
    errors = re.findall(r"^(\w[\w, ]*)$", found["Raises"], re.MULTILINE)
    errors = ", ".join(errors).split(", ")
    assert {"TypeError", "ValueError", "UnavailableError", "CudaError"} <= set(errors)
    assert len(errors) == len(set(errors))
    assert "References" in found
    for variant in gm.variants(family):
        assert f"\n``{variant.name}``\n    {variant.doc}\n" in found["Notes"] + "\n"


@pytest.mark.parametrize("variant", gm.variants(), ids=str)
def test_variants_say_what_they_are(variant):
    assert str(variant) == f"{variant.family}-{variant.name}"
    assert str(variant) in repr(variant) and variant.doc in repr(variant)
    assert variant.doc and "\n" not in variant.doc
    assert variant.source.startswith(f"csrc/kernels/{variant.family}/{variant.name}.")
    names = [v.name for v in gm.variants(variant.family)]
    assert variant.follows is None or variant.follows in names
    assert isinstance(variant.requires, str)
    assert variant.available == (variant.reason is None)


def test_copies_and_pickles_of_a_variant_are_the_variant():
    first, second = gm.variants("copy")[:2]
    assert first == pickle.loads(pickle.dumps(first)) == copy.deepcopy(first) != second
    assert len({first, second, pickle.loads(pickle.dumps(first))}) == 2
    assert first != str(first)


def test_changing_a_list_of_variants_changes_nothing_else():
    gm.variants("copy").clear()
    assert [v.name for v in gm.variants("copy")][:3] == ["scalar", "vec2", "vec4"]
    assert gm.variants() == [v for family in gm.families() for v in gm.variants(family)]


@pytest.mark.parametrize("family", ["cpy", "", 3, ["copy"]])
def test_an_unknown_family_is_refused_with_the_known_ones(family):
    with pytest.raises(ValueError, match="copy"):
        gm.variants(family)


@pytest.mark.parametrize("variant", RUNNABLE, ids=str)
def test_a_variant_runs_itself(variant):
    case = next(c for c in oracle.cases(variant.family) if oracle.takes(variant, c.shape, c.dtype))
    inputs = oracle.arguments(variant.family, case.shape, case.dtype, **case.parameters)
    wanted = oracle.expected(variant.family, *inputs, variant=variant.name, **case.parameters)
    inputs = tuple(oracle.placed(variant, a, "sim") for a in inputs)
    oracle.compare(variant.family, variant(*inputs, backend="sim", **case.parameters), wanted)


def test_a_variant_passes_its_keywords_on():
    with pytest.raises(ValueError, match="max_blocks"):
        gm.variants("copy")[0](np.arange(4), max_blocks=0)


def test_attributes_without_a_gpu_are_the_shipped_ones():
    vec4 = gm.variants("copy")[2]
    found = vec4.attributes(backend="sim")
    assert found["arch"] == "90a" and "shipped with gpumem, made with nvcc" in found["shipped"]
    assert found["registers"] > 0 and 0 < found["occupancy"] <= 1
    assert vec4.attributes(arch="sm_80")["arch"] == "80"
    with pytest.raises(ValueError, match="nothing is shipped for arch '70'; it is for: 80, 90a"):
        vec4.attributes(arch="70")
    (memcpy,) = [one for one in gm.variants("copy") if one.name == "memcpy"]
    with pytest.raises(gm.UnavailableError, match="copy-memcpy"):
        memcpy.attributes(backend="sim")


@pytest.mark.gpu
def test_attributes_on_a_gpu():
    found = gm.variants("copy")[0].attributes(backend="cuda")
    assert found["registers"] > 0 and 0 < found["occupancy"] <= 1


# ---- the package --------------------------------------------------------------------------


def test_all_public_names_exist():
    for name in gm.__all__:
        assert getattr(gm, name) is not None


def test_functions_are_not_hidden_by_submodules_of_the_same_name():
    code = """
import gpumem as gm, gpumem.families.table, gpumem.results, gpumem.cli
from gpumem.base.result import BenchResult
from gpumem.count.traffic import Traffic
print([type(f).__name__ for f in (gm.bench, gm.traffic, gm.families)])
"""
    assert python(code).split() == ["['function',", "'function',", "'function']"]


def test_import_loads_nothing_heavy():
    """Only gpumem's own modules, those of NumPy, and a few of the standard library."""
    code = """
import sys, numpy
import __future__, concurrent.futures.thread, dataclasses, logging, pathlib, urllib.parse
import numpy.typing  # the types in signatures exist at run time
before = set(sys.modules)
import gpumem
print(*sorted(set(sys.modules) - before))
"""
    loaded = set(python(code).split())
    assert "gpumem.families.oracle" in loaded and "gpumem.cli" not in loaded
    assert {name for name in loaded if name.partition(".")[0] != "gpumem"} == set()


def test_import_does_little(tmp_path):
    """It reads only modules, starts no program and no thread, and calls few functions.

    The calls are the measure that is the same on every machine: some 14,000 today, most of them
    of Python's own search for modules.
    """
    code = """
import json, os, sys, numpy
calls, seen = 0, []

def count(frame, event, argument):
    global calls
    calls += event == "call"

def audit(event, arguments):
    if event in ("open", "subprocess.Popen", "os.fork", "ctypes.dlopen", "socket.connect"):
        seen.append(f"{event} {arguments[0]}")

threads = len(os.listdir("/proc/self/task"))
sys.addaudithook(audit)
sys.setprofile(count)
import gpumem
sys.setprofile(None)
print(json.dumps([calls, len(os.listdir("/proc/self/task")) - threads, seen]))
"""
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    python("import gpumem", **compiled)
    calls, threads, seen = json.loads(python(code, **compiled))
    assert threads == 0 and calls < 30_000
    assert [what for what in seen if not what.endswith((".py", ".pyc", ".so"))] == []


def test_info_describes_the_backends():
    found = gm.info()
    assert found["version"] == gm.__version__
    assert found["backend"] == gm.backend()
    assert set(found["backends"]) == {"cuda", "sim"}
    cuda = found["backends"]["cuda"]
    assert cuda["available"] == (cuda["reason"] is None)
    if found["backend"] == "sim":
        assert found["reason"]
        assert all(device["bandwidth_gbps"] is None for device in found["devices"])
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("wish", ["cuda", "sim", "auto", "quantum"])
def test_info_never_raises(wish):
    code = "import gpumem as gm; i = gm.info(); print(i['backend'], '|', i['reason'])"
    backend, _, reason = python(code, GPUMEM_BACKEND=wish).strip().partition(" | ")
    if wish == "sim":
        assert (backend, reason) == ("sim", "GPUMEM_BACKEND=sim")
    if wish == "quantum":
        assert backend == "None" and "quantum" in reason


def test_peaks_follow_from_device_properties():
    from gpumem.machine import devices

    h200 = {
        "memory_clock_khz": 3201000,
        "memory_bus_bits": 6016,
        "clock_khz": 1980000,
        "fp32_lanes": 128,
        "multiprocessors": 132,
    }
    assert devices.peak_bandwidth(h200) == pytest.approx(4814, abs=1)
    assert devices.peak_fp32(h200) == pytest.approx(66.9, abs=0.05)
    assert devices.peak_bandwidth(h200 | {"memory_clock_khz": 0}) is None
    assert devices.peak_fp32(h200 | {"clock_khz": 0}) is None
