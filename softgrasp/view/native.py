"""MuJoCo's own viewer, in a window, and whether there is a screen for one."""

from __future__ import annotations

import os
import sys
import time as clock

import mujoco

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable
from softgrasp.render.camera import Camera
from softgrasp.render.playback import framing
from softgrasp.render.poses import Playback
from softgrasp.view.hand_closing import hand_camera
from softgrasp.view.posed_hand import PosedHand

FRAMES, SLOWER = 25.0, 0.5
"""Pictures a second, and simulated time over real time while a result plays."""
EXTENTS_AWAY = 1.5
"""Of the free camera of MuJoCo's viewer from the middle of a model when it begins."""


def has_display() -> bool:
    """Whether windows can be opened, as far as the environment tells."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_display() -> None:
    """Refuse windows where there is no screen.

    Raises:
        BackendUnavailable: There is none.
    """
    if not has_display():
        raise BackendUnavailable(
            "--native: expected a screen for MuJoCo's own viewer, found none (neither DISPLAY nor "
            "WAYLAND_DISPLAY is set); leave --native out to look in a browser"
        )


def show_hand(posed: PosedHand, scene: GraspScene | None) -> None:
    """Open a hand in MuJoCo's viewer, which simulates it, until the window is closed.

    Args:
        posed: The hand.
        scene: The scene whose model it is in; None where the hand is alone.
    """
    import mujoco.viewer

    begin_from(posed.model, hand_camera(posed, scene))
    mujoco.viewer.launch(posed.model, posed.data)


def show_result(playback: Playback) -> None:
    """Play a result in MuJoCo's viewer, again and again, until the window is closed."""
    import mujoco.viewer

    begin_from(playback.model, framing([playback]))
    begin, end = (float(one) for one in playback.result.time[[0, -1]])
    time = begin
    with mujoco.viewer.launch_passive(playback.model, playback.data) as window:
        while window.is_running():
            with window.lock():
                playback.pose(time)
            window.sync()
            clock.sleep(1.0 / FRAMES)
            time = begin if time >= end else min(time + SLOWER / FRAMES, end)


def begin_from(model: mujoco.MjModel, camera: Camera) -> None:
    """Have viewers of a model begin where a camera stands; nothing of the physics changes."""
    model.stat.center = camera.lookat
    model.stat.extent = camera.distance / EXTENTS_AWAY
    model.vis.global_.azimuth, model.vis.global_.elevation = (
        camera.azimuth_deg,
        camera.elevation_deg,
    )
    model.vis.global_.fovy = camera.fovy_deg
