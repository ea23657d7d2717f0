"""Frames, limits and grasp places of a hand in a browser's scene."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import viser

from softgrasp.build.visual import CONTACT_RGBA
from softgrasp.mechanics.transforms import Array, quaternion_of
from softgrasp.view.posed_hand import JointFrame, PosedHand
from softgrasp.view.update import updated

AXES_RATIO, THICKNESS = 0.09, 0.04
"""Length of a frame's axes over the size of the hand, and their radius over that."""
FAN_RATIO = 0.16
"""Radius of the fan that a joint can turn through, over the size of the hand."""
CENTER_RATIO = 0.07
"""Radius of the ball at a grasp's place over the size of the hand, where no object tells it."""
RAYS = 24
"""Of a fan."""
FAN_COLOR, NOW_COLOR = (90, 140, 200), (192, 57, 43)
CENTER_COLORS = {"power": (46, 125, 80), "precision": (138, 91, 184)}
SAME = 1e-6
"""Frames that are no farther apart have one label [m]."""


class HandMarks:
    """What is shown of a hand besides its shapes; posed together with it.

    Args:
        scene: The scene of the page.
        posed: The hand.
        size: Of the hand, to which the marks are drawn [m].
    """

    def __init__(self, scene: viser.SceneApi, posed: PosedHand, size: float) -> None:
        self._scene, self._posed, self._size = scene, posed, size
        self.frames, self.limits, self.centers = True, False, False
        self._labels = {
            name: scene.add_label(f"/labels/{name.replace('/', '_')}", text, anchor="bottom-left")
            for name, text in _texts(posed.frames()).items()
        }

    def draw(self) -> None:
        """Show what is wanted where the hand stands now."""
        frames = self._posed.frames()
        self._draw_axes(frames)
        self._draw_limits([frame for frame in frames if frame.limits is not None])
        self._draw_centers()

    def _draw_axes(self, frames: Sequence[JointFrame]) -> None:
        for frame in frames:
            if frame.name in self._labels:
                label = self._labels[frame.name]
                label.position, label.visible = frame.pose[:3, 3], self.frames
        if not self.frames:
            self._scene.remove_by_name("/frames")
            return
        length = AXES_RATIO * self._size
        quaternions = np.array([quaternion_of(frame.pose) for frame in frames])
        positions = np.array([frame.pose[:3, 3] for frame in frames])
        if updated(self._scene, "/frames", batched_wxyzs=quaternions, batched_positions=positions):
            return
        self._scene.add_batched_axes(
            "/frames",
            quaternions,
            positions,
            axes_length=length,
            axes_radius=THICKNESS * length,
        )

    def _draw_limits(self, frames: Sequence[JointFrame]) -> None:
        if not (self.limits and frames):
            self._scene.remove_by_name("/limits/fans")
            self._scene.remove_by_name("/limits/lines")
            return
        radius = FAN_RATIO * self._size
        turning = [frame for frame in frames if frame.is_hinge]
        if turning:
            vertices, faces = fans(turning, radius)
        if turning and not updated(self._scene, "/limits/fans", vertices=vertices):
            self._scene.add_mesh_simple(
                "/limits/fans", vertices, faces, color=FAN_COLOR, opacity=0.4, side="double"
            )
        lines, colors = _lines(frames, radius)
        if not updated(self._scene, "/limits/lines", points=lines):
            self._scene.add_line_segments(
                "/limits/lines", lines, colors, thickness=3.0, thickness_units="screen"
            )

    def _draw_centers(self) -> None:
        pose = self._posed.hand_pose()
        for name, preset in self._posed.hand.grasps:
            if not self.centers:
                self._scene.remove_by_name(f"/places/{name}")
                continue
            center = pose[:3, :3] @ np.array(preset.center) + pose[:3, 3]
            if updated(self._scene, f"/places/{name}", position=center):
                continue
            self._scene.add_icosphere(
                f"/places/{name}",
                radius=CENTER_RATIO * self._size,
                color=CENTER_COLORS.get(name, CONTACT_RGBA[:3]),
                opacity=0.5,
                position=center,
            )
            self._scene.add_label(f"/places/{name}/label", f"{name} grasp", anchor="center-center")


def fans(frames: Sequence[JointFrame], radius: float) -> tuple[Array, Array]:
    """Where the x axes of frames can turn to, as triangles: vertices (n, 3) [m], numbers (m, 3).

    Args:
        frames: Of joints that turn and have limits.
        radius: Of the fans [m].
    """
    vertices, faces = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)]
    around = np.arange(RAYS)
    for number, frame in enumerate(frames):
        assert frame.limits is not None
        low, high = frame.limits
        angles = np.linspace(low, min(high, low + 2.0 * np.pi), RAYS + 1) - frame.value
        flat = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=-1)
        middle = frame.pose[:3, 3]
        vertices.append(np.vstack([middle, middle + radius * flat @ frame.pose[:3, :3].T]))
        first = number * (RAYS + 2)
        faces.append(
            np.stack([np.full(RAYS, first), first + 1 + around, first + 2 + around], axis=-1)
        )
    return np.concatenate(vertices), np.concatenate(faces)


def _lines(frames: Sequence[JointFrame], radius: float) -> tuple[Array, Array]:
    """Where turning joints stand in their fans, and the ways of sliding ones, with colours."""
    lines, colors = [], []
    for frame in frames:
        assert frame.limits is not None
        middle, x, z = frame.pose[:3, 3], frame.pose[:3, 0], frame.pose[:3, 2]
        if frame.is_hinge:
            lines.append([middle, middle + radius * x])
            colors.append(NOW_COLOR)
        else:
            lines.append([middle + (end - frame.value) * z for end in frame.limits])
            colors.append(FAN_COLOR)
    each = np.array(colors, dtype=np.uint8)
    return np.array(lines), np.repeat(each[:, None], 2, axis=1)


def _texts(frames: Sequence[JointFrame]) -> dict[str, str]:
    """What stands at frames, by the name of the first one of those that are in one place."""
    labelled: list[tuple[str, Array]] = []
    texts: dict[str, str] = {}
    for frame in frames:
        here = frame.pose[:3, 3]
        near = [name for name, position in labelled if np.linalg.norm(position - here) < SAME]
        if near:
            texts[near[0]] += f", {frame.name}"
        else:
            labelled.append((frame.name, here))
            texts[frame.name] = frame.name
    return texts
