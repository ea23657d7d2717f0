"""All rules together, and what they find in a world."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from softgrasp.formats.wbt.parse import read_world
from softgrasp.formats.wbt.rules import contacts, head, joints, masses, shapes, touch, tree
from softgrasp.formats.wbt.rules.complaint import Rule
from softgrasp.formats.wbt.world import World

RULES: tuple[tuple[str, Rule], ...] = (
    ("head", head.begins_with_info_and_view),
    ("head", head.has_one_info_and_view),
    ("gravity", head.gravity_is_no_direction),
    ("timestep", head.step_is_long_enough),
    ("sleep", head.springs_stay_awake),
    ("contact", contacts.pairs_of_materials_are_unique),
    ("contact", contacts.contact_numbers_make_sense),
    ("contact", contacts.bounces_are_stated),
    ("contact", contacts.frictions_make_sense),
    ("material", contacts.materials_are_worn),
    ("version", contacts.old_versions_know_no_contact_joints),
    ("place", tree.nodes_stand_where_they_may),
    ("place", tree.poses_of_bounds_are_flat),
    ("place", tree.transforms_hold_appearance_only),
    ("place", tree.devices_have_a_robot),
    ("place", tree.joints_have_a_solid),
    ("name", tree.siblings_have_unique_names),
    ("name", tree.devices_have_unique_names),
    ("controller", tree.robots_have_a_controller),
    ("physics", tree.physics_has_no_gap),
    ("physics", joints.driven_solids_have_physics),
    ("joint", joints.joints_are_whole),
    ("joint", joints.joints_have_one_device_a_kind),
    ("joint", joints.joint_numbers_make_sense),
    ("position", joints.positions_are_stated_once),
    ("position", joints.positions_are_in_the_pose),
    ("stop", joints.stops_are_around_zero),
    ("stop", joints.motors_stay_between_the_stops),
    ("mass", masses.masses_are_stated_once),
    ("mass", masses.inertias_are_whole),
    ("mass", masses.inertias_belong_to_bodies),
    ("mass", masses.damping_is_a_fraction),
    ("size", shapes.sizes_are_positive),
    ("mesh", shapes.mesh_files_travel),
    ("mesh", shapes.faces_have_points),
    ("mesh", shapes.meshes_are_small),
    ("touch", touch.sensors_can_be_touched),
    ("touch", touch.force_sensors_are_children),
    ("touch", touch.force_sensors_read_newtons),
)
"""Kinds of problems, by which a caller leaves some out, and the rules that find them."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """Something that Webots would refuse, warn of, or silently do otherwise than it looks.

    Attributes:
        line: Of the node in the file; 0 where it was made in code.
        sentence: What was expected and what was found.
        kind: One of the words in ``RULES``, such as ``timestep``.
        file: Of the world.
    """

    line: int
    sentence: str
    kind: str
    file: Path

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.sentence}"


def problems(world: World) -> list[Problem]:
    """What is wrong with a world beyond its format, by line; empty where nothing is."""
    return sorted(
        Problem(0 if node is None else node.line, sentence, kind, world.file)
        for kind, rule in RULES
        for node, sentence in rule(world)
    )


def check_world(path: str | Path) -> list[Problem]:
    """Read a world from a file and say what is wrong with it.

    Raises:
        DescriptionError: As ``read_world`` raises it.
    """
    return problems(read_world(path))
