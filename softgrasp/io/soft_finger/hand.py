"""Hands of equal soft fingers around a circle, of silicone, from the mesh of one finger."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from softgrasp.description.actuation import Rates
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Cylinder, Pose
from softgrasp.description.hand import GraspPreset, Grasps, Hand, Palm
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.soft_finger.axes import Base
from softgrasp.io.soft_finger.finger import finger_from_mesh
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import rotate_about, translate
from softgrasp.units import LengthUnit

MAX_FINGERS = 12
"""Largest number of fingers of a hand."""
SILICONE_MODULUS, SILICONE_DENSITY = 0.7e6, 1100.0
"""Young's modulus [Pa] and density [kg/m³] of silicone of Shore A 30."""
SILICONE_LOSS = 2.5e-3
"""Damping over stiffness of its joints [s], as of the finger of Hadi et al. (2025)."""
SILICONE_CONTACT = Contact(stiffness=5e3, damping=20.0, static_friction=0.9)
OPENING = 1.25
"""Opening between straight fingers over the width of the object [–]."""
CENTER_FRACTION = 0.8
"""Distance of the object from the palm over the finger length [–]."""
CLOSING_TIME = 2.5
"""Time in which the pressure reaches its limit [s]."""
PALM_HEIGHT = 0.01
"""Height of the palm [m]."""


def soft_hand_from_mesh(
    path: str | Path,
    *,
    fingers: int,
    opening: float,
    pressure: float | None = None,
    youngs_modulus: float = SILICONE_MODULUS,
    poisson_ratio: float | None = None,
    units: str | None = None,
    valleys: int | Sequence[float] | None = None,
    cells: int | None = None,
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
) -> Hand:
    """Make a hand of equal soft fingers around a circle, pointing down, from the mesh of one.

    The finger is of silicone, and its chambers are those of the mesh.

    Args:
        path: Mesh of the finger with its chambers.
        fingers: Number of fingers.
        opening: Diameter of the circle between the flat sides of the straight fingers [m].
        pressure: Working pressure of the grasps, the limit of the fingers [Pa]; by default it is
            searched for each object, up to what bends a free finger by half a turn.
        youngs_modulus: [Pa]
        poisson_ratio: As of ``finger_from_mesh``: of walls that widen; by default they do not.
        units: Unit of the file; by default m, or mm where the finger would be longer than 1 m.
        valleys: As of ``finger_from_mesh``.
        cells: As of ``finger_from_mesh``.
        axis: As of ``finger_from_mesh``.
        up: As of ``finger_from_mesh``.
        base: As of ``finger_from_mesh``.

    Raises:
        DescriptionError: The number of fingers, the opening or the pressure is out of range, or as
            ``finger_from_mesh``.

    Warns:
        SoftgraspWarning: The file is taken to be in mm, or as ``finger_from_mesh``.
    """
    if not 2 <= fingers <= MAX_FINGERS:
        raise DescriptionError(f"expected 2 to {MAX_FINGERS}, found {fingers}", field="fingers")
    for field, value in {"opening": opening, "pressure": pressure}.items():
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a number above 0, found {value:g}", field=field)
    file = Path(path)
    finger = finger_from_mesh(
        file,
        youngs_modulus=youngs_modulus,
        density=SILICONE_DENSITY,
        pressure_gain="chambers",
        poisson_ratio=poisson_ratio,
        units=unit_of_mesh(file) if units is None else units,
        valleys=valleys,
        cells=cells,
        axis=axis,
        up=up,
        base=base,
    )
    joints = (joint.replace(damping=SILICONE_LOSS * joint.stiffness) for joint in finger.joints)
    finger = finger.replace(joints=tuple(joints))
    limit = float(f"{np.pi / finger.bending:.2g}") if pressure is None else pressure
    low = min(link.center[2] - 0.5 * link.size[2] for link in finger.links)
    high = max(link.center[2] + 0.5 * link.size[2] for link in finger.links)
    radius = 0.5 * opening - low
    grasp = GraspPreset(
        center=(0.0, 0.0, -CENTER_FRACTION * finger.tip[0]),
        rates=Rates([limit / CLOSING_TIME]),
        pressure=limit,
        from_above=True,
        per_object=pressure is None,
    )
    palm = Cylinder(radius=radius + high, height=PALM_HEIGHT)
    return Hand(
        name=f"{finger.name}_{fingers}",
        soft_fingers=tuple(
            MountedSoftFinger(
                name=f"F{index + 1}",
                base=_mounting(radius, 2.0 * np.pi * index / fingers),
                finger=finger,
                limits=(0.0, limit),
            )
            for index in range(fingers)
        ),
        palm=Palm(kind="shape", shape=palm, pose=Pose(position=(0.0, 0.0, 0.5 * PALM_HEIGHT))),
        contact=SILICONE_CONTACT,
        grasps=Grasps(power=grasp, precision=grasp),
        source=f"{fingers} fingers, {finger.source}",
        notes=() if finger.mesh is None else finger.mesh.notes,
    )


def unit_of_mesh(file: Path) -> LengthUnit:
    """Return m, or mm for the mesh of a finger that would be longer than 1 m.

    Warns:
        SoftgraspWarning: It is taken to be in mm.
    """
    vertices, _ = read_triangles(file)
    if float(np.ptp(vertices, axis=0).max()) <= 1.0:
        return "m"
    warnings.warn(
        f"{file.name}: the finger would be longer than 1 m; the file is taken to be in mm",
        SoftgraspWarning,
        stacklevel=3,
    )
    return "mm"


def _mounting(radius: float, angle: float) -> Pose:
    """Return the base of a finger that hangs from the palm and bends to the middle."""
    return pose_of(rotate_about("z", angle) @ translate(x=radius) @ rotate_about("y", 0.5 * np.pi))
