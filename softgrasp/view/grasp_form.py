"""A form that asks which hand takes which object how, and starts the grasp."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import viser

from softgrasp.errors import DescriptionError
from softgrasp.view.choices import NUMBERS, Choices

AS_DESCRIBED, NONE = "as described", "none"
"""What stands in the form where nothing is asked for, and where there is no object."""
GRASPS = ("power", "precision")


class GraspForm:
    """The form.

    Args:
        gui: The panel.
        choices: What stands in it at first.
        hands: Names of hands.
        objects: Names of objects.
        closures: Names of closures.
        changed: Called with the choices where another hand or object is chosen.
        started: Called with the choices where the grasp is to start.
        refused: Called with a sentence where a field cannot be understood.
        used: What stands in the fields of numbers that the choices leave open: what hand and object
            say, by the names of the fields.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        choices: Choices,
        *,
        hands: Sequence[str],
        objects: Sequence[str],
        closures: Sequence[str],
        changed: Callable[[Choices], None],
        started: Callable[[Choices], None],
        refused: Callable[[str], None],
        used: Mapping[str, float] | None = None,
    ) -> None:
        self._refused = refused
        chosen = {name: getattr(choices, name) for name in NUMBERS}
        self._used = {
            name: _written(value) for name, value in (used or {}).items() if chosen[name] is None
        }
        with gui.add_folder("Grasp"):
            self.hand = gui.add_dropdown(
                "hand", _with(hands, choices.hand), initial_value=choices.hand
            )
            object_name = choices.object or NONE
            self.object = gui.add_dropdown(
                "object", _with((NONE, *objects), object_name), initial_value=object_name
            )
            self.grasp = gui.add_dropdown(
                "grasp", (AS_DESCRIBED, *GRASPS), initial_value=choices.grasp or AS_DESCRIBED
            )
            self.numbers = {
                name: gui.add_text(
                    label,
                    self._used.get(name) or _written(chosen[name]),
                    hint=f"empty: {AS_DESCRIBED}",
                )
                for name, label in NUMBERS.items()
            }
            self.closure = gui.add_dropdown(
                "closure", (AS_DESCRIBED, *closures), initial_value=choices.closure or AS_DESCRIBED
            )
            self.gravity = gui.add_checkbox(
                "gravity", choices.gravity, hint="9.81 m/s² down while the hand closes"
            )
            self.hold = gui.add_checkbox(
                "hold test", choices.hold, hint="let gravity grow after the closure"
            )
            self.start = gui.add_button("Start the grasp", disabled=choices.object is None)
            self.stop = gui.add_button("Stop", color="gray", visible=False)
            self.progress = gui.add_progress_bar(0.0, visible=False, animated=True)
        for field in (self.hand, self.object):
            field.on_update(lambda _: self._pass_on(changed))
        self.start.on_click(lambda _: self._pass_on(started))

    @property
    def choices(self) -> Choices:
        """What it asks for.

        Raises:
            DescriptionError: A number is none, or is not above 0.
        """
        return Choices(
            hand=self.hand.value,
            object=None if self.object.value == NONE else self.object.value,
            grasp=_chosen(self.grasp.value),
            closure=_chosen(self.closure.value),
            gravity=self.gravity.value,
            hold=self.hold.value,
            **{name: self._chosen_number(name) for name in self.numbers},
        )

    def _chosen_number(self, name: str) -> float | None:
        """None where the field is as it was: a number that nobody asked for."""
        text = self.numbers[name].value
        return None if text.strip() == self._used.get(name) else _number(name, text)

    def show_progress(self, done: float | None) -> None:
        """Show how much of the simulation is done, 0 to 1; None ends it."""
        running = done is not None
        for field in (self.hand, self.object, self.start):
            field.disabled = running
        self.stop.visible = running
        self.progress.visible = running
        self.progress.value = float(round(100.0 * min(max(done or 0.0, 0.0), 1.0)))  # type: ignore[misc]

    def _pass_on(self, to: Callable[[Choices], None]) -> None:
        try:
            choices = self.choices
        except DescriptionError as error:
            self._refused(str(error))
            return
        to(choices)


def _number(name: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf or (value == 0.0 and name == "density"):
        condition = "above 0" if name == "density" else "at least 0"
        raise DescriptionError(f"expected a number {condition}, found '{text}'", field=name)
    return value


def _written(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _chosen(value: str) -> str | None:
    return None if value == AS_DESCRIBED else value


def _with(names: Sequence[str], chosen: str) -> tuple[str, ...]:
    """The names, and first the one that was chosen, where it is a file."""
    return tuple(names) if chosen in names else (chosen, *names)
