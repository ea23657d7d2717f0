"""Contact points, forces and friction cones of a result in a browser's scene."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser

from softgrasp.build.visual import CONTACT_RGBA
from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera
from softgrasp.render.marks import Arrow, Ball
from softgrasp.render.poses import Playback
from softgrasp.simulation.quality_log import QualityLog
from softgrasp.view.update import updated

CONTACTS, FORCES = "/marks/contacts", "/marks/forces"
"""Names in the scene."""
SIDES = 24
"""Of a cone."""
CONE_RATIO = 0.07
"""Height of a cone over that of the picture."""
HEAD = 3.0, 7.0
"""Radius and length of an arrow's head in radii of its shaft."""
COLOR = np.array([round(255 * part) for part in CONTACT_RGBA[:3]], dtype=np.uint8)
CONE_COLOR = (30, 80, 150)


class GraspMarks:
    """What a result's contacts look like; posed together with its model.

    Args:
        scene: The scene of the page.
        playback: The result.
        camera: Gives the marks their size.
    """

    def __init__(self, scene: viser.SceneApi, playback: Playback, camera: Camera) -> None:
        self._scene, self._playback, self._camera = scene, playback, camera
        self._height = 2.0 * camera.distance * np.tan(0.5 * np.radians(camera.fovy_deg))
        self.forces, self.cones = True, False

    def pose(self, time: float) -> None:
        """Show the contacts of an instant [s]; the playback stands there already."""
        marks = self._playback.marks(time, self._camera)
        self._show_balls([mark for mark in marks if isinstance(mark, Ball)])
        self._show_arrows([mark for mark in marks if isinstance(mark, Arrow)])
        self._show_cones(time)

    def _show_balls(self, balls: Sequence[Ball]) -> None:
        points = np.array([ball.center for ball in balls]).reshape(-1, 3)
        if balls and updated(self._scene, CONTACTS, points=points):
            return
        self._scene.remove_by_name(CONTACTS)
        if not balls:
            return
        self._scene.add_point_cloud(
            CONTACTS,
            points,
            COLOR,
            point_size=2.0 * balls[0].radius,
            point_shape="circle",
        )

    def _show_arrows(self, arrows: Sequence[Arrow]) -> None:
        if not (arrows and self.forces):
            self._scene.remove_by_name(FORCES)
            return
        # hands hide what is in them, unlike in a film: the arrows go on from where they touch into
        # the object, which is seen through
        shafts = np.array([(one.start, one.vector_end) for one in arrows])
        radius, ends = arrows[0].radius, shafts + np.diff(shafts, axis=1)
        if updated(self._scene, FORCES, points=ends):
            return
        self._scene.add_arrows(
            FORCES,
            ends,
            COLOR,
            shaft_radius=radius,
            head_radius=HEAD[0] * radius,
            head_length=HEAD[1] * radius,
        )

    def _show_cones(self, time: float) -> None:
        log = self._playback.result.quality_log
        if log is None or not self.cones:
            self._scene.remove_by_name("/marks/cones")
            return
        # lines: what is half transparent would be hidden by an object that is so, too
        vertices, faces = cones(*_contacts(log, time), CONE_RATIO * self._height)
        self._scene.add_mesh_simple(
            "/marks/cones", vertices, faces, color=CONE_COLOR, wireframe=True, side="double"
        )


def cones(points: Array, normals: Array, friction: Array, height: float) -> tuple[Array, Array]:
    """Friction cones as triangles: vertices (n, 3) [m] and their numbers (m, 3).

    Args:
        points: Their tips, (k, 3) [m].
        normals: Unit vectors along their axes, (k, 3).
        friction: Tangents of their half angles, (k,).
        height: Of all of them [m].
    """
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    vertices, faces = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)]
    around = np.arange(SIDES)
    for number, (point, normal, mu) in enumerate(zip(points, normals, friction, strict=True)):
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across /= np.linalg.norm(across)
        ring = np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(normal, across))
        vertices.append(np.vstack([point, point + height * (normal + mu * ring)]))
        first = number * (SIDES + 1)
        tips = np.full(SIDES, first)
        sides = np.stack([tips, first + 1 + around, first + 1 + (around + 1) % SIDES], axis=-1)
        faces.append(sides)
    return np.concatenate(vertices), np.concatenate(faces)


def _contacts(log: QualityLog, time: float) -> tuple[Array, Array, Array]:
    """Points, normals into the object and µ of the sample at or before a time."""
    sample = max(int(np.searchsorted(log.time, time + 1e-9)) - 1, 0)
    rows = slice(int(log.first[sample]), int(log.first[sample + 1]))
    return log.points[rows], log.normals[rows], log.friction[rows]
