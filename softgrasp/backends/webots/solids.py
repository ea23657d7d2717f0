"""Bodies of a compiled model as Solid nodes, with joints and touch sensors between them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.backends.wbt.schema import (
    Mass,
    Node,
    Pose,
    Value,
    numbers_of,
    set_pose,
)
from softgrasp.backends.webots.joint_actuators import JointLaw
from softgrasp.errors import BuildError
from softgrasp.io import Triangles, coarser, hull_of
from softgrasp.model import names

PLANAR_JOINTS = names.object_joints(names.OBJECT)
"""Joints of the object to be grasped where it is planar."""
MAX_TORQUE = 1e6
"""Largest torque of motors [N·m or N]. The controller keeps the limits of servos, as Webots would
clip the damping of the rotor with the torque. It commands every motor before the first step;
otherwise motors would hold their joints."""
MAX_SPEED = 1e4
"""Largest speed of motors [rad/s or m/s]."""
LIGHT_FRACTION = 1e-3
"""Fraction of a body's mass for solids that MuJoCo does not have: touch sensors, and solids between
two joints of one body [–]."""
GEOM = mujoco.mjtGeom
MAX_VERTICES = 100_000
"""Vertices of a mesh above which Webots warns."""
ELLIPSOID_RINGS = 32
"""Rings of the mesh of an ellipsoid, which Webots lacks."""


# Joints


def joint_node(
    model: mujoco.MjModel, start: mujoco.MjData, law: JointLaw, parent: Pose, end: Node
) -> Node:
    """Make a joint between two solids.

    Args:
        model: Compiled scene.
        start: Its start state, whose poses the solids have in the file.
        law: Law of the joint.
        parent: Pose of the solid that carries it, in which axis and anchor are written.
        end: The solid that it moves.
    """
    joint = model.joint(law.name).id
    parameters: dict[str, Value] = {"axis": numbers_of(parent.rotation.T @ start.xaxis[joint])}
    if not law.slides:
        anchor = parent.rotation.T @ (start.xanchor[joint] - parent.position)
        parameters["anchor"] = numbers_of(anchor)
    if law.start != law.zero:
        parameters["position"] = law.start - law.zero
    stops = _stops(law)
    if stops is not None:
        parameters["minStop"], parameters["maxStop"] = stops
    if law.spring:
        parameters["springConstant"] = law.spring
    if law.damper:
        parameters["dampingConstant"] = law.damper
    kind, prefix = ("SliderJoint", "Joint") if law.slides else ("HingeJoint", "HingeJoint")
    # the object is no part of the robot
    devices = [] if law.name in PLANAR_JOINTS else _devices(law)
    fields: dict[str, Value] = {"jointParameters": Node(f"{prefix}Parameters", parameters)}
    return Node(kind, fields | {"device": devices, "endPoint": end})


def motor_name(joint: str) -> str:
    """Return the name of the motor of a joint."""
    return f"{joint}_motor"


def sensor_name(joint: str) -> str:
    """Return the name of the position sensor of a joint."""
    return f"{joint}_position"


def law_remarks(laws: Sequence[JointLaw]) -> tuple[str, ...]:
    """Describe how joints of a world differ from those of the MuJoCo model."""
    remarks = []
    over = [law for law in laws if law.excess > 0.0]
    if over:
        worst = max(over, key=lambda law: law.excess / law.spring)
        remarks.append(
            f"springs of {len(over)} joints damp more than they should, most that of {worst.name} "
            f"by {worst.excess:.2g} N·m·s/rad: Webots takes springs implicitly, and at this time "
            "step that alone is more; where they come to rest is not changed"
        )
    free = [law.name for law in laws if law.limits is not None and _stops(law) is None]
    if free:
        remarks.append(
            f"limits of {', '.join(free)} are left to the targets: stops of Webots reach half a "
            "revolution to either side of the start"
        )
    return tuple(remarks)


def _stops(law: JointLaw) -> tuple[float, float] | None:
    """Return joint limits relative to the Webots zero position; None where not possible."""
    if law.limits is None:
        return None
    low, high = (limit - law.zero for limit in law.limits)
    within = low <= 0.0 <= high
    reach = math.inf if law.slides else math.pi
    return (low, high) if within and -reach <= low < high <= reach else None


def _devices(law: JointLaw) -> list[Value]:
    sensor = Node("PositionSensor", {"name": sensor_name(law.name)})
    if not law.driven:
        return [sensor]
    motor = Node("LinearMotor" if law.slides else "RotationalMotor")
    motor.fields = {
        "name": motor_name(law.name),
        "maxVelocity": MAX_SPEED,
        "maxForce" if law.slides else "maxTorque": MAX_TORQUE,
        "sound": "",  # Webots would search the file
    }
    return [motor, sensor]


# Masses


def body_inertia(model: mujoco.MjModel, body: int) -> Mass:
    """Mass and inertia of a body in its axes; MuJoCo stores them in principal axes."""
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[body])
    rotation = axes.reshape(3, 3)
    tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    return Mass(float(model.body_mass[body]), model.body_ipos[body].copy(), tensor)


def physics(inertia: Mass) -> Node:
    """Make the Physics node of a solid, with its mass instead of a density."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.inertia.tolist()
    fields: dict[str, Value] = {"density": -1, "mass": inertia.mass}
    fields["centerOfMass"] = [numbers_of(inertia.center)]
    fields["inertiaMatrix"] = [(xx, yy, zz), (xy, xz, yz)]
    return Node("Physics", fields)


