"""Table of what optional packages add to the core, as references that are imported on use.

Hydraulics, Webots and ODE, and continuum control are satellites: no core module imports them. A
reference is ``module:name``; ``load`` imports the module and returns the object of that name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from softgrasp.errors import SoftgraspError

ROW_EXECUTORS = {"warp": "softgrasp.backends.warp.rows:WarpRows"}
"""Executors that simulate the rows of a sweep plan in another engine, by their names."""
ENGINES: dict[str, str | Callable[[], Any]] = {
    "reference": "softgrasp.backends.reference.backend:ReferenceEngine",
    "ode": "softgrasp.backends.webots.backend:ode_engine",
    "webots": "softgrasp.backends.webots.backend:webots_engine",
    "warp": "softgrasp.backends.warp.backend:WarpEngine",
}
"""Functions that return a ``sim.engines.Engine``, by its name; an entry added here is available
everywhere."""
HARDWARE_CHECKS = ("softgrasp.continuum_control.hardware:check_system",)
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


CARRIERS = {
    "hydraulic": CarrierExtension(
        description="softgrasp.hydraulics.description:HydraulicCarrier",
        model="softgrasp.hydraulics.hand_carrier:HydraulicCarrierModel",
        reader="softgrasp.hydraulics.files:carrier_from",
        writer="softgrasp.hydraulics.files:carrier_tree",
        path="softgrasp.hydraulics.hand_carrier:chamber_path",
    ),
}
"""Hand carriers by their kind, which is also the name of a required field."""


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


CALIBRATIONS = {
    "arm": CalibrationExtension(
        problem="softgrasp.hydraulics.calibration:ArmCalibrationProblem",
        reader="softgrasp.hydraulics.calibration:arm_problem_from",
        run="softgrasp.hydraulics.calibration:calibrate_arm",
        result="softgrasp.hydraulics.calibration:arm_result_from",
        images="softgrasp.hydraulics.report:arm_images",
        written=("arm.yaml", "motions.png", "motions.csv"),
    ),
}
"""Calibration problems by their kind, which is also the name of a required field."""

LISTS = {
    "hydraulic-arms": "softgrasp.hydraulics.cli:hydraulic_arms",
    "twins": "softgrasp.twin.cli_tools:twins",
    "pressure-fits": "softgrasp.twin.cli_tools:pressure_fits",
    "register-maps": "softgrasp.twin.cli_tools:register_maps",
    "robot-programs": "softgrasp.twin.cli_tools:robot_programs",
}
"""Functions that return the rows of ``softgrasp list KIND``, by kind."""
DEMOS = {
    "hydraulic": "softgrasp.hydraulics.cli:run_hydraulic_demo",
    "twin": "softgrasp.twin.cli:run_twin_demo",
}
"""Functions that run ``softgrasp demo NAME``, by name."""
COMMAND_GROUPS = {"twin": "softgrasp.twin.cli:twin"}
"""Groups of verbs, which are Typer applications, by name."""
WORLD_PROPERTIES = "softgrasp.backends.webots.cli:world_properties"
"""Function file → (properties, problems) of a Webots world, for ``softgrasp check``."""
WORLD_WRITER = "softgrasp.backends.webots.cli:put_project"
"""Function that writes a Webots project, for ``softgrasp convert``."""


def load(reference: str) -> Any:
    """Import the object that a reference ``module:name`` names.

    Args:
        reference: ``module:name``.

    Raises:
        SoftgraspError: The reference is malformed, or the module has no such name.
    """
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise SoftgraspError(f"expected a reference such as 'package.module:name', got {reference}")
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        raise SoftgraspError(f"{reference}: module '{module}' has no '{name}'") from None
