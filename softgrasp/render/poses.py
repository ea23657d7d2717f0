"""A finished run as states of its model, with the marks and colours that belong to them."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.build import names
from softgrasp.build.deformable import node_columns, node_positions
from softgrasp.build.placing import Thing, things_of
from softgrasp.build.scene import compile_model
from softgrasp.build.visual import CONTACT_RGBA, IN_CONTACT_RGBA
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, geom_corner_points
from softgrasp.render.extents import covered_geoms
from softgrasp.render.marks import Arrow, Ball, Mark, Rgba
from softgrasp.render.phases import has_phases
from softgrasp.simulation.contacts import ContactPoint, contact_points, merged
from softgrasp.simulation.result import GraspResult

ARROW_SHARE, LONGEST_SHARE = 0.13, 0.17
"""Length of the arrow of a large force, and of the longest one, over the picture's height."""
LARGE_FORCE_PERCENTILE = 95.0
"""Impacts peak far above what a grasp rests on; the scale of the arrows leaves them out."""
BALL_SHARE, SHAFT_SHARE = 0.008, 0.0045
"""Radii of contact points and arrows over the picture's height."""
LOOKS = 16
"""Instants of a run that the camera has to have in the picture."""
STRAY = 1.3
"""Points farther from the hand's middle than this many of its radii are not followed."""


