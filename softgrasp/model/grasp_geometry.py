"""Geometry of hand and object for grasp synthesis, read from the compiled model of a scene.

Everything comes from the shapes that touch in the simulation, so that hands of any kind, described
or with their own MJCF model, have the same kinematics in synthesis and simulation.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from softgrasp.description.hand import Hand
from softgrasp.errors import BuildError
from softgrasp.grasp_synthesis.grasp_energy import ContactLink, Spheres
from softgrasp.grasp_synthesis.kinematic_tree import HandPoints, KinematicTree
from softgrasp.grasp_synthesis.object_surface import (
    ConvexPart,
    ObjectSurface,
    convex_part,
    depth_in,
    object_surface,
    sample,
)
from softgrasp.mechanics.geometry import ball_points, farthest_first
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names

LINK_POINTS, PALM_POINTS = 48, 160
"""Number of surface points of a link and of the palm."""
DRAWN = 1200
"""Number of points that the surface points of a body are chosen from."""
COARSE = 3
"""Ratio of the numbers of surface points in the fine and in the coarse model of a hand."""
INNER = 0.3
"""Cosine between normal and closing velocity above which a point is on the inner side [–]."""
STILL = 1e-3
"""Speed of a point below which no closing actuator moves it [m/s]."""
SPHERES = 3
"""Number of spheres along a link."""


def object_surface_of(model: mujoco.MjModel) -> ObjectSurface:
    """Compute the surface of a scene's object, in the frame at its centre of mass.

    Args:
        model: The compiled scene, with a rigid object.
    """
    body = model.body(names.OBJECT).id
    return object_surface(_convex_parts(model, body), np.array(model.body_ipos[body]))


def kinematic_tree_of(
    model: mujoco.MjModel, hand: Hand, bodies: list[str], random: np.random.Generator
) -> KinematicTree:
    """Read the kinematic tree of a hand with points on its surface.

    Args:
        model: The compiled scene; its hand is at the world frame, without arm or wrist.
        hand: The hand.
        bodies: Bodies of the hand that can touch.
        random: Source of the surface points.

    Raises:
        BuildError: The hand has soft fingers.
    """
    if hand.soft_fingers:
        raise BuildError(
            f"expected a hand of rigid fingers for the synthesis of postures, found "
            f"'{hand.name}' with soft ones; --method poses tries poses only"
        )
    touching = [model.body(name).id for name in bodies]
    order = _with_parents(model, touching)
    number = {body: index for index, body in enumerate(order)}
    joints = hand_joints(model, bodies)
    ratio, bias = joint_motion(model, hand, joints)
    offset = np.tile(np.eye(4), (len(order), 1, 1))
    for index, body in enumerate(order):
        offset[index, :3, :3] = _matrix(model.body_quat[body])
        offset[index, :3, 3] = model.body_pos[body]
    return KinematicTree(
        parent=tuple(number.get(int(model.body_parentid[body]), -1) for body in order),
        offset=offset,
        joint_body=tuple(number[int(model.jnt_bodyid[joint])] for joint in joints),
        slides=np.array(
            [model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE for joint in joints], dtype=bool
        ),
        joint_axis=np.array(model.jnt_axis[joints]).reshape(-1, 3),
        joint_anchor=np.array(model.jnt_pos[joints]).reshape(-1, 3),
        ratio=ratio,
        bias=bias,
        limits=np.array([actuator.limits for actuator in hand.actuators]),
        points=_surface_points(model, touching, number, random),
    )


def coarse(tree: KinematicTree) -> KinematicTree:
    """Return a hand with every third surface point, still spread over each body."""
    points = tree.points
    kept = []
    for body in np.unique(points.body).tolist():
        indices = np.flatnonzero(points.body == body)
        kept.append(indices[: -(-len(indices) // COARSE)])  # the first ones are spread, too
    chosen = np.concatenate(kept)
    fewer = HandPoints(points.body[chosen], points.position[chosen], points.normal[chosen])
    return replace(tree, points=fewer)


def contact_links(
    tree: KinematicTree, targets: Array, rates: Array, center: Array
) -> tuple[ContactLink, ...]:
    """Find the links that can touch, with the points of their inner sides.

    The inner side of a moving link moves ahead as the hand closes; that of one that does not move
    faces the grasp's centre.

    Args:
        tree: The hand.
        targets: Postures along its closing motion, (s, nu).
        rates: Closing rates, (nu,).
        center: Centre of the grasp in the hand's frame, (3,) [m].
    """
    velocity = tree.point_velocities(targets, rates)
    position, normal = tree.point_positions(tree.postures(targets))
    speed = np.linalg.norm(velocity, axis=2)
    ahead = np.einsum("spi,spi->sp", velocity, normal) / np.maximum(speed, 1e-9)
    toward = center - position
    toward /= np.maximum(np.linalg.norm(toward, axis=2, keepdims=True), 1e-9)
    facing = np.einsum("spi,spi->sp", toward, normal)
    inner = np.where(speed.mean(axis=0) > STILL, ahead.mean(axis=0), facing.mean(axis=0)) > INNER
    carriers = set(tree.parent)
    links = []
    for body in np.unique(tree.points.body).tolist():
        points = np.flatnonzero(inner & (tree.points.body == body))
        if len(points):
            links.append(ContactLink(body, points, body not in carriers))
    return tuple(links)


def link_spheres(tree: KinematicTree, postures: Array) -> Spheres:
    """Fit spheres into the links, and pair those of different links that are apart.

    Args:
        tree: The hand.
        postures: Targets of postures without self-contact, (s, nu); spheres that overlap in all
            of them are not paired.
    """
    bodies, centers, radii = [], [], []
    for body in np.unique(tree.points.body).tolist():
        points = tree.points.position[tree.points.body == body]
        middle = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - middle)
        along = (points - middle) @ axes[0]
        away = np.linalg.norm(points - middle - along[:, None] * axes[0], axis=1)
        radius = float(np.median(away)) * 0.9
        half = max(float(np.ptp(along)) / 2.0 - radius, 0.0)
        for point_positions in np.linspace(-half, half, SPHERES if half > 0.0 else 1):
            bodies.append(body)
            centers.append(middle + (point_positions + (along.max() + along.min()) / 2.0) * axes[0])
            radii.append(radius)
    body, center, radius_ = np.array(bodies), np.array(centers), np.array(radii)
    first, second = np.triu_indices(len(body), 1)
    frames = tree.postures(postures)
    placed = np.einsum("snij,nj->sni", frames.rotation[:, body], center) + frames.position[:, body]
    apart = np.linalg.norm(placed[:, first] - placed[:, second], axis=2).max(axis=0)
    parent = np.array(tree.parent)
    kin = (body[first] == body[second]) | (parent[body[first]] == body[second])
    kin |= parent[body[second]] == body[first]
    kept = ~kin & (apart > radius_[first] + radius_[second])
    return Spheres(body, center, radius_, first[kept], second[kept])


# Parts of the model


def _with_parents(model: mujoco.MjModel, bodies: list[int]) -> list[int]:
    """Return bodies with all bodies between them and the world, parents first."""
    needed = set()
    for body in bodies:
        while body > 0 and body not in needed:
            needed.add(body)
            body = int(model.body_parentid[body])
    return sorted(needed)


def hand_joints(model: mujoco.MjModel, bodies: list[str]) -> list[int]:
    """Return the joints of the hand in the order of those of its ``KinematicTree``."""
    order = _with_parents(model, [model.body(name).id for name in bodies])
    joints: list[int] = np.flatnonzero(np.isin(model.jnt_bodyid, order)).tolist()
    return joints


def joint_motion(model: mujoco.MjModel, hand: Hand, joints: list[int]) -> tuple[Array, Array]:
    """Return how joint variables depend on the targets: ratios (nj, nu) and biases (nj,)."""
    middle = [0.5 * (a.limits[0] + a.limits[1]) for a in hand.actuators]
    start = hand.posture(middle)
    names_ = [model.joint(joint).name for joint in joints]
    reference = np.array([model.qpos0[model.jnt_qposadr[joint]] for joint in joints])
    at_middle = np.array([start.get(n, r) for n, r in zip(names_, reference.tolist(), strict=True)])
    ratio = np.zeros((len(joints), len(middle)))
    for index, actuator in enumerate(hand.actuators):
        step = 0.25 * (actuator.limits[1] - actuator.limits[0])
        if step > 0.0:
            changed = list(middle)
            changed[index] += step
            moved = hand.posture(changed)
            values = [moved.get(n, r) for n, r in zip(names_, reference.tolist(), strict=True)]
            ratio[:, index] = (np.array(values) - at_middle) / step
    bias = at_middle - ratio @ np.array(middle) - reference
    return ratio, bias


def _surface_points(
    model: mujoco.MjModel, bodies: list[int], number: dict[int, int], random: np.random.Generator
) -> HandPoints:
    body_numbers, positions, normals = [], [], []
    for body in sorted(bodies):
        parts = _convex_parts(model, body)
        if not parts:
            continue
        points, outward, _ = sample(parts, random, DRAWN)
        if len(parts) > 1:
            outside = depth_in(parts, points) < 1e-6
            points, outward = points[outside], outward[outside]
        jointed = int(model.body_jntnum[body]) > 0
        chosen = farthest_first(points, LINK_POINTS if jointed else PALM_POINTS)
        body_numbers += [number[body]] * len(chosen)
        positions.append(points[chosen])
        normals.append(outward[chosen])
    return HandPoints(np.array(body_numbers), np.concatenate(positions), np.concatenate(normals))


def _convex_parts(model: mujoco.MjModel, body: int) -> list[ConvexPart]:
    """Return the geoms of a body that are in a contact pair, body frame."""
    paired = np.isin(np.arange(model.ngeom), [*model.pair_geom1, *model.pair_geom2])
    parts = []
    for geom in np.flatnonzero(paired & (model.geom_bodyid == body)).tolist():
        rotated = geom_vertices(model, geom) @ _matrix(model.geom_quat[geom]).T
        parts.append(convex_part(rotated + np.array(model.geom_pos[geom])))
    return parts


def _matrix(quaternion: Array) -> Array:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def geom_vertices(model: mujoco.MjModel, geom: int) -> Array:
    """Return points whose hull is the shape of a geom, (n, 3) [m], geom frame.

    Args:
        model: The compiled model.
        geom: Index of a convex geom.

    Raises:
        BuildError: The geom is a plane.
    """
    kind, size = int(model.geom_type[geom]), np.array(model.geom_size[geom])
    ball = ball_points(1.0, 24, 11)
    match kind:
        case mujoco.mjtGeom.mjGEOM_MESH:
            mesh = int(model.geom_dataid[geom])
            first = int(model.mesh_vertadr[mesh])
            return np.array(model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])])
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            return np.asarray(size[0] * ball)
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return np.asarray(size * ball)
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            up = np.array([0.0, 0.0, size[1]])
            return np.concatenate([size[0] * ball + up, size[0] * ball - up])
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            angles = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
            ring = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) * size[0]
            up = np.array([0.0, 0.0, size[1]])
            return np.concatenate([ring + up, ring - up])
        case mujoco.mjtGeom.mjGEOM_BOX:
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return np.asarray(signs * size)
    name = model.geom(geom).name
    raise BuildError(f"geom '{name}': expected a convex shape for grasp synthesis, found a plane")
