"""Programs of tutorials load as they are, compute what NumPy does, and have no finding."""

import functools

import pytest
from program import FOLDER
from programs import PROGRAMS

import gpumem as gm

load = functools.cache(lambda path: gm.load(path, backend="sim"))
CASES = [
    pytest.param(one, id=one.name, marks=[] if one.daily else pytest.mark.exhaustive)
    for one in PROGRAMS
]


@pytest.mark.parametrize("program", CASES)
def test_plain(program):
    assert not program.differences(program.run(load(program.path)))


@pytest.mark.parametrize("program", CASES)
def test_observed(program):
    assert not program.differences(program.run(load(program.path), observed=True))


@pytest.mark.parametrize("program", CASES)
def test_every_kernel_is_found_and_launched(program):
    module = load(program.path)
    found = {*(name.partition("<")[0] for name in module.kernels), *module.templates}
    launched = {one.kernel.partition("<")[0] for one in program.launches}
    assert {name.rpartition("::")[2] for name in found} == launched


def test_every_program_has_an_entry():
    assert {one.path for one in PROGRAMS} == set(FOLDER.glob("*.cu"))
