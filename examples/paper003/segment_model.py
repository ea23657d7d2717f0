"""Lumped segment model of a hydraulic arm by virtual work (Chen et al. 2022, sec. 2.1 and 2.2).

Every section is cut into equal segments. A segment is a circular arc with the state x = (u, v, l,
τ): the bending angle towards x and y, the length and the twist. Its mass is a disc at its end
(eq 14 to 16). All forces follow from virtual work; where the paper's equations differ is recorded
in docs/hydraulic_arm.md.

A segment bends by (u, v), as ``pcc.bend_transform`` does, and its end is twisted by τ about its own
z axis afterwards (eq 3). With e = (u, v, 0), z = (0, 0, 1) and the functions A, B, C of θ = |e|
(continuum/pcc.py):

    p = l (B e + A z),   ω = ρ̇ + B w z + C w e + τ̇ n

where ρ = (−v, u, 0) is the rotation vector, w = u v̇ − v u̇ and n = A e + cos θ z the z axis of the
end. These functions use plain floats: an arm has few segments, and arrays of that size cost ten
times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, factorial, hypot, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.mechanics import Array

DISC = np.array([0.25, 0.25, 0.5])
"""Moments of inertia of a thin disc over m r² (eq 16)."""
SMALL, TERMS = 1.0, 11
"""Below this angle [rad] the power series are used; the closed forms lose too many digits there."""


@dataclass(frozen=True)
class LumpedModel:
    """Lumped model of an arm with n segments and k chambers; states are strains (n, 4).

    Args:
        arm: The description.
        rest: Lengths at rest [m], (n,).
        stiffness: Stiffness of (u, v, l, τ) [N·m/rad, N/m], (n, 4).
        damping: Damping of their rates, (n, 4).
        masses: [kg], (n,).
        inertias: Principal moments of the discs [kg·m²], (n, 3).
        drag: Drag of the fluid over the velocity and the angular velocity, (n, 2).
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
        """Number of segments of all sections."""
        return len(self.rest)

    @property
    def straight(self) -> Array:
        """State without any load, (n, 4)."""
        values = np.zeros((self.segments, 4))
        values[:, 2] = self.rest
        return values

    def elastic_forces(self, strains: Array) -> Array:
        """Compute the elastic forces of the material, −∂V/∂x, (n, 4)."""
        return np.asarray(-self.stiffness * (strains - self.straight))

    def chamber_forces(self, pressures: ArrayLike) -> Array:
        """Compute the generalised forces of chamber pressures [Pa], (n, 4)."""
        return np.asarray(self.chambers @ np.asarray(pressures, dtype=float))

    def outer_forces(self, motion: ArmMotion) -> Array:
        """Compute the generalised forces of gravity and of the load at the tip, (n, 4)."""
        linear, angular = motion.linear, motion.angular
        forces = np.einsum("n,nix,i->x", self.masses, linear, np.array(self.arm.gravity))
        load = self.arm.tip_load
        rotation = motion.frames[-1, :3, :3] if load.frame == "tip" else np.eye(3)
        forces += (rotation @ load.force) @ linear[-1] + (rotation @ load.moment) @ angular[-1]
        return np.asarray(forces.reshape(-1, 4))

    def static_forces(self, strains: Array, pressures: ArrayLike) -> Array:
        """Compute the sum of the static forces, (n, 4); 0 in equilibrium."""
        motion = arm_motion(strains, np.zeros_like(strains))
        inner = self.elastic_forces(strains) + self.chamber_forces(pressures)
        return inner + self.outer_forces(motion)

    def mass_matrix(self, motion: ArmMotion) -> Array:
        """Compute the mass matrix Σ m Jvᵀ Jv + Jωᵀ I Jω, (4n, 4n)."""
        moved = np.sqrt(self.masses)[:, None, None] * motion.linear
        rotational = np.sqrt(self.inertias)[:, :, None] * motion.local_angular
        whole = np.concatenate([moved, rotational]).reshape(-1, 4 * self.segments)
        return np.asarray(whole.T @ whole)

    def accelerations(self, strains: Array, rates: Array, pressures: ArrayLike) -> Array:
        """Compute the second time derivatives of the states, (n, 4)."""
        motion = arm_motion(strains, rates)
        forces = self.elastic_forces(strains) + self.chamber_forces(pressures)
        forces += self.outer_forces(motion) - self.damping * rates
        forces -= self._inertia_and_drag(motion)
        solution = np.linalg.solve(self.mass_matrix(motion), forces.ravel())
        return np.asarray(solution.reshape(-1, 4))

    def _inertia_and_drag(self, motion: ArmMotion) -> Array:
        """Return forces of inertia at constant rates and of the surroundings, (n, 4)."""
        push = self.masses[:, None] * motion.acceleration + self.drag[:, :1] * motion.velocity
        spin, angular = motion.local_spin, motion.local_angular
        torque = self.inertias * motion.local_angular_acceleration
        torque += np.cross(spin, self.inertias * spin) + self.drag[:, 1:] * spin
        forces = np.einsum("ni,nix->x", push, motion.linear) + np.einsum(
            "ni,nix->x", torque, angular
        )
        return np.asarray(forces.reshape(-1, 4))

    def energy(self, strains: Array, rates: Array, pressures: ArrayLike) -> float:
        """Compute the energy (kinetic, elastic, potential) minus the work of pressure and load [J].

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
        """Compute the section ends in the base frame [m], (sections, 3)."""
        frames = arm_motion(strains, np.zeros_like(strains)).frames
        return np.asarray(frames[self.arm.segments - 1 :: self.arm.segments, :3, 3])


def lumped_model(arm: HydraulicArm) -> LumpedModel:
    """Make the lumped segment model of an arm."""
    count = arm.segments
    each = [_segment(arm, index) for index in range(len(arm.sections))]
    rest, stiffness, damping, masses, inertias, drag = (
        np.repeat(np.array(part, dtype=float), count, axis=0) for part in zip(*each, strict=True)
    )
    return LumpedModel(arm, rest, stiffness, damping, masses, inertias, drag, _chambers(arm))


def _segment(arm: HydraulicArm, index: int) -> tuple[object, ...]:
    """Return the parameters of one segment of a section, in the order of ``LumpedModel``."""
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
    """Return A_d ∂l_j/∂(u, v, l, τ) with l_j = l − r (u cos α + v sin α), (n, 4, k)."""
    effects = np.zeros((len(arm.sections) * arm.segments, 4, len(arm.chambers)))
    column = 0
    for index, section in enumerate(arm.sections):
        rows = slice(index * arm.segments, (index + 1) * arm.segments)
        for chamber in section.chambers:
            across = -chamber.radius * np.array([np.cos(chamber.angle), np.sin(chamber.angle)])
            effects[rows, :, column] = chamber.area * np.array([*across, 1.0, 0.0])
            column += 1
    return effects


def checked_states(model: LumpedModel, values: ArrayLike, field: str) -> Array:
    """Validate strains or rates and return them as an array, (n, 4).

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