class Playback:
    """A finished run as states of its model, posed at any time of the run.

    Args:
        result: The run; its scene is built anew.
    """

    def __init__(self, result: GraspResult) -> None:
        self.result = result
        with warnings.catch_warnings():
            # said when the scene was built for the run, and kept in the result
            warnings.simplefilter("ignore", SoftgraspWarning)
            self.model = compile_model(result.scene)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self._joints = [self.model.joint(name).qposadr[0] for name in result.joint_names.tolist()]
        self._things = things_of(result.scene)
        self._movers = [geom for geom in covered_geoms(self.model).tolist() if self._moves(geom)]
        self._geoms = {
            body: np.flatnonzero(self.model.geom_bodyid == self.model.body(body).id).tolist()
            for body in result.contact_bodies.tolist()
        }
        self._large_force = _large_force(result)

    def pose(self, time: float) -> mujoco.MjData:
        """The state at a time [s], with kinematics and collisions; kept until the next call."""
        result = self.result
        row, share = self._row(time)
        near = slice(row, row + 2)
        joints = result.joint_position[near]
        self.data.qpos[self._joints] = joints[0] + share * (joints[-1] - joints[0])
        if result.object_nodes is not None:
            nodes = result.object_nodes[near]
            places = nodes[0] + share * (nodes[-1] - nodes[0])
            self.data.qpos[node_columns(self.model)] = node_positions(self.model, places)
        for thing, (positions, quaternions) in zip(self._things, result.tracks, strict=True):
            track, turns = positions[near], quaternions[near]
            place = track[0] + share * (track[-1] - track[0])
            self._place_object(thing, place, _slerp(turns[0], turns[-1], share))
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        if self.model.nflex:
            mujoco.mj_flex(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return self.data

    def colors(self, time: float) -> dict[int, Rgba]:
        """Colours of the geoms of the bodies whose contact is established at a time [s]."""
        established = self.result.in_contact[self._row(time)[0]]
        bodies = self.result.contact_bodies[established].tolist()
        return {geom: IN_CONTACT_RGBA for body in bodies for geom in self._geoms[body]}

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:
        """Contact points and forces of the posed state.

        Args:
            time: The time of the pose [s].
            camera: Gives the marks their size.
            window: Forces are averaged over this time around ``time`` [s].
        """
        height = 2.0 * camera.distance * np.tan(0.5 * np.radians(camera.fovy_deg))
        own = set(self.result.contact_bodies.tolist())
        points = [point for point in contact_points(self.model, self.data) if point.body in own]
        forces = self._forces(time, window)
        found: list[Mark] = [
            Ball(_point(contact.point), BALL_SHARE * height, CONTACT_RGBA) for contact in points
        ]
        for body, force in zip(self.result.contact_bodies.tolist(), forces, strict=True):
            state = merged(on_deepest([contact for contact in points if contact.body == body]))
            if state is None or force <= 0.0:
                continue
            share = min(ARROW_SHARE * force / self._large_force, LONGEST_SHARE)
            tip = np.array(state.point) + share * height * np.array(state.normal)
            found.append(Arrow(state.point, _point(tip), SHAFT_SHARE * height, CONTACT_RGBA))
        return found

    def cloud(self, begin: float | None = None) -> Array:
        """World points around the hand and the objects until the end [m], shape (n, 3).

        An object that leaves the hand is followed for the size of the hand, not longer; what is
        lifted is followed all the way. What stands around may reach out of the picture.

        Args:
            begin: From when on [s]; the start of the run where it is not given.
        """
        start, end = self.result.time[[0, -1]]
        first = geom_corner_points(self.model, self.pose(start), self._movers)
        palm = self.data.body(names.hand_body(self.result.scene.hand)).xpos.copy()
        middle = first.mean(axis=0)
        reach = np.linalg.norm(first - middle, axis=1).max()
        begin = start if begin is None else begin
        instants = [phase.end_s for phase in self.result.phases if begin < phase.end_s < end]
        even = np.linspace(begin, end, LOOKS)
        times = np.unique([*even, *instants] if has_phases(self.result) else even)
        lift = self.result.scene.lift
        farthest = STRAY * reach + (0.0 if lift is None else lift.height)
        near = []
        for time in times.tolist():
            points = geom_corner_points(self.model, self.pose(time), self._movers)
            away = np.linalg.norm(points - middle, axis=1)
            if self.result.scene.on_wrist:  # what goes with the hand is followed all the way
                carried = (
                    middle + self.data.body(names.hand_body(self.result.scene.hand)).xpos - palm
                )
                away = np.minimum(away, np.linalg.norm(points - carried, axis=1))
            near.append(points[away <= farthest])
        return np.concatenate(near)

    def _moves(self, geom: int) -> bool:
        body = self.model.body(int(self.model.geom_bodyid[geom])).name
        return not names.is_around(body)

    def _row(self, time: float) -> tuple[int, float]:
        """The last row at or before a time, and the way to the next one (0 … 1)."""
        times = self.result.time
        row = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if row == len(times) - 1:
            return row, 0.0
        share = (time - times[row]) / (times[row + 1] - times[row])
        return row, float(np.clip(share, 0.0, 1.0))

    def _forces(self, time: float, window: float) -> Array:
        first, last = self._row(time - 0.5 * window)[0], self._row(time + 0.5 * window)[0]
        return np.asarray(self.result.normal_force[first : last + 1].mean(axis=0))

    def _place_object(self, thing: Thing, position: Array, quaternion: Array) -> None:
        qpos = self.data.qpos
        if thing.object.elasticity is not None:  # its nodes are where they were recorded
            return
        if thing.mount == "free":
            first = self.model.joint(thing.body).qposadr[0]
            qpos[first : first + 7] = [*position, *quaternion]
        elif thing.mount == "planar":
            inverse, turned = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, np.array(thing.pose.quaternion))
            mujoco.mju_mulQuat(turned, quaternion, inverse)
            moved = position - thing.pose.position
            about_y = 2.0 * np.arctan2(turned[2], turned[0])
            values = (moved[0], moved[2], about_y)
            for name, value in zip(names.object_joints(thing.body), values, strict=True):
                qpos[self.model.joint(name).qposadr[0]] = value


def on_deepest(points: list[ContactPoint]) -> list[ContactPoint]:
    """Those of a body's contacts that are with the object that it stands deepest in.

    Posed states have no forces, and each object has a normal of its own.
    """
    if not points:
        return points
    thing = min(points, key=lambda point: point.separation).thing
    return [point for point in points if point.thing == thing]


def _large_force(result: GraspResult) -> float:
    """The force that makes a long arrow [N]."""
    forces = result.normal_force[result.in_contact]
    if not forces.size:
        forces = result.normal_force[result.normal_force > 0.0]
    return float(np.percentile(forces, LARGE_FORCE_PERCENTILE)) if forces.any() else 1.0


def _slerp(first: Array, second: Array, share: float) -> Array:
    """The rotation a part of the shortest way from one unit quaternion to another."""
    turn, between = np.zeros(3), first.copy()
    mujoco.mju_subQuat(turn, second, first)
    mujoco.mju_quatIntegrate(between, turn, share)
    return between


def _point(values: ArrayLike) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, dtype=float).tolist()
    return (x, y, z)
