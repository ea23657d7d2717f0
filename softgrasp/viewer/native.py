"""Viewer windows of MuJoCo: play back a result or move a hand, and check for a display."""

from __future__ import annotations

import itertools
import os
import sys
import time as clock
from collections.abc import Callable

import mujoco
import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.video import framing
from softgrasp.viewer.scene_markers import PosedHand, hand_camera

FRAMES, SLOWER = 25.0, 0.5
"""Frames per second, and simulated time over real time during playback."""


def show_hand(posed: PosedHand, scene: GraspScene | None) -> None:
    """Simulate a hand in the MuJoCo viewer, with sliders for the servo targets, until closed."""
    model, data = posed.model, posed.data
    steps = max(round(1.0 / (FRAMES * model.opt.timestep)), 1)
    _play(model, data, hand_camera(posed, scene), lambda: mujoco.mj_step(model, data, steps))


def _play(
    model: mujoco.MjModel, data: mujoco.MjData, camera: Camera, advance: Callable[[], object]
) -> None:
    """Show a model and advance it frame by frame until the window is closed."""
    import mujoco.viewer

    with mujoco.viewer.launch_passive(model, data) as window:
        with window.lock():
            aim(window.cam, camera)
            model.vis.global_.fovy = camera.fovy_deg
        while window.is_running():
            due = clock.monotonic() + 1.0 / FRAMES
            with window.lock():
                advance()
            window.sync()
            clock.sleep(max(due - clock.monotonic(), 0.0))


def show_result(playback: Playback) -> None:
    """Play a result repeatedly in the MuJoCo viewer until the window is closed."""
    begin, end = (float(item) for item in playback.result.time[[0, -1]])
    count = max(round((end - begin) * FRAMES / SLOWER), 1)
    frames = itertools.cycle(np.linspace(begin, end, count + 1).tolist())
    camera = framing([playback])
    _play(playback.model, playback.data, camera, lambda: playback.pose(next(frames)))


def has_display() -> bool:
    """Whether windows can be opened, according to the environment."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Raise an error without a display.

    Raises:
        BackendUnavailable: There is no display.
    """
    if not has_display():
        raise BackendUnavailable(
            "--native: expected a display for the MuJoCo viewer, found none (neither DISPLAY nor "
            "WAYLAND_DISPLAY is set); omit --native to use a browser"
        )


def aim(free: mujoco.MjvCamera, camera: Camera) -> None:
    """Set the free camera of a viewer to a camera."""
    free.type = mujoco.mjtCamera.mjCAMERA_FREE
    free.lookat, free.distance = camera.lookat, camera.distance
    free.azimuth, free.elevation = camera.azimuth_deg, camera.elevation_deg
