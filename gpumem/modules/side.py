"""Where a module's kernels run: the simulator or a GPU, and what both sides can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..cuda_c.cache import Compiled
    from ..cuda_c.compile import Source
    from ..cuda_c.machine_type import MachineType
    from .arguments import Arguments
    from .launch import Launch

__all__ = ["Side", "Simulated", "take_values"]


class Side(Protocol):
    """A source that is compiled and loaded for one backend, with variables of its own."""

    backend: str
    compiled: Compiled

    def with_source(self, source: Source) -> Side:
        """Load a source with more instances of templates; variables keep their values."""

    @property
    def kernels(self) -> Mapping[str, Sequence[MachineType]]:
        """The types of the parameters of each kernel."""

    @property
    def variables(self) -> Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The dtype and the shape of each device variable."""

    def call(self, launch: Launch, args: tuple[Any, ...]) -> None:
        """Check the arguments and run a kernel."""

    def simulated(self) -> Simulated:
        """Return the same source on the simulator."""

    def is_address(self, value: int) -> bool:
        """Whether this is an address that means nothing to the simulator."""

    def attributes(self, kernel: str, threads: int, shared_bytes: int) -> dict[str, Any]:
        """Return what a kernel needs of a GPU; see Kernel.attributes."""

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Return a copy of a device variable."""

    def write(self, name: str, value: np.ndarray[Any, Any]) -> None:
        """Set a device variable to a value of its dtype and shape."""


class Simulated(Side, Protocol):
    """The simulator's side, which can observe."""

    def observe(self, launch: Launch, bound: Arguments, all_findings: bool) -> dict[str, Any]:
        """Run a kernel and return what was counted, and what is wrong."""


def take_values(to: Side, source: Side) -> None:
    """Give variables the values that they have on another side."""
    for name in to.variables:
        if name in source.variables:
            to.write(name, source.read(name))
