"""Objects in YAML: a shape, exactly one of mass and density, a material."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from softgrasp import assets
from softgrasp.description.geometry import Mesh
from softgrasp.description.object import GraspObject, Material
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.mesh_files import MESH_SUFFIXES
from softgrasp.io.yaml_files import Tree, YamlFile, take_units, to_si


def read_object(path: Path) -> GraspObject:
    """Read an object from a YAML file; the mesh it names is looked for beside it.

    Raises:
        DescriptionError: The file, or what it says, is wrong; names file, line and field.
    """
    return YamlFile(path).read(lambda data: object_from(data, directory=path.parent))


def object_from(data: dict[str, Tree], *, directory: Path | None = None) -> GraspObject:
    """Make an object of a YAML tree.

    Args:
        data: The tree; may begin with ``units``.
        directory: Where relative mesh files lie.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    tree = to_si(data, length, angle)
    shape = tree.get("shape")
    if directory is not None and isinstance(shape, dict):
        for key in ("file", "parts"):
            if isinstance(shape.get(key), str):
                shape[key] = absolute_name(shape[key], directory)
    return GraspObject(**tree)


def absolute_name(name: str, directory: Path) -> str:
    """A mesh's name that holds from anywhere: the library's, or an absolute path."""
    if assets.shipped_file(name) is not None:
        return name
    return assets.portable_name(directory / name)


# --------------------
# Objects of the YCB Object and Model Set from a local folder.
#
# B. Calli et al., Benchmarking in Manipulation Research Using the Yale-CMU-Berkeley Object and
# Model Set, IEEE Robotics and Automation Magazine 22(3), 2015. Nothing is downloaded.


YCB_PREFIX = "ycb:"
ROOT_VARIABLE = "SOFTGRASP_YCB"

# Smaller meshes first. Of the pear, the one of 2000 faces has a hull of 582 vertices, the scan of
# 16384 one of 4516; their volumes differ by 0.3 % (mug 1.5 %), and the mass is given anyway.
MESHES = (
    "decimated_2k.obj",
    "google_16k/nontextured.stl",
    "google_16k/nontextured.ply",
    "google_16k/textured.obj",
    "full.stl",
    "poisson/nontextured.stl",
    "poisson/nontextured.ply",
    "tsdf/nontextured.stl",
    "tsdf/nontextured.ply",
    "google_64k/nontextured.stl",
    "google_64k/nontextured.ply",
)


def load_ycb(
    name: str,
    *,
    root: Path | None = None,
    mass: float | None = None,
    density: float | None = None,
) -> GraspObject:
    """An object of a local YCB folder, with its published mass and its mesh as scanned.

    Args:
        name: ``ycb:016_pear``, ``ycb:pear``, or either without the prefix.
        root: Folder with one folder an object; ``$SOFTGRASP_YCB`` where it is not given.
        mass: Instead of the published mass [kg].
        density: Instead of the published mass [kg/m³].

    Raises:
        DescriptionError: The folder is not known or missing, has no such object, or the object
            has no published mass and none is given.
    """
    directory = _root(root)
    meshes_by_name = _objects(directory)
    identity = _identity(name.removeprefix(YCB_PREFIX), meshes_by_name, directory)
    mesh = meshes_by_name[identity]
    if mass is None and density is None:
        mass = _published_mass(identity)
    digest = hashlib.sha256(mesh.read_bytes()).hexdigest()
    return GraspObject(
        name=identity,
        shape=Mesh(file=str(mesh.resolve()), sha256=digest),
        mass=mass,
        density=density,
        material=Material(name="YCB object"),
        source="YCB Object and Model Set, Calli et al. 2015, CC BY 4.0",
    )


def _root(root: Path | None) -> Path:
    if root is None:
        named = os.environ.get(ROOT_VARIABLE)
        if not named:
            raise DescriptionError(
                f"expected the folder of the YCB objects in {ROOT_VARIABLE}, found none; set it: "
                f"export {ROOT_VARIABLE}=FOLDER, where FOLDER holds for instance "
                f"025_mug/{MESHES[1]} (from ycbbenchmarks.com)"
            )
        root = Path(named).expanduser()
    if not root.is_dir():
        raise DescriptionError("expected the folder of the YCB objects, found none", file=root)
    return root


