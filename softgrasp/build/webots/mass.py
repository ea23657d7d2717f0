"""Masses of a compiled model → Physics nodes, and light solids between the joints of one body."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.webots.frames import Frame, body_frame, vector
from softgrasp.formats.wbt.node import Node
from softgrasp.mechanics.transforms import Array

LIGHT_FRACTION = 1e-3
"""Share of a body's mass that a solid has which has to be there without a mass of its own: a touch
sensor, and what lies between two joints of one body."""


class Inertia(NamedTuple):
    """Mass [kg], its centre in the solid's frame (3,) [m], inertia about it (3, 3) [kg·m²]."""

    mass: float
    centre: Array
    tensor: Array

    def times(self, factor: float) -> Inertia:
        """The same solid with a share of the mass."""
        return Inertia(factor * self.mass, self.centre, factor * self.tensor)

    def seen_from(self, from_frame: Frame, other: Frame) -> Inertia:
        """The same mass in another frame."""
        relative = from_frame.inside(other)
        centre = relative.rotation @ self.centre + relative.position
        return Inertia(self.mass, centre, relative.rotation @ self.tensor @ relative.rotation.T)


def body_inertia(model: mujoco.MjModel, body: int) -> Inertia:
    """Mass and inertia of a body in its own axes; MuJoCo keeps them in those of its own choice."""
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[body])
    rotation = axes.reshape(3, 3)
    tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    return Inertia(float(model.body_mass[body]), model.body_ipos[body].copy(), tensor)


def physics(inertia: Inertia) -> Node:
    """The Physics of a solid: the mass itself, not a density."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tensor.tolist()
    return Node(
        "Physics",
        {
            "density": -1,
            "mass": inertia.mass,
            "centerOfMass": [vector(inertia.centre)],
            "inertiaMatrix": [(xx, yy, zz), (xy, xz, yz)],
        },
    )


def heaviest_in_group(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> Inertia:
    """The mass that a body without one is part of, in this body's frame."""
    group = np.flatnonzero(model.body_weldid == model.body_weldid[body])
    donor = int(group[model.body_mass[group].argmax()])
    return body_inertia(model, donor).seen_from(body_frame(data, donor), body_frame(data, body))
