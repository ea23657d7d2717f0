"""Controllers listed, loaded and switched at run time, as ros2_control does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from softgrasp.control.resources import ResourceManager
from softgrasp.errors import DescriptionError, did_you_mean

State = Literal["inactive", "active"]


class Controller(Protocol):
    """What computes commands, or only looks at states, once a period."""

    name: str

    def claims(self) -> Sequence[str]:
        """Command interfaces that it needs for itself."""
        ...

    def start(self, resources: ResourceManager, now: float) -> None:
        """Take over from the commands as they are."""
        ...

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Compute the commands of a period from ``now`` on [s]."""
        ...


class ControllerManager:
    """Holds the controllers of one robot."""

    def __init__(self, resources: ResourceManager) -> None:
        """Begin without controllers."""
        self.resources = resources
        self._known: dict[str, Controller] = {}
        self._active: list[str] = []

    def load(self, controller: Controller) -> None:
        """Make a controller known; it starts inactive.

        Raises:
            DescriptionError: There is one of that name.
        """
        if controller.name in self._known:
            raise DescriptionError(
                f"expected a new name, found controller '{controller.name}' twice"
            )
        self._known[controller.name] = controller

    def listed(self) -> list[tuple[str, State]]:
        """Controllers and whether they are active, in the order in which they were loaded."""
        return [(name, "active" if name in self._active else "inactive") for name in self._known]

    def switch(self, start: Iterable[str] = (), stop: Iterable[str] = (), now: float = 0.0) -> None:
        """Stop some controllers and start others, all of them or none.

        Raises:
            DescriptionError: A name is not known, or an interface is claimed twice; nothing has
                changed then.
        """
        starting, stopping = list(start), list(stop)
        for name in (*starting, *stopping):
            if name not in self._known:
                raise DescriptionError(f"no controller '{name}'; {did_you_mean(name, self._known)}")
        before = list(self._active)
        for name in stopping:
            self.resources.release(name)
        try:
            for name in starting:
                self.resources.claim(self._known[name].claims(), name)
        except DescriptionError:
            for name in starting:
                self.resources.release(name)
            for name in before:
                self.resources.claim(self._known[name].claims(), name)
            raise
        self._active = [name for name in before if name not in stopping]
        for name in starting:
            if name not in self._active:
                self._active.append(name)
                self._known[name].start(self.resources, now)

    def update(self, now: float, period: float) -> None:
        """Let the active controllers compute, in the order in which they were started."""
        for name in self._active:
            self._known[name].update(self.resources, now, period)
