"""Which geometries touch each other in Webots, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import SimulationError
from softgrasp.simulation.ode import structs
from softgrasp.simulation.ode.binding import Ode
from softgrasp.simulation.ode.joint import Joint, anchor_of
from softgrasp.simulation.ode.materials import Materials
from softgrasp.simulation.ode.solids import Body, Solid


@dataclass(slots=True)
class Pair:
    """How two geometries touch; the first Solid has a body."""

    surface: NDArray[np.uint8]
    """The bytes of ODE's structure."""
    max_contacts: int
    first: Solid
    second: Solid
    bodies: tuple[int, int | None]
    flipped: bool
    both: tuple[int, ...]
    round: tuple[int, int] | None = None
    """A capsule and a cylinder that this build of ODE cannot collide."""


class Pairing:
    """The rules of Webots' ``WbSimulationCluster`` (2023) about which geometries touch.

    Args:
        ode: The functions.
        owners: Solid of each geometry, by its handle.
        joints: All joints; what they connect does not collide.
        materials: How pairs of materials touch.
    """

    def __init__(
        self, ode: Ode, owners: dict[int, Solid], joints: Iterable[Joint], materials: Materials
    ) -> None:
        self._ode, self._owners, self._materials = ode, owners, materials
        self._jointed: set[tuple[Body | None, Body | None]] = set()
        for joint in joints:
            pair = (joint.parent.body, joint.child.body)
            self._jointed |= {pair, pair[::-1]}

    def pair(self, one: int, two: int) -> Pair | None:
        """How two geometries touch; None where Webots lets them pass through each other."""
        first, second = self._owners[one], self._owners[two]
        bodies = first.body, second.body
        if bodies[0] is bodies[1] or bodies in self._jointed:
            # standing bodies are None: a body with a joint to one of them meets none of them
            return None
        robot = first.robot
        if robot is not None and robot is second.robot and not robot.self_collision:
            return None
        if bodies[0] is not None and bodies[1] is not None:
            deep, high = sorted((first, second), key=_level, reverse=True)
            if same_anchor_chain(deep, high):
                return None
        rounded = self._rounded(one, two)
        surface_struct, max_contacts = self._materials.between(first.node, second.node)
        surface = np.frombuffer(bytes(surface_struct), dtype=np.uint8)
        handles = tuple(body.handle for body in bodies if body is not None)
        flipped = bodies[0] is None
        if flipped:
            first, second = second, first
        attached = (handles[0], handles[1] if len(handles) == 2 else None)
        return Pair(surface, max_contacts, first, second, attached, flipped, handles, rounded)

    def _rounded(self, one: int, two: int) -> tuple[int, int] | None:
        """A capsule and a cylinder, in this order, where ODE has no collider for them.

        Built without libccd it has none for cylinders with each other and with capsules, and lets
        them pass through without a word.
        """
        classes = [self._ode.GeomGetClass(geometry) for geometry in (one, two)]
        kinds = {structs.CYLINDER_CLASS, *classes} - {structs.CAPSULE_CLASS}
        if structs.CYLINDER_CLASS not in classes or len(kinds) > 1 or _has_libccd(self._ode):
            return None
        if structs.CAPSULE_CLASS in classes:
            return (one, two) if classes[0] == structs.CAPSULE_CLASS else (two, one)
        names = " and ".join(sorted(self._owners[geometry].name for geometry in (one, two)))
        raise SimulationError(
            f"Solids {names}: this build of ODE cannot collide a cylinder with a cylinder, as "
            "Webots can; take another shape for one of them"
        )


def same_anchor_chain(child: Solid, ancestor: Solid) -> bool:
    """Whether hinges with the same anchor numbers lie between two Solids, the child deeper.

    Webots lets such bodies pass through one another. It compares the numbers of the fields, which
    belong to different frames, so that a chain of equal links can be taken for one.
    """
    first: tuple[float, ...] | None = None
    at: Solid | None = child
    while at is not None:
        if at.body is ancestor.body and first is not None:
            return True
        if at.joint is not None and at.joint.node.type == "HingeJoint":
            anchor = anchor_of(at.joint.node)
            if first is None:
                first = anchor
            elif not np.allclose(first, anchor, rtol=0.0, atol=1e-9):
                return False
        at = at.parent
    return False


def _level(solid: Solid) -> int:
    return 0 if solid.parent is None else 1 + _level(solid.parent)


def _has_libccd(ode: Ode) -> bool:
    return any("libccd" in word for word in ode.library.configuration)
