"""A finished run in pictures: its poses with the marks and colours that belong to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.build import names
from softgrasp.build.visual import CONTACT_RGBA, IN_CONTACT_RGBA
from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, geom_corner_points
from softgrasp.render.extents import covered_geoms
from softgrasp.render.marks import Arrow, Ball, Mark, Rgba
from softgrasp.render.phases import has_phases
from softgrasp.simulation.contacts import ContactPoint, contact_points, merged
from softgrasp.simulation.posed_result import PosedResult
from softgrasp.simulation.result import GraspResult

ARROW_RATIO, MAX_ARROW_RATIO = 0.13, 0.17
"""Length of the arrow of a large force, and of the longest one, over the picture's height."""
LARGE_FORCE_PERCENTILE = 95.0
"""Impacts peak far above what a grasp rests on; the scale of the arrows leaves them out."""
BALL_RATIO, SHAFT_RATIO = 0.008, 0.0045
"""Radii of contact points and arrows over the picture's height."""
CAMERA_SAMPLES = 16
"""Instants of a run that the camera has to have in the picture."""
STRAY = 1.3
"""Points farther from the hand's middle than this many of its radii are not followed."""


class Playback(PosedResult):
    """A finished run as states of its model, with what a picture shows besides.

    Args:
        result: The run; its scene is built anew.
    """

    def __init__(self, result: GraspResult) -> None:
        super().__init__(result)
        self._movers = [geom for geom in covered_geoms(self.model).tolist() if self._moves(geom)]
        self._geoms = {
            body: np.flatnonzero(self.model.geom_bodyid == self.model.body(body).id).tolist()
            for body in result.contact_bodies.tolist()
        }
        self._large_force = _large_force(result)

    def colors(self, time: float) -> dict[int, Rgba]:
        """Colours of the geoms of the bodies whose contact is established at a time [s]."""
        established = self.result.in_contact[self.row(time)[0]]
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
        hand_bodies = set(self.result.contact_bodies.tolist())
        points = [
            point for point in contact_points(self.model, self.data) if point.body in hand_bodies
        ]
        forces = self._forces(time, window)
        drawn_marks: list[Mark] = [
            Ball(_point(contact.point), BALL_RATIO * height, CONTACT_RGBA) for contact in points
        ]
        for body, force in zip(self.result.contact_bodies.tolist(), forces, strict=True):
            state = merged(on_deepest([contact for contact in points if contact.body == body]))
            if state is None or force <= 0.0:
                continue
            length_ratio = min(ARROW_RATIO * force / self._large_force, MAX_ARROW_RATIO)
            # from outside to the point: inside the object, arrows would cross one another
            start = np.array(state.point) - length_ratio * height * np.array(state.normal)
            drawn_marks.append(
                Arrow(_point(start), state.point, SHAFT_RATIO * height, CONTACT_RGBA)
            )
        return drawn_marks

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
        phase_ends = [phase.end_s for phase in self.result.phases if begin < phase.end_s < end]
        even = np.linspace(begin, end, CAMERA_SAMPLES)
        times = np.unique([*even, *phase_ends] if has_phases(self.result) else even)
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

    def _forces(self, time: float, window: float) -> Array:
        first, last = self.row(time - 0.5 * window)[0], self.row(time + 0.5 * window)[0]
        return np.asarray(self.result.normal_force[first : last + 1].mean(axis=0))


def on_deepest(points: list[ContactPoint]) -> list[ContactPoint]:
    """Those of a body's contacts that are with the object that it stands deepest in.

    Posed states have no forces, and each object has a normal of its own.
    """
    if not points:
        return points
    object_name = min(points, key=lambda point: point.separation).object_name
    return [point for point in points if point.object_name == object_name]


def _large_force(result: GraspResult) -> float:
    """The force that makes a long arrow [N]."""
    forces = result.normal_force[result.in_contact]
    if not forces.size:
        forces = result.normal_force[result.normal_force > 0.0]
    return float(np.percentile(forces, LARGE_FORCE_PERCENTILE)) if forces.any() else 1.0


def _point(values: ArrayLike) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, dtype=float).tolist()
    return (x, y, z)
