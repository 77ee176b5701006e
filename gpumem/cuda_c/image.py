"""A compiled module in this process: its kernels and its device variables."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import _core
from .cache import Compiled
from .machine_type import MachineType

__all__ = ["Image", "Variable", "open_image"]


@dataclass(frozen=True)
class Variable:
    """A device variable: its elements, and where they are."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    memory: memoryview

    def array(self) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        """Return the variable itself as an array."""
        return np.frombuffer(self.memory, self.dtype).reshape(self.shape)


class Image:
    """A loaded shared object, with variables of its own."""

    def __init__(self, path: Path, compiled: Compiled) -> None:
        self.handle, kernels, variables = _core.module_open(path, *compiled.extents)
        self.kernels = {
            name: (number, [MachineType(*one) for one in types])
            for number, (name, types) in enumerate(kernels)
        }
        self.variables = {
            name: Variable(np.dtype(f"{kind}{size}"), shape, memory)
            for name, kind, size, shape, memory in variables
        }
        self._initial = {name: bytes(one.memory) for name, one in self.variables.items()}

    def reset(self) -> None:
        """Give the variables the values that they have at first."""
        for name, value in self._initial.items():
            self.variables[name].memory[:] = value

    def take_values(self, other: Image) -> None:
        """Give the variables the values that they have in another image of the same source."""
        for name, variable in self.variables.items():
            if name in other.variables:
                variable.memory[:] = other.variables[name].memory


# Shared objects stay loaded for good, so that images which nobody uses any more are used again.
_lock = threading.Lock()
_idle: dict[Path, list[Image]] = {}
_opened: set[Path] = set()


def open_image(compiled: Compiled, users: Sequence[object]) -> Image:
    """Return an image that is the users' alone, until none of them is left."""
    with _lock:
        idle = _idle.setdefault(compiled.path, [])
        image = idle.pop() if idle else None
        first = compiled.path not in _opened
        _opened.add(compiled.path)
    if image:
        image.reset()
    elif first:
        image = Image(compiled.path, compiled)
    else:
        # The same file would be the same image; as another file it has variables of its own.
        with tempfile.TemporaryDirectory(prefix="gpumem-") as folder:
            image = Image(Path(shutil.copy(compiled.path, folder)), compiled)
    for user in users:
        weakref.finalize(user, idle.append, image)
    return image
