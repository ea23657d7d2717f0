"""Graspable objects in YAML, from the YCB Object and Model Set, and from directories of meshes.

The YCB objects (B. Calli et al., Benchmarking in Manipulation Research Using the Yale-CMU-Berkeley
Object and Model Set, IEEE Robotics and Automation Magazine 22(3), 2015) are read from a local
directory, ``$SOFTGRASP_YCB``; nothing is downloaded.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES, YCB_PREFIX
from softgrasp.description.geometry import Mesh
from softgrasp.description.object import GraspObject, Material
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.input_limits import check_size
from softgrasp.io.mesh import stamp
from softgrasp.io.yaml_files import Tree, YamlFile, take_units, to_si

ROOT_VARIABLE = "SOFTGRASP_YCB"
# Smaller meshes first. The pear with 2000 faces has a hull of 582 vertices, its scan with 16384
# faces one of 4516; the volumes differ by 0.3 % (mug 1.5 %), and the mass is published.
SURFACES = ("nontextured.stl", "nontextured.ply", "textured.obj")
MESHES = (
    "decimated_2k.obj",
    *(f"google_16k/{name}" for name in SURFACES),
    "full.stl",
    *(f"{scan}/{name}" for scan in ("poisson", "tsdf") for name in SURFACES[:2]),
    *(f"google_{size}/{name}" for size in ("64k", "512k") for name in SURFACES),
    *(f"{scan}/textured.obj" for scan in ("poisson", "tsdf", "object")),
    "object/nontextured.ply",
    *reversed(SURFACES),
)
MODELS = ("*.urdf", "*.xml", "urdf/*.xml", "urdf/*.urdf")
"""Models of an object in its directory: those of pybullet-object-models and DexGraspNet."""
CLOUDS = ("clouds/*.ply", "clouds/*.pcd")
"""Point clouds of the YCB set, which have no surface."""


def read_object(path: Path) -> GraspObject:
    """Read an object from a YAML file; its mesh file is relative to its directory.

    Raises:
        DescriptionError: The file is wrong; names file, line and field.
    """
    return YamlFile(path).read(lambda data: object_from(data, directory=path.parent))


def object_from(data: dict[str, Tree], *, directory: Path | None = None) -> GraspObject:
    """Make an object from a YAML tree, with mesh files relative to a directory.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    tree = to_si(data, length, angle)
    if directory is not None:
        anchor_mesh(tree.get("shape"), directory)
    return GraspObject(**tree)


def anchor_mesh(shape: Tree, directory: Path) -> None:
    """Make the file names of a mesh in a tree absolute."""
    for key in ("file", "parts"):
        if isinstance(shape, dict) and isinstance(shape.get(key), str):
            shape[key] = absolute_name(shape[key], directory)


def absolute_name(name: str, directory: Path) -> str:
    """Return the library name of a mesh, or its absolute path."""
    if assets.find_shipped_file(name) is not None:
        return name
    return assets.portable_name(directory / name)


def expand_directories(path: str, values: list[object], beside: Path) -> list[object]:
    """Expand directories among the objects of a sweep axis, of a path, beside a directory.

    The directory of one object in a layout of ``object_file`` is that object, one of such
    directories is these objects, and any other is its mesh files.
    """
    if path != "object":
        return values
    expanded: list[object] = []
    for value in values:
        directory = beside / value if isinstance(value, str) else None
        expanded += [value] if directory is None else _objects_of(directory) or [value]
    return expanded


def _objects_of(directory: Path) -> list[str]:
    """Return the objects of a directory; none where it is no directory."""
    if not directory.is_dir():
        return []
    if _meshes(directory):
        has_model = any(_is_model(path) for name in MODELS for path in directory.glob(name))
        return [str(directory)] if has_model else meshes_in(directory)
    try:
        return [str(path) for path in objects_in(directory)]
    except DescriptionError:
        return meshes_in(directory)


def meshes_in(directory: Path) -> list[str]:
    """List the mesh files of a directory, sorted by name.

    Raises:
        DescriptionError: There are none.
    """
    paths = _meshes(directory)
    if not paths:
        raise DescriptionError(
            f"{directory}: expected mesh files ({', '.join(MESH_SUFFIXES)}), found "
            f"{_content(directory)}"
        )
    return [str(path) for path in paths]


def _meshes(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.iterdir()) if path.suffix.lower() in MESH_SUFFIXES]


def _content(directory: Path) -> str:
    return ", ".join(sorted(path.name for path in directory.iterdir())[:5]) or "nothing"


def object_file(directory: Path) -> Path:
    """Return the model or mesh of an object in its directory.

    A URDF or MJCF file comes first, as it states a mass; then the meshes of the layouts of the YCB
    set, smaller ones first; then the only mesh file.

    Raises:
        DescriptionError: There is none, or there are several of one kind.
    """
    for pattern in MODELS:
        models = [path for path in sorted(directory.glob(pattern)) if _is_model(path)]
        if len(models) == 1:
            return models[0]
        if models:
            raise _several(directory, "model", models)
    if (usual := _usual_mesh(directory)) is not None:
        return usual
    meshes = _meshes(directory)
    if len(meshes) == 1:
        return meshes[0]
    if meshes:
        raise _several(directory, "mesh", meshes)
    raise _no_object(directory)


