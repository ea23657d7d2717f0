"""A scene as a dm_env (extra ``dm``): composer entities in an arena, and their task.

The only module that imports dm_control; it is loaded when it is used. Episodes are those of the
Gymnasium environment. Composer's arena sets solver options, and attaching a model loses every
option that equals MuJoCo's default, so all of them are copied (decision 0001).
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.envs.core import Observation, check_numbers
from softgrasp.envs.episode import EnvSettings, Episode, GraspTask, with_goal
from softgrasp.envs.simulation import PARTS, SceneSimulation
from softgrasp.errors import BuildError, missing_library
from softgrasp.model.contact_sensors import contact_layout
from softgrasp.model.hand import add_hand
from softgrasp.model.names import OBJECT, contact_sensor
from softgrasp.model.object import add_object
from softgrasp.model.scene import CompiledScene
from softgrasp.model.soft_finger import damp_as_described
from softgrasp.pipeline import compile_scene
from softgrasp.sim.step_refinement import lagging_as_described

try:
    import dm_env

    with warnings.catch_warnings():
        # without a display the search for a window library warns; nothing is drawn here
        warnings.simplefilter("ignore")
        from dm_control import composer, mjcf
        from dm_control.composer.observation import observable
except ModuleNotFoundError as error:
    raise missing_library(error) from None

HAND, OBJECT_NAME = "hand/", f"{OBJECT}/{OBJECT}"
"""Prefix of the hand's parts, and name of the object's body, in a composed model."""
PAIRS = ("dim", "friction", "solref", "solreffriction", "solimp", "margin", "gap")
OPTIONS = (
    "gravity", "impratio", "integrator", "cone", "jacobian", "iterations", "noslip_iterations",
    "noslip_tolerance",
)  # fmt: skip
"""Numbers of contact pairs and solver that a composed model takes over from softgrasp's."""


def dm_environment(
    scene: GraspScene | str | Path, random_state: Any, settings: dict[str, Any]
) -> dm_env.Environment:
    """Make the environment of ``softgrasp.make_dm_env``."""
    built = compile_scene(with_goal(scene))
    _refuse_what_is_left_out(built)
    task = DmGraspTask(built, EnvSettings(**settings))
    return composer.Environment(
        task,
        time_limit=task.grasp.settings.time_limit or float("inf"),
        random_state=random_state,
        recompile_mjcf_every_episode=False,
        strip_singleton_obs_buffer_dim=True,
        raise_exception_on_physics_error=False,
        # whole steps: a step that ends with the first half of the next one leaves constraint
        # arrays that MuJoCo has not yet filled, from which stiffness feedback reads NaN
        legacy_step=False,
    )


def _refuse_what_is_left_out(built: CompiledScene) -> None:
    """Refuse what a composed scene does not have."""
    scene, plain = built.scene, "servos and one friction"
    unsupported = {
        "actuation": (scene.actuation != "servo", plain, "prescribed joints"),
        "contact": (built.contact.switches_friction, plain, "two coefficients of friction"),
        "object_mount": (scene.object_mount == "planar", "'free'", "'planar'"),
    }
    for field in ("pressure_lag", "stiffness_pressure"):
        has_any = any(getattr(finger.finger, field) for finger in scene.hand.soft_fingers)
        unsupported[field] = has_any, "none", "one"
    for field in ("objects", "surroundings", "arm", "lift", "sequence"):
        unsupported[field] = bool(getattr(scene, field)), "none", "one"
    for field, (is_present, expected, value) in unsupported.items():
        if is_present:
            raise BuildError(f"{field}: expected {expected} for dm_control, found {value}")


class SpecEntity(composer.Entity):  # type: ignore[misc]
    """A spec as a composer entity."""

    def _build(self, spec: mujoco.MjSpec, name: str) -> None:
        self._model = mjcf.from_xml_string(str(spec.to_xml()))
        self._model.model = name

    @property
    def mjcf_model(self) -> Any:
        """The spec as MJCF of dm_control."""
        return self._model


def compose_scene(built: CompiledScene) -> composer.Arena:
    """Make an arena with the entities ``hand`` and ``object`` of a scene with a free object.

    Args:
        built: The scene, compiled by softgrasp.
    """
    scene, (hand_spec, object_spec) = built.scene, (mujoco.MjSpec(), mujoco.MjSpec())
    hand_spec.compiler.degree = object_spec.compiler.degree = False
    add_hand(hand_spec, scene.mechanism.hand, scene.hand_pose, scene.actuation)
    if scene.integrator == "discrete":
        damp_as_described(hand_spec, scene.hand, float(built.model.opt.timestep))
    add_object(object_spec, scene.object, Pose(), "fixed")
    hand, obj = SpecEntity(hand_spec, "hand"), SpecEntity(object_spec, OBJECT)
    arena = composer.Arena("scene")
    arena.attach(hand)
    arena.add_free_entity(obj)
    root, hand_model, object_model = (entity.mjcf_model for entity in (arena, hand, obj))
    # composer's arena raises small masses; links without geometry have very small ones
    root.compiler.boundmass = root.compiler.boundinertia = 0
    geoms = {g.name: g for model in (object_model, hand_model) for g in model.find_all("geom")}
    for pair in built.spec.pairs:
        root.contact.add("pair", geom1=geoms[pair.geomname1], geom2=geoms[pair.geomname2])
    start = {name: getattr(built.model, f"key_{name}")[0] for name in ("qpos", "ctrl")}
    root.keyframe.add("key", name="start", **start)
    _, (slots,), _ = contact_layout(built.model, built.bodies, 1)
    for body in built.bodies:  # the contact sensors of softgrasp's model
        root.sensor.add(
            "contact",
            name=contact_sensor(body),
            body1=hand_model.find("body", body),
            body2=object_model.find("body", OBJECT),
            num=slots,
            data="force",
            reduce="maxforce",
        )
    return arena


