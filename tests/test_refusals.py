"""Refused calls: their messages, unchanged arguments, and no leaked references or memory."""

import os
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core

SWAPPED = "<" if sys.byteorder == "big" else ">"
SWAPPED_FIELD = np.dtype([("a", "i2"), ("b", [("c", f"{SWAPPED}i4")])])
OBJECT_FIELD = np.dtype([("a", "i4"), ("b", "O")])
LARGE = 2**16  # array size in bytes, so that leaking one array per refusal is noticed
HUGE = 2**62  # bytes, more than any machine has
NAMES = [v.name for v in gm.variants("copy")]
KNOWN = ".*".join(NAMES)


class Refusal(NamedTuple):
    """A call, the exception that it raises, and a pattern of its message."""

    error: type
    words: str
    arguments: object  # callable: backend name -> (function, positional, keywords)


def other(backend):
    return "cuda" if backend == "sim" else "sim"


def floats(count=LARGE // 4):
    return np.arange(count, dtype="f4")


def device(backend, count=LARGE // 4):
    return gm.to_device(floats(count), backend=backend)


def read_only(a):
    a.flags.writeable = False
    return a


def on_host(a, **keywords):
    return lambda backend: (gm.copy, (a(),), {"backend": backend} | keywords)


def with_out(make):
    """A host call; one function makes both `a` and `out`."""

    def arguments(backend):
        a, out = make()
        return gm.copy, (a,), {"out": out, "backend": backend}

    return arguments


def with_device_out(make):
    def arguments(backend):
        a, out = make(backend)
        return gm.copy, (a,), {"out": out}

    return arguments


def with_keyword(name, value):
    """One invalid keyword argument, for host and for device arrays; see KEYWORDS below."""
    return {
        "host": lambda backend: (gm.copy, (floats(),), {"backend": backend} | {name: value}),
        "device": lambda backend: (gm.copy, (device(backend),), {name: value}),
    }


def shared(make):
    """`a` and `out` are views of one buffer."""

    def arguments():
        return make(np.arange(LARGE // 2, dtype="f4"))

    return with_out(arguments)


def shared_on_device(make):
    return with_device_out(lambda backend: make(device(backend, LARGE // 2)))


N = LARGE // 4
PLAIN = "plain bytes"
ACCEPTED = r"a must be array-like \(what numpy\.asarray takes\) or a gpumem\.DeviceArray.*this "
OBJECTS = ACCEPTED + r"\w+ numpy\.asarray makes an array of Python objects"

REFUSALS = {
    # ---- inputs
    "object": Refusal(
        TypeError, rf"\ba has dtype.*'O'.*{PLAIN}", on_host(lambda: np.array([None] * 9))
    ),
    "object-field": Refusal(
        TypeError, rf"\ba has dtype.*'O'.*{PLAIN}", on_host(lambda: np.zeros(9, OBJECT_FIELD))
    ),
    "text-of-any-length": Refusal(
        TypeError,
        rf"\ba has dtype StringDType.*{PLAIN}",
        on_host(lambda: np.array(["a", "b" * 99], np.dtypes.StringDType())),
    ),
    "swapped": Refusal(
        TypeError,
        r"\ba has dtype.*swapped.*native",
        on_host(lambda: floats().astype(f"{SWAPPED}f4")),
    ),
    "swapped-field": Refusal(
        TypeError, r"\ba has dtype.*swapped.*native", on_host(lambda: np.zeros(9, SWAPPED_FIELD))
    ),
    "ragged": Refusal(
        ValueError, ACCEPTED + "list: .*inhomogeneous", on_host(lambda: [[1], [2, 3]])
    ),
    "none": Refusal(TypeError, OBJECTS, on_host(lambda: None)),
    "dict": Refusal(TypeError, OBJECTS, on_host(lambda: {1: 2})),
    "class": Refusal(TypeError, OBJECTS, on_host(lambda: np.ndarray)),
    "list-of-arrays-on-the-device": Refusal(
        TypeError,
        ACCEPTED + "list: .*to_host",
        lambda b: (gm.copy, ([device(b)],), {"backend": b}),
    ),
    # ---- out
    "out-dtype": Refusal(
        TypeError, "out has dtype.*float64.*float32", with_out(lambda: (floats(), np.zeros(N)))
    ),
    "out-dtype-of-same-size": Refusal(
        TypeError, "out has dtype.*int32.*float32", with_out(lambda: (floats(), np.zeros(N, "i4")))
    ),
    "out-dtype-with-other-fields": Refusal(
        TypeError,
        "out has dtype",
        with_out(lambda: (np.zeros(9, [("a", "i4")]), np.zeros(9, [("b", "i4")]))),
    ),
    "out-swapped": Refusal(
        TypeError,
        "out has dtype",
        with_out(lambda: (floats(), np.zeros(N, f"{SWAPPED}f4"))),
    ),
    "out-short": Refusal(
        ValueError,
        rf"out has shape \({N - 1},\), expected \({N},\)",
        with_out(lambda: (floats(), np.zeros(N - 1, "f4"))),
    ),
    "out-long": Refusal(
        ValueError,
        rf"out has shape \({N + 1},\), expected \({N},\)",
        with_out(lambda: (floats(), np.zeros(N + 1, "f4"))),
    ),
    "out-one-more-dimension": Refusal(
        ValueError,
        rf"out has shape \({N}, 1\), expected \({N},\)",
        with_out(lambda: (floats(), np.zeros((N, 1), "f4"))),
    ),
    "out-transposed": Refusal(
        ValueError,
        r"out has shape \(3, 2\), expected \(2, 3\)",
        with_out(lambda: (np.zeros((2, 3)), np.zeros((3, 2)))),
    ),
    "out-read-only": Refusal(
        ValueError, "out.*read-only", with_out(lambda: (floats(), read_only(np.zeros(N, "f4"))))
    ),
    "out-list": Refusal(
        TypeError, "out must be a NumPy array.*not list", with_out(lambda: (floats(), [0.0]))
    ),
    "out-bytearray": Refusal(
        TypeError,
        "out must be a NumPy array.*not bytearray",
        with_out(lambda: (floats(), bytearray(LARGE))),
    ),
    "out-device-for-host": Refusal(
        TypeError,
        "out must be a NumPy array.*host.*not gpumem.DeviceArray",
        lambda backend: (gm.copy, (floats(),), {"out": device(backend), "backend": backend}),
    ),
    # ---- overlap on the host
    "out-is-a": Refusal(ValueError, "out overlaps a", shared(lambda b: (b[:N], b[:N]))),
    "out-one-further": Refusal(ValueError, "out overlaps a", shared(lambda b: (b[:N], b[1:][:N]))),
    "out-one-before": Refusal(ValueError, "out overlaps a", shared(lambda b: (b[1:][:N], b[:N]))),
    "out-last-element": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (b[:N], b[N - 1 :][:N]))
    ),
    "out-backwards": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (b[:N], b[N - 1 :: -1]))
    ),
    "out-backwards-into-a": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (b[:8], b[12:4:-1]))
    ),
    "out-meets-a-backwards": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (b[12:4:-1], b[:8]))
    ),
    "out-interleaved-and-meeting": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (b[0:4000:2], b[100:6100:3]))
    ),
    "out-same-bytes-of-another-view": Refusal(
        ValueError,
        "out overlaps a",
        shared(lambda b: (b[:8].reshape(2, 4).T, b[4:12].reshape(4, 2))),
    ),
    "out-inside-of-broadcast": Refusal(
        ValueError, "out overlaps a", shared(lambda b: (np.broadcast_to(b[3:4], 8), b[:8]))
    ),
    # ---- arrays on the device
    "device-out-on-host": Refusal(
        TypeError,
        "out must be a gpumem.DeviceArray.*not numpy.ndarray",
        with_device_out(lambda backend: (device(backend), np.zeros(N, "f4"))),
    ),
    "device-out-dtype": Refusal(
        TypeError,
        "out has dtype.*int32.*float32",
        with_device_out(
            lambda backend: (device(backend), gm.DeviceArray(N, "i4", backend=backend))
        ),
    ),
    "device-out-shape": Refusal(
        ValueError,
        r"out has shape \(7,\), expected",
        with_device_out(lambda backend: (device(backend), gm.DeviceArray(7, backend=backend))),
    ),
    "device-out-strided-and-short": Refusal(
        ValueError,
        r"out has shape \(5462,\), expected \(16384,\)",
        with_device_out(lambda backend: (device(backend), device(backend)[::3])),
    ),
    "device-a-misaligned": Refusal(
        ValueError,
        r"variant vec4 needs a aligned to 16 bytes.*4 past.*auto",
        lambda b: (gm.copy, (device(b)[1:],), {"variant": "vec4"}),
    ),
    "device-out-misaligned": Refusal(
        ValueError,
        r"variant vec4 needs out aligned to 16 bytes.*4 past.*auto",
        lambda b: (gm.copy, (device(b, N - 1),), {"out": device(b)[1:], "variant": "vec4"}),
    ),
    "device-a-strided": Refusal(
        ValueError,
        r"variant vec2 needs a C-contiguous.*auto",
        lambda b: (gm.copy, (device(b)[::2],), {"variant": "vec2"}),
    ),
    "device-out-is-a": Refusal(ValueError, "out overlaps a", shared_on_device(lambda b: (b, b))),
    "device-out-one-further": Refusal(
        ValueError, "out overlaps a", shared_on_device(lambda b: (b[:N], b[1:][:N]))
    ),
    "device-out-inside": Refusal(
        ValueError, "out overlaps a", shared_on_device(lambda b: (b[0:64:8], b[16:24]))
    ),
    "device-a-is-host-object": Refusal(
        TypeError, "already a gpumem.DeviceArray.*copy", lambda b: (gm.to_device, (device(b),), {})
    ),
    # ---- sizes beyond the limits
    "shape-of-128-bits": Refusal(
        ValueError, "shape.*large", lambda b: (gm.DeviceArray, ((2**40, 2**40),), {"backend": b})
    ),
    "shape-of-64-bits": Refusal(
        ValueError, "dimension", lambda b: (gm.DeviceArray, ((2**63,),), {"backend": b})
    ),
    "shape-of-63-bits-of-floats": Refusal(
        ValueError, "shape.*large", lambda b: (gm.DeviceArray, (2**62,), {"backend": b})
    ),
    "shape-of-70-bits": Refusal(
        ValueError, "dimension", lambda b: (gm.DeviceArray, (2**70,), {"backend": b})
    ),
    "shape-negative": Refusal(
        ValueError, "shape.*negative.*-3", lambda b: (gm.DeviceArray, ((2, -3),), {"backend": b})
    ),
    "shape-negative-int": Refusal(
        ValueError, "shape.*negative.*-1", lambda b: (gm.DeviceArray, (-1,), {"backend": b})
    ),
    "shape-of-65-dimensions": Refusal(
        ValueError, "64", lambda b: (gm.DeviceArray, ((1,) * 65,), {"backend": b})
    ),
    "shape-float": Refusal(
        TypeError, "integer", lambda b: (gm.DeviceArray, (3.0,), {"backend": b})
    ),
    "shape-none": Refusal(TypeError, "shape", lambda b: (gm.DeviceArray, (None,), {"backend": b})),
    "shape-str": Refusal(TypeError, "str", lambda b: (gm.DeviceArray, ("ab",), {"backend": b})),
    "memory": Refusal(
        MemoryError,
        rf"asked for {HUGE} bytes.*\d+ .*free",
        lambda b: (gm.DeviceArray, (HUGE, "u1"), {"backend": b}),
    ),
    "memory-next-to-the-limit": Refusal(
        MemoryError,
        rf"asked for {2**63 - 1} bytes.*\d+ .*free",
        lambda b: (gm.DeviceArray, (2**63 - 1, "u1"), {"backend": b}),
    ),
    "memory-of-a-broadcast": Refusal(
        MemoryError, "(?i)alloc", on_host(lambda: np.broadcast_to(np.uint8(1), HUGE))
    ),
    "memory-of-a-broadcast-to-device": Refusal(
        MemoryError,
        "(?i)alloc",
        lambda b: (gm.to_device, (np.broadcast_to(np.uint8(1), HUGE),), {"backend": b}),
    ),
    # ---- dtypes of new device arrays
    "new-object": Refusal(
        TypeError, f"dtype.*'O'.*{PLAIN}", lambda b: (gm.DeviceArray, (3, "O"), {"backend": b})
    ),
    "new-swapped": Refusal(
        TypeError, "swapped", lambda b: (gm.DeviceArray, (3, f"{SWAPPED}f4"), {"backend": b})
    ),
    "new-swapped-field": Refusal(
        TypeError, "swapped", lambda b: (gm.DeviceArray, (3, SWAPPED_FIELD), {"backend": b})
    ),
    "new-no-dtype": Refusal(
        TypeError, "nonsense", lambda b: (gm.DeviceArray, (3, "nonsense"), {"backend": b})
    ),
    "to-device-object": Refusal(
        TypeError,
        rf"\ba has dtype.*'O'.*{PLAIN}",
        lambda b: (gm.to_device, (np.array([None]),), {"backend": b}),
    ),
    "to-device-swapped": Refusal(
        TypeError,
        r"\ba has dtype.*swapped",
        lambda b: (gm.to_device, (floats().astype(f"{SWAPPED}f4"),), {"backend": b}),
    ),
    # ---- the C module, called directly
    "core-family": Refusal(
        ValueError,
        "family is 'nope', known are: .*copy",
        lambda b: (_core.call, ("nope", "auto", (floats(),), None, None, b, (0,)), {}),
    ),
    "core-family-int": Refusal(
        ValueError,
        "family is 3.*copy",
        lambda b: (_core.call, (3, "auto", (floats(),), None, None, b, (0,)), {}),
    ),
    "core-count": Refusal(
        TypeError, "call takes 7 or 8", lambda b: (_core.call, ("copy", "auto"), {})
    ),
    "core-inputs": Refusal(
        TypeError,
        "copy takes 1 array",
        lambda b: (_core.call, ("copy", "auto", (), None, None, b, (0,)), {}),
    ),
    "core-inputs-list": Refusal(
        TypeError,
        "copy takes 1 array",
        lambda b: (_core.call, ("copy", "auto", [floats()], None, None, b, (0,)), {}),
    ),
    "core-parameters": Refusal(
        TypeError,
        "copy takes 1 parameter",
        lambda b: (_core.call, ("copy", "auto", (floats(),), None, None, b, ()), {}),
    ),
    "core-parameter-bool": Refusal(
        TypeError,
        "max_blocks must be an int, not bool",
        lambda b: (_core.call, ("copy", "auto", (floats(),), None, None, b, (True,)), {}),
    ),
    "core-parameter-float": Refusal(
        TypeError,
        "max_blocks must be an int, not float",
        lambda b: (_core.call, ("copy", "auto", (floats(),), None, None, b, (1.0,)), {}),
    ),
    "core-parameter-range": Refusal(
        ValueError,
        f"max_blocks is {2**31}",
        lambda b: (_core.call, ("copy", "auto", (floats(),), None, None, b, (2**31,)), {}),
    ),
    "core-parameter-beyond-64-bits": Refusal(
        ValueError,
        f"max_blocks is -{2**70}",
        lambda b: (_core.call, ("copy", "auto", (floats(),), None, None, b, (-(2**70),)), {}),
    ),
    "prepare-host": Refusal(
        TypeError,
        "DeviceArray",
        lambda b: (_core.prepare, ("copy", "auto", (floats(),), device(b), None, (0,)), {}),
    ),
    "prepare-without-out": Refusal(
        TypeError,
        "DeviceArray",
        lambda b: (_core.prepare, ("copy", "auto", (device(b),), None, None, (0,)), {}),
    ),
    "prepare-misaligned": Refusal(
        ValueError,
        "variant vec4",
        lambda b: (
            _core.prepare,
            ("copy", "vec4", (device(b)[1:],), gm.DeviceArray(N - 1, backend=b), None, (0,)),
            {},
        ),
    ),
    "launch-all-of-others": Refusal(
        TypeError, "Prepared", lambda b: (_core.launch_all, ([device(b)], 3), {})
    ),
    "traffic-object": Refusal(
        TypeError,
        r"\ba has",
        lambda b: (_core.traffic, ("copy", "auto", (np.array([None]),), (0,)), {}),
    ),
}

