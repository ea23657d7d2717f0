"""The text of a Webots world as tokens: words, numbers, strings and brackets, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from softgrasp.errors import DescriptionError

_PARTS = re.compile(
    r"""(?P<skip> [\s,]+ | \#[^\n]* )
      | (?P<string> " (?: [^"\\] | \\. )* " )
      | (?P<open_string> " )
      | (?P<bracket> [{}\[\]] )
      | (?P<number> [-+]? (?: \d+\.?\d* | \.\d+ ) (?: [eE][-+]?\d+ )? (?= [\s,{}\[\]"\#] | $ ) )
      | (?P<word> [^\s,{}\[\]"\#]+ )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')


class Token(NamedTuple):
    """One piece of the text.

    Attributes:
        kind: ``word``, ``number``, ``string``, ``bracket`` or ``end``.
        text: As it is written; of a string what it says.
        line: Where it begins, counted from 1.
    """

    kind: str
    text: str
    line: int

    @property
    def actual(self) -> str:
        """What a sentence says was found."""
        if self.kind == "end":
            return "the end of the file"
        return f'"{self.text}"' if self.kind == "string" else f"'{self.text}'"


def tokens(text: str, file: str | Path) -> Iterator[Token]:
    """The tokens of a text, then one of kind ``end``.

    Commas are blanks, and a # outside a string begins a comment that ends with its line.

    Raises:
        DescriptionError: A string has no end.
    """
    line = 1
    for match in _PARTS.finditer(text):
        kind, written = str(match.lastgroup), match.group()
        if kind == "open_string":
            raise DescriptionError(
                "expected a quotation mark that ends this string, found none", file=file, line=line
            )
        if kind == "string":
            yield Token(kind, _ESCAPED.sub(r"\1", written[1:-1]), line)
        elif kind != "skip":
            yield Token(kind, written, line)
        line += written.count("\n")
    yield Token("end", "", line)
