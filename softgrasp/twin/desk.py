"""From the buttons of a page to the commands of the loop."""

from __future__ import annotations

from collections.abc import Callable

from softgrasp.twin.commands import Command, CommandBox


class CommandQueue:
    """Puts confirmed commands into the box of the loop.

    Args:
        box: Where they wait to be sent.
        may_command: Whether the controller hears.
    """

    def __init__(self, box: CommandBox, may_command: Callable[[], bool]) -> None:
        self._box, self._may_command = box, may_command

    def words(self, values: dict[str, float | bool]) -> str:
        """What they do."""
        return _command(values).words

    def send(self, values: dict[str, float | bool]) -> str:
        """Put them into the box; empty, or why they are not."""
        if not self._may_command():
            return "the controller does not hear"
        self._box.put(_command(values))
        return ""


def _command(values: dict[str, float | bool]) -> Command:
    return Command(**values)  # type: ignore[arg-type]
