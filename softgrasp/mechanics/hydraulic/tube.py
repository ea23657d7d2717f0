"""How a tube resists the flow through it: Poiseuille where it is laminar, Blasius beyond."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.hydraulic_drive import Fluid, Tube
from softgrasp.mechanics.transforms import Array

LAMINAR, TURBULENT = 2300.0, 4000.0
"""Reynolds numbers below and above which a flow in a pipe is laminar and turbulent."""
BLASIUS_UP_TO = 1.0e5
"""Reynolds number up to which Blasius's law holds."""


def reynolds(tube: Tube, fluid: Fluid, flow: ArrayLike) -> Array:
    """Reynolds number 4 ρ |Q| / (π d μ) of a flow [m³/s], of its shape."""
    speed = 4.0 * np.abs(np.asarray(flow, dtype=float)) / (np.pi * tube.diameter**2)
    return np.asarray(fluid.density * speed * tube.diameter / fluid.viscosity)


def poiseuille_resistance(tube: Tube, fluid: Fluid) -> float:
    """Pressure drop over laminar flow, 128 μ l / (π d⁴) [Pa·s/m³] (paper 003, eq 34)."""
    return 128.0 * fluid.viscosity * tube.length / (np.pi * tube.diameter**4)


def tube_resistance(tube: Tube, fluid: Fluid, flow: ArrayLike) -> Array:
    """Pressure drop over flow at a flow [Pa·s/m³], of the flow's shape.

    With ``blasius`` the friction factor is 64/Re up to Re 2300 and 0.3164/Re^¼ (Blasius 1913) from
    4000 on; in between, where neither holds, it runs straight from one to the other.

    Args:
        tube: The tube.
        fluid: What flows.
        flow: [m³/s]
    """
    laminar = poiseuille_resistance(tube, fluid)
    number = reynolds(tube, fluid, flow)
    if tube.flow == "laminar":
        return np.full_like(number, laminar)
    ends = [64.0 / LAMINAR, 0.3164 / TURBULENT**0.25]
    beyond = np.maximum(number, LAMINAR)
    factor = np.where(
        beyond < TURBULENT,
        np.interp(beyond, [LAMINAR, TURBULENT], ends),
        0.3164 / beyond**0.25,
    )
    return np.where(number <= LAMINAR, laminar, laminar * factor * beyond / 64.0)
