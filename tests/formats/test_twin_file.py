"""Twins from YAML: parts by name or file, a gripper by its measures, mistakes with their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.twin.description import GripperMount, Twin
from softgrasp.twin.files import load_pressure_fit, load_twin, save_pressure_fit

TEXT = """\
units: {length: mm, angle: deg}
finger: four_piece
finger_radius: 7
phis: [12, 8.8, 6, 3.3]
gripper:
  mount: {position: [0, 0, 10], euler: [0, 0, 90]}
  fingers: {count: 3, radius: 30, height: 40, tilt: 5}
controller: {port: 5021, map: softgrasp_default}
flange: {type: robot, program: pick_and_place}
"""


def written(directory: Path, text: str = TEXT) -> Path:
    path = directory / "mine.yaml"
    path.write_text(text)
    return path


def test_parts_are_named_and_measures_have_units(tmp_path: Path) -> None:
    twin = load_twin(written(tmp_path))
    assert twin.name == "mine"
    assert twin.finger == load_pressure_fit("four_piece")
    assert twin.finger_radius == pytest.approx(7e-3)
    np.testing.assert_allclose(twin.phis, np.radians([12, 8.8, 6, 3.3]))
    assert twin.gripper == GripperMount.around_axis(
        3, 0.03, height=0.04, tilt=np.radians(5.0), mount=twin.gripper.mount
    )
    assert twin.gripper.mount.position == pytest.approx((0.0, 0.0, 0.01))
    assert twin.gripper.mount.quaternion == pytest.approx((0.5**0.5, 0.0, 0.0, 0.5**0.5))
    assert twin.controller.port == 5021


def test_a_part_may_be_a_file_beside_it(tmp_path: Path) -> None:
    fit = load_pressure_fit("four_piece").replace(name="own")
    save_pressure_fit(fit, tmp_path / "own.yaml")
    twin = load_twin(written(tmp_path, TEXT.replace("four_piece", "own.yaml")))
    assert twin.finger == fit


def test_fingers_may_have_poses_of_their_own(tmp_path: Path) -> None:
    poses = "fingers: [{position: [10, 0, 0]}, {position: [-10, 0, 0], euler: [0, 0, 180]}]"
    circle = "fingers: {count: 3, radius: 30, height: 40, tilt: 5}"
    twin = load_twin(written(tmp_path, TEXT.replace(circle, poses)))
    assert [finger.position[0] for finger in twin.gripper.fingers] == [0.01, -0.01]


def test_the_shipped_twin_survives_its_json() -> None:
    twin = load_twin()
    assert Twin.model_validate_json(twin.model_dump_json()) == twin


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("finger: four_piece", "finger: five_piece", "2: finger: no pressure fit 'five_piece'"),
        ("finger: four_piece", "finger: 4", "2: finger: expected a name or a file, found 4"),
        ("phis: [12, 8.8, 6, 3.3]", "phis: [12]", "4: phis: expected one for each of the 4 pieces"),
        ("count: 3, ", "", "7: gripper.fingers.count: expected a number, found nothing"),
        ("count: 3", "count: 0", "count: expected at least 1 finger, found 0"),
        ("radius: 30", "radius: thirty", "7: gripper.fingers.radius: expected a number"),
        ("finger: four_piece", "1: 2\nfinger: four_piece", "expected a name, found the key 1"),
        ("tilt: 5", "tilt: .inf", "7: gripper.fingers.tilt: expected a number, found inf"),
        ("port: 5021", "port: 5021, timeout: 3.0", "expected at most stale_after (0.5 s), found 3"),
        ("tilt: 5", "tlit: 5", "7: gripper.fingers.tlit: no such field; did you mean 'tilt'?"),
        ("port: 5021", "port: 0", "8: controller.port: expected a number at least 1, found 0"),
        ("map: softgrasp_default", "map: rochu", "8: controller.map: no register map 'rochu'"),
        ("pick_and_place", "dance", "9: flange.program: no robot program 'dance'"),
        ("controller:", "rate: 0\ncontroller:", "8: rate: expected a number at least 1, found 0"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(DescriptionError) as message:
        load_twin(written(tmp_path, TEXT.replace(old, new)))
    assert sentence in str(message.value)
    assert "mine.yaml" in str(message.value)
