"""Hydraulic arms that carry a hand: ``CarrierModel``, equilibrium under load, and pressures.

The scene starts with the arm at rest under its own weight and that of the hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import mujoco
import numpy as np

from softgrasp.continuum import differences
from softgrasp.description import Bendable, GraspScene, Pose
from softgrasp.errors import BuildError, SimulationError
from softgrasp.hydraulics.arm import SECTION_RGBA, arm_model, balance
from softgrasp.hydraulics.description import ArmSection, HydraulicCarrier, arm_robot
from softgrasp.hydraulics.drive import check_pressures, drive_model
from softgrasp.hydraulics.integrators import TorqueTable, pressures_under
from softgrasp.mechanics import Array, position_of, quaternion_of, transform
from softgrasp.model import (
    add_bendable,
    add_hand,
    bend_joints,
    compiled,
    hand_posture,
    names,
    segment_actuator_names,
    slide_joints,
    spring_limit,
    twist_joints,
)
from softgrasp.plugin_api import (
    ActuationModel,
    CarrierModel,
    CarrierRest,
    Vec3,
    add_mechanism,
    add_segment_actuators,
    set_inertia,
    settle,
)

STEP_FRACTION = 0.9
"""Fraction of the longest stable time step of the arm's springs that is used."""
FAR = 1e4
"""Distance of the points to which a damper holds a cell of the arm [m]: over 1 m its
direction is off by a ten-thousandth."""
HIDDEN = 5
"""Group of sites and tendons that is not rendered."""
GYRATION = 0.02
"""Radius of gyration of palm and flange [m]."""
DRIVE_TIMESTEP = 5e-3
"""Time step of the drives [s]; the flow of a step is its mean."""
WHOLE = 1.0
"""Pressures are whole multiples of this [Pa], so that they come to rest."""


class HydraulicCarrierModel(CarrierModel):
    """Model of a water-hydraulic arm that carries a hand."""

    carrier: HydraulicCarrier

    def joints(self) -> list[str]:
        """Return the joints of all cells."""
        return cell_joints(self.carrier)

    def actuators(self) -> list[str]:
        """Return the actuators of the chambers, from the base outwards."""
        return chamber_actuators(self.carrier)

    def with_hand(
        self, mechanism: ActuationModel, base: Pose
    ) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
        """Build a spec of the arm and its hand; see ``CarrierModel``."""
        return hand_on_arm(mechanism, self.carrier, base)

    def rest(self, scene: GraspScene) -> CarrierRest:
        """Compute the equilibrium under the chamber pressures and the weights of arm and hand."""
        return carrier_rest(scene)

    def max_timestep(self) -> float:
        """Return the longest time step that its springs allow [s]."""
        return _max_timestep(self.carrier)

    def timestep_reason(self) -> str:
        """Return the clause that explains ``max_timestep``."""
        return f"an arm of {self.carrier.links} cells a section, whose springs do not bear more"


@lru_cache(maxsize=8)
def _max_timestep(carrier: HydraulicCarrier) -> float:
    """Compute the longest time step of an arm [s]; a hand at its end slows it."""
    return STEP_FRACTION * spring_limit(arm_model(carrier.hydraulic, carrier.links))


def carrier_rest(scene: GraspScene) -> CarrierRest:
    """Compute the equilibrium of the scene's hydraulic arm with its hand in the start posture.

    Raises:
        BuildError: It has no rest, or none that lasts.
    """
    assert isinstance(scene.arm, HydraulicCarrier)  # callers ask for no other
    posture = tuple(hand_posture(scene, scene.start).items())
    pose = scene.hand_pose if scene.arm.base is None else Pose()
    return _rest(scene.mechanism, scene.arm, posture, pose, scene.gravity)


@lru_cache(maxsize=8)
def _rest(
    mechanism: ActuationModel,
    carrier: HydraulicCarrier,
    posture: tuple[tuple[str, float], ...],
    pose: Pose,
    gravity: Vec3,
) -> CarrierRest:
    """Solve for equilibrium in the base frame, in which gravity may be rotated."""
    hand = transform(pose.position, pose.quaternion)
    loaded = _LoadedArm(mechanism, carrier, posture, hand, gravity)
    try:
        point = balance(loaded.imbalance, loaded.stiffness, carrier.name)
    except SimulationError as error:
        raise BuildError(f"arm: {error}") from None
    solution = point.positions
    loaded.imbalance(solution, 1.0)
    rotation, within = loaded.base_rotation(), loaded.hand_in_base()
    matrix = differences(
        lambda cells, load: loaded.imbalance(cells, load, rotation) * loaded.stiffness
    )(solution, 1.0)
    falls = np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() <= 0.0
    if falls or not np.isnan(point.critical_load):
        raise BuildError(
            f"arm: expected a rest of {carrier.name} that lasts, found one from which it falls; "
            "mount it to hang, or give it less to carry"
        )
    base = hand @ np.linalg.inv(within)
    if carrier.base is not None:
        base = transform(carrier.base.position, carrier.base.quaternion)
    joints = tuple(zip(loaded.joint_names, solution.tolist(), strict=True))
    return CarrierRest(_pose(base), _pose(base @ within), joints)


