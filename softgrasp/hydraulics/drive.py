"""Hydraulic drives: motor, screw, piston, tube, chamber (Chen et al. 2022, eq 32 to 36).

A channel is a motor with screw, piston, cylinder and tube, and the chamber that it fills. Its state
is the speed of the piston ẋ [m/s] and the pressures P_a in the chamber and P_c in the cylinder
[Pa]; its input is the torque T of the motor [N·m]:

    m ẍ   = 2π η T / s − f sign ẋ − A_c P_c − d ẋ
    C_a Ṗ_a = (P_c − P_a) / R
    C_c Ṗ_c = A_c ẋ − (P_c − P_a) / R

C_a is that of the chamber in its bundle at rest. Where a moving arm is coupled to the drives, it is
that of the water alone, and the second line loses the volume A_d l̇ that the arm opens. The tube
resists by Poiseuille's law where the flow is laminar and by Blasius's law beyond. Errata of the
paper are in docs/hydraulic_arm.md.

``exponential`` replaces ``scipy.linalg.expm``, which processes small matrices one by one through
BLAS threads and takes milliseconds for four rows on a busy machine; a step needs one a channel.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from softgrasp.description import Fluid, HydraulicDrive, Piston, Tube
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.hydraulics.description import ArmSection, HydraulicArm
from softgrasp.mechanics import Array

Coupling = Literal["static", "state"]
"""Coupling of arm and drives: static compliance, or the motion of the arm."""
MAX_EVENTS = 20
"""Times that a piston may stop or start in one step."""
JUST_MOVED = 1e-6
"""Fraction of a step after which a starting piston is checked again."""
SMALL, TERMS = 0.5, 15
"""Norm from which the power series is taken, and its terms: the rest is below 1e-17."""
LAMINAR, TURBULENT = 2300.0, 4000.0
"""Reynolds numbers below and above which a flow in a pipe is laminar and turbulent."""
BLASIUS_UP_TO = 1.0e5
"""Reynolds number up to which Blasius's law holds."""
LAMINAR_FACTOR, TURBULENT_FACTOR = 64.0 / LAMINAR, 0.3164 / TURBULENT**0.25
"""Friction factors at the two Reynolds numbers."""
FULL = TURBULENT_FACTOR * TURBULENT**2
"""f Re² from which the flow is turbulent."""
NEWTON_STEPS = 8
"""Newton steps that find a Reynolds number in the transition to rounding."""


