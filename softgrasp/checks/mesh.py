"""Checks of objects and meshes: size, mass, density, inertia, surface, origin and convex parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.checks.bodies import Body, arrange, box_corners, inertia_check
from softgrasp.checks.report import (
    Check,
    Finding,
    Inspection,
    Severity,
    beyond,
    finding,
    format_count,
)
from softgrasp.description.geometry import Mesh, ObjectShape
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError
from softgrasp.io.convex_decomposition import (
    POSITION_TOLERANCE,
    VOLUME_TOLERANCE,
    distance_of_boxes,
    union_volume,
)
from softgrasp.io.files import report_progress
from softgrasp.io.mesh import (
    LARGEST,
    SMALLEST,
    MeshBody,
    cut_or_hull,
    load_mesh,
    mesh_solid,
    size_doubt,
)
from softgrasp.io.mesh_repair import Solid
from softgrasp.model.object import USUAL_DENSITY, density_guess, object_mass
from softgrasp.model.shapes import extent, inertia_tensor, mass_properties

CM3 = 1e6
USUAL_SIZE, USUAL_MASS = (2e-3, 2.0), (1e-5, 100.0)
"""Lowest and highest usual size [m] and mass [kg]; beyond them a unit is probably wrong."""
OFF_CENTER = 0.05
"""Distance of the file's origin from the centre of mass over the extent, for a remark [–]."""
MANY_FACES = 10_000
"""Faces above which building, rendering and decomposing a mesh take noticeably longer."""
SMALL_DIFFERENCE = 0.05
"""Relative difference of volumes of parts and mesh above which there is a remark [–], as CoACD's
threshold allows."""
MM = 1e3


def inspect_object(described: GraspObject, *, inertia: Sequence[float] | None = None) -> Inspection:
    """Run all checks of an object.

    Args:
        described: The object.
        inertia: Moments of inertia from another description, three principal ones or (ixx, iyy,
            izz, ixy, ixz, iyz) about the centre of mass [kg·m²].

    Raises:
        DescriptionError: Its mesh cannot be read, or ``inertia`` does not have 3 or 6 numbers.
    """
    subject, shape = f"object '{described.name}'", described.shape
    if isinstance(shape, Mesh):
        described = described.replace(shape=cut_or_hull(shape)[0])
    mass = object_mass(described)
    words = (subject, "{} kg", f"{mass:.4g} kg", "mass is in kg, density in kg/m³")
    odd = beyond(USUAL_MASS, mass, *words, mass_kg=mass)
    checks = [Check("mass", f"{mass:.4g} kg", odd), _density(described, mass, subject)]
    if inertia is not None:
        checks.append(inertia_check([_state(described, subject, inertia)]))
    if isinstance(shape, Mesh):
        checks += mesh_checks(shape, subject)
    else:
        checks.insert(0, _object_size(shape, subject))
    return Inspection("object", described.name, tuple(checks))


def inspect_mesh(shape: Mesh) -> Inspection:
    """Run all checks of a mesh without an object.

    Raises:
        DescriptionError: It cannot be read.
    """
    name = shape.file.replace("\\", "/").rsplit("/", 1)[-1]
    return Inspection("mesh", shape.file, tuple(mesh_checks(shape, f"mesh '{name}'")))


def _object_size(shape: ObjectShape, subject: str) -> Check:
    size = extent(shape)
    longest = max(size)
    text = f"{' x '.join(f'{1e3 * edge:.4g}' for edge in size)} mm"
    words = ("a size of {} m", f"{longest:.4g} m", "are the units right (units: {length: mm})?")
    return Check("size", text, beyond(USUAL_SIZE, longest, subject, *words, extent_m=longest))


def _density(described: GraspObject, mass: float, subject: str) -> Check:
    volume = mass_properties(described.shape).volume
    density = mass / volume
    text = f"{density:.4g} kg/m³, {mass:.4g} kg in {volume * CM3:.4g} cm³"
    words = (subject, "a density of {} kg/m³", text, density_guess(described))
    numbers = {"density_kg_m3": density, "mass_kg": mass, "volume_m3": volume}
    return Check("density", text, beyond(USUAL_DENSITY, density, *words, **numbers))


def _state(described: GraspObject, subject: str, inertia: Sequence[float]) -> Body:
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
        inertia=inertia_tensor(inertia) if len(inertia) == 6 else np.diag(inertia),
        geometry=arrange(volume, inertia_per_density, points, np.eye(4)),
    )


def mesh_checks(shape: Mesh, subject: str) -> list[Check]:
    """Run all checks of the mesh of an object.

    Raises:
        DescriptionError: It cannot be read, or is flat.
    """
    solid = mesh_solid(shape)
    shape, failure = cut_or_hull(shape)
    body = load_mesh(shape)
    report_progress(f"measuring {subject}")
    return [
        _size(solid, shape, subject),
        _surface(solid, subject),
        _origin(solid, subject),
        _faces(solid, subject),
        _parts(shape, solid, body, subject, failure),
    ]


