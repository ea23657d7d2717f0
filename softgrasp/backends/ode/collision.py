"""Contacts of a Webots world in ODE: which geometries touch, where, and with which forces.

``Pairing`` has the rules of Webots about which geometries collide (``WbSimulationCluster``, 2023),
``Materials`` the surface parameters of ContactProperties, and ``Contacts`` makes contact joints in
every step and sums their forces. ODE built without libccd has no collider of capsules with
cylinders; that one is here, by golden-section search along the capsule.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.bindings import NearCallback, Ode
from softgrasp.backends.ode.joints import Joint
from softgrasp.backends.ode.solids import Body, Solid
from softgrasp.backends.wbt.schema import (
    Node,
    Pose,
    number,
    numbers,
    text,
    vector,
)
from softgrasp.errors import SimulationError
from softgrasp.mechanics import Array

MAX_PAIR_CONTACTS = 4096
"""Contact points in the whole world."""
MAX_POINTS = 100
"""Points that are looked for between two geometries, of which the deepest become contacts."""
DEFAULT = Node("ContactProperties")
"""What Webots takes for pairs of materials without an entry: the defaults of the node."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
NARROWINGS = 40
"""Steps of the golden-section search; each leaves 62 % of the interval."""
APART = 1e-3
"""Points closer than this fraction of the capsule's length are one [–]."""


