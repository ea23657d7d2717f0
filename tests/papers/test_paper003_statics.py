"""Paper 003 (Chen et al. 2022): what its soft arm does at rest, sec. 3.1.

Protocol: one section of the shipped arm, hanging, one segment (as the paper), pressures of 1 MPa in
one chamber or in the other two. The parameters are ours (the paper's table has no text); EI, EA and
length were chosen with these four numbers in sight, so that meeting them is a fit. Tolerances: the
bends within 1.5 % (166.9° both; the paper's 165.7° and 168° differ by more than this model can
tell), the radii within 2 %, the arcs within 0.5 %, the box of the workspace within 0.02 m.
"""

from __future__ import annotations

import numpy as np
import pytest

from examples.paper003.statics import arm_rest, arm_workspace
from softgrasp.hydraulics import pressure_of_torque
from tests.hydraulics.arms import one_section, two_sections

MEGAPASCAL = 1.0e6


def test_pressures_of_the_papers_torques() -> None:
    """P = 2π η T / (s A_c): 1.000 MPa at 2.5 N·m and 0.6 MPa at 1.5 N·m."""
    result = pressure_of_torque(two_sections().drive, [2.5, 1.5])
    assert result == pytest.approx([1.0e6, 0.6e6], rel=1e-7)


@pytest.mark.parametrize(
    ("pressures", "degrees", "arc", "radius", "side"),
    [
        ((0.0, MEGAPASCAL, MEGAPASCAL), 165.7, 0.401, 0.139, 1.0),
        # 0.473 m as printed does not go with the angle and the radius: 0.136 · 168° = 0.3988 m
        ((MEGAPASCAL, 0.0, 0.0), 168.0, 0.3988, 0.136, -1.0),
    ],
    ids=["two chambers", "one chamber"],
)
def test_the_bends_at_a_megapascal(
    pressures: tuple[float, ...], degrees: float, arc: float, radius: float, side: float
) -> None:
    rest = arm_rest(one_section(), pressures)
    assert rest.stable
    assert np.degrees(rest.bends[0]) == pytest.approx(degrees, rel=0.015)
    assert rest.lengths[0] == pytest.approx(arc, rel=0.005)
    assert rest.radii[0] == pytest.approx(radius, rel=0.02)
    assert np.sign(rest.ends[0, 0]) == side
    assert rest.ends[0, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("segments", "degrees"), [(2, 168.9), (4, 169.7), (8, 170.0)])
def test_more_segments_bend_by_three_degrees_more(segments: int, degrees: float) -> None:
    rest = arm_rest(one_section(segments), (0.0, MEGAPASCAL, MEGAPASCAL))
    assert np.degrees(rest.bends[0]) == pytest.approx(degrees, abs=0.1)


@pytest.mark.slow
def test_the_workspace_of_one_section() -> None:
    """A shell of about 0.58 × 0.58 × 0.37 m; the paper says 0.5 × 0.5 × 0.5 m, roughly."""
    result = arm_workspace(one_section(), levels=5).extent
    assert result == pytest.approx([0.58, 0.58, 0.37], abs=0.02)
