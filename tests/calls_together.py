"""Calls whose memory of their own passes from one to the next: in a row, and of threads at once."""

from processes import at_once

import gpumem as gm


def in_a_row(call, arrays, backend, times):
    """Yield each array and what the call made of it: all are queued on one stream first."""
    there = [gm.to_device(a, backend=backend) for a in arrays]
    stream = gm.Stream(backend=backend)
    results = [call(a, stream=stream) for a in there * times]
    for a, got in zip(arrays * times, results, strict=True):
        yield a, got.to_host(stream=stream)


def agree_at_once(call, arrays, backend, times):
    """Return whether two threads, on streams of their own, get the bits of calls one by one."""
    there = [gm.to_device(a, backend=backend) for a in arrays]
    wanted = [call(a).to_host().tobytes() for a in there]

    def work(number):
        stream = gm.Stream(backend=backend) if number else None  # the other: the default stream
        results = [call(a, stream=stream) for _ in range(times) for a in there]
        return [got.to_host(stream=stream).tobytes() for got in results] == wanted * times

    return at_once(2, work) == [True, True]
