"""The lumped segment model of a hydraulic arm (paper 003, sec. 2.1 and 2.2) by virtual work.

Every section is cut into equal segments. A segment is a circular arc with the state x = (u, v, l,
τ): the bending angle towards x and y, the length and the twist. Its mass is a disc at its end
(eq 14 to 16). All forces follow from virtual work; where the paper's equations differ is told in
docs/hydraulic_arm.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.arm_motion import ArmMotion, arm_motion
from softgrasp.mechanics.transforms import Array

DISC = np.array([0.25, 0.25, 0.5])
"""Moments of inertia of a thin disc over m r² (eq 16)."""


@dataclass(frozen=True)
class LumpedModel:
    """Arrays of an arm of n segments and k chambers; states are (n, 4), see the module.

    Args:
        arm: The description.
        rest: Lengths at rest [m], (n,).
        stiffness: Of (u, v, l, τ) [N·m/rad, N/m], (n, 4).
        damping: Of their rates, (n, 4).
        masses: [kg], (n,).
        inertias: Principal moments of the discs [kg·m²], (n, 3).
        drag: Of the surroundings over the velocity and the angular velocity, (n, 2).
        chambers: Force on (u, v, l, τ) over the pressure of each chamber, A_d ∂l_j/∂x, (n, 4, k).
    """

    arm: HydraulicArm
    rest: Array
    stiffness: Array
    damping: Array
    masses: Array
    inertias: Array
    drag: Array
    chambers: Array

    @property
    def segments(self) -> int:
        """How many in all sections."""
        return len(self.rest)

    @property
    def straight(self) -> Array:
        """The state without any force, (n, 4)."""
        values = np.zeros((self.segments, 4))
        values[:, 2] = self.rest
        return values

    def elastic_forces(self, strains: Array) -> Array:
        """Of the material, −∂V/∂x, (n, 4)."""
        return np.asarray(-self.stiffness * (strains - self.straight))

    def chamber_forces(self, pressures: ArrayLike) -> Array:
        """Of the pressures [Pa] of all chambers, (n, 4)."""
        return np.asarray(self.chambers @ np.asarray(pressures, dtype=float))

    def outer_forces(self, motion: ArmMotion) -> Array:
        """Of gravity and of the load at the tip, (n, 4)."""
        linear, angular = motion.linear, motion.angular
        forces = np.einsum("n,nix,i->x", self.masses, linear, np.array(self.arm.gravity))
        load = self.arm.tip_load
        rotation = motion.frames[-1, :3, :3] if load.frame == "tip" else np.eye(3)
        forces += (rotation @ load.force) @ linear[-1] + (rotation @ load.moment) @ angular[-1]
        return np.asarray(forces.reshape(-1, 4))

    def static_forces(self, strains: Array, pressures: ArrayLike) -> Array:
        """All that act at rest, (n, 4); 0 in equilibrium."""
        motion = arm_motion(strains, np.zeros_like(strains))
        inner = self.elastic_forces(strains) + self.chamber_forces(pressures)
        return inner + self.outer_forces(motion)

    def mass_matrix(self, motion: ArmMotion) -> Array:
        """Σ m Jvᵀ Jv + Jωᵀ I Jω, (4n, 4n)."""
        moved = np.sqrt(self.masses)[:, None, None] * motion.linear
        rotational = np.sqrt(self.inertias)[:, :, None] * motion.local_angular
        whole = np.concatenate([moved, rotational]).reshape(-1, 4 * self.segments)
        return np.asarray(whole.T @ whole)

    def accelerations(self, strains: Array, rates: Array, pressures: ArrayLike) -> Array:
        """Second derivatives of the states, (n, 4)."""
        motion = arm_motion(strains, rates)
        forces = self.elastic_forces(strains) + self.chamber_forces(pressures)
        forces += self.outer_forces(motion) - self.damping * rates
        forces -= self._inertia_and_drag(motion)
        solution = np.linalg.solve(self.mass_matrix(motion), forces.ravel())
        return np.asarray(solution.reshape(-1, 4))

    def _inertia_and_drag(self, motion: ArmMotion) -> Array:
        """Forces of the inertia at constant rates and of the surroundings, (n, 4)."""
        push = self.masses[:, None] * motion.acceleration + self.drag[:, :1] * motion.velocity
        spin, angular = motion.local_spin, motion.local_angular
        torque = self.inertias * motion.local_angular_acceleration
        torque += np.cross(spin, self.inertias * spin) + self.drag[:, 1:] * spin
        forces = np.einsum("ni,nix->x", push, motion.linear) + np.einsum(
            "ni,nix->x", torque, angular
        )
        return np.asarray(forces.reshape(-1, 4))

    def energy(self, strains: Array, rates: Array, pressures: ArrayLike) -> float:
        """Kinetic, elastic and of position, less the work of chambers and of a dead load [J].

        It stays the same where nothing damps and the load does not follow the tip; a moment at
        the tip has no energy of its own.
        """
        motion = arm_motion(strains, rates)
        flat = rates.ravel()
        kinetic = 0.5 * flat @ self.mass_matrix(motion) @ flat
        apart = strains - self.straight
        elastic = 0.5 * float((self.stiffness * apart**2).sum())
        chambers = float((self.chamber_forces(pressures) * apart).sum())
        ends = motion.frames[:, :3, 3]
        weight = float(self.masses @ (ends @ np.array(self.arm.gravity)))
        load = float(ends[-1] @ np.array(self.arm.tip_load.force))
        return float(kinetic) + elastic - chambers - weight - load

    def section_ends(self, strains: Array) -> Array:
        """Ends of the sections in the base frame [m], (sections, 3)."""
        frames = arm_motion(strains, np.zeros_like(strains)).frames
        return np.asarray(frames[self.arm.segments - 1 :: self.arm.segments, :3, 3])


def lumped_model(arm: HydraulicArm) -> LumpedModel:
    """The lumped segment model of an arm."""
    count = arm.segments
    each = [_segment(arm, index) for index in range(len(arm.sections))]
    rest, stiffness, damping, masses, inertias, drag = (
        np.repeat(np.array(part, dtype=float), count, axis=0) for part in zip(*each, strict=True)
    )
    return LumpedModel(arm, rest, stiffness, damping, masses, inertias, drag, _chambers(arm))


def _segment(arm: HydraulicArm, index: int) -> tuple[object, ...]:
    """Numbers of one segment of a section, in the order of ``LumpedModel``."""
    section, count = arm.sections[index], arm.segments
    length, mass = section.length / count, section.mass / count
    loss = section.damping
    bending, torsion = section.bending_stiffness, section.torsion_stiffness
    stiffness = np.array([bending, bending, section.axial_stiffness, torsion]) / length
    damping = np.array([loss.bending, loss.bending, loss.axial, loss.torsion]) / length
    inertia = mass * section.radius**2 * DISC
    drag = np.array([loss.drag, loss.rotational_drag]) / count
    return length, stiffness, damping, mass, inertia, drag


def _chambers(arm: HydraulicArm) -> Array:
    """A_d ∂l_j/∂(u, v, l, τ) with l_j = l − r (u cos α + v sin α), (n, 4, k)."""
    effects = np.zeros((len(arm.sections) * arm.segments, 4, len(arm.chambers)))
    column = 0
    for index, section in enumerate(arm.sections):
        rows = slice(index * arm.segments, (index + 1) * arm.segments)
        for chamber in section.chambers:
            across = -chamber.radius * np.array([np.cos(chamber.angle), np.sin(chamber.angle)])
            effects[rows, :, column] = chamber.area * np.array([*across, 1.0, 0.0])
            column += 1
    return effects


def checked_pressures(arm: HydraulicArm, pressures: ArrayLike) -> Array:
    """Pressures of all chambers as an array [Pa], (k,).

    Raises:
        DescriptionError: Not one a chamber, or one beyond the limits of its chamber.
    """
    values = np.asarray(pressures, dtype=float)
    if values.shape != (len(arm.chambers),):
        raise DescriptionError(
            f"expected one pressure a chamber ({len(arm.chambers)}), found shape {values.shape}",
            field="pressures",
        )
    for index, (chamber, pressure) in enumerate(zip(arm.chambers, values.tolist(), strict=True)):
        low, high = chamber.pressure_min, chamber.pressure_max
        upper = np.inf if high is None else high
        slack = 1e-9 * max(abs(low), abs(upper) if np.isfinite(upper) else 0.0)
        if not (low - slack <= pressure <= upper + slack and np.isfinite(pressure)):
            raise DescriptionError(
                f"expected {low:g} to {upper:g} Pa, as its chamber stands, found {pressure:g} Pa",
                field=f"pressures[{index}]",
                location=("pressures", index),
            )
    return values


def checked_states(model: LumpedModel, values: ArrayLike, field: str) -> Array:
    """Strains or rates as an array, (n, 4).

    Raises:
        DescriptionError: They are not four finite numbers a segment; names the field.
    """
    states = np.asarray(values, dtype=float)
    if states.shape != (model.segments, 4) or not np.isfinite(states).all():
        raise DescriptionError(
            f"expected four finite numbers a segment, shape ({model.segments}, 4), found shape "
            f"{states.shape}",
            field=field,
        )
    return states
