"""Bad arguments for every public call, made from its signature; what is right is refused or done.

A call is tried with each of its arguments replaced by each value of `bad_values`. It may raise one
of ALLOWED, with a message that names the argument, or return what NumPy computes. Either way its
arrays keep every byte that is not the result's.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from bad_values import ARRAYS, DEVICE_VIEWS, PRODUCERS, SCALARS, TEXTS, HookError, Lying
from dlpack import Bare, Producer

import gpumem as gm

ALLOWED = (TypeError, ValueError, MemoryError, BufferError, gm.UnavailableError, gm.CompileError)
PRODUCING = Bare | Lying | Producer
# What is wrong is not the argument: there is no such backend here or no such file, too little
# memory, or what a user's kernel did with it.
NEEDS_NO_NAME = (MemoryError, OSError, gm.UnavailableError, gm.SimulationError)


class Call(NamedTuple):
    """A public function or method, with good arguments."""

    name: str
    # Makes the function and its good arguments by name, anew for each case.
    make: Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
    # Its parameters, and what they are: the annotations, or what replaces them.
    kinds: dict[str, str]
    # Raises AssertionError unless the result of these arguments is right.
    check: Callable[[Any, dict[str, Any]], None]
    # The text that stands for a parameter in messages, where it is not its name.
    called: Mapping[str, str] = MappingProxyType({})
    # Further exceptions that the documentation promises.
    errors: tuple[type[BaseException], ...] = ()
    # Cases that are left out: they do what they are asked for, for hours.
    without: tuple[str, ...] = ()


class Case(NamedTuple):
    call: Call
    parameter: str
    label: str
    value: Callable[[Any], Any]  # from the good argument

    def __str__(self) -> str:
        return f"{self.call.name}({self.parameter}={self.label})"

    @property
    def group(self) -> str:
        """The kind of the value, by which cases are counted."""
        return next((kind for kind, known in GROUPS.items() if self.label in known), "keywords")


# ---- which values a parameter is tried with ------------------------------------------------------


def _flat(a: Any) -> tuple[Any, Any]:
    """Return an array of the same shape in the middle of a longer one, and that."""
    whole = np.zeros(3 * a.size + 8, a.dtype)
    whole[a.size : 2 * a.size] = plain(a).reshape(-1)
    if isinstance(a, gm.DeviceArray):
        whole = gm.to_device(whole, backend="sim")
    return whole[a.size : 2 * a.size].reshape(a.shape), whole


# `out` as views of the first input's memory; its argument is (input's memory, offset, shape).
OVERLAPS: dict[str, Callable[[Any, int, tuple[int, ...]], Any]] = {
    "the same": lambda whole, at, shape: _at(whole, at, shape),
    "one further": lambda whole, at, shape: _at(whole, at + 1, shape),
    "one before": lambda whole, at, shape: _at(whole, at - 1, shape),
    "last element": lambda whole, at, shape: _at(whole, 2 * at - 1, shape),
    "first element": lambda whole, at, shape: _at(whole, 1, shape),
    "beside": lambda whole, at, shape: _at(whole, 2 * at, shape),
    "backwards": lambda whole, at, shape: _at(whole[::-1], whole.size - 2 * at, shape),
    "interleaved": lambda whole, at, shape: _at(whole[::2], at // 2, shape),
    "one element for all": lambda whole, at, shape: _spread(whole[at : at + 1], shape),
}


GROUPS = {
    "texts": TEXTS,
    "scalars": SCALARS,
    "arrays": ARRAYS,
    "device": DEVICE_VIEWS,
    "producers": PRODUCERS,
    "overlaps": OVERLAPS,
}


def _at(whole: Any, start: int, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape, dtype=int))
    part = whole[start : start + count]
    try:
        return part.reshape(shape)
    except ValueError:  # too short, or a view on the device that would need a copy
        return part


def _spread(one: Any, shape: tuple[int, ...]) -> Any:
    return one if isinstance(one, gm.DeviceArray) else np.broadcast_to(one.reshape(()), shape)


def is_array(kind: str) -> bool:
    return kind.startswith(("AnyArray", "array"))


def is_out(kind: str) -> bool:
    return kind.startswith(("Result", "Out", "out"))


def values(kind: str) -> dict[str, Callable[[Any], Any]]:
    if kind == "text":
        return TEXTS
    tried = {label: lambda _, make=make: make() for label, make in SCALARS.items()}
    if is_array(kind) or is_out(kind):
        tried |= ARRAYS | DEVICE_VIEWS
    if is_array(kind):
        tried |= PRODUCERS
    return tried


def cases(call: Call) -> Iterator[Case]:
    for parameter, kind in call.kinds.items():
        tried = values(kind)
        if is_out(kind) and any(map(is_array, call.kinds.values())):
            tried |= dict.fromkeys(OVERLAPS, lambda out: out)
        for label, value in tried.items():
            case = Case(call, parameter, label, value)
            if str(case) not in call.without:
                yield case
    yield Case(call, "no_such_keyword", "unknown keyword", lambda _: 1)


# ---- what a parameter may be ---------------------------------------------------------------------


def _indexed(value: Any) -> bool:
    try:
        operator.index(value)
    except Exception:
        return False
    return not isinstance(value, bool | np.bool_)


def _real(value: Any) -> bool:
    if isinstance(value, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        return False
    return hasattr(value, "__float__") or _indexed(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "b"


LEGAL: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "int": _indexed,
    "float": _real,
    "bool": lambda v: isinstance(v, bool | np.bool_) or _is_flag(v),
    "str": lambda value: isinstance(value, str),
    "AnyStream": lambda v: isinstance(v, gm.Stream) or _indexed(v),
}


def is_legal(kind: str, value: Any) -> bool:
    """Whether a value is of a type that the annotation names; True for annotations not known."""
    parts = re.split(r" \| (?![^\[]*\])", kind)
    return any(LEGAL.get(part, lambda _: True)(value) for part in parts)


# ---- one case ------------------------------------------------------------------------------------


def _memory(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array whose memory this is a view of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


class Kept:
    """What is in an array, and in all of the memory that it is a view of."""

    def __init__(self, a: Any) -> None:
        self.array = a
        self.elements = plain(a)
        self.before = self._bytes()

    def _bytes(self) -> Any:
        if isinstance(self.array, gm.DeviceArray):
            return self.array.to_host().tobytes()
        return np.ndarray.tobytes(np.asarray(_memory(self.array)))

    def restore(self) -> None:
        """Undo what a call wrote to its result."""
        to = self.array if isinstance(self.array, gm.DeviceArray) else np.asarray(self.array)
        to[...] = self.elements

    def check(self) -> None:
        assert self._bytes() == self.before, "bytes changed that are not the result's"


def plain(a: Any) -> Any:
    """Return a copy of an array as NumPy has it; anything else as it is."""
    if isinstance(a, gm.DeviceArray):
        return a.to_host()
    return np.array(a, subok=False) if isinstance(a, np.ndarray) else a


def _watched(arguments: dict[str, Any]) -> list[Kept]:
    values = [getattr(v, "array", v) if isinstance(v, PRODUCING) else v for v in arguments.values()]
    arrays = [v for v in values if isinstance(v, np.ndarray | gm.DeviceArray)]
    return [Kept(a) for a in arrays if not a.dtype.hasobject]


def _bound(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments as they are given: by position where they have no name."""
    args, keywords = [], dict(arguments)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in keywords:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(keywords.pop(parameter.name))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args.append(keywords.pop(parameter.name))
    return args, keywords


