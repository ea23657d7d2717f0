"""What a model asks for that a scene does otherwise, in words with its numbers."""

from __future__ import annotations

from collections import Counter

import mujoco
import numpy as np

from softgrasp.formats.mjcf.attach import BOTH_GROUP, TOUCHED_GROUP

EARTH = (0.0, 0.0, -9.81)


def conflicts(whole: mujoco.MjModel, attached: mujoco.MjModel) -> list[str]:
    """What a user should know: it makes a grasp differ from what the file's author sees.

    Args:
        whole: The file's own model.
        attached: The model as it hangs in a scene, alone.
    """
    messages = [*_contacts(whole, attached), *_limits(attached)]
    weight = attached.body_mass[1:] > 0.0
    if weight.any() and not (attached.body_gravcomp[1:][weight] > 0.0).any():
        messages.append(
            "its bodies have no gravity compensation (gravcomp): under gravity its joints sag as "
            "far as their servos let them"
        )
    return messages


def _contacts(whole: mujoco.MjModel, attached: mujoco.MjModel) -> list[str]:
    """Contact parameters, which the scene's explicit pairs replace."""
    touching = np.isin(attached.geom_group, (BOTH_GROUP, TOUCHED_GROUP))
    touching &= attached.geom_bodyid > 0
    if not touching.any():
        return ["none of its geoms can touch (contype and conaffinity are zero): it grasps nothing"]
    messages = []
    step = float(whole.opt.timestep)
    references = attached.geom_solref[touching]
    short = (references[:, 0] > 0.0) & (references[:, 0] < 2.0 * step)
    if short.any():
        messages.append(
            f"{int(short.sum())} of its {len(references)} geoms ask for a contact time constant "
            f"of {references[short, 0].min():g} s, less than twice its timestep of {step:g} s; "
            "the scene converts stiffness and damping instead"
        )
    frictions = Counter(attached.geom_friction[touching, 0].round(6).tolist())
    if len(frictions) > 1:
        parts = ", ".join(f"{value:g} on {number}" for value, number in sorted(frictions.items()))
        messages.append(
            f"its geoms have different friction ({parts}; MuJoCo would take the larger one of two "
            "that touch); the scene's friction holds for all"
        )
    return messages


def unused_options(whole: mujoco.MjModel) -> list[str]:
    """Options of a file that the scene sets itself, in one sentence; empty where it has none."""
    option, defaults = whole.opt, mujoco.MjModel.from_xml_string("<mujoco/>").opt
    pyramidal = int(option.cone) == mujoco.mjtCone.mjCONE_PYRAMIDAL
    changed = ["cone pyramidal"] if pyramidal else []
    changed += [
        f"{name} {value:g}"
        for name, value in (
            ("timestep", option.timestep),
            ("impratio", option.impratio),
            ("noslip_iterations", option.noslip_iterations),
        )
        if value != getattr(defaults, name)
    ]
    if int(option.integrator) != int(defaults.integrator):
        kind = mujoco.mjtIntegrator(int(option.integrator)).name.removeprefix("mjINT_").lower()
        changed.append(f"integrator {kind}")
    if tuple(option.gravity.tolist()) != EARTH:
        changed.append(f"gravity ({', '.join(f'{part:g}' for part in option.gravity)})")
    if not changed:
        return []
    return [f"options of the file are not used, the scene has its own: {', '.join(changed)}"]


def _limits(attached: mujoco.MjModel) -> list[str]:
    free = [
        str(attached.joint(index).name)
        for index in range(attached.njnt)
        if int(attached.jnt_type[index])
        in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        and not attached.jnt_limited[index]
    ]
    if not free:
        return []
    return [f"no limits: {', '.join(free)}; targets stay within ±180° or ±0.1 m"]
