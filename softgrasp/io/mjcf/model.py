"""MJCF files as models to attach to a scene, without floors, lights and other parts of scenes.

``read_model`` compiles the file once unchanged, drops floors, lights, keyframes and free joints,
names unnamed elements and hashes all files it consists of. What older or other programs wrote is
accepted with a message (``repairs``). ``attach`` adds the result below a body of a scene; names,
actuators and tendons of the file are kept.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from lxml import etree

from softgrasp import assets
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Pose, Shape, Sphere
from softgrasp.description.hand import AddedServo, HandModel
from softgrasp.errors import DescriptionError
from softgrasp.io.files import in_any_case, sha256_of
from softgrasp.io.input_limits import (
    MAX_ELEMENTS,
    MAX_JOINTS,
    check_elements,
    check_size,
    note_inputs,
)
from softgrasp.io.mesh import resolve_file
from softgrasp.io.mesh_files import Triangles, shape_triangles
from softgrasp.io.mjcf.repairs import (
    MissingFile,
    angles_in_radians,
    merge,
    missing_meshes,
    position_biases,
    readable_spec,
    with_slashes,
)
from softgrasp.io.xml_elements import Element, line_of
from softgrasp.mechanics.transforms import Array

BASE = "hand_base"
"""Body of the scene to which the model is attached."""
TAKEN = {BASE, "object", "table", "arm", "wrist", "floor", "sky", "key", "start"}
TAKEN_BEFORE = ("object_", "table_", "arm_")
"""Names and prefixes that scenes use."""
NAMED = (
    "bodies joints geoms sites cameras tendons actuators equalities sensors meshes materials "
    "textures hfields pairs excludes"
)
MOVING = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
BOTH_GROUP, SEEN_GROUP, TOUCHED_GROUP = 0, 2, 3
"""Geom groups: visible and colliding, visible only, colliding only."""
INERTIA_OPTIONS = {
    "inertiagrouprange": (0, 5),
    "inertiafromgeom": mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO,
    "settotalmass": -1.0,
    "boundmass": 0.0,
    "boundinertia": 0.0,
    "balanceinertia": False,
}
"""Attributes of ``<compiler>`` by which MuJoCo infers or changes masses, with their defaults."""
GEOM, TRANSMISSION = mujoco.mjtGeom, mujoco.mjtTrn
ROOT = "mujoco"
DIRECTORY_ATTRIBUTE = dict.fromkeys(("mesh", "skin", "hfield"), "meshdir") | {
    "texture": "texturedir"
}
"""Attribute of ``<compiler>`` with the directory of an element's files."""
MAX_ATTACHED = 1_000
"""Largest number of models that a model attaches, with those that they attach themselves."""
MAX_GEOMS = 2_000
"""Largest number of geoms of a hand's model that can touch."""
MAX_CONTACTS = 5_000
"""Largest number of contacts of a hand's model at its start."""
SIDES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


class SourceModel(NamedTuple):
    """An MJCF model that is ready to be attached to a scene."""

    spec: mujoco.MjSpec
    """Must be copied before it is changed."""
    compiled: mujoco.MjModel
    """The complete model of the file, with all that ``spec`` leaves out."""
    prefix: str
    """Prefix of all names when attached; empty if no name clashes."""
    sha256: str
    dropped: tuple[str, ...]
    """Messages about parts that are left out."""


class _Asset(NamedTuple):
    named_in: Path
    line: int | None
    kind: str
    file: str


def read_model(path: Path) -> SourceModel:
    """Read a model without the parts that a scene has itself: floor, lights, free root joint.

    Raises:
        DescriptionError: The file, or one that it includes, is missing or wrong; with MuJoCo's
            message, file and line.
    """
    documents = _documents(path)
    files, missing = _files(path, documents)
    states = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    return _read(path, states, tuple(missing))


