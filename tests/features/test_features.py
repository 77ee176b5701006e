"""The feature table on the simulator: every kernel plain and traced, against NumPy."""

import re

import pytest
from features import CASES, FOLDER, MISSING, NO_ARGUMENTS, REFUSED
from kernel_cases import Modules, kernels_of

import gpumem as gm

pytestmark = pytest.mark.exhaustive  # tests/planted and tests/dialect cover the same in samples

MODULES = Modules(FOLDER, CASES)


def marked(way):
    """Return the cases, marked where the simulator does not yet do what they need."""
    for case in CASES:
        keys = (case.file, case.name, f"{case.name} {way}")
        why = next((MISSING[key] for key in keys if key in MISSING), None)
        run = why is None or not why.startswith("ends Python")
        marks = [] if why is None else [pytest.mark.xfail(strict=True, run=run, reason=why)]
        yield pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", list(marked("plain")))
def test_plain(case):
    assert not case.differences(MODULES.run(case, traced=False), case.wanted())


@pytest.mark.parametrize("case", list(marked("traced")))
def test_traced(case):
    assert not case.differences(MODULES.run(case, traced=True), case.wanted())


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused.file)
def test_refused_by_name(refused):
    with pytest.raises(gm.CompileError, match=refused.words) as caught:
        MODULES.load(refused.file).kernels()
    assert re.search(rf"{refused.file}:\d+", str(caught.value))


def test_every_kernel_has_a_case():
    left_out = NO_ARGUMENTS | {refused.file for refused in REFUSED}
    for source in FOLDER.glob("*.cu"):
        launched = {case.function for case in CASES if case.file == source.name}
        assert source.name in left_out or kernels_of(source) <= launched
