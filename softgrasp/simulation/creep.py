"""Friction that creeps: an engine's regularised friction lets what it holds go slowly."""

from __future__ import annotations

from softgrasp.description.scene import GraspScene, Solver
from softgrasp.simulation.told_hold import HoldTest

MIN_CREEP = 1e-4
"""Creep that is told [m/s]: a tenth of the default limit of a hold test in half a second."""


def creep_warnings(scene: GraspScene, hold: HoldTest | None, held: bool | None) -> tuple[str, ...]:
    """What is said of an object that creeps in the hand because of the scene's settings.

    Measured in the two-pad scene at 98 % of Coulomb's bound: 31 mm/s over ``impratio``, with
    ``impratio`` 1 it slides out (docs/success.md).

    Args:
        scene: The scene.
        hold: Its hold test.
        held: Whether it was passed; what fell does not creep.
    """
    default_impratio = Solver().impratio
    if (
        hold is None
        or not held
        or hold.creep_m_s <= MIN_CREEP
        or scene.solver.impratio >= default_impratio
    ):
        return ()
    return (
        f"the object creeps at {1e3 * hold.creep_m_s:.3g} mm/s in the hand under load: friction "
        f"is soft with solver.impratio {scene.solver.impratio:g}, and creep falls as its inverse "
        f"(default {default_impratio:g})",
    )
