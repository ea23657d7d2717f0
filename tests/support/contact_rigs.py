"""Bodies that fall, are thrown, slide and oscillate on contacts of the package's own models.

The models are compiled from scenes whose hand is out of reach, and stepped by MuJoCo, so that what
is measured is the conversion of contacts alone. Closed forms of F = K·δ + D·δ̇ ≥ 0 and of
Coulomb's law stand beside them.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import mujoco
import numpy as np
from scipy.integrate import solve_ivp

import softgrasp as sg
from tests.support.scenes import pinch

G, RADIUS = 9.81, 0.03
PLACE = (1.0, 0.0, 0.0)
"""Where the object is, out of the hand's reach [m]."""
FINE = 1e-5
"""Converged time step, at which the targets hold [s]."""
DEPTH, DURATION, RESTITUTION = 0.05, 0.05, 0.01
"""Targets of a bounce: relative, relative, absolute."""
PERIOD, DECREMENT = 0.02, 0.05
"""Targets of an oscillation, relative."""
SLIP, SLIP_FLOOR = 0.1, 2e-6
"""Targets of a slip: relative, and what is allowed in any case [m]."""
BREAKAWAY = 0.02
"""Target of the force at which sliding begins, relative."""
RISE = 2e-4
"""Target of the rise of a sliding box [m]."""
CREEP = 1e-6
"""Target of the creep at 95 % of the friction limit [m/s]."""


class Impact(NamedTuple):
    """Largest depth [m], duration [s] and restitution [–] of a bounce."""

    depth: float
    duration: float
    restitution: float


def ball(mass: float) -> sg.GraspObject:
    """Return a ball of 30 mm radius."""
    density = mass / (4.0 / 3.0 * math.pi * RADIUS**3)
    return sg.GraspObject(name="ball", shape=sg.Sphere(radius=RADIUS), density=density)


def box(mass: float) -> sg.GraspObject:
    """Return a flat box of 60 × 60 × 30 mm."""
    shape = sg.Cuboid(size=(0.06, 0.06, 0.03))
    return sg.GraspObject(name="box", shape=shape, density=mass / (0.06 * 0.06 * 0.03))


def engine(
    described: sg.GraspObject, walls: list[sg.description.Wall], timestep: float, **changes: Any
) -> tuple[mujoco.MjModel, mujoco.MjData, int, int]:
    """Compile a scene; return model, state, and first indices of the object's qpos and qvel."""
    scene = pinch(
        object=described,
        object_position=PLACE,
        object_euler=(0, 0, 0),
        surroundings=tuple(walls),
        timestep=timestep,
        control_period=timestep,
        **changes,
    )
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    joint = model.joint("object")
    return model, data, int(joint.qposadr[0]), int(joint.dofadr[0])


def floor(depth: float = 0.0, below: float = RADIUS) -> sg.description.Wall:
    """Return a floor below the object's place, which is ``depth`` deep in it."""
    point = (PLACE[0], PLACE[1], PLACE[2] - below + depth)
    return sg.description.Wall(point=point, normal=(0, 0, 1), size=(0.8, 0.8))


def bounce(
    mass: float, timestep: float, speed: float = 0.1, *, gap: float = 0.0, **changes: Any
) -> Impact:
    """Throw a ball at the floor.

    It starts above it by ``gap``, in steps of its way. Without a gap the whole first step goes into
    the floor before a force acts, which is the worst case.
    """
    model, data, q, v = engine(ball(mass), [floor()], timestep, gravity=False, **changes)
    data.qvel[v + 2] = -speed
    start, depth, steps = data.qpos[q + 2], 0.0, 0
    data.qpos[q + 2] += gap * speed * timestep
    while data.qvel[v + 2] < 0.0 or data.ncon:
        mujoco.mj_step(model, data)
        depth = max(depth, start - data.qpos[q + 2])
        steps += int(data.nefc > 0 and data.efc_force[0] > 0.0)
    return Impact(depth, steps * timestep, float(data.qvel[v + 2]) / speed)


def exact_bounce(mass: float, stiffness: float, damping: float, speed: float = 0.1) -> Impact:
    """Integrate m·δ̈ = −(K·δ + D·δ̇) until the force is zero."""

    def force(_: float, state: Any) -> float:
        return float(stiffness * state[0] + damping * state[1])

    def rate(time: float, state: Any) -> list[float]:
        return [state[1], -force(time, state) / mass]

    force.terminal, force.direction = True, -1
    found = solve_ivp(
        rate, (0.0, 1.0), [0.0, speed], events=force, rtol=1e-10, atol=1e-14, max_step=1e-4
    )
    return Impact(float(found.y[0].max()), float(found.t[-1]), float(-found.y[1, -1]) / speed)


