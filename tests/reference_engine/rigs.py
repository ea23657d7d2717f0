"""Small scenes of geoms for the reference engine, without hands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from tests.reference_engine.contact_law import Material
from tests.reference_engine.dynamics import ContactDynamics
from tests.reference_engine.pairs import GeomPairs
from tests.reference_engine.settings import ReferenceSettings

GRAVITY = 9.81


def law(
    stiffness: float = 1e5,
    damping: float = 300.0,
    friction: float = 0.5,
    dynamic: float | None = None,
    torsion: float = 0.0,
    stick: float = 1e-4,
) -> Material:
    """The contact law of every pair of a rig."""
    moving = friction if dynamic is None else dynamic
    columns = (stiffness, damping, friction, moving, max(stick, 1e-3), torsion, stick)
    return Material(*(np.array([value]) for value in columns))


def rig(
    bodies: str,
    contact: Material,
    gravity: Sequence[float] = (0.0, 0.0, -GRAVITY),
    prescribed: Sequence[int] = (),
    **settings: Any,
) -> ContactDynamics:
    """Bodies of an MJCF worldbody, all of whose geoms can touch those of other bodies."""
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    model.opt.gravity = gravity
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geoms = [
        (first, second)
        for first in range(model.ngeom)
        for second in range(first + 1, model.ngeom)
        if model.geom_bodyid[first] != model.geom_bodyid[second]
    ]
    laws = Material(*(np.repeat(column, len(geoms)) for column in contact))
    pairs = GeomPairs(model, np.array(geoms), laws)
    moved = np.array(prescribed, dtype=np.int64)
    dynamics = ContactDynamics(model, data, pairs, ReferenceSettings(**settings), moved)
    dynamics.start()
    return dynamics


def free(geom: str, position: str = "0 0 0", quaternion: str = "1 0 0 0", mass: float = 1.0) -> str:
    """A free body with one geom."""
    return (
        f'<body pos="{position}" quat="{quaternion}"><freejoint/>'
        f'<geom mass="{mass}" {geom}/></body>'
    )


FLOOR = '<geom type="plane" size="1 1 1"/>'


def energy(dynamics: ContactDynamics, stiffness: float) -> float:
    """Kinetic energy, potential energy of gravity, and energy of the contact springs [J]."""
    model, data = dynamics.model, dynamics.data
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    moving = 0.5 * float(data.qvel @ inertia @ data.qvel)
    height = -float((model.body_mass[:, None] * data.xipos @ model.opt.gravity).sum())
    return moving + height + 0.5 * stiffness * float((dynamics.touch.points.depth**2).sum())


def momentum(dynamics: ContactDynamics) -> np.ndarray:
    """Linear and angular momentum about the world's origin, (6,)."""
    model, data = dynamics.model, dynamics.data
    mujoco.mj_subtreeVel(model, data)
    linear = model.body_mass[1:, None] * data.subtree_linvel[1:]
    spin = data.subtree_angmom[1:] + np.cross(data.xipos[1:], linear)
    return np.concatenate([linear.sum(axis=0), spin.sum(axis=0)])


class Bounce:
    """Closed form of a mass that meets F = K·δ + D·δ̇ without gravity, with F never negative."""

    def __init__(self, mass: float, stiffness: float, damping: float, speed: float) -> None:
        rate = math.sqrt(stiffness / mass)
        ratio = damping / (2.0 * math.sqrt(stiffness * mass))
        swing = rate * math.sqrt(1.0 - ratio**2)
        self._decay, self._swing, self._speed = ratio * rate, swing, speed
        self.depth = self._position(math.atan2(swing, self._decay) / swing)
        end = math.atan2(2.0 * ratio * math.sqrt(1.0 - ratio**2), 1.0 - 2.0 * ratio**2)
        self.duration = (math.pi - end) / swing
        """Until the force is zero [s]."""
        self.restitution = -self._velocity(self.duration) / speed

    def _position(self, time: float) -> float:
        wave = math.sin(self._swing * time) / self._swing
        return self._speed * math.exp(-self._decay * time) * wave

    def _velocity(self, time: float) -> float:
        angle = self._swing * time
        wave = math.cos(angle) - self._decay / self._swing * math.sin(angle)
        return self._speed * math.exp(-self._decay * time) * wave