KEYWORDS = {
    "variant-unknown": (ValueError, f"variant is 'vec3'.*auto.*{KNOWN}", "variant", "vec3"),
    "variant-empty": (ValueError, f"variant is ''.*auto.*{KNOWN}", "variant", ""),
    "variant-case": (ValueError, f"'VEC4'.*{KNOWN}", "variant", "VEC4"),
    "variant-nul": (ValueError, "variant", "variant", "vec4\0"),
    "variant-surrogate": (ValueError, "surrogate", "variant", "\ud800"),
    "variant-none": (TypeError, "variant must be a str, not NoneType", "variant", None),
    "variant-int": (TypeError, "variant must be a str, not int", "variant", 3),
    "variant-bool": (TypeError, "variant must be a str, not bool", "variant", True),
    "variant-bytes": (TypeError, "variant must be a str, not bytes", "variant", b"vec4"),
    "backend-unknown": (ValueError, "backend is .*tpu.*auto.*cuda.*sim", "backend", "tpu"),
    "backend-case": (ValueError, "backend is .*SIM.*auto.*cuda.*sim", "backend", "SIM"),
    "backend-nul": (ValueError, "backend", "backend", "sim\0"),
    "backend-surrogate": (ValueError, "surrogate", "backend", "\ud800"),
    "backend-int": (TypeError, "backend must be a str.*not int", "backend", 0),
    "backend-bool": (TypeError, "backend must be a str.*not bool", "backend", True),
    "backend-float": (TypeError, "backend must be a str.*not float", "backend", 1.5),
    "stream-negative": (ValueError, "stream is -1, which is not a cudaStream_t", "stream", -1),
    "stream-65-bits": (ValueError, f"stream is {2**64}, which is no", "stream", 2**64),
    "stream-class": (TypeError, "stream must be a gpumem.Stream.*not type", "stream", gm.Stream),
    "stream-bool": (TypeError, "stream must be a gpumem.Stream.*not bool", "stream", False),
    "stream-float": (TypeError, "stream must be a gpumem.Stream.*not float", "stream", 1.5),
    "stream-str": (TypeError, "stream must be a gpumem.Stream.*not str", "stream", "default"),
    "max_blocks-bool": (TypeError, "max_blocks must be.*not.*bool", "max_blocks", True),
    "max_blocks-float": (TypeError, "max_blocks must be.*not float", "max_blocks", 2.0),
    "max_blocks-str": (TypeError, "max_blocks must be.*not str", "max_blocks", "2"),
    "max_blocks-zero": (ValueError, "max_blocks.*0", "max_blocks", 0),
    "max_blocks-negative": (ValueError, "max_blocks.*-1", "max_blocks", -1),
    "max_blocks-32-bits": (ValueError, f"max_blocks.*{2**31}", "max_blocks", 2**31),
    "max_blocks-70-bits": (ValueError, f"max_blocks.*{2**70}", "max_blocks", 2**70),
    "out-int": (TypeError, "out must be a.*not int", "out", 3),
    "unknown": (TypeError, "max_block", "max_block", 3),
}
for _name, (_error, _words, _keyword, _value) in KEYWORDS.items():
    for _place, _arguments in with_keyword(_keyword, _value).items():
        REFUSALS[f"{_name}-{_place}"] = Refusal(_error, _words, _arguments)


