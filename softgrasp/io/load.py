"""Hands, objects and robots by library name or by file; the suffix selects the reader.

The files that a description names have hashes, by which work that is resumed knows them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp import assets
from softgrasp.assets import (
    CAD_SUFFIXES,
    MESH_SUFFIXES,
    MODEL_SUFFIX,
    MODEL_SUFFIXES,
    ROBOT_SUFFIXES,
    YAML_SUFFIXES,
    YCB_PREFIX,
)
from softgrasp.description.base import Description, unstated
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand, HandModel
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError
from softgrasp.io.hand import SELECTED, hand_from, join_from
from softgrasp.io.input_limits import loader
from softgrasp.io.mesh import refuse_forgotten_unit, resolve_file, stamp
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.object import find_published_mass, load_ycb, object_file, read_object
from softgrasp.io.object_parts import object_name
from softgrasp.io.yaml_files import Tree, YamlFile
from softgrasp.units import LengthUnit

if TYPE_CHECKING:
    from softgrasp.description.robot import Robot

ROBOTS = "robots"


@loader
def load_hand(name: str | Path, *, root: str = "") -> Hand:
    """Load a shipped hand by name, or a hand from a file.

    A YAML file has Denavit–Hartenberg tables or soft fingers, or names a robot file as its
    ``model`` and the fields that replace its values. In a U(C)RDF file every bendable on the palm
    is a soft finger; without bendables, the chains of joints on the palm are rigid fingers whose
    grasps are synthesized from their shapes. A MuJoCo model (``.xml``, ``.mjcf``) is attached to
    scenes unchanged.

    Args:
        name: Name or file.
        root: For a URDF or xacro file, or a YAML file of one: the first link of the hand, where the
            file has several; by default that of ``select_hand``.

    Raises:
        DescriptionError: There is no such hand, or its file is wrong.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in a U(C)RDF file is not kept, or cannot be true; or a scene
            replaces options of a MuJoCo model.
    """
    return unstated(_hand(name, root or SELECTED.get()))


def _hand(name: str | Path, root: str) -> Hand:
    path = Path(name)
    if path.suffix.lower() in YAML_SUFFIXES:
        model = YamlFile(path).data.get("model")  # a URDF or xacro file, or an MJCF file
        if isinstance(model, str) and Path(model).suffix.lower() not in MODEL_SUFFIXES:
            from softgrasp.io.urdf.hand import change_hand

            return YamlFile(path).read(lambda data: change_hand(data, path.parent, root))
        _refuse_root(name, root)
        return YamlFile(path).read(lambda data: hand_of(data, path.parent))
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return _urdf_hand(path, root)
    if path.suffix.lower() in MODEL_SUFFIXES:
        from softgrasp.io.mjcf.hand import mjcf_hand

        _refuse_root(name, root)
        return mjcf_hand(path)
    _refuse_other_files(path, "a hand", (*YAML_SUFFIXES, *ROBOT_SUFFIXES, *MODEL_SUFFIXES))
    if str(name) in assets.names("robots") and str(name) not in assets.names("hands"):
        return _urdf_hand(name, root)
    return _hand(assets.find("hands", str(name)), root)


def _refuse_root(name: str | Path, root: str) -> None:
    """Refuse a first link for a hand whose file has one hand only."""
    if root:
        raise DescriptionError(
            "expected the first link of a hand (--hand, root) only with a URDF or xacro file, "
            f"found '{root}' for '{name}'"
        )


def _urdf_hand(name: str | Path, root: str) -> Hand:
    from softgrasp.io.urdf.hand import hand_of_file

    return hand_of_file(robot_path(name), root)


def hand_of(data: dict[str, Tree], directory: Path) -> Hand:
    """Make a hand from a YAML tree: one with fingers, or several hands joined.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    if "hands" in data:
        return join_from(data, directory, load_hand)
    return hand_from(data, directory=directory)


@loader
def load_object(
    name: str | Path,
    *,
    mass: float | None = None,
    density: float | None = None,
    units: LengthUnit | None = None,
    lock_joints: bool = False,
) -> GraspObject:
    """Load a shipped object by name, one from a file or directory, or from YCB as ``ycb:NAME``.

    Files are YAML, meshes, URDF and MJCF. In a directory the model or mesh is searched, as
    ``object_file`` does; an object of the YCB set has its published mass.

    Args:
        name: Name, file or directory. Mesh files have no mass: give ``mass`` or ``density``.
        mass: Replaces the mass or density of the description [kg].
        density: Replaces the mass or density of the description [kg/m³].
        units: Unit of the numbers in a mesh file; other files state theirs. None: metres, unless
            the size is that of an object in another unit, which is an error.
        lock_joints: Fix the movable joints of a URDF or MJCF file.

    Raises:
        DescriptionError: There is no such object, its file is wrong, or its mass is not given
            exactly once.
    """
    obj = unstated(_object(name, mass, density, units, lock_joints=lock_joints))
    weights = {"mass": mass, "density": density}
    stated = (name for name, value in weights.items() if value is not None)
    obj.__pydantic_fields_set__.update(stated)
    return obj


