"""Solids of a Webots world as rigid bodies and geometries of ODE.

``Tree`` merges Solids into bodies by the rules of Webots, with masses from Physics or from bounding
objects at uniform density; ``Geometries`` creates their shapes in ODE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.backends.ode.bindings import Ode
from softgrasp.backends.wbt.schema import (
    JOINTS,
    SOLIDS,
    Node,
    flag,
    integers,
    number,
    text,
    texts,
    vector,
    vectors,
)
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.io import Triangles, read_triangles

Array = NDArray[np.float64]
FRAMES = ("Pose", "Transform")


# Geometries


class Geometries:
    """All ODE collision geometries of a world.

    Args:
        ode: Functions of ODE.
        space: ODE's space that holds them.
        solids: Solids whose bodies have handles.
    """

    def __init__(self, ode: Ode, space: int, solids: list[Solid]) -> None:
        self._ode, self._space = ode, space
        self._kept: list[Any] = []
        self.owners: dict[int, Solid] = {}
        """Solid of each geometry, by its handle."""
        robots = {id(s.robot): s.robot for s in solids if s.robot and not s.robot.self_collision}
        self._bits = {key: 1 << (1 + index % 30) for index, key in enumerate(robots)}
        for solid in solids:
            for shape in solid.shapes:
                handle = self._create(solid, shape)
                self.owners[handle] = solid
                self._group(handle, solid)

    def _group(self, handle: int, solid: Solid) -> None:
        """Exclude collisions among parts of one Robot; ``Pairing`` decides all others."""
        if len(self._bits) > 30:
            return
        bit = self._bits.get(id(solid.robot), 1)
        self._ode.GeomSetCategoryBits(handle, bit)
        self._ode.GeomSetCollideBits(handle, 0xFFFFFFFF ^ (bit & ~1))

    def _create(self, solid: Solid, shape: Shape) -> int:
        ode, space = self._ode, self._space
        if shape.kind == "Plane":
            return self._plane(solid, shape)
        if shape.triangles is not None:
            handle = self._surface(*shape.triangles)
        else:
            maker = {
                "Box": ode.CreateBox,
                "Sphere": ode.CreateSphere,
                "Capsule": ode.CreateCapsule,
                "Cylinder": ode.CreateCylinder,
            }[shape.kind]
            handle = maker(space, *shape.sizes)
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


# Poses


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix (3, 3) of an angle [rad] about an axis of any length (Rodrigues)."""
    x, y, z = np.asarray(axis, dtype=float)
    length = float(np.sqrt(x * x + y * y + z * z))
    if length == 0.0:
        return np.eye(3)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length
    # 1 − cos a without cancellation at small angles
    square: Array = cross @ cross
    return np.asarray(np.eye(3) + np.sin(angle) * cross + 2.0 * np.sin(angle / 2.0) ** 2 * square)


@dataclass(frozen=True, eq=False, slots=True)
class Pose:
    """Pose of an inner frame in an outer one: x_outer = rotation · x_inner + position."""

    rotation: Array
    """(3, 3)"""
    position: Array
    """(3,) [m]"""

    def __matmul__(self, inner: Pose) -> Pose:
        """Pose of the inner frame in the outer one."""
        return Pose(self.rotation @ inner.rotation, self.apply(inner.position))

    def apply(self, point: ArrayLike) -> Array:
        """Transform a point (3,) of the inner frame to the outer one [m]."""
        return np.asarray(self.rotation @ np.asarray(point, dtype=float) + self.position)

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in the inner one."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)


IDENTITY = Pose(np.eye(3), np.zeros(3))


def pose_of(translation: ArrayLike, rotation: ArrayLike) -> Pose:
    """Pose from a translation (3,) [m] and a rotation of Webots (4,): axis and angle [rad]."""
    x, y, z, angle = np.asarray(rotation, dtype=float)
    return Pose(rotation_about((x, y, z), float(angle)), np.asarray(translation, dtype=float))


# Shapes of bounding objects


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """A shape of a bounding object in the frame of its Solid."""

    kind: str
    """Type of Webots' node."""
    sizes: tuple[float, ...]
    """Edges, radius, or radius and height [m]; empty for planes and meshes."""
    pose: Pose
    triangles: Triangles | None = None
    """Vertices (n, 3) [m] and faces (m, 3) of a surface."""

    def weight(self) -> Mass | None:
        """Return the mass properties at density 1 in the Solid's frame; None for a plane."""
        if self.triangles is not None:
            return mesh(*self.triangles).placed(self.pose)
        if self.kind == "Box":
            return box(self.sizes).placed(self.pose)
        if self.kind == "Sphere":
            return sphere(*self.sizes).placed(self.pose)
        if self.kind == "Capsule":
            return capsule(*self.sizes).placed(self.pose)
        return cylinder(*self.sizes).placed(self.pose) if self.kind == "Cylinder" else None


def frame_of(node: Node) -> Pose:
    """Return the pose of a node (Pose, Transform or Solid) in its parent.

    Raises:
        SimulationError: It scales.
    """
    if node.type == "Transform" and tuple(vector(node, "scale")) != (1.0, 1.0, 1.0):
        raise SimulationError(f"line {node.line}: a Transform that scales is not supported in ODE")
    return pose_of(vector(node, "translation"), vector(node, "rotation"))


