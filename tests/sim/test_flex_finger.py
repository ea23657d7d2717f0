"""A soft finger from its mesh against a deformable solid and an elastic rod (MuJoCo flex).

The finger is a block of silicone. A chamber along it of constant section makes a bending moment,
which is a couple on its end: that is how solid and rod are actuated. Elements of the solid are
quadratic; the rod has edges between vertices, of which the first is clamped.
"""

from __future__ import annotations

import time
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
from softgrasp.model.soft_finger import finger_model
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
EDGES, ROD_STEP = (8, 16, 32), 1e-3


class Solid(NamedTuple):
    """Rest shape of the solid, base at the origin."""

    line: Array
    """Positions along the middle, (n, 3) [m]."""
    force: float
    """Force of the plate on the tip [N]; 0 without a plate."""
    seconds: float
    """Wall time per second of simulation."""


def chain(tmp_path: Path) -> SoftFinger:
    """The finger of a block's mesh, with joints in the middles of equal cells."""
    path = tmp_path / "block.stl"
    trimesh.creation.box(extents=(LENGTH, WIDTH, HEIGHT)).export(path)
    at = (np.arange(JOINTS) + 0.5) / JOINTS * LENGTH
    finger = finger_from_mesh(
        path, youngs_modulus=YOUNG, density=DENSITY, valleys=at.tolist(), up=(0.0, 0.0, 1.0),
        axis=(1.0, 0.0, 0.0), base="start",
    )  # fmt: skip
    gains = [GAIN for _ in finger.joints]
    joints = zip(finger.joints, gains, strict=True)
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
    force, steps, begin = 0.0, round(duration / STEP), time.perf_counter()
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
    seconds = (time.perf_counter() - begin) / duration
    assert np.abs(data.qvel).max() < 1e-3, "the solid has settled"
    now = data.xpos[nodes]
    middle = [k for k in range(len(nodes)) if np.abs(start[k, 1:]).max() < 1e-9]
    line = now[sorted(middle, key=lambda k: start[k, 0])]
    return Solid(line, force, seconds)


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


def rod_model(edges: int) -> mujoco.MjModel:
    """A rod of the block's section, with its first edge clamped."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = ROD_STEP, [0.0, 0.0, 0.0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    base = spec.worldbody.add_body(name="rod", pos=[LENGTH / 2, 0.0, 0.0])
    flex = base.make_flex(
        name="rod", type="grid", dim=1, count=[edges + 1, 1, 1], radius=1e-3, equality=1,
        spacing=[LENGTH / edges, 0.01, 0.01], mass=DENSITY * LENGTH * WIDTH * HEIGHT,
    )  # fmt: skip
    flex.young, flex.damping = YOUNG, 0.02
    flex.section = mujoco.mjtFlexSection.mjFLEXSECTION_BOX
    flex.sectionsize = [WIDTH / 2, HEIGHT / 2]
    flex.contype = flex.conaffinity = 0
    flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
    for body in spec.bodies[2:]:
        if body.pos[0] + LENGTH / 2 < 1.5 * LENGTH / edges:
            for joint in list(body.joints):
                spec.delete(joint)
    return spec.compile()


def rod_at_rest(pressure: float, edges: int, duration: float = 4.0) -> tuple[Array, float]:
    """Return the tip of the rod at rest under a couple on its last edge [m], and its cost [s/s]."""
    model = rod_model(edges)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    first, last = model.nbody - 2, model.nbody - 1
    steps = round(duration / model.opt.timestep)
    for step in range(steps):
        edge = data.xpos[last] - data.xpos[first]
        moment = GAIN * pressure * min(1.0, 3.0 * step / steps)
        force = moment * np.cross(edge, [0.0, 1.0, 0.0]) / (edge @ edge)
        data.xfrc_applied[first, :3], data.xfrc_applied[last, :3] = force, -force
        mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 1e-3, "the rod has settled"
    tip = data.xpos[last].copy()
    data.xfrc_applied[:], begin = 0.0, time.perf_counter()
    mujoco.mj_step(model, data, 1000)
    return tip, (time.perf_counter() - begin) / (1000 * model.opt.timestep)


@pytest.mark.slow
@pytest.mark.parametrize("pressure", PRESSURES)
def test_rods_converge_to_the_chain(pressure: float, tmp_path: Path) -> None:
    """In first order, as the clamped edge does not bend: the chain has half a cell there."""
    exact = equilibrium(chain(tmp_path), pressure=pressure, gravity=False).tip_position
    tips = [rod_at_rest(pressure, edges) for edges in EDGES]
    errors = [float(np.linalg.norm(tip - exact)) / LENGTH for tip, _ in tips]
    costs = ", ".join(f"{seconds:.3f} s" for _, seconds in tips)
    parts = ", ".join(f"{100 * error:.2f} %" for error in errors)
    print(f"{pressure:g} Pa: tips {parts} away, {costs}")
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.05)
    limit = 2.0 * tips[-1][0] - tips[-2][0]
    assert np.linalg.norm(limit - exact) / LENGTH < 2e-3


@pytest.mark.slow
def test_the_chain_costs_less_than_the_solid(tmp_path: Path) -> None:
    """Steps of the chain and of the solid; the ratio is printed, and far from one."""
    finger, solid = chain(tmp_path), solid_at_rest(40e3, blocked=False, duration=4.0)
    model = finger_model(finger)
    model.opt.timestep, model.opt.integrator = 5e-4, mujoco.mjtIntegrator.mjINT_DISCRETE
    data = mujoco.MjData(model)
    data.qpos[:] = 0.1
    begin = time.perf_counter()
    mujoco.mj_step(model, data, 4000)
    seconds = (time.perf_counter() - begin) / 2.0
    assert not data.warning.number.any()
    assert 0.0 < np.abs(data.qpos).max() < 0.5
    print(f"chain {seconds:.4f} s, solid {solid.seconds:.4f} s of wall time per second")
    assert model.nv * 20 < solid_model().nv
