"""A run that another engine made, told by its controller, in the terms of the MuJoCo model.

The rows of the controller become the recording of a closure, so that everything that is computed
from a run of MuJoCo is computed from this one alike. Where contacts are, and how fast they slide,
comes from the model in the recorded poses; their forces are those of the other engine.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property, partial
from typing import Any

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.placing import object_pose
from softgrasp.build.scene import BuiltScene
from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.simulation.contacts import ContactPoint, OtherPoint, contact_points
from softgrasp.simulation.event_log import EventLog
from softgrasp.simulation.finished_run import Engine
from softgrasp.simulation.pulling import Pulled
from softgrasp.simulation.sensing import Sensing
from softgrasp.simulation.sequencing import PhaseRows
from softgrasp.simulation.state import ClosureState, Recording, closure_layout
from softgrasp.simulation.told_contacts import ContactEvent
from softgrasp.simulation.trials import Trial


class ImportedRun:
    """A finished run of another engine; see ``ClosureRun`` for what its parts mean."""

    def __init__(
        self, built: BuiltScene, engine: Engine, joints: list[str], imported: dict[str, Any]
    ) -> None:
        """Read what the controller wrote.

        Args:
            built: The scene.
            engine: What ran it.
            joints: Names of the joints in the order of the controller.
            imported: Its result.

        Raises:
            SimulationError: It has no sample at all.
        """
        self.built, self.scene, self.model = built, built.scene, built.model
        self.layout, self.engine = closure_layout(built), engine
        self.engine_warnings: Counter[str] = Counter()
        self.diverged = bool(imported["diverged"])
        self.finished = not self.diverged
        self.sensing: Sensing | None = None  # other engines have none
        self.hold_from: int | None = imported["hold_from"]
        self.recording = self._recorded(joints, imported["rows"])
        self.phases = self._phases()
        self.trials, self.pulls = list[Trial](), list[Pulled]()
        self.state = ClosureState.at_start(self.recording.control[-1].tolist(), len(built.bodies))
        self.state.in_contact, self.state.idle = imported["in_contact"], imported["idle"]
        self._log = EventLog(built)
        for row, changes in imported["changes"]:
            points = partial(self._points, row)
            self._log.record(float(self.recording.time[row]), changes, points)

    @property
    def events(self) -> list[ContactEvent]:
        """Contacts that began or ended."""
        return self._log.events

    @property
    def now(self) -> float:
        """Time of the last control sample [s]."""
        return float(self.recording.time[self.recording.rows - 1])

    @cached_property
    def data(self) -> mujoco.MjData:
        """The state of the last sample."""
        return self._state_of(self.recording.rows - 1)

    def _phases(self) -> list[PhaseRows]:
        last = self.recording.rows - 1
        if self.hold_from is None:
            return [PhaseRows("close", 0, last)]
        after = "hold test" if self.scene.lift is None else "lift"
        return [PhaseRows("close", 0, self.hold_from), PhaseRows(after, self.hold_from, last)]

    def contact_points(self) -> list[ContactPoint]:
        """The contacts of the last sample."""
        return self._points(self.recording.rows - 1)

    def other_points(self) -> list[OtherPoint]:
        """None: the controller is told forces on the hand only."""
        return []

    def _recorded(self, joints: list[str], rows: dict[str, list[list[float]]]) -> Recording:
        count = len(rows["target"])
        if count == 0:
            raise SimulationError("expected a result with samples, found one without any")
        model, bodies = self.model, len(self.built.bodies)
        recording = Recording.empty(model, bodies, self.layout.force_sum.shape[1], count)
        recording.rows = count
        recording.time[:] = np.arange(count) * self.scene.control_period
        columns = [int(model.joint(name).qposadr[0]) for name in joints]
        recording.qpos[:, columns] = rows["position"]
        recording.control[:] = rows["target"]
        recording.in_contact[:] = rows["in_contact"]
        self._put_object(recording.qpos, np.array(rows["object"], dtype=float))
        # the sums of a body stand where its first contact does
        force = recording.force.reshape(count, bodies, -1, 3)
        force[:, :, 0, 0], force[:, :, 0, 1] = rows["normal"], rows["friction"]
        return recording

    def _put_object(self, qpos: Array, track: Array) -> None:
        """Write the recorded poses of the object as joints of the model."""
        if self.scene.object_mount == "planar":
            start = object_pose(self.scene)
            upright = transform(quaternion=start.quaternion)[:3, :3]
            rotations = track[:, 3:].reshape(-1, 3, 3) @ upright.T
            # about y: x goes to (cos, 0, -sin)
            angle = np.unwrap(np.arctan2(-rotations[:, 2, 0], rotations[:, 0, 0]))
            moved = track[:, :3] - start.position
            for name, values in zip(PLANAR_JOINTS, (moved[:, 0], moved[:, 2], angle), strict=True):
                qpos[:, int(self.model.joint(name).qposadr[0])] = values
        if self.scene.object_mount != "free":
            return
        first = int(self.model.joint(names.OBJECT).qposadr[0])
        qpos[:, first : first + 3] = track[:, :3]
        for row, matrix in zip(qpos, track[:, 3:], strict=True):
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, matrix)
            row[first + 3 : first + 7] = quaternion

    def _points(self, row: int) -> list[ContactPoint]:
        """Contacts in the poses of a sample; each body's forces are shared by depth."""
        points = contact_points(self.model, self._state_of(row))
        force = self.recording.force.reshape(self.recording.rows, len(self.built.bodies), -1, 3)
        point_list = []
        for body, (normal, friction, _) in zip(self.built.bodies, force[row, :, 0], strict=True):
            body_points = [point for point in points if point.body == body]
            depths = np.array([max(-point.separation, 0.0) for point in body_points])
            weights = depths if depths.any() else np.ones(len(body_points))
            weight_fractions = weights / max(weights.sum(), 1e-300)  # none are shared by none
            point_list += [
                point._replace(
                    normal_force=float(normal * fraction), friction_force=float(friction * fraction)
                )
                for point, fraction in zip(body_points, weight_fractions, strict=True)
            ]
        return point_list

    def _state_of(self, row: int) -> mujoco.MjData:
        """The model in the poses of a sample, with the speed since the one before."""
        data, qpos = mujoco.MjData(self.model), self.recording.qpos
        data.qpos[:] = qpos[row]
        before = qpos[max(row - 1, 0)]
        mujoco.mj_differentiatePos(
            self.model, data.qvel, self.scene.control_period, before, qpos[row]
        )
        mujoco.mj_forward(self.model, data)
        return data
