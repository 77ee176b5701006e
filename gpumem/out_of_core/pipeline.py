"""One piece is read and one is written while the one between them is computed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from ..base.messages import quoted
from ..base.progress import Progress, silent
from .files import Opened
from .mapped import Array, Box, Mapped, is_shared, strips

SLOTS = 2  # buffers for what is read, and as many for what is written


class Stopped(Exception):
    """The call ends early: a thread gives up its piece."""


class Work(Protocol):
    """Steps, in this order; each reads something, and some finish a result."""

    @property
    def steps(self) -> int:
        """How many steps there are."""

    def read(self, step: int, slot: int, stop: threading.Event) -> None:
        """Read what a step needs into the buffers of a slot."""

    def compute(self, step: int, slot: int, result: int) -> bool:
        """Compute from a slot; return whether there is now a result in the slot of results."""

    def write(self, step: int, result: int, stop: threading.Event) -> None:
        """Write the result that a step finished."""


def checked_progress(progress: Any) -> Progress:
    """Return what to report to; TypeError if it cannot be called."""
    if progress is None:
        return silent
    if not callable(progress):
        raise TypeError(f"progress must be callable, not {quoted(progress)}")
    found: Progress = progress
    return found


def run(work: Work, progress: Progress, text: str) -> None:
    """Run all steps; an exception, Ctrl-C among them, ends it within a strip of a piece."""
    stop = threading.Event()
    reader = ThreadPoolExecutor(1, "gpumem-read")
    writer = ThreadPoolExecutor(1, "gpumem-write")
    try:
        writing: deque[Future[None]] = deque()
        results = 0
        reading = reader.submit(work.read, 0, 0, stop) if work.steps else None
        for step in range(work.steps):
            progress(step, work.steps, text)
            assert reading is not None
            reading.result()
            if step + 1 < work.steps:
                reading = reader.submit(work.read, step + 1, (step + 1) % SLOTS, stop)
            while len(writing) >= SLOTS:
                writing.popleft().result()
            if work.compute(step, step % SLOTS, results % SLOTS):
                writing.append(writer.submit(work.write, step, results % SLOTS, stop))
                results += 1
        while writing:
            writing.popleft().result()
        progress(work.steps, work.steps, text)
    finally:
        stop.set()
        for pool in (reader, writer):
            pool.shutdown(wait=True, cancel_futures=True)


def read_part(opened: Opened, part: Array, into: Array, most: int, stop: threading.Event) -> None:
    """Copy a part of an input into a buffer of the same shape; see `_strips` for `most`."""
    pages = _pages(opened)
    for strip in _strips(opened, part, most, stop):
        if pages is not None:
            pages.expect(part[strip])
        np.copyto(into[strip], part[strip])
        if pages is not None:
            pages.forget(part[strip])


def write_part(opened: Opened, part: Array, data: Array, most: int, stop: threading.Event) -> None:
    """Copy a buffer into a part of a result; see `_strips` for `most`."""
    pages = _pages(opened)
    for strip in _strips(opened, part, most, stop):
        np.copyto(part[strip], data[strip])
        if pages is not None:
            pages.forget(part[strip])


def _pages(opened: Opened) -> Mapped | None:
    """Return the map, if what its pages hold is also in the file or in the kernel's cache."""
    found = opened.mapped
    return found if found is not None and is_shared(found) else None


def _strips(opened: Opened, part: Array, most: int, stop: threading.Event) -> Iterator[Box]:
    """Split a part of a file so that at most about so many bytes of it are resident."""
    whole = iter([(slice(None),) * part.ndim])
    for strip in whole if opened.mapped is None else strips(part, most):
        if stop.is_set():
            raise Stopped
        yield strip
