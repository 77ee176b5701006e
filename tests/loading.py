"""Sources on the simulator, for tests of the simulator: kernels by name, arguments of any dtype."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import gpumem as gm
from gpumem.cuda_c.compile import Source, compile_source, read_source
from gpumem.cuda_c.image import Image, open_image
from gpumem.modules.parameters import Parameter
from gpumem.modules.simulator import OnSimulator
from gpumem.modules.textures import TextureObject


class Loaded:
    """A source whose kernels run, at full speed or under observation."""

    def __init__(self, source: Source) -> None:
        self.module = gm.Module(source, OnSimulator(source))

    def kernels(self) -> dict[str, gm.Kernel]:
        return self.module.kernels

    def compile(self, traced: bool) -> Image:
        """Compile and open the object of one sort of run, before that is timed or counted."""
        return open_image(compile_source(self.module.source, traced), [self])

    def run(self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any) -> None:
        launch, fitted = self._launch(kernel, grid, block, args, options)
        launch(*fitted)

    def traffic(
        self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any
    ) -> dict[str, Any]:
        """Return the kernels and source lines with their counts."""
        launch, fitted = self._launch(kernel, grid, block, args, options)
        return launch.observe(fitted)

    def check(
        self, kernel: str, grid: Any, block: Any, args: Sequence[Any], **options: Any
    ) -> gm.SimulationError | None:
        """Return what is wrong first, or None."""
        try:
            self.traffic(kernel, grid, block, args, **options)
        except gm.SimulationError as error:
            return error
        return None

    def _launch(
        self, kernel: str, grid: Any, block: Any, args: Sequence[Any], options: Any
    ) -> tuple[gm.Launch, tuple[Any, ...]]:
        found = self.module.kernels[kernel]
        pairs = zip(args, found.parameters, strict=True)
        return found.launch(grid, block, **options), tuple(_fit(a, p) for a, p in pairs)


def _fit(value: Any, parameter: Parameter) -> Any:
    """Return an array's memory, or a number, as the type of the parameter."""
    kind, size = parameter.machine.kind, parameter.machine.bytes
    if parameter.is_array:
        if isinstance(value, np.ndarray) and not parameter.takes(value.dtype):
            return value.view(f"{kind}{size}" if kind in "biuf" else np.uint8)
        return value
    if kind not in "biuf" or isinstance(value, TextureObject):
        return value
    return np.asarray(value).astype(f"{kind}{size}")[()]


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    name: str | None = None,
    defines: Mapping[str, str] | None = None,
    include_dirs: Sequence[str] = (),
    instances: Sequence[str] = (),
) -> Loaded:
    """Load a source with these instances of its templates."""
    folder = Path.cwd()
    if path is not None:
        file = Path(path)
        source, folder, name = read_source(file), file.resolve().parent, name or file.name
    assert source is not None
    what = (source, name or "source.cu", folder, dict(defines or {}), include_dirs)
    return Loaded(Source(*what, tuple(instances)))
