"""permute: axes as parameters, packed in C and in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem import _core
from gpumem.families import table


def test_parameters_are_axes():
    """The extension module says which parameter is out of range."""
    with pytest.raises(ValueError, match=r"axes\[0:\]"):
        _core.call("permute", "auto", (np.ones((2, 2)),), None, None, "sim", (-1, *(0,) * 9))


@given(axes=st.lists(st.integers(-64, 63), min_size=1, max_size=64))
def test_axes_are_packed_the_same_in_c(axes):
    """A tuple is packed by the extension module, a list in Python."""
    parameters = table.FAMILIES["permute"].parameters
    assert parameters(tuple(axes)) == parameters(axes)
    numbered = _core.pack_bytes(tuple(axes), -64, 63, 64, 7, 64, 10)
    taken = [numbered[i // 7] >> 8 * (i % 7) & 255 for i in range(len(axes))]
    assert taken == [axis + 64 for axis in axes]


@pytest.mark.parametrize(
    "numbers", [(), (64,), (-65,), (True, 0), (1.0,), (np.int64(1),), (2**70,), [1, 0], "10", None]
)
def test_what_is_not_packed_is_left_to_python(numbers):
    assert _core.pack_bytes(numbers, -64, 63, 128, 7, 70, 10) is None
    assert _core.pack_bytes((1,) * 71, -64, 63, 128, 7, 84, 10) is None  # no room
    assert _core.pack_bytes((1,) * 65, -64, 63, 128, 7, 64, 10) is None
    for each, longest, count in [(0, 64, 10), (8, 64, 10), (7, 0, 10), (7, 85, 10), (7, 64, 13)]:
        with pytest.raises(TypeError, match="pack_bytes takes 7 arguments"):
            _core.pack_bytes((1,), -64, 63, 128, each, longest, count)
    with pytest.raises(TypeError, match="pack_bytes takes 7 arguments"):
        _core.pack_bytes((1,), 1, 2)
