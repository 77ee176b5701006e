"""Kernels as other people write them: right, without findings, and their traffic counted."""

import pytest
from foreign import CASES, FOLDER, MISSING
from kernel_cases import Modules, kernels_of

pytestmark = pytest.mark.exhaustive  # tests/planted and tests/dialect cover the same in samples

MODULES = Modules(FOLDER, CASES)


def marked(way):
    """Return the cases, marked where the simulator does not yet do what they need."""
    for case in CASES:
        why = MISSING.get(case.name) or MISSING.get(f"{case.name} {way}")
        marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", list(marked("plain")))
def test_plain(case):
    assert not case.differences(MODULES.run(case, traced=False), case.wanted())


@pytest.mark.parametrize("case", list(marked("traced")))
def test_traced(case):
    assert not case.differences(MODULES.run(case, traced=True), case.wanted())


def test_every_kernel_has_a_case():
    for source in FOLDER.glob("*.cu"):
        launched = {case.function for case in CASES if case.file == source.name}
        assert kernels_of(source) <= launched
