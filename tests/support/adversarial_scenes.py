"""Scenes that try to obtain a wrong outcome, with the word that an observer of the strip gives."""

import math
from collections.abc import Callable
from typing import NamedTuple

import softgrasp as sg
from softgrasp.description import Block, Compound, Part, PlacedObject, Pose, Wall
from tests.support.jaw import cube, in_jaw, jaw
from tests.support.outcome_scenes import TEST, ball, rubbing, taken


class Adversary(NamedTuple):
    """A scene and its right outcome."""

    scene: Callable[[], sg.GraspScene]
    word: str
    reason: str
    """What the strip shows."""


def cuboid(name: str, size: tuple[float, float, float], mass: float) -> sg.GraspObject:
    """A box of any size."""
    return sg.GraspObject(name=name, shape=sg.Cuboid(size=size), mass=mass)


def carried_by_a_second_object() -> sg.GraspScene:
    """The jaw grips a rough cube; the smooth one on top of it is pressed, too, but not borne."""
    blue = cube(0.1).replace(name="lower", rgba=(0.36, 0.55, 0.80, 1.0))
    lower = PlacedObject(object=blue, position=(0.0, 0.0, -0.0401), contact=rubbing(0.8))
    return in_jaw(cube(0.1), contact=rubbing(0.0), objects=(lower,), success=TEST)


def wedged_in_a_groove() -> sg.GraspScene:
    """A ball lies in a groove, and slippery fingertips close on it."""
    depth = 0.03 * math.sqrt(0.5)
    walls = tuple(
        Wall(name=name, point=(0.0, -side * depth, -0.089 - depth), normal=(0.0, side, 1.0),
             size=(0.02, 0.03), thickness=0.005)
        for name, side in (("left", 1.0), ("right", -1.0))
    )  # fmt: skip
    return taken(ball(3.0), object_position=(0, 0, -0.089), gravity=True, surroundings=walls,
                 contact=rubbing(0.02))  # fmt: skip


def hanging_on_a_hook() -> sg.GraspScene:
    """A bracket hangs with its arm on a fixed peg, between slippery plates."""
    bracket = Compound(parts=(
        Part(shape=sg.Cuboid(size=(0.04, 0.02, 0.08))),
        Part(shape=sg.Cuboid(size=(0.03, 0.06, 0.01)), pose=Pose(position=(0, 0, 0.045))),
    ))  # fmt: skip
    pegs = tuple(
        Block(name=name, position=(0.0, side * 0.025, 0.02), size=(0.03, 0.01, 0.02))
        for name, side in (("peg", 1.0), ("other peg", -1.0))
    )
    held = sg.GraspObject(name="bracket", shape=bracket, mass=0.5)
    return in_jaw(held, gravity=True, contact=rubbing(0.02), surroundings=pegs, success=TEST)


def held_by_a_moving_arm() -> sg.GraspScene:
    """An arm lifts a grasped cylinder from a table, moves it aside and shakes it."""
    motion = (
        {"type": "lift", "height": 0.05, "time": 0.8},
        {"type": "move", "displacement": (0.0, 0.1, 0.0), "time": 1.0},
        {"type": "shake", "direction": (0, 1, 0), "amplitude": 0.01, "frequency": 3.0, "cycles": 3},
    )
    return taken(sg.load_object("cylinder"), arm=sg.io.load_arm("ur3e"), gravity=True,
                 surroundings=(sg.Table(),),
                 success=sg.SuccessCriterion(motion=motion))  # fmt: skip


def one_gram() -> sg.GraspScene:
    """A ball of 1 g between four fingertips."""
    return taken(ball(1e-3))


def five_kilograms() -> sg.GraspScene:
    """A cube of 5 kg between plates whose friction bears twice its weight."""
    return in_jaw(cube(5.0), hand=jaw(stiffness=2e5, force_limit=600.0), contact=rubbing(0.5),
                  closure=sg.PositionIncrementClosure(grip_force=250.0), success=TEST)  # fmt: skip


def five_kilograms_too_heavy() -> sg.GraspScene:
    """The same cube in the jaw with its usual grip, which bears a third of its weight."""
    return in_jaw(cube(5.0), contact=rubbing(0.5), success=TEST)