class DmGraspTask(composer.Task):  # type: ignore[misc]
    """Composer task: close the hand during the closing time, then hold."""

    def __init__(self, built: CompiledScene, settings: EnvSettings) -> None:
        """Compose a scene.

        Args:
            built: The scene, compiled by softgrasp.
            settings: Actions, times and reward.
        """
        self.grasp, self._built = GraspTask(built, settings), built
        self._arena = compose_scene(built)
        self._substeps = round(built.scene.control_period / built.model.opt.timestep)
        self._observation: Observation = {}
        # without this they would be read at every physics step
        every = self._substeps * self.grasp.samples_per_action
        self._observables = {
            name: observable.Generic(partial(self._part, name), update_interval=every)
            for name in PARTS
        }
        for part in self._observables.values():
            part.enabled = True
        self.set_timesteps(settings.decision_period, float(built.model.opt.timestep))

    @property
    def root_entity(self) -> Any:
        """The arena."""
        return self._arena

    @property
    def task_observables(self) -> dict[str, Any]:
        """Return the observables: parts of an observation as in the Gymnasium environment."""
        return self._observables

    def action_spec(self, physics: Any) -> dm_env.specs.BoundedArray:
        """Return the specification: one number in −1…1 per active actuator."""
        return dm_env.specs.BoundedArray(self.grasp.active.shape, np.float64, -1.0, 1.0, "action")

    def after_compile(self, physics: Any, random_state: Any) -> None:
        """Look up addresses in a new model, and copy solver and contact pairs into it."""
        model, original = physics.model.ptr, self._built.model
        for name in OPTIONS:
            setattr(model.opt, name, getattr(original.opt, name))
        for name in PAIRS:
            getattr(model, f"pair_{name}")[:] = getattr(original, f"pair_{name}")
        step = float(model.opt.timestep)
        model.actuator_biasprm[:] = lagging_as_described(model, model.actuator_biasprm, step)
        data, parts = physics.data.ptr, (HAND, OBJECT_NAME)
        self._simulation = SceneSimulation(self._built, self.grasp, model, data, *parts)
        self._observe()

    def initialize_episode(self, physics: Any, random_state: Any) -> None:
        """Set the start state."""
        self._simulation.reset(0, random_state)
        self._observe()

    def before_step(self, physics: Any, action: Any, random_state: Any) -> None:
        """Plan an action."""
        values = check_numbers(action, (len(self.grasp.active),), "actuator")
        self._count, self._step = self._simulation.plan(values), 0

    def before_substep(self, physics: Any, action: Any, random_state: Any) -> None:
        """Set targets and gravity at the beginning of a control sample."""
        sample, late = divmod(self._step, self._substeps)
        if not late and sample < self._count:
            physics.data.ptr.ctrl[:] = self._simulation.begin_sample(sample)

    def after_substep(self, physics: Any, random_state: Any) -> None:
        """Record the state at the end of a control sample."""
        self._step += 1
        sample, early = divmod(self._step, self._substeps)
        if not early and sample <= self._count:
            self._simulation.end_sample(sample - 1)

    def after_step(self, physics: Any, random_state: Any) -> None:
        """Evaluate the action."""
        # dm_control stops a step that diverges
        self._simulation.finish(failed=self._step < self._count * self._substeps)
        self._observe()

    def get_reward(self, physics: Any) -> float:
        """Return 1 where the object was held, else 0, plus the shaping."""
        return self._episode.reward()

    def get_discount(self, physics: Any) -> float:
        """Return 0 at success or failure, else 1."""
        return 0.0 if self._episode.terminated else 1.0

    def should_terminate_episode(self, physics: Any) -> bool:
        """Return whether success or failure is decided."""
        return self._episode.terminated

    @property
    def _episode(self) -> Episode:
        return self._simulation.episode

    def _observe(self) -> None:
        observed = self._simulation.observe([0], PARTS)
        self._observation = {name: part[0] for name, part in observed.items()}

    def _part(self, name: str, _: Any) -> NDArray[np.float32]:
        return self._observation[name]
