"""Denavit–Hartenberg chains: published fingertips, both conventions, and what mirrors do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp.mechanics.hand_kinematics import (
    chain_links,
    fingertip,
    forward_kinematics,
    row_transform,
)
from softgrasp.mechanics.transforms import quaternion_of, rotate_about, translate

ANGLE = st.floats(-math.pi, math.pi)
LENGTH = st.floats(-0.1, 0.1).filter(lambda value: value == 0 or abs(value) > 1e-6)
FEW = settings(max_examples=30, deadline=None)
MIRROR = np.diag([1.0, 1.0, -1.0])


def standard(rows: list[dict[str, float]], base: sg.Pose | None = None) -> sg.Finger:
    """A finger of standard rows with lengths in metres."""
    return sg.Finger(
        name="F1",
        base=base or sg.Pose(),
        convention="standard",
        phalanges=tuple(sg.Phalanx(density=1000, **row) for row in rows),
    )


def as_modified(finger: sg.Finger) -> sg.Finger:
    """The same chain in the modified convention: a and alpha move one row outwards."""
    a_before = [0.0] + [row.a for row in finger.phalanges]
    alpha_before = [0.0] + [row.alpha for row in finger.phalanges]
    rows = [
        row.replace(a=a, alpha=alpha)
        for row, a, alpha in zip(finger.phalanges, a_before[:-1], alpha_before[:-1], strict=True)
    ]
    return finger.replace(convention="modified", phalanges=rows, tip=(a_before[-1], 0.0, 0.0))


@st.composite
def chains(draw: st.DrawFn) -> tuple[sg.Finger, list[float]]:
    """A finger of one to five standard rows, and joint angles for it."""
    count = draw(st.integers(1, 5))
    rows = [
        {"a": draw(LENGTH), "alpha": draw(ANGLE), "d": draw(LENGTH), "theta": draw(ANGLE)}
        for _ in range(count)
    ]
    rows[-1]["a"] = draw(st.floats(0.01, 0.1))
    base = sg.Pose(
        position=(draw(LENGTH), draw(LENGTH), draw(LENGTH)),
        quaternion=quaternion_of(rotate_about("x", draw(ANGLE)) @ rotate_about("z", draw(ANGLE))),
    )
    return standard(rows, base), draw(st.lists(ANGLE, min_size=count, max_size=count))


# SynGrasp 2.2 and 3.x; rows (a, alpha, d, theta) in mm and rad, fingertips in mm at q = 0 and 0.1
PUBLISHED = {
    "paradigmatic thumb": (
        [[0, -1, 0, -37], [1, 0, 0, 45], [0, 0, 1, 0]],
        [
            (0, -1.570796327, 0, 0),
            (25, 0, 0, 0),
            (15, 1.570796327, 0, 0),
            (10, 0, 0, 0),
        ],
        (-37.0, 95.0, 0.0),
        (-42.9179, 93.9817, -7.4526),
    ),
    "allegro_left thumb (theta offsets, d)": (
        [
            [0, 0.996194698, 0.087155743, 16.958],
            [0, -0.087155743, 0.996194698, -73.288],
            [1, 0, 0, 18.2],
        ],
        [
            (5, 1.570796327, -6.95051, 0),
            (0, 1.570796327, -55.415032, 1.570796327),
            (51.399611, 0, 0, -1.570796327),
            (59.3, 0, 0, 0),
        ],
        (181.8347, -94.6899, 23.2),
        (181.3778, -77.7577, 5.0549),
    ),
    "vizzy thumb (negative a)": (
        [
            [-0.2982, 0.0799, -0.9512, 17.5949],
            [0.9187, -0.2462, -0.3087, -54.2112],
            [-0.2588, -0.9659, 0, -4.5],
        ],
        [(-22.5, 1.570796327, 0, 0), (-33, 0, 0, 0), (-28.48, 0, 0, 0)],
        (42.6377, -131.3636, 17.234),
        (50.1469, -125.4987, 24.9643),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_lead_to_the_published_fingertips(name: str) -> None:
    base, rows, at_zero, at_tenth = PUBLISHED[name]
    for angle, expected in ((0.0, at_zero), (0.1, at_tenth)):
        frame = np.vstack([base, [0, 0, 0, 1]]).astype(float)
        for a, alpha, d, theta in rows:
            frame = frame @ row_transform(a, alpha, d, theta + angle, "standard")
        assert_allclose(frame[:3, 3], expected, atol=6e-5)


@FEW
@given(chains())
def test_both_conventions_describe_the_same_chain(chain: tuple[sg.Finger, list[float]]) -> None:
    finger, joints = chain
    assert_allclose(fingertip(as_modified(finger), joints), fingertip(finger, joints), atol=1e-12)


def test_a_planar_chain_is_the_sum_of_its_links_in_both_conventions() -> None:
    lengths, joints = (0.05, 0.035, 0.028), (0.3, 0.5, 0.7)
    finger = standard([{"a": length} for length in lengths])
    rotated = np.cumsum(joints)
    expected = [np.dot(lengths, np.cos(rotated)), np.dot(lengths, np.sin(rotated)), 0.0]
    assert_allclose(fingertip(finger, joints), expected, atol=1e-15)
    assert_allclose(fingertip(as_modified(finger), joints), expected, atol=1e-15)
    assert as_modified(finger).link_ends == finger.link_ends


@FEW
@given(chains())
def test_links_stand_where_the_frames_are_at_zero(chain: tuple[sg.Finger, list[float]]) -> None:
    finger, _ = chain
    for described in (finger, as_modified(finger)):
        frame = np.eye(4)
        for link in chain_links(described):
            frame = frame @ link.origin
        tip = frame @ [*link.end, 1.0]
        assert_allclose(tip[:3], fingertip(described, [0.0] * len(finger.phalanges)), atol=1e-12)


@FEW
@given(chains())
def test_frames_are_rigid(chain: tuple[sg.Finger, list[float]]) -> None:
    finger, joints = chain
    frames = forward_kinematics(finger, joints)
    assert frames.shape == (len(joints) + 1, 4, 4)
    for frame in frames:
        assert_allclose(frame[:3, :3] @ frame[:3, :3].T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame[:3, :3]) == pytest.approx(1.0)


@FEW
@given(chains(), st.integers(0, 4), st.floats(-0.05, 0.05))
def test_a_prismatic_joint_slides_along_its_axis(
    chain: tuple[sg.Finger, list[float]], index: int, slide: float
) -> None:
    finger, joints = chain
    index %= len(joints)
    rows = list(finger.phalanges)
    rows[index] = rows[index].replace(joint="prismatic", limits=(-1.0, 1.0), start=0.0)
    finger = finger.replace(phalanges=rows)
    joints[index] = 0.0
    before = fingertip(finger, joints)
    axis = forward_kinematics(finger, joints)[index][:3, 2]
    joints[index] = slide
    assert_allclose(fingertip(finger, joints), before + slide * axis, atol=1e-12)


@FEW
@given(chains())
def test_a_reflected_base_is_a_proper_one_with_alpha_and_d_negated(
    chain: tuple[sg.Finger, list[float]],
) -> None:
    """What repairs the fingers of three_fingered: the same fingertip at every joint angle."""
    finger, joints = chain
    frame = forward_kinematics(finger, joints)[0].copy()
    frame[:3, :3] = frame[:3, :3] @ MIRROR
    for row, angle in zip(finger.phalanges, joints, strict=True):
        frame = frame @ row_transform(row.a, row.alpha, row.d, row.theta + angle, "standard")
    repaired = finger.replace(
        phalanges=[row.replace(alpha=-row.alpha, d=-row.d) for row in finger.phalanges]
    )
    assert_allclose(fingertip(repaired, joints), frame[:3, 3], atol=1e-12)


def test_a_row_is_the_product_of_its_four_steps() -> None:
    a, alpha, d, theta = 0.03, 0.4, -0.02, 1.1
    about, along = rotate_about("z", theta) @ translate(z=d), translate(x=a)
    tilt = rotate_about("x", alpha)
    assert_allclose(row_transform(a, alpha, d, theta, "standard"), about @ along @ tilt)
    assert_allclose(row_transform(a, alpha, d, theta, "modified"), tilt @ along @ about)


def test_a_wrong_number_of_joint_variables_is_refused() -> None:
    finger = standard([{"a": 0.05}, {"a": 0.03}])
    with pytest.raises(sg.DescriptionError) as refused:
        forward_kinematics(finger, [0.1])
    assert str(refused.value) == ("finger 'F1': expected 2 joint variables, one a row, found 1")
