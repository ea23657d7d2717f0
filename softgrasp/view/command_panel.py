"""The buttons of a twin's page, one set a browser: a key, a command, and a second word.

What one browser asks for, only that browser can confirm, and only for a short time. A page of
another site that reaches the port has no key: it stands in the terminal of whoever runs the twin.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import viser

from softgrasp.description.twin import Twin
from softgrasp.mechanics.piece_bends import KPA

EXPIRES = 10.0
"""A command that is not confirmed for so long is forgotten [s]."""
NOTHING = "no command waits"
CLOSE, OPEN, VENT = "Close", "Open", "Vent"

Values = dict[str, float | bool]


class CommandSink(Protocol):
    """Takes commands by the names of their fields."""

    def words(self, values: Values) -> str:
        """What they do."""

    def send(self, values: Values) -> str:
        """Send them; empty, or why they are not sent."""


class CommandPanel:
    """The buttons of one browser.

    Args:
        gui: The panel of that browser.
        twin: Knows the limits of the targets.
        desk: Takes the commands.
        key: What has to be typed first.
        clock: The time [s].
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        twin: Twin,
        queue: CommandSink,
        key: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue, self._key, self._clock = queue, key, clock
        self._pending: tuple[float, Values] | None = None
        limits = twin.controller.map.writes
        with gui.add_folder("Commands"):
            self.key = gui.add_text("key", "", hint="It stands in the terminal of the twin.")
            low, high = limits.positive_target.limits
            self.positive = _slider(gui, "positive / kPa", max(low, 0.0), high)
            low, high = limits.negative_target.limits
            self.negative = _slider(gui, "negative / kPa", low, min(high, 0.0))
            self.buttons = {name: gui.add_button(name) for name in (CLOSE, OPEN, VENT)}
            self.message = gui.add_markdown(NOTHING)
            self.confirm, self.cancel = gui.add_button("Confirm"), gui.add_button("Cancel")
        for name, button in self.buttons.items():
            button.on_click(partial(self._pressed, name))
        self.confirm.on_click(lambda _: self.send())
        self.cancel.on_click(lambda _: self.forget())

    def _pressed(self, name: str, _: object) -> None:
        self.ask(name)

    def ask(self, name: str) -> None:
        """Propose the command of a button."""
        if not hmac.compare_digest(self.key.value.strip().encode(), self._key.encode()):
            self.message.content = (
                "**type the key first**, which stands in the terminal of the twin"
            )
            return
        values = self._values(name)
        self._pending = (self._clock(), values)
        self.message.content = f"**waits for a confirmation:** {self._queue.words(values)}"

    def send(self) -> None:
        """Send what this browser asked for, if that was not long ago."""
        pending, self._pending = self._pending, None
        if pending is None:
            self.message.content = NOTHING
        elif self._clock() - pending[0] > EXPIRES:
            self.message.content = f"not sent: it waited for more than {EXPIRES:g} s"
        else:
            refused = self._queue.send(pending[1])
            self.message.content = f"not sent: {refused}" if refused else NOTHING

    def forget(self) -> None:
        """Take the command back."""
        self._pending = None
        self.message.content = NOTHING

    def _values(self, name: str) -> Values:
        if name == CLOSE:
            target = self.positive.value / KPA
            return {"positive_target": target, "positive_on": True, "negative_on": False}
        if name == OPEN:
            target = self.negative.value / KPA
            return {"negative_target": target, "negative_on": True, "positive_on": False}
        return {"positive_on": False, "negative_on": False}


def _slider(gui: viser.GuiApi, name: str, low: float, high: float) -> viser.GuiSliderHandle[float]:
    """From one pressure to another [Pa]; it starts in the middle."""
    low, high = KPA * low, KPA * max(high, low + 1.0)
    return gui.add_slider(name, low, high, 0.1, round(0.5 * (low + high), 1))