@dataclass(frozen=True)
class DriveModel:
    """Equations of all hydraulic drives; states have the shape (channels, 3).

    Args:
        drive: Motor, screw, piston, tube and fluid, the same in all channels.
        compliances: Volume over pressure C_a of the chambers [m³/Pa], shape (channels,).
    """

    drive: HydraulicDrive
    compliances: Array

    @property
    def channels(self) -> int:
        """Number of channels."""
        return len(self.compliances)

    @property
    def cylinder_compliance(self) -> float:
        """Compliance of the water in a cylinder, V₂/K [m³/Pa]."""
        return self.drive.piston.volume / self.drive.fluid.bulk_modulus

    def resistance(self, flow: ArrayLike) -> Array:
        """Resistance of the tubes at a flow [Pa·s/m³]; see ``tube_resistance``."""
        return tube_resistance(self.drive.tube, self.drive.fluid, flow)

    def flow(self, states: Array) -> Array:
        """Compute the flow from the cylinders into the chambers [m³/s], (channels,)."""
        return tube_flow(self.drive.tube, self.drive.fluid, states[..., 2] - states[..., 1])

    def matrices(self, resistance: ArrayLike) -> Array:
        """Compute the system matrices of the linear drive equations, (channels, 3, 3).

        Args:
            resistance: Resistance of the tubes [Pa·s/m³], (channels,) or one for all.
        """
        piston = self.drive.piston
        through = 1.0 / np.broadcast_to(np.asarray(resistance, dtype=float), self.channels)
        state_matrices = np.zeros((self.channels, 3, 3))
        state_matrices[:, 0, 0] = -piston.damping / piston.mass
        state_matrices[:, 0, 2] = -piston.area / piston.mass
        state_matrices[:, 1, 1] = -through / self.compliances
        state_matrices[:, 1, 2] = through / self.compliances
        state_matrices[:, 2, 0] = piston.area / self.cylinder_compliance
        state_matrices[:, 2, 1] = through / self.cylinder_compliance
        state_matrices[:, 2, 2] = -through / self.cylinder_compliance
        return state_matrices

    def forces(self, torques: ArrayLike) -> Array:
        """Compute the forces on the pistons, F_b = 2π η T / s [N], (channels,)."""
        return np.asarray(force_of_torque(self.drive) * np.asarray(torques, dtype=float))

    def screw_forces(self, torques: ArrayLike) -> Array:
        """Validate torques and return their ``forces``, (channels,).

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        values = check_torques(self.drive, torques)
        if values.shape not in ((), (self.channels,)):
            raise DescriptionError(
                f"expected one torque per chamber ({self.channels}), found shape {values.shape}",
                field="torques",
            )
        return np.broadcast_to(self.forces(values), self.channels)

    @property
    def inertias(self) -> Array:
        """Weights w of the energy Σ w x²/2 of a state x, (channels, 3)."""
        values = np.empty((self.channels, 3))
        values[:, 0], values[:, 1] = self.drive.piston.mass, self.compliances
        values[:, 2] = self.cylinder_compliance
        return values

    def poles(self) -> Array:
        """Compute the eigenvalues at laminar flow [1/s], (channels, 3), fastest first."""
        laminar = poiseuille_resistance(self.drive.tube, self.drive.fluid)
        eigenvalues = np.linalg.eigvals(self.matrices(laminar))
        return np.asarray(
            np.take_along_axis(eigenvalues, np.argsort(eigenvalues.real, axis=1), axis=1)
        )

    def lags(self) -> Array:
        """Compute the rise times (63 %) of the pressures after a torque step [s], (channels,).

        Of the slowest motion alone: (R + d/A_c²) C_a at laminar flow.
        """
        piston = self.drive.piston
        laminar = poiseuille_resistance(self.drive.tube, self.drive.fluid)
        return np.asarray((laminar + piston.damping / piston.area**2) * self.compliances)


def drive_model(arm: HydraulicArm, coupling: Coupling = "static") -> DriveModel:
    """Make the equations of an arm's drives, one per chamber, from the base outwards.

    Args:
        arm: The arm.
        coupling: Reaction of the arm: ``static``, with the compliance of its chambers at rest, or
            ``state``, by its motion, which leaves the water's own compliance to the chambers.

    Raises:
        DescriptionError: No such coupling.
    """
    compliance = water_compliance if check_coupling(coupling) == "state" else chamber_compliance
    compliances = [
        compliance(arm, section, index)
        for section in arm.sections
        for index in range(len(section.chambers))
    ]
    return DriveModel(arm.drive, np.array(compliances))


def check_coupling(coupling: Coupling) -> Coupling:
    """Return the name of a coupling, or raise an error if it is unknown.

    Raises:
        DescriptionError: There is no such.
    """
    if coupling not in get_args(Coupling):
        raise DescriptionError(f"expected static or state, found {coupling!r}", field="coupling")
    return coupling


def force_of_torque(drive: HydraulicDrive) -> float:
    """Compute piston force over motor torque, 2π η / s [1/m] (eq 33, corrected)."""
    return 2.0 * np.pi * drive.screw.efficiency / drive.screw.lead


def pressure_of_torque(drive: HydraulicDrive, torque: ArrayLike) -> Array:
    """Compute the static pressure for a motor torque without dry friction [Pa], same shape.

    Args:
        drive: Motor, screw and piston.
        torque: [N·m]

    Raises:
        DescriptionError: It is more than the motor has, or not finite.
    """
    return force_of_torque(drive) * check_torques(drive, torque) / drive.piston.area


def check_torques(drive: HydraulicDrive, torque: ArrayLike) -> Array:
    """Validate torques and return them as an array [N·m].

    Raises:
        DescriptionError: One is not finite or more than the motor has.
    """
    values = np.asarray(torque, dtype=float)
    limit = np.inf if drive.screw.torque_max is None else drive.screw.torque_max
    worst = float(values.flat[np.argmax(np.abs(values))]) if values.size else 0.0
    if not np.isfinite(values).all() or abs(worst) > limit * (1.0 + 1e-12):
        raise DescriptionError(
            f"expected finite torques of at most {limit:g} N·m, found {worst:g} N·m", field="torque"
        )
    return values


@dataclass(frozen=True)
class Channel:
    """State and inputs of one hydraulic drive (channel) during a step.

    Args:
        piston: Piston of the channel.
        matrix: Matrix of the linear state equations, (3, 3).
        inertias: Twice the energy over the square of each state, (3,).
        force: Force of the screw on the piston [N].
        swept: Volume that a moving arm opens in the chamber [m³/s].
    """

    piston: Piston
    matrix: Array
    inertias: Array
    force: float
    swept: float = 0.0

    def excess(self, state: Array) -> float:
        """Return the net force on a piston at rest before dry friction [N]."""
        return float(self.force - self.piston.area * state[2])

    def moved(self, state: Array, time: float, direction: float) -> Array:
        """Compute the state (3,) after a time, sliding in a direction (1 or −1) or sticking (0)."""
        matrix, push = (
            self.matrix,
            (self.force - direction * self.piston.friction) / self.piston.mass,
        )
        if direction == 0.0:
            matrix, push = np.vstack([np.zeros(3), matrix[1:]]), 0.0
        inputs = np.array([[push], [-self.swept / self.inertias[1]], [0.0]])
        move = affine_moves(matrix, self.inertias, inputs, time)
        return np.asarray(move[:3, :3] @ state + move[:3, 3])

    def margin(self, state: Array, time: float, direction: float) -> float:
        """Compute a margin that turns negative where the piston stops sliding, or sticking."""
        at = self.moved(state, time, direction)
        return (
            float(direction * at[0]) if direction else self.piston.friction - abs(self.excess(at))
        )


def slide_and_stick(channel: Channel, state: Array, timestep: float) -> Array:
    """Compute the state (3,) of a drive with dry friction after a step [s].

    A piston that would reverse twice within one step is assumed to continue.
    """
    left = timestep
    direction = float(np.sign(state[0])) or _start(channel, state)
    for _ in range(MAX_EVENTS):
        if channel.margin(state, left, direction) >= 0.0:
            break
        first = JUST_MOVED * left if state[0] == 0.0 else 0.0
        event = first
        if channel.margin(state, first, direction) > 0.0:
            event = float(
                brentq(
                    lambda t, s=state, w=direction: channel.margin(s, t, w), first, left, xtol=1e-15
                )
            )
        state, left = channel.moved(state, event, direction), left - event
        state[0] = 0.0
        # when it starts, friction and push are equal: the push decides the direction
        direction = _start(channel, state) if direction else float(np.sign(channel.excess(state)))
    after = channel.moved(state, left, direction)
    if direction == 0.0:
        after[0] = 0.0
    return after


def _start(channel: Channel, state: Array) -> float:
    """Return the direction in which a piston starts; 0 where friction holds it."""
    push = channel.excess(state)
    return float(np.sign(push)) if abs(push) > channel.piston.friction else 0.0


def exponential(matrices: Array) -> Array:
    """Compute exponentials of matrices (..., n, n) by scaling, power series and squaring."""
    largest = float(np.abs(matrices).sum(axis=-1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(max(largest, SMALL) / SMALL))))
    small = matrices / 2.0**halvings
    item = np.eye(matrices.shape[-1])
    result = item + small / TERMS
    for term in range(TERMS - 1, 0, -1):
        result = item + small @ result / term
    for _ in range(halvings):
        result = result @ result
    return np.asarray(result)


def affine_moves(matrices: Array, weights: Array, inputs: Array, time: float) -> Array:
    """Advance states of ẋ = A x + B y by a time, with constant inputs y.

    The state after it is M[:n, :n] x + M[:n, n:] y, M (..., n + p, n + p).

    Args:
        matrices: A, (..., n, n).
        weights: Twice the energy over the square of each state, (..., n): in coordinates of which
            the energy is the squared length, the matrices are well scaled.
        inputs: B, (n, p) for all or (..., n, p).
        time: [s]
    """
    size = matrices.shape[-1]
    scale = np.sqrt(weights)
    width = size + inputs.shape[-1]
    whole = np.zeros((*matrices.shape[:-2], width, width))
    whole[..., :size, :size] = scale[..., :, None] * matrices / scale[..., None, :]
    scaled = scale[..., :, None] * inputs
    largest = np.abs(scaled).max(axis=-2, keepdims=True)
    largest = np.where(largest > 0.0, largest, 1.0)
    whole[..., :size, size:] = scaled / largest
    moves = exponential(time * whole)
    moves[..., :size, :size] *= scale[..., None, :] / scale[..., :, None]
    moves[..., :size, size:] *= largest / scale[..., :, None]
    return moves


class FlowWatch:
    """Largest Reynolds number so far in the tubes of an arm."""

    def __init__(self, tube: Tube, fluid: Fluid) -> None:
        self.tube, self.fluid = tube, fluid
        self.largest = 0.0
        self._warned = False

    def watch(self, flow: Array, time: float) -> None:
        """Update by a flow [m³/s] at a time [s]; warn where the flow law is not valid.

        Warns:
            SoftgraspWarning: The flow law of the tube is not valid at it; warned once.
        """
        number = float(reynolds(self.tube, self.fluid, flow).max())
        self.largest = max(self.largest, number)
        holds_to = law_holds_to(self.tube)
        if self._warned or number <= holds_to:
            return
        self._warned = True
        law = "Poiseuille's" if self.tube.flow == "laminar" else "Blasius's"
        warnings.warn(
            f"drive: expected a Reynolds number of at most {holds_to:g}, where {law} law "
            f"is valid, found {number:.0f} at {time:.3g} s; the true resistance is higher",
            SoftgraspWarning,
            stacklevel=3,
        )


def law_holds_to(tube: Tube) -> float:
    """Return the largest Reynolds number at which a tube's flow law is valid."""
    return LAMINAR if tube.flow == "laminar" else BLASIUS_UP_TO


