"""A soft finger from its mesh against a deformable solid (MuJoCo flex).

The finger is a block of silicone. A chamber along it of constant section makes a bending moment,
which is a couple on its end: that is how the solid, of quadratic elements, is actuated.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
import trimesh

from softgrasp.continuum.statics import joint_positions
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.io.soft_finger.finger import finger_from_mesh
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_statics import blocked_force, equilibrium

LENGTH, WIDTH, HEIGHT = 0.08, 0.02, 0.015
YOUNG, DENSITY = 0.7e6, 1100.0
GAIN = 8e-7
"""Chamber of 1.6 cm², 5 mm off the neutral line: moment over pressure [N·m/Pa]."""
CELLS, STEP = 4, 2e-3
PLATE = 100.0
"""Rate of the force that brings the blocked tip back to its height [N/(m·s)]."""
PRESSURES = (20e3, 40e3, 60e3)
JOINTS = 8


class Solid(NamedTuple):
    """Rest shape of the solid, base at the origin."""

    line: Array
    """Positions along the middle, (n, 3) [m]."""
    force: float
    """Force of the plate on the tip [N]; 0 without a plate."""


def chain(tmp_path: Path) -> SoftFinger:
    """The finger of a block's mesh, with joints in the middles of equal cells."""
    path = tmp_path / "block.stl"
    trimesh.creation.box(extents=(LENGTH, WIDTH, HEIGHT)).export(path)
    at = (np.arange(JOINTS) + 0.5) / JOINTS * LENGTH
    finger = finger_from_mesh(
        path, youngs_modulus=YOUNG, density=DENSITY, valleys=at.tolist(), up=(0.0, 0.0, 1.0),
        axis=(1.0, 0.0, 0.0), base="start",
    )  # fmt: skip
    joints = zip(finger.joints, [GAIN for _ in finger.joints], strict=True)
    return finger.replace(joints=tuple(j.replace(pressure_gain=g) for j, g in joints))


def solid_model() -> mujoco.MjModel:
    """Quadratic elements in one row, with the face at x = 0 fixed."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = STEP, [0.0, 0.0, 0.0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    base = spec.worldbody.add_body(name="finger", pos=[LENGTH / 2, 0.0, 0.0])
    count = np.array([4 * CELLS + 1, 5, 5])
    size = np.array([LENGTH, WIDTH, HEIGHT])
    flex = base.make_flex(
        name="finger", type="grid", dim=3, dof="quadratic", count=count.tolist(),
        spacing=(size / (count - 1)).tolist(), cellcount=[CELLS, 1, 1], radius=1e-4,
        mass=DENSITY * float(size.prod()),
    )  # fmt: skip
    flex.young, flex.poisson, flex.damping = YOUNG, 0.0, 0.02
    flex.contype = flex.conaffinity = 0
    flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
    for body in spec.bodies[2:]:
        if abs(body.pos[0] + LENGTH / 2) < 1e-9:
            for joint in list(body.joints):
                spec.delete(joint)
    return spec.compile()


def solid_at_rest(pressure: float, *, blocked: bool, duration: float = 5.0) -> Solid:
    """Let the solid settle under a couple on its end that grows within a third of the time."""
    model = solid_model()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    nodes = np.arange(2, model.nbody)
    start = data.xpos[nodes].copy()
    face = np.flatnonzero(np.abs(start[:, 0] - LENGTH) < 1e-9)
    y, z = start[face, 1], start[face, 2]
    # Simpson's rule: the forces of quadratic elements on a face
    weights = np.where(np.abs(y) < 1e-9, 4.0, 1.0) * np.where(np.abs(z) < 1e-9, 4.0, 1.0)
    weights /= weights.sum()
    upper, lower = face[z > 1e-9], face[z < -1e-9]
    force, steps = 0.0, round(duration / STEP)
    for step in range(steps):
        moment = GAIN * pressure * min(1.0, 3.0 * step / steps)
        now = data.xpos[nodes]
        normal = now[upper].mean(axis=0) - now[lower].mean(axis=0)
        outwards = np.cross([0.0, 1.0, 0.0], normal / np.linalg.norm(normal))
        loads = (weights * z * moment / (weights @ z**2))[:, None] * outwards
        if blocked:
            force = max(0.0, force - PLATE * STEP * float(weights @ now[face, 2]))
        loads[:, 2] += weights * force
        data.xfrc_applied[nodes[face], :3] = loads
        mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 1e-3, "the solid has settled"
    now = data.xpos[nodes]
    middle = [k for k in range(len(nodes)) if np.abs(start[k, 1:]).max() < 1e-9]
    return Solid(now[sorted(middle, key=lambda k: start[k, 0])], force)


def distances(points: Array, line: Array) -> Array:
    """Distances of points from a line of straight pieces [m], (n,)."""
    begins, steps = line[:-1], np.diff(line, axis=0)
    along = ((points[:, None] - begins) * steps).sum(-1) / (steps**2).sum(-1)
    nearest = begins + np.clip(along, 0.0, 1.0)[..., None] * steps
    return np.linalg.norm(points[:, None] - nearest, axis=-1).min(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("pressure", PRESSURES)
def test_the_shape_is_that_of_the_solid(pressure: float, tmp_path: Path) -> None:
    finger, solid = chain(tmp_path), solid_at_rest(pressure, blocked=False)
    shape = equilibrium(finger, pressure=pressure, gravity=False)
    tip = np.linalg.norm(shape.tip_position - solid.line[-1]) / LENGTH
    along = distances(joint_positions(finger, shape.joint_angles), solid.line).max() / LENGTH
    print(f"{pressure:g} Pa: {np.degrees(shape.tip_angle):.1f}°, tip {100 * tip:.2f} %, "
          f"line {100 * along:.2f} % of the length")  # fmt: skip
    assert max(tip, along) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("pressure", PRESSURES)
def test_the_blocked_tip_presses_as_the_solid(pressure: float, tmp_path: Path) -> None:
    finger, solid = chain(tmp_path), solid_at_rest(pressure, blocked=True)
    (force,) = blocked_force(finger, [pressure])
    print(f"{pressure:g} Pa: {force:.4f} N, solid {solid.force:.4f} N")
    assert force == pytest.approx(solid.force, rel=0.1)
