"""The fingers of a twin as chains of rigid links in MuJoCo, on a flange that is moved by numbers.

Joints stand in the middle of their links (decision 0009), so that a chain ends where its arc does
to second order. A bend that a pressure asks for is where the springs of its joints rest: servos
whose stiffness is that of the finger, n·EI/ℓ for n links of a piece of length ℓ.
"""

from __future__ import annotations

from typing import Any

import mujoco

from softgrasp.build.compiling import compiled
from softgrasp.description.twin import Twin, TwinDynamics
from softgrasp.mechanics.mounted_fingers import roots_in_flange
from softgrasp.mechanics.transforms import position_of, quaternion_of

FLANGE = "flange"
AXES = {"u": (0.0, 1.0, 0.0), "v": (-1.0, 0.0, 0.0)}
"""Turns that bend towards x, and towards y."""


def twin_chain(twin: Twin, dynamics: TwinDynamics) -> mujoco.MjModel:
    """The model; controls are the angles of the joints, in the order of ``chain_targets``.

    Args:
        twin: The gripper.
        dynamics: What its fingers weigh and how stiff they are.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = dynamics.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    flange = spec.worldbody.add_body(name=FLANGE, mocap=True)
    for finger, root in enumerate(roots_in_flange(twin.gripper)):
        base = flange.add_body(
            name=f"finger{finger + 1}", pos=position_of(root), quat=quaternion_of(root)
        )
        _add_finger(spec, base, twin, dynamics, f"finger{finger + 1}")
    return compiled(spec, f"twin '{twin.name}'")


def _add_finger(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, twin: Twin, dynamics: TwinDynamics, name: str
) -> None:
    whole, body, rest = sum(twin.finger.lengths), base, 0.0
    for piece, length in enumerate(twin.finger.lengths):
        cell = length / dynamics.links
        stiffness = dynamics.bending_stiffness / cell
        for link in range(dynamics.links):
            # what is behind a joint: half of its own cell, and half of the next one's
            end = _behind(twin, dynamics, piece, link)
            label = f"{name}_{piece * dynamics.links + link + 1}"
            body = body.add_body(name=label, pos=[0.0, 0.0, rest + 0.5 * cell])
            _add_link(body, twin.finger_radius, end, dynamics.mass * end / whole)
            # turns about two axes do not commute: every other link has them the other way round
            for axis in list(AXES)[:: -1 if link % 2 else 1]:
                _add_joint(body, f"{label}_{axis}", AXES[axis], stiffness * dynamics.damping_time)
            for axis in AXES:
                _add_spring(spec, f"{label}_{axis}", stiffness)
            rest = 0.5 * cell
    body.add_site(name=f"{name}_tip", pos=[0.0, 0.0, rest])


def _behind(twin: Twin, dynamics: TwinDynamics, piece: int, link: int) -> float:
    """Length of the link behind a joint [m]; the first one's own first half hangs at the root."""
    lengths = twin.finger.lengths
    half = 0.5 * lengths[piece] / dynamics.links
    if link < dynamics.links - 1:
        return 2.0 * half
    last = piece == len(lengths) - 1
    return half if last else half + 0.5 * lengths[piece + 1] / dynamics.links


def _add_link(body: mujoco.MjsBody, radius: float, length: float, mass: float) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[radius, 0.5 * length, 0.0],
        pos=[0.0, 0.0, 0.5 * length],
        mass=mass,
        contype=0,
        conaffinity=0,
    )


def _add_joint(
    body: mujoco.MjsBody, name: str, axis: tuple[float, float, float], damping: float
) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=axis,
        damping=damping,
        limited=False,
    )


def _add_spring(spec: mujoco.MjSpec, joint: str, stiffness: float) -> None:
    """A servo whose stiffness is that of the finger; controls come in the order of these calls."""
    servo: dict[str, Any] = {"trntype": mujoco.mjtTrn.mjTRN_JOINT, "target": joint}
    spec.add_actuator(name=joint, **servo).set_to_position(kp=stiffness)
