"""Suction cups in a running model: when they seal, how they hold, and when they break away.

The contacts of the lip carry shear, moment and torsion, and suction presses the lip on the object:
MuJoCo's adhesion actuator pulls with pressure times area, and its activation is the pressure. A
cup holds as long as its lip is closed: no constraint joins it to the object.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.base import Description
from softgrasp.description.contact import LIP_POINTS, SuctionCup, adhesion_actuator
from softgrasp.mechanics.suction import LipLoad, LoadLimit, is_blocked, lip_points, lip_strain
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import CompiledScene
from softgrasp.model.shapes import TOUCHING_GROUPS

USED_UP = 0.9
"""Fraction of a limit from which it is the cause of a break; below it the lip leaks."""
MAX_SLIDE = 0.2
"""Displacement of a sealed lip along the surface, over its radius, at which the seal breaks [–]."""
MIN_EVENNESS = 0.1
"""Smallest length of the mean of the contact normals that counts [–]."""
VENTED = 0.01
"""Target over largest pressure below which a cup is vented [–]."""
GROUPS = np.array([group in TOUCHING_GROUPS for group in range(6)], dtype=np.uint8)
SavedSeals = tuple[tuple[int, Array], ...]
"""For each cup the body on which it is sealed, −1 for none, and a point of its lip there."""
Cause = LoadLimit | Literal["", "leak", "vented"]


class SuctionEvent(Description):
    """A cup has sealed or has broken away."""

    time_s: float
    cup: str
    """Body of the lip."""
    kind: Literal["sealed", "broken away"]
    object: str
    """Body on which it sealed."""
    cause: Cause = ""
    """Limit that the load reached; ``leak`` where the lip opened below all of them."""
    pressure_Pa: float
    pull_N: float
    """Force that pulled the object off the cup."""
    shear_N: float
    moment_Nm: float


class _Contacts(NamedTuple):
    """Contacts of a lip with the body that it touches most."""

    body: int
    """The body; −1 without contacts."""
    closed: int
    """Balls of the lip that touch it, or are within its reach."""
    load: LipLoad
    friction: float
    evenness: float
    """Length of the mean of the contact normals, 1 on a plane [–]."""


class Cup:
    """One suction cup of a model."""

    def __init__(self, model: mujoco.MjModel, body: str, cup: SuctionCup) -> None:
        """Look up addresses.

        Args:
            model: The compiled scene.
            body: Body of the lip.
            cup: The cup.
        """
        self.model, self.name, self.cup = model, body, cup
        self.body = int(model.body(body).id)
        actuator = model.actuator(adhesion_actuator(body, cup).name)
        self.actuator, self._activation = int(actuator.id), int(actuator.actadr[0])
        self.sealed_on = -1
        """Body on which the cup is sealed; −1 where it is open."""
        self.spot = np.zeros(3)
        """Point of the lip in the frame of that body when it sealed [m]."""
        self._load = LipLoad(0.0, 0.0, 0.0, 0.0, 0.0)
        self._usage = self._load.usage(0.0, cup.radius)
        end = int(model.body_geomadr[self.body] + model.body_geomnum[self.body])
        self._lip = range(end - LIP_POINTS, end)
        rings = lip_points(cup.radius, LIP_POINTS)
        back = np.full((*rings.shape[:2], 1), -2.0 * cup.depth)
        self._ray_starts = np.concatenate([rings, back], axis=2) + np.array(cup.position)

    def pressure(self, data: mujoco.MjData) -> float:
        """Return the difference of pressure [Pa]."""
        index = self._activation
        return float(data.act[index] if index >= 0 else data.ctrl[self.actuator])

    def update(self, data: mujoco.MjData, time: float) -> SuctionEvent | None:
        """Seal or break the cup by the state of the last step; return the change.

        Args:
            data: The state.
            time: Time of the sample [s].
        """
        target, event = float(data.ctrl[self.actuator]), None
        touching = self._contacts(data)
        if self.sealed_on >= 0:
            cause = self._broken_by(data, touching, target)
            if cause:
                event = self._event(time, "broken away", data, cause)
                self.sealed_on = -1
        elif target > VENTED * self.cup.pressure and self._seals(data, touching):
            self.sealed_on, self.spot = touching.body, self._edge(data, touching.body)
            self._load = touching.load
            event = self._event(time, "sealed", data, "")
        if self.sealed_on < 0:
            return event
        self._load = touching.load
        limits = (touching.friction, self.cup.radius, self.cup.moment_limit)
        self._usage = touching.load.usage(*limits)
        # so that the resultant is pressure times area also on a curved surface
        self.model.actuator_gainprm[self.actuator, 0] = self.cup.area / touching.evenness
        return event

    def _broken_by(self, data: mujoco.MjData, touching: _Contacts, target: float) -> Cause:
        """Return the cause for which a sealed cup breaks now; empty where it holds."""
        limit = self.cup.moment_limit
        if touching.body == self.sealed_on and touching.closed == LIP_POINTS:
            slide = self._edge(data, self.sealed_on) - self.spot
            if np.linalg.norm(slide) > MAX_SLIDE * self.cup.radius:
                return "torsion" if self._usage["torsion"] > self._usage["shear"] else "shear"
            return "moment" if limit is not None and touching.load.moment > limit else ""
        if target <= VENTED * self.cup.pressure:
            return "vented"
        cause, used = max(self._usage.items(), key=lambda item: item[1])
        return cause if used >= USED_UP else "leak"

    def _event(
        self, time: float, kind: Literal["sealed", "broken away"], data: mujoco.MjData, cause: Cause
    ) -> SuctionEvent:
        return SuctionEvent(
            time_s=time,
            cup=self.name,
            kind=kind,
            object=self.model.body(self.sealed_on).name,
            cause=cause,
            pressure_Pa=self.pressure(data),
            pull_N=self._load.pull,
            shear_N=self._load.shear,
            moment_Nm=self._load.moment,
        )

    def _edge(self, data: mujoco.MjData, body: int) -> Array:
        """Return a point of the lip in the frame of a body, (3,) [m]."""
        edge = np.add(self.cup.position, (self.cup.radius, 0.0, 0.0))
        world = data.xpos[self.body] + data.xmat[self.body].reshape(3, 3) @ edge
        return np.asarray((world - data.xpos[body]) @ data.xmat[body].reshape(3, 3))

    def _contacts(self, data: mujoco.MjData) -> _Contacts:
        """Read the contacts of the lip with the body that it touches most."""
        center = data.xpos[self.body] + data.xmat[self.body].reshape(3, 3) @ self.cup.position
        owners, pairs = self.model.geom_bodyid, data.contact.geom
        bodies = owners[pairs] if len(pairs) else np.zeros((0, 2), dtype=int)
        mine = np.flatnonzero((bodies == self.body).any(axis=1))
        others = np.where(bodies[mine, 0] == self.body, bodies[mine, 1], bodies[mine, 0])
        suction, force = self.pressure(data) * self.cup.area, np.zeros(6)
        if not len(mine):
            return _Contacts(-1, 0, LipLoad(suction, 0.0, 0.0, 0.0, 0.0), 0.0, 1.0)
        body = int(np.bincount(others).argmax())
        total, moment, normals, friction = np.zeros(3), np.zeros(3), np.zeros(3), 0.0
        chosen = mine[others == body]
        for index in chosen.tolist():
            contact = data.contact[index]
            mujoco.mj_contactForce(self.model, data, index, force)
            sign = 1.0 if bodies[index, 0] == self.body else -1.0  # force on the other body
            world = sign * force[:3] @ contact.frame.reshape(3, 3)
            total += world
            moment += np.cross(contact.pos - center, world)
            normals += sign * contact.frame[:3] / len(chosen)
            friction += float(contact.friction[0]) / len(chosen)
        evenness = float(np.linalg.norm(normals))
        axis = normals / max(evenness, MIN_EVENNESS)
        along, torsion = float(total @ axis), float(moment @ axis)
        load = LipLoad(
            suction,
            along,
            float(np.linalg.norm(total - along * axis)),
            float(np.linalg.norm(moment - torsion * axis)),
            torsion,
        )
        count = sum(bool((pairs[chosen] == ball).any()) for ball in self._lip)
        return _Contacts(body, count, load, friction, max(evenness, MIN_EVENNESS))

    def _seals(self, data: mujoco.MjData, touching: _Contacts) -> bool:
        """Return whether the lip seals on the body that it touches."""
        if touching.closed < LIP_POINTS:
            return False
        frame, cup = data.xmat[self.body].reshape(3, 3), self.cup
        starts = data.xpos[self.body] + self._ray_starts @ frame.T
        depths, geom = np.zeros(starts.shape[:2]), np.zeros(1, dtype=np.int32)
        for ring, point in np.ndindex(*depths.shape):
            start, axis = starts[ring, point], np.ascontiguousarray(frame[:, 2])
            away = mujoco.mj_ray(self.model, data, start, axis, GROUPS, 1, self.body, geom)
            if away < 0.0 or int(self.model.geom_bodyid[geom[0]]) != touching.body:
                return False
            depths[ring, point] = away - 2.0 * cup.depth
        strain = lip_strain(depths[0], cup.radius, cup.depth)
        return strain <= cup.max_strain and not is_blocked(depths, cup.depth)


class Suction:
    """All suction cups of a model, their pressures and events."""

    def __init__(self, built: CompiledScene) -> None:
        """Begin with open cups.

        Args:
            built: The scene.
        """
        model, parts = built.model, built.scene.hand.adhesions
        self.cups = [Cup(model, body, item) for body, item in parts if isinstance(item, SuctionCup)]
        self.events: list[SuctionEvent] = []
        """Seals and breaks so far."""
        self._period = built.scene.control_period
        self._restored = False
        """Whether the contacts are not those of the state, until its next step."""
        self._pressures: list[list[float]] = []

    @classmethod
    def of(cls, built: CompiledScene) -> Suction | None:
        """Return the cups of a scene; None where it has none."""
        suction = cls(built)
        return suction if suction.cups else None

    def update(self, row: int, data: mujoco.MjData) -> None:
        """Update all cups before the physics steps of a sample, and record their pressures.

        Args:
            row: Row of the sample.
            data: The state; controls of open cups are set to zero.
        """
        for cup in self.cups:
            event = None if self._restored else cup.update(data, row * self._period)
            self.events += [] if event is None else [event]
            if cup.sealed_on < 0:
                data.ctrl[cup.actuator] = 0.0
        self._restored = False
        pressures = [cup.pressure(data) for cup in self.cups]
        self._pressures[row:] = [pressures] * (row + 1 - min(len(self._pressures), row))

    def recorded(self, rows: int) -> Array:
        """Return the difference of pressure of each cup in the first rows, (T, nc) [Pa]."""
        filled = [*self._pressures[:rows], *[[0.0] * len(self.cups)] * rows][:rows]
        return np.array(filled)

    def saved(self) -> SavedSeals:
        """Return on which body each cup is sealed, and where."""
        return tuple((cup.sealed_on, cup.spot) for cup in self.cups)

    def put_back(self, saved: SavedSeals) -> None:
        """Restore seals; events are kept."""
        for cup, (body, spot) in zip(self.cups, saved, strict=True):
            cup.sealed_on, cup.spot = body, spot
        self._restored = True