@dataclass(slots=True)
class ContactForce:
    """Contact force on a Solid in the last step."""

    vector: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Force in the world frame, (3,) [N]."""
    normal: float = 0.0
    """Sum of the normal forces of the contact points [N]."""
    friction: float = 0.0
    """Sum of their friction forces [N]."""


class Contacts:
    """All contacts of a world.

    Args:
        ode: Functions of ODE.
        world: ODE's world.
        space: ODE's space with all geometries.
        pairing: Rules about which geometries touch.
    """

    def __init__(self, ode: Ode, world: int, space: int, pairing: Pairing) -> None:
        self._ode, self._world, self._space = ode, world, space
        self._pairing = pairing
        self._pairs: dict[tuple[int, int], Pair | None] = {}
        self._group = ode.JointGroupCreate(0)
        self._candidates = CollisionPoints(ode)
        feedbacks: Any = (bindings.Feedback * MAX_PAIR_CONTACTS)()
        self._feedback_address = ctypes.addressof(feedbacks)
        self._feedback_size = ctypes.sizeof(bindings.Feedback)
        self._feedbacks = np.ndarray((MAX_PAIR_CONTACTS, 16), np.float64, feedbacks)
        self._normals = np.zeros((MAX_PAIR_CONTACTS, 3))
        self._live: list[tuple[Pair, int, int]] = []
        """Touching pairs with the index of their first contact and one past the last."""
        self._forces: dict[tuple[int, str], ContactForce] | None = {}
        self._problem: BaseException | None = None
        self._callback = NearCallback(self._near)

    @property
    def count(self) -> int:
        """Number of contact points."""
        return self._live[-1][2] if self._live else 0

    def find(self) -> None:
        """Create the contacts of the next step at the current poses.

        Raises:
            SimulationError: This build of ODE cannot collide two shapes that are near each other,
                or there are too many points.
        """
        self._ode.JointGroupEmpty(self._group)
        self._live.clear()
        self._forces = None
        self._ode.SpaceCollide(self._space, None, self._callback)
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def force_on(self, solid: Solid, other: str = "") -> ContactForce:
        """Return the contact force on the shapes of a Solid in the last step.

        Args:
            solid: The Solid.
            other: DEF of the only Solid whose contacts count; by default all do.
        """
        if self._forces is None:
            self._forces = self._summed()
        return self._forces.get((id(solid), other)) or ContactForce()

    def _near(self, _: Any, first: int, second: int) -> None:
        if self._problem is not None:
            return
        try:
            key = (first, second)
            if key not in self._pairs:
                self._pairs[key] = self._pairing.pair(first, second)
            pair = self._pairs[key]
            if pair is not None:
                self._collide(pair, first, second)
        except BaseException as error:  # noqa: BLE001 - C cannot pass it on; find() raises it
            self._problem = error

    def _collide(self, pair: Pair, first: int, second: int) -> None:
        ode, candidates = self._ode, self._candidates
        points = candidates.sample(pair, first, second)
        if len(points) == 0:
            return
        begin = self.count
        end = begin + len(points)
        if end > MAX_PAIR_CONTACTS:
            raise SimulationError(
                f"expected at most {MAX_PAIR_CONTACTS} points of contact, found more"
            )
        self._normals[begin:end] = candidates.normals[points, :3]
        self._live.append((pair, begin, end))
        feedback = self._feedback_address + begin * self._feedback_size
        for index in points:
            joint = ode.JointCreateContact(self._world, self._group, candidates.address(index))
            ode.JointAttach(joint, *pair.bodies)
            ode.JointSetFeedback(joint, feedback)
            feedback += self._feedback_size

    def _summed(self) -> dict[tuple[int, str], ContactForce]:
        forces: dict[tuple[int, str], ContactForce] = {}
        number = self.count
        on_first = self._feedbacks[:number, :3].astype(float)
        along = (on_first * self._normals[:number]).sum(axis=1)
        across = np.linalg.norm(on_first - along[:, None] * self._normals[:number], axis=1)
        along = np.abs(along)
        for pair, begin, end in self._live:
            x, y, z = on_first[begin:end].sum(axis=0).tolist()
            normal, friction = float(along[begin:end].sum()), float(across[begin:end].sum())
            both = ((pair.first, pair.second, 1.0), (pair.second, pair.first, -1.0))
            for solid, other, sign in both:
                for name in {"", other.node.name}:
                    force = forces.setdefault((id(solid), name), ContactForce())
                    a, b, c = force.vector
                    force.vector = (a + sign * x, b + sign * y, c + sign * z)
                    force.normal += normal
                    force.friction += friction
        return forces


# Points of one pair of geometries


class CollisionPoints:
    """Buffer for the contact points of one pair of geometries."""

    def __init__(self, ode: Ode) -> None:
        self._ode = ode
        contact: Any = bindings.Contact
        geom: Any = bindings.ContactGeom
        points = self._points = (contact * MAX_POINTS)()
        self._size = ctypes.sizeof(contact)
        self._start = ctypes.addressof(points)
        self._geoms = self._start + contact.geom.offset

        def view(offset: int, width: int, kind: Any) -> Any:
            """One field of all points as an array."""
            item = np.dtype(kind).itemsize
            return np.ndarray((MAX_POINTS, width), kind, points, offset, (self._size, item))

        inside = contact.geom.offset
        self.normals = view(inside + geom.normal.offset, 3, np.float64)
        """(100, 3), pointing into the first body."""
        self._positions = view(inside + geom.pos.offset, 3, np.float64)
        self._depths = view(inside + geom.depth.offset, 1, np.float64)[:, 0]
        self._surfaces = view(0, ctypes.sizeof(bindings.Surface), np.uint8)

    def address(self, index: int) -> int:
        """Return the memory address of a point in the buffer, as dContact."""
        return self._start + index * self._size

    def sample(self, pair: Pair, first: int, second: int) -> Sequence[int]:
        """Find the contact points of two geometries.

        Args:
            pair: Parameters of their contact.
            first: One geometry, in ODE's order.
            second: The other one.

        Returns:
            Indices of the points to use; of too many the deepest.
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
        of_capsule = _sizes(self._ode.GeomCapsuleGetParams, capsule)
        of_cylinder = _sizes(self._ode.GeomCylinderGetParams, cylinder)
        points = touching(self._pose(capsule), of_capsule, self._pose(cylinder), of_cylinder)
        for index, point in enumerate(points):
            self.normals[index] = point.normal if capsule_first else -point.normal
            self._positions[index] = point.position
            self._depths[index] = point.depth
        return len(points)

    def _pose(self, geometry: int) -> Pose:
        rows = np.array(self._ode.GeomGetRotation(geometry)[0:12]).reshape(3, 4)
        return Pose(rows[:, :3], np.array(self._ode.GeomGetPosition(geometry)[0:3]))


def _sizes(read: Callable[..., None], geometry: int) -> tuple[float, float]:
    """Read radius and length of a geometry [m]."""
    radius, length = bindings.Real(), bindings.Real()
    read(geometry, ctypes.addressof(radius), ctypes.addressof(length))
    return float(radius.value), float(length.value)


@dataclass(slots=True)
class Pair:
    """Contact parameters of two geometries, of which the first one's Solid has a rigid body."""

    surface: NDArray[np.uint8]
    """dSurfaceParameters as bytes."""
    max_contacts: int
    first: Solid
    second: Solid
    bodies: tuple[int, int | None]
    """Handles; None of a static Solid, which is the second."""
    flipped: bool
    """Whether the first Solid is the second one in ODE's order."""
    round: tuple[int, int] | None = None
    """A capsule and a cylinder that this build of ODE cannot collide."""


