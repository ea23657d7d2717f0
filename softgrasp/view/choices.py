"""Which hand takes which object how, as somebody chooses it on a page."""

from __future__ import annotations

from collections.abc import Callable

from softgrasp.description.base import Description
from softgrasp.description.scene import GraspScene


class Choices(Description):
    """What the form asks for; what is None stays as hand and object describe it."""

    hand: str
    object: str | None = None
    grasp: str | None = None
    density: float | None = None
    """Of the object [kg/m³]."""
    friction: float | None = None
    """Static and dynamic [–]."""
    closure: str | None = None
    gravity: bool = False
    """While the hand closes."""
    hold: bool = True
    """Whether gravity grows after the closure, to see whether the object is held."""

    @property
    def command(self) -> str:
        """The command line that does the same."""
        words = ["softgrasp grasp", self.hand, self.object or "OBJECT"]
        for name in ("grasp", "density", "friction", "closure"):
            value = getattr(self, name)
            if value is not None:
                words.append(f"--{name} {value:g}" if name in NUMBERS else f"--{name} {value}")
        words += ["--gravity"] * self.gravity + ["--hold"] * self.hold
        return " ".join(words)


NUMBERS = {"density": "density / kg/m³", "friction": "friction / –"}
"""Fields that hold a number, and what they are called."""

MakeScene = Callable[[Choices], GraspScene]
"""From choices to a scene; raises DescriptionError where they do not fit."""
