"""The task of an environment: close the hand until its time is up, then hold, or lift.

What an episode needs to know of a scene, as constants; nothing here runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.build.scene import BuiltScene, start_targets
from softgrasp.description.scene import GraspScene
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Lift
from softgrasp.environments.settings import EnvSettings
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.lifting import lift_path
from softgrasp.simulation.loading import gravity_steps

WHOLE = 1e-6
"""A decision period is a whole number of control periods to this share of one."""


@dataclass(frozen=True, eq=False)
class GraspTask:
    """Constants of all episodes of one scene; nd drives of the hand, nu actuators, nb bodies."""

    scene: GraspScene
    settings: EnvSettings
    bodies: tuple[str, ...]
    """Bodies of the hand that can touch, (nb,)."""
    actuators: tuple[str, ...]
    """Actuators of the hand, (nd,)."""
    active: NDArray[np.int64]
    """Drives that an agent moves: those with a closing rate."""
    start: Array
    """Targets of all actuators at the start, (nu,)."""
    increments: Array
    """Growth of the targets in a control period at action 1, (nd,)."""
    lower: Array
    upper: Array
    """Ends of the targets, (nd,)."""
    samples_per_action: int
    closing_samples: int
    test_samples: int
    loads: Array
    """Gravity at the samples of a hold test, (n, 3) [m/s²]; empty for a lift."""
    path: Array
    """Targets of what carries the hand at the samples of a lift, (n, nu − nd); may be empty."""
    fingers: tuple[tuple[int, ...], ...]
    """Places in ``bodies`` of each finger's bodies."""
    object_radius: float
    """Of a ball around the object [m]."""

    @property
    def criterion(self) -> SuccessCriterion | Lift:
        """What success means."""
        success = self.scene.success or self.scene.lift
        assert success is not None  # with_goal has seen to it
        return success


def with_goal(scene: GraspScene) -> GraspScene:
    """The scene with a hold test where it asks for neither that nor a lift.

    Raises:
        DescriptionError: Its object is fixed, so that nothing can be held, or deformable; or its
            closure senses by what an agent does not have.
    """
    if scene.object.elasticity is not None:
        raise DescriptionError(
            "expected a rigid object for an environment, found a deformable one",
            field="object.elasticity",
        )
    if scene.closure.sense == "sensor":
        raise DescriptionError(
            "expected 'force' for an environment, whose contacts are judged by true forces, found "
            "'sensor'",
            field="closure.sense",
        )
    if scene.success is not None or scene.lift is not None:
        return scene
    return scene.replace(success=SuccessCriterion())


def grasp_task(built: BuiltScene, settings: EnvSettings) -> GraspTask:
    """The task of a built scene that has a goal.

    Raises:
        DescriptionError: The decision period is not a whole number of control periods, or no drive
            has a closing rate.
        BuildError: An arm does not reach.
    """
    scene = built.scene
    _refuse_what_is_left_out(scene)
    active = np.flatnonzero(scene.rates)
    if not active.size:
        raise DescriptionError(
            "expected a drive with a closing rate, which an agent could move, found none",
            field="closure.rates",
        )
    loads, path, test_samples = _test(scene, built.model)
    limits = np.array(scene.limits)
    return GraspTask(
        scene=scene,
        settings=settings,
        bodies=tuple(built.bodies),
        actuators=tuple(actuator.name for actuator in scene.actuators),
        active=active,
        start=np.array(start_targets(scene)),
        increments=np.array(scene.rates) * scene.control_period * settings.speed,
        lower=limits[:, 0],
        upper=limits[:, 1],
        samples_per_action=_samples_per_action(scene, settings),
        closing_samples=max(round(_closing_time(scene, settings) / scene.control_period), 1),
        test_samples=test_samples,
        loads=loads,
        path=path,
        fingers=_fingers(built),
        object_radius=_object_radius(built.model),
    )


def _refuse_what_is_left_out(scene: GraspScene) -> None:
    if scene.objects:
        raise DescriptionError(
            f"expected none in an environment, found {len(scene.objects)}", field="objects"
        )
    if not scene.is_plain:
        raise DescriptionError(
            "expected a closure with a ramp of gravity or a lift behind it in an environment, "
            "found " + ("a sequence" if scene.sequence else "a criterion with more than that"),
            field="sequence" if scene.sequence else "success",
        )


def _samples_per_action(scene: GraspScene, settings: EnvSettings) -> int:
    ratio = settings.decision_period / scene.control_period
    samples = round(ratio)
    if samples < 1 or abs(ratio - samples) > WHOLE:
        raise DescriptionError(
            f"expected a whole number of control periods of {scene.control_period:g} s, found "
            f"{settings.decision_period:g} s",
            field="decision_period",
        )
    return samples


def _closing_time(scene: GraspScene, settings: EnvSettings) -> float:
    duration = settings.closing_time or scene.duration
    if duration is not None:
        return duration
    ranges = zip(scene.limits, scene.start, scene.rates, strict=True)
    travel = [((high if rate > 0 else low) - at) / rate for (low, high), at, rate in ranges if rate]
    return min(travel) / settings.speed + scene.closure.settle_time


def _test(scene: GraspScene, model: mujoco.MjModel) -> tuple[Array, Array, int]:
    """Loads and path of the hold test, or of the lift, and its samples, as a run has them."""
    period, none = scene.control_period, np.zeros((0, 0))
    if scene.lift is not None:
        samples = max(round(scene.lift.time / period), 1)
        path = lift_path(scene, scene.lift, samples)
        return none, path, samples + round(scene.lift.hold_time / period)
    assert scene.success is not None
    steps = gravity_steps(scene.success, model.opt.gravity.copy(), period)
    samples_of, loads = zip(*steps, strict=True)
    return np.repeat(loads, samples_of, axis=0), none, sum(samples_of)


def _fingers(built: BuiltScene) -> tuple[tuple[int, ...], ...]:
    parts = names.parts(built.scene.hand)
    bodies: dict[str, list[int]] = {}
    for index, body in enumerate(built.bodies):
        if body in parts:
            bodies.setdefault(parts[body][0], []).append(index)
    return tuple(tuple(part) for part in bodies.values())


def _object_radius(model: mujoco.MjModel) -> float:
    is_object = model.geom_bodyid == model.body(names.OBJECT).id
    return float(model.geom_rbound[is_object].max())
