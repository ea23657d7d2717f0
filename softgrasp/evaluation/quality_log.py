"""Grasp quality along a run: contacts at some samples, friction margins and ε.

``quality_log`` detects the contacts in the recorded postures after the run, so that the closed loop
is as fast as without them (decision 0014); contacts of bodies without a recorded normal force are
left out; ``QualityLog`` computes ε from them at first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model.compile import scratch_data
from softgrasp.sim.contacts import NOTHING, GraspContactReader, GraspContacts, object_reach

if TYPE_CHECKING:
    from softgrasp.sim.run_record import FinishedRun

RATE = 100.0
"""Default rate of samples [1/s]."""
EDGES = 8
"""Edges of the friction pyramids of ε, in the L1 norm with unit normal components."""
PREFIX = "quality_"
"""Prefix of the arrays of the log in ``trajectory.npz``."""


@dataclass(frozen=True, eq=False)
class QualityLog:
    """Contacts of hand and object at Q samples of a run, N in all; world frame."""

    time: Array
    """(Q,) [s]"""
    margin: Array
    """Friction margin 1 − |Ft|/(µ·Fn) of the body that is nearest to slipping, (Q,) [–]; NaN where
    no body presses."""
    center: Array
    """Centre of mass of the object, (Q, 3) [m]."""
    first: NDArray[np.int64]
    """Index of the first contact of each sample in the arrays below, (Q + 1,)."""
    points: Array
    """(N, 3) [m]"""
    normals: Array
    """Unit normals into the object, (N, 3)."""
    friction: Array
    """µ, (N,) [–]."""
    torsion: Array
    """Largest spinning moment over normal force, (N,) [m]."""
    body: NDArray[np.int64]
    """Column of the body in ``contact_bodies``, (N,)."""
    torque_scale: Array
    """Length by which moments are divided, () [m]: the largest distance of the object's surface
    from its centre of mass."""

    @cached_property
    def epsilon(self) -> Array:
        """ε of the contacts of each sample, (Q,) [–]; 0 without force closure.

        With more than ``grasp_wrench_space.MAX_CONTACTS`` contacts a lower bound, from those that
        differ most.
        """
        values = np.zeros(len(self.time))
        before: dict[str, Any] = {}
        for sample in range(len(values)):
            now = self.contacts(sample)
            same = sample > 0 and all(np.array_equal(before[name], now[name]) for name in now)
            values[sample] = values[sample - 1] if same else self._epsilon(sample)
            before = now
        return values

    @cached_property
    def closed_at(self) -> float | None:
        """Time at which force closure is first reached [s]; None where it never is."""
        closed = np.flatnonzero(self.epsilon > 0.0)
        return float(self.time[closed[0]]) if closed.size else None

    def contacts(self, sample: int) -> dict[str, Any]:
        """Arguments of ``quality.epsilon`` and similar functions for the contacts at one sample.

        Args:
            sample: Its number; from the end where it is negative.
        """
        sample = range(len(self.time))[sample]
        rows = slice(int(self.first[sample]), int(self.first[sample + 1]))
        return {
            "points": self.points[rows],
            "normals": self.normals[rows],
            "mu": self.friction[rows],
            "torsion": self.torsion[rows],
            "torque_scale": float(self.torque_scale),
            "center": self.center[sample],
        }

    def at(self, sample: int) -> dict[str, Any]:
        """Return the quality measures at one sample, with their conventions.

        Args:
            sample: Its number.
        """
        measures = measures_of(self.contacts(sample))
        margin = float(self.margin[sample])
        return measures | ({"friction_margin": margin} if np.isfinite(margin) else {})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that ``trajectory.npz`` contains."""
        logged = {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}
        return {**logged, PREFIX + "epsilon": self.epsilon}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> QualityLog | None:
        """Make the log from saved arrays; None without one."""
        names = [field.name for field in fields(cls)]
        if any(PREFIX + name not in arrays for name in (*names, "epsilon")):
            return None
        log = cls(**{name: arrays[PREFIX + name] for name in names})
        log.__dict__["epsilon"] = arrays[PREFIX + "epsilon"]
        return log

    def _epsilon(self, sample: int) -> float:
        from softgrasp import quality  # most runs never use it, and it loads slowly

        contacts = self.contacts(sample)
        if len(contacts["points"]) < 2:
            return 0.0
        few = thin(contacts)
        value = quality.epsilon(**few, edges=EDGES)
        if value > 0.0 or len(few["points"]) == len(contacts["points"]):
            return value
        return quality.pyramid_bounds(**contacts, edges=EDGES).lower


