"""States of bendables: how far, in which plane and how long each of them is bent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.bendable import AGREEMENT, Bendable
from softgrasp.description.robot import Robot, curvature_interfaces
from softgrasp.errors import DescriptionError, did_you_mean

States = Mapping[str, Sequence[float]]
"""Of each bendable by its name: κ [1/m] (of ``ppc`` every coefficient), φ [rad], and its length [m]
where it is not the one at rest."""

SAMPLES = 101
"""Places along a backbone where its curvature is compared with its limit."""


class BentState(NamedTuple):
    """The state of one bendable."""

    kappas: tuple[float, ...]
    """Coefficients of κ over the share of the arc length [1/m]; one for ``pcc``."""
    phi: float
    """[rad]"""
    length: float
    """[m]"""


def state_of(part: Bendable, states: States) -> BentState:
    """The state of a bendable, straight at its rest length where none is given.

    Raises:
        DescriptionError: It is given by more or fewer numbers than its model has, or by a length
            that is not positive.
    """
    names = curvature_interfaces(part)
    numbers = tuple(states.get(part.name, (0.0,) * (len(names) - 1)))
    where = f"bendable '{part.name}'"
    if len(numbers) not in (len(names) - 1, len(names)):
        raise DescriptionError(
            f"expected a state ({', '.join(names[:-1])}) or ({', '.join(names)}), found "
            f"{len(numbers)} numbers",
            field=where,
        )
    *kappas, phi, length = map(float, (*numbers, part.backbone.length)[: len(names)])
    if not np.isfinite([*kappas, phi, length]).all() or length <= 0.0:
        raise DescriptionError(
            f"expected finite numbers and a length above 0, found {numbers}", field=where
        )
    return BentState(tuple(kappas), phi, length)


def refuse_unknown(robot: Robot, states: States) -> None:
    """Refuse states of what is no bendable.

    Raises:
        DescriptionError: At the first one.
    """
    known = [part.name for part in robot.bendables]
    for name in states:
        if name not in known:
            raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")


def beyond_limits(part: Bendable, state: BentState) -> Iterator[str]:
    """What of a state is beyond the bendable's limits, in words."""
    limits = part.limits
    along = np.polynomial.polynomial.polyval(np.linspace(0.0, 1.0, SAMPLES), state.kappas)
    bent = float(np.abs(along).max())
    if bent > part.kappa_max * (1.0 + AGREEMENT):
        yield f"curvature {bent:g} 1/m is above its limit {part.kappa_max:g} 1/m"
    elongation = state.length / part.backbone.length - 1.0
    for what, value, low, high in (
        ("phi", state.phi, limits.phi_min, limits.phi_max),
        ("elongation", elongation, limits.eps_min, limits.eps_max),
    ):
        if low is not None and high is not None and not low <= value <= high:
            yield f"{what} {value:g} is outside its range from {low:g} to {high:g}"