def attach(
    spec: mujoco.MjSpec,
    source: SourceModel,
    carrier: mujoco.MjsBody,
    pose: Pose,
    servos: tuple[AddedServo, ...] = (),
    *,
    weightless: bool = False,
) -> None:
    """Attach a model to a body.

    Every geom is put in the group of its use: visible, colliding, or both. ``contype`` and
    ``conaffinity`` of the file decide which geoms collide.

    Args:
        spec: Scene; copy it before compiling, as MuJoCo otherwise warns about models that are
            saved without their defaults.
        source: Model to attach.
        carrier: Body that carries it.
        pose: World frame of the file in the carrier's frame.
        servos: Servos to add after the actuators of the file.
        weightless: Compensate the weight of all bodies of the model.
    """
    paired = {name for pair in source.spec.pairs for name in (pair.geomname1, pair.geomname2)}
    child = source.spec.copy()
    for body in child.bodies:
        touching = [can_touch(geom) or geom.name in paired for geom in body.geoms]
        touched = BOTH_GROUP if all(touching) else TOUCHED_GROUP
        for geom, touches in zip(body.geoms, touching, strict=True):
            geom.group = touched if touches else SEEN_GROUP
        if weightless and body.name != "world":
            body.gravcomp = 1.0
    frame = carrier.add_frame(pos=list(pose.position), quat=list(pose.quaternion))
    with _quiet():
        spec.attach(child, frame=frame, prefix=source.prefix)
    for servo in servos:
        actuator = spec.add_actuator(
            name=servo.actuator,
            target=servo.joint,
            trntype=TRANSMISSION.mjTRN_TENDON if servo.on_tendon else TRANSMISSION.mjTRN_JOINT,
            ctrlrange=list(servo.limits),
            ctrllimited=True,
            forcerange=[-servo.force_limit, 0.0 if servo.pulls_only else servo.force_limit],
            forcelimited=True,
        )
        actuator.set_to_position(kp=servo.stiffness, dampratio=servo.damping_ratio)


def can_touch(geom: mujoco.MjsGeom) -> bool:
    """Whether a geom can collide."""
    return bool(geom.contype or geom.conaffinity)


def is_hinge(model: mujoco.MjModel, joint: int) -> bool:
    """Whether a joint is a hinge."""
    return bool(model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE)


def moving_joints(model: mujoco.MjModel) -> list[int]:
    """Return the hinges and slides of a model."""
    return np.flatnonzero(np.isin(model.jnt_type, MOVING)).tolist()


def touching_geoms(model: mujoco.MjModel) -> list[int]:
    """Return the geoms of an attached hand that can touch."""
    touches = np.isin(model.geom_group, (BOTH_GROUP, TOUCHED_GROUP))
    return np.flatnonzero(touches & (model.geom_bodyid > 0)).tolist()


def primitive_of(model: mujoco.MjModel, geom: int) -> Shape | None:
    """Convert a primitive geom to a shape; None for other geoms, such as meshes."""
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


def triangles_of(model: mujoco.MjModel, geom: int) -> Triangles:
    """Triangulate a geom in its frame.

    Raises:
        ValueError: The geom has no triangulated type.
    """
    if int(model.geom_type[geom]) == GEOM.mjGEOM_MESH:
        return mesh_triangles(model, int(model.geom_dataid[geom]))
    shape = primitive_of(model, geom)
    if shape is None:
        raise ValueError(f"geom {geom}: expected a primitive or mesh geom")
    return shape_triangles(shape)


def mesh_vertices(model: mujoco.MjModel, mesh: int) -> Array:
    """Return the vertices of a mesh in the frame of its geoms, (n, 3) [m]."""
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return np.asarray(model.mesh_vert[first : first + count], dtype=float)


def mesh_triangles(model: mujoco.MjModel, mesh: int) -> Triangles:
    """Return vertices and faces of a mesh in the frame of its geoms [m]."""
    first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return mesh_vertices(model, mesh), model.mesh_face[first : first + count].astype(np.int64)


# Files of a model
def model_files(path: Path, *, textures: bool = True) -> list[Path]:
    """List all files of a model, the main file first; those of textures where requested.

    Raises:
        DescriptionError: One is missing or not XML; names the file and line that refer to it.
    """
    files, missing = _files(path, _documents(path), textures=textures)
    if missing:
        raise missing[0].error
    return files