def heaviest(model: mujoco.MjModel, body: int) -> int:
    """Return the heaviest body welded to a body, which may be itself."""
    group = np.flatnonzero(model.body_weldid == model.body_weldid[body])
    return int(group[model.body_mass[group].argmax()])


# Shapes


def bounding_object(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int], max_faces: int | None
) -> Node | None:
    """Make the bounding object of some geoms of one body; None without any."""
    shapes = [
        _arrange(model, data, geom, _shape(model, geom, max_faces, hull=True)) for geom in geoms
    ]
    if len(shapes) < 2:
        return next(iter(shapes), None)
    return Node("Group", {"children": list(shapes)})


def visible_shapes(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int], max_faces: int | None
) -> list[Node]:
    """Make the visible shapes of some geoms of one body."""
    nodes = []
    for geom in geoms:
        geometry = _shape(model, geom, max_faces, hull=False)
        shape = Node("Shape", {"appearance": _appearance(model, geom), "geometry": geometry})
        nodes.append(_arrange(model, data, geom, shape))
    return nodes


def _arrange(model: mujoco.MjModel, data: mujoco.MjData, geom: int, shape: Node) -> Node:
    pose = Node("Pose")
    set_pose(pose, geom_frame(model, data, geom))
    if not pose.fields:
        return shape
    pose.fields["children"] = [shape]
    return pose


def _appearance(model: mujoco.MjModel, geom: int) -> Node:
    red, green, blue, opacity = (float(value) for value in model.geom_rgba[geom])
    fields: dict[str, Value] = {"baseColor": (red, green, blue), "roughness": 0.6, "metalness": 0}
    fields |= {"transparency": 1.0 - opacity} if opacity < 1.0 else {}
    return Node("PBRAppearance", fields)


def _shape(model: mujoco.MjModel, geom: int, max_faces: int | None, *, hull: bool) -> Node:
    size = [float(value) for value in model.geom_size[geom]]
    match GEOM(int(model.geom_type[geom])):
        case GEOM.mjGEOM_SPHERE:
            return Node("Sphere", {"radius": size[0], "subdivision": 3})
        case GEOM.mjGEOM_CAPSULE:
            # the height without the caps; MuJoCo stores half of it
            return Node("Capsule", {"height": 2.0 * size[1], "radius": size[0]})
        case GEOM.mjGEOM_CYLINDER:
            return Node("Cylinder", {"height": 2.0 * size[1], "radius": size[0]})
        case GEOM.mjGEOM_BOX:
            return Node("Box", {"size": (2.0 * size[0], 2.0 * size[1], 2.0 * size[2])})
        case GEOM.mjGEOM_ELLIPSOID:
            return _faces(_ellipsoid(size), model.geom(geom).name, max_faces)
        case GEOM.mjGEOM_MESH:
            return _faces(_mesh(model, geom, hull=hull), model.geom(geom).name, max_faces)
        case other:
            raise BuildError(
                f"geom '{model.geom(geom).name}': Webots worlds are written with spheres, "
                f"capsules, cylinders, boxes, ellipsoids and meshes, found {other.name}"
            )