def reynolds(tube: Tube, fluid: Fluid, flow: ArrayLike) -> Array:
    """Compute the Reynolds number 4 ρ |Q| / (π d μ) of flows [m³/s], same shape."""
    speed = 4.0 * np.abs(np.asarray(flow, dtype=float)) / (np.pi * tube.diameter**2)
    return np.asarray(fluid.density * speed * tube.diameter / fluid.viscosity)


def poiseuille_resistance(tube: Tube, fluid: Fluid) -> float:
    """Compute the laminar resistance 128 μ l / (π d⁴) [Pa·s/m³] (Chen et al. 2022, eq 34)."""
    return 128.0 * fluid.viscosity * tube.length / (np.pi * tube.diameter**4)


def tube_resistance(tube: Tube, fluid: Fluid, flow: ArrayLike) -> Array:
    """Compute pressure drop over flow for flows of any shape [Pa·s/m³].

    With ``blasius`` the friction factor is 64/Re up to Re 2300 and 0.3164/Re^¼ (Blasius 1913) from
    4000 on; in between, where neither holds, it runs straight from one to the other.

    Args:
        tube: The tube.
        fluid: Fluid in the tubes.
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
    """Compute the flow at pressure drops of any shape [m³/s]: the inverse of ``tube_resistance``.

    Args:
        tube: The tube.
        fluid: Fluid in the tubes.
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
    """Solve (a + b Re) Re² for Re in the transition range with linear friction factor."""
    slope = (TURBULENT_FACTOR - LAMINAR_FACTOR) / (TURBULENT - LAMINAR)
    first = LAMINAR_FACTOR - slope * LAMINAR
    number = np.full_like(target_number, TURBULENT)
    for _ in range(NEWTON_STEPS):
        excess = (first + slope * number) * number**2 - target_number
        number = number - excess / ((2.0 * first + 3.0 * slope * number) * number)
    return number


