"""Sliders for the drives of a hand, finger by finger, within their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import viser

from softgrasp.description.drive import Actuator
from softgrasp.description.hand import Hand

SHOWN_IN = {"rad": ("°", 180.0 / np.pi), "m": ("mm", 1e3), "Pa": ("kPa", 1e-3)}
"""Units on the page, and how many of them are one of the description's."""
STEPS, DIGITS = 500, 1
"""Of a slider, and of the numbers at its side where they have a unit."""
MAX_EXPANDED = 12
"""The sliders of a hand with more are folded away, finger by finger."""
LOCKED = 1e-6
"""Width of a slider that cannot be moved."""


class ActuatorSliders:
    """One slider a drive.

    Args:
        gui: The panel.
        hand: The hand.
        moved: Called with the targets of all drives [rad, m, Pa, …] where somebody moves one.
    """

    def __init__(self, gui: viser.GuiApi, hand: Hand, moved: Callable[[list[float]], None]) -> None:
        self._actuators, self._moved, self._still = hand.actuators, moved, False
        groups: dict[str, list[Actuator]] = {}
        for actuator in hand.actuators:
            groups.setdefault(_finger_of(hand, actuator), []).append(actuator)
        made: dict[str, viser.GuiInputHandle[float]] = {}
        for name, members in groups.items():
            with gui.add_folder(name, expand_by_default=len(hand.actuators) <= MAX_EXPANDED):
                made |= {actuator.name: self._add(gui, actuator, name) for actuator in members}
        self.handles = [made[actuator.name] for actuator in hand.actuators]

    @property
    def targets(self) -> list[float]:
        """Of the drives [rad, m, Pa, …], inside their limits."""
        pairs = zip(self.handles, self._actuators, strict=True)
        return [float(np.clip(one.value / _shown(d)[1], *d.limits)) for one, d in pairs]

    def put(self, targets: Sequence[float]) -> None:
        """Put the sliders where targets are, without telling that they have moved."""
        self._still = True
        for one, actuator, target in zip(self.handles, self._actuators, targets, strict=True):
            one.value = target * _shown(actuator)[1]  # type: ignore[misc]
        self._still = False

    def _add(
        self, gui: viser.GuiApi, actuator: Actuator, group: str
    ) -> viser.GuiInputHandle[float]:
        unit, per = _shown(actuator)
        digits = DIGITS if unit else None
        low, high = (_rounded(per * end, digits) for end in actuator.limits)
        step = _rounded((high - low) / STEPS, digits) or 10.0**-DIGITS
        high = max(high, low + LOCKED)
        name = actuator.name.removesuffix("_pressure").removeprefix(f"{group}_")
        slider = gui.add_slider(
            f"{name} / {unit}" if unit else name,
            low,
            high,
            step,
            min(max(_rounded(per * actuator.start, digits), low), high),
            hint=f"{actuator.label}, {actuator.format_values(*actuator.limits)}",
        )

        @slider.on_update
        def _(_: object) -> None:
            if not self._still:
                self._moved(self.targets)

        return slider


def _shown(actuator: Actuator) -> tuple[str, float]:
    return SHOWN_IN.get(actuator.unit, (actuator.unit, 1.0))


def _rounded(value: float, digits: int | None) -> float:
    return float(value) if digits is None else round(float(value), digits)


def _finger_of(hand: Hand, actuator: Actuator) -> str:
    for finger in hand.fingers:
        if actuator.joint in [finger.joint_of(row) for row in finger.phalanges]:
            return finger.name
    return "pressures" if actuator.unit == "Pa" else "actuators"
