"""Scenes in dm_control: composer entities in an arena, and a task for ``dm_env`` (extra ``dm``).

The only module that imports dm_control; it is loaded when it is used. Episodes are those of the
Gymnasium environment. Composer's arena sets solver options, and attaching a model loses every
option that equals MuJoCo's default, so all options are set again on the arena (decision 0001).
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.envs.episode import EnvSettings, Episode, grasp_task, with_goal
from softgrasp.envs.observations import Observation, Observations, in_palm_frame
from softgrasp.envs.simulation import Offset, clear_offset, moved_pose, touches_nothing
from softgrasp.errors import BackendUnavailable, BuildError, SoftgraspWarning, missing_library
from softgrasp.io.scene import load_scene
from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_sensors import contact_layout
from softgrasp.model.hand import add_hand
from softgrasp.model.names import OBJECT, contact_sensor
from softgrasp.model.object import add_object
from softgrasp.model.placement import object_pose
from softgrasp.model.scene import BuiltScene
from softgrasp.model.soft_finger import damp_as_described
from softgrasp.pipeline import compile_scene
from softgrasp.sim.step_refinement import lagging_as_described
from softgrasp.sim.stiffness_feedback import StiffnessFeedback

try:
    import dm_env
    from dm_control import composer
    from dm_control.composer.observation import observable
except ModuleNotFoundError as error:
    raise missing_library(error) from None

HAND, OBJECT_NAME = "hand/", f"{OBJECT}/{OBJECT}"
"""Prefix of the hand's parts, and name of the object's body, in a composed model."""


PAIR_FIELDS = ("condim", "friction", "solref", "solreffriction", "solimp", "margin", "gap")


def dm_environment(
    scene: GraspScene | str | Path, random_state: Any, settings: dict[str, Any]
) -> dm_env.Environment:
    """Make the environment of ``softgrasp.make_dm_env``."""
    described = scene if isinstance(scene, GraspScene) else load_scene(scene)
    built = compile_scene(with_goal(described))
    if built.scene.actuation != "servo" or built.contact.switches_friction:
        field, value = ("contact", "two coefficients of friction")
        if built.scene.actuation != "servo":
            field, value = "actuation", "prescribed joints"
        raise BuildError(f"{field}: expected servos and one friction for dm_control, found {value}")
    task = DmGraspTask(composer_scene(built.scene), built, EnvSettings(**settings))
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


class DmGraspTask(composer.Task):  # type: ignore[misc]
    """Composer task: close the hand during the closing time, then hold."""

    def __init__(self, composed: ComposerScene, built: BuiltScene, settings: EnvSettings) -> None:
        """Prepare a composed scene.

        Args:
            composed: The scene as composer entities.
            built: The same scene, compiled by softgrasp.
            settings: Actions, times and reward.
        """
        self.grasp = grasp_task(built, settings)
        self._composed, self._built = composed, built
        self._substeps = round(built.scene.control_period / built.model.opt.timestep)
        self._gravity = built.model.opt.gravity.copy()
        self._observations = Observations(self.grasp, built.model)
        self._observation: Observation = {}
        # without this they would be read at every physics step
        every = self._substeps * self.grasp.samples_per_action
        self._observables = {
            name: observable.Generic(partial(self._part, name), update_interval=every)
            for name in self._observations.bounds
        }
        for part in self._observables.values():
            part.enabled = True
        self._model: mujoco.MjModel | None = None
        self.set_timesteps(settings.decision_period, float(built.model.opt.timestep))

    @property
    def root_entity(self) -> Any:
        """The arena."""
        return self._composed.arena

    @property
    def task_observables(self) -> dict[str, Any]:
        """Return the observables: parts of an observation as in the Gymnasium environment."""
        return self._observables

    def action_spec(self, physics: Any) -> dm_env.specs.BoundedArray:
        """Return the specification: one number in −1…1 per active actuator."""
        return dm_env.specs.BoundedArray(self.grasp.active.shape, np.float64, -1.0, 1.0, "action")

    def after_compile(self, physics: Any, random_state: Any) -> None:
        """Look up addresses in a new model."""
        model = physics.model.ptr
        self._observations = Observations(self.grasp, model, HAND, OBJECT_NAME)
        first, _, self._force_sum = contact_layout(model, list(self.grasp.bodies), 1)
        self._sensors = slice(first, first + self._force_sum.shape[1])
        self._object_body = model.body(OBJECT_NAME).id
        hand = self._composed.hand.mjcf_model
        self._joints = physics.bind(hand.find_all("joint"))
        self._actuators = physics.bind(hand.find_all("actuator"))
        self._begin(physics)

    def initialize_episode(self, physics: Any, random_state: Any) -> None:
        """Set the start state."""
        physics.model.ptr.opt.gravity[:] = self._gravity
        noise, is_clear = self.grasp.settings.noise, partial(self._is_clear, physics)
        self._put(physics, clear_offset(self.grasp.scene, noise, random_state, is_clear))
        self._begin(physics)

    def before_step(self, physics: Any, action: Any, random_state: Any) -> None:
        """Plan an action."""
        self._plan, self._step = self._episode.plan(action), 0
        self._forces: list[Array] = []
        self._poses: list[tuple[Array, ...]] = []

    def before_substep(self, physics: Any, action: Any, random_state: Any) -> None:
        """Set targets and gravity at the beginning of a control sample."""
        sample, late = divmod(self._step, self._substeps)
        plan, count = self._plan, len(self._plan.targets)
        if late or sample >= count:
            return
        if (loaded := sample - count + len(plan.loads)) >= 0:
            physics.model.ptr.opt.gravity[:] = plan.loads[loaded]
        self._actuators.ctrl = plan.targets[sample]

    def after_substep(self, physics: Any, random_state: Any) -> None:
        """Store contact forces, and the object where needed, at the end of a control sample."""
        self._step += 1
        sample, early = divmod(self._step, self._substeps)
        count = len(self._plan.targets)
        if early or sample > count:
            return
        data = physics.data.ptr
        self._row += 1
        self._stiffness.correct(data, self._row)
        self._forces.append(self._force_sum @ data.sensordata[self._sensors])
        if sample > count - self._plan.samples:
            mujoco.mj_kinematics(physics.model.ptr, data)
            self._poses.append(tuple(part.copy() for part in self._observations.poses(data)))

    def after_step(self, physics: Any, random_state: Any) -> None:
        """Evaluate the action."""
        if len(self._forces) < len(self._plan.targets):
            self._episode.diverge()  # dm_control has stopped the step
            return
        columns = (np.array(column) for column in zip(*self._poses, strict=True))
        self._episode.update(self._plan, np.array(self._forces), in_palm_frame(*columns))
        self._observation = self._observations.read(self._episode, physics.data.ptr)

    def get_reward(self, physics: Any) -> float:
        """Return 1 where the object was held, else 0, plus the shaping."""
        return self._episode.reward()

    def get_discount(self, physics: Any) -> float:
        """Return 0 at success or failure, else 1."""
        return 0.0 if self._episode.terminated else 1.0

    def should_terminate_episode(self, physics: Any) -> bool:
        """Return whether success or failure is decided."""
        return self._episode.terminated

    def _begin(self, physics: Any) -> None:
        model = physics.model.ptr
        if model is not self._model:  # a composer compiles anew
            self._model, bias, step = model, model.actuator_biasprm, float(model.opt.timestep)
            bias[:] = lagging_as_described(model, bias, step)
        mujoco.mj_kinematics(physics.model.ptr, physics.data.ptr)
        self._stiffness, self._row = StiffnessFeedback(self._built, physics.model.ptr), 0
        self._episode = Episode(self.grasp, self._observations.object_pose(physics.data.ptr))
        self._observation = self._observations.read(self._episode, physics.data.ptr)

    def _part(self, name: str, _: Any) -> NDArray[np.float32]:
        return self._observation[name]

    def _put(self, physics: Any, offset: Offset | None) -> None:
        scene = self.grasp.scene
        self._joints.qpos, self._actuators.ctrl = scene.start, scene.start
        pose = object_pose(scene)
        position, quaternion = np.array(pose.position), np.array(pose.quaternion)
        if offset is not None:
            position, quaternion = moved_pose(position, quaternion, offset)
        self._composed.object.set_pose(physics, position, quaternion)

    def _is_clear(self, physics: Any, offset: Offset) -> bool:
        self._put(physics, offset)
        return touches_nothing(physics.model.ptr, physics.data.ptr, self._object_body)


class ComposerScene(NamedTuple):
    """A scene as composer entities of dm_control: arena, hand and object."""

    arena: Any
    """``composer.Arena`` with everything attached; ``arena.mjcf_model`` compiles to the scene."""
    hand: Any
    """``composer.Entity`` of the hand, named ``hand``."""
    object: Any
    """``composer.Entity`` of the object, named ``object``."""
    scene: GraspScene
    """The composed scene, with the object at its start clear of the hand."""


def composer_scene(scene: GraspScene) -> ComposerScene:
    """Make a composer arena with the hand and the object of a scene.

    Raises:
        BackendUnavailable: dm_control is missing or does not work with this MuJoCo.
        BuildError: The scene makes no model, or has what is not supported here: a planar or
            deformable object, further objects, surroundings, an arm, a lift, or a
            sequence.

    Warns:
        SoftgraspWarning: It has sensors, which are left out.
    """
    composer, mjcf = require_dm_control()
    _refuse_what_is_left_out(scene)
    if scene.sensors:
        warnings.warn(
            f"sensors: {len(scene.sensors)} of the scene are left out for dm_control, which has "
            "sensors of its own",
            SoftgraspWarning,
            stacklevel=2,
        )
    built = compile_scene(scene)
    scene = built.scene
    hand = _entity(composer, mjcf, _hand_xml(scene, float(built.model.opt.timestep)), "hand")
    obj = _entity(composer, mjcf, _object_xml(scene), OBJECT)
    arena = composer.Arena("scene")
    arena.attach(hand)
    _attach_object(arena, obj, scene)
    _set_options(arena.mjcf_model, built.model)
    _add_pairs(arena.mjcf_model, hand.mjcf_model, obj.mjcf_model, built)
    _add_contact_sensors(arena.mjcf_model, hand.mjcf_model, obj.mjcf_model, built)
    return ComposerScene(arena, hand, obj, scene)


def compile_physics(composed: ComposerScene) -> Any:
    """Compile a composed scene to ``mjcf.Physics`` in its start state."""
    _, mjcf = require_dm_control()
    physics = mjcf.Physics.from_mjcf_model(composed.arena.mjcf_model)
    scene, model = composed.scene, physics.model.ptr
    pose = object_pose(scene)
    step = float(model.opt.timestep)
    model.actuator_biasprm[:] = lagging_as_described(model, model.actuator_biasprm, step)
    with physics.reset_context():
        joints = composed.hand.mjcf_model.find_all("joint")
        physics.bind(joints).qpos = scene.start
        physics.bind(composed.hand.mjcf_model.find_all("actuator")).ctrl = scene.start
        if scene.object_mount == "free":
            composed.object.set_pose(physics, pose.position, pose.quaternion)
    return physics


def _refuse_what_is_left_out(scene: GraspScene) -> None:
    if scene.object_mount == "planar":
        raise BuildError("object_mount: expected 'free' or 'fixed' for dm_control, found 'planar'")
    if scene.object.elasticity is not None:
        raise BuildError(
            "object.elasticity: expected a rigid object for dm_control, found a deformable one"
        )
    for field in ("objects", "surroundings", "arm", "lift", "sequence"):
        if getattr(scene, field):
            raise BuildError(f"{field}: expected none for dm_control, found one")


def require_dm_control() -> tuple[Any, Any]:
    """Import dm_control's ``composer`` and ``mjcf`` modules.

    Raises:
        BackendUnavailable: dm_control is missing or does not work with this MuJoCo.
    """
    if find_spec("dm_control") is None:
        raise BackendUnavailable(
            "dm_control is not installed: pip install 'softgrasp[dm]' (Python 3.11 or 3.12)"
        )
    if int(mujoco.__version__.split(".")[0]) >= 4:
        raise BackendUnavailable(
            f"dm_control 1.0 needs MuJoCo below 4, found {mujoco.__version__}: "
            "pip uninstall -y mujoco mujoco-core mujoco-studio && pip install 'softgrasp[dm]'"
        )
    with warnings.catch_warnings():
        # without a display the search for a window library warns; nothing is drawn here
        warnings.simplefilter("ignore")
        from dm_control import composer, mjcf
    return composer, mjcf


def _entity(composer: Any, mjcf: Any, xml: str, name: str) -> Any:
    class MjcfEntity(composer.Entity):  # type: ignore[misc]
        def _build(self) -> None:
            self._model = mjcf.from_xml_string(xml)
            self._model.model = name

        @property
        def mjcf_model(self) -> Any:
            return self._model

    return MjcfEntity()


def _blank_spec() -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    return spec


def _hand_xml(scene: GraspScene, timestep: float) -> str:
    spec = _blank_spec()
    add_hand(spec, scene.mechanism.hand, scene.hand_pose, scene.actuation)
    if scene.integrator == "discrete":
        damp_as_described(spec, scene.hand, timestep)
    return str(spec.to_xml())


def _object_xml(scene: GraspScene) -> str:
    spec = _blank_spec()
    add_object(spec, scene.object, Pose(), "fixed")
    return str(spec.to_xml())


def _attach_object(arena: Any, obj: Any, scene: GraspScene) -> None:
    if scene.object_mount == "free":
        arena.add_free_entity(obj)
        return
    pose = object_pose(scene)
    frame = arena.attach(obj)
    frame.pos, frame.quat = pose.position, pose.quaternion


def _set_options(root: Any, model: mujoco.MjModel) -> None:
    """Set every option of dm_control's physics, including those at MuJoCo's defaults."""
    option = root.option
    for name in ("timestep", "impratio", "iterations", "noslip_iterations", "noslip_tolerance"):
        setattr(option, name, getattr(model.opt, name))
    option.gravity = model.opt.gravity
    option.integrator = _word(mujoco.mjtIntegrator, model.opt.integrator, "mjINT_")
    option.cone = _word(mujoco.mjtCone, model.opt.cone, "mjCONE_").lower()
    option.jacobian = _word(mujoco.mjtJacobian, model.opt.jacobian, "mjJAC_").lower()
    # composer's arena raises small masses; links without geometry have very small ones
    root.compiler.boundmass = root.compiler.boundinertia = 0


def _word(enum: Any, value: int, prefix: str) -> str:
    word = str(enum(value).name.removeprefix(prefix))
    return "Euler" if word == "EULER" else word.lower()


def _add_pairs(root: Any, hand: Any, obj: Any, built: BuiltScene) -> None:
    def geom(name: str) -> Any:
        return hand.find("geom", name) or obj.find("geom", name)

    for pair in built.spec.pairs:
        numbers: dict[str, Any] = {field: np.array(getattr(pair, field)) for field in PAIR_FIELDS}
        numbers["condim"] = int(pair.condim)
        root.contact.add("pair", geom1=geom(pair.geomname1), geom2=geom(pair.geomname2), **numbers)


def _add_contact_sensors(root: Any, hand: Any, obj: Any, built: BuiltScene) -> None:
    """Add the contact sensors of softgrasp's model, in the same order and with the same names."""
    _, (slots,), _ = contact_layout(built.model, built.bodies, 1)
    for body in built.bodies:
        root.sensor.add(
            "contact",
            name=contact_sensor(body),
            body1=hand.find("body", body),
            body2=obj.find("body", OBJECT),
            num=slots,
            data="force",
            reduce="maxforce",
        )
