"""Rigid-link discretisation: a beam becomes rigid links with springs between them.

The positions of the joints matter more than their number: joints in the middle of their cells
converge with the square of the cell length, joints at the ends of cells only linearly.

``finger_from_bendable`` discretises a bendable segment of a U(C)RDF robot. The frames differ: the
backbone of a bendable lies along z and bends at φ towards (cos φ, sin φ, 0); a finger lies along +x
and bends towards −z at positive angles:

    finger        +x      −z                  +y
    bendable      +z      (cos φ, sin φ, 0)   (−sin φ, cos φ, 0)

where φ is the plane of a planar bendable, and 0 of a spatial one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.bendable import Bendable, Chamber, Tendon
from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.mechanics.transforms import Array

__all__ = ["discretise", "finger_from_bendable", "joint_compliances", "refine"]

Layout = Literal["midpoint", "interfaces", "interfaces_corrected"]
"""Positions of joints; see ``discretise``."""
SLENDERNESS = 0.1
"""Width and height over length of a finger without a specified section."""
MIN_MASS = 1e-12
"""Mass of a link in a gap between the links of the coarser chain [kg]."""


# Uniform beams.


def discretise(
    length: float,
    bending_stiffness: float,
    mass: float,
    joints: int = 8,
    layout: Layout = "midpoint",
    planar: bool = True,
    *,
    bending_damping: float = 0.0,
    section: tuple[float, float] | None = None,
    pressure_moment: float = 0.0,
    pressure_area: float = 0.0,
    tendon_arm: float = 0.0,
    tendon_pull: float | None = None,
    torsion_stiffness: float | None = None,
    axial_stiffness: float | None = None,
    name: str = "finger",
) -> SoftFinger:
    """Discretise a uniform beam, clamped at the origin and straight along +x.

    Args:
        length: [m]
        bending_stiffness: EI [N·m²].
        mass: Mass of the whole beam [kg]; any mass above zero.
        joints: Number of joints.
        layout: ``midpoint``: each joint in the middle of one of n equal cells, k = EI/cell; the tip
            of a bent finger is exact to second order, its angle under a moment exactly.
            ``interfaces``: between n + 1 equal links with k = EI/link, as in paper 000; first
            order. ``interfaces_corrected``: the same links, where the end joints bend for one and a
            half of them.
        planar: Whether it bends in the x–z plane only.
        bending_damping: Moment over rate of curvature [N·m²·s].
        section: Width (y) and height (z) of the links [m]; a tenth of the length by default.
        pressure_moment: Bending moment over pressure, the same along the finger [N·m/Pa].
        pressure_area: Force along the finger over pressure [m²]; effective with
            ``axial_stiffness``.
        tendon_arm: Bending moment over the tension of a tendon along the finger [m].
        tendon_pull: Force along the finger over tension; by default 1 with a ``tendon_arm``.
        torsion_stiffness: GJ [N·m²]; infinite by default.
        axial_stiffness: EA [N]; infinite by default.
        name: Name of the finger.

    Raises:
        DescriptionError: A number is out of range, or there is no such layout.
    """
    needed = {"length": length, "bending_stiffness": bending_stiffness, "mass": mass}
    optional = {"torsion_stiffness": torsion_stiffness, "axial_stiffness": axial_stiffness}
    specified = {field: value for field, value in optional.items() if value is not None}
    for field, value in (needed | specified).items():
        _check(field, value, above=True)
    _check("bending_damping", bending_damping, above=False)
    cells = _cells(joints, layout)
    bends = [
        SoftJoint(
            position=(position * length, 0.0, 0.0),
            stiffness=bending_stiffness / (fraction * length),
            damping=bending_damping / (fraction * length),
            pressure_gain=pressure_moment,
            pressure_area=pressure_area,
            tendon_arm=tendon_arm,
            tendon_pull=float(tendon_arm != 0.0) if tendon_pull is None else tendon_pull,
            torsion_stiffness=torsion_stiffness and torsion_stiffness / (fraction * length),
            axial_stiffness=axial_stiffness and axial_stiffness / (fraction * length),
        )
        for position, fraction in zip(
            cells.positions.tolist(), cells.fractions.tolist(), strict=True
        )
    ]
    return SoftFinger(
        name=name,
        joints=tuple(bends),
        links=_uniform_links(length, mass, section, cells.positions),
        tip=(length, 0.0, 0.0),
        planar=planar,
    )


def _uniform_links(
    length: float, mass: float, section: tuple[float, float] | None, positions: Array
) -> tuple[SoftLink, ...]:
    """Make the links between joints at positions over the length."""
    for edge in () if section is None else _pair(section):
        _check("section", edge, above=True)
    width, height = section or (SLENDERNESS * length,) * 2
    bounds = np.concatenate([[0.0], positions, [1.0]]) * length
    return tuple(
        SoftLink(
            center=(0.5 * (begin + end), 0.0, 0.0),
            mass=mass * (end - begin) / length,
            size=(end - begin, width, height),
        )
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    )


class _Cells(NamedTuple):
    """Positions of joints along a beam, and the bending length that each represents."""

    positions: Array
    fractions: Array


def _cells(joints: object, layout: str) -> _Cells:
    """Return the cells (joint positions, bending lengths) of a layout."""
    if isinstance(joints, bool) or not isinstance(joints, int | np.integer) or joints < 1:
        raise DescriptionError(f"expected a whole number from 1 on, found {joints}", field="joints")
    if layout == "midpoint":
        return _Cells((np.arange(joints) + 0.5) / joints, np.full(joints, 1.0 / joints))
    if layout not in get_args(Layout):
        hint = did_you_mean(layout, get_args(Layout))
        raise DescriptionError(f"expected a layout, found '{layout}'; {hint}", field="layout")
    links = joints + 1
    fractions = np.full(joints, 1.0 / links)
    if layout == "interfaces_corrected":
        fractions[0] += 0.5 / links
        fractions[-1] += 0.5 / links
    return _Cells(np.arange(1, links) / links, fractions)


def _check(field: str, value: object, *, above: bool) -> None:
    """Refuse numbers that are not finite, or not above (or at least) zero."""
    good = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    if not good or not (0.0 < value < np.inf or (not above and value == 0.0)):  # type: ignore[operator]
        condition = "above 0" if above else "of at least 0"
        raise DescriptionError(f"expected a number {condition}, found {value!r}", field=field)


def _pair(section: object) -> tuple[object, object]:
    if not isinstance(section, tuple | list | np.ndarray) or len(section) != 2:
        raise DescriptionError(f"expected width and height, found {section!r}", field="section")
    return section[0], section[1]


# Bendable segments.


def finger_from_bendable(bendable: Bendable, *, driven: Sequence[int] | None = None) -> SoftFinger:
    """Discretise a bendable as a uniform beam, joints in the middle of its cells.

    The springs are n·EI/length, the dampers n·damping/length (paper 002 has no dynamics; this is
    the midpoint rule of rigid-link discretisation). A pressure P in a chamber at angle α and radius
    r bends the segment by the moment −P·area·r·cos(α − φ); a tension T of a tendon there by
    T·r·cos(α − φ).

    Args:
        bendable: With a ``bending_stiffness`` and a mass.
        driven: Indices from 0 of the chambers or tendons that act together; all by default. Only a
            planar bendable has their gains.

    Raises:
        DescriptionError: The bending stiffness or the mass is missing, or there is no such chamber
            or tendon.

    Warns:
        SoftgraspWarning: The bendable has properties that a soft finger cannot have: actuators that
            bend it to all sides, limits of elongation, or an inertia.
    """
    backbone, name = bendable.backbone, bendable.name
    if not backbone.bending_stiffness:
        raise DescriptionError(
            f"bendable '{name}': expected a number above 0, found {backbone.bending_stiffness}",
            field="backbone.bending_stiffness",
        )
    if bendable.inertial is None:
        raise DescriptionError(
            f"bendable '{name}': expected the mass of the segment, found none",
            field="inertial.mass",
        )
    actuators = _driven(bendable, driven)
    lost = _lost(bendable)
    if lost:
        warnings.warn(
            f"bendable '{name}': a soft finger has no {', no '.join(lost)}; ignored",
            SoftgraspWarning,
            stacklevel=2,
        )
    gain, area, arm, pull = _gains(bendable, actuators)
    return discretise(
        backbone.length,
        backbone.bending_stiffness,
        bendable.inertial.mass,
        joints=backbone.links,
        planar=bendable.planar,
        bending_damping=backbone.damping,
        section=(2.0 * backbone.radius, 2.0 * backbone.radius),
        pressure_moment=gain,
        pressure_area=area,
        tendon_arm=arm,
        tendon_pull=pull,
        torsion_stiffness=backbone.torsion_stiffness or None,
        axial_stiffness=backbone.axial_stiffness or None,
        name=name,
    )


def _driven(bendable: Bendable, numbers: Sequence[int] | None) -> list[Chamber | Tendon]:
    actuators = list(bendable.actuation)
    if numbers is None:
        return actuators
    for number in numbers:
        if number not in range(len(actuators)):
            raise DescriptionError(
                f"bendable '{bendable.name}': expected numbers of its {len(actuators)} chambers or "
                f"tendons, counted from 0, found {number}",
                field="driven",
            )
    return [actuators[number] for number in dict.fromkeys(numbers)]


def _gains(
    bendable: Bendable, actuators: Sequence[Chamber | Tendon]
) -> tuple[float, float, float, float]:
    """Return moment and force per pressure, then per tension; zeros for a spatial bendable."""
    phi = bendable.limits.phi_min or 0.0
    gain, area, arm, pull = 0.0, 0.0, 0.0, 0.0
    for actuator in actuators if bendable.planar else ():
        lever = actuator.radius * math.cos(actuator.angle - phi)
        if isinstance(actuator, Chamber):
            gain -= actuator.area * lever
            area += actuator.area
        else:
            arm += lever
            pull += 1.0
    return gain, area, arm, pull


def _lost(bendable: Bendable) -> list[str]:
    """List the properties of the bendable that a soft finger cannot represent."""
    inertial = bendable.inertial
    has = {
        "actuators that bend it to all sides": bool(bendable.actuation) and not bendable.planar,
        "limits of its elongation (eps_min, eps_max)": bendable.limits.eps_min is not None
        and bool(bendable.backbone.axial_stiffness),
        "specified inertia": inertial is not None and inertial.inertia is not None,
    }
    return [what for what, present in has.items() if present]


# Beams whose stiffness varies.


def joint_compliances(
    joints: ArrayLike, positions: ArrayLike, bending_stiffness: ArrayLike
) -> Array:
    """Compute the compliance of each joint of a chain, for a beam whose EI varies.

    A joint bends for its cell, which reaches half way to its neighbours and to the ends of the
    beam: 1/k = ∫ ds/EI over the cell, so the sum over the joints is ∫ ds/EI of the whole beam.

    Args:
        joints: Positions of the joints along the beam, ascending [m], (n,).
        positions: Positions of the values of EI, from one end of the beam to the other, ascending
            [m], (m,).
        bending_stiffness: EI there; 1/EI is interpolated linearly [N·m²], (m,).

    Returns:
        1/k [rad/(N·m)], (n,).

    Raises:
        DescriptionError: Positions are not ascending, joints lie outside the beam, or EI is not
            above zero.
    """
    bends, along = np.asarray(joints, dtype=float), np.asarray(positions, dtype=float)
    for field, line in {"joints": bends, "positions": along}.items():
        if line.ndim != 1 or not line.size or not np.isfinite(line).all():
            raise DescriptionError(f"expected finite numbers in a row, found {line}", field=field)
    stiffness = np.broadcast_to(np.asarray(bending_stiffness, dtype=float), along.shape)
    for field, line in {"joints": bends, "positions": along}.items():
        falls = np.flatnonzero(~(np.diff(line) > 0.0))
        if len(falls):
            first, second = line[falls[0] : falls[0] + 2].tolist()
            raise DescriptionError(
                f"expected ascending numbers, found {first:g}, {second:g}", field=field
            )
    if not ((stiffness > 0.0) & (stiffness < np.inf)).all():
        raise DescriptionError(
            f"expected numbers above 0, found {stiffness.min():g}", field="bending_stiffness"
        )
    if bends[0] < along[0] or bends[-1] > along[-1]:
        raise DescriptionError(
            f"expected positions from {along[0]:g} to {along[-1]:g} m, found joints from "
            f"{bends[0]:g} to {bends[-1]:g} m",
            field="joints",
        )
    bounds = np.concatenate([along[:1], 0.5 * (bends[:-1] + bends[1:]), along[-1:]])
    grid = np.union1d(along, bounds)
    curvature = np.interp(grid, along, 1.0 / stiffness)
    pieces = 0.5 * (curvature[:-1] + curvature[1:]) * np.diff(grid)
    return np.add.reduceat(pieces, np.searchsorted(grid, bounds[:-1]))


# Refinement.


def refine(finger: SoftFinger) -> SoftFinger:
    """Return the finger with each joint replaced by two.

    The compliance of a joint belongs to its cell, which reaches half way to its neighbours and to
    the two ends of the finger. Each half of a cell has a joint in its middle with half of the
    compliance, so the sum of 1/k is unchanged; repeated, this converges to the beam that the
    finger's compliances describe, which shows how far a chain is from its beam.
    """
    positions = np.array([joint.position for joint in finger.joints])
    along = positions[:, 0]
    middles = 0.5 * (along[:-1] + along[1:])
    ends = [min(0.0, along[0]), *middles, max(finger.tip[0], along[-1])]
    quarters = np.concatenate([[a + 0.25 * (b - a), a + 0.75 * (b - a)] for a, b in pairwise(ends)])
    joints = tuple(
        finger.joints[half // 2].replace(
            position=(x, *(float(np.interp(x, along, positions[:, axis])) for axis in (1, 2))),
            **_halve(finger.joints[half // 2]),
        )
        for half, x in enumerate(quarters.tolist())
    )
    return finger.replace(joints=joints, links=_cut(finger.links, quarters))


def _halve(joint: SoftJoint) -> dict[str, float]:
    """Double the stiffness in all directions."""
    names = ("stiffness", "damping", "torsion_stiffness", "axial_stiffness")
    values = {name: getattr(joint, name) for name in names}
    return {name: 2.0 * value for name, value in values.items() if value is not None}


def _cut(links: tuple[SoftLink, ...], at: Array) -> tuple[SoftLink, ...]:
    """Cut the links at positions along x [m] and join the parts between them."""
    begins = np.array([link.center[0] - 0.5 * link.size[0] for link in links])
    ends = np.array([link.center[0] + 0.5 * link.size[0] for link in links])
    bounds = [min(begins.min(), at[0]), *at.tolist(), max(ends.max(), at[-1])]
    return tuple(_join(links, begins, ends, low, high) for low, high in pairwise(bounds))


def _join(
    links: tuple[SoftLink, ...], begins: Array, ends: Array, low: float, high: float
) -> SoftLink:
    """Join the parts between two positions of links that are uniform along x."""
    first, last = np.clip(begins, low, high), np.clip(ends, low, high)
    masses = np.array([link.mass for link in links]) * (last - first) / (ends - begins)
    whole = float(masses.sum())
    weights = masses / whole if whole > 0.0 else np.full(len(links), 1.0 / len(links))
    center = weights @ np.array([link.center for link in links])
    center[0] = weights @ (0.5 * (first + last)) if whole > 0.0 else 0.5 * (low + high)
    size = weights @ np.array([link.size for link in links])
    size[0] = max(high - low, MIN_MASS)
    aside = weights @ np.array([np.subtract(link.balance, link.center) for link in links])
    return SoftLink(
        center=tuple(center.tolist()),
        mass=max(whole, MIN_MASS),
        size=tuple(size.tolist()),
        mass_center=tuple((center + aside).tolist()) if aside.any() else None,
    )
