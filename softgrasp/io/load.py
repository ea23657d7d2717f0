"""Hands and objects by library name or by file."""

from __future__ import annotations

from pathlib import Path

from softgrasp import assets
from softgrasp.description.geometry import LengthUnit, Mesh
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError
from softgrasp.io.hand import hand_from, joined_from
from softgrasp.io.mesh import stamped
from softgrasp.io.mesh_files import CAD_SUFFIXES, MESH_SUFFIXES, read_triangles
from softgrasp.io.object import YCB_PREFIX, load_ycb, read_object
from softgrasp.io.robot import robot_path
from softgrasp.io.urdf import ROBOT_SUFFIXES
from softgrasp.io.urdf.hand import has_model, read_side_file, read_urdf_hand
from softgrasp.io.yaml_files import Tree, YamlFile

YAML_SUFFIXES = (".yaml", ".yml")
MODEL_SUFFIX = ".xml"


def load_hand(name: str | Path) -> Hand:
    """A shipped hand by name, or one from a file.

    A YAML file has Denavit–Hartenberg tables or soft fingers, or names a robot's file as its
    ``model`` and what is to be otherwise. In a U(C)RDF file every bendable on the palm is a soft
    finger; in one without bendables, the chains of joints on the palm are rigid fingers, whose
    grasps are found from their shapes. A MuJoCo model (``.xml``) is attached to scenes as it is.

    Raises:
        DescriptionError: There is no such hand, or its file is wrong.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in a U(C)RDF file is not kept, or cannot be true; or a scene
            does otherwise than a MuJoCo model asks.
    """
    path = Path(name)
    if path.suffix.lower() in YAML_SUFFIXES:
        if has_model(path):
            return read_side_file(path)
        return YamlFile(path).read(lambda data: hand_of(data, path.parent))
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return read_urdf_hand(robot_path(path))
    if path.suffix.lower() == MODEL_SUFFIX:
        from softgrasp.io.mjcf.hand import mjcf_hand

        return mjcf_hand(path)
    _refuse_other_files(path, "a hand", (*YAML_SUFFIXES, *ROBOT_SUFFIXES, MODEL_SUFFIX))
    if str(name) in assets.names("robots") and str(name) not in assets.names("hands"):
        return read_urdf_hand(robot_path(name))
    return load_hand(assets.find("hands", str(name)))


def hand_of(data: dict[str, Tree], directory: Path) -> Hand:
    """A hand of a YAML tree: fingers that it describes, or several hands that it joins.

    Args:
        data: The tree.
        directory: Where files that it names lie.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    if "hands" in data:
        return joined_from(data, directory, load_hand)
    return hand_from(data, directory=directory)


def load_object(
    name: str | Path,
    *,
    mass: float | None = None,
    density: float | None = None,
    units: LengthUnit = "m",
) -> GraspObject:
    """A shipped object by name, one from a YAML or mesh file, or ``ycb:`` and a YCB name.

    Args:
        name: Name or file. A mesh file brings no mass: give ``mass`` or ``density``.
        mass: Replaces the object's own mass or density [kg].
        density: Replaces the object's own mass or density [kg/m³].
        units: Unit of the numbers in a mesh file; other objects know their own.

    Raises:
        DescriptionError: There is no such object, its file is wrong, or its mass is not given
            exactly once.
    """
    path = Path(name)
    if path.suffix.lower() in CAD_SUFFIXES:
        read_triangles(path)  # refuses it, and says how to convert it
    if path.suffix.lower() in MESH_SUFFIXES:
        shape = stamped(Mesh(file=assets.portable_name(path), units=units))
        return GraspObject(name=path.stem, shape=shape, mass=mass, density=density)
    if str(name).startswith(YCB_PREFIX):
        return load_ycb(str(name), mass=mass, density=density)
    obj = _described_object(str(name), path)
    if mass is None and density is None:
        return obj
    return obj.weighing(mass=mass, density=density)


def _described_object(name: str, path: Path) -> GraspObject:
    if path.suffix.lower() not in YAML_SUFFIXES:
        _refuse_other_files(path, "an object", (*YAML_SUFFIXES, *MESH_SUFFIXES))
        return read_object(assets.find("objects", name))
    obj = read_object(path)
    if isinstance(obj.shape, Mesh) and Path(obj.shape.file).is_absolute():
        return obj.replace(shape=stamped(obj.shape))
    return obj


def _refuse_other_files(path: Path, what: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a file of a kind that is not read; a plain name goes through."""
    is_file_name = path.suffix != "" or len(path.parts) > 1
    if is_file_name:
        raise DescriptionError(
            f"expected {what} as {', '.join(suffixes)} or a library name, found "
            f"'{path.suffix or path.name}'",
            file=path,
        )