def _documents(path: Path) -> dict[Path, Element]:
    """Read a complete model and all documents that it includes."""
    documents: dict[Path, Element] = {}
    _read_document(path, path.parent, documents)
    root = documents[path]
    bodies_outside = root.find("body") is not None
    if root.tag != ROOT or bodies_outside:
        actual = "a <body> outside <worldbody>" if bodies_outside else f"<{root.tag}>"
        raise DescriptionError(
            f"expected a complete model, <{ROOT}> with a <worldbody>, found {actual}: a part of a "
            "model; load one that includes it",
            file=path,
            line=line_of(root),
        )
    return documents


def _files(
    path: Path,
    documents: dict[Path, Element],
    *,
    textures: bool = True,
    above: tuple[Path, ...] = (),
    copies: int = 1,
) -> tuple[list[Path], list[MissingFile]]:
    """List the files of a model and of all models that it attaches, and those that are missing."""
    # the last one counts, in the order in which includes are replaced by their files
    compilers = merge(path, path.parent, documents).iter("compiler")
    directories = {str(k): str(v) for item in compilers for k, v in item.attrib.items()}
    copies *= sum(1 for root in documents.values() for _ in root.iter("model", "attach"))
    files, missing = list(documents), []
    for document, root in documents.items():
        for part in _assets(document, root):
            if part.kind == "texture" and not textures:
                continue
            file = _asset_file(part, path.parent, directories)
            if isinstance(file, MissingFile):
                missing.append(file)
            elif part.kind == "model" and file.suffix == assets.MODEL_SUFFIX:
                files += _list_attached_files(file, part, textures, (*above, path), copies)
            else:
                files.append(file)
    note_inputs(*files)
    return list(dict.fromkeys(files)), missing


def _list_attached_files(
    file: Path, part: _Asset, textures: bool, above: tuple[Path, ...], copies: int
) -> list[Path]:
    """List the files of a model that ``above`` attach, and refuse one that attaches itself."""
    expected = ""
    if file.resolve() in {item.resolve() for item in above}:
        expected = f"expected a model that does not attach itself, found {file.name} again"
    elif copies > MAX_ATTACHED:
        expected = f"expected at most {MAX_ATTACHED} attached models, found more"
    else:
        documents = _documents(file)
        if copies * sum(1 for root in documents.values() for _ in root.iter()) > MAX_ELEMENTS:
            expected = f"expected at most {MAX_ELEMENTS} elements in attached models, found more"
    if expected:
        raise DescriptionError(expected, file=part.named_in, line=part.line, field="model.file")
    files, missing = _files(file, documents, textures=textures, above=above, copies=copies)
    if missing:
        raise missing[0].error
    return files


def source_model(model: HandModel) -> SourceModel:
    """Read the model file of a hand, which must not have changed since it was hashed.

    Raises:
        DescriptionError: It is missing, wrong, or has changed.
    """
    path = resolve_file(model.file)
    source = read_model(path)
    if model.sha256 not in (None, source.sha256):
        raise DescriptionError(
            f"expected the model with SHA-256 {model.sha256}, found {source.sha256}: the file, or "
            "one that it includes or a mesh of it, has changed",
            file=path,
        )
    return source


def _read_document(path: Path, directory: Path, documents: dict[Path, Element]) -> None:
    """Read a document and the documents it includes."""
    documents[path] = root = _parse(path)
    if root.tag not in (ROOT, "mujocoinclude"):
        raise DescriptionError(
            f"expected a MuJoCo model with the root element <{ROOT}>, found <{root.tag}>",
            file=path,
            line=line_of(root),
        )
    for include in root.iter("include"):
        included = directory / with_slashes(str(include.get("file", "")))
        expected = ""
        if not included.is_file():
            expected = f"expected the file to include, found none at {included}"
        elif included in documents:  # MuJoCo's rule: by name, so links to one file are allowed
            expected = f"expected each file to be included once, found {included.name} again"
        if expected:
            raise DescriptionError(expected, file=path, line=line_of(include), field="include.file")
        _read_document(included, directory, documents)


