"""A hand alone as a compiled model in its start posture, and its bodies with their geometry."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.compiling import compiled
from softgrasp.build.hand_model import build_hand_spec
from softgrasp.build.pairs import Pair, self_pairs
from softgrasp.build.shapes import TOUCHING_GROUPS, mass_properties
from softgrasp.description.hand import Hand
from softgrasp.description.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Primitive, Sphere
from softgrasp.formats.mesh_solid import hull_of, make_solid
from softgrasp.inspection.bodies import Body, Geometry, box_corners, placed, together
from softgrasp.mechanics.transforms import Array, transform

GEOM = mujoco.mjtGeom
NOTHING = 2e-6
"""Mass up to which a body without geometry stands for nothing but a joint [kg]."""


@dataclass(frozen=True, eq=False)
class HandModel:
    """A compiled hand; ``data`` is its start posture, and moves with what is asked of it."""

    hand: Hand
    model: mujoco.MjModel
    data: mujoco.MjData
    pairs: tuple[Pair, ...]
    """Geoms of the hand that can touch one another."""

    def take(self, posture: Array) -> None:
        """Put the joints where a vector of the length of ``qpos`` says."""
        self.data.qpos[:] = posture
        mujoco.mj_forward(self.model, self.data)

    @property
    def start(self) -> Array:
        """Joint variables at the start, as long as ``qpos``."""
        return np.array(self.model.key_qpos[0])

    def start_of(self, grasp: str) -> Array:
        """Joint variables from which a named grasp closes."""
        posture, preset = self.start, getattr(self.hand.grasps, grasp)
        if preset.start is None:
            return posture
        for (_, joint), value in zip(self.actuators, preset.start, strict=True):
            if joint is not None:  # the pressure of a soft finger is none
                posture[self.model.jnt_qposadr[joint]] = value
        return self.led(posture)

    @property
    def actuators(self) -> list[tuple[str, int | None]]:
        """Name of each drive's actuator, and the joint that it moves, where it moves one."""
        model = self.model
        is_joint = [kind == mujoco.mjtTrn.mjTRN_JOINT for kind in model.actuator_trntype]
        return [
            (model.actuator(i).name, int(model.actuator_trnid[i, 0]) if is_joint[i] else None)
            for i in range(model.nu)
        ]

    def led(self, posture: Array) -> Array:
        """A posture with the joints that follow others where these put them; changed in place."""
        model = self.model
        for index in range(model.neq):
            first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
            if model.eq_type[index] != mujoco.mjtEq.mjEQ_JOINT or second < 0:
                continue
            address, other = int(model.jnt_qposadr[first]), int(model.jnt_qposadr[second])
            terms = np.polynomial.Polynomial(model.eq_data[index, :5])
            posture[address] = model.qpos0[address] + terms(posture[other] - model.qpos0[other])
        return posture


def hand_model(hand: Hand) -> HandModel:
    """Compile a hand and put it into its start posture.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    model = compiled(build_hand_spec(hand), hand.name)
    soft = {digit.name for digit in hand.soft_fingers}
    chains = {body: one for body, (one, _) in names.parts(hand).items() if one in soft}
    result = HandModel(hand, model, mujoco.MjData(model), tuple(self_pairs(model, chains)))
    result.take(result.start)
    return result


def hand_bodies(model: mujoco.MjModel) -> list[Body]:
    """The bodies of a compiled hand that have a mass; a fixed palm may have none."""
    bodies = []
    for index in range(1, model.nbody):
        geometry = _geometry(model, index)
        if model.body_mass[index] <= (NOTHING if geometry is None else 0.0):
            continue
        rotation = transform(quaternion=model.body_iquat[index])[:3, :3]
        name = model.body(index).name
        bodies.append(
            Body(
                subject=f"link '{name}'",
                name=name,
                mass=float(model.body_mass[index]),
                center=np.array(model.body_ipos[index]),
                inertia=rotation @ np.diag(model.body_inertia[index]) @ rotation.T,
                geometry=geometry,
            )
        )
    return bodies


def _geometry(model: mujoco.MjModel, body: int) -> Geometry | None:
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    touching = [g for g in range(first, first + count) if model.geom_group[g] in TOUCHING_GROUPS]
    return together([_solid(model, geom) for geom in touching])


def _solid(model: mujoco.MjModel, geom: int) -> Geometry:
    frame = transform(model.geom_pos[geom], model.geom_quat[geom])
    if model.geom_type[geom] == GEOM.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        hull = hull_of(np.array(model.mesh_vert[first : first + count], dtype=float))
        solid = make_solid(hull.vertices, hull.faces)
        inside = np.eye(4)
        inside[:3, 3] = solid.center_of_mass
        points = hull.vertices - solid.center_of_mass
        return placed(solid.volume, solid.inertia, points, frame @ inside)
    volume, inertia = mass_properties(_primitive(model, geom))
    return placed(volume, inertia, box_corners(model.geom_aabb[geom, 3:]), frame)


def _primitive(model: mujoco.MjModel, geom: int) -> Primitive:
    a, b, c = (float(number) for number in model.geom_size[geom])
    match model.geom_type[geom]:
        case GEOM.mjGEOM_SPHERE:
            return Sphere(radius=a)
        case GEOM.mjGEOM_CAPSULE:
            return Capsule(radius=a, length=2 * b)
        case GEOM.mjGEOM_CYLINDER:
            return Cylinder(radius=a, height=2 * b)
        case GEOM.mjGEOM_ELLIPSOID:
            return Ellipsoid(radii=(a, b, c))
    return Cuboid(size=(2 * a, 2 * b, 2 * c))
