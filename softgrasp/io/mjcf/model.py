"""A model in MJCF as MuJoCo reads it, without what a scene brings itself."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from lxml import etree
from numpy.typing import NDArray

from softgrasp import assets
from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Pose, Shape, Sphere
from softgrasp.description.hand import AddedServo
from softgrasp.errors import DescriptionError
from softgrasp.io.xml_elements import Element, line_of
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, transform

# --------------------
# What moves in a model: the palm, and chains of joints that branch off from it.


FREE_ANGLE, FREE_TRAVEL = (-math.pi, math.pi), (-0.1, 0.1)
"""Range of a hinge [rad] and of a slide [m] that states none."""
WRIST = "wrist"


@dataclass
class Tree:
    """Bodies that hang rigidly together, as the compiled model has them."""

    model: mujoco.MjModel
    data: mujoco.MjData
    """All joints at zero."""
    palm: int = 0
    """First body of the group that the fingers branch off from; 0 where it is fixed."""
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Groups on a group, by their first bodies."""
    members: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Bodies of each group."""

    def touching(self, group: int) -> list[str]:
        """Bodies of a group that can touch."""
        return [self.model.body(index).name for index in self.members[group] if self._can(index)]

    def _can(self, body: int) -> bool:
        first, count = int(self.model.body_geomadr[body]), int(self.model.body_geomnum[body])
        groups = self.model.geom_group[first : first + count]
        return bool(np.isin(groups, (BOTH_GROUP, TOUCHED_GROUP)).any()) if count else False

    def joints(self, group: int) -> list[int]:
        """Hinges and slides that move a group against the one that it is on."""
        first, count = int(self.model.body_jntadr[group]), int(self.model.body_jntnum[group])
        return [j for j in range(first, first + count) if int(self.model.jnt_type[j]) in MOVING]

    def below(self, group: int) -> list[int]:
        """A group and all that hang on it."""
        return [group, *(part for child in self.children[group] for part in self.below(child))]


def tree_of(model: mujoco.MjModel) -> Tree:
    """The groups of a model that hangs on the world."""
    tree = Tree(model, at_zero(model))
    for body in range(1, model.nbody):
        group = int(model.body_weldid[body])
        tree.members[group].append(body)
        if group == body:
            parent = int(model.body_weldid[model.body_parentid[body]])
            tree.children[parent].append(body)
    while len(tree.children[tree.palm]) == 1:
        (only,) = tree.children[tree.palm]
        if all(len(tree.children[group]) <= 1 for group in tree.below(only)):
            break
        tree.palm = only
    if tree.palm and len(tree.children[tree.palm]) < 2:
        tree.palm = 0
    return tree


def at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """The model with hinges and slides at zero."""
    data = mujoco.MjData(model)
    plain = np.isin(model.jnt_type, MOVING)
    data.qpos[model.jnt_qposadr[plain]] = 0.0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


def palm_name(tree: Tree) -> str:
    """The body that carries the fingers: the heaviest of its group."""
    members = tree.members[tree.palm]
    heaviest = max(members, key=lambda body: float(tree.model.body_mass[body]), default=0)
    return str(tree.model.body(heaviest).name) if members else BASE


def touching_bodies(tree: Tree) -> tuple[str, ...]:
    """All bodies that can touch, those of the palm first."""
    groups = [tree.palm, *(g for g in sorted(tree.members) if g != tree.palm)]
    return tuple(body for group in groups for body in tree.touching(group))


def fingers_of(
    tree: Tree, starts: Mapping[str, float], tips: Mapping[int, Array], driven: set[str]
) -> tuple[Finger, ...]:
    """The chains of a model as fingers of placed rows, in the frame of the file's world.

    Args:
        tree: The model.
        starts: Joint variables at the start, by name [rad or m].
        tips: The farthest point of each group that can touch, in the world with all joints at zero
            [m], by its first body.
        driven: Joints that a drive leads.
    """
    chains: list[tuple[list[int], str]] = []
    carry: list[int] = []
    group = tree.palm
    while group:
        carry.insert(0, group)
        group = int(tree.model.body_weldid[tree.model.body_parentid[group]])
    if carry:
        chains.append((carry, ""))
    on = _row_name(tree, carry[-1]) if carry else ""
    for child in tree.children[tree.palm]:
        _branch(tree, child, on, chains)
    names = _finger_names(tree, [chain for chain, _ in chains], bool(carry))
    return tuple(
        _finger(tree, chain, on, name, starts, tips, driven)
        for (chain, on), name in zip(chains, names, strict=True)
        if any(tree.joints(group) for group in chain)
    )


def _branch(tree: Tree, group: int, on: str, chains: list[tuple[list[int], str]]) -> None:
    """Follow a chain to where it branches or ends."""
    chain = [group]
    while len(tree.children[chain[-1]]) == 1:
        chain.append(tree.children[chain[-1]][0])
    chains.append((chain, on))
    moved = [part for part in chain if tree.joints(part)]
    below = _row_name(tree, moved[-1]) if moved else on
    for child in tree.children[chain[-1]]:
        _branch(tree, child, below, chains)


def _row_name(tree: Tree, group: int) -> str:
    return str(tree.model.body(group).name)


def _finger_names(tree: Tree, chains: list[list[int]], has_wrist: bool) -> list[str]:
    """What the bodies of a chain have in common, or the first body where that is not unique."""
    first = [str(tree.model.body(chain[0]).name) for chain in chains]
    common = []
    for chain, name in zip(chains, first, strict=True):
        bodies = [tree.model.body(b).name for g in chain for b in tree.members[g]]
        shared = re.sub(r"[\W_]+$", "", _beginning(bodies))
        common.append(shared if len(bodies) > 1 and len(shared) > 1 else name)
    if has_wrist:
        common[0] = WRIST
    return [
        name if common.count(name) == 1 else unique_name
        for name, unique_name in zip(common, first, strict=True)
    ]


def _beginning(names: Sequence[str]) -> str:
    """The letters with which all names begin."""
    first, last = min(names), max(names)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in same)


def _finger(
    tree: Tree,
    chain: Sequence[int],
    on: str,
    name: str,
    starts: Mapping[str, float],
    tips: Mapping[int, Array],
    driven: set[str],
) -> Finger:
    carry = np.eye(4) if not on else joint_frame(tree, tree.joints(tree.model.body(on).id)[-1])
    base = joint_frame(tree, next(j for group in chain for j in tree.joints(group)))
    stand = np.linalg.inv(carry) @ base
    rows, before = [], base
    for group in chain:
        joints = tree.joints(group)
        for joint in joints:
            frame = joint_frame(tree, joint)
            is_last = joint == joints[-1]
            rows.append(
                _row(tree, group if is_last else None, joint, np.linalg.inv(before) @ frame, starts)
            )
            before = frame
    rows = [row.replace(driven=row.joint_name in driven) for row in rows]
    last = next((group for group in reversed(chain) if group in tips), None)
    tip = (0.0, 0.0, 0.0)
    if last is not None:
        x, y, z = (np.linalg.inv(before) @ [*tips[last], 1.0])[:3].tolist()
        tip = (x, y, z)
    return Finger(
        name=name,
        base=Pose(position=position_of(stand), quaternion=quaternion_of(stand)),
        on=on,
        convention="placed",
        phalanges=tuple(rows),
        tip=tip,
        verbatim_names=True,
    )


def joint_frame(tree: Tree, joint: int) -> Array:
    """A frame at a joint that moves with it, z along its axis, all joints at zero, (4, 4)."""
    body = int(tree.model.jnt_bodyid[joint])
    rotation = tree.data.xmat[body].reshape(3, 3)
    axis = rotation.T @ tree.data.xaxis[joint]
    frame = np.eye(4)
    frame[:3, :3] = rotation @ rotation_from_z(axis)
    frame[:3, 3] = tree.data.xanchor[joint]
    return frame


def rotation_from_z(axis: Array) -> Array:
    """The shortest turn that takes z to a unit vector, (3, 3)."""
    x, y, z = axis.tolist()
    quaternion = (0.0, 1.0, 0.0, 0.0) if z < -1 + 1e-12 else (1.0 + z, -y, x, 0.0)
    return np.asarray(transform(quaternion=quaternion)[:3, :3])


def _row(
    tree: Tree, group: int | None, joint: int, origin: Array, starts: Mapping[str, float]
) -> Phalanx:
    """One joint; with the bodies behind it where no other joint comes before them."""
    model = tree.model
    name, dof = str(model.joint(joint).name), int(model.jnt_dofadr[joint])
    low, high = joint_range(model, joint)
    turning = int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_HINGE
    bodies = {} if group is None else {"bodies": tuple(_bodies_of_group(tree, group))}
    weight = {} if group is None else {"inertial": _inertial(tree, group, joint)}
    return Phalanx(
        name=f"{name}_link" if group is None else _row_name(tree, group),
        joint_name=name,
        joint="revolute" if turning else "prismatic",
        origin=Pose(position=position_of(origin), quaternion=quaternion_of(origin)),
        limits=(low, high),
        start=min(max(starts[name], low), high),
        damping=float(np.ravel(model.dof_damping[dof])[0]),
        stiffness=float(np.ravel(model.jnt_stiffness[joint])[0]),
        rest_angle=float(model.qpos_spring[model.jnt_qposadr[joint]]),
        friction_loss=float(model.dof_frictionloss[dof]),
        armature=float(model.dof_armature[dof]),
        **bodies,
        **weight,
    )


def joint_range(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    """Limits of a joint, or as far as anything turns where it has none [rad or m]."""
    turning = int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_HINGE
    if not model.jnt_limited[joint]:
        return FREE_ANGLE if turning else FREE_TRAVEL
    low, high = model.jnt_range[joint].tolist()
    return low, high


def _bodies_of_group(tree: Tree, group: int) -> list[str]:
    """Bodies of a phalanx; those of the palm are no phalanx."""
    return [] if group == tree.palm else tree.touching(group)


def _inertial(tree: Tree, group: int, joint: int) -> Inertial | None:
    """Mass and inertia of a group in the frame of its last joint."""
    model, data = tree.model, tree.data
    members = tree.members[group]
    masses = model.body_mass[members]
    total = float(masses.sum())
    if total <= 0.0:
        return None
    centre = masses @ data.xipos[members] / total
    inertia = np.zeros((3, 3))
    for body, mass in zip(members, masses, strict=True):
        rotated = data.ximat[body].reshape(3, 3)
        away = data.xipos[body] - centre
        inertia += rotated @ np.diag(model.body_inertia[body]) @ rotated.T
        inertia += mass * (away @ away * np.eye(3) - np.outer(away, away))
    frame = joint_frame(tree, joint)
    rotated = frame[:3, :3].T @ inertia @ frame[:3, :3]
    x, y, z = (frame[:3, :3].T @ (centre - frame[:3, 3])).tolist()
    ixx, iyy, izz, ixy, ixz, iyz = rotated[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
    return Inertial(
        mass=total, origin=Origin(xyz=(x, y, z)), inertia=(ixx, iyy, izz, ixy, ixz, iyz)
    )


# --------------------
# Postures that obey a model's equalities: closed linkages, joints that follow others.


ROUNDS, NEAR = 30, 1e-10
LONGEST_STEP = 0.3
"""Of a joint in one round [rad or m]."""


def closed(model: mujoco.MjModel, data: mujoco.MjData, held: NDArray[np.bool_]) -> bool:
    """Move the joints that are not held until all equalities hold, by Gauss and Newton.

    Args:
        model: The model.
        data: Its state; ``qpos`` is changed, and kinematics are made for it.
        held: Degrees of freedom that stay where they are, booleans (nv,).

    Returns:
        Whether the equalities hold to 0.1 mm or mrad in the end.
    """
    if not model.neq:
        mujoco.mj_kinematics(model, data)
        return True
    residual = np.zeros(0)
    for _ in range(ROUNDS):
        mujoco.mj_fwdPosition(model, data)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        residual = np.array(data.efc_pos[rows])
        if not len(residual) or np.abs(residual).max() < NEAR:
            return True
        jacobian = _jacobian(model, data)[rows][:, ~held]
        correction = np.linalg.lstsq(jacobian, -residual, rcond=1e-8)[0]
        step = np.zeros(model.nv)
        step[~held] = correction * min(
            1.0, LONGEST_STEP / max(np.abs(correction).max(initial=0.0), 1e-12)
        )
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
    mujoco.mj_kinematics(model, data)
    return bool(np.abs(residual).max(initial=0.0) < 1e-4)


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Of all constraints, (nefc, nv)."""
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J).reshape(data.nefc, model.nv)
    dense = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    )
    return dense


