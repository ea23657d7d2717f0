"""Any scene as dm_control composer entities in an arena (extra ``dm``).

The only place that knows dm_control, imported when it is called. Composer's arena brings solver
options of its own, and attaching a model loses every option that equals MuJoCo's default, so all
options are stated again on the arena (decision 0001).
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.build.hand import add_hand
from softgrasp.build.names import OBJECT, contact_sensor
from softgrasp.build.objects import add_object
from softgrasp.build.placing import object_pose
from softgrasp.build.scene import BuiltScene, build
from softgrasp.build.sensors import contact_layout
from softgrasp.description.pose import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable, BuildError, SoftgraspWarning

PAIR_FIELDS = ("condim", "friction", "solref", "solreffriction", "solimp", "margin", "gap")


class ComposerScene(NamedTuple):
    """A scene in dm_control's terms."""

    arena: Any
    """``composer.Arena`` with everything attached; ``arena.mjcf_model`` compiles to the scene."""
    hand: Any
    """``composer.Entity`` of the hand, named ``hand``."""
    object: Any
    """``composer.Entity`` of the object, named ``object``."""
    scene: GraspScene
    """What was composed, with the object where it starts clear of the hand."""


def composer_scene(scene: GraspScene) -> ComposerScene:
    """Make a composer arena with the hand and the object of a scene.

    Raises:
        BackendUnavailable: dm_control is missing or does not work with this MuJoCo.
        BuildError: The scene makes no model, or has what is not offered here: an object that moves
            in a plane or is deformable, further objects, surroundings, an arm, a lift, or a
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
    built = build(scene)
    scene = built.scene
    hand = _entity(composer, mjcf, _hand_xml(scene), "hand")
    obj = _entity(composer, mjcf, _object_xml(scene), OBJECT)
    arena = composer.Arena("scene")
    arena.attach(hand)
    _attach_object(arena, obj, scene)
    _state_options(arena.mjcf_model, built.model)
    _add_pairs(arena.mjcf_model, hand.mjcf_model, obj.mjcf_model, built)
    _add_contact_sensors(arena.mjcf_model, hand.mjcf_model, obj.mjcf_model, built)
    return ComposerScene(arena, hand, obj, scene)


def compile_physics(composed: ComposerScene) -> Any:
    """``mjcf.Physics`` of a composed scene in its start state."""
    _, mjcf = require_dm_control()
    physics = mjcf.Physics.from_mjcf_model(composed.arena.mjcf_model)
    scene = composed.scene
    pose = object_pose(scene)
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
    """dm_control's ``composer`` and ``mjcf`` modules.

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
        # without a display, looking for a window library warns; nothing here draws
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


def _hand_xml(scene: GraspScene) -> str:
    spec = _blank_spec()
    add_hand(spec, scene.mechanism.hand, scene.hand_pose, scene.actuation)
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


def _state_options(root: Any, model: mujoco.MjModel) -> None:
    """State every option that decides the physics, those at MuJoCo's defaults included."""
    option = root.option
    for name in ("timestep", "impratio", "iterations", "noslip_iterations", "noslip_tolerance"):
        setattr(option, name, getattr(model.opt, name))
    option.gravity = model.opt.gravity
    option.integrator = _word(mujoco.mjtIntegrator, model.opt.integrator, "mjINT_")
    option.cone = _word(mujoco.mjtCone, model.opt.cone, "mjCONE_").lower()
    option.jacobian = _word(mujoco.mjtJacobian, model.opt.jacobian, "mjJAC_").lower()
    # composer's arena lifts small masses; links without a body have very little
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
    """The sensors of our own model, in the same order, under the same names."""
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
