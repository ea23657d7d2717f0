"""What a page asks for, as commands; the page waits for a second word before one is sent."""

from __future__ import annotations

from softgrasp.twin.commands import Command, CommandBox


class Desk:
    """Between the buttons of a page and the commands of the loop.

    Args:
        box: Where the commands wait.
    """

    def __init__(self, box: CommandBox) -> None:
        self._box = box

    def propose(self, **values: float | bool) -> str:
        """Ask for a command by its fields; its words."""
        command = Command(**values)  # type: ignore[arg-type]
        self._box.propose(command)
        return command.words

    def confirm(self) -> None:
        """Send the one that waits."""
        self._box.confirm()

    def cancel(self) -> None:
        """Take it back."""
        self._box.cancel()

    @property
    def waiting(self) -> str:
        """Words of the command that waits; empty where none does."""
        return "" if self._box.proposed is None else self._box.proposed.words