# --------------------
# Geoms of MuJoCo as our shapes.


GEOM = mujoco.mjtGeom


def primitive_of(model: mujoco.MjModel, geom: int) -> Shape | None:
    """A geom as one of our shapes; None where it is none, as a mesh.

    Args:
        model: The compiled model.
        geom: Its number.
    """
    radius, half, third = model.geom_size[geom].tolist()
    match int(model.geom_type[geom]):
        case GEOM.mjGEOM_SPHERE:
            return Sphere(radius=radius)
        case GEOM.mjGEOM_CAPSULE:
            return Capsule(radius=radius, length=2 * half)
        case GEOM.mjGEOM_CYLINDER:
            return Cylinder(radius=radius, height=2 * half)
        case GEOM.mjGEOM_BOX:
            return Cuboid(size=(2 * radius, 2 * half, 2 * third))
        case GEOM.mjGEOM_ELLIPSOID:
            return Ellipsoid(radii=(radius, half, third))
    return None


# --------------------
# A model of MJCF below a body of a scene, its own names, actuators and tendons kept.


BOTH_GROUP, SEEN_GROUP, TOUCHED_GROUP = 0, 2, 3
"""Groups of geoms: both seen and touched, only seen, only touched."""


def attach(
    spec: mujoco.MjSpec,
    source: SourceModel,
    carrier: mujoco.MjsBody,
    pose: Pose,
    servos: tuple[AddedServo, ...] = (),
) -> None:
    """Hang a model on a body.

    Every geom goes to the group of what is done with it: seen, touched, or both. Which geoms can
    touch is what the file says by ``contype`` and ``conaffinity``.

    Args:
        spec: The scene; to be copied before it is compiled, as MuJoCo would warn of what holds
            only for models that are saved without their defaults.
        source: The model.
        carrier: The body that carries it.
        pose: The world of the file in the carrier's frame.
        servos: To be added behind the file's own actuators.
    """
    child = source.spec.copy()
    _sort_geoms(child)
    frame = carrier.add_frame(pos=list(pose.position), quat=list(pose.quaternion))
    with _quiet():
        spec.attach(child, frame=frame, prefix=source.prefix)
    for servo in servos:
        actuator = spec.add_actuator(
            name=servo.actuator,
            target=servo.joint,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            ctrlrange=list(servo.limits),
            ctrllimited=True,
            forcerange=[-servo.force_limit, servo.force_limit],
            forcelimited=True,
        )
        actuator.set_to_position(kp=servo.stiffness, dampratio=servo.damping_ratio)


