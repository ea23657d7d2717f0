"""URDF text of grippers whose fingers are images of one another, for tests."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.mechanics.transforms import Array

MASS = 0.04
"""Of each link [kg]."""


def gripper_urdf(
    fingers: int,
    lengths: Sequence[float] = (0.06, 0.05),
    palm: float = 0.045,
    rotation: Array | None = None,
    limits: tuple[float, float] = (-0.6, 1.57),
    unit: float = 1.0,
) -> str:
    """A palm with fingers of hinged boxes around it."""
    whole = np.eye(3) if rotation is None else rotation
    shape = f'<cylinder radius="{unit * (palm + 0.005)}" length="{unit * 0.02}"/>'
    text = f'<link name="palm"><collision>{_origin(whole, np.zeros(3))}<geometry>{shape}</geometry>'
    text += "</collision></link>"
    for finger in range(fingers):
        around = Rotation.from_euler("z", 2.0 * np.pi * finger / fingers).as_matrix()
        at, parent = whole @ around @ [unit * palm, 0.0, unit * 0.01], "palm"
        placed = _origin(whole @ around, at)
        for number, length in enumerate(lengths, start=1):
            name = f"f{finger + 1}_l{number}"
            text += _link(name, unit * length, unit * 0.016) + _joint(
                f"f{finger + 1}_j{number}", parent, name, placed, limits
            )
            parent, placed = name, f'<origin xyz="0 0 {unit * length}"/>'
    return f'<robot name="gripper">{text}</robot>'


def _origin(rotation: Array, at: Array) -> str:
    angles = Rotation.from_matrix(rotation).as_euler("xyz")
    xyz, rpy = (" ".join(f"{value:.9f}" for value in three) for three in (at, angles))
    return f'<origin xyz="{xyz}" rpy="{rpy}"/>'


def _link(name: str, length: float, width: float) -> str:
    across, along = MASS * (width**2 + length**2) / 12.0, MASS * width**2 / 6.0
    middle = f'<origin xyz="0 0 {length / 2.0}"/>'
    return (
        f'<link name="{name}"><inertial>{middle}<mass value="{MASS}"/><inertia ixx="{across}" '
        f'iyy="{across}" izz="{along}" ixy="0" ixz="0" iyz="0"/></inertial><collision>{middle}'
        f'<geometry><box size="{width} {width} {length}"/></geometry></collision></link>'
    )


def _joint(name: str, parent: str, child: str, origin: str, limits: tuple[float, float]) -> str:
    low, high = limits
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'{origin}<axis xyz="0 -1 0"/><limit lower="{low}" upper="{high}" effort="2" velocity="3"/>'
        "</joint>"
    )
