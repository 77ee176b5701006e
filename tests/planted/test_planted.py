"""Every planted bug is found at a marked line, and no correct twin is reported."""

from __future__ import annotations

import pytest
from missed import MISSED
from runner import CASES, Runner


@pytest.fixture(scope="session")
def runner():
    one = Runner()
    yield one
    one.close()


def marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a case that is known to be wrong: once it is right, the test fails.

    One that hangs is not run.
    """
    why = MISSED.get(name)
    return [pytest.mark.xfail(strict=True, reason=why, run=why != "hangs")] if why else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in CASES])
def test_planted(name, runner):
    case = CASES[name]
    assert runner.run(case).wrong(case) is None


def test_missed_are_cases():
    assert set(MISSED) <= set(CASES)
