"""A source's tokens, and what each of them becomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .errors import CompileError
from .tokens import Token, closing

__all__ = ["TokenText"]


class TokenText:
    """The tokens of a source, and the text that takes the place of each."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.out = [token.text for token in tokens]

    def matter(self, at: int, end: int) -> int:
        """Return the index of the next token that matters, from one on."""
        while at < end and not self.tokens[at].matters:
            at += 1
        return at

    def text(self, first: int, end: int) -> str:
        """Return the tokens on one line; lines are kept elsewhere."""
        return self.joined(range(first, end))

    def joined(self, where: Iterable[int]) -> str:
        """Return tokens with a space where the source has one: << is two tokens."""
        text = ""
        previous = -1
        for i in where:
            if self.tokens[i].matters:
                text += " " if text and i != previous + 1 else ""
                text += self.tokens[i].text
                previous = i
        return text

    def replace(self, first: int, end: int, text: str) -> None:
        """Replace tokens by a text without newlines; their newlines and markers stay."""
        for i in range(first, end):
            token = self.tokens[i]
            if token.kind != "opaque":
                self.out[i] = "\n" * token.text.count("\n")
        self.out[first] = text + self.out[first]

    def follows(self, at: int, end: int) -> str:
        """Return the text of the token behind one."""
        following = self.matter(at + 1, end)
        return self.tokens[following].text if following < end else ""

    def semicolon(self, at: int, end: int) -> int:
        """Return the index of the next semicolon outside of brackets."""
        while at < end and self.tokens[at].text != ";":
            opens = self.tokens[at].kind == "mark" and self.tokens[at].text in "([{"
            at = closing(self.tokens, at, end) + 1 if opens else at + 1
        return min(at, end)

    def is_type(self, at: int) -> bool:
        """Whether a < behind the token may begin arguments of a template."""
        return self.tokens[at].kind == "name" and self.tokens[at].text != "operator"

    def is_number(self, at: int, end: int) -> bool:
        """Whether a number begins there."""
        at = self.matter(at, end)
        return at < end and (self.tokens[at].kind == "number" or self.tokens[at].text == "-")

    def before(self, at: int, first: int) -> str:
        """Return the text of the token in front of one."""
        at -= 1
        while at > first and not self.tokens[at].matters:
            at -= 1
        return self.tokens[at].text

    def refuse(self, at: int, what: str) -> CompileError:
        """Return the error for a token, with its file and line."""
        token = self.tokens[at]
        return CompileError(f"{token.file}:{token.line}: {what}")