def _size(solid: Solid, shape: Mesh, subject: str) -> Check:
    size = np.ptp(solid.vertices, axis=0)
    text = " x ".join(f"{MM * edge:.4g}" for edge in size)
    doubt = size_doubt(float(size.max()), shape)
    if not doubt:
        return Check("size", f"{text} mm")
    advice, numbers = doubt.partition("; ")[2], {"extent_m": float(size.max())}
    expected, actual = f"a largest extent of {MM * SMALLEST:g} mm … {LARGEST:g} m", f"{text} mm"
    odd = finding("problem", subject, expected, actual, advice, **numbers)
    return Check("size", actual, (odd,))


def _surface(solid: Solid, subject: str) -> Check:
    """Report the repairs that closed a surface to a solid, with their numbers."""
    expected = {
        "stray": "faces that bound the solid",
        "folds": "each face once",
        "winding": "faces with consistent winding",
        "watertight": "a watertight surface",
        "direction": "faces with outward normals",
        "hull": "a surface that bounds a volume",
    }
    findings = []
    for repair in solid.repairs:
        numbers = {name: float(value) for name, value in repair.numbers.items()}
        severity: Severity = "remark" if repair.kind == "stray" else "problem"  # it changes nothing
        findings.append(finding(severity, subject, expected[repair.kind], repair.note, **numbers))
    state = "closed" if solid.closed else "open, replaced by its hull"
    if solid.repairs:
        state += f", repaired: {', '.join(repair.kind for repair in solid.repairs)}"
    fraction = f"{100 * solid.volume / solid.hull_volume:.3g} % of its hull"
    return Check("surface", f"{state}; {solid.volume * CM3:.4g} cm³, {fraction}", tuple(findings))


def _origin(solid: Solid, subject: str) -> Check:
    centre = solid.center_of_mass
    away, size = float(np.linalg.norm(centre)), float(np.ptp(solid.vertices, axis=0).max())
    text = f"({', '.join(f'{round(MM * x, 2) + 0.0:g}' for x in centre)}) mm"
    odd = finding(
        "remark",
        subject,
        "the file's origin at the centre of mass",
        f"the centre of mass {MM * away:.3g} mm away from it, at {text}",
        "softgrasp moves it there; poses of other programs refer to the file's origin",
        distance_m=away,
        fraction_of_extent=away / size,
    )
    return Check("origin", f"centre of mass {text}", (odd,) if away > OFF_CENTER * size else ())


def _faces(solid: Solid, subject: str) -> Check:
    number, expected = len(solid.faces), f"at most {MANY_FACES} faces"
    advice = (
        "2000 are enough for a grasp; decomposing this many into convex parts can take minutes, "
        "the first time"
    )
    odd = finding("remark", subject, expected, f"{number}", advice, faces=float(number))
    measured = f"{number} faces, {len(solid.vertices)} vertices"
    return Check("faces", measured, (odd,) if number > MANY_FACES else ())


def _parts(shape: Mesh, solid: Solid, body: MeshBody, subject: str, failure: str) -> Check:
    """Compare volume and position of the convex collision parts with the visual mesh."""
    if failure:
        odd = finding("problem", subject, "convex parts", f"none: {failure}")
        return Check("parts", "not decomposed into convex parts", (odd,))
    filled = union_volume(body.parts)
    ratio = filled / solid.volume
    parts = f"{format_count(len(body.parts), 'convex part')} fill{'s' * (len(body.parts) == 1)}"
    text = f"{parts} {filled * CM3:.4g} cm³ where the mesh fills {solid.volume * CM3:.4g} cm³"
    numbers = {"parts_m3": filled, "mesh_m3": solid.volume, "ratio": ratio}
    findings: list[Finding] = []
    if abs(ratio - 1.0) > SMALL_DIFFERENCE:
        severity: Severity = "problem" if abs(ratio - 1.0) > VOLUME_TOLERANCE else "remark"
        expected = f"parts that fill what the mesh fills, within {100 * SMALL_DIFFERENCE:g} %"
        what = f"{text}, {100 * abs(ratio - 1.0):.3g} % {'more' if ratio > 1.0 else 'less'}"
        cure = _cure(shape, body, ratio)
        findings.append(finding(severity, subject, expected, what, cure, **numbers))
    corners = np.vstack([vertices for vertices, _ in body.parts]) + body.center_of_mass
    gap = distance_of_boxes(corners, solid.vertices)
    if gap > POSITION_TOLERANCE * float(np.ptp(solid.vertices, axis=0).max()):
        expected, advice = "parts that end where the mesh ends", "are they in its frame?"
        actual = f"{MM * gap:.3g} mm between their ends"
        findings.append(finding("problem", subject, expected, actual, advice, gap_m=gap))
    return Check("parts", text, tuple(findings))


def _cure(shape: Mesh, body: MeshBody, ratio: float) -> str:
    if ratio < 1.0:
        return "fingers reach into the object; name larger `parts`, or use `collision: hull`"
    if shape.parts is not None:
        cure = "check the parts"
    elif len(body.parts) == 1:  # its hull
        cure = "use `collision: decompose`, or name convex `parts`"
    else:
        cure = "lower `decomposition_threshold`, or name convex `parts`"
    return f"hollows are filled in the collision shape; {cure}"
