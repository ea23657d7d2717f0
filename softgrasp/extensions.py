"""Table of what satellites and other distributions add to the core, imported on use.

Hydraulics, the digital twin, Webots and ODE, and continuum control are satellites: no core module
imports them. A reference is ``module:name``; ``load`` imports the module and returns the object of
that name. The satellites of this distribution stand in the tables below; other distributions add
theirs as entry points of the same groups. Reading the entry points of 137 installed distributions
takes 40 to 60 ms, so that they are read only for a name that is not in the table, or to list all
names; a checkout that is not installed, or a frozen program, keeps its satellites without metadata.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from softgrasp.errors import SoftgraspError

Reference = str | Callable[..., Any]
"""``module:name``, or the object itself."""


class Extensions(UserDict[str, Reference]):
    """Extensions by name: those of the satellites, then the entry points of other distributions.

    An entry that is set is available everywhere in this process.

    Args:
        group: Group of entry points without ``softgrasp.``.
        satellites: References by name; they precede entry points of the same name.
    """

    def __init__(self, group: str, **satellites: Reference) -> None:
        super().__init__(satellites)
        self._group = f"softgrasp.{group}"

    def __missing__(self, name: str) -> Reference:
        return self._installed()[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self._installed()

    def __iter__(self) -> Iterator[str]:
        return iter(self.data | self._installed())

    def __len__(self) -> int:
        return len(self._installed() | self.data)

    def load(self, name: str, part: str | None = None) -> Any:
        """Import an extension, or the object that one of its fields refers to.

        Args:
            name: Name of the extension.
            part: Field with a reference, of a ``CarrierExtension`` or ``CalibrationExtension``.

        Raises:
            KeyError: There is no such extension.
            SoftgraspError: The reference leads nowhere.
        """
        extension = load(self[name])
        return extension if part is None else load(getattr(extension, part))

    def _installed(self) -> dict[str, str]:
        return {item.name: item.value for item in _entry_points().select(group=self._group)}


@cache
def _entry_points() -> Any:
    from importlib.metadata import entry_points

    return entry_points()


def load(reference: Reference) -> Any:
    """Import the object that a reference ``module:name`` names.

    Args:
        reference: ``module:name``, or the object itself.

    Raises:
        SoftgraspError: The reference is malformed, or the module has no such name.
    """
    if not isinstance(reference, str):
        return reference
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise SoftgraspError(f"expected a reference such as 'package.module:name', got {reference}")
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        raise SoftgraspError(f"{reference}: module '{module}' has no '{name}'") from None


ENGINES = Extensions(
    "engines",
    ode="softgrasp.backends.webots.backend:OdeEngine",
    webots="softgrasp.backends.webots.backend:WebotsEngine",
    warp="softgrasp.backends.warp.backend:WarpEngine",
)
"""Functions that return a ``sim.engines.Engine``, by its name."""
ROW_EXECUTORS = Extensions("row_executors", warp="softgrasp.backends.warp.rows:WarpRows")
"""Executors that simulate the rows of a sweep plan in another engine, by their names."""
EPISODE_ENGINES = Extensions(
    "episode_engines", warp="softgrasp.backends.warp.backend:warp_episodes"
)
"""Functions (models, count, substeps) → ``envs.task_simulation.TaskPhysics``, by their engines."""
LOADERS = Extensions(
    "loaders", hand="softgrasp.io.load:load_hand", object="softgrasp.io.load:load_object"
)
"""Functions (name or file) → description, by the fields of a scene."""
NOTEBOOK = Extensions("notebook", html="softgrasp.report.notebook:html_of")
"""Function description or result → HTML, for notebooks."""
HARDWARE_CHECKS = Extensions(
    "hardware_checks", continuum_control="softgrasp.continuum_control.hardware:check_system"
)
"""Functions that raise DescriptionError for a ``ros2_control`` system they cannot drive."""


class CarrierExtension(NamedTuple):
    """Import references that a hand carrier other than a rigid arm registers."""

    description: str
    """Subclass of ``HandCarrier``."""
    model: str
    """Subclass of ``CarrierModel``."""
    reader: str
    """Function (tree, directory) → ``HandCarrier`` for the field ``arm`` of a scene file."""
    writer: str
    """Function ``HandCarrier`` → tree for the same field."""
    path: str
    """Function (scene, samples) → targets of the carrier's actuators in time, (samples, n)."""


CARRIERS = Extensions("hand_carriers", hydraulic="softgrasp.hydraulics.extension:CARRIER")
"""``CarrierExtension`` by the kind of the carrier, which is also the name of a required field."""


class CalibrationExtension(NamedTuple):
    """Import references that a calibration problem other than a soft finger's registers."""

    problem: str
    """Subclass of ``ExtensionProblem``."""
    reader: str
    """Function (tree, directory) → problem."""
    run: str
    """Function (problem, method, seed, swarm, directory, progress) → ``ExtensionResult``."""
    result: str
    """Function (problem, common fields) → ``ExtensionResult`` of a saved calibration."""
    images: str
    """Function (result, directory) → (title, file, caption) of each of its figures."""
    written: tuple[str, ...]
    """Patterns of the files that a calibration of this kind writes besides the common ones."""


CALIBRATIONS = Extensions("calibrations", arm="softgrasp.hydraulics.extension:CALIBRATION")
"""``CalibrationExtension`` by the kind of the problem, also the name of a required field."""
LISTS = {
    "hydraulic-arms": "softgrasp.hydraulics.cli:hydraulic_arms",
    "twins": "softgrasp.twin.cli_tools:twins",
    "pressure-fits": "softgrasp.twin.cli_tools:pressure_fits",
    "register-maps": "softgrasp.twin.cli_tools:register_maps",
    "robot-programs": "softgrasp.twin.cli_tools:robot_programs",
}
"""Functions that return the rows of ``softgrasp list KIND``, by kind."""
DEMOS = Extensions(
    "demos",
    hydraulic="softgrasp.hydraulics.cli:run_hydraulic_demo",
    twin="softgrasp.twin.cli:run_twin_demo",
)
"""Functions that run ``softgrasp demo NAME``, by name."""
COMMANDS = Extensions("commands", twin="softgrasp.twin.cli:twin")
"""Verbs, which are functions or Typer applications with verbs of their own, by name."""
WORLD_PROPERTIES = "softgrasp.backends.wbt.validation:world_properties"
"""Function file → (properties, problems) of a Webots world, for ``softgrasp check``."""
WORLD_WRITER = "softgrasp.backends.webots.backend:put_project"
"""Function that writes a Webots project, for ``softgrasp convert``."""
