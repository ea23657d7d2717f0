"""Objects of several parts, as URDF and MJCF files describe them: name, mass, inertia, centre.

A stated inertia is kept where a body of that mass inside the shapes can have it: no moment may
exceed the mass times the square of the largest distance from the axis, and the centre of mass lies
in the hull. Otherwise that of the shapes at uniform density is used, with a warning: the files of
pybullet-object-models state 0.001 kg·m² for every object, 300 times that of a strawberry.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.geometry import Compound, Mesh, Part, Superellipsoid
from softgrasp.description.object import GraspObject, Material
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.convex_decomposition import planes
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_files import shape_triangles
from softgrasp.io.mesh_repair import hull_of
from softgrasp.mechanics.robot_kinematics import inertia_moments
from softgrasp.mechanics.transforms import Array, transform

GENERIC = re.compile(
    r"(non)?textured\w*|google_\d+k|tsdf|poisson|clouds|model(\.urdf)?|object|robot|root|scene|"
    r"mesh(es)?|urdf|mjcf|xml|coacd|visual|collision\w*|normalized|simplified|full|decimated_\w+|"
    r"base_?link|untitled",
    re.IGNORECASE,
)
"""Names of files and directories that do not name an object."""
MARGIN = 0.02
"""Fraction by which a stated centre or moment may exceed its bound [–]: files are rounded."""


class Weight(NamedTuple):
    """Mass properties that a file states, in the frame of the parts."""

    mass: float
    """Mass [kg]."""
    center: Array
    """Centre of mass, (3,) [m]."""
    inertia: Array | None
    """About the centre of mass, (3, 3) [kg·m²]."""


def object_name(path: Path, stated: str = "") -> str:
    """Return the name of an object: as stated, or of its file, or of the directory above.

    ``google_16k/textured.obj`` in ``025_mug`` is ``025_mug``.
    """
    for name in (stated, path.stem, *(above.name for above in path.absolute().parents)):
        if name and not GENERIC.fullmatch(name):
            return name
    return path.stem


def object_of_parts(
    path: Path,
    name: str,
    parts: Sequence[Part],
    visuals: Sequence[Part],
    weight: Weight | None,
    *,
    mass: float | None = None,
    density: float | None = None,
    friction: float | None = None,
    rgba: tuple[float, float, float, float] | None = None,
) -> GraspObject:
    """Make an object from what a file describes.

    Args:
        path: The file, for messages.
        name: Name of the object.
        parts: Shapes that can touch.
        visuals: Shapes that are drawn in their place, if any.
        weight: Mass, centre and inertia as stated.
        mass: Replaces the stated mass [kg]; a stated inertia is scaled with it.
        density: Replaces the stated mass [kg/m³], as ``mass``.
        friction: Static friction of its surface [–].
        rgba: Colour.

    Raises:
        DescriptionError: It has no shape, or no mass.

    Warns:
        SoftgraspWarning: The stated centre or inertia is not possible for its shape.
    """
    if not parts:
        raise DescriptionError("expected an object with a shape, found none", file=path)
    if weight is None and mass is None and density is None:
        raise DescriptionError(
            "expected a mass, found none in the file: give a mass (--mass) or a density "
            "(--density)",
            file=path,
        )
    stated = _possible(path, parts, weight)
    if mass is None and density is None and weight is not None:
        mass = weight.mass
    surface = None if friction is None else Material(name="stated", static_friction=friction)
    optional: dict[str, Any] = {"material": surface, "rgba": rgba}
    return GraspObject(
        name=name,
        shape=Compound(parts=tuple(parts), visuals=tuple(visuals), **stated),
        mass=mass,
        density=density,
        source=str(path),
        **{key: value for key, value in optional.items() if value is not None},
    )


def articulated(joints: list[str]) -> DescriptionError:
    """Return the error of an object with movable joints."""
    named = ", ".join(f"'{name}'" for name in joints[:5]) + (", …" if joints[5:] else "")
    word = "joint" if len(joints) == 1 else "joints"
    return DescriptionError(
        f"expected a rigid object, found the movable {word} {named}; --lock-joints "
        "(lock_joints: true) fixes them where they are at zero"
    )


def _possible(path: Path, parts: Sequence[Part], weight: Weight | None) -> dict[str, Any]:
    """Return the fields of a compound for what is stated and possible."""
    if weight is None:
        return {}
    points = np.vstack([_points(part) for part in parts])
    size = float(np.ptp(points, axis=0).max())
    outside = _outside(points, weight.center)
    fields: dict[str, object] = {"center_of_mass": tuple(weight.center.tolist())}
    doubt = ""
    if outside > MARGIN * size:
        away = f"{1e3 * outside:.3g} mm outside the object"
        doubt = f"the stated centre of mass is {away}; centre and inertia are those of its shape"
        fields = {}
    elif weight.inertia is None:
        return fields
    elif reason := _impossible(points - weight.center, weight):
        doubt = f"{reason}; the inertia is that of its shape"
    else:
        fields["inertia_per_mass"] = inertia_moments(weight.inertia / weight.mass)
    if doubt:
        warnings.warn(f"{path}: {doubt}", SoftgraspWarning, stacklevel=3)
    return fields


def _impossible(points: Array, weight: Weight) -> str:
    """Return why no body inside points about its centre has the inertia; "" if one can."""
    assert weight.inertia is not None
    moments, axes = np.linalg.eigh(weight.inertia)
    small, middle, large = moments.tolist()
    if small <= 0.0 or small + middle < large * (1.0 - 1e-6):
        listed = ", ".join(f"{moment:.3g}" for moment in moments)
        return f"the stated principal moments of inertia {listed} kg·m² are those of no body"
    for moment, axis in zip(moments.tolist(), axes.T, strict=True):
        across = np.linalg.norm(points - np.outer(points @ axis, axis), axis=1).max()
        bound = weight.mass * float(across) ** 2
        if moment > bound * (1.0 + MARGIN):
            return (
                f"the stated moment of inertia {moment:.3g} kg·m² is above {bound:.3g} kg·m², the "
                f"largest that {weight.mass:.3g} kg inside its shape can have"
            )
    return ""


def _outside(points: Array, center: Array) -> float:
    """Return how far a point is outside the hull of points [m]; 0 inside."""
    hull = hull_of(points)
    normals, offsets = planes((hull.vertices, hull.faces))
    lengths = np.linalg.norm(normals, axis=1)
    kept = lengths > 0.0
    return max(0.0, float(((normals @ center - offsets)[kept] / lengths[kept]).max()))


def _points(part: Part) -> Array:
    """Return points whose hull contains a part, in the frame of the parts, (n, 3) [m]."""
    frame = transform(part.pose.position, part.pose.quaternion)
    shape = part.shape
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        points = body.vertices + body.center_of_mass
    elif isinstance(shape, Superellipsoid):
        points = np.array(np.meshgrid(*[(-r, r) for r in shape.radii])).reshape(3, -1).T
    else:
        points = shape_triangles(shape)[0]
    return np.asarray(points @ frame[:3, :3].T + frame[:3, 3])
