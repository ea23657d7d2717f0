"""Synergies fit together and fit their hand; Santello's are the published ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import softgrasp as sg
from softgrasp.description.closure import first_synergy
from softgrasp.errors import DescriptionError
from softgrasp.io.load import load_hand
from tests.conftest import Golden
from tests.support.outside import outside_file


def synergies(**changes: Any) -> sg.description.Synergies:
    base: dict[str, Any] = {
        "joints": ("F1_J1", "F1_J2"),
        "mean": (0.1, 0.2),
        "matrix": ((1.0, 0.0), (0.5, 1.0)),
    }
    return sg.description.Synergies(**(base | changes))


REFUSED = [
    ({"mean": (0.1,)}, "mean: expected 2 values, one per joint, found 1"),
    ({"matrix": ((1.0, 0.0),)}, "matrix: expected a matrix of 2 rows, one per joint, each with"),
    ({"matrix": ((1.0, 0.0), (1.0,))}, "matrix: expected a matrix of 2 rows, one per joint"),
    ({"matrix": ((1.0, 0.0), (0.5, 0.0))}, "matrix: expected synergies that move a joint, found"),
    ({"opened": (1.0,) * 3}, "opened: expected at most 2 values, one per synergy, found 3"),
]


@pytest.mark.parametrize(("changes", "part"), REFUSED)
def test_inconsistent_synergies_are_refused(
    changes: dict[str, Any], part: str, golden: Golden
) -> None:
    golden.refused(lambda: synergies(**changes), part)


def test_synergies_of_another_hand_are_refused(golden: Golden) -> None:
    hand = sg.load_hand("four_finger")
    with pytest.raises(DescriptionError) as caught:
        hand.replace(synergies=synergies(joints=("F1_J1", "F1_J9")))
    assert str(caught.value).startswith(
        "synergies.joints[1]: expected a joint of 'four_finger' with an actuator, found 'F1_J9'; "
    )
    golden.refused(lambda: hand.replace(synergies=synergies(mean=(0.1, -0.2))), "synergies.mean[1]")


def test_the_posture_is_mean_plus_matrix_times_weights() -> None:
    assert synergies().posture((2.0, -1.0)) == pytest.approx({"F1_J1": 2.1, "F1_J2": 0.2})
    with pytest.raises(ValueError, match="zip"):
        synergies().posture((1.0,))


def test_hands_without_synergies_have_that_of_their_grasp() -> None:
    hand = sg.load_hand("four_finger")
    column = np.array([row[0] for row in first_synergy(hand, hand.grasps.precision).matrix])
    assert np.linalg.norm(column) == pytest.approx(1.0)
    rates = hand.grasps.precision.rates.for_fingers(hand.actuator_counts)
    assert column / column[0] == pytest.approx(np.array(rates) / rates[0])


def test_santellos_synergies_are_the_published_ones() -> None:
    given = YAML(typ="safe").load(outside_file("hands_dh.yaml"))["synergies"]["santello_15"]
    table = sg.load_hand("paradigmatic").synergies
    assert np.array(table.matrix).tolist() == given["S_columns_are_synergies"]
    assert table.mean == pytest.approx(given["qm"], abs=1e-8)


def test_santellos_synergies_are_not_orthonormal_and_couple_the_outer_joints() -> None:
    table = sg.load_hand("paradigmatic").synergies
    matrix = np.array(table.matrix)
    assert matrix.shape == (20, 15)
    assert abs(matrix.T @ matrix - np.eye(15)).max() == pytest.approx(0.6221, abs=1e-4)
    pip, dip = (
        [i for i, name in enumerate(table.joints) if name.endswith(end)]
        for end in ("PIP_flex", "DIP_flex")
    )
    assert matrix[dip] == pytest.approx(2 / 3 * matrix[pip], abs=2e-6)


HAND = """\
name: two
source: a test
convention: standard
units: {length: mm, angle: deg}
fingers:
  - name: F1
    phalanges:
      - {a: 40, density: 1000, limits: [0, 90]}
      - {a: 30, density: 1000, limits: [0, 90]}
      - {a: 20, density: 1000, limits: [0, 90], driven: false}
couplings:
  - {joint: F1_J3, leader: F1_J2, ratio: 0.5, offset: 10}
tendons:
  - {name: F1, pulleys: [{joint: F1_J1, radius: 8}, {joint: F1_J2, radius: 5}], excursion: 12}
synergies: {joints: [F1_J1, F1_J2], mean: [10, 20], matrix: [[1], [0.5]], opened: [-0.1]}
grasps:
  power: {center: [0, 0, 50], rates: 60}
  precision: {center: [0, 0, 50], rates: 60}
"""


def test_files_convert_couplings_tendons_and_synergies_from_their_units(tmp_path: Any) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(HAND, encoding="utf-8")
    hand = load_hand(path)
    assert hand.couplings[0].offset == pytest.approx(np.radians(10))
    assert hand.tendons[0].pulleys[1].radius == pytest.approx(0.005)
    assert hand.tendons[0].excursion == pytest.approx(0.012)
    assert hand.synergies.mean == pytest.approx(np.radians([10, 20]))
    assert hand.synergies.matrix == ((1.0,), (0.5,))


WRONG = [
    ("[[1], [0.5]]", "[[1]]", ":15: synergies.matrix: expected a matrix of 2 rows, one per"),
    ("leader: F1_J2", "leader: F1_J7", ":12: couplings[0].leader: expected a joint of the hand"),
    ("{joint: F1_J3, leader: F1_J2,", "{joint: F1_J1, leader: F1_J2,",
     ":12: couplings[0].joint: expected a joint with driven: false, found 'F1_J1', which has an "
     "actuator"),
    ("radius: 5", "radius: 0", ":14: tendons[0].pulleys[1].radius: expected a radius other than"),
    ("joint: F1_J2, radius", "joint: F1_J3, radius", ":14: tendons[0].pulleys[1].joint"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "part"), WRONG)
def test_errors_in_files_name_their_line(
    old: str, new: str, part: str, tmp_path: Any, golden: Golden
) -> None:
    path = tmp_path / "two.yaml"
    assert old in HAND
    path.write_text(HAND.replace(old, new), encoding="utf-8")
    golden.refused(lambda: load_hand(path), part)
