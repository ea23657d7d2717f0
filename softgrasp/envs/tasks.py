"""The learning tasks of ``_gymnasium.TASK_VERSIONS``: one entry of a table for each.

``measure`` is the fraction of the goal that is reached, 0 to 1. The reward of a decision is the
change of a weighted sum of approach, touching fingers and ``measure`` (``progress``), plus 1 for
success; ``task_simulation`` adds them up. Success is a goal that stays reached during ``window``
decisions; where the object has to be held, it must meanwhile move by less than ``MAX_SLIP`` in the
palm frame, wherever the hand moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.object import GraspObject
from softgrasp.envs import task_scenes as scenes
from softgrasp.envs.task_model import SHAPES, Source
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.load import load_object
from softgrasp.mechanics.transforms import Array

MAX_SLIP = 2e-3
"""Largest displacement of a held object in the palm frame during the window of success [m]."""
TOUCH = 0.05
"""Normal force from which on a body of the hand counts as touching [N]."""


@dataclass(eq=False)
class Features:
    """Noise-free quantities of n episodes, world frame where no other is named."""

    joint: Array
    """Positions of hand, wrist and further actuated joints, (n, nj) [rad or m]."""
    target: Array
    """Targets of the actuators, scaled to −1…1 between their limits, (n, nu)."""
    force: Array
    """Normal force of each body of the hand on the object, (n, nb) [N]."""
    object: Array
    """Position of the object, (n, 3) [m]."""
    palm: Array
    """Position of the palm, or of the tip of an arm, (n, 3) [m]."""
    relative: Array
    """Position of the object in the palm frame, (n, 3) [m]."""
    rotation: Array
    """Quaternion (w, x, y, z) of the object in the palm frame, (n, 4)."""
    velocity: Array
    """Velocity of the object in the palm frame, (n, 3) [m/s]."""
    extra: Array
    """Further positions that the task observes, (n, ne) [m or rad]."""
    goal: Array
    """Goal of the episode, (n, ng)."""
    start: Array
    """Position of the object at the start of the episode, (n, 3) [m]."""
    start_rotation: Array
    """Quaternion of the object in the palm frame at the start, (n, 4)."""
    decision: NDArray[np.int64]
    """Number of decisions so far, (n,)."""
    fingers: Array
    """Whether each finger touches the object, (n, nf) of 0 and 1."""

    @property
    def height(self) -> Array:
        """Height of the object above its start, (n,) [m]."""
        return self.object[:, 2] - self.start[:, 2]

    @property
    def angle(self) -> Array:
        """Rotation of the object about y of the palm since the start, (n,) [rad].

        Two components of q·q₀⁻¹; ``transforms.relative_quaternions`` takes four times as long.
        """
        w, x, y, z = self.rotation.T
        w0, x0, y0, z0 = self.start_rotation.T
        real = w * w0 + x * x0 + y * y0 + z * z0
        about_y = y * w0 - w * y0 + x * z0 - z * x0
        return np.asarray(2.0 * np.arctan2(np.copysign(1.0, real) * about_y, np.abs(real)))


Range = tuple[float, float]
Measure = Callable[[Features], Array]


@dataclass(frozen=True)
class Task:
    """A learning task; ranges are uniform and drawn anew for each episode."""

    name: str
    summary: str
    source: Callable[[], Source]
    channels: tuple[str, ...]
    """Actions, as of ``channel_matrix``."""
    measure: Measure
    center: tuple[float, float, float] = (0.0, 0.0, -0.108)
    """Centre of the grasp in the palm frame [m]."""
    holds: bool = True
    """Whether success needs an object that is held without slip."""
    extra: tuple[str, ...] = ()
    """Further observed quantities, as of ``task_model``."""
    shapes: tuple[str, ...] = ("cube",)
    """Shapes of the object; empty where it is always that of the scene."""
    objects: Mapping[str, GraspObject] = field(default_factory=dict)
    """Objects with meshes among the shapes, by their names."""
    size: Range = (0.018, 0.022)
    """Half-width of the object [m]."""
    table: float | None = None
    """World z of the surface on which the object stands at the start [m]."""
    density: Range = (400.0, 900.0)
    friction: Range = (0.8, 1.2)
    """Factor of the friction of the object [–]."""
    position: float = 0.0
    """Largest offset of the object along x and along y [m]."""
    yaw: float = 0.0
    """Largest rotation of the object about z at the start [rad]."""
    push: float = 0.0
    """Largest acceleration along each axis, with which a lifted object is pushed [m/s²]."""
    wrist: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Offset of the wrist at the start [m]."""
    wrist_range: float = 0.0
    """Largest further offset of the wrist along x and along y [m]."""
    goal: tuple[Range, ...] = ()
    """Range of each number of the goal."""
    signed: bool = False
    """Whether the sign of the goal is drawn, too."""
    goal_scale: float = 10.0
    """Factor of the goal in observations, which makes it of order 1."""
    moved: tuple[str, ...] = ()
    """Bodies of the surroundings or further objects that are displaced with the first two numbers
    of a random offset of at most ``moved_range`` along x and y."""
    moved_range: float = 0.0
    gravity_from: int = 0
    """Decision from which on gravity acts; it grows during ten decisions."""
    preparation: tuple[tuple[float, ...], int] = ((), 0)
    """Action, and for how many decisions it is applied before the episode begins."""
    achieved: Measure | None = None
    """What a goal environment compares with the goal, (n, ng); None where there is none."""
    tolerance: float = 5e-3
    """Largest distance of what is achieved from a goal that is reached [m or rad]."""
    weights: tuple[float, float, float] = (0.3, 0.2, 0.5)
    """Weights of approach, touching fingers and goal."""
    steps: int = 100
    """Decisions of 20 ms after which an episode is truncated."""
    window: int = 10
    """Decisions during which the goal stays reached for success."""
    lowest: float = -1.0
    """Height of the object above its start below which the episode is lost [m]."""
    follows: bool = False
    """Whether the goal is the position of the target body instead of an object to be held."""


