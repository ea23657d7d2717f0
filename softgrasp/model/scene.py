"""Compilation of a resolved scene to a MuJoCo model with start state and converted contacts.

``assemble`` compiles hand and carrier, objects, surroundings and sensors, to measure overlaps and
effective masses; ``build`` adds contact pairs, key frame and visual elements.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.arm import HandCarrier
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import lowest_point
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.arm import carrier_start, carry_hand, hand_posture, wrist_center
from softgrasp.model.clearance import (
    START_TOLERANCE,
    Overlap,
    hand_overlap,
    refuse_hand_overlap,
    refuse_overlaps,
)
from softgrasp.model.compile import compiled
from softgrasp.model.contact_pairs import (
    ContactGroup,
    Pair,
    PairParameters,
    add_pairs,
    model_pairs,
    pair_parameters,
    penetration,
    self_pairs,
    with_objects,
    with_surroundings,
)
from softgrasp.model.contact_sensors import add_contact_sensors, add_force_sensors, contact_slots
from softgrasp.model.deformable import add_deformable, full_size
from softgrasp.model.effective_mass import closing_postures
from softgrasp.model.hand import extend_reach, limit_torques, settle, silence
from softgrasp.model.hand_carrier import carrier_model
from softgrasp.model.names import scene_label
from softgrasp.model.object import (
    PlacedItem,
    add_object,
    add_surroundings,
    arrange_items,
    density_guess,
    is_usual,
    lowest_surrounding,
    mean_density,
    shows_floor_as_table,
)
from softgrasp.model.soft_finger import damp_as_described, warn_of_damping
from softgrasp.model.timestep import fine_timesteps, resolve_contact
from softgrasp.model.visual import FLOOR_GAP, add_visuals

INTEGRATORS = {
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
}


class FineStep(NamedTuple):
    """A further time step of a model and the contact parameters that belong to it."""

    timestep: float
    """Time step [s]."""
    pair_solref: Array
    """(np, 2)"""
    pair_solreffriction: Array
    """(np, 2)"""


class StartParameters(NamedTuple):
    """Parameters of a model that runs change, with which every run begins."""

    timestep: float
    """It becomes shorter while contacts begin and end (``sim.step_refinement``) [s]."""
    gravity: Array
    """A hold test changes it, (3,) [m/s²]."""
    pair_solref: Array
    """Stiffness and damping, which ``sim.stiffness_feedback`` corrects, (np, 2)."""
    pair_solreffriction: Array
    """(np, 2)"""
    pair_friction: Array
    """It switches with slip, (np, 5)."""
    actuator_biasprm: Array
    """As described, without what a time step adds, (nu, 10)."""
    jnt_stiffness: Array
    """It may depend on the pressure of a soft finger, (nj,)."""

    @classmethod
    def of(cls, model: mujoco.MjModel) -> StartParameters:
        """Copy those of a model as built."""
        arrays = (getattr(model, name).copy() for name in cls._fields[2:])
        return cls(float(model.opt.timestep), model.opt.gravity.copy(), *arrays)

    def write(self, model: mujoco.MjModel) -> None:
        """Set them in a model."""
        model.opt.timestep, model.opt.gravity[:] = self.timestep, self.gravity
        for name in self._fields[2:]:
            getattr(model, name)[:] = getattr(self, name)


class CompiledScene(NamedTuple):
    """Spec and compiled model of a scene, with further data for its simulation."""

    resolved: ResolvedScene
    make_spec: Callable[[], mujoco.MjSpec]
    """Returns the spec, always the same one."""
    model: mujoco.MjModel
    bodies: list[str]
    """Bodies of the hand that can touch, the palm first where there is one."""
    contact: Contact
    """Contact of object and hand in the model: as described, or softer where allowed."""
    stiffness: dict[str, float]
    """Stiffness of every pair with a converted contact, by its name in the model [N/m]."""
    switching: dict[str, Contact]
    """Contacts of the pairs whose friction switches with slip, by their names in the model."""
    start: StartParameters
    """Those of the model as built."""
    fine: tuple[FineStep, ...] = ()
    """Time steps after a contact has begun or ended, the shortest first."""

    @property
    def scene(self) -> GraspScene:
        """The scene, all of whose values are concrete."""
        return self.resolved.scene

    @property
    def spec(self) -> mujoco.MjSpec:
        """The scene as a spec; made when it is first read where the model is a changed one."""
        return self.make_spec()


class Assembled:
    """A scene compiled without contacts, in its start state."""

    def __init__(self, scene: GraspScene, timestep: float) -> None:
        """Compile hand, objects and surroundings.

        Args:
            scene: A scene whose tables have heights.
            timestep: Time step of the model [s].
        """
        self.scene, self.timestep = scene, timestep
        self.spec, self.bodies = _without_contacts(scene, timestep)
        self.model = compiled(self.spec, scene_label(scene))
        self.start = position_at(self.model, scene, start_targets(scene))
        self.home = position_at(self.model, scene, home_targets(scene))
        self.data = _state_at(self.model, self.start)
        """State at the start."""

    @cached_property
    def overlap(self) -> Overlap | None:
        """Deepest overlap of the hand with object or table at the start; None where it is clear."""
        if self.scene.object.elasticity is not None:
            return None
        return hand_overlap(self.model, self.data, self.scene)

    @cached_property
    def home_overlap(self) -> Overlap | None:
        """The same at the home pose of the hand, where an approach ends."""
        if self.scene.object.elasticity is not None or (self.start == self.home).all():
            return None
        return hand_overlap(self.model, _state_at(self.model, self.home), self.scene)


def assemble(scene: GraspScene, timestep: float) -> Assembled:
    """Compile a scene without contacts; ``build`` of the same scene next uses it."""
    LAST.assembled = Assembled(scene, timestep)
    return LAST.assembled


class _Last(threading.local):
    """The last assembled scene of a thread."""

    assembled: Assembled | None = None


LAST = _Last()


def build(resolved: ResolvedScene) -> CompiledScene:
    """Check and compile a resolved scene; neither searches nor simulates.

    Raises:
        BuildError: Bodies overlap at the start, or the time step is too large for the contact.
    """
    scene, timestep, last = resolved.scene, resolved.timestep, LAST.assembled
    known = last is not None and last.scene is scene and last.timestep == timestep
    assembled = last if known and last is not None else Assembled(scene, timestep)
    LAST.assembled = None
    return _build(resolved, assembled)


def _build(resolved: ResolvedScene, assembled: Assembled) -> CompiledScene:
    """Add contacts, key frame and visual elements to an assembled scene."""
    scene, timestep = resolved.scene, resolved.timestep
    bare, spec, bodies = assembled.model, assembled.spec, assembled.bodies
    refuse_hand_overlap(scene, assembled.overlap)
    refuse_overlaps(bare, assembled.data, scene)
    _warn_of_units(scene)
    if scene.integrator == "discrete":
        warn_of_damping(scene.hand, timestep)
    itself = _self_pairs(bare, assembled.data, scene)
    mobility = largest_mobility(bare, bodies) + float(bare.body(names.OBJECT).invweight0[0])
    fine_steps = fine_timesteps(scene, timestep, mobility)
    contacts = _contacts(bare, itself, scene, assembled.home, fine_steps)
    model = _complete(assembled, contacts.parameters)
    return CompiledScene(
        resolved,
        lambda: spec,
        model,
        bodies,
        resolve_contact(scene.requested_contact, timestep),
        contacts.stiffness,
        contacts.switching,
        StartParameters.of(model),
        tuple(_fine_steps(model, contacts.parameters, fine_steps)),
    )


def _complete(assembled: Assembled, parameters: list[PairParameters]) -> mujoco.MjModel:
    """Compile the whole scene, with its contacts and visual elements."""
    scene, spec = assembled.scene, assembled.spec
    spec.add_key(name=names.START, qpos=assembled.start.tolist(), ctrl=start_targets(scene))
    add_pairs(spec, parameters)
    extend_reach(spec, scene.hand)
    if scene.hand.model is not None:
        silence(spec, assembled.bodies)
    add_visuals(spec, _floor_height(scene, assembled.model))
    return compiled(spec, scene_label(scene))


def largest_mobility(model: mujoco.MjModel, bodies: list[str]) -> float:
    """Return the largest inverse mass of some bodies [1/kg]."""
    return max((float(model.body(body).invweight0[0]) for body in bodies), default=0.0)


def _fine_steps(
    model: mujoco.MjModel, parameters: list[PairParameters], timesteps: tuple[float, ...]
) -> Iterator[FineStep]:
    """Yield the contact parameters of fine time steps in the order of the model's pairs."""
    pairs = [model.pair(parameter.pair.name).id for parameter in parameters] if timesteps else []
    for index, timestep in enumerate(timesteps):
        fine = np.zeros((model.npair, 4))
        fine[pairs] = [parameter.fine[index] for parameter in parameters]
        yield FineStep(timestep, fine[:, :2].copy(), fine[:, 2:].copy())


