"""The same hand, object and closing in PyBullet: what a second of grasping costs in both.

Both close the four-finger hand on its ball along the joint targets that softgrasp has found, and
let the ball settle. Each runs at its largest stable time step, where no contact is deeper than a
millimetre and the ball rests at the end. Only softgrasp also watches its contacts.

Without pybullet (pip install pybullet) its only line says that nothing was measured.

    python benchmarks/pybullet_grasp.py
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from measured import Line, machine, show
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from softgrasp.sim.grasp_run import ClosureRun

STEPS = (1 / 240, 1 / 500, 1 / 1000, 1 / 2000, 1 / 4000, 1 / 8000)
"""Time steps that are tried, the largest first; 1/240 s is PyBullet's own [s]."""
DEEPEST, FASTEST = 1e-3, 0.01
"""A grasp is stable below this penetration [m] and speed of the ball at its end [m/s]."""
ROUNDS = 5


class Grasped(NamedTuple):
    """How a closing went."""

    seconds: float
    deepest: float
    """Penetration at the end [m]."""
    speed: float
    """Of the ball at the end [m/s]."""


def lines() -> Iterator[Line]:
    """The comparison, where PyBullet is installed."""
    try:
        import pybullet
    except ImportError:
        yield Line("the same grasp in PyBullet", "not measured: pybullet is not installed")
        return
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))
    built = compile_scene(scene)
    targets, own = watched(built)
    simulated = len(targets) * scene.control_period
    yield Line(f"softgrasp, time step {built.model.opt.timestep * 1e3:g} ms: "
               f"{simulated:.2f} s of grasp take [ms]", f"{1e3 * own:.0f}")  # fmt: skip
    pybullet.connect(pybullet.DIRECT)
    for step in STEPS:
        result = [in_bullet(pybullet, built, targets, step) for _ in range(ROUNDS)]
        stable = result[0].deepest < DEEPEST and result[0].speed < FASTEST
        seconds = float(np.median([item.seconds for item in result]))
        yield Line(
            f"PyBullet, time step {step * 1e3:.3g} ms [ms]",
            f"{1e3 * seconds:.0f}, {seconds / own:.1f} times softgrasp; contacts "
            f"{1e3 * result[0].deepest:.2f} mm deep, ball at {1e3 * result[0].speed:.1f} mm/s"
            f"{'' if stable else ': not stable'}",
        )
        if stable:
            return


def watched(built: CompiledScene) -> tuple[np.ndarray, float]:
    """Targets of a closing, one row a sample, and its median wall time [s]."""
    taken = []
    for _ in range(ROUNDS + 1):
        run = ClosureRun(built)
        begin = time.perf_counter()
        run.run()
        taken.append(time.perf_counter() - begin)
    return run.recording.control[: run.recording.rows].copy(), float(np.median(taken[1:]))


def in_bullet(bullet: Any, built: CompiledScene, targets: np.ndarray, step: float) -> Grasped:
    """Close the hand in PyBullet along targets."""
    bullet.resetSimulation()
    bullet.setTimeStep(step)
    model = built.model
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "hand.urdf")
        path.write_text(urdf(model), encoding="utf-8")
        flags = bullet.URDF_USE_INERTIA_FROM_FILE | bullet.URDF_MAINTAIN_LINK_ORDER
        hand = bullet.loadURDF(str(path), useFixedBase=True, flags=flags)
    ball = _object_geom(model)
    radius, body = float(model.geom_size[ball, 0]), int(model.geom_bodyid[ball])
    shape = bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=radius)
    position = model.key_qpos[0][model.jnt_qposadr[model.body_jntadr[body]] :][:3]
    obj = bullet.createMultiBody(float(model.body_mass[body]), shape, -1, position.tolist())
    friction = built.contact.static_friction**0.5  # PyBullet multiplies the two
    for link in range(-1, bullet.getNumJoints(hand)):
        bullet.changeDynamics(hand, link, lateralFriction=friction)
    bullet.changeDynamics(obj, -1, lateralFriction=friction)
    links = range(bullet.getNumJoints(hand))
    of_name = {bullet.getJointInfo(hand, link)[1].decode(): link for link in links}
    joints = [of_name[model.actuator(i).name] for i in range(model.nu)]
    forces = np.abs(model.actuator_forcerange).max(axis=1).tolist()
    for index, value in zip(joints, targets[0].tolist(), strict=True):
        bullet.resetJointState(hand, index, value)
    period = built.scene.control_period
    begin, now, sent = time.perf_counter(), 0.0, -1
    for tick in range(round(len(targets) * period / step)):
        now = tick * step
        row = min(int(now / period), len(targets) - 1)
        if row != sent:
            bullet.setJointMotorControlArray(
                hand, joints, bullet.POSITION_CONTROL,
                targetPositions=targets[row].tolist(), forces=forces,
            )  # fmt: skip
            sent = row
        bullet.stepSimulation()
    taken = time.perf_counter() - begin
    points = bullet.getContactPoints(hand, obj)
    deepest = max((-point[8] for point in points), default=0.0)
    return Grasped(taken, deepest, float(np.linalg.norm(bullet.getBaseVelocity(obj)[0])))