def _object(
    name: str | Path,
    mass: float | None,
    density: float | None,
    units: LengthUnit | None,
    *,
    lock_joints: bool,
) -> GraspObject:
    path = Path(name)
    if path.is_dir():
        path = object_file(path)
    suffix = path.suffix.lower()
    if suffix in CAD_SUFFIXES:
        read_triangles(path)  # raises, with advice on conversion
    if suffix in MESH_SUFFIXES:
        return _mesh_object(path, mass, density, units)
    if suffix in ROBOT_SUFFIXES:
        from softgrasp.io.urdf.object import read_urdf_object

        return read_urdf_object(path, mass=mass, density=density, lock_joints=lock_joints)
    if suffix in MODEL_SUFFIXES:
        from softgrasp.io.mjcf.object import read_mjcf_object

        return read_mjcf_object(path, mass=mass, density=density, lock_joints=lock_joints)
    if str(name).startswith(YCB_PREFIX):
        return load_ycb(str(name), mass=mass, density=density)
    if suffix in YAML_SUFFIXES:
        obj = read_object(path)
        if isinstance(obj.shape, Mesh) and Path(obj.shape.file).is_absolute():
            obj = obj.replace(shape=stamp(obj.shape))
    else:
        known = (*YAML_SUFFIXES, *MESH_SUFFIXES, ".urdf", MODEL_SUFFIX)
        _refuse_other_files(path, "an object", known)
        obj = read_object(assets.find("objects", str(name)))
    if mass is None and density is None:
        return obj
    return obj.weighing(mass=mass, density=density)


def _mesh_object(
    path: Path, mass: float | None, density: float | None, units: LengthUnit | None
) -> GraspObject:
    """Make an object from a mesh file, with the published mass of the YCB object if it is one."""
    name = object_name(path)
    source = ""
    if mass is None and density is None and (published := find_published_mass(name)) is not None:
        mass, source = published, f"{path}, YCB Object and Model Set, Calli et al. 2015, CC BY 4.0"
    shape = stamp(Mesh(file=assets.portable_name(path), units=units or "m"))
    obj = GraspObject(name=name, shape=shape, mass=mass, density=density, source=source)
    if units is None:
        refuse_forgotten_unit(shape, path)
    return obj


@loader
def load_robot(name: str | Path) -> Robot:
    """Load a shipped robot by name, or a robot from a U(C)RDF, URDF or xacro file.

    The plain file name of a shipped robot, such as ``three_segment_arm.ucrdf``, means that robot
    unless such a file exists here.

    Raises:
        DescriptionError: There is no such robot, or its file is wrong; names file, line and
            element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in the file is not kept.
    """
    from softgrasp.io.urdf import read_robot

    return read_robot(robot_path(name))


def robot_path(name: str | Path) -> Path:
    """Return the file of a robot, given by library name or by file name.

    Raises:
        DescriptionError: There is no such robot.
    """
    path = Path(name)
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return _find_shipped(path) or path
    _refuse_other_files(path, "a robot", ROBOT_SUFFIXES)
    return assets.find(ROBOTS, str(name))


def _refuse_other_files(path: Path, what: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a file with an unsupported suffix; accept a plain name."""
    if path.suffix or len(path.parts) > 1:
        cure = f"; {assets.SDF_CURE}" if path.suffix.lower() == assets.SDF_SUFFIX else ""
        raise DescriptionError(
            f"expected {what} as {', '.join(suffixes)} or a library name, found "
            f"'{path.suffix or path.name}'{cure}",
            file=path,
        )


def _find_shipped(path: Path) -> Path | None:
    """Return the shipped file of a plain name, unless a file of that name exists here."""
    bare = len(path.parts) == 1 and not path.exists()
    is_ours = bare and path.suffix == assets.suffix(ROBOTS) and path.stem in assets.names(ROBOTS)
    return assets.find(ROBOTS, path.stem) if is_ours else None


# Files that descriptions name
def list_described_files(value: object) -> Iterator[Path]:
    """Yield the files that a description names at any depth, such as meshes of its objects.

    Of an MJCF model these are also the files that it includes, its meshes and its textures; a
    missing file is yielded, too.
    """
    if isinstance(value, Mesh):
        yield from (resolve_file(name) for name in (value.file, value.parts) if name is not None)
    elif isinstance(value, HandModel):
        from softgrasp.io.mjcf.model import model_files

        yield (path := resolve_file(value.file))
        with suppress(DescriptionError):  # reported where the model is built
            yield from model_files(path)
    elif isinstance(value, Description):
        for name in type(value).model_fields:
            yield from list_described_files(getattr(value, name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from list_described_files(part)


def input_hashes(files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by their portable names; "" of a file that is missing."""
    return {assets.portable_name(file): _sha256(file) for file in dict.fromkeys(files)}


def current_hashes(names: Iterable[str]) -> dict[str, str]:
    """Return the present SHA-256 of files by the names of ``input_hashes``."""
    return {name: _sha256(resolve_file(name)) for name in names}


def find_changed_input(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the first file whose hash differs; None where all are equal.

    Files are compared by their order, so that a moved directory is equal to the one before.
    """
    pairs = zip_longest(before.items(), now.items(), fillvalue=("", None))
    differing = ((new or old) for (old, digest), (new, other) in pairs if digest != other)
    return next(differing, None)


def _sha256(file: Path) -> str:
    if not file.is_file():
        return ""
    status = file.stat()
    return _digest(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)
def _digest(file: Path, _mtime_ns: int, _size: int) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
