"""A finger alone as a world."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.backends.wbt import parse_world, problems, value, world_text
from softgrasp.backends.webots.world import finger_world
from softgrasp.continuum.settling import from_webots
from softgrasp.errors import BuildError
from softgrasp.io.hand import load_finger
from tests.build.webots.readback import ReadWorld

STEP = 1e-3


def test_dampers_identified_in_webots_stand_in_the_world_as_they_were() -> None:
    finger = load_finger("paper000")
    angles = np.linspace(0.0, 0.2, len(finger.joints))
    world = finger_world(from_webots(finger, STEP), angles, STEP, ())
    text = world_text(world.nodes)
    read = ReadWorld(text)
    assert problems(parse_world(text, "finger.wbt")) == []
    for index, joint in enumerate(finger.joints):
        result = read.joints[f"J{index + 1}"]
        assert result.number("springConstant") == joint.stiffness
        assert result.number("dampingConstant") == pytest.approx(joint.damping, rel=1e-9)
        assert result.number("position") == angles[index]
        assert [node.type for node in result.node.nodes("device")] == ["PositionSensor"]


def test_a_bent_finger_stands_bent_in_the_file() -> None:
    finger = load_finger("paper000")
    angles = np.full(len(finger.joints), 0.1)
    world = finger_world(from_webots(finger, STEP), angles, STEP, ())
    read = ReadWorld(world_text(world.nodes))
    last = read.parts[f"link{len(finger.joints)}"]
    rotation = last.frame[:3, :3] @ [1.0, 0.0, 0.0]
    # positive angles bend towards -z
    assert np.arctan2(-rotation[2], rotation[0]) == pytest.approx(angles.sum(), abs=1e-12)
    assert value(read.joints["J2"].end.node, "rotation") == pytest.approx((0, 1, 0, 0.1))


def test_damping_that_the_spring_alone_exceeds_is_refused_with_the_longest_step() -> None:
    finger = load_finger("paper000")
    with pytest.raises(BuildError) as caught:
        finger_world(finger, np.zeros(len(finger.joints)), STEP, ())
    worst = min(finger.joints, key=lambda joint: joint.damping / joint.stiffness)
    index = finger.joints.index(worst)
    assert str(caught.value) == (
        f"joint 'J{index + 1}': expected a damping of at least {STEP * worst.stiffness:.3g}, which "
        f"Webots' implicit spring adds at a time step of 0.001 s, found {worst.damping:.3g}; the "
        f"time step can be {worst.damping / worst.stiffness:.3g} s at most"
    )
