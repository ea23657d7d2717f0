"""Serial arms from MJCF files: a chain of placed joints with a hand at its flange."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.arm import Arm
from softgrasp.description.bendable import Inertial
from softgrasp.description.finger import Phalanx
from softgrasp.description.geometry import Mesh, Part, Pose
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mjcf.actuators import POSITION, kind_of
from softgrasp.io.mjcf.hand import alone, starts_of
from softgrasp.io.mjcf.model import SourceModel, moments, moving_joints, primitive_of, read_model
from softgrasp.io.mjcf.repairs import with_slashes
from softgrasp.io.mjcf.tree import MjcfTree, fingers_of, frame_of, joint_frame, tree_of
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, transform

GEOM = mujoco.mjtGeom
FLANGES = ("attachment_site", "flange", "ee_site", "tool0", "wristsite")
"""Sites for hands; the first one that an arm has is used."""
MIN_MASS = 1e-3
"""Mass of a link below which it is a frame for a hand without a body [kg]."""


def mjcf_arm(path: Path) -> Arm:
    """Make an arm from a MuJoCo model.

    Its joints get position servos with the stiffness and force limits of the position actuators in
    the file, if any. Its links are visible and do not collide.

    Raises:
        DescriptionError: The file is wrong, or its joints are not a single chain.

    Warns:
        SoftgraspWarning: Something is left out.
    """
    source = read_model(path)
    tree = tree_of(alone(source, (), path))
    tree.palm = 0
    moving = [group for group in tree.members if tree.joints(group)]
    if any(len(tree.children[group]) > 1 for group in [0, *moving]):
        raise DescriptionError(
            "expected an arm whose joints are one chain, found branches; load a hand separately",
            file=path,
        )
    for note in source.dropped:
        warnings.warn(f"{path.name}: {note}", SoftgraspWarning, stacklevel=3)
    tree.starts = starts_of(source, tree)
    (chain,) = fingers_of(tree, set())
    servos = _servos(tree.model)
    rows = [
        row.replace(
            name=row.name.removeprefix(source.prefix),
            joint_name=row.joint_name.removeprefix(source.prefix),
            driven=True,
            bodies=(),
            parts=_parts(tree, source, row, path),
            inertial=row.inertial and _heavy_enough(row.inertial),
            **servos.get(row.joint_name, {}),
        )
        for row in chain.phalanges
    ]
    last = tree.model.joint(chain.phalanges[-1].joint_name).id
    return Arm(
        name=source.spec.modelname or path.stem,
        chain=chain.replace(phalanges=tuple(rows), name="arm", tip=_tool(tree, last).position),
        tool=_tool(tree, last),
        source=f"{path.name} (MJCF)",
    )


def _heavy_enough(inertial: Inertial) -> Inertial:
    if inertial.mass >= MIN_MASS:
        return inertial
    return inertial.replace(mass=MIN_MASS, inertia=(MIN_MASS * 0.01**2,) * 3 + (0.0, 0.0, 0.0))


def _servos(model: mujoco.MjModel) -> dict[str, dict[str, float]]:
    """Return stiffness and force limit of the position actuators, by joint."""
    fields: dict[str, dict[str, float]] = {}
    arms = moments(model, mujoco.MjData(model))
    for joint in range(model.njnt):
        if model.jnt_actfrclimited[joint]:
            limit = float(np.abs(model.jnt_actfrcrange[joint]).max())
            fields[str(model.joint(joint).name)] = {"force_limit": limit}
    for index in range(model.nu):
        (dofs,) = np.nonzero(arms[index])
        if kind_of(model, index) != POSITION or len(dofs) != 1:
            continue
        arm = abs(float(arms[index, dofs[0]]))
        servo_fields = fields.setdefault(str(model.joint(int(model.dof_jntid[dofs[0]])).name), {})
        servo_fields["servo_stiffness"] = -float(model.actuator_biasprm[index, 1]) * arm * arm
        if model.actuator_forcelimited[index]:
            force = float(np.abs(model.actuator_forcerange[index]).max())
            servo_fields["force_limit"] = arm * force
    for joint in moving_joints(model):
        # by default a stiff servo that can carry its chain and 5 kg at 1 m
        below = float(model.body_subtreemass[model.jnt_bodyid[joint]]) + 5.0
        servo_fields = fields.setdefault(str(model.joint(joint).name), {})
        servo_fields.setdefault("force_limit", 9.81 * below)
        servo_fields.setdefault("servo_stiffness", 100.0 * servo_fields["force_limit"])
    return fields


def _parts(tree: MjcfTree, source: SourceModel, row: Phalanx, path: Path) -> tuple[Part, ...]:
    """Return the shapes of a phalanx in its frame, visible ones if there are any."""
    model = tree.model
    joint = model.joint(row.joint_name).id
    group = int(model.jnt_bodyid[joint])
    if tree.joints(group)[-1] != joint:
        return ()
    carry = np.linalg.inv(joint_frame(tree, joint))
    geoms = np.flatnonzero(np.isin(model.geom_bodyid, tree.members[group])).tolist()
    visible = [geom for geom in geoms if model.geom_group[geom] <= 2] or geoms
    parts = []
    for geom in visible:
        is_mesh = int(model.geom_type[geom]) == GEOM.mjGEOM_MESH
        shape = _mesh(source, model, geom, path) if is_mesh else primitive_of(model, geom)
        if shape is not None:
            parts.append(Part(shape=shape, pose=pose_of(carry @ _frame_of(tree, geom))))
    return tuple(parts)


def _frame_of(tree: MjcfTree, geom: int) -> Array:
    """Frame of a geom with all joints at zero, of a mesh that of its file, (4, 4)."""
    model, body = tree.model, int(tree.model.geom_bodyid[geom])
    world = frame_of(tree.data.xpos[body], tree.data.xmat[body])
    frame = world @ transform(model.geom_pos[geom], model.geom_quat[geom])
    if (mesh := int(model.geom_dataid[geom])) >= 0:
        frame = frame @ np.linalg.inv(transform(model.mesh_pos[mesh], model.mesh_quat[mesh]))
    return np.asarray(frame)


def _mesh(source: SourceModel, model: mujoco.MjModel, geom: int, path: Path) -> Mesh | None:
    """Return the mesh of a geom by its file; None if it has none or is not readable."""
    name = str(model.mesh(int(model.geom_dataid[geom])).name).removeprefix(source.prefix)
    mesh = source.spec.mesh(name)
    file = path.parent / with_slashes(source.spec.meshdir or "") / with_slashes(mesh.file or "")
    if not mesh.file or file.suffix.lower() not in MESH_SUFFIXES or not file.is_file():
        return None
    x, y, z = (float(part) for part in mesh.scale)
    return Mesh(file=assets.portable_name(file), scale=(x, y, z), collision="hull")


def _tool(tree: MjcfTree, last: int) -> Pose:
    """Return the frame of the hand: a site of the last link, or the last joint."""
    model, data = tree.model, tree.data
    mujoco.mj_kinematics(model, data)
    group = int(model.jnt_bodyid[last])
    for flange_name in FLANGES:
        for site in range(model.nsite):
            name = str(model.site(site).name)
            if name.endswith(flange_name) and model.body_weldid[model.site_bodyid[site]] == group:
                world = frame_of(data.site_xpos[site], data.site_xmat[site])
                return pose_of(np.linalg.inv(joint_frame(tree, last)) @ world)
    return Pose()
