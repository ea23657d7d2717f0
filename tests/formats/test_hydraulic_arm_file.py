"""Hydraulic arms in YAML: units, and mistakes with file, line and field."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp import assets
from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.files import hydraulic_arm_from, load_hydraulic_arm

SHIPPED = assets.find("hydraulic_arms", "hydraulic_two_section").read_text(encoding="utf-8")

CHAMBERS = SHIPPED[SHIPPED.index("    chambers:") : SHIPPED.index("  - name: tip")]


def refused(tmp_path: Path, old: str, new: str) -> str:
    """What is said of the shipped file with one thing changed at its first place."""
    assert old in SHIPPED
    path = tmp_path / "arm.yaml"
    path.write_text(SHIPPED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DescriptionError) as message:
        load_hydraulic_arm(path)
    return str(message.value)


def line_of(text: str) -> int:
    return SHIPPED[: SHIPPED.index(text)].count("\n") + 1


def test_lengths_areas_and_angles_are_in_the_units_of_the_file() -> None:
    arm = load_hydraulic_arm("hydraulic_two_section")
    section = arm.sections[0]
    assert section.length == pytest.approx(0.3965)
    assert section.chambers[1].angle == pytest.approx(2.0 * math.pi / 3.0)
    assert section.chambers[1].radius == pytest.approx(0.022)
    assert section.chambers[1].area == pytest.approx(2.011e-4)
    assert section.bending_stiffness == 0.5829
    assert arm.drive.screw.lead == pytest.approx(0.005)
    assert arm.drive.piston.diameter == pytest.approx(0.06)
    assert len(arm.chambers) == 6


def test_the_second_section_is_turned_by_half_a_turn() -> None:
    first, second = load_hydraulic_arm("hydraulic_two_section").sections
    for one, other in zip(first.chambers, second.chambers, strict=True):
        assert math.cos(other.angle - one.angle) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "bending_stiffness: 0.5829",
            "bending_stiffness: 0",
            "sections[0].bending_stiffness: expected a number above 0, found 0",
        ),
        ("lead: 5", "lead: -5", "drive.screw.lead: expected a number above 0, found -5"),
        (
            "{diameter: 4, length: 2000}",
            "{diameter: -4, length: 2000}",
            "drive.tube.diameter: expected a number above 0, found -4",
        ),
        (
            "diameter: 60",
            "diametre: 60",
            "drive.piston.diametre: no such field; did you mean 'diameter'?",
        ),
        (
            "{angle: 120, radius: 22",
            "{angle: 360, radius: 22",
            "sections[0].chambers[1].angle: expected chambers at different angles, found two at",
        ),
        (
            "{angle: 120, radius: 22",
            "{angle: 120, radius: 220",
            "sections[0].chambers[1].radius: expected at most the section's radius (0.034 m), "
            "found 0.22 m",
        ),
        (
            "efficiency: 0.9",
            "efficiency: 90",
            "drive.screw.efficiency: expected a number at most 1, found 90",
        ),
        (
            "pressure_max: 1.0e+6",
            "pressure_max: -1.0",
            "sections[0].chambers[0].pressure_min: expected at most pressure_max (-1 Pa), found 0",
        ),
        ("name: tip", "name: base", "sections[1].name: expected unique names, found section"),
        ("radius: 34", "radius: 500", "sections[0].radius: expected at most the length (0.3965 m)"),
        ("segments: 1", "segments: 0", "segments: expected a number at least 1, found 0"),
        (
            "piston: {diameter: 60",
            "piston: {diameter: -60",
            "drive.piston.diameter: expected a number above 0, found -60",
        ),
        ("drive:\n  screw", "fluids:\n  screw", "fluids: no such field; known: "),
        (SHIPPED[SHIPPED.index("drive:") :], "", "drive: this field is missing"),
        (
            CHAMBERS,
            "    chambers: []\n",
            "sections[0].chambers: expected at least 1 values, found 0",
        ),
        (CHAMBERS, "", "sections[0].chambers: this field is missing"),
        ("mass: 0.1", "weight: 0.1", "sections[0].weight: no such field"),
    ],
)
def test_mistakes_are_told_with_their_field(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert sentence in refused(tmp_path, old, new)


def test_mistakes_are_told_with_file_and_line(tmp_path: Path) -> None:
    result = refused(tmp_path, "lead: 5", "lead: -5")
    assert result.startswith(f"{tmp_path / 'arm.yaml'}:{line_of('lead: 5')}: drive.screw.lead")


def test_an_unknown_arm_is_told_with_those_that_exist() -> None:
    with pytest.raises(DescriptionError, match=r"no hydraulic arm 'two'; .*hydraulic_two_section"):
        load_hydraulic_arm("two")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "sections", "drive", "units", "length", "angle", "area", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["name", "sections", "drive", "units", "gravity"]), JSON))
def test_whatever_the_tree_it_is_an_arm_or_a_sentence(tree: dict[str, object]) -> None:
    with pytest.raises(DescriptionError):
        hydraulic_arm_from(tree)
