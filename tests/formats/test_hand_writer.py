"""Hands as YAML: what is written reads back as the equal hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.hand import hand_yaml


@pytest.mark.parametrize("name", assets.names("hands"))
def test_a_shipped_hand_reads_back_equal(name: str, tmp_path: Path) -> None:
    hand = sg.load_hand(name)
    assert sg.load_hand(sg.save_hand(hand, tmp_path / "hand.yaml")) == hand


@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(0.01, 0.1),
            st.floats(-3.0, 3.0),
            st.sampled_from(["revolute", "prismatic"]),
            st.booleans(),
            st.sampled_from(["", "tip", "no", "1.5", "a: b", "# c"]),
        ),
        min_size=1,
        max_size=4,
    ),
    rate=st.floats(0.001, 2.0),
    source=st.text(max_size=20),
)
def test_any_hand_reads_back_equal(
    rows: list[tuple[float, float, str, bool, str]],
    rate: float,
    source: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    weights = [{"mass": 0.1}, {"density": 900.0}]
    phalanges = tuple(
        sg.Phalanx(a=a, theta=theta, joint=joint, radius=0.004, **weights[heavy])
        for a, theta, joint, heavy, _ in rows
    )
    base = sg.Pose(position=(0.1, 0.0, 1 / 3), quaternion=(1.0, 0.2, 0.3, 0.4))
    finger = sg.Finger(name="F", base=base, convention="standard", phalanges=phalanges)
    preset = sg.GraspPreset(center=(0, 0, 0.1), rates=rate)
    hand = sg.Hand(
        name="any hand",
        fingers=(finger,),
        grasps=sg.Grasps(power=preset, precision=preset),
        source=source,
        notes=tuple(note for *_, note in rows),
    )
    directory = tmp_path_factory.mktemp("hand")
    assert sg.load_hand(sg.save_hand(hand, directory / "hand.yaml")) == hand


def test_a_hand_with_a_mesh_and_modified_rows_reads_back_equal(tmp_path: Path) -> None:
    mesh = sg.Mesh(file=assets.portable_name(assets.root() / "objects/meshes/strawberry.obj"))
    row = sg.Phalanx(shape=mesh, shape_pose=sg.Pose(position=(0.0, 0.1, 0.2)), density=500.0)
    finger = sg.Finger(name="F", convention="modified", phalanges=(row,), tip=(0.05, 0.0, 0.01))
    preset = sg.GraspPreset(center=(0, 0, 0), rates=(1.0,), start=(0.2,))
    palm = sg.Palm(kind="shape", shape=sg.Ellipsoid(radii=(0.1, 0.1, 0.02)))
    grasps = sg.Grasps(power=preset, precision=preset)
    hand = sg.Hand(name="berry", fingers=(finger,), grasps=grasps, palm=palm)
    assert sg.load_hand(sg.save_hand(hand, tmp_path / "hand.yaml")) == hand


def test_what_all_rows_share_stands_once() -> None:
    text = hand_yaml(sg.load_hand("four_finger"))
    assert text.count("convention: standard") == 1
    assert text.count("density") == 1
    assert "name: P1" not in text


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.save_hand(sg.load_hand("four_finger"), tmp_path / "hand.txt")
    assert str(refused.value) == f"path: expected a .yaml file, found '{tmp_path / 'hand.txt'}'"