def bounding_shapes(node: Node | None, directory: Path, pose: Pose = IDENTITY) -> Iterator[Shape]:
    """Iterate over the shapes of a bounding object.

    Args:
        node: The bounding object; None has no shapes.
        directory: Directory of relative paths of meshes.
        pose: Pose of the node in the Solid.

    Raises:
        SimulationError: A node is not supported, or a mesh cannot be read.
    """
    if node is None:
        return
    if node.type in FRAMES or node.type == "Group":
        inner = pose @ frame_of(node) if node.type in FRAMES else pose
        for child in node.nodes("children"):
            yield from bounding_shapes(child, directory, inner)
    elif node.type == "Shape":
        yield from bounding_shapes(node.node("geometry"), directory, pose)
    else:
        yield _shape(node, directory, pose)


def _shape(node: Node, directory: Path, pose: Pose) -> Shape:
    if node.type == "Box":
        return Shape("Box", tuple(vector(node, "size")), pose)
    if node.type == "Sphere":
        return Shape("Sphere", (number(node, "radius"),), pose)
    if node.type in ("Capsule", "Cylinder"):
        return Shape(node.type, (number(node, "radius"), number(node, "height")), pose)
    if node.type == "Plane":
        return Shape("Plane", (), pose)
    if node.type == "IndexedFaceSet":
        return Shape(node.type, (), pose, _face_set(node))
    if node.type == "Mesh":
        return Shape(node.type, (), pose, _file(node, directory))
    raise SimulationError(f"line {node.line}: a {node.type} as bounding object is not supported")


def _face_set(node: Node) -> Triangles:
    """Return vertices and triangles; larger faces, which are convex, become triangle fans."""
    coordinates = node.node("coord")
    points = np.array(vectors(coordinates, "point") if coordinates else [], dtype=float)
    faces: list[list[int]] = []
    corners: list[int] = []
    for index in [*integers(node, "coordIndex"), -1]:
        if index >= 0:
            corners.append(index)
            continue
        faces += [[corners[0], *corners[at : at + 2]] for at in range(1, len(corners) - 1)]
        corners = []
    if not faces or np.max(faces) >= len(points):
        raise SimulationError(
            f"line {node.line}: expected faces between {len(points)} points, found "
            f"{'none' if not faces else f'point {np.max(faces)}'}"
        )
    return points.reshape(-1, 3), np.array(faces)


def _file(node: Node, directory: Path) -> Triangles:
    urls = texts(node, "url")
    if not urls:
        raise SimulationError(f"line {node.line}: expected a Mesh with a url, found none")
    try:
        return read_triangles(directory / urls[0])
    except DescriptionError as error:
        raise SimulationError(f"line {node.line}: {error}") from error


# Masses


@dataclass(frozen=True, eq=False, slots=True)
class Mass:
    """Mass, centre of mass and inertia of a rigid solid."""

    mass: float
    """[kg]"""
    center: Array
    """Centre of mass (3,) in the frame of the piece [m]."""
    inertia: Array
    """(3, 3) about the centre of mass, along the axes of the piece [kg·m²]."""

    def placed(self, pose: Pose) -> Mass:
        """Transform the mass properties to the outer frame of ``pose``."""
        rotated = pose.rotation @ self.inertia @ pose.rotation.T
        return Mass(self.mass, pose.apply(self.center), rotated)

    def scaled(self, factor: float) -> Mass:
        """Scale the density by a factor."""
        return Mass(self.mass * factor, self.center, self.inertia * factor)


def together(pieces: Sequence[Mass]) -> Mass:
    """Combine the mass properties of at least one solid in one frame by Steiner's theorem."""
    total = sum(piece.mass for piece in pieces)
    center = sum((piece.mass * piece.center for piece in pieces), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for piece in pieces:
        arm = piece.center - center
        inertia += piece.inertia + piece.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Mass(total, center, inertia)


def box(size: Sequence[float]) -> Mass:
    """Return the mass properties of a box of density 1 with edges (3,) [m]."""
    edges = np.asarray(size, dtype=float)
    mass = float(edges.prod())
    squares = edges**2
    return Mass(mass, np.zeros(3), np.diag(mass / 12.0 * (squares.sum() - squares)))


def sphere(radius: float) -> Mass:
    """Return the mass properties of a sphere of density 1."""
    mass = 4.0 / 3.0 * np.pi * radius**3
    return Mass(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))


def cylinder(radius: float, height: float) -> Mass:
    """Return the mass properties of a cylinder of density 1 about z."""
    mass = np.pi * radius**2 * height
    across = mass * (3.0 * radius**2 + height**2) / 12.0
    return Mass(mass, np.zeros(3), np.diag([across, across, 0.5 * mass * radius**2]))


