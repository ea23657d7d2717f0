"""A soft finger alone → a Webots world: clamped level at the origin, in some shape."""

from __future__ import annotations

import mujoco

from softgrasp.build.soft_finger import finger_model
from softgrasp.build.webots.frames import WORLD as ORIGIN
from softgrasp.build.webots.joint_laws import joint_laws, require_damping
from softgrasp.build.webots.solids import SolidWriter
from softgrasp.build.webots.start import view_of
from softgrasp.build.webots.world import WebotsWorld, driven_robot, heading
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

MATERIAL = "finger"


def finger_world(
    finger: SoftFinger, angles: Array, timestep: float, arguments: tuple[str, ...]
) -> WebotsWorld:
    """A finger that nothing drives or touches.

    Args:
        finger: With all of its damping.
        angles: Its joints in the file [rad], (n,).
        timestep: Of Webots [s].
        arguments: Of the controller.

    Raises:
        BuildError: A joint has less damping than Webots' implicit spring adds at this step.
    """
    model = finger_model(finger)
    start = mujoco.MjData(model)
    start.qpos[:] = angles
    mujoco.mj_forward(model, start)
    laws = joint_laws(model, start, timestep)
    require_damping(laws, timestep)
    writer = SolidWriter(model, start, laws, sensing=(), touching=set())
    view = view_of(model, start, range(model.ngeom))
    top = heading(finger.name, -STANDARD_GRAVITY[2], timestep, (), view)
    hanging = [writer.carried(1, ORIGIN, MATERIAL)]
    robot = driven_robot(hanging, finger.name, arguments)
    return WebotsWorld([*top, robot], laws, timestep, {}, ())
