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
LAMINAR_FACTOR, TURBULENT_FACTOR = 64.0 / LAMINAR, 0.3164 / TURBULENT**0.25
"""Friction factors at the two Reynolds numbers."""
FULL = TURBULENT_FACTOR * TURBULENT**2
"""f Re² from which the flow is turbulent."""
NEWTON_STEPS = 8
"""They find a Reynolds number between the two to rounding."""


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
    beyond = np.maximum(number, LAMINAR)
    factor = np.where(
        beyond < TURBULENT,
        np.interp(beyond, [LAMINAR, TURBULENT], [LAMINAR_FACTOR, TURBULENT_FACTOR]),
        0.3164 / beyond**0.25,
    )
    return np.where(number <= LAMINAR, laminar, laminar * factor * beyond / 64.0)


def tube_flow(tube: Tube, fluid: Fluid, drop: ArrayLike) -> Array:
    """Flow at a pressure drop [m³/s], of the drop's shape: the inverse of ``tube_resistance``.

    Args:
        tube: The tube.
        fluid: What flows.
        drop: [Pa]
    """
    drops = np.asarray(drop, dtype=float)
    laminar = drops / poiseuille_resistance(tube, fluid)
    if tube.flow == "laminar":
        return laminar
    # f(Re) Re² is 64 times the Reynolds number that the drop would make in laminar flow
    target_number = 64.0 * reynolds(tube, fluid, laminar)
    number = np.where(
        target_number > FULL, (target_number / 0.3164) ** (1.0 / 1.75), target_number / 64.0
    )
    between = (target_number > 64.0 * LAMINAR) & (target_number <= FULL)
    if between.any():
        number = np.where(between, _between(np.where(between, target_number, FULL)), number)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(target_number > 0.0, laminar * 64.0 * number / target_number, 0.0)


def _between(target_number: Array) -> Array:
    """Where the friction factor runs straight: the root of (a + b Re) Re² by Newton's method."""
    slope = (TURBULENT_FACTOR - LAMINAR_FACTOR) / (TURBULENT - LAMINAR)
    first = LAMINAR_FACTOR - slope * LAMINAR
    number = np.full_like(target_number, TURBULENT)
    for _ in range(NEWTON_STEPS):
        excess = (first + slope * number) * number**2 - target_number
        number = number - excess / ((2.0 * first + 3.0 * slope * number) * number)
    return number
