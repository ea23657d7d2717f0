"""What a WorldInfo sets in ODE for the whole world."""

from __future__ import annotations

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt.access import number
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode.binding import Ode


def set_up_solver(ode: Ode, world: int, info: Node) -> bool:
    """Set CFM, ERP and when bodies fall asleep.

    Args:
        ode: The functions.
        world: ODE's world.
        info: The WorldInfo.

    Returns:
        Whether bodies can fall asleep: where the time and both thresholds are above 0.

    Raises:
        SimulationError: The world has a default damping.
    """
    if info.node("defaultDamping") is not None:
        raise SimulationError("WorldInfo.defaultDamping is not supported in ODE")
    ode.WorldSetCFM(world, number(info, "CFM"))
    ode.WorldSetERP(world, number(info, "ERP"))
    pause = number(info, "physicsDisableTime")
    linear = number(info, "physicsDisableLinearThreshold")
    angular = number(info, "physicsDisableAngularThreshold")
    sleep = pause > 0.0 and linear > 0.0 and angular > 0.0
    ode.WorldSetAutoDisableFlag(world, int(sleep))
    ode.WorldSetAutoDisableTime(world, pause)
    ode.WorldSetAutoDisableSteps(world, 0)
    ode.WorldSetAutoDisableLinearThreshold(world, linear)
    ode.WorldSetAutoDisableAngularThreshold(world, angular)
    return sleep
