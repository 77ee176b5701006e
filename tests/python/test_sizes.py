"""Sizes and shapes as people write and read them."""

import numpy as np
import pytest

from gpumem.base.sizes import format_bytes, parse_shape, parse_sizes


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4096", [4096]),
        (4096, [4096]),
        (np.int64(7), [7]),
        ("1k", [1024]),
        ("1 KiB", [1024]),
        ("2G", [2**31]),
        ("1M,16M", [2**20, 2**24]),
        ("1M, 16M", [2**20, 2**24]),
        ("4K:32K:x2", [4096, 8192, 16384, 32768]),
        ("4K:33K:x2", [4096, 8192, 16384, 32768]),
        ("4K:32K", [4096, 8192, 16384, 32768]),
        ("1:100:x10", [1, 10, 100]),
        ("1M,1K:4K:x4,7", [2**20, 1024, 4096, 7]),
        (["1K", 2048, "1M"], [1024, 2048, 2**20]),
        ((5,), [5]),
        ("1K,1024,1K", [1024]),
    ],
)
def test_sizes(text, sizes):
    assert parse_sizes(text) == sizes


def test_the_default_sizes():
    found = parse_sizes("4K:1G:x2")
    assert found[0] == 4096 and found[-1] == 2**30 and len(found) == 19


@pytest.mark.parametrize(
    "text",
    [
        *["", "4Q", "1.5M", "-4", "4K:", ":4K", "4K:8K:2", "4K:8K:x1", "4K:8K:x0", "a:b:x2"],
        *["1M,,2M", "8K:4K:x2", "0", "0:4K:x2", "1:2:x2:3", "9" * 30, "99999999999G", "٤"],
        *[[], ["4Q"], 0, -5, 2**63],
    ],
)
def test_sizes_that_make_no_sense_are_quoted(text):
    with pytest.raises(ValueError, match="sizes"):
        parse_sizes(text)


@pytest.mark.parametrize("value", [1.5, None, True, [2.0], [None]])
def test_sizes_of_a_wrong_type(value):
    with pytest.raises(TypeError, match="sizes"):
        parse_sizes(value)


def test_shapes():
    assert parse_shape("1048576") == (1048576,)
    assert parse_shape("1024x7X3") == (1024, 7, 3)
    for text in ("", "x", "4x", "-4", "4,4", "1e3", "4x-4", "9" * 21):
        with pytest.raises(ValueError, match="shape"):
            parse_shape(text)


def test_bytes_for_people():
    for size, text in [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB")]:
        assert format_bytes(size) == text
    assert format_bytes(60 * 2**20) == "60 MiB" and format_bytes(2**42) == "4 TiB"