def five_millimetres() -> sg.GraspScene:
    """A ball of 5 mm and 0.5 g between the plates."""
    return in_jaw(ball(5e-4, 0.0025), contact=rubbing(0.5), success=TEST)


def three_hundred_millimetres() -> sg.GraspScene:
    """A bar of 300 mm, gripped 100 mm beside its middle."""
    bar = cuboid("bar", (0.04, 0.3, 0.02), 0.15)
    return in_jaw(bar, object_position=(0.0, 0.1, 0.0), contact=rubbing(0.5), success=TEST)


def bar_that_swings_down() -> sg.GraspScene:
    """A bar of 300 mm between two fingertips at its end, about which it swings until it hangs."""
    bar = cuboid("bar", (0.04, 0.3, 0.02), 0.05)
    return taken(bar, "two_finger_planar", object_position=(0.0, 0.13, -0.089),
                 object_euler=(0, 0, 0), success=sg.SuccessCriterion(hold_time=3.0))  # fmt: skip


def in_an_upturned_palm() -> sg.GraspScene:
    """A frictionless ball lies on the upturned palm, enclosed by fingers."""
    return taken(ball(0.3), grasp="power", hand_pose=Pose(quaternion=(0, 1, 0, 0)), gravity=True,
                 object_position=(0, 0, 0.04), contact=rubbing(0.0))  # fmt: skip


def fixed_mount() -> sg.GraspScene:
    """A cube that cannot move."""
    return in_jaw(cube(0.1), object_mount="fixed")


def on_a_slope_pushed_from_one_side() -> sg.GraspScene:
    """A box stays on a slope by friction; two fingers lean on it from above the slope."""
    angle = math.radians(15.0)
    normal = (math.sin(angle), 0.0, math.cos(angle))
    center = (0.0, 0.0, -0.085)
    foot = tuple(value - 0.04 * part for value, part in zip(center, normal, strict=True))
    slope = Wall(name="slope", point=foot, normal=normal, size=(0.045, 0.045), thickness=0.005)
    return taken(cuboid("box", (0.045, 0.045, 0.08), 2.0), "half_hand", object_position=center,
                 object_euler=(0.0, angle, 0.0), gravity=True, contact=rubbing(0.6),
                 surroundings=(slope,))  # fmt: skip


def on_the_back_of_the_hand() -> sg.GraspScene:
    """A plate lies on the back of the palm; the fingers close on nothing."""
    plate = cuboid("plate", (0.04, 0.04, 0.01), 0.1)
    return taken(plate, object_position=(0.0, 0.0, 0.02), object_euler=(0, 0, 0), gravity=True)


_SCENES = (
    (carried_by_a_second_object, "SUPPORTED", "the blue cube is held, the other stands on it"),
    (wedged_in_a_groove, "SUPPORTED", "lies in the groove, fingertips only touch it"),
    (hanging_on_a_hook, "SUPPORTED", "hangs on the pegs, plates only touch it"),
    (held_by_a_moving_arm, "HELD", "follows the arm off the table and aside"),
    (one_gram, "HELD", "stays between the fingertips"),
    (five_kilograms, "HELD", "stays between the plates"),
    (five_kilograms_too_heavy, "DROPPED", "has fallen out of the plates"),
    (five_millimetres, "HELD", "stays between the plates"),
    (three_hundred_millimetres, "HELD", "stays level, gripped beside its middle"),
    (bar_that_swings_down, "SHIFTED", "has swung down and hangs between the fingertips"),
    (in_an_upturned_palm, "HELD", "lies on the palm, fingers close over it"),
    (fixed_mount, "CLOSED", "the plates have closed on it; nothing was tested"),
    (on_a_slope_pushed_from_one_side, "SUPPORTED", "stands on the slope, fingers lean on it"),
    (on_the_back_of_the_hand, "HELD", "lies still on the hand, which bears it, though ungrasped"),
)
ADVERSARIES = {
    function.__name__: Adversary(function, word, reason) for function, word, reason in _SCENES
}
"""All of them, by name."""