def _usual_mesh(directory: Path) -> Path | None:
    return next((directory / name for name in MESHES if (directory / name).is_file()), None)


def objects_in(directory: Path) -> list[Path]:
    """Return the directories of objects in a directory, or the directory itself if it is one.

    Raises:
        DescriptionError: There are none.
    """
    if not directory.is_dir():
        raise DescriptionError("expected a directory of objects, found none", file=directory)
    if _has_object(directory):
        return [directory]
    inside = [path for path in sorted(directory.iterdir()) if path.is_dir() and _has_object(path)]
    if not inside:
        raise _no_object(directory)
    return inside


def _is_model(path: Path) -> bool:
    """Return whether an XML file has the root element of a URDF or MJCF file."""
    if path.suffix.lower() != ".xml":
        return True
    check_size(path)
    content = re.sub(rb"<!--.*?-->", b"", path.read_bytes(), flags=re.S)
    root = re.search(rb"<\s*([A-Za-z]\w*)", content)
    return root is not None and root[1] == b"mujoco"


def _several(directory: Path, kind: str, paths: list[Path]) -> DescriptionError:
    listed = ", ".join(str(path.relative_to(directory)) for path in paths[:5])
    more = ", …" if paths[5:] else ""
    return DescriptionError(
        f"expected one {kind}, found {len(paths)}: {listed}{more}; name the file", file=directory
    )


def _no_object(directory: Path) -> DescriptionError:
    """Return the error of a directory without a mesh or model."""
    clouds = [path for pattern in CLOUDS for path in directory.glob(pattern)]
    others = (path for path in sorted(directory.iterdir()) if path.is_dir())
    inside = [path.name for path in others if path.name != "clouds" and _has_object(path)]
    if inside:
        content = f"directories of objects ({len(inside)}): {', '.join(inside[:5])}"
        content += ", …; name one" if inside[5:] else "; name one"
    elif clouds:
        name = clouds[0].relative_to(directory)
        content = f"point clouds such as {name}, which have no surface; {MESHES[1]} has one"
    else:
        content = _content(directory)
    return DescriptionError(
        f"expected a URDF, MJCF or mesh file such as {MESHES[1]}, found {content}", file=directory
    )


def _has_object(directory: Path) -> bool:
    try:
        return bool(object_file(directory))
    except DescriptionError:
        return False


def load_ycb(
    name: str, *, root: Path | None = None, mass: float | None = None, density: float | None = None
) -> GraspObject:
    """Load an object of a local YCB directory, with its published mass.

    Args:
        name: ``ycb:016_pear``, ``ycb:pear``, or either without the prefix.
        root: Directory with one directory per object; by default ``$SOFTGRASP_YCB``.
        mass: Replaces the published mass [kg].
        density: Replaces the published mass [kg/m³].

    Raises:
        DescriptionError: The directory is not set or missing, has no such object, or the object
            has no published mass and none is given.
    """
    directory = _root(root)
    meshes_by_name = _objects(directory)
    identity = _identity(name.removeprefix(YCB_PREFIX), meshes_by_name, directory)
    mesh = meshes_by_name[identity]
    if mass is None and density is None and (mass := find_published_mass(identity)) is None:
        raise DescriptionError(
            f"no published mass of the YCB object '{identity}'; give a mass or a density"
        )
    return GraspObject(
        name=identity,
        shape=stamp(Mesh(file=str(mesh.resolve()))),
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
                f"expected the directory of the YCB objects in {ROOT_VARIABLE}, found none; set "
                f"it: export {ROOT_VARIABLE}=DIRECTORY, where DIRECTORY has for instance "
                f"025_mug/{MESHES[1]} (from ycbbenchmarks.com)"
            )
        root = Path(named).expanduser()
    if not root.is_dir():
        raise DescriptionError("expected the directory of the YCB objects, found none", file=root)
    return root


def _objects(root: Path) -> dict[str, Path]:
    """Return the mesh file of each object in a directory, by full name."""
    usual = {directory.name: _usual_mesh(directory) for directory in sorted(root.iterdir())}
    meshes_by_name = {name: mesh for name, mesh in usual.items() if mesh is not None}
    if not meshes_by_name:
        raise DescriptionError(
            f"expected directories such as 025_mug with a mesh such as {MESHES[1]}, found none",
            file=root,
        )
    return meshes_by_name


def _identity(name: str, known: dict[str, Path], root: Path) -> str:
    """Return the full YCB name of an object, specified in full or without its number."""
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
    """Shorten ``016_pear`` to ``pear``, ``065-a_cups`` to ``a_cups``."""
    return re.sub(r"^\d+[-_]", "", identity)


def find_published_mass(name: str) -> float | None:
    """Return the mass [kg] of a YCB object, named ``025_mug`` or ``YcbMug``; None of any other."""
    masses = _masses()
    if name in masses:
        return masses[name]
    if not name.startswith("Ycb"):
        return None
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("Ycb")).lower()
    return {_short(identity): mass for identity, mass in masses.items()}.get(words)


@cache
def _masses() -> dict[str, float]:
    table = YAML(typ="safe").load(assets.root() / "assets" / "ycb_masses.yaml")
    return {str(name): float(mass) for name, mass in table.items()}
