"""The finger of paper 000 in free vibration: our stepping against the raw engine and other engines.

All joints are bent by 0.15 rad and released for one second without gravity, at the largest time
step of each engine that is stable with this finger. PyBullet (a URDF, springs and dampers from
Python as in SoMo) and PyElastica (a uniform rod of the same length, mass and compliance) are
measured where they can be imported; they are no dependencies. Ways take turns, and each is divided
by the raw engine of its own round, so a busy machine slows all alike. The last column tells how far
the joint angles are off after a tenth of a second, so that no engine is timed on another task.

    python benchmarks/soft_finger_speed.py
"""

from __future__ import annotations

import io
import math
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import mujoco
import numpy as np

import softgrasp as sg
from softgrasp.model.soft_finger import finger_model

SECONDS, LONG, SHORT = 1.0, 11.0, 0.1
"""Simulated time, that by which the cost of stepping alone is known, and that after which the
angles are compared, before they have died away [s]."""
BENT = 0.15
"""[rad]"""
TIMESTEP, PYBULLET_TIMESTEP, PYELASTICA_TIMESTEP = 1e-3, 5e-5, 4e-4
"""Implicit dampers allow MuJoCo its step; PyBullet has explicit ones; PyElastica has to resolve
waves along and across the rod [s]."""
EXACT_TIMESTEP = 1e-6
ELEMENTS = 8
RAW, ALL, STEPPING = "raw mj_step, 1 ms", "move_finger, all of it", "move_finger, stepping"
ROUNDS = 5

Way = Callable[[float], np.ndarray | None]
"""Runs for a simulated time [s]; final joint angles, or None where the engine has no joints."""


def main() -> None:
    """Measure and print a table."""
    finger = sg.io.load_finger("paper000")
    ways = {RAW: raw(finger), ALL: partial(moved, finger)} | peers(finger)
    ends = {name: way(SHORT) for name, way in ways.items()}  # also what is compiled and loaded
    ends[STEPPING] = ends[ALL]
    exact = moved(finger, SHORT, EXACT_TIMESTEP)
    rounds = [timed(ways) for _ in range(ROUNDS)]
    print(f"{'':<32}{'times real time':>16}{'time over that of raw':>30}{'error [rad]':>13}")
    for name in sorted(rounds[0], key=lambda name: median(taken[name] for taken in rounds)):
        ratios = [taken[name] / taken[RAW] for taken in rounds]
        speed = SECONDS / median(taken[name] for taken in rounds)
        spread = f"{median(ratios):.2f} ({min(ratios):.2f} ... {max(ratios):.2f})"
        print(f"{name:<32}{speed:>16.1f}{spread:>30}{error(ends[name], exact):>13}")


def stepping_share() -> float:
    """Speed of our stepping over that of the raw engine in the same run."""
    finger = sg.io.load_finger("paper000")
    ways: dict[str, Way] = {RAW: raw(finger), ALL: partial(moved, finger)}
    for way in ways.values():
        way(SHORT)
    rounds = [timed(ways) for _ in range(ROUNDS)]
    return median(taken[RAW] / taken[STEPPING] for taken in rounds)


def peers(finger: sg.SoftFinger) -> dict[str, Way]:
    """Other engines that can be imported here."""
    result = {}
    for package, name, make in (
        ("pybullet", "PyBullet, 0.05 ms", pybullet_way),
        ("elastica", f"PyElastica, {ELEMENTS} elements, 0.4 ms", elastica_way),
    ):
        if find_spec(package):
            result[name] = make(finger)
        else:
            print(f"{package} cannot be imported, so it is left out")
    return result


def timed(ways: dict[str, Way]) -> dict[str, float]:
    """Wall time of every way for a second, one after the other [s]."""
    taken = {name: seconds(way, SECONDS) for name, way in ways.items()}
    whole = seconds(ways[ALL], LONG)
    taken[STEPPING] = (whole - taken[ALL]) * SECONDS / (LONG - SECONDS)
    return taken


def seconds(way: Way, simulated: float) -> float:
    """Wall time of a run [s]."""
    begin = time.perf_counter()
    way(simulated)
    return time.perf_counter() - begin


def error(result: np.ndarray | None, exact: np.ndarray) -> str:
    """Largest error of the joint angles."""
    return "-" if result is None else f"{np.abs(result - exact).max():.1e}"


def raw(finger: sg.SoftFinger) -> Way:
    """MuJoCo alone, all steps in one call."""
    model = finger_model(finger)
    model.opt.timestep = TIMESTEP
    model.opt.gravity[:] = 0.0

    def run(simulated: float) -> np.ndarray:
        data = mujoco.MjData(model)
        data.qpos[:] = BENT
        mujoco.mj_step(model, data, nstep=round(simulated / TIMESTEP))
        return data.qpos.copy()

    return run


