"""Scenes whose outcome words were wrong, with the right ones.

In most of them something else than the hand bears the object, and in three nothing loads it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import softgrasp as sg
from softgrasp.description import Block, PlacedObject, Table
from tests.support.jaw import cube, in_jaw

LOW = -0.085
"""Height of objects in the grasp of ``four_finger`` and ``half_hand`` [m]."""
TEST = sg.SuccessCriterion()
NO_LOAD = "NO LOAD"
"""Any word, as long as the result states that nothing loaded the object."""


class Case(NamedTuple):
    """A scene and its right outcomes."""

    scene: Callable[[], sg.GraspScene]
    words: tuple[str, ...]
    reason: str
    """What an observer sees."""


def taken(described: sg.GraspObject, hand: str = "four_finger", **changes: Any) -> sg.GraspScene:
    """A precision grasp of a shipped hand, with a hold test."""
    base: dict[str, Any] = {"hand": sg.load_hand(hand), "object": described,
                            "grasp": "precision", "success": TEST}  # fmt: skip
    return sg.GraspScene(**(base | changes))


def ball(mass: float, radius: float = 0.03) -> sg.GraspObject:
    """A ball of 60 mm."""
    return sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), mass=mass)


def block(mass: float, size: tuple[float, float, float] = (0.06, 0.06, 0.06)) -> sg.GraspObject:
    """A block; the default is a cube of 60 mm."""
    return sg.GraspObject(name="block", shape=sg.Cuboid(size=size), mass=mass)


def rubbing(friction: float) -> sg.Contact:
    """The default contact with another coefficient of friction."""
    return sg.Contact(static_friction=friction)


def pedestal(half: float, width: float = 0.02) -> Block:
    """A column below an object in the grasp, of half its height [m]."""
    center = (0.0, 0.0, LOW - half - 0.05)
    return Block(name="pedestal", position=center, size=(width, width, 0.1))


def on_pedestal(described: sg.GraspObject, friction: float, **changes: Any) -> sg.GraspScene:
    """An object of 60 mm on a column, between fingertips."""
    base: dict[str, Any] = {
        "object_position": (0, 0, LOW), "object_euler": (0, 0, 0), "gravity": True,
        "surroundings": (pedestal(0.03),), "contact": rubbing(friction),
    }  # fmt: skip
    return taken(described, **(base | changes))


def heavy_cuboid_on_table() -> sg.GraspScene:
    """``grasp four_finger cuboid --table --gravity --hold --mass 2 --friction 0.05``."""
    return taken(sg.load_object("cuboid").weighing(mass=2.0), gravity=True, grasp="power",
                 surroundings=(Table(),), contact=rubbing(0.05))  # fmt: skip


def one_sided_push() -> sg.GraspScene:
    """Two fingers push a heavy box from one side; friction of the ground stops it."""
    return taken(block(5.0, (0.045, 0.045, 0.08)), "half_hand", object_position=(0, 0, LOW),
                 object_euler=(0, 0, 0), gravity=True,
                 surroundings=(pedestal(0.04, 0.03),))  # fmt: skip


def slipped_onto_pedestal() -> sg.GraspScene:
    """A cube slips by 3 mm onto a column and lies there, within a limit of 10 mm."""
    column = Block(name="pedestal", position=(0, 0, -0.073), size=(0.02, 0.02, 0.1))
    return in_jaw(cube(1.0), contact=rubbing(0.02), surroundings=(column,),
                  success=TEST.replace(max_drop=0.01))  # fmt: skip


def planar_out_of_plane() -> sg.GraspScene:
    """A planar object whose load acts across its plane, so that the mount bears it."""
    return taken(ball(0.1), "two_finger_planar", object_mount="planar", contact=rubbing(0.05),
                 success=TEST.replace(gravity=(0.0, -9.81, -0.01)))  # fmt: skip


def unloaded(**test: Any) -> sg.GraspScene:
    """A slippery ball in a test without load."""
    return taken(ball(0.1), contact=rubbing(0.01), success=sg.SuccessCriterion(**test))


def shipped(name: str, tested: bool = True, **changes: Any) -> sg.GraspScene:
    """A shipped scene, as it is or without its hold test."""
    scene = sg.load_scene(name)
    return scene.replace(**({} if tested else {"success": None, "lift": None}), **changes)


def heavy_against_wall() -> sg.GraspScene:
    """``against_wall`` with 1.1 kg, which two fingers cannot carry."""
    scene = sg.load_scene("against_wall")
    return scene.replace(object=scene.object.weighing(mass=1.1), success=TEST)


def up_a_rough_wall() -> sg.GraspScene:
    """``up_the_wall`` with twice the friction of the wall: the object lags by 10 mm."""
    scene = sg.load_scene("up_the_wall")
    table, wall = scene.surroundings
    return scene.replace(surroundings=(table, wall.replace(contact=rubbing(0.3))))


def between_two_objects(tested: bool) -> sg.GraspScene:
    """A ball and a box in a row between the fingers, each touched by one pair of them."""
    other = PlacedObject(object=sg.load_object("cuboid"), position=(0.0276, 0, -0.08), name="box")
    return taken(sg.load_object("sphere_25"), object_position=(-0.02, 0, -0.08), objects=(other,),
                 success=TEST if tested else None)  # fmt: skip


def moved_into_table() -> sg.GraspScene:
    """A grasped ball whose wrist is commanded 100 mm down into the table right below it."""
    down = {"type": "move", "displacement": (0.0, 0.0, -0.1), "time": 1.0}
    return taken(sg.load_object("sphere"), gravity=True, surroundings=(Table(),),
                 success=sg.SuccessCriterion(motion=(down,), max_drop=0.02))  # fmt: skip


def dropped_later() -> sg.GraspScene:
    """A gripped cube of 1 kg that falls out of slippery plates in the hold test."""
    return in_jaw(cube(1.0), contact=rubbing(0.02), success=TEST)


def settled_lower() -> sg.GraspScene:
    """A cylinder of 0.1 kg that moves by 0.9 mm when it is loaded and then rests."""
    return taken(sg.load_object("cylinder").weighing(density=2300.0), "allegro_right")


ISSUE: dict[str, Case] = {
    "cuboid of 2 kg on a table, µ 0.05": Case(
        heavy_cuboid_on_table, ("SUPPORTED",), "the table carries it"),
    "block of 5 kg on a pedestal, µ 0.05": Case(
        lambda: on_pedestal(block(5.0), 0.05), ("SUPPORTED",), "the pedestal carries it"),
    "block of 5 kg on a pedestal, µ 0": Case(
        lambda: on_pedestal(block(5.0), 0.0), ("SUPPORTED",), "the pedestal carries it"),
    "ball of 1 kg on a pedestal, µ 0": Case(
        lambda: on_pedestal(ball(1.0), 0.0), ("SUPPORTED",), "the pedestal carries it"),
    "one-sided push against friction of the ground": Case(
        one_sided_push, ("SUPPORTED", "MISSED"), "pushed from one side, the ground carries it"),
    "slips by 3 mm onto a pedestal": Case(
        slipped_onto_pedestal, ("SUPPORTED", "DROPPED"), "lies on the pedestal at the end"),
    "planar mount, load across the plane": Case(
        planar_out_of_plane, ("SUPPORTED",), "the mount bears the load"),
    "test without gravity (hold phase)": Case(
        lambda: unloaded(gravity=None, motion=({"type": "hold", "time": 0.5},)),
        (NO_LOAD,), "nothing loads it"),
    "test with gravity (0, 0, 0)": Case(
        lambda: unloaded(gravity=(0.0, 0.0, 0.0)), (NO_LOAD,), "nothing loads it"),
    "test with gravity 1e-6 m/s²": Case(
        lambda: unloaded(gravity=(0.0, 0.0, -1e-6)), (NO_LOAD,), "nothing loads it"),
    "against_wall": Case(
        lambda: shipped("against_wall").replace(success=TEST), ("SUPPORTED",),
        "friction of the wall bears it, too"),
    "against_wall, no test": Case(
        lambda: shipped("against_wall", False), ("CLOSED",), "pressed against the wall"),
    "against_wall with 1.1 kg": Case(
        heavy_against_wall, ("SHIFTED", "SUPPORTED", "DROPPED"),
        "slips down the wall, where it stays or falls"),
    "corner": Case(
        lambda: shipped("corner").replace(success=TEST.replace(gravity=(6.0, 6.0, -9.81))),
        ("SUPPORTED",), "the table carries its weight"),
    "corner, no test": Case(
        lambda: shipped("corner", False), ("CLOSED",), "pressed into the corner"),
    "up_the_wall": Case(
        lambda: shipped("up_the_wall"), ("HELD",), "the hand lifts it along the wall"),
    "up_the_wall, no lift": Case(
        lambda: shipped("up_the_wall", False), ("CLOSED",), "pressed against the wall"),
    "up a rougher wall, µ 0.3": Case(
        up_a_rough_wall, ("SHIFTED", "SLIPPING", "SUPPORTED"), "lifted, but lags in the fingers"),
    "settled by 0.9 mm, then at rest": Case(
        settled_lower, ("SHIFTED",), "lower in the hand, and at rest there"),
    "slips out of slippery plates": Case(dropped_later, ("DROPPED",), "falls"),
    "ball and box gripped together": Case(
        lambda: between_two_objects(True), ("HELD", "SUPPORTED"), "held by finger and box"),
    "ball and box gripped together, no test": Case(
        lambda: between_two_objects(False), ("CLOSED",), "pressed against the box"),
}  # fmt: skip
"""Scenes of the outcome words, by name."""