def fresh_spec(resolved: ResolvedScene) -> mujoco.MjSpec:
    """Return the spec of a scene that was built already, whose warnings are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assembled = Assembled(resolved.scene, resolved.timestep)
        return _build(resolved, assembled).spec


# Parts of a scene


def _without_contacts(scene: GraspScene, timestep: float) -> tuple[mujoco.MjSpec, list[str]]:
    """Assemble hand, objects, surroundings and sensors; also return the touching hand bodies."""
    hand, touching = carry_hand(*_carrier_key(scene))
    spec, bodies = hand.copy(), list(touching)
    if scene.hand.model is not None and scene.closure.torque_limit is not None:
        limit_torques(
            spec, (actuator.name for actuator in scene.actuators), scene.closure.torque_limit
        )
    _set_options(spec, scene, timestep)
    if scene.integrator == "discrete":
        damp_as_described(spec, scene.hand, timestep)
    placed_objects = arrange_items(scene)
    pose = placed_objects[0].pose
    slots = [contact_slots(spec, bodies, _add_rigid(spec, placed)) for placed in placed_objects]
    add_surroundings(spec, scene, pose)
    if scene.object.elasticity is not None:  # after everything that it can touch
        add_deformable(spec, scene.object, pose, scene.requested_contact, scene.solver)
    add_contact_sensors(spec, bodies, slots)
    add_force_sensors(spec, scene)
    return spec, bodies


def _carrier_key(scene: GraspScene) -> tuple[Any, ...]:
    """Return the arguments of ``carry_hand``, which determine the hand and its carrier."""
    hand = (scene.mechanism, scene.hand_pose, scene.actuation)
    base = None
    if isinstance(scene.arm, HandCarrier):
        base = carrier_model(scene.arm).rest(scene).base
    return (*hand, scene.arm, scene.lift, wrist_center(scene), base)


def _add_rigid(spec: mujoco.MjSpec, placed: PlacedItem) -> list[str]:
    """Add an object and return its geoms that can touch; none for a deformable one."""
    if placed.object.elasticity is not None:
        return []
    return add_object(spec, placed.object, placed.pose, placed.mount, placed.body)


class _Contacts(NamedTuple):
    """Contact pairs of a scene."""

    parameters: list[PairParameters]
    stiffness: dict[str, float]
    """Of the converted ones, by their names [N/m]."""
    switching: dict[str, Contact]
    """Of those whose friction switches, by their names."""


def _contacts(
    bare: mujoco.MjModel,
    self_pairs: list[Pair],
    scene: GraspScene,
    home: Array,
    fine_steps: tuple[float, ...],
) -> _Contacts:
    """Convert the contacts of all pairs."""
    timestep = float(bare.opt.timestep)
    # the order of pairs: hand with object, hand with itself, others
    first, *others = with_objects(scene, bare)
    itself = ContactGroup(self_pairs, scene.requested_contact)
    postures = closing_postures(bare, scene, home)
    contacts = _Contacts([], {}, {})
    for group in (first, itself, *others, *with_surroundings(scene, bare)):
        contact = resolve_contact(group.requested, timestep)
        sampled = postures if group.by_hand else postures[:1]
        contacts.parameters.extend(
            pair_parameters(bare, group.pairs, sampled, contact, scene, fine_steps=fine_steps)
        )
        named = [pair.name for pair in group.pairs]
        if contact.converted:
            contacts.stiffness.update(dict.fromkeys(named, contact.stiffness))
        if group.switches and contact.switches_friction:
            contacts.switching.update(dict.fromkeys(named, contact))
    return contacts


def _self_pairs(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> list[Pair]:
    """Return the self-contact pairs of the hand that do not overlap at the start."""
    if not scene.self_contact:
        return []
    if scene.hand.model is not None:
        pairs = model_pairs(model)
    else:
        soft = {digit.name for digit in scene.hand.soft_fingers}
        chains = {b: finger for b, (finger, _) in names.parts(scene.hand).items() if finger in soft}
        pairs = self_pairs(model, chains)
    depths = {pair: penetration(model, data, pair) for pair in pairs}
    overlapping = [pair for pair, depth in depths.items() if depth > START_TOLERANCE]
    if not overlapping:
        return pairs
    deepest = max(overlapping, key=lambda pair: depths[pair])
    warnings.warn(
        f"hand '{scene.hand.name}': {len(overlapping)} pairs of its bodies overlap in the "
        f"start posture, the deepest {deepest.first} and {deepest.second} by "
        f"{depths[deepest] * 1e3:.2f} mm; they will not touch each other",
        SoftgraspWarning,
        stacklevel=3,
    )
    return [pair for pair in depths if pair not in overlapping]


def _warn_of_units(scene: GraspScene) -> None:
    """Warn about angles and densities that are probably not in SI units."""
    max_angle = max((abs(angle) for angle in scene.object_euler or ()), default=0.0)
    if max_angle > 2.0 * math.pi:
        warnings.warn(
            f"object_euler: {max_angle:g} rad is more than 2π; is it in degrees? They are "
            f"{math.radians(max_angle):.4g} rad (--euler-deg takes degrees)",
            SoftgraspWarning,
            stacklevel=3,
        )
    for described in (scene.object, *(placed.object for placed in scene.objects)):
        density = mean_density(described)
        if not is_usual(density):
            warnings.warn(
                f"object '{described.name}': a density of {density:.4g} kg/m³ is that of no "
                f"material; {density_guess(described)}",
                SoftgraspWarning,
                stacklevel=3,
            )


def _set_options(spec: mujoco.MjSpec, scene: GraspScene, timestep: float) -> None:
    """Set name, integrator and solver options."""
    spec.modelname = scene.name or f"{scene.hand.name} {scene.object.name}"
    option = spec.option
    option.timestep = timestep
    option.gravity = list(scene.gravity)
    option.integrator = INTEGRATORS[scene.integrator]
    elliptic = scene.solver.cone == "elliptic"
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if elliptic else mujoco.mjtCone.mjCONE_PYRAMIDAL
    option.impratio = scene.solver.impratio
    option.iterations = scene.solver.iterations
    if scene.object.elasticity is None:
        option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # a diverged state must be reported, not replaced by the start state
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


# States


def start_targets(scene: GraspScene) -> list[float]:
    """Return the targets of all actuators at the start, in the order of ``scene_actuators``.

    Raises:
        BuildError: The arm cannot reach the start pose.
    """
    return [*scene.start, *carrier_start(scene)]


def home_targets(scene: GraspScene) -> list[float]:
    """Return the targets of all actuators at the home pose, where an approach ends."""
    if isinstance(scene.arm, HandCarrier):
        return [*scene.closing_start, *scene.arm.start]
    if scene.arm is not None:
        return [*scene.closing_start, *(row.start for row in scene.arm.chain.phalanges)]
    return [*scene.closing_start, *(0.0 for _ in names.carrier_joints(scene))]


def position_at(bare: mujoco.MjModel, scene: GraspScene, targets: list[float]) -> Array:
    """Compute ``qpos`` with the joints at their targets and objects at the start."""
    position = np.array(bare.qpos0)
    if isinstance(scene.arm, HandCarrier):
        carried = dict(carrier_model(scene.arm).rest(scene).joints)
    else:
        led = targets[len(scene.actuators) :]
        carried = dict(zip(names.carrier_joints(scene), led, strict=True))
    for name, value in (hand_posture(scene, targets) | carried).items():
        position[bare.joint(name).qposadr[0]] = value
    return settle(bare, scene.hand, position)


def _state_at(model: mujoco.MjModel, position: Array) -> mujoco.MjData:
    """Evaluate a model at ``qpos``."""
    data = mujoco.MjData(model)
    data.qpos[:] = position
    mujoco.mj_forward(model, data)
    return data


# Floor


def _floor_height(scene: GraspScene, model: mujoco.MjModel) -> float:
    """Compute the height of the floor: that of a single table, else below everything [m]."""
    if shows_floor_as_table(scene) and scene.table is not None and scene.table.height is not None:
        return scene.table.height
    movers = [not names.is_around(model.body(body).name) for body in model.geom_bodyid]
    reach = float(model.geom_rbound[movers].max(initial=0.0))
    if scene.object.elasticity is not None:  # a deformable object has no geom of its size
        reach = max(reach, 0.5 * float(np.linalg.norm(full_size(scene.object.shape))))
    below = min(placed.pose.position[2] for placed in arrange_items(scene)) - reach
    fingers = _lowest_finger(
        scene.hand, scene.hand_pose, scene.closing_motion.start, scene.closing_motion.rates
    )
    height = min(below, fingers, lowest_surrounding(scene))
    return math.floor((height - FLOOR_GAP) * 100) / 100.0


@lru_cache(maxsize=32)
def _lowest_finger(
    described: Hand, pose: Pose, start: tuple[float, ...], all_rates: tuple[float, ...]
) -> float:
    """Compute the lowest point of the fingers between start and limits [m], once a hand."""
    hand = transform(pose.position, pose.quaternion)
    height, begin = math.inf, np.array(start)
    end = [
        actuator.limits[0 if rate < 0 else 1]
        for actuator, rate in zip(described.actuators, all_rates, strict=True)
    ]
    for fraction in np.linspace(0.0, 1.0, 7) if described.fingers else ():
        posture = described.posture((begin + fraction * (end - begin)).tolist())
        height = min(height, lowest_point(described, posture, hand))
    for digit in described.soft_fingers:
        base = hand @ transform(digit.base.position)
        height = min(height, float(base[2, 3]) - digit.length)
    return height