def _faces(surface: Triangles, name: str, max_faces: int | None) -> Node:
    vertices, faces = surface
    if max_faces is not None:
        vertices, faces = coarser(vertices, np.asarray(faces), max_faces)
    if len(vertices) > MAX_VERTICES:
        raise BuildError(
            f"mesh of '{name}': expected at most {MAX_VERTICES} vertices, the limit of Webots, "
            f"found {len(vertices)}; request fewer faces with --max-faces N"
        )
    points = Node("Coordinate", {"point": [numbers_of(row) for row in vertices]})
    rows = np.column_stack([faces, np.full(len(faces), -1)])
    return Node("IndexedFaceSet", {"coord": points, "coordIndex": rows.ravel().tolist()})


def _mesh(model: mujoco.MjModel, geom: int, *, hull: bool) -> Triangles:
    """Surface of a mesh geom, or the convex hull that collides in MuJoCo."""
    mesh = model.mesh(int(model.geom_dataid[geom]))
    first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    vertices = model.mesh_vert[first : first + count].astype(float)
    if hull:
        convex = hull_of(vertices)
        return convex.vertices, convex.faces
    begin, faces = int(mesh.faceadr[0]), int(mesh.facenum[0])
    return vertices, model.mesh_face[begin : begin + faces]


def _ellipsoid(radii: list[float]) -> Triangles:
    around = 2.0 * np.pi * np.arange(2 * ELLIPSOID_RINGS) / (2 * ELLIPSOID_RINGS)
    down = np.pi * np.arange(1, ELLIPSOID_RINGS) / ELLIPSOID_RINGS
    ring = np.stack([np.cos(around), np.sin(around)], axis=1)
    rings = [np.column_stack([np.sin(a) * ring, np.full(len(ring), np.cos(a))]) for a in down]
    points = np.concatenate([[[0.0, 0.0, 1.0]], *rings, [[0.0, 0.0, -1.0]]])
    hull = hull_of(points * np.array(radii))
    return hull.vertices, hull.faces


# Poses


def body_frame(data: mujoco.MjData, body: int) -> Pose:
    """Frame of a body in the world."""
    return Pose(data.xmat[body].reshape(3, 3).copy(), data.xpos[body].copy())