def can_touch(geom: mujoco.MjsGeom) -> bool:
    """Whether a geom takes part in contacts."""
    return bool(geom.contype or geom.conaffinity)


def _sort_geoms(child: mujoco.MjSpec) -> None:
    paired = {name for pair in child.pairs for name in (pair.geomname1, pair.geomname2)}
    for body in child.bodies:
        geoms = list(body.geoms)
        touching = [can_touch(geom) or geom.name in paired for geom in geoms]
        is_visual = not all(touching)
        for geom, touches in zip(geoms, touching, strict=True):
            if touches:
                geom.group = TOUCHED_GROUP if is_visual else BOTH_GROUP
            else:
                geom.group = SEEN_GROUP


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what MuJoCo says of options that differ; ``conflicts`` tells it."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


BASE = "hand_base"
"""Body of the scene that carries the attached model."""
TAKEN = {BASE, "object", "table", "arm", "wrist", "floor", "sky", "key", "start"}
TAKEN_BEFORE = ("object_", "table_", "arm_")
"""Names, and beginnings of names, that a scene gives itself."""
NAMED = (
    "bodies",
    "joints",
    "geoms",
    "sites",
    "cameras",
    "tendons",
    "actuators",
    "equalities",
    "sensors",
    "meshes",
    "materials",
    "textures",
    "hfields",
    "pairs",
    "excludes",
)
MOVING = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
EVERY_GROUP = (0, 5)


