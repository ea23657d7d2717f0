"""Objects: size, mass, density, stated inertia, and the mesh where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.build.density import USUAL_DENSITY, density_guess, is_usual
from softgrasp.build.objects import object_mass
from softgrasp.build.shapes import extent, mass_properties
from softgrasp.description.objects import GraspObject
from softgrasp.description.shapes import Mesh, Shape
from softgrasp.errors import DescriptionError
from softgrasp.formats.meshes import cut_or_hull, load_mesh
from softgrasp.inspection.bodies import Body, box_corners, placed
from softgrasp.inspection.finding import Check, Finding, Inspection
from softgrasp.inspection.link_bodies import tensor
from softgrasp.inspection.mass_rules import inertia_check
from softgrasp.inspection.mesh_checks import mesh_checks

USUAL_SIZE, USUAL_MASS = (2e-3, 2.0), (1e-5, 100.0)
"""From and to [m] and [kg]; beyond them a unit is probably wrong."""
CM3 = 1e6


def inspect_object(described: GraspObject, *, inertia: Sequence[float] | None = None) -> Inspection:
    """All checks of an object.

    Args:
        described: The object.
        inertia: Moments that another description states, three principal ones or (ixx, iyy, izz,
            ixy, ixz, iyz) about the centre of mass [kg·m²].

    Raises:
        DescriptionError: Its mesh cannot be read, or ``inertia`` does not have 3 or 6 numbers.
    """
    subject, shape = f"object '{described.name}'", described.shape
    if isinstance(shape, Mesh):
        described = described.replace(shape=cut_or_hull(shape)[0])
    checks = [_mass(described, subject), _density(described, subject)]
    if inertia is not None:
        checks.append(inertia_check([_stated(described, subject, inertia)]))
    if isinstance(shape, Mesh):
        checks += mesh_checks(shape, subject)
    else:
        checks.insert(0, _size(shape, subject))
    return Inspection("object", described.name, tuple(checks))


def inspect_mesh(shape: Mesh) -> Inspection:
    """All checks of a mesh that is no object yet.

    Raises:
        DescriptionError: It cannot be read.
    """
    return Inspection("mesh", shape.file, tuple(mesh_checks(shape, f"mesh '{_short(shape)}'")))


def _short(shape: Mesh) -> str:
    return shape.file.replace("\\", "/").rsplit("/", 1)[-1]


def _size(shape: Shape, subject: str) -> Check:
    size, (low, high) = extent(shape), USUAL_SIZE
    longest = max(size)
    text = f"{' x '.join(f'{1e3 * edge:.4g}' for edge in size)} mm"
    if low <= longest <= high:
        return Check("size", text)
    finding = Finding(
        subject=subject,
        severity="problem",
        check="size",
        expected=f"a size of {low:g} … {high:g} m",
        actual=f"{longest:.4g} m",
        numbers={"extent_m": longest},
        advice="are the units right (units: {length: mm})?",
    )
    return Check("size", text, (finding,))


def _mass(described: GraspObject, subject: str) -> Check:
    mass, (low, high) = object_mass(described), USUAL_MASS
    text = f"{mass:.4g} kg"
    if low <= mass <= high:
        return Check("mass", text)
    finding = Finding(
        subject=subject,
        severity="problem",
        check="mass",
        expected=f"{low:g} … {high:g} kg",
        actual=text,
        numbers={"mass_kg": mass},
        advice="mass is in kg, density in kg/m³",
    )
    return Check("mass", text, (finding,))


def _density(described: GraspObject, subject: str) -> Check:
    mass, volume = object_mass(described), mass_properties(described.shape).volume
    density, (low, high) = mass / volume, USUAL_DENSITY
    text = f"{density:.4g} kg/m³, {mass:.4g} kg in {volume * CM3:.4g} cm³"
    if is_usual(density):
        return Check("density", text)
    finding = Finding(
        subject=subject,
        severity="problem",
        check="density",
        expected=f"a density of {low:g} … {high:g} kg/m³",
        actual=text,
        numbers={"density_kg_m3": density, "mass_kg": mass, "volume_m3": volume},
        advice=density_guess(described),
    )
    return Check("density", text, (finding,))


def _stated(described: GraspObject, subject: str, inertia: Sequence[float]) -> Body:
    if len(inertia) not in (3, 6):
        raise DescriptionError(f"inertia: expected 3 or 6 numbers, found {len(inertia)}")
    volume, inertia_per_density = mass_properties(described.shape)
    if isinstance(described.shape, Mesh):
        points = load_mesh(described.shape).vertices
    else:
        points = box_corners(np.array(extent(described.shape)) / 2)
    return Body(
        subject=subject,
        name=described.name,
        mass=object_mass(described),
        center=np.zeros(3),
        inertia=tensor(inertia) if len(inertia) == 6 else np.diag(inertia),
        geometry=placed(volume, inertia_per_density, points, np.eye(4)),
    )
