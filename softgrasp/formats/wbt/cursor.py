"""A place in the tokens of a world, and sentences about what is found there."""

from __future__ import annotations

from pathlib import Path

from softgrasp.errors import DescriptionError
from softgrasp.formats.wbt.tokens import Token, tokens


class Cursor:
    """Goes through the tokens of a text from first to last."""

    def __init__(self, text: str, file: str | Path) -> None:
        """Begin at the first token.

        Raises:
            DescriptionError: As ``tokens`` raises it; ``take`` too.
        """
        self.file = Path(file)
        self._rest = tokens(text, file)
        self.token = next(self._rest)
        """The token that comes next."""

    def take(self) -> Token:
        """Go past the next token and return it; the end stays where it is."""
        token = self.token
        if token.kind != "end":
            self.token = next(self._rest)
        return token

    def is_at(self, bracket: str) -> bool:
        """Whether that bracket comes next."""
        return self.token.kind == "bracket" and self.token.text == bracket

    def skip(self, bracket: str) -> bool:
        """Go past a bracket where it comes next, and say whether it did."""
        here = self.is_at(bracket)
        if here:
            self.take()
        return here

    def mistake(
        self, message: str, field: str | None = None, line: int | None = None
    ) -> DescriptionError:
        """An error about what comes next.

        Args:
            message: What was expected and what was found.
            field: Such as ``Solid.translation``.
            line: Where it is not the line of the next token.
        """
        where = self.token.line if line is None else line
        return DescriptionError(message, file=self.file, line=where, field=field)