class SourceModel(NamedTuple):
    """A model ready to be attached."""

    spec: mujoco.MjSpec
    """To be copied before it is changed."""
    compiled: mujoco.MjModel
    """As the file has it, with all that was dropped since."""
    prefix: str
    """Before all names once it is attached; empty where none is taken."""
    sha256: str
    dropped: tuple[str, ...]
    """What was left out, in words."""


def read_model(path: Path) -> SourceModel:
    """Read a model and take from it what a scene brings itself: floor, lights, a free root.

    Raises:
        DescriptionError: The file, or what it consists of, is missing or wrong; MuJoCo's words
            with file and line.
    """
    files = model_files(path)
    states = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return _read(path, states)


@lru_cache(maxsize=16)
def _read(path: Path, states: tuple[tuple[str, int, int], ...]) -> SourceModel:
    files = [Path(name) for name, _, _ in states]
    try:
        # a copy would leave out what refers to nothing, instead of refusing it
        first, spec = (mujoco.MjSpec.from_file(str(path)) for _ in range(2))
        _name_all(first)
        _name_all(spec)
        whole = first.compile()
    except ValueError as error:
        raise _refused(error, path) from error
    _refuse_parts(spec, path)
    dropped = _drop(spec, path)
    spec.compiler.fusestatic = False
    _keep_inertias(spec, whole)
    stem = re.sub(r"\W+", "_", spec.modelname or path.stem)
    spec.default.name = f"{stem}_defaults"
    prefix = f"{stem}_" if _clashes(spec) else ""
    return SourceModel(spec, whole, prefix, sha256_of(files), tuple(dropped))


