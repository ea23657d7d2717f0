"""Simulate a scene in the reference engine."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import cached_property

import scipy

from softgrasp.description import HandCarrier
from softgrasp.errors import BuildError
from softgrasp.model import names
from softgrasp.plugin_api import (
    ClosureRun,
    CompiledScene,
    Progress,
    Stepper,
    StepRefinement,
    build,
    max_rows,
)
from softgrasp.resolution import ResolvedScene
from softgrasp.sim import ContactPoint, ContactReader, EngineRecord, Recording
from tests.reference_engine.dynamics import ContactDynamics
from tests.reference_engine.pairs import GeomPairs, pairs_of_scene
from tests.reference_engine.settings import ReferenceSettings
from tests.reference_engine.stepper import ReferenceStepper, TouchReader

NAME = "reference"


class ReferenceRun(ClosureRun):
    """A grasp simulated in the reference engine, with the closed loop of ``ClosureRun``."""

    def __init__(
        self,
        built: CompiledScene,
        progress: Progress | None = None,
        settings: ReferenceSettings | None = None,
    ) -> None:
        """Put the scene into its start state.

        Args:
            built: The scene.
            progress: Called with the simulated time [s] from time to time.
            settings: Integrator and tolerances.

        Raises:
            BuildError: The scene has a feature that the engine lacks; names it.
        """
        self._settings = settings or ReferenceSettings()
        require_supported(built)
        self._pairs: GeomPairs = pairs_of_scene(built, self._settings.stick_speed)
        super().__init__(built, progress)
        self.engine = EngineRecord(
            NAME, f"scipy {scipy.__version__}", f"{self._settings.method}, adaptive",
            built.scene.control_period,
        )  # fmt: skip

    @cached_property
    def _dynamics(self) -> ContactDynamics:
        moved = self.layout.dof_of_actuator
        return ContactDynamics(self.model, self.data, self._pairs, self._settings, moved)

    @cached_property
    def _contacts(self) -> ContactReader:
        return TouchReader(self._dynamics)

    @property
    def peaks(self) -> None:
        """None: forces are evaluated at control samples."""
        return None

    def contact_points(self) -> list[ContactPoint]:
        """Read the contacts with objects at the end of the last control period."""
        return self._contacts.read(self.data)

    def _new_stepper(self) -> Stepper:
        width = self.layout.force_sum.shape[1]
        bodies, rows = len(self.built.bodies), max_rows(self.scene)
        recording = Recording.empty(self.model, bodies, width, rows)
        steps = StepRefinement(self.layout, self.stiffness, self.model)
        self.model.actuator_biasprm[:] = self.built.start.actuator_biasprm  # its steps add no lag
        touches = TouchReader(self._dynamics)
        return ReferenceStepper(self._dynamics, self.layout, self.state, recording, steps, touches)


def require_supported(built: CompiledScene) -> None:
    """Refuse features that the engine lacks.

    Raises:
        BuildError: There is one; names it.
    """
    for field, feature in _unsupported(built):
        raise BuildError(f"{field}: the reference engine has no {feature}")


def _unsupported(built: CompiledScene) -> Iterator[tuple[str, str]]:
    """Yield (field, feature) of what the engine lacks."""
    scene, model = built.scene, built.model
    if scene.hand.soft_fingers:
        yield "hand.soft_fingers", "soft fingers"
    if scene.object.elasticity is not None:
        yield "object.elasticity", "deformable objects"
    if isinstance(scene.arm, HandCarrier):
        yield "arm", f"{scene.arm.kind} carriers of the hand"
    if scene.sensors:
        yield "sensors", "sensors"
    if scene.success is not None and scene.success.pulls:
        yield "success.pulls", "pull-out tests"
    if scene.success is not None and scene.success.removes:
        yield "success.removes", "surroundings that are removed for the hold test"
    if model.neq or model.ntendon:
        yield "hand", "coupled joints"
    if model.dof_frictionloss.any():
        yield "hand", "dry friction in joints"
    joint = _passive_joint(built)
    if joint:
        yield "actuation", f"passive joint '{joint}' beside prescribed ones"


def _passive_joint(built: CompiledScene) -> str:
    """Return a joint of the hand without an actuator where joints are prescribed, else ''."""
    model = built.model
    if built.scene.actuation != "prescribed":
        return ""
    moved = {int(joint) for joint in model.actuator_trnid[:, 0]}
    for joint in range(model.njnt):
        body = model.body(int(model.jnt_bodyid[joint])).name
        if joint not in moved and not names.is_object(body):
            return str(model.joint(joint).name)
    return ""


class ReferenceEngine:
    """The engine; see ``sim.engines.Engine``."""

    name, shortest_step, constraint_softness = NAME, math.inf, None
    # no run with another time step is of use: the integrator controls its error

    def __init__(self, settings: ReferenceSettings | None = None) -> None:
        """Prepare runs.

        Args:
            settings: Integrator, tolerances and stick speed.
        """
        self._settings = settings

    def version(self) -> str:
        """Return the version of scipy, whose integrators the engine uses."""
        return f"scipy {scipy.__version__}"

    def require_supported(self, resolved: ResolvedScene) -> None:
        """Refuse a scene with features that the engine lacks; see ``Engine``."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the run gives them
            built = build(resolved)
        require_supported(built)
        pairs_of_scene(built, ReferenceSettings().stick_speed)

    def run(self, built: CompiledScene, progress: Progress | None = None) -> ReferenceRun:
        """Run a compiled scene; see ``Engine``."""
        run = ReferenceRun(built, progress, self._settings)
        run.run()
        return run