def arrays_of(positional, keywords):
    """The arrays of a call, out last: a refusal must not change them."""
    values = [*positional, *keywords.values()]
    for value in list(values):
        if isinstance(value, (tuple, list)):
            values += value
    return [v for v in values if isinstance(v, (np.ndarray, gm.DeviceArray))]


def contents(value):
    if isinstance(value, gm.DeviceArray):
        value = value.to_host()
    if value.dtype.hasobject or value.nbytes > 2**30:
        return None
    return value.tobytes()


def refused(refusal, function, positional, keywords):
    """Whether the call is refused; keeps no reference to the exception."""
    try:
        function(*positional, **keywords)
    except refusal.error:
        return True
    return False


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name, backend):
    refusal = REFUSALS[name]
    function, positional, keywords = refusal.arguments(backend)
    before = [contents(value) for value in arrays_of(positional, keywords)]
    with pytest.raises(refusal.error, match=refusal.words) as caught:
        function(*positional, **keywords)
    assert not isinstance(caught.value, SystemError)
    assert [contents(value) for value in arrays_of(positional, keywords)] == before


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_keep_no_references(name, backend):
    refusal = REFUSALS[name]
    function, positional, keywords = refusal.arguments(backend)
    values = arrays_of(positional, keywords)
    values += [value.dtype for value in values]
    for _ in range(3):
        assert refused(refusal, function, positional, keywords)
    before = [sys.getrefcount(value) for value in values]
    for _ in range(50):
        refused(refusal, function, positional, keywords)
    after = [sys.getrefcount(value) for value in values]  # fewer: others' garbage
    assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_leave_no_objects(name, backend):
    refusal = REFUSALS[name]
    function, positional, keywords = refusal.arguments(backend)
    assert refused(refusal, function, positional, keywords)
    limit = 200 * 16  # every object takes more than 16 bytes
    grown = []
    tracemalloc.start()
    try:
        # Caches grow more slowly each time, and without a GIL memory is freed late.
        while len(grown) < 4 or (min(grown) >= limit and len(grown) < 40):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(200):
                refused(refusal, function, positional, keywords)
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(grown) < limit, grown