def _fraction(value: Array, goal: Array | float) -> Array:
    return np.minimum(np.maximum(value / goal, 0.0), 1.0)


def _closeness(distance: Array, tolerance: float, scale: float) -> Array:
    """Return 1 within a tolerance [m], falling to 0 with a length scale [m]."""
    return np.asarray(np.exp(-np.maximum(distance - tolerance, 0.0) / scale))


def _lifted(f: Features) -> Array:
    return _fraction(f.height, f.goal[:, 0])


def _hold_gently(f: Features) -> Array:
    """Return closeness to the force of the goal [N], under all of gravity and with two fingers."""
    error = np.abs(f.force.sum(axis=1) / f.goal[:, 0] - 1.0)
    loaded = (f.decision >= HOLD_FROM + 10) * (f.fingers.sum(axis=1) >= 2.0)
    return np.asarray(loaded * _closeness(error, FORCE_TOLERANCE, 0.5))


def _stop_at(value: Array, goal: Array) -> Array:
    """Return the fraction of a signed goal that is reached; less where it is exceeded."""
    error = np.abs(value / goal - 1.0)
    return np.where(error < ANGLE_TOLERANCE, 1.0, np.maximum(1.0 - error, 0.0))


def _rotated(f: Features) -> Array:
    return _stop_at(f.angle, f.goal[:, 0])


def _regrasped(f: Features) -> Array:
    close = _closeness(np.abs(f.relative[:, 2] - f.goal[:, 0]), 4e-3, 0.01)
    reached = 0.6 * close + 0.4 * close * _fraction(f.height, 0.03)
    return np.asarray(reached * (f.force.sum(axis=1) < 40.0))


def _pressed(f: Features) -> Array:
    return np.asarray(_lifted(f) * (f.force.max(axis=1) < 8.0))


def _reached(f: Features) -> Array:
    return _closeness(np.linalg.norm(f.object - f.palm, axis=1), 0.03, 0.3)


def _inserted(f: Features) -> Array:
    center = f.extra[:, :2] - [scenes.HOLE_OFFSET, 0.0]
    aside = np.linalg.norm(f.object[:, :2] - center, axis=1)
    depth = scenes.HOLE_TOP - (f.object[:, 2] - 0.035)
    return 0.4 * _closeness(aside, 3e-3, 0.01) + 0.6 * _fraction(np.maximum(depth, 0), f.goal[:, 0])


def _valve_rotated(f: Features) -> Array:
    return _stop_at(f.extra[:, 0], f.goal[:, 0])


def _height(f: Features) -> Array:
    return f.height[:, None]


def _angle(f: Features) -> Array:
    return f.angle[:, None]


def _knob_angle(f: Features) -> Array:
    return f.extra[:, :1]


