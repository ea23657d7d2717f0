"""The tree of a world as Solids in rigid bodies, and the joints between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt.access import flag, number, text, vectors
from softgrasp.formats.wbt.node import Node
from softgrasp.simulation.ode.geometry import FRAMES, Shape, bounding_shapes, frame_of
from softgrasp.simulation.ode.mass import Mass, together
from softgrasp.simulation.ode.poses import IDENTITY, Array, Pose

SOLIDS = ("Solid", "Robot", "TouchSensor")
JOINTS = ("HingeJoint", "SliderJoint")


@dataclass(eq=False, slots=True)
class Body:
    """A rigid body: a Solid with Physics and the Solids with Physics right inside it."""

    root: Solid
    parts: list[Mass] = field(default_factory=list)
    """In the frame of the root."""
    handle: int = 0
    """In ODE."""

    whole: Mass | None = None
    """All parts as one, once they are all known."""

    def weight(self) -> Mass:
        """All parts as one, in the frame of the root."""
        if self.whole is None:
            self.whole = together(self.parts)
        return self.whole


@dataclass(eq=False, slots=True)
class Solid:
    """A Solid, Robot or TouchSensor where the world starts."""

    node: Node
    start: Pose
    """In the world."""
    parent: Solid | None
    robot: Solid | None
    """The outermost Robot that it is part of."""
    joint: JointMounting | None
    """The joint that it hangs on."""
    body: Body | None = None
    """None for what stands still."""
    in_body: Pose = IDENTITY
    """In the frame of the body's root."""
    shapes: list[Shape] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name field, for sentences."""
        return text(self.node, "name")

    @property
    def self_collision(self) -> bool:
        """Whether parts of this Robot touch each other."""
        return self.node.type == "Robot" and flag(self.node, "selfCollision")


@dataclass(eq=False, slots=True)
class JointMounting:
    """A joint between two Solids; axis and anchor stand in ``frame``."""

    node: Node
    parent: Solid
    frame: Pose
    """The frame around the joint, in the world at the start."""
    child: Solid | None = None


class Tree:
    """All Solids and joints of a world, in the order of the text.

    Args:
        nodes: At the top of the world.
        folder: Where the paths of meshes start.

    Raises:
        SimulationError: Webots would do what has no counterpart here; names the Solid.
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
        """Webots merges Solids with Physics that have no joint in between into one body.

        A TouchSensor with Physics is merged too: Webots fastens it with a fixed joint to read the
        force in it, and that joint's softness (WorldInfo.CFM) would be the only difference.
        """
        parent, physics = solid.parent, solid.node.node("physics")
        inside = parent is not None and parent.body is not None
        if physics is None:
            if solid.joint is not None or (inside and (solid.shapes or solid.node.type == "Robot")):
                raise SimulationError(
                    f"Solid {solid.name}: expected Physics, as it hangs on a joint or is part of "
                    "a Solid with Physics, found none; Webots would move it without forces"
                )
            if inside and parent is not None:
                solid.body = parent.body
                solid.in_body = parent.in_body @ (parent.start.inverse() @ solid.start)
            return
        if parent is not None and parent.body is not None and parent.node.node("physics") is None:
            raise SimulationError(
                f"Solid {parent.name}: expected Physics, as it stands between Solids that have it"
            )
        if solid.node.type == "TouchSensor" and parent is not None and parent.body is None:
            return  # on what stands still, the same fixed joint holds it to the world
        if solid.joint is None and parent is not None and parent.body is not None:
            solid.body = parent.body
            solid.in_body = parent.in_body @ (parent.start.inverse() @ solid.start)
        else:
            solid.body = Body(solid)
            self.bodies.append(solid.body)
        solid.body.parts.append(solid_mass(solid, physics).placed(solid.in_body))


def solid_mass(solid: Solid, physics: Node) -> Mass:
    """Mass of one Solid in its own frame, from its Physics and, where that is silent, its shapes.

    Raises:
        SimulationError: There is neither a whole inertia nor a shape to take it from.
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
    """(3, 3) from [I11 I22 I33] and [I12 I13 I23]."""
    xy, xz, yz = products
    products_of = np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
    return np.asarray(np.diag(diagonal) + products_of)
