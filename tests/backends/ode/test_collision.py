"""Contacts: their law, friction, which bodies touch, and the forces that are reported."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from softgrasp.backends.ode.collision import touching
from softgrasp.backends.ode.controller_api import OdeWorld
from softgrasp.backends.wbt.schema import (
    IDENTITY,
    Node,
    Pose,
)
from softgrasp.errors import SimulationError
from tests.backends.ode.worlds import (
    ball,
    built,
    hinge,
    named,
    node,
    physics,
    robot,
    run,
    solid,
    velocity,
)
from tests.conftest import Golden

pytestmark = pytest.mark.usefixtures("ode_library")

WEIGHT = 4.0 / 3.0 * math.pi * 0.02**3 * 1000.0 * 9.81
FLOOR = solid("floor", boundingObject=node("Plane"))


def surface(**fields: object) -> list[Node]:
    return [node("ContactProperties", **({"bounce": 0.0} | fields))]


def hard(stiffness: float, damping: float, step: float) -> list[Node]:
    whole = step * stiffness + damping
    return surface(softERP=step * stiffness / whole, softCFM=1.0 / whole)


@pytest.mark.parametrize("step_ms", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("stiffness", [500.0, 20_000.0])
def test_a_ball_rests_as_deep_as_its_weight_over_the_stiffness(
    step_ms: float, stiffness: float, digits: float
) -> None:
    floor = solid(
        "floor", translation=(0.0, 0.0, -0.5), boundingObject=node("Box", size=(1.0, 1.0, 1.0))
    )
    laws = hard(stiffness, 40.0, step_ms / 1e3)
    ode = built(floor, ball(0.02), step_ms=step_ms, contactProperties=laws)
    heights = [ode.pose(named(run(ode, 0.1), "ball")).position[2] for _ in range(30)]
    assert 0.02 - heights[-1] == pytest.approx(WEIGHT / stiffness, rel=1e-6 + 1e3 * digits)
    assert max(heights) <= 0.02
    force = ode.contacts.force_on(named(ode, "ball"))
    assert force.vector == pytest.approx((0.0, 0.0, WEIGHT), rel=1e-6 + 10 * digits, abs=1e-6)
    assert ode.contacts.force_on(named(ode, "floor")).vector[2] == pytest.approx(-force.normal)
    assert force.friction == pytest.approx(0.0, abs=1e-6)


def test_the_defaults_bounce_and_a_bounce_of_zero_does_not() -> None:
    rises = []
    for properties in ([], surface()):
        ode = run(built(FLOOR, ball(0.12), contactProperties=properties), 0.15)
        rises.append(max(ode.pose(named(run(ode, 0.005), "ball")).position[2] for _ in range(40)))
    # softCFM lets the ball keep a part of its velocity: cfm/h against 1/m
    fall, given = math.sqrt(2 * 9.81 * 0.1), 1.0 / (1.0 + WEIGHT / 9.81 * 0.001 / 0.001)
    rebound = -fall + given * 1.5 * fall
    assert rises[0] == pytest.approx(0.02 + rebound**2 / (2 * 9.81), abs=1e-3)
    assert rises[1] < 0.021


@pytest.mark.parametrize(("friction", "slides"), [(0.6, False), (0.5, True), (-1.0, False)])
def test_a_box_on_an_incline_slides_above_the_friction_angle(friction: float, slides: bool) -> None:
    tilt = math.atan(0.55)
    box = node("Box", size=(0.04, 0.04, 0.04))
    rotated = (0.0, 1.0, 0.0, tilt)
    normal = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    block = solid(
        "block",
        translation=tuple((0.02 * normal).tolist()),
        rotation=rotated,
        boundingObject=box,
        physics=physics(0.04**3 * 500.0, inertia=0.04**5 * 500.0 / 6.0),
    )
    ramp = solid("ramp", rotation=rotated, boundingObject=node("Plane"))
    ode = built(ramp, block, contactProperties=surface(coulombFriction=[friction]))
    run(ode, 0.6)
    linear, _ = velocity(ode, "block")
    along = float(linear @ np.array([math.cos(tilt), 0.0, -math.sin(tilt)]))
    expected = 9.81 * (math.sin(tilt) - 0.5 * math.cos(tilt)) * 0.6 if slides else 0.0
    assert along == pytest.approx(expected, abs=1e-3)
    force = ode.contacts.force_on(named(ode, "block"))
    weight = 0.04**3 * 500.0 * 9.81
    assert force.normal == pytest.approx(weight * math.cos(tilt), rel=1e-2)
    held = 0.5 * weight * math.cos(tilt) if slides else weight * math.sin(tilt)
    assert force.friction == pytest.approx(held, rel=1e-2)


def test_the_first_properties_of_a_pair_in_any_order_count(digits: float) -> None:
    soft, stiff = ({"softCFM": 1.0 / (1.0 + 40.0), "softERP": 1.0 / 41.0} for _ in range(2))
    stiff["softERP"] = 0.5
    properties = [
        *surface(material1="other", material2="rubber"),
        *surface(material1="floor", material2="rubber", **soft),
        *surface(material1="rubber", material2="floor", **stiff),
    ]
    floor = solid("floor", boundingObject=node("Plane"), contactMaterial="floor")
    ode = built(floor, ball(0.02, contactMaterial="rubber"), contactProperties=properties)
    run(ode, 2.0)
    depth = 0.02 - ode.pose(named(ode, "ball")).position[2]
    assert depth == pytest.approx(WEIGHT / 1000.0, rel=1e-5 + 1e3 * digits)


TETRAHEDRON = node(
    "IndexedFaceSet",
    coord=node(
        "Coordinate", point=[(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (0.0, 1.5, 0.0), (0.0, 0.0, -1.0)]
    ),
    coordIndex=[0, 1, 2, -1, 1, 0, 3, -1, 2, 1, 3, -1, 0, 2, 3, -1],
)
SHAPES = {
    "Box": (node("Box", size=(1.0, 1.0, 0.2)), 0.1),
    "Sphere": (node("Sphere", radius=0.3), 0.3),
    "Capsule": (node("Capsule", radius=0.1, height=0.4), 0.3),
    "Cylinder": (node("Cylinder", radius=0.2, height=0.4), 0.2),
    "Plane": (node("Plane"), 0.0),
    "IndexedFaceSet": (TETRAHEDRON, 0.0),
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("kind", SHAPES)
def test_every_shape_meets_a_ball_where_its_surface_is(
    kind: str, wrapped: bool, digits: float
) -> None:
    """The ball rests on the top, at (0, 0) or off it, in the depth of its weight over stiffness."""
    shape, top = SHAPES[kind]
    if wrapped:
        inner = node("Pose", translation=(0.0, 0.0, 0.2), children=[node("Shape", geometry=shape)])
        shape, top = node("Group", children=[inner]), top + 0.2
    base = solid("base", boundingObject=shape)
    ode = run(built(base, ball(top + 0.02), contactProperties=hard(2000.0, 40.0, 1e-3)), 1.5)
    assert ode.contacts.count >= 1
    depth = top + 0.02 - ode.pose(named(ode, "ball")).position[2]
    assert depth * ode.contacts.count == pytest.approx(WEIGHT / 2000.0, rel=1e-3 + 1e3 * digits)


LYING = (1.0, 0.0, 0.0, math.pi / 2)


def test_shapes_that_this_ode_cannot_collide_are_refused(ode_library, golden: Golden) -> None:
    if any("libccd" in word for word in ode_library.configuration):
        pytest.skip("this ODE was built with libccd")
    bodies = [
        solid(
            name,
            translation=(0.0, 0.0, height),
            rotation=LYING,
            boundingObject=node("Cylinder", radius=0.05, height=0.3),
            physics=physics(1.0, inertia=1e-3),
        )
        for name, height in (("one", 0.0), ("two", 0.09))
    ]
    golden.refused(built(*bodies, gravity=0.0).step, "Solids one and two", SimulationError)


@pytest.mark.parametrize(
    ("rotation", "top"),
    [((0.0, 0.0, 1.0, 0.0), 0.15), (LYING, 0.05)],
    ids=["on the flat side", "on the round side"],
)
@pytest.mark.parametrize("tilt", [0.0, 0.4])
def test_a_capsule_lies_still_on_a_cylinder(rotation, top: float, tilt: float, digits) -> None:
    """Along y like a lying cylinder, or turned across it; its weight is shared by the points."""
    lying = Rotation.from_rotvec([math.pi / 2, 0.0, 0.0])
    rotated = (Rotation.from_rotvec([0.0, 0.0, tilt]) * lying).as_rotvec()
    angle = float(np.linalg.norm(rotated))
    rod = solid(
        "rod",
        translation=(0.0, 0.0, top + 0.01),
        rotation=(*(rotated / angle).tolist(), angle),
        boundingObject=node("Capsule", radius=0.01, height=0.06),
        physics=physics(0.1, inertia=1e-5),
    )
    cylinder = node("Cylinder", radius=0.05, height=0.3)
    base = solid("base", rotation=rotation, boundingObject=cylinder)
    laws = hard(2000.0, 40.0, 1e-3)
    ode = run(built(base, rod, contactProperties=laws), 1.0)
    rod_now = named(ode, "rod")
    assert ode.contacts.force_on(rod_now).vector[2] == pytest.approx(0.981, rel=1e-4 + digits)
    depth = top + 0.01 - ode.pose(rod_now).position[2]
    assert 0.0 < depth <= 0.981 / 2000.0 * (1.0 + 1e-3)
    linear, angular = velocity(ode, "rod")
    assert np.abs([*linear, *angular]).max() < 1e-3 + 1e3 * digits


def test_distances_from_a_cylinder_are_those_of_its_points() -> None:
    """Against the nearest of many points on both, which is never nearer than the true one."""
    rng = np.random.default_rng(3)
    angles, levels = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(-0.05, 0.05, 101))
    around = np.stack([0.03 * np.cos(angles), 0.03 * np.sin(angles), levels], -1).reshape(-1, 3)
    radii = np.linspace(0.0, 0.03, 40)[:, None] * np.ones(721)
    caps = [
        np.stack([radii * np.cos(angles[:1]), radii * np.sin(angles[:1]), radii * 0 + z], -1)
        for z in (-0.05, 0.05)
    ]
    cloud = KDTree(np.vstack([around, *(cap.reshape(-1, 3) for cap in caps)]))
    seen = 0
    for _ in range(60):
        tilt = Rotation.random(random_state=rng).as_matrix()
        capsule = Pose(tilt, rng.uniform(-0.08, 0.08, 3))
        axis = capsule.position + np.linspace(-0.04, 0.04, 400)[:, None] * tilt[:, 2]
        if (np.hypot(axis[:, 0], axis[:, 1]) < 0.03).any() and (np.abs(axis[:, 2]) < 0.05).any():
            continue
        nearest = float(cloud.query(axis)[0].min())
        points = touching(capsule, (0.05, 0.08), IDENTITY, (0.03, 0.1))
        deepest = max((point.depth for point in points), default=0.0)
        assert deepest == pytest.approx(max(0.05 - nearest, 0.0), abs=3e-4)
        seen += len(points) > 0
    assert seen > 10


def two_links(anchor: float = 0.1, **fields: object) -> Node:
    """A robot whose two moving links overlap each other and its base."""
    bound = node("Box", size=(0.1, 0.1, 0.1))
    position = (anchor, 0.0, 0.0)
    last = solid("two", translation=position, boundingObject=bound, physics=physics(0.1))
    middle = solid(
        "one",
        translation=(0.1, 0.0, 0.0),
        boundingObject=bound,
        physics=physics(0.1),
        children=[hinge(last, anchor=position)],
    )
    return robot(hinge(middle, anchor=(0.1, 0.0, 0.0)), **({"boundingObject": bound} | fields))


def touches(ode: OdeWorld, name: str) -> bool:
    pairs = (pair for pair, _, _ in ode.contacts._live)
    return any(named(ode, name) in (pair.first, pair.second) for pair in pairs)


def test_parts_of_a_robot_pass_through_each_other() -> None:
    quiet = built(two_links(), gravity=0.0)
    quiet.step()
    assert quiet.contacts.count == 0


def test_a_body_on_a_standing_base_passes_through_all_that_stands() -> None:
    """Webots asks whether a body has a joint to the standing world, whichever part of it."""
    wall = solid(
        "wall", translation=(0.1, 0.0, 0.0), boundingObject=node("Box", size=(0.1, 0.1, 0.1))
    )
    ode = built(two_links(), wall, gravity=0.0)
    ode.step()
    assert not touches(ode, "one")
    assert touches(ode, "two")


def test_no_more_than_ten_points_touch_without_other_properties() -> None:
    rng = np.random.default_rng(0)
    points = [(*rng.uniform(-0.05, 0.05, 2).tolist(), -0.021) for _ in range(30)]
    faces = [index for at in range(0, 30, 3) for index in (at, at + 1, at + 2, -1)]
    surface_node = node("IndexedFaceSet", coord=node("Coordinate", point=points), coordIndex=faces)
    plate = solid("plate", boundingObject=surface_node, physics=physics(0.1))
    raised = [(x, y, 0.0) for x, y, _ in points]
    plate.fields["boundingObject"].fields["coord"].fields["point"] = raised
    for properties, most in ((surface(), 10), (surface(maxContactJoints=4), 4)):
        below = solid("floor", translation=(0.0, 0.0, 1e-3), boundingObject=node("Plane"))
        ode = built(below, plate, contactProperties=properties)
        ode.step()
        assert ode.contacts.count == most
