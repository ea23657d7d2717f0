"""Rigid pieces: what they share with arcs, what they keep, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.continuum import pcc
from softgrasp.errors import DescriptionError
from softgrasp.twin.finger_pieces import chord_pieces, mirrored, rigid_pieces

angles = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)
LENGTHS = np.array([0.014, 0.02, 0.01])


@settings(max_examples=40)
@given(thetas=angles, phis=angles)
def test_chords_end_where_arcs_end(thetas: np.ndarray, phis: np.ndarray) -> None:
    chords = chord_pieces(thetas, phis, LENGTHS)
    chain = pcc.chain_frames(thetas / LENGTHS, phis, LENGTHS, "webster")
    assert chords.tops == pytest.approx(chain[1:], abs=1e-15)
    assert chords.points == pytest.approx(chain[:, :3, 3], abs=1e-15)


@settings(max_examples=40)
@given(thetas=angles, phis=angles, order=st.sampled_from(["unity", "plane"]))
def test_pieces_keep_their_length_and_run_along_z(
    thetas: np.ndarray, phis: np.ndarray, order: str
) -> None:
    pieces = rigid_pieces(thetas, phis, LENGTHS, order)
    ways = np.diff(pieces.points, axis=0)
    assert np.linalg.norm(ways, axis=1) == pytest.approx(LENGTHS)
    assert ways == pytest.approx(LENGTHS[:, None] * pieces.bottoms[:, :3, 2], abs=1e-16)
    assert pieces.tip == pytest.approx(pieces.points[-1])


def test_unity_turns_about_z_then_about_y() -> None:
    """Extrinsic z, x, y of scipy is Unity's order of Euler angles."""
    rotated = rigid_pieces([0.4], [0.7], [1.0]).tops[0, :3, :3]
    assert rotated == pytest.approx(Rotation.from_euler("zxy", [0.7, 0.0, 0.4]).as_matrix())


@pytest.mark.parametrize("order", ["unity", "plane"])
def test_the_difference_from_arcs_vanishes_with_the_length_of_the_pieces(order: str) -> None:
    """Twice as many pieces, half the error: it is of first order."""
    apart = []
    for count in (8, 16, 32):
        lengths = np.full(count, 0.05 / count)
        bends = np.full(count, 1.2 / count)
        arc = pcc.chain_transform(bends / lengths, 0.0 * bends, lengths)[:3, 3]
        apart.append(np.linalg.norm(rigid_pieces(bends, 0 * bends, lengths, order).tip - arc))
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.02)
    assert apart[1] / apart[2] == pytest.approx(2.0, rel=0.02)


def test_mirroring_twice_changes_nothing() -> None:
    frames = rigid_pieces([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], LENGTHS).tops
    for axis in ("x", "y", "z"):
        assert np.linalg.det(mirrored(frames, axis)[:, :3, :3]) == pytest.approx(np.ones(3))
        assert mirrored(mirrored(frames, axis), axis) == pytest.approx(frames)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        (([0.1], [0.1, 0.2], [1.0]), "expected one value a segment in each, found shapes "
         "thetas (1,), phis (2,), lengths (1,)"),
        (([0.1], [0.1], [0.0]), "expected finite angles and lengths above 0, found angles [0.1] "
         "and [0.1], lengths [0.]"),
        (([0.1], [0.1], [1.0], "unty"), "expected an order of turns, found 'unty'; did you mean "
         "'unity'? known: plane, unity"),
    ],
)  # fmt: skip
def test_what_makes_no_pieces_is_refused(given_: tuple, sentence: str) -> None:
    with pytest.raises(DescriptionError) as refused:
        rigid_pieces(*given_)
    assert str(refused.value) == sentence