def check_hash(digest: str, expected: str | None, path: Path) -> None:
    """Refuse files that have changed since their hash was taken.

    Raises:
        DescriptionError: They have.
    """
    if expected not in (None, digest):
        raise DescriptionError(
            f"expected the model with SHA-256 {expected}, found {digest}: the file, or one that it "
            "includes or a mesh of it, has changed",
            file=path,
        )


def _refused(error: ValueError, path: Path) -> DescriptionError:
    """MuJoCo's complaint as a sentence with its element and line."""
    words = " ".join(str(error).split())
    line = re.search(r"\bline (\d+)", words)
    element = re.search(r"Element(?: name)? '([^']+)'", words)
    message = re.sub(r"^(XML )?Error: ", "", words)
    message = re.sub(
        r",? ?Element(?: name)? '[^']*'(, id -?\d+)?(, line \d+)?", "", message
    ).strip()
    return DescriptionError(
        f"MuJoCo refuses the model: {message}",
        file=path,
        line=int(line[1]) if line else None,
        field=f"'{element[1]}'" if element else None,
    )


def _refuse_parts(spec: mujoco.MjSpec, path: Path) -> None:
    """Refuse what no hand has and a closure cannot handle."""
    if spec.flexes:
        raise DescriptionError(
            f"expected a hand of rigid bodies, found the flex '{spec.flexes[0].name}'; soft "
            "fingers are described in YAML or U(C)RDF",
            file=path,
        )
    if not any(joint.type in MOVING for joint in spec.joints):
        raise DescriptionError(
            "expected a hand with hinge or slide joints, found a model without", file=path
        )