class ArmMotion(NamedTuple):
    """Motion of n segment ends in the base frame; ``local`` vectors in the end frame.

    Args:
        frames: (n, 4, 4).
        linear: Velocity over the rates of all states, (n, 3, 4n).
        own_angular: Angular velocity over the rates of all states, in the end's frame, (n, 3, 4n).
        velocity: [m/s], (n, 3).
        acceleration: At constant rates [m/s²], (n, 3).
        own_spin: Angular velocity in the end's frame [rad/s], (n, 3).
        own_angular_acceleration: At constant rates, in the end's frame [rad/s²], (n, 3).
    """

    frames: Array
    linear: Array
    local_angular: Array
    velocity: Array
    acceleration: Array
    local_spin: Array
    local_angular_acceleration: Array

    @property
    def angular(self) -> Array:
        """Angular velocity over the rates of all states in the base frame, (n, 3, 4n)."""
        return np.asarray(self.frames[:, :3, :3] @ self.local_angular)


def arm_motion(strains: Array, rates: Array) -> ArmMotion:
    """Compute the motion of all segment ends of an arm.

    Args:
        strains: (u, v, l, τ) of its segments, (n, 4).
        rates: Rates of the strains [1/s], (n, 4).
    """
    count = len(strains)
    frames = np.empty((count, 4, 4))
    linear, angular = np.zeros((2, count, 3, 4 * count))
    speed, gain, spin, spin_gain = np.zeros((4, count, 3))
    base = np.eye(4)
    velocity, acceleration, omega, alpha = np.zeros((4, 3))
    columns = np.zeros((2, 3, 4 * count))
    for i in range(count):
        rotation = base[:3, :3]
        local = bend_motion(strains[i], rates[i])
        frames[i] = base @ local.frame
        arm = rotation @ local.frame[:3, 3]
        segment_jacobian = rotation @ local.jacobian[:3], rotation @ local.jacobian[3:]
        # motion of the base, carried to the end of the segment, plus the segment's own motion
        columns[0] -= _cross_matrix(arm) @ columns[1]
        columns[0][:, 4 * i : 4 * i + 4] = segment_jacobian[0]
        columns[1][:, 4 * i : 4 * i + 4] = segment_jacobian[1]
        moving, turning = segment_jacobian[0] @ rates[i], segment_jacobian[1] @ rates[i]
        swing, carried = _cross_matrix(omega), rotation @ local.convective[:3]
        acceleration = acceleration + _cross_matrix(alpha) @ arm + carried
        acceleration = acceleration + swing @ (swing @ arm + 2.0 * moving)
        velocity = velocity + swing @ arm + moving
        alpha = alpha + swing @ turning + rotation @ local.convective[3:]
        omega = omega + turning
        back = frames[i, :3, :3].T
        linear[i], angular[i] = columns[0], back @ columns[1]
        speed[i], gain[i] = velocity, acceleration
        spin[i], spin_gain[i] = back @ omega, back @ alpha
        base = frames[i]
    return ArmMotion(frames, linear, angular, speed, gain, spin, spin_gain)


