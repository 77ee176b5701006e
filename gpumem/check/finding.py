"""Something that is wrong with a kernel."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Finding", "Index"]

Index = tuple[int, int, int]


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a kernel, at a source line.

    Attributes
    ----------
    rule : str
        What kind of error it is, such as "race-shared".
    message : str
        What happened.
    kernel : str
        In which kernel.
    file, line : str or None, int or None
        Where; None if it belongs to no line, such as a launch that is too large.
    block, thread : tuple of int or None
        One that did it.
    count : int
        How often it was found at this line.
    other : (str, int) or None
        File and line of the access on the other side of a race.
    hint : str
        What usually mends it.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void set(int *x) { x[threadIdx.x] = 1; }")
    >>> (finding,) = gm.check(m["set"][1, 32], gm.empty(31, "int32", backend="sim")).findings
    >>> finding.rule, finding.line, finding.thread
    ('out-of-bounds', 1, (31, 0, 0))
    """

    rule: str
    message: str
    kernel: str
    file: str | None = None
    line: int | None = None
    block: Index | None = None
    thread: Index | None = None
    count: int = 1
    other: tuple[str, int] | None = None
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict that JSON can hold.

        Examples
        --------
        >>> from gpumem import Finding
        >>> Finding("launch", "too many threads", "saxpy").to_dict()["rule"]
        'launch'
        """
        other = None if self.other is None else dict(zip(("file", "line"), self.other, strict=True))
        return asdict(self) | {
            "block": self.block and list(self.block),
            "thread": self.thread and list(self.thread),
            "other": other,
        }
