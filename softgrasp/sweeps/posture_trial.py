"""Short trial of synthesized postures: one closure and six pushes with MuJoCo's contacts.

A trial costs some hundredths of a CPU-second, a tenth of a simulated grasp, and separates most
postures that hold the object from those that let it go. It has neither gravity nor a table, and
neither the contact model nor the closure law of this package: the actuators go from the opened hand
through the posture to the squeezing targets, and every push starts from the state after that.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.grasp_synthesis.posture_search import SynthesizedPosture
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.retreat import HandRetreat

TIMESTEP = 0.004
"""[s]"""
CLOSING, SQUEEZING, RESTING, PUSHING = 40, 40, 25, 60
"""Steps of the parts of a trial; the last is that of each push."""
ACCELERATION = 10.0
"""Force of a push over the mass of the object [m/s²]."""
FRICTION = 0.8
"""Coefficient of friction of the trial over that of the scene [–]: a margin for closures,
which press less evenly than the squeezing targets."""
TORSION = 0.005
"""Torsional friction [m]."""
SOLREF, SOLIMP = (0.01, 1.0), (0.9, 0.95, 1e-3, 0.5, 2.0)
"""MuJoCo's ``solref`` and ``solimp`` of all contacts."""
IMPRATIO = 10.0
"""Impedance of friction over that of normal forces [–]."""
LOST = 0.01
"""Motion of the object in a push after which no other push follows [m]."""
MAX_MOTION = 5e-4
"""Largest motion of a held object in a push, rotation included [m]. The penetration of its contacts
alone, which does not depend on the mass, is a third of it."""
MAX_START_DEPTH = 3e-3
"""Largest penetration of the opened hand in the object, and of its links in each other [m]."""
MAX_CLOSING_DISPLACEMENT, MAX_CLOSING_ROTATION = 0.03, 0.2
"""Largest motion of the object while the hand closes [m, rad]."""
ARM = 0.05
"""Length that makes rotations comparable with displacements [m]."""
DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])
"""Directions of the pushes in the object's frame."""


class TrialOutcome(NamedTuple):
    """Motion of the object in a trial."""

    held: bool
    """Whether the opened hand was clear, and closing and pushes moved the object little."""
    closing_displacement: float
    """While the hand closed [m]; ∞ where it was not clear."""
    closing_rotation: float
    """[rad]"""
    push_displacement: float
    """Largest of the pushes [m]; ∞ where none was applied."""
    push_rotation: float
    """[rad]"""

    @property
    def motion(self) -> float:
        """Motion of the object in closing and in the largest push, rotation included [m].

        Grasps in which the object moves little hold best.
        """
        displacement = self.closing_displacement + self.push_displacement
        return displacement + ARM * (self.closing_rotation + self.push_rotation)


class PostureTrial:
    """Trials of postures of one hand at one object."""

    def __init__(self, retreat: HandRetreat, friction: float) -> None:
        """Compile the model.

        Args:
            retreat: Model of hand and object; its state is overwritten by trials.
            friction: Coefficient of friction of the scene [–].
        """
        self._retreat = retreat
        spec = retreat.built.spec.copy()
        option = spec.option
        option.timestep, option.gravity = TIMESTEP, [0.0, 0.0, 0.0]
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
        option.noslip_iterations = 0
        for pair in spec.pairs:
            pair.solref, pair.solimp, pair.solreffriction = SOLREF, SOLIMP, (0.0, 0.0)
            pair.friction = (FRICTION * friction, FRICTION * friction, TORSION, 1e-4, 1e-4)
            pair.condim, pair.margin, pair.gap = 4, 0.0, 0.0
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._object = int(self._model.body(names.OBJECT).id)

    def run(self, posture: SynthesizedPosture) -> TrialOutcome:
        """Close the hand in a posture and push the object.

        Args:
            posture: The posture.
        """
        model, data = self._model, self._data
        self._retreat.pose_at(posture.pose, posture.start)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = self._retreat.data.qpos
        mujoco.mj_forward(model, data)
        if data.ncon and data.contact.dist.min() < -MAX_START_DEPTH:
            return TrialOutcome(False, np.inf, np.inf, np.inf, np.inf)
        start = self._object_pose()
        self._move(posture.start, posture.targets, CLOSING)
        self._move(posture.targets, posture.squeeze, SQUEEZING)
        mujoco.mj_step(model, data, RESTING)
        displacement, rotation = _motion(start, self._object_pose())
        if displacement >= MAX_CLOSING_DISPLACEMENT or rotation >= MAX_CLOSING_ROTATION:
            return TrialOutcome(False, displacement, rotation, np.inf, np.inf)
        pushed, rolled = self._pushes(start[1])
        held = pushed + ARM * rolled < MAX_MOTION
        return TrialOutcome(held, displacement, rotation, pushed, rolled)

    def _move(self, first: Array, second: Array, steps: int) -> None:
        """Move the targets from one posture to another."""
        for step in range(1, steps + 1):
            self._data.ctrl[:] = first + (second - first) * step / steps
            mujoco.mj_step(self._model, self._data)

    def _pushes(self, axes: Array) -> tuple[float, float]:
        """Push along axes (3, 3) of the object from one state; return the largest motions."""
        model, data = self._model, self._data
        closed = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, data, closed, mujoco.mjtState.mjSTATE_INTEGRATION)
        before = self._object_pose()
        displacement, rotation = 0.0, 0.0
        for direction in DIRECTIONS:
            mujoco.mj_setState(model, data, closed, mujoco.mjtState.mjSTATE_INTEGRATION)
            force = ACCELERATION * float(model.body_mass[self._object])
            data.xfrc_applied[self._object, :3] = force * axes @ direction
            mujoco.mj_step(model, data, PUSHING)
            moved, angle = _motion(before, self._object_pose())
            displacement, rotation = max(displacement, moved), max(rotation, angle)
            if displacement + ARM * rotation >= LOST:
                break
        return displacement, rotation

    def _object_pose(self) -> tuple[Array, Array]:
        """Return position (3,) [m] and axes (3, 3) of the object."""
        data = self._data
        return data.xpos[self._object].copy(), data.xmat[self._object].reshape(3, 3).copy()


def _motion(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[float, float]:
    """Compute the displacement [m] and the rotation [rad] between two poses."""
    cosine = 0.5 * (float((first[1] * second[1]).sum()) - 1.0)
    displacement = float(np.linalg.norm(second[0] - first[0]))
    return displacement, float(np.arccos(np.clip(cosine, -1.0, 1.0)))
