"""Trial of a grasp: the closure and a short hold test, to choose among computed grasps."""

from __future__ import annotations

import math
import warnings

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.model.scene import build
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.outcome import GraspStatus
from softgrasp.sim.result_builder import result_of

ROTATION_ARM = 5e-3
"""Displacement that counts as much as a rotation of the object by 1 rad [m]."""
MIN_CONTACTS = 2
"""Smallest number of bodies of the hand in contact at the end."""
LOST = 0.015
"""Displacement in the palm above which an object counts as lost [m]."""
FAILED = (GraspStatus.EJECTED, GraspStatus.NO_CONTACT, GraspStatus.DIVERGED)


def displacement_in_trial(scene: GraspScene) -> float:
    """Simulate a grasp and its hold test; return how far the object moves in the palm [m].

    A rotation counts as a displacement on ``ROTATION_ARM``. Infinite where the object is not in the
    hand at the end, or where the start is not clear.

    Args:
        scene: The scene with a hold test.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = ClosureRun(build(scene))
        except BuildError:
            return math.inf
        run.run()
        result = result_of(run, [], 0.0)
    contacts = sum(body.in_contact for body in result.contacts)
    if result.status in FAILED or result.hold is None or contacts < MIN_CONTACTS:
        return math.inf
    displacement = max(result.hold.drop_m, ROTATION_ARM * result.hold.rotation_rad)
    return displacement if displacement <= LOST else math.inf
