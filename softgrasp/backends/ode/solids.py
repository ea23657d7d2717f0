"""Solids of a Webots world as rigid bodies and geometries of ODE.

``Tree`` merges Solids into bodies by the rules of Webots; ``Geometries`` creates their shapes in
ODE. Masses are those of Physics nodes with full inertia.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from softgrasp.backends.ode.bindings import Ode
from softgrasp.backends.wbt.schema import (
    IDENTITY,
    JOINTS,
    SOLIDS,
    Mass,
    Node,
    Pose,
    integers,
    number,
    pose_of,
    symmetric,
    text,
    together,
    vector,
    vectors,
)
from softgrasp.description import Capsule, Cuboid, Cylinder, Sphere
from softgrasp.errors import SimulationError
from softgrasp.io import Triangles

FRAMES = ("Group", "Pose", "Transform")


# Geometries


class Geometries:
    """All ODE collision geometries of a world."""

    def __init__(self, ode: Ode, space: int, solids: list[Solid]) -> None:
        self._ode, self._space = ode, space
        self._kept: list[Any] = []
        self.owners: dict[int, Solid] = {}
        """Solid of each geometry, by its handle."""
        robots = dict.fromkeys(id(solid.robot) for solid in solids if solid.robot)
        bits = {key: 1 << (1 + index % 30) for index, key in enumerate(robots)}
        for solid in solids:
            for shape in solid.shapes:
                handle = self._create(solid, shape)
                self.owners[handle] = solid
                # exclude collisions among parts of one Robot; ``Pairing`` decides all others
                if len(bits) <= 30:
                    bit = bits.get(id(solid.robot), 1)
                    ode.GeomSetCategoryBits(handle, bit)
                    ode.GeomSetCollideBits(handle, 0xFFFFFFFF ^ (bit & ~1))

    def _create(self, solid: Solid, shape: Shape) -> int:
        ode, space = self._ode, self._space
        handle: int
        match shape.form:
            case None:
                return self._plane(solid, shape)
            case Cuboid(size=size):
                handle = ode.CreateBox(space, *size)
            case Sphere(radius=radius):
                handle = ode.CreateSphere(space, radius)
            case Capsule(radius=radius, length=length):
                handle = ode.CreateCapsule(space, radius, length)
            case Cylinder(radius=radius, height=height):
                handle = ode.CreateCylinder(space, radius, height)
            case vertices, faces:
                handle = self._surface(vertices, faces)
        self._set_pose(handle, solid, shape)
        return handle

    def _set_pose(self, handle: int, solid: Solid, shape: Shape) -> None:
        ode = self._ode
        if solid.body is None:
            pose = solid.start @ shape.pose
            ode.GeomSetPosition(handle, *pose.position)
            ode.GeomSetRotation(handle, ode.matrix3(pose.rotation))
            return
        pose = solid.in_body @ shape.pose
        ode.GeomSetBody(handle, solid.body.handle)
        # the frame of ODE's body is at the centre of mass
        ode.GeomSetOffsetPosition(handle, *(pose.position - solid.body.weight().center))
        ode.GeomSetOffsetRotation(handle, ode.matrix3(pose.rotation))

    def _plane(self, solid: Solid, shape: Shape) -> int:
        """Create a half space; the size of a plane in Webots is visual only."""
        if solid.body is not None:
            raise SimulationError(f"Solid {solid.name}: a Plane cannot move; expected no Physics")
        pose: Pose = solid.start @ shape.pose
        normal = pose.rotation[:, 2]
        handle: int = self._ode.CreatePlane(self._space, *normal, float(normal @ pose.position))
        return handle

    def _surface(self, vertices: Any, faces: Any) -> int:
        """Create a triangle mesh; ODE reads the arrays in every collision, so they are kept."""
        ode = self._ode
        points = np.ascontiguousarray(vertices, dtype=np.float64)
        corners = np.ascontiguousarray(faces, dtype=np.uint32)
        data = ode.GeomTriMeshDataCreate()
        ode.GeomTriMeshDataBuildDouble(
            data,
            points.ctypes.data,
            points.strides[0],
            len(points),
            corners.ctypes.data,
            corners.size,
            corners.strides[0],
        )
        self._kept += [points, corners]
        handle: int = ode.CreateTriMesh(self._space, data, None, None, None)
        return handle


# Shapes of bounding objects


class Shape(NamedTuple):
    """A shape of a bounding object in the frame of its Solid."""

    form: Cuboid | Sphere | Capsule | Cylinder | Triangles | None
    """None of a plane."""
    pose: Pose


def frame_of(node: Node) -> Pose:
    """Return the pose of a node (Group, Pose, Transform or Solid) in its parent."""
    if node.type == "Group":
        return IDENTITY
    return pose_of(vector(node, "translation"), vector(node, "rotation"))


def bounding_shapes(node: Node | None, pose: Pose = IDENTITY) -> Iterator[Shape]:
    """Iterate over the shapes of a bounding object; None has no shapes.

    Args:
        node: The bounding object.
        pose: Its pose in the Solid.

    Raises:
        SimulationError: A node is not supported.
    """
    if node is None:
        return
    if node.type in FRAMES:
        inner = pose @ frame_of(node)
        for child in node.nodes("children"):
            yield from bounding_shapes(child, inner)
    elif node.type == "Shape":
        yield from bounding_shapes(node.node("geometry"), pose)
    else:
        yield _shape(node, pose)


def _shape(node: Node, pose: Pose) -> Shape:
    match node.type:
        case "Box":
            x, y, z = vector(node, "size")
            return Shape(Cuboid(size=(x, y, z)), pose)
        case "Sphere":
            return Shape(Sphere(radius=number(node, "radius")), pose)
        case "Capsule":
            radius, height = number(node, "radius"), number(node, "height")
            return Shape(Capsule(radius=radius, length=height), pose)
        case "Cylinder":
            radius, height = number(node, "radius"), number(node, "height")
            return Shape(Cylinder(radius=radius, height=height), pose)
        case "Plane":
            return Shape(None, pose)
        case "IndexedFaceSet":
            return Shape(_face_set(node), pose)
    raise SimulationError(f"line {node.line}: a {node.type} as bounding object is not supported")


def _face_set(node: Node) -> Triangles:
    """Return vertices and triangles."""
    coordinates, indices = node.node("coord"), integers(node, "coordIndex")
    points = np.array(vectors(coordinates, "point") if coordinates else [], dtype=float)
    faces = np.array(indices if len(indices) % 4 == 0 else [], dtype=int).reshape(-1, 4)
    if not len(faces) or (faces[:, 3] != -1).any() or (faces[:, :3] < 0).any():
        raise SimulationError(f"line {node.line}: expected triangles, each followed by -1")
    return points.reshape(-1, 3), faces[:, :3]


# Masses


@dataclass(eq=False, slots=True)
class Body:
    """A rigid body: a Solid with Physics and those directly inside it without a joint."""

    root: Solid
    parts: list[Mass] = field(default_factory=list)
    """Masses in the frame of the root."""
    handle: int = 0
    """Handle in ODE."""
    total: Mass | None = None
    """Sum of the parts, computed on first use."""

    def weight(self) -> Mass:
        """Return the total mass properties in the frame of the body's root Solid."""
        if self.total is None:
            self.total = together(self.parts)
        return self.total