def _cross_matrix(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


class ArcNumbers(NamedTuple):
    """Functions A, B, C of an arc angle t, and D = A′/t, E = B′/t, C′/t, D′/t, E′/t."""

    a: float
    b: float
    c: float
    d: float
    e: float
    c1: float
    d1: float
    e1: float


class BendMotion(NamedTuple):
    """End frame of a segment in its base frame, with its velocities.

    Args:
        frame: (4, 4).
        jacobian: Jacobian of velocity and angular velocity of the end over the rates of (u, v, l,
            τ), (6, 4).
        convective: Acceleration and angular acceleration of the end at constant rates, (6,).
    """

    frame: Array
    jacobian: Array
    convective: Array


def bend_motion(strain: Array, rate: Array) -> BendMotion:
    """Compute the end frame and the motion of one segment.

    Args:
        strain: (u, v, l, τ) [rad, rad, m, rad], (4,).
        rate: Rate of the strain [1/s], (4,).
    """
    u, v, length, twist = strain.tolist()
    theta = hypot(u, v)
    f = arc_numbers(theta)
    direction = u, v, cos(theta)
    return BendMotion(
        _frame(direction, length, twist, f),
        _jacobian(direction, length, f),
        np.array(_convective(direction, length, rate.tolist(), f)),
    )


def _frame(
    direction: tuple[float, float, float], length: float, twist: float, f: ArcNumbers
) -> Array:
    u, v, along = direction
    x, y = (1.0 - f.b * u * u, -f.b * u * v, -f.a * u), (-f.b * u * v, 1.0 - f.b * v * v, -f.a * v)
    cosine, aside = cos(twist), sin(twist)
    first = [cosine * p + aside * q for p, q in zip(x, y, strict=True)]
    second = [cosine * q - aside * p for p, q in zip(x, y, strict=True)]
    normal = f.a * u, f.a * v, along
    position = length * f.b * u, length * f.b * v, length * f.a
    return np.array([*zip(first, second, normal, position, strict=True), (0.0, 0.0, 0.0, 1.0)])


def _jacobian(direction: tuple[float, float, float], length: float, f: ArcNumbers) -> Array:
    u, v, along = direction
    mixed = length * u * v * f.e
    return np.array(
        [
            [length * (f.b + u * u * f.e), mixed, u * f.b, 0.0],
            [mixed, length * (f.b + v * v * f.e), v * f.b, 0.0],
            [length * u * f.d, length * v * f.d, f.a, 0.0],
            [-f.c * u * v, f.c * u * u - 1.0, 0.0, f.a * u],
            [1.0 - f.c * v * v, f.c * u * v, 0.0, f.a * v],
            [-f.b * v, f.b * u, 0.0, along],
        ]
    )


def _convective(
    direction: tuple[float, float, float], length: float, rate: list[float], f: ArcNumbers
) -> list[float]:
    """Return second derivatives of p and first of ω for strains that change at constant rates."""
    u, v, along = direction
    du, dv, dl, dt = rate
    bend_rate, faster = u * du + v * dv, du * du + dv * dv  # θ θ̇ and its rate
    da, db, dc = f.d * bend_rate, f.e * bend_rate, f.c1 * bend_rate
    dda, ddb = f.d1 * bend_rate**2 + f.d * faster, f.e1 * bend_rate**2 + f.e * faster
    on_direction, on_rate = 2.0 * dl * db + length * ddb, 2.0 * (dl * f.b + length * db)
    w = u * dv - v * du
    spin = -dv + f.c * w * u, du + f.c * w * v, f.b * w
    normal = f.a * u, f.a * v, along
    return [
        on_direction * u + on_rate * du,
        on_direction * v + on_rate * dv,
        2.0 * dl * da + length * dda,
        w * (dc * u + f.c * du) + dt * (spin[1] * normal[2] - spin[2] * normal[1]),
        w * (dc * v + f.c * dv) + dt * (spin[2] * normal[0] - spin[0] * normal[2]),
        w * db + dt * (spin[0] * normal[1] - spin[1] * normal[0]),
    ]


def arc_numbers(angle: float) -> ArcNumbers:
    """Compute the arc functions of one angle [rad], by their power series where it is small."""
    square = angle * angle
    if angle < SMALL:
        return ArcNumbers(*(square ** np.arange(TERMS) @ _SERIES).tolist())
    a, b = sin(angle) / angle, 2.0 * (sin(0.5 * angle) / angle) ** 2
    c, d, e = (1.0 - a) / square, (cos(angle) - a) / square, (a - 2.0 * b) / square
    return ArcNumbers(
        *(a, b, c, d, e),
        *((b - 3.0 * c) / square, (-a - 3.0 * d) / square, (d - 4.0 * e) / square),
    )


def _coefficients(order: int, times: int) -> list[float]:
    """Return coefficients of Σ (−1)ᵏ t²ᵏ/(2k + order)!, differentiated and divided by t."""
    coefficients = [(-1) ** k / factorial(2 * k + order) for k in range(TERMS + times)]
    for _ in range(times):
        coefficients = [2 * k * part for k, part in enumerate(coefficients)][1:]
    return coefficients


_SERIES = np.array(
    [
        _coefficients(order, times)
        for order, times in ((1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 1), (1, 2), (2, 2))
    ]
).T
