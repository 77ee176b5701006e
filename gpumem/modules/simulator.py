"""A module on the simulator: one object at full speed, and one that is observed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..cuda_c.compile import Source, compile_source
from ..cuda_c.image import Image, open_image
from ..cuda_c.machine_type import MachineType
from .arguments import Arguments, bind

if TYPE_CHECKING:
    from .launch import Launch

__all__ = ["OnSimulator"]


class OnSimulator:
    """A source compiled by the host's compiler. The observed object is made when it is needed."""

    backend = "sim"

    def __init__(self, source: Source) -> None:
        self.source = source
        self.compiled = compile_source(source, traced=False)
        self._lock = threading.Lock()
        self._images: dict[bool, Image] = {}
        self._current = False  # whether the traced image's variables are the ones that count
        self._image(traced=False)

    def with_source(self, source: Source) -> OnSimulator:
        """Load a source with more instances of templates; variables keep their values."""
        made = OnSimulator(source)
        with self._lock:
            made._image(traced=False).take_values(self._images[self._current])
        return made

    def simulated(self) -> OnSimulator:
        """Return this."""
        return self

    @property
    def kernels(self) -> Mapping[str, Sequence[MachineType]]:
        """The types of the parameters of each kernel."""
        return {name: types for name, (_, types) in self._images[False].kernels.items()}

    @property
    def variables(self) -> Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtype and the shape of each device variable."""
        found = self._images[False].variables
        return {name: (one.dtype, one.shape) for name, one in found.items()}

    def call(self, launch: Launch, args: tuple[Any, ...]) -> None:
        """Check the arguments and run a kernel."""
        _core.check_stream(launch.stream, "sim")
        bound = bind(launch.kernel.name, launch.kernel.parameters, args, "sim")
        self._run(launch, bound, traced=False)
        bound.copy_back()

    def observe(self, launch: Launch, bound: Arguments, all_findings: bool) -> dict[str, Any]:
        """Run a kernel and return what was counted, and what is wrong."""
        counted = self._run(launch, bound, traced=True, all_findings=all_findings)
        assert counted is not None
        return counted

    def is_address(self, value: int) -> bool:
        """Return False: there are no addresses that the simulator cannot follow."""
        return False

    def attributes(self, kernel: str, threads: int, shared_bytes: int) -> dict[str, Any]:
        """Raise: the simulator has no registers."""
        raise _core.UnavailableError(
            f"{kernel} was loaded for the simulator, and only a GPU's compiler knows what it "
            'needs: load it with backend="cuda"'
        )

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Return a copy of a device variable."""
        value = self._images[self._current].variables[name].array()
        return np.array(value)

    def write(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Set a device variable to a value of its dtype and shape."""
        self._images[self._current].variables[name].memory[:] = value.tobytes()

    def _image(self, traced: bool) -> Image:
        if traced not in self._images:
            compiled = self.compiled if not traced else compile_source(self.source, traced)
            self._images[traced] = open_image(compiled, [self])
        return self._images[traced]

    def _run(
        self, launch: Launch, bound: Arguments, traced: bool, all_findings: bool = False
    ) -> dict[str, Any] | None:
        if launch.cluster != (1, 1, 1):
            raise _core.UnavailableError(
                f"{launch.kernel.name}: the simulator has no clusters of blocks; a GPU of compute "
                "capability 9.0 or later has"
            )
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
            tuple(bound.as_bytes()),
            traced,
            launch.cooperative,
            all_findings,
        )