def _parse(path: Path) -> Element:
    if not path.is_file():
        received = "a directory" if path.is_dir() else "no such file"
        raise DescriptionError(f"expected a MuJoCo model (.xml), found {received}", file=path)
    try:
        check_size(path)
        content = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", file=path) from error
    # external entities are never fetched
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        root = etree.fromstring(content, parser)
        check_elements(root)
        return root
    except DescriptionError as error:
        raise error.located(file=path) from None
    except etree.XMLSyntaxError as error:
        reason = str(error.msg).split(", line ")[0] if error.msg else "an empty file"
        raise DescriptionError(
            f"expected XML, found: {reason}", file=path, line=error.lineno or None
        ) from error


def _assets(document: Path, root: Element) -> Iterator[_Asset]:
    for element in root.iter(*DIRECTORY_ATTRIBUTE, "model"):
        for key in ("file", *SIDES):
            if key in element.attrib:
                yield _Asset(document, line_of(element), str(element.tag), str(element.get(key)))


def _asset_file(asset: _Asset, directory: Path, directories: dict[str, str]) -> Path | MissingFile:
    directory_name = directories.get(
        DIRECTORY_ATTRIBUTE.get(asset.kind, ""), directories.get("assetdir", "")
    )
    name = with_slashes(asset.file)
    name = Path(name).name if directories.get("strippath") == "true" else name
    inside = "" if asset.kind == "model" else with_slashes(directory_name)
    file = directory / inside / name
    if file.is_file():
        return file
    alike = in_any_case(file)
    hint = "" if alike is None else f", but {alike}; file names are case-sensitive"
    error = DescriptionError(
        f"expected the file of a {asset.kind}, found none at {file}{hint}",
        file=asset.named_in,
        line=asset.line,
        field=f"{asset.kind}.file",
    )
    return MissingFile(asset.kind, asset.file, error)


# Clean-up
@lru_cache(maxsize=16)
def _read(
    path: Path, states: tuple[tuple[str, int, int], ...], missing: tuple[MissingFile, ...]
) -> SourceModel:
    files = [Path(name) for name, _, _ in states]
    roots = _documents(path)
    messages: list[str] = []
    try:
        # a copy would leave out what refers to nothing, instead of refusing it
        first, notes = readable_spec(path, roots)
        _refuse_size(first, path)
        spec, _ = readable_spec(path, roots)
        for item in (first, spec):
            _name_all(item)
            messages = [*notes, *missing_meshes(item, missing), *angles_in_radians(item, roots)]
            messages += position_biases(item)
        fused = first.compiler.fusestatic
        first.compiler.fusestatic = False  # bodies that are fused would have no name
        with _quiet() if getattr(first.compiler, "settotalmass", -1.0) > 0.0 else nullcontext():
            whole = first.compile()
    except ValueError as error:
        raise refused(error, path) from error
    _refuse_parts(spec, whole, path)
    dropped = [*messages, *_drop(spec, whole, path)]
    spec.compiler.fusestatic = False
    _keep_inertias(spec, whole, fused=fused)
    stem = re.sub(r"\W+", "_", spec.modelname or path.stem)
    spec.default.name = f"{stem}_defaults"
    prefix = f"{stem}_" if _clashes(spec) else ""
    return SourceModel(spec, whole, prefix, sha256_of(files), tuple(dropped))


def refused(error: ValueError, path: Path) -> DescriptionError:
    """Convert an error of MuJoCo to one with file, line and element."""
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


def _refuse_size(spec: mujoco.MjSpec, path: Path) -> None:
    """Refuse a model with so many joints or geoms that the search for its grasps takes minutes."""
    for what, count, limit in (
        ("hinge and slide joints", sum(joint.type in MOVING for joint in spec.joints), MAX_JOINTS),
        ("geoms that can touch", sum(map(can_touch, spec.geoms)), MAX_GEOMS),
    ):
        if count > limit:
            raise DescriptionError(
                f"expected a hand of at most {limit} {what}, found {count}", file=path
            )


