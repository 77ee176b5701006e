"""What there is to say of a family whose clock is the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from ._contender import Contender

Choices = dict[str, list[Any]]
Record = dict[str, Any]


class Parameter(NamedTuple):
    """A keyword of a family."""

    default: Any
    # What it may be, as a list; raises what is wrong with anything else.
    values: Callable[[Any], list[Any]]


class Step(NamedTuple):
    """What is measured at once: its contenders take turns."""

    title: str  # but for the size
    shape: tuple[int, ...]
    variants: Sequence[str]


class Family(NamedTuple):
    """The row of a family."""

    variants: Sequence[str]
    sizes: str  # by default
    dtype: str
    parameters: Mapping[str, Parameter]
    # Other libraries to measure beside it.
    peers: Sequence[str]
    # The steps for so many bytes and these variants.
    steps: Callable[[int, list[str]], list[Step]]
    # The contenders of a step, from what is chosen and the backend.
    contenders: Callable[[Step, Choices, str], list[Contender]]
    # The most of the host's memory that they need together.
    host_bytes: Callable[[Step, Sequence[Contender]], int]
    # Sets up those that have no reason yet; the pool has a thread for a second direction.
    prepare: Callable[[Step, Sequence[Contender], str, ThreadPoolExecutor], None]
    # Bytes moved, and floating-point operations or None, of a variant.
    work: Callable[[str, tuple[int, ...]], tuple[int, int | None]]
    # Fills in the fractions of the reference in the records of a step.
    compare: Callable[[list[Record]], None]
    # Whether it is gpumem's code that these parameters stand for.
    is_ours: Callable[[dict[str, Any]], bool]
    # What the host has to do for these parameters, in a word: times of one are noisy alike.
    strain: Callable[[dict[str, Any]], str]
    # The lines of the table of a variant.
    table: Callable[[str, list[Record]], Iterator[str]]
