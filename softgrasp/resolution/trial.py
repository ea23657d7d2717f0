"""Trials of a grasp: a closure and a hold test, to choose among computed grasps."""

from __future__ import annotations

import math
import warnings

from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.evaluation.outcome import GraspStatus
from softgrasp.evaluation.result_builder import result_of
from softgrasp.model.scene import build
from softgrasp.model.timestep import resolved_timestep
from softgrasp.resolution.start import with_clear_start
from softgrasp.sim.grasp_run import ClosureRun

ROTATION_ARM = 5e-3
"""Displacement that counts as much as a rotation of the object by 1 rad [m]."""
MIN_CONTACTS = 2
"""Smallest number of bodies of the hand in contact at the end."""
ONE_FINGER = 1e-3
"""Displacement that counts as much as contacts of one finger only [m]."""
LOST = 0.015
"""Displacement in the palm above which an object counts as lost [m]."""
FAILED = (GraspStatus.EJECTED, GraspStatus.NO_CONTACT, GraspStatus.DIVERGED)


def displacement_in_trial(scene: GraspScene) -> float:
    """Simulate a grasp and its hold test; return how far the object moves in the palm [m].

    A rotation counts as a displacement on ``ROTATION_ARM``, and contacts of one finger of several
    add ``ONE_FINGER``: another grasp is then preferred. Infinite where the object is not in the
    hand at the end, or where the start is not clear.

    Args:
        scene: A scene with a hold test, a closure and a grasp that are not searched any more.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            timestep = resolved_timestep(scene)
            resolved = ResolvedScene(scene, with_clear_start(scene, timestep, {}), timestep)
            run = ClosureRun(build(resolved))
        except BuildError:
            return math.inf
        run.run()
        result = result_of(run, [], 0.0)
    touching = [contact for contact in result.contacts if contact.in_contact]
    if result.status in FAILED or result.hold is None or len(touching) < MIN_CONTACTS:
        return math.inf
    displacement = max(result.hold.drop_m, ROTATION_ARM * result.hold.rotation_rad)
    if displacement > LOST:
        return math.inf
    known = {finger.name for finger in scene.hand.fingers}
    known |= {finger.name for finger in scene.hand.soft_fingers}
    fingers = known & {contact.finger for contact in touching}
    return displacement + (ONE_FINGER if len(fingers) < min(2, len(known)) else 0.0)
