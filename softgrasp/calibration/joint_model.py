"""Measured angles and forces as functions of standardised parameters with a Gaussian prior.

Beside the finger's parameters the model has nuisance parameters: tilt of the clamp, roll of the
camera, hook mass, load point, mass of the finger, offsets of joint angles (rounded valleys), tare,
gap and friction of the plate; and the discrepancy of the model, a relative error of each joint's
angle and of the forces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from softgrasp.calibration.objectives import Block, block_of
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import HungRig, Loads, hung_slopes
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

STEP = 1e-4
"""Step of finite differences, in standard deviations of the prior [–]."""
RIG_ERRORS = 4
"""Number of nuisances that change loads; they are the first ones."""


@dataclass(frozen=True)
class Priors:
    """Standard deviations of the priors.

    Args:
        joints: Of a joint's stiffness (or gain) from the mean of all, natural logarithm [–].
        tilt: Of the clamp against the horizontal and of the camera, typically [rad]; see
            ``posterior.SCALES``.
        offset: Of the angle of a joint, the same under all weights, typically [rad].
        hook: Of the mass of every weight [kg].
        load_point: Of the load point, over the length of the last link [–].
        finger_mass: Of the mass of the finger, relative [–].
        tare: Of the force of the scale, over the largest one [–].
        angles: Of the model's angle of a joint, the same under all weights, relative [–].
        shape: Of the model's angle of a joint under one weight, relative [–].
        forces: Of the model's force at each pressure, relative [–].
        gap: Of the distance of the plate, where it is stated [m].
        unstated_gap: The same where it is not [m].
        creep: Of the growth of angles in a decade of time under load, relative [–].
        friction: Of the coefficient of friction between tip and plate [–].
    """

    joints: float = 0.7
    tilt: float = math.radians(1.0)
    offset: float = math.radians(1.0)
    hook: float = 1e-4
    load_point: float = 0.05
    finger_mass: float = 0.01
    tare: float = 0.003
    angles: float = 0.02
    shape: float = 0.01
    forces: float = 0.003
    gap: float = 1e-4
    unstated_gap: float = 2e-3
    friction: float = 0.1
    creep: float = 0.05


class JointModel:
    """Measured angles and forces as functions of standardised parameters.

    Parameters z have the prior N(0, I); ``parameters`` maps them to those of the finger.
    """

    def __init__(
        self, problem: CalibrationProblem, experiments: VirtualExperiments, priors: Priors
    ) -> None:
        """Set up the model of a problem.

        Raises:
            DescriptionError: There are no angles under weights.
        """
        self.problem, self.experiments, self.priors = problem, experiments, priors
        self.relative = problem.zero == "unloaded"
        self.offset, self.tilt = priors.offset, priors.tilt
        is_stated = "plate_gap" in problem.model_fields_set
        self.gap = priors.gap if is_stated else priors.unstated_gap
        self.loads = [reading for reading in problem.hung if not reading.held_out]
        self.forces = [force for force in problem.forces if not force.held_out]
        if not self.loads:
            raise DescriptionError("joint estimate: expected angles under weights, found none")
        stiffens = problem.stiffness_pressure
        self.bends = [bend for bend in problem.bends if not bend.held_out] if stiffens else []
        """Free bending, where it shows how the stiffness depends on the pressure."""
        self.blocks: list[Block] = [block_of(problem, "stiffness")]
        if self.forces or self.bends:
            self.blocks.append(block_of(problem, "gain"))
        self.masses = np.array([load.mass for load in self.loads])
        times = np.array([load.time or problem.creep_time for load in self.loads])
        self.decades = np.log10(times / problem.creep_time)
        """Decades of time under load of each row beyond that of the stiffness, (l,)."""
        self.observed = max(len(load.angles) for load in self.loads)
        shown = [x.angles for x in self.loads] + [x.angles for x in self.bends]
        self.angles = np.concatenate([np.array(row) for row in shown])
        self.force = np.array([force.force for force in self.forces])

    @cached_property
    def nuisances(self) -> tuple[str, ...]:
        """Names of the nuisance parameters, in the order of z after the finger's parameters."""
        joints = range(1, self.observed + 1)
        names = ["tilt", "hook", "load point", "finger mass", "roll of the camera"]
        names += [f"offset of joint {i}" for i in joints]
        names += [f"model error of joint {i}" for i in joints]
        if self.forces:
            names += ["tare", "gap of the plate", "friction of the plate"]
            names += [f"model error at {p / 1e3:g} kPa" for p in self._pressures]
        return (*names, "creep") if np.ptp(self.decades) > 0.0 else tuple(names)

    @cached_property
    def _pressures(self) -> list[float]:
        return sorted({force.pressure for force in self.forces})

    @property
    def size(self) -> int:
        """Number of all parameters."""
        return sum(self.sizes) + len(self.nuisances)

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of z of each block: one for the mean of several joints, and one each."""
        counts = [(len(item.names), len(item.names) - item.stiffens) for item in self.blocks]
        return [size + (count > 1 and all(block.relative[:count]))
                for block, (size, count) in zip(self.blocks, counts, strict=True)]  # fmt: skip

    def parameters(self, z: Array) -> list[Array]:
        """Return the finger parameters of each block, (B, p), for B vectors z (B, size)."""
        blocks, first = [], 0
        for block, size in zip(self.blocks, self.sizes, strict=True):
            blocks.append(self._block(block, z[:, first : first + size]))
            first += size
        return blocks

    def _block(self, block: Block, z: Array) -> Array:
        """Log-normal parameters about a common mean; linear ones about zero."""
        if block.stiffens:
            gains = replace(
                block,
                names=block.names[:-1],
                lower=block.lower[:-1],
                upper=block.upper[:-1],
                relative=block.relative[:-1],
                stiffens=False,
            )
            rise = np.clip(0.5 * block.upper[-1] * z[:, -1:], block.lower[-1], block.upper[-1])
            return np.concatenate([self._block(gains, z[:, :-1]), rise], axis=1)  # fmt: skip
        relative = np.array(block.relative)
        upper = block.upper
        lower = np.where(block.lower > 0.0, block.lower, 1e-2 * upper)
        middle = np.log(np.sqrt(np.where(relative, lower * upper, 1.0)))
        spread = 0.5 * np.log(np.where(relative, upper / np.where(relative, lower, 1.0), 1.0))
        if z.shape[1] > len(block.names):
            common = middle[0] + spread[0] * z[:, :1]
            return np.asarray(np.exp(common + self.priors.joints * z[:, 1:]))
        linear = 0.5 * upper * z
        return np.asarray(np.where(relative, np.exp(middle + spread * z), linear))

    def simulate(self, z: Array) -> Array:
        """Simulate all angles [rad], then all tip forces [N], (B, m), for B vectors z (B, size)."""
        k, noise = self._joints(z)[0], self._noise(z)
        angles = self._rig(noise).angles(self.experiments.chain, k)[..., : self.observed]
        return np.concatenate([self._shown(angles, noise), self._pressurized(z)], axis=1)

    def _pressurized(self, z: Array) -> Array:
        """Compute the angles of free bending, then the forces, (B, m)."""
        (k, alpha), noise, rise = self._joints(z), self._noise(z), self._stiffening(z)
        parts = [np.zeros((len(z), 0))]
        bent = self.experiments.bends(k, alpha, self.bends, rise) if self.bends else []
        parts += [self._shown_bend(angles, noise) for angles in bent]
        if self.forces:
            wider = self.gap * noise["gap of the plate"]
            force = self.experiments.forces(k, alpha, self.forces, wider, rise)
            parts.append(self._read(force, noise))
        return np.concatenate(parts, axis=1)

    def _shown_bend(self, angles: Array, noise: dict[str, Array]) -> Array:
        """Return the angles that are read of a free finger, (B, observed), as ``_list_shown``."""
        gain, offset = (self._per_joint(noise, name) for name in ("model error", "offset"))
        known = min(self.observed, angles.shape[1])
        shown = angles.copy()
        shown[:, :known] *= 1.0 + self.priors.angles * gain[:, :known]
        shown[:, :known] += self.offset * offset[:, :known]
        return shown

    def linearized(self, z: Array) -> tuple[Array, Array]:
        """Simulate all angles [rad], then all tip forces [N], and compute their derivatives.

        Equilibria are differentiated implicitly, everything else numerically.

        Args:
            z: Standardised parameters, (size,).

        Returns:
            Values (m,) and derivatives (m, size); NaN where an equilibrium does not converge.
        """
        values = [self._linearized_angles(z)]
        if self.problem.stiffness_pressure:
            ends = self._pressurized(np.concatenate([z[None], self._moved(z)]))
            ahead, behind = np.split(ends[1:], 2)
            values.append((ends[0], (ahead - behind).T / (2.0 * STEP)))
        elif self.forces:
            values.append(self._linearized_forces(z))
        return np.concatenate([item for item, _ in values]), np.concatenate(
            [by for _, by in values]
        )

    def _linearized_angles(self, z: Array) -> tuple[Array, Array]:
        chain, noise = self.experiments.chain, self._noise(z[None])
        ends = self._moved(z)
        loads = self._rig(self._noise(ends)).absolute.loads(chain)
        half = 0.5 / STEP
        first = sum(self.sizes)
        changes = [
            Loads(*(half * (part[i] - part[len(z) + i])[None] for part in loads))
            for i in range(first, first + RIG_ERRORS)
        ]
        k = self._joints(z[None])[0][0]
        rig = self._rig(noise)
        angles, slopes = hung_slopes(chain, k, rig, changes)
        by_z = np.zeros((*angles.shape, len(z)))
        ahead, behind = np.split(self._joints(ends)[0], 2)
        by_z += slopes[..., : len(k)] @ (half * (ahead - behind)).T
        by_z[..., first : first + RIG_ERRORS] += slopes[..., len(k) :]
        angles, by_z = angles[:, : self.observed], by_z[:, : self.observed]
        # what is shown is linear in angles and in the other parameters
        factor = 1.0 + self.priors.angles * self._per_joint(noise, "model error")
        still = np.broadcast_to(angles, (2 * len(z), *angles.shape))
        ahead, behind = np.split(self._shown(still, self._noise(ends)), 2)
        by_z *= (factor[0] * self._crept(noise)[0])[..., None]
        rows = [by_z[i, : len(load.angles)] for i, load in enumerate(self.loads)]
        direct = (half * (ahead - behind)).T
        return self._shown(angles[None], noise)[0], np.concatenate(rows) + direct

    def _linearized_forces(self, z: Array) -> tuple[Array, Array]:
        ends, noise = self._moved(z), self._noise(z[None])
        k, alpha = (joint[0] for joint in self._joints(z[None]))
        gap = sum(self.sizes) + self.nuisances.index("gap of the plate")
        wider = self.gap * float(z[gap])
        force, by_k, by_alpha, by_gap = self.experiments.force_slopes(k, alpha, self.forces, wider)
        half = 0.5 / STEP
        moved_k, moved_alpha = (half * np.subtract(*np.split(x, 2)) for x in self._joints(ends))
        factor = self._force_factor(noise)[0]
        by_z = factor[:, None] * (by_k @ moved_k.T + by_alpha @ moved_alpha.T)
        by_z[:, gap] += factor * by_gap * self.gap
        still = np.broadcast_to(force, (2 * len(z), len(force)))
        ahead, behind = np.split(self._read(still, self._noise(ends)), 2)
        return self._read(force[None], noise)[0], by_z + (half * (ahead - behind)).T

    @staticmethod
    def _moved(z: Array) -> Array:
        """Return z with each element a step ahead, then a step behind, (2 size, size)."""
        steps = STEP * np.eye(len(z))
        return np.concatenate([z + steps, z - steps])

    def _joints(self, z: Array) -> tuple[Array, Array]:
        """Return stiffness and gains joint by joint, (B, n) each; no gains without forces."""
        values = self.parameters(z)
        k = self.blocks[0].of_joints(values[0])
        return k, self.blocks[1].of_joints(values[1]) if self.blocks[1:] else np.zeros_like(k)

    def _stiffening(self, z: Array) -> Array | None:
        """Return the stiffening by pressure [1/Pa], (B,); None where it is not estimated."""
        return self.blocks[1].stiffening(self.parameters(z)[1]) if self.blocks[1:] else None

    def _noise(self, z: Array) -> dict[str, Array]:
        return dict(zip(self.nuisances, z[:, sum(self.sizes) :].T, strict=True))

    def _rig(self, noise: dict[str, Array]) -> HungRig:
        priors = self.priors
        return HungRig(
            masses=self.masses + priors.hook * noise["hook"][:, None] * (self.masses > 0.0),
            tilt=self.tilt * noise["tilt"],
            overhang=priors.load_point * noise["load point"],
            extra_weight=priors.finger_mass * noise["finger mass"],
            relative=self.relative,
        )

    def _per_joint(self, noise: dict[str, Array], name: str) -> Array:
        return np.stack([noise[f"{name} of joint {i + 1}"] for i in range(self.observed)], axis=1)

    def _per_force(self, noise: dict[str, Array]) -> Array:
        names = [f"model error at {force.pressure / 1e3:g} kPa" for force in self.forces]
        return np.stack([noise[name] for name in names], axis=1)

    def _shown(self, angles: Array, noise: dict[str, Array]) -> Array:
        """Return the angles that are read, (B, m), of those of equilibria (B, l, observed)."""
        gain, offset = (self._per_joint(noise, name) for name in ("model error", "offset"))
        shown = angles * self._crept(noise) * (1.0 + self.priors.angles * gain[:, None])
        shown = shown + self.offset * offset[:, None]
        if not self.relative:
            shown[..., 0] += self.tilt * (noise["tilt"] + noise["roll of the camera"])[:, None]
        rows = [shown[:, i, : len(load.angles)] for i, load in enumerate(self.loads)]
        return np.concatenate(rows, axis=1)

    def _crept(self, noise: dict[str, Array]) -> Array:
        """Return the factor of the angles of each row by creep, (B, l, 1)."""
        growth = noise.get("creep", np.zeros(1))[:, None, None]
        return np.asarray(1.0 + self.priors.creep * growth * self.decades[:, None])

    def _read(self, force: Array, noise: dict[str, Array]) -> Array:
        """Return the forces that the scale shows, (B, p), of those of equilibria."""
        tare = self.priors.tare * float(np.abs(self.force).max()) * noise["tare"][:, None]
        return np.asarray(force * self._force_factor(noise) + tare)

    def _force_factor(self, noise: dict[str, Array]) -> Array:
        """Return the factor of the forces by model error and friction of the plate, (B, P)."""
        friction = self.priors.friction * noise["friction of the plate"][:, None]
        return 1.0 + self.priors.forces * self._per_force(noise) + friction * self._friction_effect

    @cached_property
    def _friction_effect(self) -> Array:
        """Change of the forces over µ and themselves, of the finger in the middle of bounds."""
        k, alpha = (joint[0] for joint in self._joints(np.zeros((1, self.size))))
        return self.experiments.friction_effect(k, alpha, self.forces)

    @property
    def measured(self) -> Array:
        """Measured angles [rad], then measured tip forces [N], (m,)."""
        return np.concatenate([self.angles, self.force])
