"""Dynamics of a twin's fingers in MuJoCo between two cycles of its control loop."""

from __future__ import annotations

import math
from typing import Literal

import mujoco
import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Array, position_of, quaternion_of
from softgrasp.sim import has_diverged
from softgrasp.twin.description import Twin
from softgrasp.twin.finger_pieces import TwinShape, roots_in_flange
from softgrasp.twin.model import FLANGE, twin_chain

LONGEST = 0.5
"""Longest simulated duration of a gap in the readings [s]."""


class TwinFingers:
    """Simulated fingers with mass and stiffness that follow the bending angles of a pressure.

    The flange is placed at the measured pose in every cycle: its orientation has an effect, its
    acceleration does not.

    Args:
        twin: Digital twin with dynamics.

    Raises:
        DescriptionError: The twin has no dynamics.
        BuildError: MuJoCo refuses the model.
    """

    def __init__(self, twin: Twin) -> None:
        if twin.dynamics is None:
            raise DescriptionError(
                f"expected dynamics of twin '{twin.name}', found none", field="dynamics"
            )
        self.twin = twin
        self.model = twin_chain(twin, twin.dynamics)
        self.data = mujoco.MjData(self.model)
        self._links = twin.dynamics.links
        fingers = len(twin.gripper.fingers)
        self._tips = [self.model.site(f"finger{k + 1}_tip").id for k in range(fingers)]
        self._first_root = np.linalg.inv(roots_in_flange(twin.gripper)[0])
        self._mocap = int(self.model.body(FLANGE).mocapid[0])

    def advance(self, shape: TwinShape, seconds: float) -> Array:
        """Simulate a duration.

        Args:
            shape: Target shape of the fingers, and pose of the flange.
            seconds: Duration [s]; at most half a second is simulated.

        Returns:
            Tips in the robot's base frame [m], (k, 3); not finite where the motion diverged.
        """
        flange = shape.roots[0] @ self._first_root
        self.data.mocap_pos[self._mocap] = position_of(flange)
        self.data.mocap_quat[self._mocap] = quaternion_of(flange)
        targets = chain_targets(shape, self._links, self.twin.frame)
        self.data.ctrl[:] = np.tile(targets, len(self._tips))
        steps = max(1, math.ceil(min(seconds, LONGEST) / self.model.opt.timestep - 1e-9))
        mujoco.mj_step(self.model, self.data, steps)
        if has_diverged(self.data):
            return np.full((len(self._tips), 3), np.nan)
        mujoco.mj_kinematics(self.model, self.data)
        return np.array(self.data.site_xpos[self._tips])


def chain_targets(shape: TwinShape, links: int, frame: Literal["bishop", "webster"]) -> Array:
    """Return the target angles of one finger's joints, u and v of every link, (2·links·n,) [rad].

    Args:
        shape: Shape with n pieces.
        links: Links per piece.
        frame: Rotation of the end of a piece about its axis. The chain is not rotated, so the
            planes of ``webster`` add up from piece to piece.
    """
    planes = np.cumsum(shape.planes) if frame == "webster" else shape.planes
    towards = shape.angles[:, None] * np.stack([np.cos(planes), np.sin(planes)], axis=-1)
    return np.repeat(towards / links, links, axis=0).ravel()
