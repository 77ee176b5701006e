"""The family "transfer": bytes between the host and devices, by kind of host memory."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ClassVar

import numpy as np

from .._core import DeviceArray, Stream
from ..base.record import Record
from ..base.sizes import format_bytes
from ..base.wall_clock import FAMILIES
from ..machine.device import Device, HostArray
from .contender import Contender, out_of_memory
from .moving import POISON, Runs, both_at_once, by_bus, by_kernel, check_bytes, random_bytes
from .wall_clock import (
    Benchmark,
    Checked,
    Choices,
    Parameter,
    Step,
    Timed,
    chosen,
    piece_counts,
    set_up,
    timed,
)

__all__ = ["KINDS", "PEER_WAYS", "Arrays", "Transfers", "migrating"]

KINDS = ("pageable", "pageable_driver", "pinned", "write_combined", "mapped", "managed")
PEER_WAYS = ("access", "no_access", "kernel")  # to reach another device

MOST_MANAGED = 2**26  # bytes of managed memory
_PAGE = 4096  # managed memory moves in pages of at least this size
_REFERENCES = ("pinned", "access")


class Arrays:
    """The arrays that transfers of one size share, made once for all contenders."""

    def __init__(self, nbytes: int, device: Device) -> None:
        self.nbytes, self.device = nbytes, device
        self.data = random_bytes(nbytes)
        self.source = device.to_device(self.data)
        self.target = device.array((nbytes,), "uint8")
        self._host: dict[tuple[str, bool], HostArray] = {}
        self._peer: DeviceArray | None = None

    def peer(self) -> DeviceArray:
        """Return the array on the next device, to be written to."""
        if self._peer is None:
            count = len(self.device.info()["devices"])
            following = (self.source.device + 1) % count
            self._peer = self.device.array((self.nbytes,), "uint8", following)
        return self._peer

    def host(self, kind: str, full: bool) -> HostArray:
        """Return the host array of a kind: full, to be read from, or to be written to."""
        kind = "pageable" if kind == "pageable_driver" else kind
        if (kind, full) not in self._host:
            array = self.device.host_array((self.nbytes,), "uint8", kind)
            array[...] = self.data if full else POISON
            self._host[kind, full] = array
        return self._host[kind, full]

    def one_way(
        self,
        kind: str,
        to_device: bool,
        pieces: int,
        stream: Stream | None = None,
        max_blocks: int | None = None,
    ) -> Runs:
        """Return what moves the bytes in one direction."""
        host = self.host(kind, to_device)
        array = self.target if to_device else self.source
        if kind not in ("mapped", "managed"):
            return by_bus(self.device, array, host, to_device, kind, pieces, stream)
        reached = self.device.over(host)
        ends = (reached, array) if to_device else (array, reached)
        return by_kernel(self.device, *ends, pieces, stream, max_blocks=max_blocks)

    def check(self, run: Timed, kind: str, to_device: bool, to_host: bool) -> None:
        """Run once on poisoned targets, and compare what they hold then."""
        if to_device:
            self.target.fill_bytes(POISON)
        if to_host:
            self.host(kind, False)[...] = POISON
        self.device.synchronize()
        run(1)
        if to_device:
            check_bytes(self.target, self.data)
        if to_host:
            check_bytes(self.host(kind, False), self.data)


# ---- directions ---------------------------------------------------------------------------


def _one_way(
    arrays: Arrays, kind: str, pieces: int, pool: ThreadPoolExecutor, *, to_device: bool
) -> Checked:
    if kind == "managed":
        run = migrating(arrays, to_device)
    else:
        run = timed(arrays.one_way(kind, to_device, pieces))
    return run, lambda: arrays.check(run, kind, to_device, not to_device)


def migrating(arrays: Arrays, to_device: bool) -> Timed:
    """Return what makes pages of managed memory migrate; moving them back is not timed."""
    host = arrays.host("managed", to_device)
    pages = host[::_PAGE]
    kernel = arrays.one_way("managed", to_device, 1)

    def run(count: int) -> float:
        taken = 0.0
        for _ in range(count):
            if to_device:
                np.bitwise_or(pages, 0, out=pages)  # a write moves the page to the host
            else:
                kernel(1)
            begin = time.perf_counter()
            if to_device:
                kernel(1)
            else:
                pages.max()
            taken += time.perf_counter() - begin
        return taken

    return run


def _both(arrays: Arrays, kind: str, pieces: int, pool: ThreadPoolExecutor) -> Checked:
    blocks = None
    if kind == "mapped":  # few enough that both kernels are resident at once
        properties = arrays.device.info()["devices"][arrays.source.device]
        blocks = max(properties["multiprocessors"], 1)
    ways = [
        arrays.one_way(kind, to_device, pieces, arrays.device.stream(), blocks)
        for to_device in (True, False)
    ]
    run = timed(both_at_once(pool, *ways))
    return run, lambda: arrays.check(run, kind, True, True)


def _within(arrays: Arrays, kind: str, pieces: int, pool: ThreadPoolExecutor) -> Checked:
    copy = by_kernel(arrays.device, arrays.source, arrays.target, pieces, variant="memcpy")
    run = timed(copy)
    return run, lambda: arrays.check(run, kind, True, False)


@contextmanager
def _access(device: Device, place: int, other: int, on: bool) -> Iterator[None]:
    """Give a device access to the memory of another, or take it."""
    if not device.can_reach(place, other):
        if on:
            raise ValueError(f"device {place} cannot reach the memory of device {other}")
        yield
        return
    before = device.let_reach(place, other, on)
    try:
        yield
    finally:
        device.let_reach(place, other, before)


def _to_peer(arrays: Arrays, way: str, pieces: int, pool: ThreadPoolExecutor) -> Checked:
    """Have the first device write to the second: by its copy engine, or by a kernel."""
    device, source, target = arrays.device, arrays.source, arrays.peer()
    kernel = None
    if way == "kernel":
        kernel = by_kernel(device, source, device.reach(target, source.device), pieces)

    def run(count: int) -> float:
        with _access(device, source.device, target.device, way != "no_access"):
            begin = time.perf_counter()
            if kernel is not None:
                kernel(count)
            else:
                device.send(source, target, count, pieces)
            return time.perf_counter() - begin

    def check() -> None:
        target.fill_bytes(POISON)
        device.synchronize(target.device)
        run(1)
        check_bytes(target, arrays.data)

    return run, check


_DIRECTIONS: dict[str, Callable[[Arrays, str, int, ThreadPoolExecutor], Checked]] = {
    "to_device": functools.partial(_one_way, to_device=True),
    "to_host": functools.partial(_one_way, to_device=False),
    "both": _both,
    "within": _within,
    "to_peer": _to_peer,
}


# ---- the family ---------------------------------------------------------------------------


class Transfers(Benchmark):
    """Bytes from where they are to where they should be; the variants are directions."""

    name = "transfer"
    variants = tuple(_DIRECTIONS)
    sizes = "64K:1G:x4"
    dtype = "uint8"
    parameters: ClassVar[dict[str, Parameter]] = {
        "kind": Parameter(None, lambda value: chosen("kind", value, KINDS)),
        "pieces": Parameter(1, piece_counts),
    }

    @staticmethod
    def steps(nbytes: int, names: list[str]) -> list[Step]:
        return [Step("transfer", (nbytes,), names)]

    def contenders(self, step: Step, choices: Choices) -> list[Contender]:
        (nbytes,) = step.shape
        return [
            Contender(
                self.name,
                name,
                {"kind": kind, "pieces": pieces},
                reason=_why_not(name, kind, pieces, nbytes),
            )
            for name in step.variants
            for kind in self._kinds(name, choices["kind"])
            for pieces in choices["pieces"]
        ]

    def _kinds(self, variant: str, kinds: Sequence[str]) -> Sequence[str]:
        """Return the kinds of memory, or the ways to a peer; "device" without host memory."""
        if variant == "to_peer" and len(self.device.info()["devices"]) > 1:
            return PEER_WAYS
        return ("device",) if variant in ("within", "to_peer") else kinds

    def host_bytes(self, step: Step, contenders: Sequence[Contender]) -> int:
        """Count the data, what is compared with it, and a source and a target of each kind."""
        (nbytes,) = step.shape
        kinds = {one.parameters["kind"] for one in contenders}
        return (2 + 2 * len(kinds)) * nbytes

    def prepare(
        self, step: Step, contenders: Sequence[Contender], pool: ThreadPoolExecutor
    ) -> list[tuple[Contender, Timed]]:
        (nbytes,) = step.shape
        try:
            arrays = Arrays(nbytes, self.device)
        except MemoryError as error:
            for one in contenders:
                one.reason = out_of_memory(error)
            return []

        def make(one: Contender) -> Checked:
            kind, pieces = one.parameters["kind"], one.parameters["pieces"]
            return _DIRECTIONS[one.variant](arrays, kind, pieces, pool)

        return set_up(contenders, make)

    def work(self, variant: str, shape: tuple[int, ...]) -> tuple[int, int | None]:
        (nbytes,) = shape
        return (2 if variant in FAMILIES[self.name].counted_twice else 1) * nbytes, None

    def fill_in_fractions(self, records: list[Record]) -> None:
        """Fill in the shares of pinned memory, or of access to the peer, with the fewest pieces."""
        for record in records:
            references = [
                one
                for one in records
                if one.variant == record.variant and one.parameters["kind"] in _REFERENCES
            ]
            rates = [(one.parameters["pieces"], one.gbps) for one in references if one.gbps]
            if rates and record.gbps:
                _, rate = min(rates)
                record.fraction_of_reference = record.gbps / rate


def _why_not(variant: str, kind: str, pieces: int, nbytes: int) -> str | None:
    """Return why a transfer cannot be measured, None if it can."""
    if variant == "to_peer" and kind == "device":
        return "there is no second device"
    if pieces > nbytes:
        return f"{format_bytes(nbytes)} cannot be cut into {pieces} pieces"
    if kind == "managed":
        if nbytes > MOST_MANAGED:
            return f"managed memory is measured up to {format_bytes(MOST_MANAGED)}"
        if variant == "both":
            return "managed memory is measured in one direction at a time"
        if pieces > 1:
            return "the pages of managed memory move one by one, not in pieces"
    return None
