"""The arrays that transfers of one size have in common."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ... import _core
from . import _ways
from ._bytes import POISON, compare, random_bytes

if TYPE_CHECKING:
    import numpy as np

    from ..._core import DeviceArray, Stream
    from ._contender import Runs, Timed


class Arrays:
    """Made once for all contenders of a size: they take turns."""

    def __init__(self, nbytes: int, backend: str, pool: ThreadPoolExecutor) -> None:
        self.nbytes, self.backend, self.pool = nbytes, backend, pool
        self.data = random_bytes(nbytes)
        self.source = _core.to_device(self.data, backend=backend)
        self.target = _core.DeviceArray((nbytes,), "uint8", backend=backend)
        self._host: dict[tuple[str, bool], np.ndarray[Any, Any]] = {}
        self._peer: DeviceArray | None = None

    def peer(self) -> DeviceArray:
        """The array on the device that comes next, to be written to."""
        if self._peer is None:
            devices = len(_core.backend_info(self.backend)["devices"])
            next_one = (self.source.device + 1) % devices
            self._peer = _core.DeviceArray(
                (self.nbytes,), "uint8", device=next_one, backend=self.backend
            )
        return self._peer

    def host(self, kind: str, full: bool) -> np.ndarray[Any, Any]:
        """The host's array of a kind: full, to be read from, or to be written to."""
        kind = "pageable" if kind == "pageable_driver" else kind
        if (kind, full) not in self._host:
            array = _core.empty((self.nbytes,), "uint8", kind=kind, backend=self.backend)
            array[...] = self.data if full else POISON
            self._host[kind, full] = array
        return self._host[kind, full]

    def way(
        self,
        kind: str,
        to_device: bool,
        pieces: int,
        stream: Stream | None = None,
        max_blocks: int | None = None,
    ) -> Runs:
        """Return what moves the bytes one way."""
        host = self.host(kind, to_device)
        device = self.target if to_device else self.source
        if kind not in ("mapped", "managed"):
            return _ways.by_bus(device, host, to_device, kind, pieces, stream)
        reached = _core.over(host, self.backend)
        ends = (reached, device) if to_device else (device, reached)
        return _ways.by_kernel(*ends, pieces, stream, max_blocks=max_blocks)

    def check(self, run: Timed, kind: str, in_: bool, out: bool) -> None:
        """Run once on targets that hold something else, and look at what they hold then."""
        if in_:
            self.target.fill_bytes(POISON)
        if out:
            self.host(kind, False)[...] = POISON
        _core.synchronize(self.backend)
        run(1)
        if in_:
            compare(self.target, self.data)
        if out:
            compare(self.host(kind, False), self.data)
