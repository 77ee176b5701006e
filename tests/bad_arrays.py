"""The calls of `bad_calls` on device arrays, streams and memory; NumPy has most of them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bad_calls import Call, plain
from bad_public import kinds_of

import gpumem as gm

HOST = np.arange(16, dtype="f4").reshape(4, 4)
# The extension module's functions have no annotations.
KINDS = {
    "a": "array",
    "x": "array",
    "out": "out",
    "device": "int | None",
    "backend": "str | None",
    "name": "str | None",
    "kind": "str",
    "stream": "AnyStream | None",
    "byte": "int",
    "order": "str | None",
    "casting": "str",
    "value": "Any",
    "key": "Any",
}
ANYTHING = r"."  # IndexErrors are NumPy's, which speak of an index and an axis
NONE = {"no_such_keyword": "takes (no|at most 1) keyword argument"}  # of functions without any


def device() -> gm.DeviceArray:
    return gm.to_device(HOST, backend="sim")


def _same(got: Any, expected: Any) -> None:
    got, expected = plain(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)


def _array(result: Any) -> Any:
    """Return a result of item() as an array."""
    return np.array(result, "f4") if isinstance(result, float) else result


def _call(
    name: str,
    function: Callable[[], Any],
    good: dict[str, Any],
    check: Callable[[Any, dict[str, Any]], None],
    **more: Any,
) -> Call:
    """A call of a function, which is made anew for each case."""

    def make() -> Any:
        return function(), {k: v.copy() if hasattr(v, "copy") else v for k, v in good.items()}

    return Call(name, make, kinds_of(function(), **KINDS), check, **more)


# ---- methods that NumPy's arrays have, too -------------------------------------------------------


def _method(name: str, called: dict[str, str] = {}, **good: Any) -> Call:  # noqa: B006
    def check(result: Any, given: dict[str, Any]) -> None:
        args = {k: v for k, v in given.items() if k not in ("stream", "device")}
        star = [args.pop(key) for key in ("shape", "axes", "index") if key in args]
        places = [args.pop(key) for key in ("axis1", "axis2", "key", "value") if key in args]
        if name == "view" and args["dtype"] is None:
            args = {}  # as it is, which to NumPy is float64
        _same(_array(result), _array(getattr(HOST, name)(*star, *places, **args)))

    def function() -> Any:
        return getattr(device(), name)

    return _call(f"DeviceArray.{name}", function, good, check, called=called, errors=(IndexError,))


def _same_as(expected: Any) -> Callable[[Any, dict[str, Any]], None]:
    return lambda result, _: _same(result, expected)


def _filled(result: Any, given: dict[str, Any]) -> None:
    assert result is None and 0 <= given["byte"] <= 255


def _set(result: Any, given: dict[str, Any]) -> None:
    HOST.copy()[given["key"]] = given["value"]


METHODS = [
    _method("astype", dtype="f8"),
    _call("DeviceArray.copy", lambda: device().copy, {}, _same_as(HOST)),
    _call("DeviceArray.fill_bytes", lambda: device().fill_bytes, {"byte": 1}, _filled),
    _method("flatten"),
    _method("ravel"),
    _method("item", index=(1, 2), called={"index": ANYTHING, **NONE}),
    _method("reshape", shape=(2, 8)),
    _method("squeeze"),
    _method("swapaxes", axis1=0, axis2=1, called={"axis1": "ax[ei]s", "axis2": "ax[ei]s", **NONE}),
    _call("DeviceArray.to_host", lambda: device().to_host, {"out": HOST}, _same_as(HOST)),
    _method("transpose", axes=(1, 0), called={"axes": "ax[ei]s", **NONE}),
    _method("view", dtype="i4", called=NONE),
    _method("__getitem__", key=(1, slice(2)), called={"key": ANYTHING, **NONE}),
    _call(
        "DeviceArray.__setitem__",
        lambda: device().__setitem__,
        {"key": 1, "value": 2},
        _set,
        called={"key": ANYTHING, **NONE},
        errors=(IndexError,),
    ),
    _call(
        "DeviceArray.__dlpack__",
        lambda: device().__dlpack__,
        {},
        lambda result, _: None,
    ),
]

# ---- functions -----------------------------------------------------------------------------------


def _made(result: Any, given: dict[str, Any]) -> None:
    expected = np.empty(given["shape"], given.get("dtype", "f4"))
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


def _moved(name: str) -> Callable[[Any, dict[str, Any]], None]:
    return lambda result, given: _same(result, given[name])


def _named(result: Any, _: dict[str, Any]) -> None:
    assert result in ("sim", "cuda")


def _kind(result: Any, _: dict[str, Any]) -> None:
    assert isinstance(result, str)


def nothing(*_: Any) -> None:
    pass


FUNCTIONS = [
    _call("DeviceArray", lambda: gm.DeviceArray, {"shape": 3}, _made),
    _call("empty", lambda: gm.empty, {"shape": 3}, _made),
    _call("to_device", lambda: gm.to_device, {"a": HOST, "backend": "sim"}, _moved("a")),
    _call("from_dlpack", lambda: gm.from_dlpack, {"x": HOST}, _moved("x")),
    _call("memory_kind", lambda: gm.memory_kind, {"a": HOST}, _kind, called=NONE),
    _call(
        "backend", lambda: gm.backend, {"name": "sim"}, _named, called={"name": "backend", **NONE}
    ),
    _call("pool_info", lambda: gm.pool_info, {}, nothing),
    _call("pool_trim", lambda: gm.pool_trim, {}, nothing),
    _call("synchronize", lambda: gm.synchronize, {}, nothing),
    _call("Stream", lambda: gm.Stream, {}, nothing),
    _call("Stream.current", lambda: gm.Stream.current, {}, nothing),
]