def _drop(spec: mujoco.MjSpec, path: Path) -> list[str]:
    """Take out what belongs to a scene, and say it."""
    messages = []
    for key in list(spec.keys):
        spec.delete(key)
    for light in list(spec.lights):
        spec.delete(light)
    floors = [
        geom
        for geom in spec.worldbody.geoms
        if geom.type in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    ]
    if floors:
        messages.append(
            f"{_named_list('floor', [geom.name for geom in floors])} of the file is left out"
        )
    left_out_bodies = [
        body for body in _roots(spec) if not _moves(body) and (body.mocap or _is_free(body))
    ]
    if left_out_bodies:
        names = _named_list("body", [body.name for body in left_out_bodies])
        messages.append(f"{names} of the file, which is no part of the hand, is left out")
    for joint in [j for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]:
        if joint.parent not in left_out_bodies:
            messages.append(
                f"the free joint of body '{joint.parent.name}' is left out: the scene holds the "
                "hand, or lifts it"
            )
            spec.delete(joint)
    pairs = [pair for pair in spec.pairs if {pair.geomname1, pair.geomname2} & _names(floors)]
    for part in [*pairs, *floors, *left_out_bodies]:
        spec.delete(part)
    for texture in list(spec.textures):
        if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
            spec.delete(texture)
    mocaps = [body.name for body in spec.bodies if body.mocap]
    if mocaps:
        raise DescriptionError(
            f"expected a hand that hangs on the world, found the mocap body '{mocaps[0]}' with "
            "joints below it; leave mocap out",
            file=path,
        )
    return messages


def _named_list(what: str, names: list[str]) -> str:
    known = ", ".join(f"'{name}'" for name in names if name)
    return f"the {what} {known}".rstrip()


def _names(parts: list[Any]) -> set[str]:
    return {part.name for part in parts} - {""}


def _roots(spec: mujoco.MjSpec) -> list[mujoco.MjsBody]:
    return list(spec.worldbody.bodies)


def _is_free(body: mujoco.MjsBody) -> bool:
    return any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints)


def _moves(body: mujoco.MjsBody) -> bool:
    """Whether a hinge or a slide is below a root."""
    return any(joint.type in MOVING for joint in body.find_all("joint")) or any(
        joint.type in MOVING for joint in body.joints
    )


def _keep_inertias(spec: mujoco.MjSpec, whole: mujoco.MjModel) -> None:
    """State inertias that MuJoCo infers from some groups of geoms only: groups change later."""
    if tuple(spec.compiler.inertiagrouprange) == EVERY_GROUP:
        return
    for index, body in enumerate(spec.bodies):
        if index == 0 or not body.name:
            continue
        compiled = whole.body(body.name)
        body.mass, body.ipos, body.iquat = compiled.mass[0], compiled.ipos, compiled.iquat
        body.inertia, body.explicitinertial = compiled.inertia, True
    spec.compiler.inertiagrouprange = EVERY_GROUP
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO


def _name_all(spec: mujoco.MjSpec) -> None:
    """Give names to bodies, geoms, joints, tendons and actuators that have none."""
    for body in spec.bodies:
        if body.name == "world":
            continue
        _name(spec.bodies, body, f"{body.parent.name}_body")
    for geom in spec.geoms:
        _name(spec.geoms, geom, BASE if geom.parent.name == "world" else geom.parent.name)
    for joint in spec.joints:
        _name(spec.joints, joint, f"{joint.parent.name}_joint")
    for index, tendon in enumerate(spec.tendons):
        _name(spec.tendons, tendon, f"tendon{index + 1}")
    for actuator in spec.actuators:
        _name(spec.actuators, actuator, actuator.target)


def _name(others: Any, part: Any, preferred: str) -> None:
    """Name a part as wanted, with a number behind where that is taken."""
    if part.name:
        return
    taken, number, name = {other.name for other in others}, 1, preferred
    while name in taken:
        number += 1
        name = f"{preferred}_{number}"
    part.name = name


