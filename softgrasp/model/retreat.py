"""Start postures without penetration: retreat of the hand, and correction of synthesized postures.

The energy of the synthesis sees points on the hand. ``ContactFit`` brings the distances of the
geoms themselves, as the simulation detects contacts, to zero for the links that touch, and to at
least zero for all others, by least squares over the object's pose and the actuator targets, near
those found.
"""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import PreshapePhase
from softgrasp.grasp_synthesis.kinematic_tree import KinematicTree
from softgrasp.grasp_synthesis.posture_search import ExactPosture
from softgrasp.mechanics.transforms import Array, quaternion_of, transform
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.contact_pairs import Pair, object_pairs
from softgrasp.model.grasp_geometry import hand_joints
from softgrasp.model.hand import settle
from softgrasp.model.scene import build
from softgrasp.model.timestep import as_resolved

MAX_DISTANCE = 0.15
"""Largest retreat of a hand [m]."""
STEP = 2e-4
"""Smallest step of the search, which bounds the excess of a result [m]."""
ASIDE = 10.0
"""Height of the object while the model is built [m]."""


class HandRetreat:
    """Search for the retreat distance of a hand in its start posture from an object.

    The object is rigid; everything else of the scene is left out.
    """

    def __init__(self, scene: GraspScene) -> None:
        """Build the model of hand and object.

        Args:
            scene: The scene; its poses are ignored.
        """
        self.built = build(as_resolved(hand_and_object(scene)))
        """Hand and object alone; the hand is at the world frame."""
        self.model, self.data = self.built.model, mujoco.MjData(self.built.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        first = int(self.model.jnt_qposadr[int(self.model.body(names.OBJECT).jntadr[0])])
        self._object_pose = self.data.qpos[first : first + 7]
        self.pairs = [_ids(self.model, pair) for pair in object_pairs(self.model)]
        """Geoms of the hand with geoms of the object."""
        self._hand = scene.hand
        self.approach = toward_grasp(scene.hand, scene.preset.center)
        """Unit vector in the hand's frame from the finger bases to the grasp's centre, (3,)."""

    def open_to(self, targets: Array) -> None:
        """Put the hand into another start posture.

        Args:
            targets: Actuator targets, (nu,).
        """
        position = self.data.qpos.copy()
        for joint, value in self._hand.posture(targets.tolist()).items():
            position[self.model.joint(joint).qposadr[0]] = value
        self.data.qpos[:] = settle(self.model, self._hand, position)

    def pose_at(self, pose: Array, targets: Array) -> None:
        """Put object and hand into a posture, and compute the frames of their geoms.

        Args:
            pose: Pose of the object in the hand frame, (4, 4).
            targets: Actuator targets, (nu,).
        """
        self.open_to(targets)
        self._object_pose[:3], self._object_pose[3:] = pose[:3, 3], quaternion_of(pose)
        mujoco.mj_kinematics(self.model, self.data)

    def distance(self, pose: Array, gap: float) -> float | None:
        """Compute the retreat of the hand along its approach until the object is clear [m].

        Two convex bodies with a penetration depth have to be displaced at least by that depth in
        any direction, so the result exceeds the smallest one by at most ``STEP``.

        Args:
            pose: Pose of the object in the hand frame, (4, 4).
            gap: Required gap between hand and object [m].

        Returns:
            0 where the object is clear already; None where it is not within ``MAX_DISTANCE``.
        """
        self._object_pose[3:] = quaternion_of(pose)
        distance, start = 0.0, pose[:3, 3]
        while distance <= MAX_DISTANCE:
            self._object_pose[:3] = start + distance * self.approach
            lacking = gap - self._distance(gap)
            if lacking <= 1e-9:
                return distance
            distance += max(lacking, STEP)
        return None

    def height(self, plane: Array) -> float:
        """Compute a lower bound of the height of the hand above a plane, in the present pose [m].

        Args:
            plane: Upward unit normal n and offset d of its points n·x = d in the object's frame,
                (4,).
        """
        mujoco.mj_kinematics(self.model, self.data)
        model, data = self.model, self.data
        body = model.body(names.OBJECT).id
        normal = data.xmat[body].reshape(3, 3) @ plane[:3]
        offset = plane[3] + normal @ data.xpos[body]
        geoms = sorted({hand for hand, _ in self.pairs})
        local = data.geom_xmat[geoms].reshape(-1, 3, 3).transpose(0, 2, 1) @ normal
        boxes = model.geom_aabb[geoms]
        centres = data.geom_xpos[geoms] @ normal + (local * boxes[:, :3]).sum(axis=1)
        return float((centres - (np.abs(local) * boxes[:, 3:]).sum(axis=1)).min() - offset)

    def _distance(self, max_distance: float) -> float:
        """Compute the distance of hand and object [m], capped; negative inside."""
        mujoco.mj_kinematics(self.model, self.data)
        reach = max(max_distance, 1e-6)
        distances = [
            mujoco.mj_geomDistance(self.model, self.data, hand, object_geom, reach, None)
            for hand, object_geom in self.near(reach)
        ]
        return float(min(distances, default=reach))

    def near(self, reach: float) -> list[tuple[int, int]]:
        """Return the pairs whose bounding spheres are within a distance."""
        first, second = np.array(self.pairs).T
        radius, centre = self.model.geom_rbound, self.data.geom_xpos
        apart = np.linalg.norm(centre[first] - centre[second], axis=1)
        near = apart <= radius[first] + radius[second] + reach
        near |= (radius[first] == 0.0) | (radius[second] == 0.0)  # a plane has no bounding sphere
        return [self.pairs[index] for index in np.flatnonzero(near)]


def _ids(model: mujoco.MjModel, pair: Pair) -> tuple[int, int]:
    """Return the geom ids of a pair."""
    return int(model.geom(pair.first).id), int(model.geom(pair.second).id)


def hand_and_object(scene: GraspScene) -> GraspScene:
    """Return the scene reduced to open hand and object, far from each other."""
    shaped = [phase.preshape for phase in scene.sequence if isinstance(phase, PreshapePhase)]
    return scene.replace(
        object=scene.object.replace(elasticity=None),
        object_position=(0.0, 0.0, ASIDE),
        object_euler=(0.0, 0.0, 0.0),
        object_mount="free",
        objects=(),
        surroundings=(),
        hand_pose=Pose(),
        arm=None,
        preshape=shaped[-1] if shaped else scene.preshape,
        sequence=(),
        success=None,
        lift=None,
        sensors=(),
    )


STEPS = 10
"""Number of steps."""
REACH = 3e-3
"""Distance up to which a link is brought into contact [m]."""
APART = 0.4
"""Weight of the distance of a link that does not touch, over that of a penetration [–]."""
TOUCHING = 5e-4
"""Distance up to which a link counts as touching [m]."""
PRIOR = 0.06
"""Weight of the change of the posture, over that of a penetration [–]."""
PRESSED = 2e-4
"""Penetration of the links that touch [m]; contact is a little inside, so that it is not lost."""
MAX_STEP = 4e-3
"""Largest step [m]."""
ARM = 0.05
"""Length that makes rotations comparable with displacements [m]."""


class ContactFit:
    """Correction of postures of one hand at one object."""

    def __init__(self, retreat: HandRetreat, tree: KinematicTree, rates: Array, gap: float) -> None:
        """Collect the degrees of freedom.

        Args:
            retreat: Model of hand and object; its state is overwritten.
            tree: The hand.
            rates: Closing rates, (nu,).
            gap: Distance at which links that do not close are kept [m].
        """
        self._retreat, self._tree, self._gap = retreat, tree, gap
        model = retreat.model
        self._joints = hand_joints(model, retreat.built.bodies)
        self._dofs = [int(model.jnt_dofadr[joint]) for joint in self._joints]
        self._object = int(model.body(names.OBJECT).id)
        # a link that does not close, such as a palm, could not open for the start
        closing = np.abs(tree.ratio) @ np.abs(rates) > 0.0
        self._fixed = {geom for geom, _ in retreat.pairs if not closing[self._before(geom)].any()}

    def _before(self, geom: int) -> list[int]:
        """Return the indices of the joints that move a geom of the hand."""
        model = self._retreat.model
        body, chain = int(model.geom_bodyid[geom]), set()
        while body > 0:
            chain.add(body)
            body = int(model.body_parentid[body])
        return [n for n, joint in enumerate(self._joints) if int(model.jnt_bodyid[joint]) in chain]

    def fit(self, pose: Array, targets: Array) -> ExactPosture:
        """Bring the links that are near the object into contact without penetration.

        Args:
            pose: Pose of the object in the hand, (4, 4).
            targets: Actuator targets, (nu,).
        """
        low, high = self._tree.limits.T
        scale = np.concatenate([np.ones(3), np.full(3, 1.0 / ARM), self._target_scale()])
        change = np.zeros(len(scale))  # in metres, from the posture at the start
        prior = PRIOR * np.eye(len(scale))
        for _ in range(STEPS):
            self._retreat.pose_at(pose, targets)
            rows, residuals = self._system()
            matrix = np.vstack([rows.reshape(-1, len(scale)) * scale, prior])
            errors = np.concatenate([residuals, PRIOR * change])
            step = -np.linalg.lstsq(matrix, errors, rcond=None)[0]
            step *= min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-9))
            pose = _move(pose, (scale * step)[:6])
            moved = np.clip(targets + (scale * step)[6:], low, high)
            step[6:] = np.where(scale[6:] > 0.0, (moved - targets) / np.maximum(scale[6:], 1e-9), 0)
            change, targets = change + step, moved
        self._retreat.pose_at(pose, targets)
        mujoco.mj_comPos(self._retreat.model, self._retreat.data)
        nearest = [item for item in self._nearest_by_body().values() if item[0] < TOUCHING]
        jacobians = [self._point_jacobian(point, geom) for _, _, point, geom in nearest]
        inverse = np.linalg.inv(pose)
        points = np.array([point for _, _, point, _ in nearest]).reshape(-1, 3)
        normals = np.array([normal for _, normal, _, _ in nearest]).reshape(-1, 3)
        return ExactPosture(
            pose,
            targets,
            points @ inverse[:3, :3].T + inverse[:3, 3],
            -normals @ inverse[:3, :3].T,
            np.array(jacobians).reshape(-1, 3, len(targets)),
            max([0.0, *(-distance for distance, _, _, _ in nearest)]),
            self._self_penetration(),
        )

    def _self_penetration(self) -> float:
        """Compute the largest penetration of links of the hand in each other [m]."""
        model, data = self._retreat.model, self._retreat.data
        mujoco.mj_fwdPosition(model, data)
        contact = data.contact
        bodies = model.geom_bodyid[contact.geom]
        itself = (bodies != self._object).all(axis=1)
        return float(np.maximum(-contact.dist[itself], 0.0).max(initial=0.0))

    def _target_scale(self) -> Array:
        """Return the change of each target that moves links by about its unit of length, (nu,)."""
        low, high = self._tree.limits.T
        slides = (np.abs(self._tree.ratio[self._tree.slides]) > 0.0).any(axis=0)
        largest = np.maximum(np.abs(self._tree.ratio).max(axis=0), 1e-9)
        return np.where(high > low, np.where(slides, 1.0, 1.0 / ARM) / largest, 0.0)

    def _nearest_by_body(self) -> dict[int, tuple[float, Array, Array, int]]:
        """Return distance, direction, position and geom of the nearest pair of each link."""
        model, data = self._retreat.model, self._retreat.data
        nearest: dict[int, tuple[float, Array, Array, int]] = {}
        ends = np.zeros(6)
        for hand, other in self._retreat.near(REACH):
            distance = mujoco.mj_geomDistance(model, data, hand, other, REACH, ends)
            body = int(model.geom_bodyid[hand])
            if distance < min(REACH, nearest.get(body, (REACH,))[0]) and abs(distance) > 1e-9:
                normal = (ends[3:] - ends[:3]) / distance
                nearest[body] = (float(distance), normal, 0.5 * (ends[:3] + ends[3:]), hand)
        return nearest

    def _system(self) -> tuple[Array, Array]:
        """Return derivatives of the distances (n, 6 + nu) and their errors (n,) [m]."""
        model, data = self._retreat.model, self._retreat.data
        mujoco.mj_comPos(model, data)
        rows, residuals = [], []
        center = data.xpos[self._object]
        for distance, normal, point, geom in self._nearest_by_body().values():
            fixed = geom in self._fixed
            target = self._gap if fixed else -PRESSED
            if fixed and distance >= target:
                continue
            on_hand = np.asarray(-normal @ self._point_jacobian(point, geom))
            weight = 1.0 if distance < 0.0 or fixed else APART
            row = np.concatenate([normal, np.cross(point - center, normal), on_hand])
            rows.append(weight * row)
            residuals.append(weight * (distance - target))
        self._add_self_penetration(rows, residuals)
        return np.array(rows), np.array(residuals)

    def _add_self_penetration(self, rows: list[Array], residuals: list[float]) -> None:
        """Add rows for links of the hand that penetrate each other."""
        model, data = self._retreat.model, self._retreat.data
        mujoco.mj_collision(model, data)
        jacobians = np.zeros((2, 3, model.nv))
        for contact in data.contact:
            bodies = model.geom_bodyid[contact.geom]
            if contact.dist >= 0.0 or (bodies == self._object).any():
                continue
            for jacobian, body in zip(jacobians, bodies.tolist(), strict=True):
                mujoco.mj_jac(model, data, jacobian, None, contact.pos, body)
            apart = contact.frame[:3] @ (jacobians[1] - jacobians[0])
            rows.append(np.concatenate([np.zeros(6), apart[self._dofs] @ self._tree.ratio]))
            residuals.append(float(contact.dist))

    def _point_jacobian(self, point: Array, geom: int) -> Array:
        """Compute the derivatives of a point of the hand with respect to the targets, (3, nu)."""
        model = self._retreat.model
        jacobian = np.zeros((3, model.nv))
        body = int(model.geom_bodyid[geom])
        mujoco.mj_jac(model, self._retreat.data, jacobian, None, point, body)
        return np.asarray(jacobian[:, self._dofs] @ self._tree.ratio)


def _move(pose: Array, step: Array) -> Array:
    """Move a pose by a displacement and a rotation vector, (6,), axes of the hand."""
    result = pose.copy()
    result[:3, 3] += step[:3]
    angle = float(np.linalg.norm(step[3:]))
    if angle > 0.0:
        quaternion = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * step[3:] / angle])
        result[:3, :3] = transform(quaternion=quaternion)[:3, :3] @ pose[:3, :3]
        result = transform(result[:3, 3], quaternion_of(result))
    return result
