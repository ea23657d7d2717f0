"""Pictures of an episode, drawn off-screen, with OpenGL or without."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.build.visual import IN_CONTACT_RGBA
from softgrasp.environments.task import GraspTask
from softgrasp.rendering.camera import geom_corner_points
from softgrasp.rendering.keyframes import best_camera
from softgrasp.rendering.renderer import open_renderer


class Image:
    """Draws states of one model from one place; bodies in established contact change colour."""

    def __init__(
        self, task: GraspTask, model: mujoco.MjModel, size: tuple[int, int], renderer: str
    ) -> None:
        """Open a renderer and choose where to look from.

        Args:
            task: The task.
            model: Its model.
            size: Width and height in pixels.
            renderer: ``auto``, ``gl`` or ``raycast``.

        Raises:
            BackendUnavailable: The renderer that was asked for is not there.
            DescriptionError: There is no such renderer, or no picture of that size.
        """
        self._model, self._data = model, mujoco.MjData(model)
        self._drawer = open_renderer(model, *size, renderer)
        mujoco.mj_resetDataKeyframe(model, self._data, 0)
        self._pose()
        cloud = geom_corner_points(model, self._data)
        if task.scene.lift is not None:
            lifted = cloud + np.array([0.0, 0.0, task.scene.lift.height])
            cloud = np.concatenate([cloud, lifted])
        hand = [model.body(body).id for body in task.bodies]
        object_body = model.body(names.OBJECT).id
        self._camera = best_camera(model, self._data, cloud, hand, [object_body], size[0] / size[1])
        self._geoms = [np.flatnonzero(model.geom_bodyid == body).tolist() for body in hand]

    def draw(self, data: mujoco.MjData, in_contact: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """A picture (height, width, 3) of a state, which stays as it is.

        Args:
            data: The state.
            in_contact: Which bodies of the hand are in established contact, (nb,).
        """
        self._data.qpos[:] = data.qpos
        self._pose()
        touching = zip(self._geoms, in_contact.tolist(), strict=True)
        colors = {geom: IN_CONTACT_RGBA for geoms, on in touching if on for geom in geoms}
        return np.array(self._drawer.draw(self._data, self._camera, (), colors))

    def close(self) -> None:
        """Free what the renderer holds."""
        self._drawer.close()

    def _pose(self) -> None:
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