def thin(contacts: dict[str, Any]) -> dict[str, Any]:
    """Reduce contacts to so few that a wrench space takes less than seconds to compute."""
    from softgrasp.quality.grasp_wrench_space import few_contacts

    points, scale = contacts["points"], contacts["torque_scale"]
    kept = few_contacts(points, contacts["normals"], contacts["center"], scale)
    kept_arrays = {name: contacts[name][kept] for name in ("points", "normals", "mu", "torsion")}
    return contacts | kept_arrays


def measures_of(contacts: dict[str, Any]) -> dict[str, Any]:
    """Compute grasp measures by name, with their conventions.

    Args:
        contacts: Arguments of ``quality.epsilon``.
    """
    from softgrasp import quality

    measures: dict[str, Any] = {
        "contacts": len(contacts["points"]),
        "norm": "L1",
        "edge_norm": "normal",
        "edges": EDGES,
        "torque_scale_m": contacts["torque_scale"],
    }
    if not len(contacts["points"]):
        return measures | {"epsilon": 0.0, "reason": "nothing touches"}
    few = thin(contacts)
    space = quality.wrench_space(**few, edges=EDGES)
    if len(few["points"]) < len(contacts["points"]):
        bounds = quality.pyramid_bounds(**contacts, edges=EDGES)
        measures["epsilon_upper"] = bounds.upper
        if space.epsilon == 0.0 < bounds.lower:
            space = replace(space, epsilon=bounds.lower, reason="")
    points, normals = contacts["points"], contacts["normals"]
    scale = contacts["torque_scale"]
    G = quality.grasp_matrix(points, normals, "hard", contacts["center"], torque_scale=scale)
    return measures | {
        "wrench_contacts": len(few["points"]),
        "epsilon": space.epsilon,
        "reason": space.reason,
        "volume": space.volume,
        "rank": space.rank,
        "contact_model": "soft" if (contacts["torsion"] > 0.0).any() else "hard",
        "grasp_matrix": "hard",
        "min_singular_value": quality.min_singular_value(G),
        "isotropy": quality.isotropy(G),
        "ellipsoid_volume": quality.ellipsoid_volume(G),
    }


def quality_log(run: FinishedRun, rate: float = RATE) -> QualityLog | None:
    """Detect the contacts along a run; None for a deformable object or a run that diverged.

    Args:
        run: The finished run.
        rate: Rate of samples [1/s]; 0 for the end only.
    """
    recording, model = run.recording, run.model
    if run.diverged or model.nflex:
        return None
    rows = _rows(run, rate)
    reader, data = GraspContactReader(model, list(run.built.bodies)), scratch_data(model)
    force = recording.force[rows].reshape(len(rows), len(run.built.bodies), -1, 3)
    # a body that overlaps but exerts no force, as at the first touch, has no contact yet
    pressing = force[:, :, : run.layout.object_slots[0], 0].max(axis=2, initial=0.0) > 0.0
    sampled: list[GraspContacts] = []
    centers = np.zeros((len(rows), 3))
    for index, row in enumerate(rows.tolist()):
        if pressing[index].any():
            sampled.append(reader.posed(data, recording.qpos[row]).of_bodies(pressing[index]))
        else:
            sampled.append(NOTHING)
            data.qpos[:] = recording.qpos[row]
            mujoco.mj_kinematics(model, data)
        centers[index] = data.xipos[reader.object_body]
    counts = [len(contacts.points) for contacts in sampled]
    joined = {
        name: np.concatenate([getattr(contacts, name) for contacts in sampled])
        for name in ("points", "normals", "friction", "torsion", "body")
    }
    return QualityLog(
        time=recording.time[rows].copy(),
        margin=_margins(sampled, force),
        center=centers,
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        torque_scale=np.array(object_reach(model)),
        **joined,
    )


def _rows(run: FinishedRun, rate: float) -> NDArray[np.int64]:
    """Return rows at a fixed rate from the first one on, and the last one."""
    last = run.recording.rows - 1
    if rate == 0.0:
        return np.array([last])
    stride = max(round(1.0 / (rate * run.scene.control_period)), 1)
    return np.unique(np.append(np.arange(0, last + 1, stride), last))


def _margins(sampled: list[GraspContacts], force: Array) -> Array:
    """Compute the smallest friction margin of a body, (Q,), from forces (Q, nb, slots, 3) [N]."""
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
