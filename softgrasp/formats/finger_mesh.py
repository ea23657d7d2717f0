"""A soft finger as rigid links from its CAD mesh and a few numbers of its material."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.rld import joint_compliances
from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.errors import DescriptionError
from softgrasp.formats.finger_frame import Base
from softgrasp.formats.finger_slicing import SlicedFinger, slice_finger
from softgrasp.mechanics.transforms import Array

Profile: TypeAlias = Callable[[Array], ArrayLike]
"""Bending stiffness [N·m²] at places from the base [m]."""


def finger_from_mesh(
    path: str | Path,
    *,
    bending_stiffness: float | Profile | None = None,
    youngs_modulus: float | None = None,
    density: float | None = None,
    mass: float | None = None,
    damping: float | Sequence[float] = 0.0,
    pressure_gain: float | Sequence[float] = 0.0,
    valleys: int | Sequence[float] | None = None,
    units: str = "m",
    axis: Sequence[float] | None = None,
    up: Sequence[float] | None = None,
    base: Base = "auto",
    name: str | None = None,
) -> SoftFinger:
    """Rigid links between the valleys of a finger's mesh, joints at the valleys.

    A joint bends for its cell, half way to its neighbours and to the ends: 1/k = ∫ ds/EI over it.
    Masses, centres of mass and boxes are those of the slices. The finger's frame has its origin in
    the base face on the level of the first joint, +x towards the tip and +z to the bellows, so that
    a positive angle bends away from them.

    Args:
        path: STL, OBJ, PLY, GLB or OFF.
        bending_stiffness: EI, the same along the finger, or a function of places from the base
            [N·m²].
        youngs_modulus: In its place: EI of every cross-section by its second moment of area; end
            pieces, which may be rounded, bend no easier than the section at the softest valley
            [Pa].
        density: [kg/m³]
        mass: In its place: of the whole finger [kg].
        damping: Of the joints, one number for all, or one a joint [N·m·s/rad].
        pressure_gain: Bending moment over pressure, one number for all, or one a joint [N·m/Pa].
        valleys: Their places from the base [m], or how many there are; found where not given.
        units: Of the file: m, dm, cm, mm or in.
        axis: Direction of the finger in the file's frame; found where not given.
        up: Direction to the side with the bellows in the file's frame; found where not given.
        base: Which end is clamped: ``auto`` (the thicker, or else the flatter one), ``start`` or
            ``end`` (the lower or higher coordinate along the axis), or a point near it in the
            file's frame [m].
        name: Of the finger; the file's where not given.

    Raises:
        DescriptionError: The file is no mesh, is not closed, has no valleys or not as many as
            said, or a number is missing or out of range.

    Warns:
        SoftgraspWarning: The mesh was mended, its size is unusual, or its base or its upper side
            had to be guessed.
    """
    _check_one_of(bending_stiffness=bending_stiffness, youngs_modulus=youngs_modulus)
    _check_one_of(density=density, mass=mass)
    sliced = slice_finger(path, units=units, axis=axis, up=up, base=base, valleys=valleys)
    stiffness = _stiffness_profile(sliced, bending_stiffness, youngs_modulus)
    compliances = joint_compliances(sliced.joints[:, 0], sliced.positions, stiffness)
    count = len(compliances)
    joints = tuple(
        SoftJoint(
            position=_vector(position), stiffness=1.0 / compliance, damping=loss, pressure_gain=gain
        )
        for position, compliance, loss, gain in zip(
            sliced.joints,
            compliances.tolist(),
            _each("damping", damping, count),
            _each("pressure_gain", pressure_gain, count),
            strict=True,
        )
    )
    file = Path(path)
    return SoftFinger(
        name=name or file.stem,
        joints=joints,
        links=_links(sliced, density, mass),
        tip=_vector(sliced.tip),
        source=f"{file.name}, sliced at {count} valley{'s' * (count != 1)}",
    )


def _check_one_of(**numbers: object) -> None:
    """Refuse two numbers for one thing, none, and one that is not above zero."""
    present = [field for field, value in numbers.items() if value is not None]
    one, other = numbers
    if len(present) != 1:
        present_text = "both" if present else "neither"
        raise DescriptionError(f"expected {one} or {other}, found {present_text}", field=one)
    value = numbers[present[0]]
    if isinstance(value, int | float) and not 0.0 < value < np.inf:
        raise DescriptionError(f"expected a number above 0, found {value!r}", field=present[0])


def _stiffness_profile(
    sliced: SlicedFinger, bending_stiffness: float | Profile | None, youngs_modulus: float | None
) -> Array:
    """EI at the cross-sections [N·m²], (m,), or one for all."""
    if callable(bending_stiffness):
        values = np.asarray(bending_stiffness(sliced.positions), dtype=float)
        if values.shape not in ((), sliced.positions.shape):
            raise DescriptionError(
                f"expected one number or {len(sliced.positions)}, one a place, found shape "
                f"{values.shape}",
                field="bending_stiffness",
            )
        return values
    if bending_stiffness is not None:
        return np.full(sliced.positions.shape, bending_stiffness)
    first, last = sliced.joints[[0, -1], 0]
    ends = (sliced.positions < first) | (sliced.positions > last)
    min_moment = np.interp(sliced.joints[:, 0], sliced.positions, sliced.second_moments).min()
    moments = np.where(ends, np.maximum(sliced.second_moments, min_moment), sliced.second_moments)
    return np.asarray(youngs_modulus * moments)


def _each(field: str, value: float | Sequence[float], count: int) -> list[float]:
    numbers = np.asarray(value, dtype=float)
    if numbers.shape not in ((), (count,)):
        raise DescriptionError(
            f"expected one number or {count}, one a joint, found {numbers.size}", field=field
        )
    return [float(number) for number in np.broadcast_to(numbers, count)]


def _links(sliced: SlicedFinger, density: float | None, mass: float | None) -> tuple[SoftLink, ...]:
    whole = sum(piece.volume for piece in sliced.pieces)
    density = density if mass is None else mass / whole
    assert density is not None  # one of the two is given
    return tuple(
        SoftLink(center=_vector(piece.center), mass=density * piece.volume, size=piece.size)
        for piece in sliced.pieces
    )


def _vector(point: Array) -> tuple[float, float, float]:
    x, y, z = point.tolist()
    return x, y, z
