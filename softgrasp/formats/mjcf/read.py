"""A model in MJCF as MuJoCo reads it, without what a scene brings itself."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco

from softgrasp.errors import DescriptionError
from softgrasp.formats.mjcf.model_files import model_files, sha256_of

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
