"""Rules of masses and inertias."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softgrasp.formats.wbt.access import number, vectors
from softgrasp.formats.wbt.node import Node, Numbers
from softgrasp.formats.wbt.rules.complaint import Complaint, of_type
from softgrasp.formats.wbt.world import World

UNSET = -1.0
"""What density and mass are where they are not given."""
SLACK = 1e-6
"""By how much, relatively, moments of inertia may fail: files often hold seven digits."""


def masses_are_stated_once(world: World) -> Iterator[Complaint]:
    """Physics has a density or a mass, and the other one is -1."""
    for node in of_type(world, "Physics"):
        density, mass = number(node, "density"), number(node, "mass")
        by_density, by_mass = density > 0 and mass == UNSET, density == UNSET and mass > 0
        if not by_density and not by_mass:
            yield (
                node,
                "Physics: expected a density above 0 or a mass above 0, and -1 for the other one, "
                f"found density {density:g} and mass {mass:g}",
            )


def inertias_are_whole(world: World) -> Iterator[Complaint]:
    """An inertia has two vectors, and comes with a mass and its centre."""
    for node in of_type(world, "Physics"):
        inertia, centers = vectors(node, "inertiaMatrix"), vectors(node, "centerOfMass")
        if len(inertia) not in (0, 2):
            yield node, f"Physics.inertiaMatrix: expected 2 vectors or none, found {len(inertia)}"
        allowed_counts = (1,) if inertia else (0, 1)
        if len(centers) not in allowed_counts:
            words = "1 vector beside an inertiaMatrix" if inertia else "1 vector or none"
            yield node, f"Physics.centerOfMass: expected {words}, found {len(centers)}"
        if inertia and number(node, "mass") <= 0:
            text = f"{number(node, 'mass'):g}"
            yield node, f"Physics.mass: expected it beside an inertiaMatrix, found {text}"


def inertias_belong_to_bodies(world: World) -> Iterator[Complaint]:
    """Principal moments are above 0, and none is larger than the other two together."""
    for node in of_type(world, "Physics"):
        inertia = vectors(node, "inertiaMatrix")
        if len(inertia) == 2:
            yield from _moments(node, *inertia)


def damping_is_a_fraction(world: World) -> Iterator[Complaint]:
    """Damping of a body is from 0 to 1."""
    for node in of_type(world, "Damping"):
        for key in ("linear", "angular"):
            if not 0 <= number(node, key) <= 1:
                yield node, f"Damping.{key}: expected 0 to 1, found {number(node, key):g}"


def _moments(node: Node, moments: Numbers, products: Numbers) -> Iterator[Complaint]:
    (xx, yy, zz), (xy, xz, yz) = moments, products
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    low, middle, high = map(float, principal)
    text = f"{low:.6g}, {middle:.6g} and {high:.6g}"
    if low <= 0:
        yield node, f"Physics.inertiaMatrix: expected principal moments above 0, found {text}"
    elif high > (low + middle) * (1 + SLACK):
        yield (
            node,
            "Physics.inertiaMatrix: expected no principal moment above the sum of the others, "
            f"found {text}",
        )
