"""Hardware of rigid joints: servos of a MuJoCo model, or joints put where they are commanded."""

from __future__ import annotations

import mujoco

from softgrasp.control.resources import ResourceManager
from softgrasp.description.control_system import ControlledJoint
from softgrasp.description.robot import RigidJoint
from softgrasp.errors import DescriptionError


class JointHardware:
    """One rigid joint of a model."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        joint: RigidJoint,
        controlled: ControlledJoint,
    ) -> None:
        """Find the joint in its model.

        Raises:
            DescriptionError: It is fixed, follows another joint, or something else than its
                position is commanded.
        """
        name = joint.name
        if joint.type == "fixed" or joint.mimic is not None:
            mobility = "fixed" if joint.mimic is None else f"following '{joint.mimic.joint}'"
            raise DescriptionError(
                f"expected a joint that moves by itself, found it {mobility}",
                field=f"joint '{name}'",
            )
        for interface in controlled.commands:
            if interface.name != "position":
                raise DescriptionError(
                    f"expected position as the command interface of a rigid joint, found "
                    f"'{interface.name}'",
                    field=f"joint '{name}'",
                )
        self._name, self._data, self._commanded = name, data, bool(controlled.commands)
        self._qpos_address = int(model.joint(name).qposadr[0])
        self._speed = int(model.joint(name).dofadr[0])
        self._servo = model.actuator(name).id

    def read(self, resources: ResourceManager) -> None:
        """Put position, velocity and effort into the state interfaces."""
        data = self._data
        measured = {
            "position": data.qpos[self._qpos_address],
            "velocity": data.qvel[self._speed],
            "effort": data.qfrc_actuator[self._speed],
        }
        for what, value in measured.items():
            if f"{self._name}/{what}" in resources.states:
                resources.states[f"{self._name}/{what}"] = float(value)

    def write(self, resources: ResourceManager) -> None:
        """Send the servo to the commanded position."""
        if self._commanded:
            self._data.ctrl[self._servo] = resources.commanded(f"{self._name}/position")

    def follow(self, resources: ResourceManager) -> None:
        """Put the joint to the commanded position."""
        if self._commanded:
            self._data.qpos[self._qpos_address] = resources.commanded(f"{self._name}/position")

    def release(self) -> None:
        """A servo without power holds: it is not part of what straightens by itself."""
