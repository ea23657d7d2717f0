"""Looking at the contacts along a finished run.

They come from the recorded postures, so that the loop is as fast as without them.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.sim.contacts import GraspContactReader, GraspContacts, object_reach
from softgrasp.sim.quality_log import QualityLog
from softgrasp.sim.run_record import FinishedRun

RATE = 100.0
"""Samples a second."""


def quality_log(run: FinishedRun, rate: float = RATE) -> QualityLog | None:
    """Look at the contacts along a run; None where the object is deformable or the run diverged.

    Args:
        run: The run.
        rate: Samples a second; 0 for its end only.
    """
    recording, model = run.recording, run.model
    if run.diverged or model.nflex:
        return None
    rows = _rows(run, rate)
    reader, data = GraspContactReader(model, list(run.built.bodies)), mujoco.MjData(model)
    sampled: list[GraspContacts] = []
    centers = np.zeros((len(rows), 3))
    for index, row in enumerate(rows.tolist()):
        sampled.append(reader.posed(data, recording.qpos[row]))
        centers[index] = data.xipos[reader.object_body]
    counts = [len(contacts.points) for contacts in sampled]
    joined = {
        name: np.concatenate([getattr(contacts, name) for contacts in sampled])
        for name in ("points", "normals", "friction", "torsion", "body")
    }
    force = recording.force[rows].reshape(len(rows), len(run.built.bodies), -1, 3)
    return QualityLog(
        time=recording.time[rows].copy(),
        margin=_margins(sampled, force),
        center=centers,
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        torque_scale=np.array(object_reach(model)),
        **joined,
    )


def _rows(run: FinishedRun, rate: float) -> NDArray[np.int64]:
    """Rows at a rate from the first one on, and the last one."""
    last = run.recording.rows - 1
    if rate == 0.0:
        return np.array([last])
    stride = max(round(1.0 / (rate * run.scene.control_period)), 1)
    return np.unique(np.append(np.arange(0, last + 1, stride), last))


def _margins(sampled: list[GraspContacts], force: Array) -> Array:
    """The least friction margin of a body at each sample, (Q,).

    Args:
        sampled: Contacts of each sample.
        force: Normal force and friction of each slot of each body, (Q, nb, slots, 3) [N].
    """
    margins = np.full(len(sampled), np.nan)
    for index, contacts in enumerate(sampled):
        normal = force[index, :, :, 0].sum(axis=1)
        sliding = np.hypot(force[index, :, :, 1], force[index, :, :, 2]).sum(axis=1)
        friction = np.zeros(len(normal))
        friction[contacts.body] = contacts.friction
        holds = friction * normal
        pressing = holds > 0.0
        if pressing.any():
            margins[index] = float((1.0 - sliding[pressing] / holds[pressing]).min())
    return margins
