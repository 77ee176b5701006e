"""What a loaded CUDA C source holds: kernels and device variables."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..base.messages import quoted, unknown
from ..cuda_c.errors import CompileError
from ..cuda_c.overloads import is_overload, plain_name
from .kernel import Kernel
from .parameters import Parameter

if TYPE_CHECKING:
    from ..cuda_c.compile import Source
    from .side import Side

__all__ = ["Module", "get_symbol", "set_symbol"]


class Module:
    """The kernels and device variables of one CUDA C source; made by :func:`load`.

    Attributes
    ----------
    name : str
        The file's path as it was given, or what `load` was told.
    backend : str
        Where the kernels run: "cuda" or "sim".

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="template <int n> __global__ void fill(int *x) { x[threadIdx.x] = n; }")
    >>> m["fill<3>"]
    <kernel fill<3>(int *x)>
    """

    def __init__(self, source: Source, side: Side) -> None:
        self.name = source.name
        self.backend = side.backend
        self.source = source
        self.side = side
        self._lock = threading.Lock()
        self._simulated: Module | None = None

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name; of templates those instances that were asked for."""
        return {name: self._kernel(name) for name in self.side.kernels}

    @property
    def templates(self) -> tuple[str, ...]:
        """The kernels that are templates: ``module["name<float, 32>"]`` makes an instance."""
        return tuple(self.side.compiled.templates)

    @property
    def symbols(self) -> dict[str, Any]:
        """The device variables: the dtype and the shape of each, by name."""
        return dict(self.side.variables)

    def __getitem__(self, name: str) -> Kernel:
        """Return a kernel, or an instance of a template.

        Raises
        ------
        KeyError
            If there is no such kernel, or several of that name: in different namespaces, or with
            different parameters. ``module["scale(float *, int)"]`` is one of the latter.
        CompileError
            If the template cannot be compiled for these arguments.
        """
        if not isinstance(name, str):
            raise TypeError(f"{self.name}: a kernel is asked for by its name, not {quoted(name)}")
        base, angle, rest = name.partition("<")
        if angle and not is_overload(name):
            if base.strip() in self.side.kernels:
                raise KeyError(f"{base.strip()} is no template: ask for it without <...>")
            found = _qualified(self, base.strip(), self.templates) + angle + rest
            self._add_instance(found)
        else:
            found = _qualified(self, name, list(self.side.kernels))
        return self._kernel(found)

    def simulated(self) -> Module:
        """Return the module on the simulator; its variables have values of their own.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__global__ void nothing() {}")
        >>> m.simulated().backend
        'sim'
        """
        if self.backend == "sim":
            return self
        with self._lock:
            if self._simulated is None:
                self._simulated = Module(self.source, self.side.simulated())
            return self._simulated

    def _kernel(self, name: str) -> Kernel:
        known = self.side.compiled.parameters
        declared = known[name] if name in known else known[name.partition("<")[0]]
        pairs = zip(declared, self.side.kernels[name], strict=True)
        return Kernel(self, name, [Parameter(d.name, d.type, d.text, m) for d, m in pairs])

    def _add_instance(self, name: str) -> None:
        with self._lock:
            if name not in self.side.kernels:
                source = self.source.with_instance(name)
                try:
                    self.side = self.side.with_source(source)
                except CompileError as error:
                    raise CompileError(f"{name} does not compile: {error}") from None
                self.source = source

    def __repr__(self) -> str:
        return f"<module {self.name}: {', '.join([*self.kernels, *self.templates])}>"


def _qualified(module: Module, name: str, known: Sequence[str], what: str = "kernel") -> str:
    """Return the full name of what is asked for by it, or by its last part."""
    wanted = "".join(name.split())
    spelt = {one: ("".join(one.split()), plain_name(one)) for one in known}
    found = [
        one for one, ways in spelt.items() if any(f"::{w}".endswith(f"::{wanted}") for w in ways)
    ]
    exact = [one for one in found if wanted in spelt[one]]
    if not found:
        message = unknown(f"{module.name} has no {what}", name, known, "; it has")
        if name in map(plain_name, module.templates):
            message = f"{name} is a template: ask for an instance, as {name}<...>"
        raise KeyError(message)
    fitting = exact or found
    if len(fitting) > 1:
        how = f'as module["{fitting[0]}"]'
        if any(one in module.templates for one in fitting):
            how = "with different names in the source, since instances have only the template's"
        raise KeyError(f"{module.name} has several: {', '.join(fitting)}; say which, {how}")
    return fitting[0]


def _symbol(module: Module, name: str) -> str:
    """Return the full name of a device variable."""
    if not isinstance(module, Module):
        raise TypeError(f"module must be a Module, which load returns, not {quoted(module)}")
    if not isinstance(name, str):
        raise TypeError(f"{module.name}: name must be that of a variable, not {quoted(name)}")
    return _qualified(module, name, list(module.side.variables), "device variable")


def set_symbol(module: Module, name: str, value: Any) -> None:
    """Set a ``__device__`` or ``__constant__`` variable of a module.

    Parameters
    ----------
    module : Module
        Made by :func:`load`.
    name : str
        Of the variable.
    value : array_like
        Of the variable's shape, and of a dtype that its own holds without loss of kind.

    Raises
    ------
    KeyError
        If there is no such variable.
    ValueError, TypeError
        If the value has another shape or another kind of number, does not fit, or is masked.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__constant__ float scale[2]; __global__ void k() {}")
    >>> gm.set_symbol(m, "scale", [1, 0.5])
    >>> gm.get_symbol(m, "scale")
    array([1. , 0.5], dtype=float32)
    """
    full = _symbol(module, name)
    dtype, shape = module.side.variables[full]
    try:
        given = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # not a subclass of them
        raise kind(f"{name} takes what numpy.asarray does: {error}") from None
    _core.check_unmasked(value, "value")
    size = dtype.itemsize * math.prod(shape)
    if dtype.kind == "V":
        if given.dtype.hasobject:
            raise TypeError(f"{name} has {size} bytes, and was given Python objects")
        if given.nbytes != size:
            raise ValueError(f"{name} has {size} bytes, and was given {given.nbytes}")
        module.side.write(full, np.frombuffer(given.tobytes(), dtype).reshape(shape))
        return
    whole = given.dtype.kind in "iu" and dtype.kind in "iu"
    if whole and given.size:
        limits = np.iinfo(dtype)
        if given.min() < limits.min or given.max() > limits.max:
            raise ValueError(f"{name} holds {limits.min} to {limits.max}, and was given {value}")
    if not whole and not np.can_cast(given.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} holds {dtype}, and was given {given.dtype}")
    if given.shape != shape:
        raise ValueError(f"{name} has shape {shape}, and was given {given.shape}")
    module.side.write(full, given.astype(dtype, copy=False))


def get_symbol(module: Module, name: str) -> Any:
    """Return the value of a ``__device__`` or ``__constant__`` variable of a module.

    Parameters
    ----------
    module : Module
        Made by :func:`load`.
    name : str
        Of the variable.

    Returns
    -------
    ndarray or NumPy scalar
        A copy. A struct is ``dtype=V<bytes>``: ``.view(...)`` gives its fields.

    Raises
    ------
    KeyError
        If there is no such variable.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__device__ int hits; __global__ void hit() { atomicAdd(&hits, 1); }")
    >>> m["hit"][2, 32]()
    >>> gm.get_symbol(m, "hits")
    np.int32(64)
    """
    full = _symbol(module, name)
    return module.side.read(full)[()]
