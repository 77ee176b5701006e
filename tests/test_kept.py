"""Choices of variants that are kept by layout: layouts that differ in one thing only."""

import itertools
import os
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from processes import at_once

import gpumem as gm
from gpumem import _core
from gpumem.families import table

ROOT = Path(__file__).resolve().parent.parent
SLOTS = 32  # of kept choices, as in csrc/call/kept.c


def there(shape, dtype="f4", offset=0, backend="sim"):
    """A device array whose address is so many bytes past a multiple of 256."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = gm.to_device(np.arange(size + 256, dtype=np.uint8), backend=backend)
    assert memory.pointer % 256 == 0
    return memory[offset : offset + size].view(dtype).reshape(shape)


def permutation(a, axes, out=None, variant="auto"):
    if out is None:
        out = there([a.shape[axis] for axis in axes], a.dtype, backend=a.backend)
    return "permute", variant, (a,), out, table.FAMILIES["permute"].parameters(axes)


def of_one(family, a):
    """A copy or a transpose."""
    shape = a.shape[::-1] if family == "transpose" else a.shape
    out = there(shape, a.dtype, backend=a.backend)
    return family, "auto", (a,), out, table.FAMILIES[family].parameters()


def product(a, b, precision=0):
    out = gm.matmul(a, b)
    return "matmul", "auto", (a, b), out, (precision,)


def chosen(call):
    """The name of the variant that such a call runs."""
    family, variant, inputs, out, parameters = call
    return _core.prepare(family, variant, inputs, out, None, parameters).variant


def newly(calls):
    """The same of several calls, each in a thread of its own, which keeps nothing yet."""
    names = []
    for call in calls:
        thread = threading.Thread(target=lambda call=call: names.append(chosen(call)))
        thread.start()
        thread.join()
    assert len(names) == len(calls)
    return names


def check(calls):
    """Kept or not, in any order, the choice for each call is that for the call alone."""
    alone = newly(calls)
    for turn in range(3):
        assert [chosen(call) for call in calls] == alone, turn
        assert [chosen(call) for call in calls[::-1]] == alone[::-1], turn
    return alone


def pairs(backend):
    """Calls that differ in one thing, and get different variants for it."""
    image = there((4096, 3), "u1", backend=backend)
    square = there((4, 512, 512), "u1", backend=backend)
    cube, wide = there((64, 64, 64), backend=backend), there((64, 64, 128), backend=backend)
    yield "axes", [permutation(cube, axes) for axes in [(0, 1, 2), (0, 2, 1), (1, 0, 2)]]
    yield "extents", [permutation(there(n), (0, 2, 1)) for n in [(1, 64, 64), (64, 64, 64)]]
    yield "strides", [permutation(a, (0, 2, 1)) for a in (wide[..., :64], wide[..., ::2])]
    yield "itemsize", [permutation(there((4096, 3), dtype), (1, 0)) for dtype in ("u1", "f4")]
    yield "input", [permutation(there((4096, 3), "u1", k), (1, 0)) for k in (0, 1, 4)]
    yield "result", [permutation(image, (1, 0), there((3, 4096), "u1", k)) for k in (0, 2, 16)]
    out = there((4, 512, 516), "u1")[..., :512]
    yield "gaps", [permutation(square, (0, 2, 1)), permutation(square, (0, 2, 1), out)]
    yield "asked", [permutation(cube, (0, 2, 1), variant=v) for v in ("auto", "runs", "tiles")]
    yield "dimensions", [permutation(there(n), (1, 0)) for n in [(1, 4096), (64, 64)]]
    sides = [(30, 1000), (1000, 30), (256, 256)]
    yield "sides", [of_one("transpose", there(n, "u1", backend=backend)) for n in sides]
    yield "rows", [of_one("transpose", there((256, 256), "u1", k)) for k in (0, 1)]
    yield "copied", [of_one("copy", a) for a in (wide[..., :64], cube)]
    yield "aligned", [of_one("copy", there(5000, "u1", k)) for k in (0, 5, 16)]
    ones = [gm.to_device(np.ones(n, "f4")) for n in [(96, 600), (600, 96), (600,), (96, 96)]]
    yield "factors", [product(ones[0], b) for b in ones[1:3]] + [product(ones[1], ones[3])]


@pytest.fixture(autouse=True)
def on(monkeypatch, backend):
    monkeypatch.setenv("GPUMEM_BACKEND", backend)


@pytest.mark.parametrize("backend", ["sim"])
def test_whatever_differs_counts(backend):
    for what, calls in pairs(backend):
        assert len(set(check(calls))) > 1, what


def test_all_orders_of_many_layouts(backend):
    """More layouts than are kept; none gets what was chosen for another."""
    calls = []
    for shape, dtype in itertools.product([(16, 3, 64), (33, 35, 7)], ["u1", "i2", "f4", "c16"]):
        for offset in (0, 4):
            a = there(shape, dtype, offset, backend)
            calls += [permutation(a, axes) for axes in itertools.permutations(range(3))]
    assert len(calls) > 2 * SLOTS
    check(calls)


def test_results_of_layouts_in_turn(backend, rng):
    """The same layout at other addresses: arguments are planned for each call."""
    arrays = [rng.random((4, 20, 36), np.float32) for _ in range(6)]
    on_device = [gm.to_device(a, backend=backend) for a in arrays]
    for _ in range(2):
        for axes in itertools.permutations(range(3)):
            for a, d in zip(arrays, on_device, strict=True):
                assert np.array_equal(gm.permute(d, axes).to_host(), np.transpose(a, axes))
        for a, d in zip(arrays, on_device, strict=True):
            both = gm.matmul(d, d.transpose((0, 2, 1))).to_host()
            np.testing.assert_allclose(both, a @ a.transpose(0, 2, 1), rtol=1e-5)


def test_a_kept_choice_is_not_for_a_variant_that_refuses(backend):
    a = there((64, 64, 64), backend=backend)
    gm.permute(a, (0, 2, 1))
    for _ in range(2):
        with pytest.raises(ValueError, match="variant contiguous takes what stays where it is"):
            gm.permute(a, (0, 2, 1), variant="contiguous")
        with pytest.raises(ValueError, match=r"axes\[1\] is 0, which axes has twice"):
            gm.permute(a, (0, 0, 1))


def test_more_dimensions_than_are_kept(backend, rng):
    a = rng.random((2,) * 14 + (1,) * 20, np.float32)
    axes = tuple(rng.permutation(a.ndim).tolist())
    there = gm.to_device(a, backend=backend)
    for _ in range(2):
        assert np.array_equal(gm.permute(there, axes).to_host(), np.transpose(a, axes))


def test_each_thread_keeps_its_own(backend):
    arrays = [np.random.default_rng(n).random((8, 3 + n, 40), np.float32) for n in range(4)]
    orders = list(itertools.permutations(range(3)))

    def work(number):
        random = np.random.default_rng(number)
        on_device = [gm.to_device(a, backend=backend) for a in arrays]
        for _ in range(60):
            n, axes = random.integers(len(arrays)), orders[random.integers(len(orders))]
            got = gm.permute(on_device[n], axes).to_host()
            if not np.array_equal(got, np.transpose(arrays[n], axes)):
                return n, axes
        return "right"

    assert at_once(4, work) == ["right"] * 4


def test_no_thread_finds_what_another_keeps(tmp_path):
    program = tmp_path / "kept"
    command = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-pthread", "-I", ROOT / "csrc"]
    sources = [ROOT / "tests/threads/kept.c", ROOT / "csrc/call/kept.c", ROOT / "csrc/per_thread.c"]
    subprocess.run([*command, "-o", program, *sources], check=True)
    assert subprocess.run([program]).returncode == 0