def _refuse_parts(spec: mujoco.MjSpec, whole: mujoco.MjModel, path: Path) -> None:
    """Refuse flexible bodies, models without hinge or slide joints, and many overlapping geoms."""
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
    data = mujoco.MjData(whole)
    mujoco.mj_kinematics(whole, data)
    try:
        mujoco.mj_collision(whole, data)
        contacts = data.ncon
    except mujoco.FatalError:  # the memory of the model does not suffice
        contacts = MAX_CONTACTS + 1
    if contacts > MAX_CONTACTS:
        raise DescriptionError(
            f"expected a hand of at most {MAX_CONTACTS} contacts at its start, found more: its "
            "geoms overlap",
            file=path,
        )


def _drop(spec: mujoco.MjSpec, whole: mujoco.MjModel, path: Path) -> list[str]:
    """Remove elements of a model that scenes have themselves; return messages about them."""
    messages = []
    for key in list(spec.keys):
        spec.delete(key)
    for light in list(spec.lights):
        spec.delete(light)
    planes = (GEOM.mjGEOM_PLANE, GEOM.mjGEOM_HFIELD)
    floors = [geom for geom in spec.worldbody.geoms if geom.type in planes]
    if floors:
        names = _list_names("floor", [geom.name for geom in floors])
        messages.append(f"{names} of the file is left out")
    actuated = _find_actuated_roots(whole)
    left_out_bodies = [
        body
        for body in spec.worldbody.bodies
        if (not _moves(body) and (body.mocap or _is_free(body)))
        or (_moves(body) and actuated and body.name not in actuated)
    ]
    if left_out_bodies:
        names = _list_names("body", [body.name for body in left_out_bodies])
        messages.append(f"{names} of the file, which is not part of the hand, is left out")
    for joint in [j for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]:
        if joint.parent not in left_out_bodies:
            messages.append(
                f"the free joint of body '{joint.parent.name}' is left out: the scene holds the "
                "hand, or lifts it"
            )
            spec.delete(joint)
    gone = {geom.name for geom in floors} - {""}
    gone |= {g.name for body in left_out_bodies for g in (*body.geoms, *body.find_all("geom"))}
    pairs = [pair for pair in spec.pairs if {pair.geomname1, pair.geomname2} & gone]
    for part in [*pairs, *floors, *left_out_bodies]:
        spec.delete(part)
    for texture in list(spec.textures):
        if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
            spec.delete(texture)
    mocaps = [body.name for body in spec.bodies if body.mocap]
    if mocaps:
        raise DescriptionError(
            f"expected a hand that is fixed to the world, found the mocap body '{mocaps[0]}' with "
            "joints below it; remove its mocap attribute",
            file=path,
        )
    return messages


def _find_actuated_roots(whole: mujoco.MjModel) -> set[str]:
    """Names of the bodies on the world whose trees an actuator moves, also by constraints."""
    moved = moments(whole, mujoco.MjData(whole)).any(axis=0)
    roots = {int(whole.body_rootid[whole.dof_bodyid[dof]]) for dof in np.flatnonzero(moved)}
    for first, second in _find_coupled_bodies(whole):
        item, other = int(whole.body_rootid[first]), int(whole.body_rootid[second])
        if roots & {item, other}:
            roots |= {item, other}
    return {str(whole.body(index).name) for index in roots - {0}}