class _LoadedArm:
    """MuJoCo model of an arm with its hand in one posture, its base at the origin."""

    def __init__(
        self,
        mechanism: ActuationModel,
        carrier: HydraulicCarrier,
        posture: tuple[tuple[str, float], ...],
        hand: Array,
        gravity: Vec3,
    ) -> None:
        """Build the model; ``hand`` is the pose of the hand in the world, (4, 4)."""
        spec, _ = hand_on_arm(mechanism, carrier, Pose())
        model = compiled(spec, f"{mechanism.hand.name} on {carrier.name}")
        self._model, self._data = model, mujoco.MjData(model)
        self._carrier, self._hand, self._gravity = carrier, hand, gravity
        start = np.array(model.qpos0)
        for name, value in posture:
            start[model.joint(name).qposadr[0]] = value
        self._data.qpos[:] = settle(model, mechanism.hand, start)
        joints = [model.joint(name) for name in cell_joints(carrier)]
        self.joint_names = [joint.name for joint in joints]
        """Joints of the cells of the arm."""
        self.stiffness = np.array([joint.stiffness[0] for joint in joints])
        """Of the joints [N·m/rad or N/m]."""
        self._qpos_addresses = [int(joint.qposadr[0]) for joint in joints]
        self._freedoms = [int(joint.dofadr[0]) for joint in joints]
        self._chambers = [model.actuator(name).id for name in chamber_actuators(carrier)]
        self._palm = model.body(names.hand_body(mechanism.hand)).id

    def hand_in_base(self) -> Array:
        """Return the pose of the hand in the frame of the base, (4, 4)."""
        return transform(self._data.xpos[self._palm], self._data.xquat[self._palm])

    def base_rotation(self) -> Array:
        """Return the rotation of the base in the world, (3, 3)."""
        if self._carrier.base is not None:
            return transform(quaternion=self._carrier.base.quaternion)[:3, :3]
        return np.asarray(self._hand[:3, :3] @ self.hand_in_base()[:3, :3].T)

    def imbalance(
        self, positions: Array, load_factor: float, rotation: Array | None = None
    ) -> Array:
        """Compute the unbalanced forces of the joints over their stiffness, (n,) [rad or m].

        Args:
            positions: Joint positions of the arm, (n,) [rad or m].
            load_factor: Fraction of pressures and gravity.
            rotation: Rotation of the base in the world, (3, 3); by default that of the prescribed
                base or hand.
        """
        model, data = self._model, self._data
        data.qpos[self._qpos_addresses], data.qvel[:] = positions, 0.0
        data.ctrl[self._chambers] = load_factor * np.array(self._carrier.start)
        mujoco.mj_kinematics(model, data)
        base = self.base_rotation() if rotation is None else rotation
        model.opt.gravity[:] = load_factor * (base.T @ self._gravity)
        mujoco.mj_forward(model, data)
        return np.asarray(data.qfrc_smooth[self._freedoms] / self.stiffness)


def _pose(frame: Array) -> Pose:
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def carrier_parts(carrier: HydraulicCarrier) -> tuple[Bendable, ...]:
    """Return the sections as bendable segments with the names that they have under a hand."""
    return arm_robot(
        carrier.hydraulic.replace(sections=_sections(carrier)), carrier.links
    ).bendables


def _sections(carrier: HydraulicCarrier) -> tuple[ArmSection, ...]:
    return tuple(
        section.replace(name=f"{names.ARM}_{section.name}")
        for section in carrier.hydraulic.sections
    )


def cell_joints(carrier: HydraulicCarrier) -> list[str]:
    """Return the joints of all cells: bending, sliding and torsion, section by section."""
    return [
        name
        for part in carrier_parts(carrier)
        for name in (
            *(bend for bend, _ in bend_joints(part)),
            *slide_joints(part),
            *twist_joints(part),
        )
    ]


def chamber_actuators(carrier: HydraulicCarrier) -> list[str]:
    """Return the names of the chamber actuators, from the base outwards."""
    return [name for part in carrier_parts(carrier) for name in segment_actuator_names(part)]