def _tip(f: Features) -> Array:
    return f.palm


HOLD_FROM = 45
ANGLE_TOLERANCE = 0.1
"""Relative error of a rotation that is still success [–]."""
FORCE_TOLERANCE = 0.2
"""Relative error of a held force that is still success [–]."""
WRIST = ("wrist_x@0.2", "wrist_y@0.2", "wrist_z@0.2")
FINGERS = ("F?_J?",)
LIFT: dict[str, Any] = {
    "channels": (*WRIST, *FINGERS),
    "table": scenes.TABLE_TOP,
    "wrist": (0.0, 0.0, 0.04),
    "wrist_range": 0.015,
    "goal": ((0.04, 0.06),),
    "achieved": _height,
    "steps": 150,
    "lowest": -0.05,
}

TASKS = {
    task.name: task
    for task in (
        Task(
            "CloseAndHold", "Hold a free object against gravity with a given force.",
            scenes.held, ("F1_J?", "F2_J?", "F3_J?", "F4_J?"), _hold_gently, goal=((4.0, 16.0),),
            goal_scale=0.1, window=15,
            shapes=("cube", "ball", "can"), position=0.004, gravity_from=HOLD_FROM, lowest=-0.05,
            center=(0.0, 0.0, -0.105),
        ),
        Task(
            "Lift", "Lift an object off a table.", scenes.on_table, measure=_lifted,
            shapes=("cube", "can"), **LIFT,
        ),
        Task(
            "LiftAny", "Lift an object of a set off a stand with any hand, against pushes.",
            scenes.on_stand, (*WRIST, "*"), _lifted,
            shapes=("cube", "slab", "can", "ball", "egg", "pill"), position=0.01, yaw=3.14,
            push=15.0, size=(0.014, 0.026),
            friction=(0.15, 0.7), goal=((0.04, 0.06),), achieved=_height, steps=150, lowest=-0.05,
        ),
        Task(
            "InHandRotation", "Roll a held ball between two fingertips.", scenes.held,
            ("F1_J1@1", "F1_J2@1", "F3_J1@1", "F3_J2@1"), _rotated, shapes=("ball",),
            size=(0.023, 0.027), goal=((0.15, 0.25),), signed=True,
            achieved=_angle, tolerance=0.02,
            preparation=((0.25, 0.6, 0.25, 0.6), 50), lowest=-0.05, center=(0.0, 0.0, -0.105),
        ),
        Task(
            "Regrasp", "Set an object down, grasp it at another height and lift it again.",
            scenes.on_table, (*WRIST[2:], *FINGERS), _regrasped, shapes=("can",),
            table=scenes.TABLE_TOP, wrist=(0.0, 0.0, 0.018), goal=((-0.108, -0.104),),
            preparation=((0.0, 1.0), 40), steps=200, lowest=-0.05,
        ),
        Task(
            "SoftLift", "Lift an object with three pneumatic fingers and limited forces.",
            scenes.soft_on_table, (*WRIST[2:], "F1_pressure", "F2_pressure", "F3_pressure"),
            _pressed, center=(0.0, 0.0, -0.06), shapes=("cube", "ball"), size=(0.022, 0.028),
            density=(150.0, 250.0), table=-0.085, wrist=(0.0, 0.0, 0.01), goal=((0.02, 0.03),),
            achieved=_height,
            steps=250, lowest=-0.05,
        ),
        Task(
            "SoftReach", "Bring the tip of a continuum arm to a target.", scenes.soft_arm,
            ("segment1_*1|segment2_*1|segment3_*1", "segment1_*2|segment2_*2|segment3_*2",
             "segment1_*3|segment2_*3|segment3_*3"), _reached, holds=False,
            shapes=(), follows=True, goal_scale=1.0,
            achieved=_tip, tolerance=0.03, goal=((0.3, 0.8), (-3.1416, 3.1416)), center=(0, 0, 0),
            weights=(0.0, 0.0, 1.0), density=(1.0, 1.0), friction=(1.0, 1.0), steps=150,
        ),
        Task(
            "ClutteredPick", "Pick an object from between three cans.", scenes.cluttered,
            measure=_lifted, extra=("object2|palm", "object3|palm", "object4|palm"),
            moved=("object2", "object3", "object4"), moved_range=0.004, **LIFT,
        ),
        Task(
            "Insertion", "Insert a held peg into a hole with the wrist.", scenes.above_hole,
            (*WRIST, *FINGERS), _inserted, extra=("block",), shapes=(), goal=((0.012, 0.018),),
            moved=("block", "block2", "block3", "block4"), moved_range=0.008, holds=False,
            preparation=((0.0, 0.0, 0.0, 1.0), 30), gravity_from=0, lowest=-0.1,
            center=(0.0, 0.0, -0.12), steps=150, density=(1.0, 1.0),
        ),
        Task(
            "Valve", "Grasp a knob on a hinge and rotate it.", scenes.above_valve,
            ("wrist_z@0.2", "wrist_turn_z@1", *FINGERS), _valve_rotated, extra=("valve",),
            holds=False, shapes=(), density=(1.0, 1.0), wrist=(0.0, 0.0, 0.03),
            goal=((0.2, 0.4),), signed=True,
            achieved=_knob_angle, tolerance=0.03, steps=150, center=(0.0, 0.0, -0.105),
        ),
        Task(
            "TwoHands", "Lift a beam with two grippers on wrists of their own.", scenes.two_hands,
            ("wrist_z@0.2", "second_wrist_z@0.2", "left_*|right_*",
             "second_left_*|second_right_*"), _lifted, extra=("object|second_palm",),
            center=(0.0, -0.1, -0.095), shapes=(), density=(1.0, 1.0), wrist=(0.0, 0.0, 0.02),
            goal=((0.03, 0.05),), achieved=_height, steps=150, lowest=-0.05,
        ),
    )
}  # fmt: skip
"""All tasks by their names."""