def moments(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Compute the moment arms of all actuators, (nu, nv)."""
    mujoco.mj_fwdPosition(model, data)
    dense = np.zeros((model.nu, model.nv))
    if model.nu:
        mujoco.mju_sparse2dense(
            dense, data.actuator_moment.ravel(), data.moment_rownnz, data.moment_rowadr,
            data.moment_colind.ravel(),
        )  # fmt: skip
    return dense


def _find_coupled_bodies(whole: mujoco.MjModel) -> Iterator[tuple[int, int]]:
    """Pairs of bodies that an equality constraint connects."""
    for index in range(whole.neq):
        first, second = int(whole.eq_obj1id[index]), int(whole.eq_obj2id[index])
        if second < 0:
            continue
        match int(whole.eq_type[index]):
            case mujoco.mjtEq.mjEQ_JOINT:
                yield int(whole.jnt_bodyid[first]), int(whole.jnt_bodyid[second])
            case mujoco.mjtEq.mjEQ_CONNECT | mujoco.mjtEq.mjEQ_WELD:
                if int(whole.eq_objtype[index]) == mujoco.mjtObj.mjOBJ_BODY:
                    yield first, second


def _list_names(what: str, names: list[str]) -> str:
    known = ", ".join(f"'{name}'" for name in names if name)
    return f"the {what} {known}".rstrip()


def _is_free(body: mujoco.MjsBody) -> bool:
    return any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints)


def _moves(body: mujoco.MjsBody) -> bool:
    """Return whether a body or its descendants have a hinge or slide joint."""
    return any(joint.type in MOVING for joint in (*body.joints, *body.find_all("joint")))


def _keep_inertias(spec: mujoco.MjSpec, whole: mujoco.MjModel, *, fused: bool) -> None:
    """Make inertias explicit that MuJoCo changes or infers by options of the file.

    Those options do not apply to a model that is attached, and geom groups change later.

    Args:
        spec: Model, which is changed.
        whole: The same, compiled without fusing static bodies.
        fused: Whether the file fuses them: those on the world then do not count in its total mass.
    """
    # MuJoCo will drop settotalmass
    compiler = spec.compiler
    options = {key: value for key, value in INERTIA_OPTIONS.items() if hasattr(compiler, key)}
    if all(np.array_equal(getattr(compiler, key), value) for key, value in options.items()):
        return
    mass, moves = whole.body_mass, whole.body_weldid != 0
    is_scaled = fused and getattr(compiler, "settotalmass", -1.0) > 0.0
    factor = mass.sum() / mass[moves].sum() if is_scaled else 1.0
    for index, body in enumerate(spec.bodies):
        if index == 0 or not body.name:
            continue
        compiled = whole.body(body.name)
        body.mass, body.ipos = compiled.mass[0] * factor, compiled.ipos
        body.iquat, body.inertia = compiled.iquat, compiled.inertia * factor
        body.explicitinertial = True
    for key, value in options.items():
        setattr(compiler, key, value)


def _name_all(spec: mujoco.MjSpec) -> None:
    """Name unnamed bodies, geoms, joints, tendons and actuators."""
    _name(spec.bodies, lambda body, _: f"{body.parent.name}_body")
    _name(
        spec.geoms, lambda geom, _: BASE if geom.parent.name == "world" else str(geom.parent.name)
    )
    _name(spec.joints, lambda joint, _: f"{joint.parent.name}_joint")
    _name(spec.tendons, lambda _, index: f"tendon{index + 1}")
    _name(spec.actuators, lambda actuator, _: str(actuator.target))


def _name(parts: Iterable[Any], preferred: Callable[[Any, int], str]) -> None:
    """Give unnamed elements the preferred name, with a number appended where that is taken."""
    parts = list(parts)
    taken, numbers = {part.name for part in parts}, Counter[str]()
    for index, part in enumerate(parts):
        if part.name:
            continue
        base = name = preferred(part, index)
        while name in taken:
            numbers[base] += 1
            name = f"{base}_{numbers[base] + 1}"
        part.name = name
        taken.add(name)


def _clashes(spec: mujoco.MjSpec) -> bool:
    """Return whether scenes use a name of the file themselves."""
    names = {part.name for kind in NAMED.split() for part in getattr(spec, kind)} - {"world", ""}
    sensors = {f"{body.name}_contact" for body in spec.bodies}
    return bool(
        names & TAKEN
        or {sensor.name for sensor in spec.sensors} & sensors
        or any(name.startswith(TAKEN_BEFORE) for name in names)
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress MuJoCo's warnings about deprecated options, and differing ones (``conflicts``)."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)