class Pairing:
    """Rules of Webots' ``WbSimulationCluster`` (2023) that decide which geometries can touch.

    Args:
        ode: Functions of ODE.
        owners: Solid of each geometry, by its handle.
        joints: All joints; the bodies that they connect do not collide.
        materials: Contact parameters of pairs of materials.
    """

    def __init__(
        self, ode: Ode, owners: dict[int, Solid], joints: Iterable[Joint], materials: Materials
    ) -> None:
        self._ode, self._owners, self._materials = ode, owners, materials
        self._has_libccd = any("libccd" in word for word in ode.library.configuration)
        self._jointed: set[tuple[Body | None, Body | None]] = set()
        for joint in joints:
            pair = (joint.parent.body, joint.child.body)
            self._jointed |= {pair, pair[::-1]}

    def pair(self, item: int, two: int) -> Pair | None:
        """Return the contact parameters of two geometries; None where they cannot collide."""
        first, second = self._owners[item], self._owners[two]
        bodies = first.body, second.body
        if bodies[0] is bodies[1] or bodies in self._jointed:
            # static bodies are None: a body with a joint to one of them collides with none
            return None
        robot = first.robot
        if robot is not None and robot is second.robot:
            return None
        rounded = self._rounded(item, two)
        surface_struct, max_contacts = self._materials.between(first.node, second.node)
        surface = np.frombuffer(bytes(surface_struct), dtype=np.uint8)
        flipped = bodies[0] is None
        if flipped:
            first, second = second, first
        assert first.body is not None  # two static Solids have one body, None
        handles = first.body.handle, second.body.handle if second.body else None
        return Pair(surface, max_contacts, first, second, handles, flipped, rounded)

    def _rounded(self, first: int, second: int) -> tuple[int, int] | None:
        """Return a capsule and a cylinder in this order where ODE has no collider for the pair.

        Built without libccd it has none of cylinders with each other and with capsules, and does
        not report it.
        """
        classes = [self._ode.GeomGetClass(geometry) for geometry in (first, second)]
        kinds = {bindings.CYLINDER_CLASS, *classes} - {bindings.CAPSULE_CLASS}
        if bindings.CYLINDER_CLASS not in classes or len(kinds) > 1 or self._has_libccd:
            return None
        if bindings.CAPSULE_CLASS in classes:
            return (first, second) if classes[0] == bindings.CAPSULE_CLASS else (second, first)
        names = " and ".join(sorted(self._owners[geometry].name for geometry in (first, second)))
        raise SimulationError(
            f"Solids {names}: this build of ODE cannot collide a cylinder with a cylinder, as "
            "Webots can; use another shape for one of them"
        )


# Materials


class Materials:
    """ContactProperties of a world as surface parameters of ODE.

    Args:
        properties: Nodes in the order of the file; the first of a pair counts, as in Webots.
    """

    def __init__(self, properties: Iterable[Node]) -> None:
        self._known: dict[tuple[str, str], Node] = {}
        for node in properties:
            pair = (text(node, "material1"), text(node, "material2"))
            for names in (pair, pair[::-1]):
                self._known.setdefault(names, node)

    def between(self, first: Node, second: Node) -> tuple[Any, int]:
        """Return the surface parameters of two Solids and their largest number of contact points.

        Of several friction coefficients, which Webots uses for directions of textures, the first
        counts.
        """
        pair = (text(first, "contactMaterial"), text(second, "contactMaterial"))
        node = self._known.get(pair, DEFAULT)
        return _surface(node), int(number(node, "maxContactJoints")) or 10


def _surface(node: Node) -> Any:
    """Return the surface parameters of ContactProperties."""
    surface: Any = bindings.Surface()
    surface.mode = bindings.APPROX_1 | bindings.SOFT_CFM | bindings.SOFT_ERP
    # the second one counts where axes differ, if only in their rolling friction
    surface.mu = surface.mu2 = _or_infinity(numbers(node, "coulombFriction")[0])
    surface.bounce = number(node, "bounce")
    surface.bounce_vel = number(node, "bounceVelocity")
    surface.soft_erp, surface.soft_cfm = number(node, "softERP"), number(node, "softCFM")
    rolling = [_or_infinity(value) for value in vector(node, "rollingFriction")]
    surface.rho, surface.rho2, surface.rhoN = rolling
    if surface.bounce != 0.0:
        surface.mode |= bindings.BOUNCE
    if any(value > 0.0 for value in rolling):
        surface.mode |= bindings.ROLLING
        if any(value > 0.0 for value in rolling[1:]):
            surface.mode |= bindings.AXIS_DEPENDENT
    return surface


