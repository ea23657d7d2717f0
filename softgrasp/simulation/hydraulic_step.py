"""The time step of an arm in MuJoCo: a safe one, and whether one that is asked for is stable."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.build.spring_limit import damped_spring_limit
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.stability import (
    INTEGRATORS,
    SMALLEST,
    is_stable,
    stable_step_of,
)

STEPPED = tuple(name for name in INTEGRATORS if name != "rk4")
"""Integrators that take forces between the two halves of a step."""


def drag_matrix(model: mujoco.MjModel, drag: Array) -> tuple[Array, Array]:
    """Mass matrix, and that of drag on the bodies, in the straight state, (nv, nv) each.

    Args:
        model: A compiled arm.
        drag: Force over velocity [N·s/m] and moment over angular velocity [N·m·s] of each body,
            (nbody, 2).
    """
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia, damping = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    along, about = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for body in np.flatnonzero(drag.any(axis=1)):
        mujoco.mj_jacBodyCom(model, data, along, about, body)
        damping += drag[body, 0] * along.T @ along + drag[body, 1] * about.T @ about
    return inertia, damping


def drag_rate(model: mujoco.MjModel, drag: Array) -> float:
    """Largest rate at which drag alone slows a motion of the straight state down [1/s].

    Args as ``drag_matrix``.
    """
    inertia, damping = drag_matrix(model, drag)
    return max(float(eigh(damping, inertia, eigvals_only=True)[-1]), 0.0)


def safe_step(model: mujoco.MjModel, drag: Array) -> float:
    """A step below which no spring and no drag makes a semi-implicit step unstable [s].

    Damping of the material is taken implicitly and allows longer steps, drag is an explicit force
    and shorter ones. Args as ``drag_matrix``.
    """
    return damped_spring_limit(model, drag_matrix(model, drag)[1])


def check_step(model: mujoco.MjModel, drag: Array, integrator: str, timestep: float) -> None:
    """Refuse a step with which the straight state is not stable.

    Args:
        model: A compiled arm.
        drag: Of its bodies, as in ``drag_rate``.
        integrator: One of ``STEPPED``.
        timestep: [s]

    Raises:
        DescriptionError: It is not; names the longest step of this integrator, and those that are
            stable at this step.
    """
    if timestep <= safe_step(model, drag):
        return
    longest = 2.0 / max(drag_rate(model, drag), SMALLEST)
    if timestep > longest:
        raise DescriptionError(
            f"expected a step of at most {longest:.3g} s, as drag is an explicit force with every "
            f"integrator, found {timestep:g} s; without a timestep a safe one is taken",
            field="timestep",
        )
    if is_stable(model, integrator, timestep):
        return
    longest = stable_step_of(model, integrator)
    expected = f"at most {longest:.3g} s" if longest else f"less than {SMALLEST:g} s"
    others = [name for name in STEPPED if is_stable(model, name, timestep)]
    stable = f"; stable at it: integrator {', '.join(map(repr, others))}" if others else ""
    raise DescriptionError(
        f"expected a step of {expected} with the integrator {integrator!r} and this arm, found "
        f"{timestep:g} s{stable}; without a timestep a safe one is taken",
        field="timestep",
    )