@dataclass(eq=False, slots=True)
class Solid:
    """A Solid, Robot or TouchSensor at its start pose."""

    node: Node
    start: Pose
    """Start pose in the world."""
    parent: Solid | None
    robot: Solid | None
    """Outermost Robot around it."""
    joint: JointMounting | None
    """Joint that connects it to its parent."""
    body: Body | None = None
    """None for static Solids."""
    in_body: Pose = IDENTITY
    """Pose in the frame of the body's root."""
    shapes: list[Shape] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name field of the Solid."""
        return text(self.node, "name")


@dataclass(eq=False, slots=True)
class JointMounting:
    """A joint between two Solids; axis and anchor are in ``frame``."""

    node: Node
    parent: Solid
    frame: Pose
    """Frame around the joint, in the world at the start."""
    child: Solid | None = None


class Tree:
    """All Solids, bodies and joints of a world, in the order of the world file.

    Raises:
        SimulationError: The world needs behaviour of Webots that has no counterpart; names the
            Solid.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.solids: list[Solid] = []
        self.joints: list[JointMounting] = []
        self.bodies: list[Body] = []
        for node in nodes:
            self._visit(node, IDENTITY, None)

    def _visit(self, node: Node, frame: Pose, parent: Solid | None) -> None:
        if node.type in SOLIDS:
            self._solid(node, frame, parent, None)
        elif node.type in FRAMES:
            inner = frame @ frame_of(node)
            for child in node.nodes("children"):
                self._visit(child, inner, parent)
        elif node.type in JOINTS:
            self._joint(node, frame, parent)

    def _joint(self, node: Node, frame: Pose, parent: Solid | None) -> None:
        end = node.node("endPoint")
        if parent is None or end is None:
            raise SimulationError(
                f"line {node.line}: expected a {node.type} between two Solids, found one "
                f"without {'a Solid around it' if parent is None else 'an endPoint'}"
            )
        mounting = JointMounting(node, parent, frame)
        self.joints.append(mounting)
        mounting.child = self._solid(end, frame, parent, mounting)

    def _solid(
        self, node: Node, frame: Pose, parent: Solid | None, joint: JointMounting | None
    ) -> Solid:
        robot = parent.robot if parent else None
        solid = Solid(node, frame @ frame_of(node), parent, robot, joint)
        if node.type == "Robot" and robot is None:
            solid.robot = solid
        self.solids.append(solid)
        solid.shapes = list(bounding_shapes(node.node("boundingObject")))
        self._join_body(solid)
        for child in node.nodes("children"):
            self._visit(child, solid.start, solid)
        return solid

    def _join_body(self, solid: Solid) -> None:
        """Merge Solids with Physics without a joint in between into one body, as Webots does.

        A TouchSensor with Physics is merged too: Webots attaches it by a fixed joint to measure
        the force in it, and the softness of that joint (WorldInfo.CFM) is the only difference.
        """
        parent, physics = solid.parent, solid.node.node("physics")
        outer = None if parent is None else parent.body
        if physics is None:
            is_part = bool(solid.shapes) or solid.node.type == "Robot"
            if solid.joint is not None or (outer is not None and is_part):
                raise SimulationError(
                    f"Solid {solid.name}: expected Physics, as it is moved by a joint or part of "
                    "a Solid with Physics, found none; Webots would move it without forces"
                )
        elif parent is not None and outer is None and solid.node.type == "TouchSensor":
            return  # on a static Solid the same fixed joint attaches it to the world
        elif parent is not None and outer is not None and parent.node.node("physics") is None:
            raise SimulationError(
                f"Solid {parent.name}: expected Physics, as it is between Solids that have it"
            )
        if parent is not None and outer is not None and solid.joint is None:
            solid.body, solid.in_body = outer, parent.in_body @ solid.start.inside(parent.start)
        elif physics is not None:
            solid.body = Body(solid)
            self.bodies.append(solid.body)
        if physics is not None and solid.body is not None:
            solid.body.parts.append(solid_mass(solid, physics).placed(solid.in_body))


def solid_mass(solid: Solid, physics: Node) -> Mass:
    """Mass of one Solid in its frame, from its Physics.

    Raises:
        SimulationError: The Physics has no full inertia.
    """
    mass, centers = number(physics, "mass"), vectors(physics, "centerOfMass")
    matrix = vectors(physics, "inertiaMatrix")
    if matrix and mass > 0.0 and centers:
        return Mass(mass, np.array(centers[0], dtype=float), symmetric(*matrix))
    raise SimulationError(
        f"Solid {solid.name}: expected Physics with mass, centerOfMass and inertiaMatrix, which "
        "ODE simulates, found less"
    )
