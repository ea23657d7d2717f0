"""Quality of the grasp while it happens: contacts at samples of a run, and ε from them.

ε is computed when it is first asked for, as in writing the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

EDGES = 8
"""Of the friction pyramids of ε, in the L1 norm with unit normal components."""
PREFIX = "quality_"
"""Of its arrays in ``trajectory.npz``."""


@dataclass(frozen=True, eq=False)
class QualityLog:
    """Contacts of the hand with the object at Q samples of a run, N in all; world frame."""

    time: Array
    """(Q,) [s]"""
    margin: Array
    """Friction margin 1 − |Ft|/(µ·Fn) of the body that is nearest to slipping, (Q,) [–]; NaN where
    none presses."""
    center: Array
    """Centre of mass of the object, (Q, 3) [m]."""
    first: NDArray[np.int64]
    """Where the contacts of each sample begin in the arrays below, (Q + 1,)."""
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
    """What moments are divided by, (): the largest distance of the object's surface from its
    centre of mass [m]."""

    @cached_property
    def epsilon(self) -> Array:
        """ε of the contacts of each sample, (Q,) [–]; 0 without force closure.

        Of more than ``few_contacts.MOST`` contacts a lower bound, from those that differ most.
        """
        values = np.zeros(len(self.time))
        for sample in range(len(values)):
            same = sample > 0 and self._is_as_before(sample)
            values[sample] = values[sample - 1] if same else self._epsilon(sample)
        return values

    @cached_property
    def closed_at(self) -> float | None:
        """When force closure is first reached [s]; None where it never is."""
        closed = np.flatnonzero(self.epsilon > 0.0)
        return float(self.time[closed[0]]) if closed.size else None

    def contacts(self, sample: int) -> dict[str, Any]:
        """Arguments of ``quality.epsilon`` and its kin for the contacts of one sample.

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
        """Measures of one sample's contacts, with their conventions.

        Args:
            sample: Its number.
        """
        measures = measures_of(self.contacts(sample))
        margin = float(self.margin[sample])
        return measures | ({"friction_margin": margin} if np.isfinite(margin) else {})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``trajectory.npz`` has of it."""
        logged = {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}
        return {**logged, PREFIX + "epsilon": self.epsilon}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> QualityLog | None:
        """The log that was saved; None where none was."""
        names = [field.name for field in fields(cls)]
        if any(PREFIX + name not in arrays for name in (*names, "epsilon")):
            return None
        log = cls(**{name: arrays[PREFIX + name] for name in names})
        log.__dict__["epsilon"] = arrays[PREFIX + "epsilon"]
        return log

    def _epsilon(self, sample: int) -> float:
        from softgrasp import quality  # most runs never ask, and it takes a while to load

        contacts = thinned(self.contacts(sample))
        return quality.epsilon(**contacts, edges=EDGES) if len(contacts["points"]) > 1 else 0.0

    def _is_as_before(self, sample: int) -> bool:
        one, other = self.contacts(sample - 1), self.contacts(sample)
        return all(np.array_equal(one[name], other[name]) for name in one)


def thinned(contacts: dict[str, Any]) -> dict[str, Any]:
    """The contacts of which a wrench space is made: few enough for it to take no seconds."""
    from softgrasp.quality.grasp_wrench_space import few_contacts

    points, scale = contacts["points"], contacts["torque_scale"]
    kept = few_contacts(points, contacts["normals"], contacts["center"], scale)
    kept_arrays = {name: contacts[name][kept] for name in ("points", "normals", "mu", "torsion")}
    return contacts | kept_arrays


def measures_of(contacts: dict[str, Any]) -> dict[str, Any]:
    """Measures of contacts by name, with their conventions.

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
    few = thinned(contacts)
    space = quality.wrench_space(**few, edges=EDGES)
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