def geom_frame(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> Pose:
    """Return the frame of a geom in that of its body."""
    frame = Pose(data.geom_xmat[geom].reshape(3, 3).copy(), data.geom_xpos[geom].copy())
    return frame.inside(body_frame(data, int(model.geom_bodyid[geom])))


STATIC_SENSOR = Mass(1e-4, np.zeros(3), 1e-8 * np.eye(3))
"""Mass of a touch sensor on a static body; Webots requires one, and measures its weight."""


def body_define(body: int) -> str:
    """Return the DEF name of a body's Solid that the controller accesses."""
    return f"BODY_{body}"


def touch_name(body: str) -> str:
    """Return the name of the touch sensor of a body."""
    return f"{body}_touch"


class SolidWriter:
    """Converts the bodies of one model at their start poses to Solids."""

    def __init__(
        self,
        model: mujoco.MjModel,
        start: mujoco.MjData,
        laws: Sequence[JointLaw],
        sensing: Sequence[str],
        touching: set[int],
        max_faces: int | None = None,
    ) -> None:
        """Prepare a model.

        Args:
            model: Compiled scene.
            start: Its start state.
            laws: Laws of its joints.
            sensing: Names of bodies with a touch sensor.
            touching: Indices of geoms that can collide.
            max_faces: Largest number of triangles of a mesh; larger ones are coarsened.
        """
        self._model, self._start, self._max_faces = model, start, max_faces
        self._laws = {model.joint(law.name).id: law for law in laws}
        self._sensing = {model.body(name).id for name in sensing}
        self._touching = touching
        self._donated = self._light_solids()

    def carried(self, body: int, parent: Pose, material: str) -> Node:
        """Convert a body and its subtree: welded to its parent, or connected by its joints.

        Args:
            body: The body.
            parent: Pose of the parent solid.
            material: Its contact material.

        Returns:
            A Solid, or the first joint.
        """
        first, count = int(self._model.body_jntadr[body]), int(self._model.body_jntnum[body])
        frame = body_frame(self._start, body)
        # a free joint has no law: a top-level solid of Webots moves freely
        laws = [self._laws[j] for j in range(first, first + count) if j in self._laws]
        node = self._solid(body, frame if laws else parent, material)
        for index in reversed(range(len(laws))):
            if index == 0:
                set_pose(node, frame.inside(parent))
            carrier = parent if index == 0 else frame
            node = joint_node(self._model, self._start, laws[index], carrier, node)
            if index > 0:
                node = self._between(body, laws[index - 1].name, node)
        return node

    def _solid(self, body: int, parent: Pose, material: str) -> Node:
        """Make the Solid of a body with its subtree."""
        frame = body_frame(self._start, body)
        node = Node("Solid", name=self._define(body))
        set_pose(node, frame.inside(parent))
        geoms = [int(g) for g in np.flatnonzero(self._model.geom_bodyid == body)]
        touching = [geom for geom in geoms if geom in self._touching]
        bounds = bounding_object(self._model, self._start, touching, self._max_faces)
        group, rgba = self._model.geom_group, self._model.geom_rgba
        visible = [g for g in geoms if group[g] in (0, 2) and rgba[g, 3] > 0] or touching
        children: list[Value] = list(
            visible_shapes(self._model, self._start, visible, self._max_faces)
        )
        if body in self._sensing and bounds is not None:
            children.append(self._sensor(body, bounds, material))
            bounds = None
        children += [
            self.carried(child, frame, material)
            for child in np.flatnonzero(self._model.body_parentid == body).tolist()
            if child != body
        ]
        node.fields |= {
            "children": children,
            "name": self._model.body(body).name,
            "contactMaterial": material,
            "boundingObject": bounds,
            "physics": self._physics(body),
        }
        return node

    def _between(self, body: int, joint: str, carried: Node) -> Node:
        """Make the nearly massless Solid between two joints of one body, as child of the first."""
        fields: dict[str, Value] = {"children": [carried], "name": f"{joint}_carrier"}
        return Node("Solid", fields | {"physics": physics(self._light(body))})

    def _sensor(self, body: int, bounds: Node, material: str) -> Node:
        """Make the touch sensor of a body as a child of its Solid; its endPoint reads 0."""
        return Node(
            "TouchSensor",
            {
                "name": touch_name(self._model.body(body).name),
                "contactMaterial": material,
                "boundingObject": bounds,
                "physics": physics(self._light(body) if self._moves(body) else STATIC_SENSOR),
                "type": "force-3d",
                "lookupTable": [],  # the default multiplies by ten
            },
        )

    def _light(self, body: int) -> Mass:
        """Return the mass of a solid that MuJoCo does not have, beside a body, in its frame."""
        donor = heaviest(self._model, body)
        pose = body_frame(self._start, donor).inside(body_frame(self._start, body))
        return body_inertia(self._model, donor).placed(pose).scaled(LIGHT_FRACTION)

    def _physics(self, body: int) -> Node | None:
        if not self._moves(body):
            return None
        inertia = body_inertia(self._model, body)
        if inertia.mass <= 0.0:
            return physics(self._light(body))
        return physics(inertia.scaled(1.0 - LIGHT_FRACTION * self._donated[body]))

    def _define(self, body: int) -> str:
        name: str = self._model.body(body).name
        if name == names.OBJECT:
            return names.OBJECT
        return body_define(body) if self._model.body_gravcomp[body] and self._moves(body) else ""

    def _moves(self, body: int) -> bool:
        return bool(self._model.body_weldid[body] != 0)

    def _light_solids(self) -> Counter[int]:
        """Count the light Solids whose mass is subtracted from each body."""
        donations: Counter[int] = Counter()
        model = self._model
        for body in range(1, model.nbody):
            if self._moves(body):
                between = max(int(model.body_jntnum[body]) - 1, 0)
                beside = int(body in self._sensing) + int(model.body_mass[body] <= 0.0)
                donations[heaviest(model, body)] += between + beside
        return donations