def _or_infinity(value: float) -> float:
    return bindings.INFINITY if value == -1.0 else value


# Capsule against cylinder, which ODE has only when built with libccd


class Point(NamedTuple):
    """A contact point: position, normal and depth in the world frame."""

    position: Array
    """(3,) in the middle of the overlap [m]."""
    normal: Array
    """(3,) unit vector out of the cylinder, towards the capsule."""
    depth: float
    """Depth [m]."""


def touching(
    capsule: Pose, capsule_size: tuple[float, float], cylinder: Pose, size: tuple[float, float]
) -> list[Point]:
    """Find contact points of a capsule and a cylinder: the deepest one and those at line ends.

    The signed distance to a convex body is convex along a line, so that the deepest point of the
    capsule's axis is found by golden-section search.

    Args:
        capsule: Frame of the capsule, with its axis along z.
        capsule_size: Its radius and the length of its axis [m].
        cylinder: Frame of the cylinder, with its axis along z.
        size: Its radius and height [m].

    Returns:
        At most three points; none without overlap.
    """
    radius, length = capsule_size
    relative = capsule.inside(cylinder)
    middle, axis = relative.position.tolist(), (relative.rotation[:, 2] * length).tolist()
    if math.hypot(*middle) > length / 2.0 + radius + math.hypot(size[0], size[1] / 2.0):
        return []

    def at(fraction: float) -> list[float]:
        return [m + (fraction - 0.5) * a for m, a in zip(middle, axis, strict=True)]

    def depth(fraction: float) -> float:
        return radius - _outside(at(fraction), size)[0]

    deepest = _largest(depth)
    line_ends = (0.0, 1.0, *_crossings(middle, axis, size))
    ends = [fraction for fraction in line_ends if depth(fraction) > 0.0]
    outermost = dict.fromkeys([min(ends), max(ends)] if ends else [])
    chosen = [deepest] if depth(deepest) > 0.0 else []
    chosen += [end for end in outermost if abs(end - deepest) > APART]
    points = []
    for fraction in chosen:
        distance, normal = _outside(at(fraction), size)
        overlap = radius - distance
        inside = np.array(at(fraction)) - (radius - overlap / 2.0) * np.array(normal)
        points.append(Point(cylinder.apply(inside), cylinder.rotation @ normal, overlap))
    return points


def _outside(point: list[float], size: tuple[float, float]) -> tuple[float, list[float]]:
    """Return the signed distance of a point from a cylinder about z, and its gradient."""
    x, y, z = point
    ring = math.hypot(x, y)
    out, up = ring - size[0], abs(z) - size[1] / 2.0
    radial = [x / ring, y / ring] if ring > 0.0 else [1.0, 0.0]
    side = math.copysign(1.0, z)
    if out > 0.0 and up > 0.0:
        distance = math.hypot(out, up)
        out, up = out / distance, up / distance
        return distance, [radial[0] * out, radial[1] * out, side * up]
    if out > up:
        return out, [*radial, 0.0]
    return up, [0.0, 0.0, side]


def _largest(depth: Callable[[float], float]) -> float:
    """Return the argument in 0 … 1 at which a concave function is largest."""
    low, high = 0.0, 1.0
    for _ in range(NARROWINGS):
        width = GOLDEN * (high - low)
        if depth(high - width) >= depth(low + width):
            high = low + width
        else:
            low = high - width
    return (low + high) / 2.0


def _crossings(middle: list[float], axis: list[float], size: tuple[float, float]) -> list[float]:
    """Return where the axis of the capsule crosses the end planes and the lateral surface."""
    fractions = []
    if axis[2] != 0.0:
        fractions = [0.5 + (side * size[1] / 2.0 - middle[2]) / axis[2] for side in (1.0, -1.0)]
    a = axis[0] ** 2 + axis[1] ** 2
    b = middle[0] * axis[0] + middle[1] * axis[1]
    inside = b * b - a * (middle[0] ** 2 + middle[1] ** 2 - size[0] ** 2)
    if a > 0.0 and inside > 0.0:
        fractions += [0.5 + (-b + side * math.sqrt(inside)) / a for side in (1.0, -1.0)]
    return [fraction for fraction in fractions if 0.0 < fraction < 1.0]
