"""Registers that one request reaches together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from softgrasp.description.register_map import Kind, Register

MAX_WIDTH = 100
"""Words in one request; the standard allows 123 to be written and 125 to be read."""


class Span(NamedTuple):
    """Registers that lie one behind the other, so that one request reaches them all."""

    kind: Kind
    address: int
    values: tuple[tuple[str, Register], ...]

    @property
    def width(self) -> int:
        """How many words, or bits."""
        return sum(register.width for _, register in self.values)

    def text(self) -> str:
        """``positive_on (holding 0), …``, as errors tell it."""
        return ", ".join(f"{name} ({register.address_text})" for name, register in self.values)


def spans(values: Sequence[tuple[str, Register]]) -> list[Span]:
    """Registers gathered into as few requests as there are gaps between them."""
    merged: list[Span] = []
    for name, register in sorted(values, key=lambda pair: (pair[1].kind, pair[1].address)):
        last = merged[-1] if merged else None
        follows = last is not None and (
            (last.kind, last.address + last.width) == (register.kind, register.address)
        )
        if last is not None and follows and last.width + register.width <= MAX_WIDTH:
            merged[-1] = last._replace(values=(*last.values, (name, register)))
        else:
            merged.append(Span(register.kind, register.address, ((name, register),)))
    return merged