def moved(finger: sg.SoftFinger, simulated: float, timestep: float = TIMESTEP) -> np.ndarray:
    """Our own way, with the model built anew and every step recorded."""
    motion = sg.soft.move_finger(
        finger,
        simulated,
        start_angles=BENT,
        gravity=False,
        timestep=timestep,
        integrator="implicitfast",
    )
    return motion.joint_angles[-1]


def pybullet_way(finger: sg.SoftFinger) -> Way:
    """PyBullet as SoMo drives it: torques of springs and dampers set from Python at every step."""
    import pybullet

    stiffness = np.array([joint.stiffness for joint in finger.joints])
    damping = np.array([joint.damping for joint in finger.joints])
    joints = range(len(stiffness))
    pybullet.connect(pybullet.DIRECT)
    pybullet.setTimeStep(PYBULLET_TIMESTEP)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "finger.urdf")
        path.write_text(urdf(finger), encoding="utf-8")
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        body = pybullet.loadURDF(str(path), useFixedBase=True, flags=flags)
    undamped = {"linearDamping": 0, "angularDamping": 0, "jointDamping": 0}
    for joint in range(-1, len(stiffness)):
        # joint speeds are capped at 100 rad/s, which this finger passes
        pybullet.changeDynamics(body, joint, maxJointVelocity=1e9, **undamped)
    pybullet.setJointMotorControlArray(
        body, joints, pybullet.VELOCITY_CONTROL, forces=[0.0] * len(joints)
    )

    def run(simulated: float) -> np.ndarray:
        for joint in joints:
            pybullet.resetJointState(body, joint, BENT, 0.0)
        for _ in range(round(simulated / PYBULLET_TIMESTEP)):
            states = np.array([s[:2] for s in pybullet.getJointStates(body, joints)])
            torques = -stiffness * states[:, 0] - damping * states[:, 1]
            pybullet.setJointMotorControlArray(
                body, joints, pybullet.TORQUE_CONTROL, forces=torques
            )
            pybullet.stepSimulation()
        return np.array([s[0] for s in pybullet.getJointStates(body, joints)])

    return run


def urdf(finger: sg.SoftFinger) -> str:
    """The finger as a chain of links and hinges about y."""
    origins = [np.zeros(3), *(np.array(joint.position) for joint in finger.joints)]
    parts = []
    for index, (link, origin) in enumerate(zip(finger.links, origins, strict=True)):
        center = " ".join(map(str, np.array(link.center) - origin))
        squares = np.array(link.size) ** 2
        xx, yy, zz = link.mass * (squares.sum() - squares) / 12.0
        parts.append(
            f'<link name="l{index}"><inertial><origin xyz="{center}"/><mass value="{link.mass}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        if index:
            position = " ".join(map(str, origin - origins[index - 1]))
            parts.append(
                f'<joint name="j{index}" type="continuous"><parent link="l{index - 1}"/>'
                f'<child link="l{index}"/><origin xyz="{position}"/><axis xyz="0 1 0"/></joint>'
            )
    return f'<robot name="finger">{"".join(parts)}</robot>'


def elastica_way(finger: sg.SoftFinger) -> Way:
    """PyElastica: a uniform Cosserat rod that is given the velocity of a first mode."""
    import elastica

    length, radius = finger.tip[0], 0.5 * finger.links[1].size[1]
    stiffness = length / finger.compliance
    mass = sum(link.mass for link in finger.links)

    class Collection(elastica.BaseSystemCollection, elastica.Constraints, elastica.Damping):
        pass

    def run(simulated: float) -> None:
        rod = elastica.CosseratRod.straight_rod(
            ELEMENTS, np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), length,
            radius, mass / (math.pi * radius**2 * length),
            youngs_modulus=stiffness / (math.pi * radius**4 / 4),
            shear_modulus=stiffness / (math.pi * radius**4 / 4) / 3,
        )  # fmt: skip
        rod.velocity_collection[2] = -0.5 * (rod.position_collection[0] / length) ** 2
        collection = Collection()
        collection.append(rod)
        collection.constrain(rod).using(
            elastica.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,)
        )
        collection.dampen(rod).using(
            elastica.AnalyticalLinearDamper, uniform_damping_constant=5.0,
            time_step=PYELASTICA_TIMESTEP,
        )  # fmt: skip
        collection.finalize()
        steps = round(simulated / PYELASTICA_TIMESTEP)
        with redirect_stdout(io.StringIO()):  # it tells when it is done
            elastica.integrate(
                elastica.PositionVerlet(), collection, simulated, steps, progress_bar=False
            )
        if not np.abs(rod.position_collection).max() < 2.0 * length:
            raise SystemExit("PyElastica diverged: its time step is too long here")

    return run


if __name__ == "__main__":
    main()