MESHES = (".obj", ".stl", ".ply", ".yaml")
"""Suffixes of the objects of a folder."""


def variant(task: Task, hand: Any = None, objects: Any = None) -> Task:
    """Return a task with another hand, and with other objects.

    Args:
        task: The task.
        hand: Name or file of the hand; None for that of the task.
        objects: Names of shapes, or a folder of meshes or object files; None for the task's.

    Raises:
        DescriptionError: The task has one hand or one object only, or there is no such object.
        BuildError: The hand has no grasp for a cube.
    """
    if hand is not None and task.source is not scenes.on_stand:
        raise DescriptionError(f"expected none in the task {task.name}, found {hand}", field="hand")
    if task.source is scenes.on_stand:
        source = scenes.on_stand(hand)
        task = replace(task, table=source.table, center=source.center,
                       source=lambda: replace(source, spec=source.spec.copy()))  # fmt: skip
    return task if objects is None else _with_objects(task, objects)


def _with_objects(task: Task, objects: Any) -> Task:
    if not task.shapes:
        raise DescriptionError(
            f"expected none in the task {task.name}, found {objects}", field="objects"
        )
    if not isinstance(objects, str | Path):
        if not isinstance(objects, Sequence) or not objects:
            raise DescriptionError(f"expected shapes, found {objects!r}", field="objects")
        for name in objects:
            if name not in SHAPES:
                hint = did_you_mean(str(name), SHAPES)
                raise DescriptionError(f"expected a shape, found {name!r}; {hint}", field="objects")
        return replace(task, shapes=tuple(objects))
    entries = Path(objects).glob("*")
    files = sorted(entry for entry in entries if entry.is_dir() or entry.suffix.lower() in MESHES)
    if not files:
        expected = f"a folder of objects ({', '.join(MESHES)})"
        raise DescriptionError(f"expected {expected}, found '{objects}'", field="objects")
    if len({file.stem for file in files}) < len(files):
        message = f"expected different names of the objects in '{objects}', found one twice"
        raise DescriptionError(message, field="objects")
    known = {file.stem: load_object(file, density=1.0) for file in files}
    return replace(task, shapes=tuple(known), objects=known)


def progress(task: Task, features: Features, fraction: Array) -> Array:
    """Compute the weighted progress of episodes, from 0 to 1, (n,).

    Args:
        task: The task.
        features: Quantities of n episodes.
        fraction: Fraction of the goal that is reached, (n,).
    """
    near, touch, reached = task.weights
    offset = features.relative - np.array(task.center)
    away = np.sqrt((offset * offset).sum(axis=1))
    fingers = features.fingers.sum(axis=1) / max(features.fingers.shape[1], 1)
    gained = near * np.exp(-away / 0.05) + touch * fingers + reached * fraction
    return np.asarray(gained)
