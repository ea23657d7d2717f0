"""Points at which two geometries touch, as ODE's structures that are used again and again."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from softgrasp.simulation.ode.binding import Ode
from softgrasp.simulation.ode.capsule_cylinder import touching
from softgrasp.simulation.ode.pairs import Pair
from softgrasp.simulation.ode.poses import Pose

MAX_POINTS = 100
"""Points that are looked for between two geometries, of which the deepest become contacts."""


class CollisionPoints:
    """Room for the points of one pair of geometries.

    Args:
        ode: The functions.
    """

    def __init__(self, ode: Ode) -> None:
        self._ode = ode
        contact, geom = ode.types.Contact, ode.types.ContactGeom
        points = self._points = (contact * MAX_POINTS)()
        self._size = ctypes.sizeof(contact)
        self._start = ctypes.addressof(points)
        self._geoms = self._start + contact.geom.offset

        def view(offset: int, width: int, kind: Any) -> Any:
            """One field of all points as an array."""
            item = np.dtype(kind).itemsize
            return np.ndarray((MAX_POINTS, width), kind, points, offset, (self._size, item))

        inside = contact.geom.offset
        self.normals = view(inside + geom.normal.offset, 3, ode.number)
        """(100, 3), into the body that comes first."""
        self._positions = view(inside + geom.pos.offset, 3, ode.number)
        self._depths = view(inside + geom.depth.offset, 1, ode.number)[:, 0]
        self._surfaces = view(0, ctypes.sizeof(ode.types.Surface), np.uint8)

    def address(self, index: int) -> int:
        """Where ODE finds a point as a dContact."""
        return self._start + index * self._size

    def sample(self, pair: Pair, first: int, second: int) -> Sequence[int]:
        """Find the points of two geometries, ready to become contacts.

        Args:
            pair: How they touch.
            first: One geometry, in ODE's order.
            second: The other one.

        Returns:
            Which of the points to take: of too many the deepest.
        """
        if pair.round is not None:
            number = self._sample_rounded(*pair.round, first == pair.round[0])
        else:
            number = self._ode.Collide(first, second, MAX_POINTS, self._geoms, self._size)
        if number == 0:
            return ()
        if pair.flipped:
            self.normals[:number] *= -1.0
        self._surfaces[:number] = pair.surface
        if number <= pair.max_contacts:
            return range(number)
        deepest: list[int] = np.argsort(-self._depths[:number], kind="stable").tolist()
        return deepest[: pair.max_contacts]

    def _sample_rounded(self, capsule: int, cylinder: int, capsule_first: bool) -> int:
        ode = self._ode
        sizes = []
        for handle, read in (
            (capsule, ode.GeomCapsuleGetParams),
            (cylinder, ode.GeomCylinderGetParams),
        ):
            radius, length = ode.types.real(), ode.types.real()
            read(handle, ctypes.addressof(radius), ctypes.addressof(length))
            sizes.append((float(radius.value), float(length.value)))
        points = touching(self._pose(capsule), sizes[0], self._pose(cylinder), sizes[1])
        for index, point in enumerate(points):
            self.normals[index] = point.normal if capsule_first else -point.normal
            self._positions[index] = point.position
            self._depths[index] = point.depth
        return len(points)

    def _pose(self, geometry: int) -> Pose:
        rows = np.array(self._ode.GeomGetRotation(geometry)[0:12]).reshape(3, 4)
        return Pose(rows[:, :3], np.array(self._ode.GeomGetPosition(geometry)[0:3]))