def _overlapping(case: Case, arguments: dict[str, Any]) -> None:
    name = next(name for name, kind in case.call.kinds.items() if is_array(kind))
    good, out = arguments[name], arguments[case.parameter]
    arguments[name], whole = _flat(good)
    size = good.nbytes // out.itemsize  # in elements of out
    arguments[case.parameter] = OVERLAPS[case.label](whole.view(out.dtype), size, out.shape)


def _value(case: Case, good: Any) -> Any:
    """Return the value of a case; an array is on the device if the good one is."""
    there = isinstance(good, gm.DeviceArray)
    if case.label in SCALARS:
        return case.value(good)
    if case.label in DEVICE_VIEWS:
        return case.value(good if there else gm.to_device(good, backend="sim"))
    if not there or case.label not in ARRAYS:
        return case.value(plain(good))
    made = case.value(good.to_host())
    try:
        return gm.to_device(made, backend="sim")
    except (TypeError, HookError):
        return made


def wrong(case: Case) -> str | None:
    """Try a case; return what is wrong with what it did, None if nothing is."""
    function, arguments = case.call.make()
    optional = inspect.signature(function).parameters.get("out")  # of the functions of families
    if case.parameter != "out" and optional and optional.default is None:
        arguments.pop("out", None)  # so that results of any dtype and shape are right
    if case.label in OVERLAPS:
        _overlapping(case, arguments)
    else:
        arguments[case.parameter] = _value(case, arguments.get(case.parameter))
    before = {name: plain(value) for name, value in arguments.items()}
    kept = _watched(arguments)
    args, keywords = _bound(function, arguments)
    try:
        result = function(*args, **keywords)
        problem = _success(case, result, arguments, before)
    except Exception as error:
        result, problem = None, _refusal(case, error)
    if problem:
        return problem
    try:
        for one in kept:
            if one.array is result:
                one.restore()
        for one in kept:
            one.check()
    except AssertionError as error:
        return str(error)
    return None


def _success(
    case: Case, result: Any, arguments: dict[str, Any], before: dict[str, Any]
) -> str | None:
    """Return what is wrong with a result."""
    if case.label == "unknown keyword":
        return "took a keyword that it has not"
    if not is_legal(case.call.kinds[case.parameter], arguments[case.parameter]):
        return f"took it, and returned {ascii(result)[:200]}"
    if arguments.get("out") is not None and result is not arguments["out"]:
        return "took it, and the result is not out"
    try:
        case.call.check(result, before)
    except HookError:
        pass  # of the check
    except Exception as error:
        return f"took it, and {type(error).__name__}: {str(error)[:400]}"
    return None


def _refusal(case: Case, error: Exception) -> str | None:
    """Return what is wrong with an exception."""
    if isinstance(error, HookError) and case.label.startswith("hook"):
        return None
    what = f"{type(error).__name__}: {str(error)[:400]}"
    if not isinstance(error, (*ALLOWED, *case.call.errors)):
        return f"raised {what}"
    if isinstance(error, NEEDS_NO_NAME):
        return None
    name = case.call.called.get(case.parameter, rf"\b{re.escape(case.parameter)}\b")
    if not re.search(name, str(error)):
        return f"names no {case.parameter}: {what}"
    return None
