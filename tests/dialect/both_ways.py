"""Kernels of one source, run plain and traced."""

from __future__ import annotations

import functools

import pytest
from loading import load


def both_ways(source: str, name: str):
    """Return a function that loads the source, and a fixture that runs its kernels both ways.

    Traced, they have to be free of findings.
    """

    @functools.cache
    def module():
        return load(source=source, name=name)

    @pytest.fixture(params=["plain", "traced"])
    def run(request):
        def call(*arguments, **options):
            if request.param == "plain":
                module().run(*arguments, **options)
            else:
                assert module().check(*arguments, **options) is None

        return call

    return module, run