def _clashes(spec: mujoco.MjSpec) -> bool:
    """Whether a name of the file is one that the scene uses."""
    names = {part.name for kind in NAMED for part in getattr(spec, kind)} - {"world", ""}
    bodies = {body.name for body in spec.bodies}
    sensors = {f"{body}_contact" for body in bodies}
    return bool(
        names & TAKEN
        or {sensor.name for sensor in spec.sensors} & sensors
        or any(name.startswith(TAKEN_BEFORE) for name in names)
    )


# --------------------
# The files that a model in MJCF consists of: itself, what it includes, its meshes and textures.


DIRECTORY_ATTRIBUTE = {
    "mesh": "meshdir",
    "skin": "meshdir",
    "hfield": "meshdir",
    "texture": "texturedir",
}
"""The attribute of ``<compiler>`` that says where files of an element lie."""
SIDES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
ROOT = "mujoco"


class _Asset(NamedTuple):
    named_in: Path
    line: int | None
    kind: str
    file: str


def resolved(name: str) -> Path:
    """The path of a model's file by its portable name."""
    return assets.shipped_file(name) or Path(name).expanduser().absolute()


def model_files(path: Path) -> list[Path]:
    """All files that a model consists of, itself first.

    Raises:
        DescriptionError: One is missing or is no XML; names the file and the line that asks for it.
    """
    documents: dict[Path, Element] = {}
    _read_document(path, path.parent, documents)
    directories: dict[str, str] = {}
    for root in documents.values():
        for compiler in root.iter("compiler"):
            for key in ("meshdir", "texturedir", "assetdir", "strippath"):
                if key in compiler.attrib:
                    directories[key] = str(compiler.get(key))
    files = list(documents)
    for document, root in documents.items():
        files += [_asset_file(part, path.parent, directories) for part in _assets(document, root)]
    return list(dict.fromkeys(files))


def sha256_of(files: list[Path]) -> str:
    """Hash of all files in their order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _read_document(path: Path, directory: Path, documents: dict[Path, Element]) -> None:
    """Read a document and, after it, those that it includes."""
    if path in documents:
        return
    documents[path] = root = _parsed(path)
    if root.tag not in (ROOT, "mujocoinclude"):
        raise DescriptionError(
            f"expected a MuJoCo model with the root element <{ROOT}>, found <{root.tag}>",
            file=path,
            line=line_of(root),
        )
    for include in root.iter("include"):
        included = directory / str(include.get("file", ""))
        if not included.is_file():
            raise DescriptionError(
                f"expected the file to include, found none at {included}",
                file=path,
                line=line_of(include),
                field="include.file",
            )
        _read_document(included, directory, documents)


def _parsed(path: Path) -> Element:
    if not path.is_file():
        received = "a folder" if path.is_dir() else "no such file"
        raise DescriptionError(f"expected a MuJoCo model (.xml), found {received}", file=path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", file=path) from error
    # what a file names outside itself is never fetched
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        reason = str(error.msg).split(", line ")[0] if error.msg else "an empty file"
        raise DescriptionError(
            f"expected XML, found a mistake: {reason}", file=path, line=error.lineno or None
        ) from error


def _assets(document: Path, root: Element) -> Iterator[_Asset]:
    for element in root.iter(*DIRECTORY_ATTRIBUTE, "model"):
        for key in ("file", *SIDES):
            if key in element.attrib:
                yield _Asset(document, line_of(element), str(element.tag), str(element.get(key)))


def _asset_file(asset: _Asset, directory: Path, directories: dict[str, str]) -> Path:
    directory_name = directories.get(
        DIRECTORY_ATTRIBUTE.get(asset.kind, ""), directories.get("assetdir", "")
    )
    directory_name = "" if asset.kind == "model" else directory_name
    name = Path(asset.file).name if directories.get("strippath") == "true" else asset.file
    file = directory / directory_name / name
    if not file.is_file():
        raise DescriptionError(
            f"expected the file of a {asset.kind}, found none at {file}",
            file=asset.named_in,
            line=asset.line,
            field=f"{asset.kind}.file",
        )
    return file
