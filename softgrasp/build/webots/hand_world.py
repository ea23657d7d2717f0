"""A hand alone → a Webots world, to be closed by a controller of one's own."""

from __future__ import annotations

import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.build.hand_model import build_hand_spec
from softgrasp.build.shapes import TOUCHING_GROUPS
from softgrasp.build.webots.contacts import contact_properties
from softgrasp.build.webots.frames import WORLD as ORIGIN
from softgrasp.build.webots.joint_laws import joint_laws
from softgrasp.build.webots.joints import law_remarks
from softgrasp.build.webots.solids import SolidWriter
from softgrasp.build.webots.start import roots, start_state, view_of
from softgrasp.build.webots.world import WebotsWorld, driven_robot, heading
from softgrasp.description.contact import Contact
from softgrasp.description.hand import Hand
from softgrasp.description.scene import Solver
from softgrasp.errors import BuildError

MATERIAL, ANYTHING = "hand", "default"
"""Of the hand, and of solids that say nothing else."""


def refuse_model(hand: Hand) -> None:
    """Refuse a hand whose actuators, tendons and equalities only MuJoCo knows.

    Raises:
        BuildError: It has a model of its own.
    """
    if hand.model is not None:
        raise BuildError(
            f"hand '{hand.name}': expected one that is described by its joints, found the MuJoCo "
            f"model {hand.model.file}, whose actuators only MuJoCo runs"
        )


def hand_world(
    hand: Hand, timestep: float, arguments: tuple[str, ...], max_faces: int | None = None
) -> WebotsWorld:
    """A hand in its start posture, without an object and without gravity.

    Args:
        hand: The hand.
        timestep: Of Webots [s].
        arguments: Of the controller.
        max_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The hand holds what Webots cannot express; names it.
    """
    refuse_model(hand)
    model = compiled(build_hand_spec(hand), hand.name)
    start = start_state(model)
    moving = model.geom_bodyid > 0
    touching = np.flatnonzero(moving & np.isin(model.geom_group, TOUCHING_GROUPS)).tolist()
    sensing = dict.fromkeys(model.body(int(model.geom_bodyid[geom])).name for geom in touching)
    laws = joint_laws(model, start, timestep)
    writer = SolidWriter(model, start, laws, tuple(sensing), set(touching), max_faces)
    contact = hand.contact or Contact()
    contacts = [
        contact_properties(MATERIAL, ANYTHING, contact, Solver().contact_dimension, timestep)
    ]
    top = heading(hand.name, 0.0, timestep, contacts, view_of(model, start, touching))
    carried = [writer.carried(body, ORIGIN, MATERIAL) for body in roots(model)]
    robot = driven_robot(carried, hand.name, arguments)
    return WebotsWorld([*top, robot], laws, timestep, {}, law_remarks(laws))
