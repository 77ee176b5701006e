"""Strategies of hypothesis: how arrays are shared out over ranks."""

from hypothesis import strategies as st

import gpumem.distributed as gmd


@st.composite
def counts_of(draw, length, ranks):
    """Draw how many indices of an axis each rank holds."""
    at = sorted(draw(st.lists(st.integers(0, length), min_size=ranks - 1, max_size=ranks - 1)))
    return [end - begin for begin, end in zip([0, *at], [*at, length], strict=True)]


@st.composite
def sharings(draw, shape, ranks):
    """Draw a way to share out an array."""
    axis = draw(st.integers(0, len(shape) - 1))
    found = [
        st.just(gmd.Split(axis)),
        st.builds(gmd.Split, st.just(axis), counts_of(shape[axis], ranks)),
        st.builds(gmd.OnRank, st.integers(0, ranks - 1)),
        st.just(gmd.Whole()),
    ]
    if len(shape) > 1:
        divisors = [one for one in range(1, ranks + 1) if ranks % one == 0]
        found.append(st.sampled_from([gmd.Blocks(one, ranks // one) for one in divisors]))
    return draw(st.one_of(found))
