"""Loading a CUDA C source, and what it holds."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..base.messages import quoted, unknown
from ..cuda_c.compile import Source, compile_source
from ..cuda_c.image import Image, Variable, open_image
from .arguments import Arguments
from .kernel import Kernel
from .launch import Launch
from .parameters import Parameter

__all__ = ["Module", "get_symbol", "load", "set_symbol"]


class Module:
    """The kernels and device variables of one CUDA C source; made by :func:`load`.

    Attributes
    ----------
    name : str
        The file's path as it was given, or what `load` was told.
    backend : str
        Where the kernels run: "sim".

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="template <int n> __global__ void fill(int *x) { x[threadIdx.x] = n; }")
    >>> m["fill<3>"]
    <kernel fill<3>(int *x)>
    """

    def __init__(self, source: Source, backend: str) -> None:
        self.name = source.name
        self.backend = backend
        self.source = source
        self._lock = threading.Lock()
        self._images: dict[bool, Image] = {}
        self._current = False  # whether the traced image's variables are the ones that count
        self._compiled = compile_source(source, traced=False)
        self._image(traced=False)

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name; of templates those instances that were asked for."""
        return {name: self._kernel(name) for name in self._image(traced=False).kernels}

    @property
    def templates(self) -> tuple[str, ...]:
        """The kernels that are templates: ``module["name<float, 32>"]`` makes an instance."""
        return tuple(self._compiled.templates)

    @property
    def symbols(self) -> dict[str, Any]:
        """The device variables: the dtype and the shape of each, by name."""
        variables = self._image(traced=False).variables
        return {name: (one.dtype, one.shape) for name, one in variables.items()}

    def __getitem__(self, name: str) -> Kernel:
        """Return a kernel, or an instance of a template.

        Raises
        ------
        KeyError
            If there is no such kernel, or several of that name in different namespaces.
        CompileError
            If the template cannot be compiled for these arguments.
        """
        if not isinstance(name, str):
            raise TypeError(f"{self.name}: a kernel is asked for by its name, not {quoted(name)}")
        base, angle, rest = name.partition("<")
        if angle:
            found = self._qualified(base.strip(), self.templates) + angle + rest
            self._add_instance(found)
        else:
            found = self._qualified(name, list(self._image(traced=False).kernels))
        return self._kernel(found)

    def run(
        self, launch: Launch, bound: Arguments, traced: bool = False, all_findings: bool = False
    ) -> dict[str, Any] | None:
        """Run a launch whose arguments are bound; traced: return what was counted."""
        with self._lock:
            image = self._image(traced)
            if traced != self._current:
                image.take_values(self._images[self._current])
                self._current = traced
        return _core.module_launch(
            image.handle,
            image.kernels[launch.kernel.name][0],
            launch.grid,
            launch.block,
            launch.shared_bytes,
            tuple(bound.values),
            traced,
            launch.cooperative,
            all_findings,
        )

    def variable(self, name: str) -> Variable:
        """Return a device variable as it is now."""
        variables = self._image(self._current).variables
        found = self._qualified(name, list(variables), "device variable")
        return variables[found]

    def _image(self, traced: bool) -> Image:
        if traced not in self._images:
            compiled = self._compiled if not traced else compile_source(self.source, traced)
            self._images[traced] = open_image(compiled, [self])
        return self._images[traced]

    def _kernel(self, name: str) -> Kernel:
        declared = self._compiled.parameters[name.partition("<")[0]]
        machine = self._image(traced=False).kernels[name][1]
        pairs = zip(declared, machine, strict=True)
        return Kernel(self, name, [Parameter(d.name, d.type, m) for d, m in pairs])

    def _qualified(self, name: str, known: Sequence[str], what: str = "kernel") -> str:
        """Return the full name of what is asked for by it, or by its last part."""
        found = [one for one in known if one == name or one.endswith(f"::{name}")]
        exact = [one for one in found if one == name]
        if not found:
            message = unknown(f"{self.name} has no {what}", name, known, "; it has")
            if name in self.templates:
                message = f"{name} is a template: ask for an instance, as {name}<...>"
            raise KeyError(message)
        if len(found) > 1 and not exact:
            raise KeyError(f"{self.name} has several: {', '.join(found)}; say which")
        return exact[0] if exact else found[0]

    def _add_instance(self, name: str) -> None:
        with self._lock:
            if name in self._image(traced=False).kernels:
                return
            source = self.source.with_instance(name)
            compiled = compile_source(source, traced=False)
            image = open_image(compiled, [self])
            image.take_values(self._image(self._current))
            self.source, self._compiled = source, compiled
            self._images, self._current = {False: image}, False

    def __repr__(self) -> str:
        return f"<module {self.name}: {', '.join([*self.kernels, *self.templates])}>"


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    name: str | None = None,
    defines: Mapping[str, object] | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    backend: str | None = None,
) -> Module:
    """Load the kernels of a CUDA C source, to call and to check them.

    The source is compiled and its kernels are run: load only what you would run.

    Parameters
    ----------
    path : path, optional
        The file. Its host side (``main``, ``<<<>>>``, ``cudaMalloc``) is left out.
    source : str, optional
        The text, instead of a file.
    name : str, optional
        What messages call the source; by default its path.
    defines : dict, optional
        Macros and their values.
    include_dirs : sequence of path
        Folders in which includes are looked for, after the source's own.
    options : sequence of str
        Options of the compiler: ``-D``, ``-U``, ``-I`` and ``-std=``. Options of nvcc that change
        machine code alone, such as ``-O3`` or ``-lineinfo``, are accepted.
    backend : {"sim"}, optional
        Where the kernels run.

    Returns
    -------
    Module
        ``module["saxpy"][grid, block](x, y, n, 2.0)`` runs a kernel, ``module["tile<float, 32>"]``
        makes an instance of a template.

    Raises
    ------
    CompileError
        If it does not compile, or uses what the backend does not have; the message names file and
        line.
    OSError
        If the file cannot be read.

    Notes
    -----
    What was compiled is kept in the user's cache; ``gpumem cache`` shows where, and empties it.

    Examples
    --------
    >>> import numpy as np
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.arange(4, dtype=np.float32)
    >>> m["twice"][1, 4](x)
    >>> x
    array([0., 2., 4., 6.], dtype=float32)
    """
    if (path is None) == (source is None):
        raise TypeError("load takes a path or source=, one of the two")
    if backend not in (None, "auto", "sim"):
        raise ValueError(f"backend is {quoted(backend)}, expected 'sim'")
    folder = Path.cwd()
    if path is not None:
        file = Path(path)
        source, folder = file.read_text(encoding="utf-8"), file.resolve().parent
        name = name or os.fspath(path)
    if not isinstance(source, str):
        raise TypeError(f"source must be text, not {quoted(source)}")
    what = Source(
        source,
        name or "source.cu",
        folder,
        {str(key): str(value) for key, value in (defines or {}).items()},
        [str(Path(one).resolve()) for one in include_dirs],
        (),
        tuple(options),
    )
    return Module(what, "sim")


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
        If the value has another shape or another kind of number.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__constant__ float scale[2]; __global__ void k() {}")
    >>> gm.set_symbol(m, "scale", [1, 0.5])
    >>> gm.get_symbol(m, "scale")
    array([1. , 0.5], dtype=float32)
    """
    variable = module.variable(name)
    given = np.asarray(value)
    target = variable.array()
    if variable.dtype.kind == "V":
        if given.nbytes != target.nbytes:
            raise ValueError(f"{name} has {target.nbytes} bytes, and was given {given.nbytes}")
        variable.memory[:] = given.tobytes()
        return
    if not np.can_cast(given.dtype, variable.dtype, "same_kind"):
        raise TypeError(f"{name} holds {variable.dtype}, and was given {given.dtype}")
    if given.shape != target.shape:
        raise ValueError(f"{name} has shape {target.shape}, and was given {given.shape}")
    target[...] = given


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
    return module.variable(name).array().copy()[()]