def add_hydraulic_arm(
    spec: mujoco.MjSpec, carrier: HydraulicCarrier, base: Pose
) -> tuple[mujoco.MjsBody, Pose]:
    """Add the cells of an arm and their drag; its chambers follow the actuators of the hand.

    Returns:
        The last cell, and the pose of the hand in its frame.
    """
    body = spec.worldbody.add_body(name=names.ARM, pos=base.position, quat=base.quaternion)
    frame = np.eye(4)
    pairs = zip(_sections(carrier), carrier_parts(carrier), strict=True)
    for index, (section, part) in enumerate(pairs):
        body, frame = add_bendable(spec, body, part, frame, driven=False)
        for cell in range(part.backbone.links + 1):
            link = spec.body(f"{part.name}_{cell}")
            spec.delete(spec.geom(link.name))  # the one that collides
            for geom in link.geoms:
                geom.rgba = SECTION_RGBA[index % len(SECTION_RGBA)]
        _add_drag(spec, section, part)
    # the far ends of dampers are no part of the scene's size
    spec.stat.extent = 2.0 * sum(section.length for section in carrier.hydraulic.sections)
    spec.stat.center = base.position
    return body, _pose(frame @ transform(carrier.tool.position, carrier.tool.quaternion))


def _add_drag(spec: mujoco.MjSpec, section: ArmSection, part: Bendable) -> None:
    """Add viscous drag as dampers to distant points along x, y and z, of constant direction.

    MuJoCo has no drag of single bodies; each cell gets drag in proportion to its mass.
    """
    if not section.damping.drag:
        return
    far: list[str] = []
    for position in FAR * np.eye(3):
        name = f"{part.name}_far_{len(far)}"
        spec.worldbody.add_site(name=name, pos=position.tolist(), group=HIDDEN)
        far.append(name)
    for index in range(part.backbone.links + 1):
        body = spec.body(f"{part.name}_{index}")
        middle = f"{body.name}_middle"
        body.add_site(name=middle, pos=body.ipos, group=HIDDEN)
        for axis_index, end in enumerate(far):
            tendon = spec.add_tendon(name=f"{body.name}_drag_{axis_index}", group=HIDDEN)
            tendon.damping = [section.damping.drag * body.mass / section.mass, 0.0, 0.0]
            tendon.wrap_site(middle)
            tendon.wrap_site(end)


def load_with(spec: mujoco.MjSpec, carrier: HydraulicCarrier, palm: str) -> None:
    """Let the weight of a hand act on its arm: no gravity compensation, and a palm mass."""
    for body in _with_all_below(spec.body(palm)):
        body.gravcomp = 0.0
    if carrier.palm_mass:
        flange = spec.body(palm).add_body(name=f"{names.ARM}_flange")
        inertia = carrier.palm_mass * GYRATION**2 * np.eye(3)
        set_inertia(flange, carrier.palm_mass, inertia)


def _with_all_below(body: mujoco.MjsBody) -> Iterator[mujoco.MjsBody]:
    yield body
    for child in body.bodies:
        yield from _with_all_below(child)


def hand_on_arm(
    mechanism: ActuationModel, carrier: HydraulicCarrier, base: Pose
) -> tuple[mujoco.MjSpec, tuple[str, ...]]:
    """Build a spec of a hand on a hydraulic arm, and list its bodies that can touch."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    end, pose = add_hydraulic_arm(spec, carrier, base)
    bodies = add_hand(spec, mechanism.hand, pose, "servo", end)
    add_mechanism(spec, mechanism)
    for part in carrier_parts(carrier):
        add_segment_actuators(spec, part)
    load_with(spec, carrier, names.hand_body(mechanism.hand))
    return spec, tuple(bodies)


def chamber_path(scene: GraspScene, samples: int) -> Array:
    """Compute the chamber pressures at all control samples of a run, (samples, k) [Pa].

    There are no rows where the torques are constant.

    Raises:
        DescriptionError: A pressure is beyond the limits of its chamber.
    """
    carrier = scene.arm
    if not isinstance(carrier, HydraulicCarrier) or not carrier.torques:
        return np.zeros((0, 0))
    rows = np.array(carrier.torques)
    table = TorqueTable(rows[:, 0], rows[:, 1:])
    times = np.arange(samples) * scene.control_period
    pressures = pressures_under(
        drive_model(carrier.hydraulic), table, float(times[-1]), DRIVE_TIMESTEP, carrier.start
    )
    path = np.stack(
        [np.interp(times, pressures.times, column) for column in pressures.chambers.T], axis=1
    )
    path[0] = carrier.start
    for extreme in (path.min(axis=0), path.max(axis=0)):
        check_pressures(carrier.hydraulic, extreme)
    return np.asarray(np.round(path / WHOLE) * WHOLE)