def oscillation(mass: float, timestep: float, load: float, **changes: Any) -> tuple[float, float]:
    """Return period [s] and logarithmic decrement of a loaded ball that starts off its rest."""
    stiffness = 1e5
    model, data, q, _ = engine(
        ball(mass), [floor()], timestep, gravity=(0.0, 0.0, -load), **changes
    )
    rest = mass * load / stiffness
    surface = data.qpos[q + 2]
    data.qpos[q + 2] = surface - 1.3 * rest
    depths = []
    for _ in range(round(0.13 / timestep)):
        mujoco.mj_step(model, data)
        depths.append(surface - data.qpos[q + 2] - rest)
    away = np.array(depths)
    falling = np.flatnonzero((away[:-1] > 0.0) & (away[1:] <= 0.0))
    crossings = falling + away[falling] / (away[falling] - away[falling + 1])
    peaks = [away[first:last].max() for first, last in pairwise(falling)]
    return float(crossings[1] - crossings[0]) * timestep, math.log(peaks[0] / peaks[1])


def exact_oscillation(mass: float, stiffness: float, damping: float) -> tuple[float, float]:
    """Return period [s] and logarithmic decrement of m·δ̈ = −(K·δ + D·δ̇)."""
    ratio = 0.5 * damping / math.sqrt(stiffness * mass)
    frequency = math.sqrt(stiffness / mass * (1.0 - ratio**2))
    return 2.0 * math.pi / frequency, math.pi * damping / mass / frequency


def pressed(
    mass: float, force: float, timestep: float, **changes: Any
) -> tuple[mujoco.MjModel, mujoco.MjData, int, int]:
    """Return a ball at rest between two walls that press it with a force."""
    depth = force / 1e5
    walls = [
        sg.description.Wall(
            point=(PLACE[0] + side * (RADIUS + 0.001), PLACE[1], PLACE[2]),
            normal=(-side, 0, 0),
            size=(0.5, 0.5),
        )
        for side in (-1, 1)
    ]
    model, data, q, v = engine(ball(mass), walls, timestep, gravity=False, **changes)
    for geom in range(model.ngeom):  # the walls move in only now: overlaps are refused
        if model.body(int(model.geom_bodyid[geom])).name.startswith("wall"):
            side = math.copysign(1.0, model.body_pos[model.geom_bodyid[geom]][0] - PLACE[0])
            model.body_pos[model.geom_bodyid[geom]][0] -= side * (0.001 + depth)
    for _ in range(round(0.02 / timestep)):
        mujoco.mj_step(model, data)
    return model, data, q, v


def slip(mass: float, force: float, speed: float, timestep: float, **changes: Any) -> float:
    """Return how far a pressed ball slips after a kick along the walls [m]."""
    model, data, q, v = pressed(mass, force, timestep, **changes)
    start = float(data.qpos[q + 2])
    data.qvel[v + 2] = speed
    mujoco.mj_step(model, data, round(0.06 / timestep))
    return float(data.qpos[q + 2]) - start


def coulomb_slip(mass: float, force: float, speed: float) -> float:
    """Return how far a ball between two walls slips by Coulomb's law, µ = 0.5 [m]."""
    return speed**2 * mass / (2.0 * 2.0 * 0.5 * force)


def breakaway(mass: float, force: float, timestep: float, **changes: Any) -> float:
    """Return the load that moves a pressed ball at 5 mm/s over its friction limit, µ = 0.5 [–]."""
    model, data, _, v = pressed(mass, force, timestep, **changes)
    body, fraction = model.body("object").id, 0.9
    while fraction < 1.1 and abs(data.qvel[v + 2]) < 5e-3:
        data.xfrc_applied[body, 2] = fraction * 2.0 * 0.5 * force
        mujoco.mj_step(model, data)
        fraction += timestep  # the limit in a second
    return fraction


def creep(mass: float, force: float, timestep: float, **changes: Any) -> float:
    """Return the speed of a pressed ball that is loaded with 95 % of its friction limit [m/s]."""
    model, data, q, _ = pressed(mass, force, timestep, **changes)
    data.xfrc_applied[model.body("object").id, 2] = 0.95 * 2.0 * 0.5 * force
    mujoco.mj_step(model, data, round(0.05 / timestep))
    before = float(data.qpos[q + 2])
    mujoco.mj_step(model, data, round(0.2 / timestep))
    return (float(data.qpos[q + 2]) - before) / 0.2


def slide(speed: float, timestep: float, **changes: Any) -> tuple[float, float]:
    """Return how far a box slides on the floor, and how high it rises while it does [m]."""
    model, data, q, v = engine(box(0.283), [floor(0.0, 0.015)], timestep, gravity=True, **changes)
    for _ in range(round(0.05 / timestep)):
        mujoco.mj_step(model, data)
    start, rest, height = float(data.qpos[q]), float(data.qpos[q + 2]), 0.0
    data.qvel[v] = speed
    for _ in range(round(1.2 * speed / (0.5 * G) / timestep) + 20):
        mujoco.mj_step(model, data)
        height = max(height, float(data.qpos[q + 2]) - rest)
    return float(data.qpos[q]) - start, height