def mapped():
    """Address space of this process in bytes, including allocated but untouched memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("place", ["host", "device", "other"])
def test_refusals_do_not_leak_memory(place):
    """2000 calls of each kind; leaking one array per call would take 128 MB."""
    chosen = {
        "host": [n for n in REFUSALS if n.startswith(("out", "swapped", "object"))],
        "device": [n for n in REFUSALS if n.endswith("-device") or n.startswith("device")],
        "other": [n for n in REFUSALS if n.startswith(("core", "memory", "prepare", "to-device"))],
    }[place]
    assert len(chosen) > 10
    for name in chosen:
        refusal = REFUSALS[name]
        call = refusal.arguments("sim")
        for _ in range(20):
            refused(refusal, *call)
        before = mapped()
        for _ in range(2000 if not name.startswith("memory") else 200):
            refused(refusal, *call)
        assert mapped() - before < 2**25, name


ALIGNED = [v for v in gm.variants("copy") if v.alignment and v.reason_on("sim") is None]


@pytest.mark.parametrize("variant", ALIGNED, ids=str)
def test_misaligned_calls_leak_nothing(variant):
    a, out = (gm.DeviceArray(LARGE, "u1", backend="sim") for _ in range(2))
    view, short = a[1:], out[:-1]
    calls = (lambda: variant(view), lambda: variant(short, out=view))
    before, counts = mapped(), [sys.getrefcount(d) for d in (a, out, view, short)]
    for _ in range(1000):
        for call in calls:
            with pytest.raises(ValueError, match=variant.name):
                call()
    assert [sys.getrefcount(d) for d in (a, out, view, short)] == counts
    assert mapped() - before < 2**25


# ---- views of one buffer that do not overlap ---------------------------------------------------

DISJOINT = {
    "interleaved": lambda b: (b[0:64:2], b[1:64:2]),
    "interleaved-backwards": lambda b: (b[0:64:2], b[63:0:-2]),
    "rows": lambda b: (b[:64].reshape(8, 8)[::2], b[:64].reshape(8, 8)[1::2]),
    "columns": lambda b: (b[:64].reshape(8, 8)[:, :4], b[:64].reshape(8, 8)[:, 4:]),
    "between-rows": lambda b: (b[:24].reshape(3, 8)[::2, :4], b[8:16].reshape(2, 4)),
    "neighbours": lambda b: (b[:32], b[32:64]),
    "neighbours-before": lambda b: (b[32:64], b[:32]),
    "empty-and-the-same": lambda b: (b[3:3], b[3:3]),
    "empty-inside": lambda b: (b[:64].reshape(8, 8)[:, 4:4], b[:64].reshape(8, 8)[:, 2:2]),
}


@pytest.mark.parametrize("name", DISJOINT)
def test_views_that_share_no_byte_are_accepted(name, backend):
    buffer = np.arange(64, dtype="f4")
    a, out = DISJOINT[name](buffer)
    wanted, whole = a.copy(), buffer.copy()
    assert gm.copy(a, out=out, backend=backend) is out
    np.testing.assert_array_equal(out, wanted)
    DISJOINT[name](whole)[1][...] = wanted
    np.testing.assert_array_equal(buffer, whole)


@pytest.mark.parametrize("name", ["between-rows", "neighbours", "neighbours-before"])
def test_device_views_that_share_no_byte_are_accepted(name, backend):
    there = device(backend, 64)
    whole = there.to_host()
    a, out = DISJOINT[name](there)
    assert gm.copy(a, out=out) is out
    DISJOINT[name](whole)[1][...] = DISJOINT[name](whole)[0].copy()
    np.testing.assert_array_equal(there.to_host(), whole)


def test_fields_of_one_structure_do_not_overlap(backend):
    buffer = np.zeros(9, [("x", "f4"), ("y", "f4")])
    buffer["x"] = np.arange(9)
    gm.copy(buffer["x"], out=buffer["y"], backend=backend)
    assert buffer["y"].tolist() == buffer["x"].tolist() == list(range(9))


def test_overlap_is_found_through_other_objects(backend):
    store = bytearray(b"abcdefgh")
    out = np.frombuffer(store, "u1")
    for a in (store, memoryview(store)[1:5]):
        with pytest.raises(ValueError, match="out overlaps a"):
            gm.copy(a, out=out[: len(a)], backend=backend)
    assert store == b"abcdefgh"


# ---- backends ---------------------------------------------------------------------------------


def test_an_unavailable_backend_gives_its_reason():
    reason = _core.backend_info("cuda")["reason"]
    if reason is None:
        pytest.skip("there is a GPU")
    for call in (
        lambda: gm.copy(floats(), backend="cuda"),
        lambda: gm.copy(device("sim"), backend="cuda"),
        lambda: gm.to_device(floats(), backend="cuda"),
        lambda: gm.DeviceArray(3, backend="cuda"),
        lambda: gm.Stream(backend="cuda"),
        lambda: gm.synchronize("cuda"),
        lambda: gm.backend("cuda"),
        lambda: _core.available("copy", "vec4", "cuda"),
    ):
        with pytest.raises(gm.UnavailableError) as caught:
            call()
        assert str(caught.value) == reason and len(reason) > 10


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["sim", "cuda"])
def test_arrays_of_two_backends_do_not_mix(backend):
    here, there = device(backend), device(other(backend))
    words = rf'"{backend}".*"{other(backend)}"'
    for call in (
        lambda: gm.copy(here, backend=other(backend)),
        lambda: gm.copy(there, out=here),
        lambda: _core.prepare("copy", "auto", (there,), here, None, (0,)),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    stream = gm.Stream(backend=backend)
    for call in (
        lambda: gm.copy(there, stream=stream),
        lambda: gm.copy(floats(), stream=stream, backend=other(backend)),
        lambda: there.to_host(stream=stream),
        lambda: there.fill_bytes(1, stream=stream),
        lambda: gm.to_device(floats(), stream=stream, backend=other(backend)),
    ):
        with pytest.raises(ValueError, match=f"stream.*{words}"):
            call()


def test_backend_keyword_of_a_device_array(backend):
    there = device(backend)
    assert gm.copy(there, backend=backend).backend == backend
    np.testing.assert_array_equal(gm.copy(there, backend=backend).to_host(), floats())


def test_more_memory_than_the_device_has(backend):
    total = _core.backend_info(backend)["devices"][0]["memory_bytes"]
    assert total > 0
    asked = 2 * total
    with pytest.raises(MemoryError, match=rf"{asked} bytes.*\d+ .*free") as caught:
        gm.DeviceArray(asked, "u1", backend=backend)
    if backend == "cuda":
        assert isinstance(caught.value, gm.CudaError) and caught.value.code == 2
    else:
        assert not isinstance(caught.value, gm.CudaError)
    np.testing.assert_array_equal(gm.copy(floats(), backend=backend), floats())


def test_an_unknown_family_lists_the_known():
    for call in (
        lambda: gm.variants("cpoy"),
        lambda: gm.traffic("cpoy", shape=4),
        lambda: _core.available("cpoy", "vec4"),
        lambda: _core.traffic("cpoy", "auto", (floats(),), (0,)),
    ):
        with pytest.raises(ValueError, match=r"cpoy.*copy"):
            call()


def test_backend_from_the_environment(monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "quantum")
    with pytest.raises(ValueError, match=r"GPUMEM_BACKEND.*quantum.*sim"):
        gm.copy(floats())
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    assert gm.to_device(floats()).backend == "sim"
    monkeypatch.setenv("GPUMEM_BACKEND", "")
    assert gm.to_device(floats()).backend == gm.backend("auto")


COUNTS = {"call": (7, 8), "traffic": (4, 5), "adopt_all": (4,), "prepare": (6,), "launch_all": (2,)}


@pytest.mark.parametrize("name", COUNTS)
def test_functions_of_the_extension_module_count_their_arguments(name):
    function, counts = getattr(_core, name), COUNTS[name]
    for number in (0, counts[0] - 1, counts[-1] + 1):
        with pytest.raises(TypeError, match=f"^{name} takes {' or '.join(map(str, counts))} arg"):
            function(*[None] * number)