def urdf(model: mujoco.MjModel) -> str:
    """The hand of a compiled scene: every body a link with its capsules, every joint a hinge."""
    parts = ['<link name="world"/>']
    for body in range(1, model.nbody):
        if body == int(model.geom_bodyid[_object_geom(model)]):
            continue
        name, parent = f"b{body}", int(model.body_parentid[body])
        parts.append(f'<link name="{name}">{inertial(model, body)}{shapes(model, body)}</link>')
        kind, axis = "fixed", ""
        joint = f"j{body}"
        if model.body_jntnum[body]:
            index = int(model.body_jntadr[body])
            kind, joint = "continuous", model.joint(index).name
            axis = f'<axis xyz="{words(model.jnt_axis[index])}"/>'
        carrier = "world" if parent == 0 else f"b{parent}"
        position = origin(model.body_pos[body], model.body_quat[body])
        parts.append(
            f'<joint name="{joint}" type="{kind}"><parent link="{carrier}"/>'
            f'<child link="{name}"/>{position}{axis}</joint>'
        )
    return f'<robot name="hand">{"".join(parts)}</robot>'


def inertial(model: mujoco.MjModel, body: int) -> str:
    """Mass and principal inertia of a body."""
    xx, yy, zz = np.maximum(model.body_inertia[body], 1e-12)
    return (
        f"<inertial>{origin(model.body_ipos[body], model.body_iquat[body])}"
        f'<mass value="{max(float(model.body_mass[body]), 1e-9)}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def shapes(model: mujoco.MjModel, body: int) -> str:
    """The geoms of a body that touch."""
    message = ""
    for geom in np.flatnonzero(model.geom_bodyid == body).tolist():
        size = model.geom_size[geom]
        round_ = f'radius="{size[0]}" length="{2 * size[1]}"'
        kinds = {
            mujoco.mjtGeom.mjGEOM_CAPSULE: f"<capsule {round_}/>",
            mujoco.mjtGeom.mjGEOM_CYLINDER: f"<cylinder {round_}/>",
            mujoco.mjtGeom.mjGEOM_BOX: f'<box size="{words(2 * size)}"/>',
            mujoco.mjtGeom.mjGEOM_SPHERE: f'<sphere radius="{size[0]}"/>',
        }
        shape = kinds.get(mujoco.mjtGeom(int(model.geom_type[geom])))
        if shape:
            position = origin(model.geom_pos[geom], model.geom_quat[geom])
            message += f"<collision>{position}<geometry>{shape}</geometry></collision>"
    return message


def origin(position: np.ndarray, quaternion: np.ndarray) -> str:
    """An origin element."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gimbal lock: any of the solutions will do
        angles = Rotation.from_quat(quaternion, scalar_first=True).as_euler("xyz")
    return f'<origin xyz="{words(position)}" rpy="{words(angles)}"/>'


def words(values: np.ndarray) -> str:
    """Numbers in a row."""
    return " ".join(f"{value:.12g}" for value in values)


def _object_geom(model: mujoco.MjModel) -> int:
    body = model.body("object").id
    return int(np.flatnonzero(model.geom_bodyid == body)[0])


if __name__ == "__main__":
    print(machine())
    show(lines())
