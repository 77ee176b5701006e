"""Verification computes cases once per family, and yields reports in order as they are done."""

import threading
import types

import pytest

import gpumem as gm
from gpumem.check import verification
from gpumem.families import oracle
from gpumem.families.table import FAMILIES

COPY = gm.variants("copy")


@pytest.fixture(autouse=True)
def few_cases(monkeypatch):
    every = oracle.cases
    monkeypatch.setattr(
        oracle, "cases", lambda family: (c for c in every(family) if max(c.shape, default=0) < 100)
    )


def test_numpy_computes_each_case_once(monkeypatch):
    counted = []
    for name in ("arguments", "expected"):
        true = getattr(oracle, name)

        def call(family, *args, name=name, true=true, **keywords):
            counted.append(name)
            return true(family, *args, **keywords)

        monkeypatch.setattr(oracle, name, call)
    reports = list(verification.verify(COPY, "sim"))
    cases = len(list(oracle.cases("copy")))
    assert [counted.count("arguments"), counted.count("expected")] == [cases, cases]
    assert {r["cases"] for r in reports} == {cases}


def test_variants_do_not_change_each_others_inputs():
    """In-place variants get arrays of their own."""
    rungs = gm.variants("strided_write")
    for report in verification.verify([*rungs, *rungs], "sim"):
        assert report["status"] == "passed", report


def test_two_by_two_points_are_read_both_ways():
    """(2, 2) is an array of structures or a structure of arrays: the variant says which."""
    rungs = gm.variants("shift_points")
    reports = list(verification.verify(rungs, "sim"))
    assert [r["status"] for r in reports] == ["passed"] * len(rungs)
    assert oracle.job("shift_points", "soa") != oracle.job("shift_points", "aos")


def test_reports_come_in_order_as_soon_as_they_are_done(monkeypatch):
    """The second variant waits until the first report is consumed."""
    taken = threading.Event()
    right = gm.copy

    def copy(a, *, variant, **keywords):
        if variant == COPY[1].name:
            assert taken.wait(60)
        return right(a, variant=variant, **keywords)

    monkeypatch.setitem(FAMILIES, "copy", FAMILIES["copy"]._replace(function=copy))
    reports = verification.verify(COPY, "sim")
    first = next(reports)
    taken.set()
    rest = list(reports)
    assert [r["variant"] for r in [first, *rest]] == [v.name for v in COPY]
    assert {r["status"] for r in [first, *rest]} == {"passed"}


def test_who_asks_for_no_more_waits_for_one_case_at_most(monkeypatch):
    """All variants but the first block in their first case until they have to stop."""
    stopped = threading.Event()
    started = []
    right = gm.copy

    class Stop(threading.Event):
        def set(self):
            super().set()
            stopped.set()

    def copy(a, *, variant, **keywords):
        started.append(variant)
        if variant != COPY[0].name:
            assert stopped.wait(60)
        return right(a, variant=variant, **keywords)

    monkeypatch.setitem(FAMILIES, "copy", FAMILIES["copy"]._replace(function=copy))
    told = types.SimpleNamespace(Event=Stop, Lock=threading.Lock)
    monkeypatch.setattr(verification, "threading", told)
    reports = verification.verify(COPY, "sim")
    assert next(reports)["status"] == "passed"
    reports.close()
    others = [name for name in started if name != COPY[0].name]
    assert all(others.count(name) <= 2 for name in others)  # on the host and on the device
    assert len(set(others)) <= verification._MOST_THREADS
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPool")]