def _objects(root: Path) -> dict[str, Path]:
    """The mesh of each object in a folder, by the object's full name."""
    meshes_by_name = {}
    for directory in sorted(root.iterdir()):
        meshes = [directory / mesh for mesh in MESHES if (directory / mesh).is_file()]
        if meshes:
            meshes_by_name[directory.name] = meshes[0]
    if not meshes_by_name:
        raise DescriptionError(
            f"expected folders such as 025_mug with a mesh such as {MESHES[1]}, found none",
            file=root,
        )
    return meshes_by_name


def _identity(name: str, known: dict[str, Path], root: Path) -> str:
    """The full name of an object, from that or from the part after its number."""
    if name in known:
        return name
    short = {_short(identity): identity for identity in known}
    if name in short:
        return short[name]
    ending = [identity for identity in known if identity.endswith(f"_{name}")]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise DescriptionError(
            f"expected one YCB object, found {len(ending)} that end in '{name}': "
            f"{', '.join(ending)}",
            file=root,
        )
    hint = did_you_mean(name, [*short] if not name[:1].isdigit() else [*known])
    raise DescriptionError(f"no YCB object '{name}'; {hint}", file=root)


def _short(identity: str) -> str:
    """``016_pear`` as ``pear``, ``065-a_cups`` as ``a_cups``."""
    return re.sub(r"^\d+[-_]", "", identity)


def _published_mass(identity: str) -> float:
    masses = _masses()
    if identity not in masses:
        raise DescriptionError(
            f"no published mass of the YCB object '{identity}' is known here; give a mass or a "
            "density"
        )
    return masses[identity]


@cache
def _masses() -> dict[str, float]:
    table = YAML(typ="safe").load(assets.root() / "assets" / "ycb_masses.yaml")
    return {str(name): float(mass) for name, mass in table.items()}


# --------------------
# A folder of meshes as the objects of a sweep.


def meshes_in(directory: Path) -> list[str]:
    """The mesh files of a folder, in the order of their names.

    Raises:
        DescriptionError: There is none.
    """
    paths = [path for path in directory.iterdir() if path.suffix.lower() in MESH_SUFFIXES]
    if not paths:
        there = ", ".join(sorted(path.name for path in directory.iterdir())[:5]) or "nothing"
        raise DescriptionError(
            f"{directory}: expected mesh files ({', '.join(MESH_SUFFIXES)}), found {there}"
        )
    return [str(path) for path in sorted(paths, key=lambda path: path.name)]


def expand_directories(path: str, values: list[object], beside: Path) -> list[object]:
    """Values of an axis, where a folder that is named as an object stands for its meshes.

    Args:
        path: Path of the axis.
        values: Its values.
        beside: Folder that names are relative to.
    """
    if path != "object":
        return values
    expanded: list[object] = []
    for value in values:
        directory = beside / value if isinstance(value, str) else None
        expanded += (
            meshes_in(directory) if directory is not None and directory.is_dir() else [value]
        )
    return expanded


# --------------------
# Success criteria in YAML: what counts as held, by name or by file.


SUFFIXES = (".yaml", ".yml")


def load_criterion(name: str | Path) -> SuccessCriterion:
    """A shipped success criterion by name, or one from a YAML file.

    The file may begin with ``units: {length: mm, angle: deg}``.

    Raises:
        DescriptionError: There is no such criterion, or its file is wrong.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = assets.find("criteria", str(name))
    return YamlFile(path).read(lambda data: _criterion({"name": path.stem} | data))


def _criterion(data: dict[str, Tree]) -> SuccessCriterion:
    rest, length, angle = take_units(data)
    return SuccessCriterion(**to_si(rest, length, angle))
