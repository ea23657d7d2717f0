"""The same soft finger with twice as many joints, to know how far a chain is from its beam."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.mechanics.transforms import Array

MIN_MASS = 1e-12
"""Mass of a link that falls into a gap between the links of the coarser chain [kg]."""


def refined(finger: SoftFinger) -> SoftFinger:
    """The finger with two joints in the place of each.

    The compliance of a joint belongs to its cell, which reaches half way to its neighbours and to
    the two ends of the finger. Each half of a cell gets a joint in its middle with half of the
    compliance, so the sum of 1/k stays; repeated, this converges to the beam that the finger's
    compliances describe.
    """
    positions = np.array([joint.position for joint in finger.joints])
    along = positions[:, 0]
    middles = 0.5 * (along[:-1] + along[1:])
    ends = [min(0.0, along[0]), *middles, max(finger.tip[0], along[-1])]
    quarters = np.concatenate([[a + 0.25 * (b - a), a + 0.75 * (b - a)] for a, b in pairwise(ends)])
    joints = tuple(
        finger.joints[half // 2].replace(
            position=(x, *(float(np.interp(x, along, positions[:, axis])) for axis in (1, 2))),
            **_halved(finger.joints[half // 2]),
        )
        for half, x in enumerate(quarters.tolist())
    )
    return finger.replace(joints=joints, links=_cut(finger.links, quarters))


def _halved(joint: SoftJoint) -> dict[str, float]:
    """What gives half as much: twice as stiff in all directions."""
    names = ("stiffness", "damping", "torsion_stiffness", "axial_stiffness")
    values = {name: getattr(joint, name) for name in names}
    return {name: 2.0 * value for name, value in values.items() if value is not None}


def _cut(links: tuple[SoftLink, ...], at: Array) -> tuple[SoftLink, ...]:
    """The links cut at places along x [m] and joined again between them."""
    begins = np.array([link.center[0] - 0.5 * link.size[0] for link in links])
    ends = np.array([link.center[0] + 0.5 * link.size[0] for link in links])
    bounds = [min(begins.min(), at[0]), *at.tolist(), max(ends.max(), at[-1])]
    return tuple(_joined(links, begins, ends, low, high) for low, high in pairwise(bounds))


def _joined(
    links: tuple[SoftLink, ...], begins: Array, ends: Array, low: float, high: float
) -> SoftLink:
    """What lies between two places of links that are uniform along x."""
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
