"""Robots as values: one tree, names without blanks, shapes that URDF has."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.description.geometry import Ellipsoid, Mesh
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from tests.conftest import Golden


def joined(*pairs: tuple[str, str], links: str) -> Robot:
    """Fixed joints from parents to children, each link a letter."""
    return Robot(
        name="r",
        links=tuple(Link(name=name) for name in links),
        joints=tuple(RigidJoint(name=f"{a}{b}", type="fixed", parent=a, child=b) for a, b in pairs),
    )


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (["ab", "bc", "cb"], "joints[2].child"),
        (["ba", "cb", "ac"], "joints[2].parent"),
        (["aa"], "joints[0].parent"),
        (["ab"], "links[2].name"),
        (["ax"], "joints[0].child"),
    ],
)
def test_links_that_form_no_tree_are_refused(
    pairs: list[str], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: joined(*((pair[0], pair[1]) for pair in pairs), links="abc"), sentence)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=25), st.integers())
def test_root_link_of_random_trees(parents: list[int], seed: int) -> None:
    letters = [chr(0x4E00 + i) for i in range(len(parents) + 1)]
    pairs = [(letters[p % (i + 1)], letters[i + 1]) for i, p in enumerate(parents)]
    random.Random(seed).shuffle(pairs)
    assert joined(*pairs, links="".join(letters)).root == letters[0]


def test_long_chains_are_checked_in_linear_time() -> None:
    """In time that grows with its length: with its cube, 3000 links would take minutes."""
    letters = [chr(0x4E00 + i) for i in range(3000)]
    pairs = list(itertools.pairwise(letters))
    assert joined(*reversed(pairs), links="".join(letters)).root == letters[0]


def test_blanks_around_names_are_removed(golden: Golden) -> None:
    assert Link(name=" palm\n").name == "palm"
    golden.refused(lambda: Link(name=" "), "name")


def test_ellipsoids_are_refused_as_shapes_of_urdf(golden: Golden) -> None:
    golden.refused(lambda: LinkShape(shape=Ellipsoid(radii=(1.0, 1.0, 1.0))), "shape")


def test_a_mesh_with_more_than_a_file_and_a_scale_is_refused(golden: Golden) -> None:
    golden.refused(lambda: LinkShape(shape=Mesh(file="a.stl", units="mm")), "shape")
