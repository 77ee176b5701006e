"""A module of a user's kernels, loaded into the simulator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .compile import Source, compile_source, read_source

__all__ = ["Kernel", "Module", "load"]

_NUMBERS = "biuf"


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    name: str | None = None,
    defines: Mapping[str, str] | None = None,
    include_dirs: Sequence[str] = (),
    instances: Sequence[str] = (),
) -> Module:
    """Load the kernels of a CUDA C source.

    Parameters
    ----------
    path
        The file; or give its text.
    source
        The text.
    name
        What messages call the text; by default the path.
    defines
        Macros.
    include_dirs
        Folders in which includes are looked for.
    instances
        Templates' instances to compile, as ``"tile<float, 32>"``.

    Raises
    ------
    CompileError
        If it does not compile, or uses what the simulator does not have.
    """
    if (path is None) == (source is None):
        raise TypeError("load takes a path or source=, one of the two")
    folder = Path.cwd()
    if path is not None:
        file = Path(path)
        source, folder = read_source(file), file.resolve().parent
        name = name or file.name
    assert source is not None
    what = Source(
        source, name or "source.cu", folder, dict(defines or {}), include_dirs, tuple(instances)
    )
    return Module(what)


class Kernel:
    """A kernel of a module: its name, and the types of its parameters."""

    def __init__(self, number: int, name: str, parameters: Sequence[tuple[Any, ...]]) -> None:
        self.number = number
        self.name = name
        self.parameters = parameters


class Module:
    """The kernels of one source. Compiled twice, when first run and when first traced."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._loaded: dict[bool, tuple[object, dict[str, Kernel]]] = {}

    def kernels(self, traced: bool = False) -> dict[str, Kernel]:
        """Return the kernels by name; templates by instance."""
        return self._load(traced)[1]

    def run(self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any) -> None:
        """Run a kernel at full speed; arrays that it writes to are changed in place."""
        self._launch(kernel, grid, block, args, traced=False, **options)

    def traffic(
        self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any
    ) -> dict[str, Any]:
        """Run a kernel under observation; return its kernels and source lines with their counts."""
        answer = self._launch(kernel, grid, block, args, traced=True, **options)
        assert isinstance(answer, dict)
        return answer

    def check(
        self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any
    ) -> _core.SimulationError | None:
        """Run a kernel under observation; return what is wrong with it, or None."""
        try:
            self._launch(kernel, grid, block, args, traced=True, **options)
        except _core.SimulationError as error:
            return error
        return None

    def _load(self, traced: bool) -> tuple[object, dict[str, Kernel]]:
        if traced not in self._loaded:
            compiled = compile_source(self.source, traced)
            handle, kernels, _ = _core.module_open(compiled.path, *compiled.extents)
            self._loaded[traced] = (
                handle,
                {name: Kernel(i, name, types) for i, (name, types) in enumerate(kernels)},
            )
        return self._loaded[traced]

    def _launch(
        self,
        name: str,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        *,
        traced: bool,
        shared_bytes: int = 0,
        cooperative: bool = False,
    ) -> dict[str, Any] | None:
        handle, kernels = self._load(traced)
        if name not in kernels:
            raise ValueError(
                f"{self.source.name} has no kernel {name}; it has {', '.join(kernels)}"
            )
        kernel = kernels[name]
        if len(args) != len(kernel.parameters):
            raise TypeError(
                f"{name} takes {len(kernel.parameters)} arguments, and was given {len(args)}"
            )
        values, copies = [], []
        for value, parameter in zip(args, kernel.parameters, strict=True):
            packed, copy = _pack(value, *parameter)
            values.append(packed)
            copies.append(copy)
        try:
            return _core.module_launch(
                handle,
                kernel.number,
                _dim(grid),
                _dim(block),
                shared_bytes,
                tuple(values),
                traced,
                cooperative,
            )
        finally:
            for value, copy, parameter in zip(args, copies, kernel.parameters, strict=True):
                if isinstance(value, np.ndarray) and copy is not None and not parameter[3]:
                    value[...] = np.asarray(copy.to_host()).reshape(value.shape)


def _dim(size: Any) -> tuple[int, int, int]:
    sizes = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*(int(one) for one in sizes), 1, 1)[:3]
    return x, y, z


def _pack(value: Any, kind: str, size: int, pointer: bool, constant: bool) -> tuple[bytes, Any]:
    """Return the bytes of a value, and an array's copy on the device, whose address they are."""
    if pointer:
        if value is None:
            return bytes(8), None
        if isinstance(value, np.ndarray):
            copy = _core.to_device(value, backend="sim")
        else:
            copy = value
        return int(copy.pointer).to_bytes(8, "little"), copy
    if kind in _NUMBERS:
        return np.asarray(value).astype(np.dtype(f"{kind}{size}")).tobytes(), None
    data = value if isinstance(value, bytes) else np.asarray(value).tobytes()
    if len(data) != size:
        raise TypeError(f"a struct of {size} bytes was given {len(data)}")
    return data, None
