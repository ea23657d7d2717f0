"""Frames of nested nodes, and masses of bodies that are merged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softgrasp.backends.ode.solids import Tree
from softgrasp.backends.wbt.schema import (
    IDENTITY,
    Node,
    Pose,
    pose_of,
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
    slider,
    solid,
)
from tests.conftest import Golden

RNG = np.random.default_rng(7)


def drawn() -> dict[str, object]:
    """A translation and rotation by chance."""
    axis = RNG.normal(size=3)
    rotation = (*(axis / np.linalg.norm(axis)).tolist(), float(RNG.uniform(-3, 3)))
    return {"translation": tuple(RNG.uniform(-1, 1, 3).tolist()), "rotation": rotation}


def matrix(fields: dict[str, object]) -> np.ndarray:
    x, y, z, angle = fields["rotation"]
    full = np.eye(4)
    full[:3, :3] = Rotation.from_rotvec(angle * np.array([x, y, z])).as_matrix()
    full[:3, 3] = fields["translation"]
    return full


def bodies(*nodes: Node):
    return Tree(nodes).bodies


def seen(pose: Pose) -> np.ndarray:
    full = np.eye(4)
    full[:3, :3], full[:3, 3] = pose.rotation, pose.position
    return full


def test_frames_of_a_nested_tree_are_the_products_of_its_poses(ode_library, digits: float) -> None:
    frames = {name: drawn() for name in ("top", "pose", "mid", "group", "end", "pad", "tip")}
    tip = solid("tip", physics=physics(0.1, (0.1, 0.2, 0.3)), **frames["tip"])
    sensor = {"name": "pad", "type": "force-3d", "lookupTable": []}
    pad = node("TouchSensor", physics=physics(0.05, (0.3, 0.0, 0.1)), **sensor, **frames["pad"])
    end = solid(
        "end",
        physics=physics(0.2, (0.0, 0.1, 0.0)),
        children=[pad, slider(tip, axis=(0.0, 0.6, 0.8))],
        **frames["end"],
    )
    joint = hinge(end, axis=(1.0, 2.0, 3.0), anchor=(0.4, 0.5, 0.6))
    posed = node("Pose", children=[joint], **frames["group"])
    mid = solid("mid", children=[node("Group", children=[posed])], **frames["mid"])
    outer = node("Pose", children=[mid], **frames["pose"])
    ode = built(robot(outer, **frames["top"]), gravity=0.0)
    m = {name: matrix(fields) for name, fields in frames.items()}
    expected = {"robot": m["top"], "mid": m["top"] @ m["pose"] @ m["mid"]}
    expected["end"] = expected["mid"] @ m["group"] @ m["end"]
    expected["pad"] = expected["end"] @ m["pad"]
    expected["tip"] = expected["end"] @ m["tip"]
    for name, full in expected.items():
        assert seen(ode.pose(named(ode, name))) == pytest.approx(full, abs=10 * digits)


def test_moved_joints_carry_the_frames_of_forward_kinematics(ode_library, digits) -> None:
    """Without softness of the joints: what the solver leaves is rounding and the second order."""
    frames = {name: drawn() for name in ("top", "one", "two")}
    axes, anchor = ((0.6, 0.0, 0.8), (0.0, 1.0, 0.0)), (0.1, -0.2, 0.3)
    motors = [node("RotationalMotor", name=name, maxTorque=100.0) for name in "ab"]
    heavy = {"inertia": 1.0}
    second = solid("two", physics=physics(1.0, **heavy), **frames["two"])
    first = solid(
        "one",
        physics=physics(1.0, **heavy),
        children=[hinge(second, motors[1], axis=axes[1], anchor=(0.0, 0.0, 0.2))],
        **frames["one"],
    )
    top = robot(hinge(first, motors[0], axis=axes[0], anchor=anchor), **frames["top"])
    ode = built(top, gravity=0.0, CFM=1e-12, step_ms=0.25)
    for joint, target in zip(ode.joints, (0.3, -0.2), strict=True):
        joint.motor.setVelocity(target / 2.0)
    run(ode, 2.0)
    full = matrix(frames["top"])
    positions = (anchor, axes[0], frames["one"]), ((0.0, 0.0, 0.2), axes[1], frames["two"])
    for (point, axis, fields), joint, name in zip(
        positions, ode.joints, ("one", "two"), strict=True
    ):
        rotation = np.eye(4)
        rotation[:3, :3] = Rotation.from_rotvec(joint.position * np.array(axis)).as_matrix()
        rotation[:3, 3] = point - rotation[:3, :3] @ point
        full = full @ rotation @ matrix(fields)
        assert seen(ode.pose(named(ode, name))) == pytest.approx(full, abs=1e-6 + 10 * digits)


def steiner(pieces: list[tuple[float, np.ndarray, np.ndarray]]):
    total = sum(m for m, _, _ in pieces)
    center = sum(m * c for m, c, _ in pieces) / total
    inertia = np.zeros((3, 3))
    for m, c, i in pieces:
        d = c - center
        inertia += i + m * (d @ d * np.eye(3) - np.outer(d, d))
    return total, center, inertia


def test_solids_without_a_joint_between_them_are_one_body() -> None:
    position = drawn()
    full = matrix(position)
    own = np.diag([3e-4, 2e-4, 2.5e-4]) + 1e-5 * (np.ones((3, 3)) - np.eye(3))
    pad = node("TouchSensor", name="pad", physics=physics(0.2, (0.1, 0.0, 0.2), own), **position)
    inner = solid(
        "inner",
        translation=(0.0, 0.0, 0.1),
        physics=physics(0.5, (0.0, 0.0, 0.1), 1e-3),
        children=[pad],
    )
    (body,) = bodies(solid("outer", physics=physics(1.0, (0.2, 0.0, 0.0), own), children=[inner]))
    rotation = full[:3, :3]
    center = rotation @ [0.1, 0.0, 0.2] + full[:3, 3] + [0.0, 0.0, 0.1]
    expected = steiner([
        (1.0, np.array([0.2, 0.0, 0.0]), own),
        (0.5, np.array([0.0, 0.0, 0.2]), 1e-3 * np.eye(3)),
        (0.2, center, rotation @ own @ rotation.T),
    ])  # fmt: skip
    result = body.weight()
    for value, target in zip((result.mass, result.center, result.inertia), expected, strict=True):
        assert value == pytest.approx(target, rel=1e-12, abs=1e-15)


def test_a_solid_with_physics_in_one_that_stands_falls(ode_library) -> None:
    ode = run(built(solid("base", children=[ball(1.0)])), 0.1)
    assert ode.pose(named(ode, "ball")).position[2] < 0.96


REFUSED = [
    (
        lambda: robot(hinge(solid("a"))),
        "Solid a: expected Physics, as it is moved by a joint or part of a Solid with Physics, "
        "found none; Webots would move it without forces",
    ),
    (
        lambda: solid("a", physics=physics(1.0), children=[solid("b", children=[ball(0.1)])]),
        "Solid b: expected Physics, as it is between Solids that have it",
    ),
    (
        lambda: solid("a", physics=node("Physics", density=-1.0, mass=1.0)),
        "Solid a: expected Physics with mass, centerOfMass and inertiaMatrix, which ODE simulates, "
        "found less",
    ),
    (
        lambda: solid("a", boundingObject=node("Mesh", url=["no.stl"])),
        "line 0: a Mesh as bounding object is not supported",
    ),
]


@pytest.mark.parametrize(("made", "sentence"), REFUSED, ids=[text[:30] for _, text in REFUSED])
def test_what_is_not_supported_is_refused_in_one_sentence(made, sentence: str) -> None:
    with pytest.raises(SimulationError) as caught:
        bodies(made())
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("node_of", "sentence"),
    [
        (
            lambda: solid("a", boundingObject=node("Plane"), physics=physics(1.0)),
            "Solid a: a Plane cannot move",
        ),
        (lambda: solid("a", physics=physics(1.0, inertia=0.0)), "Solid a"),
    ],
)
def test_what_ode_would_end_the_process_for_is_refused(
    ode_library, node_of, sentence, golden: Golden
) -> None:
    golden.refused(lambda: built(node_of()), sentence, SimulationError)


def test_axis_and_angle_make_a_rotation() -> None:
    for fields in (drawn() for _ in range(20)):
        pose = pose_of(fields["translation"], fields["rotation"])
        assert pose.rotation == pytest.approx(matrix(fields)[:3, :3], abs=1e-14)
        assert seen(pose @ IDENTITY.inside(pose)) == pytest.approx(np.eye(4), abs=1e-14)
    assert pose_of((0, 0, 0), (0, 0, 0, 1)).rotation.tolist() == np.eye(3).tolist()
    assert pose_of((0, 0, 0), (0, 0, 2, math.pi / 2)).apply((1, 0, 0)) == pytest.approx((0, 1, 0))
