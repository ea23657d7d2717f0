"""A hand from two Denavit-Hartenberg tables, written in Python and saved as MJCF."""

from math import pi
from pathlib import Path

import softgrasp as sg

rows = (
    sg.description.Phalanx(a=0.045, limits=(-0.6, 1.6), start=-0.4, radius=0.008, density=1200),
    sg.description.Phalanx(a=0.030, limits=(-0.1, 1.6), radius=0.008, density=1200),
)


def finger(name: str, x: float, rotation: float) -> sg.description.Finger:
    """A finger that hangs down and closes towards the middle."""
    down = sg.load_hand("four_finger").fingers[0 if rotation > 0 else 1].base.quaternion
    base = sg.Pose(position=(x, 0, 0), quaternion=down)
    return sg.description.Finger(name=name, base=base, convention="standard", phalanges=rows)


preset = sg.description.GraspPreset(
    center=(0, 0, -0.065), rates=(1.5, 0.2), object_euler=(pi / 2, 0, 0)
)
hand = sg.Hand(
    name="pincher",
    fingers=(finger("left", -0.04, -1), finger("right", 0.04, +1)),
    grasps=sg.description.Grasps(power=preset, precision=preset),
)
bar = sg.GraspObject(name="bar", shape=sg.Cylinder(radius=0.02, height=0.06), density=700)
scene = sg.GraspScene(hand=hand, object=bar, object_mount="planar")
print(sg.simulate(scene).message)
Path("out").mkdir(exist_ok=True)
Path("out/pincher.xml").write_text(sg.to_mjcf(scene), encoding="utf-8")
