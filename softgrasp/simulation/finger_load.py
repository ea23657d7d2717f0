"""A finger with a weight at its tip: its shape, and as a finger of its own; all of its damping."""

from __future__ import annotations

import numpy as np

from softgrasp.continuum.settling import from_webots
from softgrasp.continuum.statics import GRAVITY, PlanarChain, rest
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.soft_finger import SoftFinger, SoftLink
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


def damped_finger(release: FingerRelease) -> SoftFinger:
    """The finger with all of its damping: c + h·k where it was identified in Webots."""
    return from_webots(release.finger, release.webots_timestep or 0.0)


def loaded_shape(release: FingerRelease) -> Array:
    """Joint angles at rest under the weight, in closed form [rad], (n,).

    Raises:
        DescriptionError: There is no such shape near the straight finger.
    """
    chain = PlanarChain.of(release.finger)
    loads = chain.weight.plus(chain.at_tip((0.0, -GRAVITY * release.tip_mass)))
    springs = np.array([joint.stiffness for joint in release.finger.joints])
    angles = rest(springs, loads, np.zeros(1)).angles
    if not np.isfinite(angles).all():
        raise DescriptionError(
            f"expected a weight that the finger carries, found {release.tip_mass:g} kg",
            field="tip_mass",
        )
    return angles


def loaded_finger(finger: SoftFinger, mass: float) -> SoftFinger:
    """The finger with a weight at its tip as a part of its last link.

    Args:
        finger: The finger.
        mass: [kg]
    """
    last = finger.links[-1]
    together = last.mass + mass
    x, y, z = (
        (last.mass * balance_coordinate + mass * tip) / together
        for balance_coordinate, tip in zip(last.balance, finger.tip, strict=True)
    )
    heavier = SoftLink(
        center=last.center, mass=together, size=last.size, mass_center=(x, y, z)
    )  # fmt: skip
    return finger.replace(links=(*finger.links[:-1], heavier))
