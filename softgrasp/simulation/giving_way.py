"""How far a servo may lag behind its target when its drive begins to squeeze."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.contacts import ContactPoint, ContactReader
from softgrasp.simulation.state import ClosureLayout

SAFETY_FACTOR = 0.8
"""Of the asked force that a finger may press with at once. What it does not press with it must
close again, slowly, and an object that others have pushed is by then gone."""


class TargetBacktracking:
    """Takes targets back from where they have run ahead of their joints."""

    def __init__(self, model: mujoco.MjModel, layout: ClosureLayout) -> None:
        """Look up once what does not change.

        Args:
            model: The compiled scene.
            layout: Of the loop; drives that stop at a force.
        """
        self._model, self._layout = model, layout
        self._contacts = ContactReader(model)
        addresses = model.jnt_qposadr.tolist()
        self._dofs = [
            int(model.jnt_dofadr[addresses.index(address)]) if address >= 0 else -1
            for address in layout.joint_of_actuator.tolist()
        ]

    def targets(self, data: mujoco.MjData, targets: Array, actuators: Sequence[int]) -> Array:
        """Targets with the lag of some drives cut to what holds the finger and presses lightly.

        Without it the lag of a moving servo squeezes with a force that depends on its rate. With
        no lag at all nothing stops an object that another finger has hit. So each servo keeps the
        torque that balances a share of the asked force, Jᵀ n F, where its finger touches, and
        the weight of the finger.

        Args:
            data: The state of the engine, after a step.
            targets: Of the last sample [rad or m], (nd,).
            actuators: Those that have begun to touch.
        """
        adjusted = targets.copy()
        points = self._contacts.read(data)
        for actuator in actuators:
            dof = self._dofs[actuator]
            if dof < 0 or not self._layout.increments[actuator]:
                continue
            joint = float(data.qpos[self._layout.joint_of_actuator[actuator]])
            lag = float(targets[actuator]) - joint
            max_lag = self._torque(data, actuator, points) / float(
                self._model.actuator_gainprm[actuator, 0]
            )
            adjusted[actuator] = joint + min(max(lag, -max_lag), max_lag)
        return adjusted

    def _torque(self, data: mujoco.MjData, actuator: int, points: Sequence[ContactPoint]) -> float:
        """What a servo may give: for its share of the asked force, and for the weight it holds."""
        layout, dof = self._layout, self._dofs[actuator]
        assert layout.grip_force is not None
        bodies = {layout.bodies[body] for body in layout.stops[actuator]}
        actuator_points = [point for point in points if point.body in bodies]
        pressing = sum(point.normal_force for point in actuator_points)
        torque = sum(point.normal_force * self._arm(data, point, dof) for point in actuator_points)
        arm = abs(torque) / pressing if pressing > 0.0 else 0.0
        return SAFETY_FACTOR * layout.grip_force * arm + abs(float(data.qfrc_bias[dof]))

    def _arm(self, data: mujoco.MjData, point: ContactPoint, dof: int) -> float:
        """Torque of a unit force along the normal [m]; no unit for a joint that slides."""
        along = np.zeros((3, self._model.nv))
        body = self._model.body(point.body).id
        mujoco.mj_jac(self._model, data, along, None, np.array(point.point), body)
        return float(along[:, dof] @ np.array(point.normal))
