"""Correction of synthesized postures with the exact shapes of hand and object.

The energy of the synthesis sees points on the hand. Here the distances of the geoms themselves, as
the simulation detects contacts, are brought to zero for the links that touch, and to at least zero
for all others, by least squares over the object's pose and the actuator targets, near those found.
"""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.grasp_synthesis.kinematic_tree import KinematicTree
from softgrasp.grasp_synthesis.posture_search import ExactPosture
from softgrasp.mechanics.transforms import Array, quaternion_of, transform
from softgrasp.model import names
from softgrasp.model.grasp_geometry import hand_joints
from softgrasp.model.retreat import HandRetreat

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