def chamber_compliance(arm: HydraulicArm, section: ArmSection, index: int) -> float:
    """Compute the compliance of a chamber in its bundle, volume over pressure C_a [m³/Pa].

    A_d² l (1/EA + r²/EI) + A_d l / K: its pressure lengthens and bends the whole section. Eq 34
    takes one unit that is free of the others.
    """
    chamber, length = section.chambers[index], section.length
    axial = length / section.axial_stiffness
    bending = chamber.radius**2 * length / section.bending_stiffness
    return chamber.area**2 * (axial + bending) + water_compliance(arm, section, index)


def water_compliance(arm: HydraulicArm, section: ArmSection, index: int) -> float:
    """Compute the compliance of the water in a chamber at its rest length, V₁/K [m³/Pa].

    V₁ stays as it is, as in eq 34: that the chamber lengthens by some per cent moves poles
    that are far faster than the arm.
    """
    return section.chambers[index].area * section.length / arm.drive.fluid.bulk_modulus


def check_pressures(arm: HydraulicArm, pressures: ArrayLike) -> Array:
    """Validate pressures of all chambers and return them as an array [Pa], (k,).

    Raises:
        DescriptionError: The number of pressures is not that of the chambers, or a pressure is
            beyond the limits of its chamber.
    """
    values = np.asarray(pressures, dtype=float)
    if values.shape != (len(arm.chambers),):
        raise DescriptionError(
            f"expected one pressure per chamber ({len(arm.chambers)}), found shape {values.shape}",
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