def capsule(radius: float, height: float) -> Mass:
    """Return the mass properties of a capsule of density 1 along z; height without the caps.

    A half ball has its centre 3r/8 from its flat side, and a transverse inertia of 83/320 m·r².
    """
    half = 2.0 / 3.0 * np.pi * radius**3
    across = 83.0 / 320.0 * half * radius**2
    inertia = np.diag([across, across, 0.4 * half * radius**2])
    reach = np.array([0.0, 0.0, height / 2.0 + 3.0 * radius / 8.0])
    caps = [Mass(half, side * reach, inertia) for side in (1.0, -1.0)]
    return together([cylinder(radius, height), *caps])


def mesh(vertices: Array, faces: NDArray[np.int64]) -> Mass:
    """Compute mass properties inside a closed surface at density 1, by signed tetrahedra.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3), outward by the right-hand rule.
    """
    corners = vertices[faces]
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    total = float(volumes.sum())
    center = volumes @ corners.sum(axis=1) / (4.0 * total)
    # ∫ x xᵀ over a tetrahedron from the origin: V/20 (Σ cᵢ cᵢᵀ + s sᵀ) with s = Σ cᵢ
    sums = corners.sum(axis=1)
    second = np.einsum("i,ija,ijb->ab", volumes, corners, corners)
    second += np.einsum("i,ia,ib->ab", volumes, sums, sums)
    second = second / 20.0 - total * np.outer(center, center)
    return Mass(total, center, np.trace(second) * np.eye(3) - second)


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

    @property
    def self_collision(self) -> bool:
        """Return whether parts of this Robot collide with each other."""
        return self.node.type == "Robot" and flag(self.node, "selfCollision")


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

    Args:
        nodes: Top-level nodes.
        directory: Directory of relative paths of meshes.

    Raises:
        SimulationError: The world needs behaviour of Webots that has no counterpart; names the
            Solid.
    """

    def __init__(self, nodes: Iterable[Node], directory: Path) -> None:
        self.solids: list[Solid] = []
        self.joints: list[JointMounting] = []
        self.bodies: list[Body] = []
        self._directory = directory
        for node in nodes:
            self._visit(node, IDENTITY, None)

    def _visit(self, node: Node, frame: Pose, parent: Solid | None) -> None:
        if node.type in SOLIDS:
            self._solid(node, frame, parent, None)
        elif node.type in FRAMES or node.type == "Group":
            inner = frame if node.type == "Group" else frame @ frame_of(node)
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
        solid.shapes = list(bounding_shapes(node.node("boundingObject"), self._directory))
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
        inside = parent is not None and parent.body is not None
        if physics is None:
            if solid.joint is not None or (inside and (solid.shapes or solid.node.type == "Robot")):
                raise SimulationError(
                    f"Solid {solid.name}: expected Physics, as it is moved by a joint or part of "
                    "a Solid with Physics, found none; Webots would move it without forces"
                )
            if inside and parent is not None:
                solid.body = parent.body
                solid.in_body = parent.in_body @ (parent.start.inverse() @ solid.start)
            return
        if parent is not None and parent.body is not None and parent.node.node("physics") is None:
            raise SimulationError(
                f"Solid {parent.name}: expected Physics, as it is between Solids that have it"
            )
        if solid.node.type == "TouchSensor" and parent is not None and parent.body is None:
            return  # on a static Solid the same fixed joint attaches it to the world
        if solid.joint is None and parent is not None and parent.body is not None:
            solid.body = parent.body
            solid.in_body = parent.in_body @ (parent.start.inverse() @ solid.start)
        else:
            solid.body = Body(solid)
            self.bodies.append(solid.body)
        solid.body.parts.append(solid_mass(solid, physics).placed(solid.in_body))


def solid_mass(solid: Solid, physics: Node) -> Mass:
    """Mass of one Solid in its frame, from its Physics or else its shapes.

    Raises:
        SimulationError: There is neither a full inertia nor a shape to compute it from.
    """
    if physics.node("damping") is not None:
        raise SimulationError(f"Solid {solid.name}: Physics.damping is not supported in ODE")
    mass, density = number(physics, "mass"), number(physics, "density")
    centers, matrix = vectors(physics, "centerOfMass"), vectors(physics, "inertiaMatrix")
    if matrix and mass > 0.0 and centers:
        return Mass(mass, np.array(centers[0], dtype=float), _symmetric(*matrix))
    pieces = [piece for shape in solid.shapes if (piece := shape.weight()) is not None]
    if not pieces or (mass <= 0.0 and density <= 0.0):
        raise SimulationError(
            f"Solid {solid.name}: expected Physics with mass, centerOfMass and inertiaMatrix, or a "
            "mass or density and a bounding object, found neither"
        )
    whole = together(pieces)
    whole = whole.scaled(density if mass <= 0.0 else mass / whole.mass)
    center = np.array(centers[0], dtype=float) if centers else whole.center
    return Mass(whole.mass, center, whole.inertia)


def _symmetric(diagonal: tuple[float, ...], products: tuple[float, ...]) -> Array:
    """Return a symmetric (3, 3) matrix from [I11 I22 I33] and [I12 I13 I23]."""
    xy, xz, yz = products
    products_of = np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
    return np.asarray(np.diag(diagonal) + products_of)
