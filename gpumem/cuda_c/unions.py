"""Vectors in unions, which C++ copies only if their members have no copying of their own."""

from __future__ import annotations

import re

from .tokens import closing, tokenize

__all__ = ["with_plain_vectors"]

_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]"
    r"|(?:u?long|u?longlong|double)4_(?:16|32)a|(?:__)?half2|(?:__)?nv_bfloat162"
)


def with_plain_vectors(text: str) -> str:
    """Give vectors in unions a type that is copied as C copies it; see sim/cuda/vectors.h.

    What has it already stays as it is.
    """
    tokens = tokenize(text)
    out = [token.text for token in tokens]
    for first, token in enumerate(tokens):
        if token.text != "union":
            continue
        brace = first
        while brace < len(tokens) and tokens[brace].text not in ("{", ";", "(", ")"):
            brace += 1
        if brace == len(tokens) or tokens[brace].text != "{":
            continue
        for i in range(brace, closing(tokens, brace, len(tokens))):
            if _VECTOR.fullmatch(tokens[i].text) and tokens[i - 2].text != "gm_in_union":
                out[i] = f"gm_in_union<{tokens[i].text}>"
    return "".join(out)
