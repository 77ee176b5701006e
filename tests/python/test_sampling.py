"""Samples of contenders in turn: when they have settled, and what records say of them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from gpumem.measure.contender import Contender
from gpumem.measure.recording import record_of
from gpumem.measure.sampling import Limits, interleave, relative_spread


def test_quantiles_are_numpys():
    random = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        one = Contender("copy", "vec4", {}, samples=list(random.random(n)))
        work = (8, None)
        row = record_of(
            one, backend="cuda", shape=(1,), dtype="u1", cache="cold", order="stream", work=work
        )
        found = (row.min_ms, row.p20_ms, row.median_ms, row.p80_ms)
        assert found == pytest.approx(np.quantile(one.samples, (0, 0.2, 0.5, 0.8)))
        assert row.samples == n and row.gbps == pytest.approx(8e-6 / row.median_ms)
        assert row.spread == pytest.approx(relative_spread(one.samples))


def test_spread_is_a_share_of_the_median():
    assert relative_spread([2.0] * 9) == 0
    assert relative_spread([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == pytest.approx(6 / 5)
    assert relative_spread([0.0, 0.0]) == math.inf


def ticking(seconds):
    """A clock that advances at every look."""
    ticks = itertools.count()
    return lambda: next(ticks) * seconds


LIMITS = Limits(least=7, most=50, within=0.02, budget=1e9)


def test_a_steady_contender_settles_with_the_least_samples():
    (samples,) = interleave([lambda: 1.0], LIMITS)
    assert samples == [1.0] * 7


def test_a_noisy_contender_takes_the_most():
    noise = itertools.cycle([1.0, 2.0, 3.0])
    (samples,) = interleave([lambda: next(noise)], LIMITS)
    assert len(samples) == 50


def test_a_noisy_start_settles_later():
    values = itertools.chain([5.0, 3.0, 5.0, 3.0], itertools.repeat(1.0))
    (samples,) = interleave([lambda: next(values)], LIMITS)
    assert 7 < len(samples) < 50 and relative_spread(samples) < 0.02


def test_the_budget_ends_a_noisy_contender():
    noise = itertools.cycle([1.0, 2.0, 3.0])
    limits = replace(LIMITS, budget=10.5)
    (samples,) = interleave([lambda: next(noise)], limits, clock=ticking(1))
    assert len(samples) == 11
    (samples,) = interleave([lambda: next(noise)], replace(LIMITS, budget=0), clock=ticking(1))
    assert len(samples) == 7


def test_contenders_take_turns_and_change_neighbours():
    order = []
    noise = itertools.cycle([1.0, 2.0])

    def contender(name, value):
        def sample():
            order.append(name)
            return value() if callable(value) else value

        return sample

    named = [contender("a", 1.0), contender("b", lambda: next(noise)), contender("c", 1.0)]
    a, b, c = interleave(named, LIMITS)
    assert (len(a), len(b), len(c)) == (7, 50, 7)
    assert order[:9] == list("abcbcacab")
    assert order[21:] == ["b"] * 43


def test_nobody_to_measure():
    assert interleave([], LIMITS) == []


def test_a_deadline_ends_with_the_least_samples():
    noise = itertools.cycle([1.0, 2.0, 3.0])
    turns = []
    (samples,) = interleave(
        [lambda: next(noise)],
        LIMITS,
        clock=ticking(1),
        deadline=30,
        between=lambda: turns.append(1),
    )
    assert 7 < len(samples) < 20 and len(turns) == len(samples)
    (samples,) = interleave([lambda: next(noise)], LIMITS, clock=ticking(1), deadline=0)
    assert len(samples) == 7
