"""The arm as a chain in MuJoCo against the lumped segment model, which knows no engine."""

from __future__ import annotations

from functools import partial

import mujoco
import numpy as np
import pytest

from softgrasp.description.bendable import TipLoad
from softgrasp.errors import DescriptionError, DivergedError
from softgrasp.hydraulics import TipRecording, arm_rest, move_arm, tip_errors
from softgrasp.hydraulics.arm import ArmChain
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.mechanics.transforms import Array
from tests.mechanics.hydraulic.arms import WEIGHTLESS, one_section, rotated, two_sections

BENT = [(0.0, 1e6, 1e6), (1e6, 0.0, 0.0), (0.0, 6e5, 2e5)]


@pytest.mark.parametrize("pressures", BENT)
@pytest.mark.parametrize("links", [1, 4])
def test_without_weight_bends_and_lengths_are_the_same(
    pressures: tuple[float, ...], links: int
) -> None:
    """Constant moment and force: every cell bends alike, whatever its size."""
    arm = one_section(links).replace(gravity=WEIGHTLESS)
    chain, lumped = ArmChain(arm, links).rest(pressures), arm_rest(arm, pressures)
    assert np.degrees(chain.bends) == pytest.approx(np.degrees(lumped.bends), abs=1e-5)
    assert chain.lengths == pytest.approx(lumped.lengths, abs=1e-9)


@pytest.mark.parametrize("pressures", BENT[:2])
def test_with_weight_the_limits_of_many_cells_agree(pressures: tuple[float, ...]) -> None:
    """Within 0.05°; masses at the ends of segments are off by 1/n, which Richardson takes away."""
    four, eight = (arm_rest(one_section(count), pressures) for count in (4, 8))
    chain = ArmChain(one_section(), 8).rest(pressures)
    limit = 2.0 * eight.bends - four.bends
    assert np.degrees(chain.bends) == pytest.approx(np.degrees(limit), abs=0.05)
    assert chain.lengths == pytest.approx(eight.lengths, abs=1e-6)


def away_from_finest(arm: HydraulicArm, pressures: tuple[float, ...]) -> list[float]:
    """Distances of the end of chains of 4 and 8 cells from one of 24 [m]."""
    ends = [ArmChain(arm, links).rest(pressures).ends[-1] for links in (4, 8, 24)]
    return [float(np.linalg.norm(end - ends[-1])) for end in ends[:-1]]


def test_the_rest_converges_with_the_square_of_the_cell() -> None:
    coarse, fine = away_from_finest(one_section(), BENT[0])
    # against a chain of 24 that is itself off by a ninth of what the one of 8 is
    assert coarse / fine == pytest.approx((36.0 - 1.0) / (9.0 - 1.0), rel=0.05)


def test_the_table_of_the_page() -> None:
    """Two sections at 0.6 MPa: the change of the end falls by four with twice the cells."""
    pressures = 0.6e6 * np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    ends = [ArmChain(two_sections(), links).rest(pressures).ends[-1] for links in (1, 2, 4, 8)]
    changes = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert changes == pytest.approx([0.0874, 0.0218, 0.0054], abs=2e-4)


def test_loads_in_space_have_the_same_limit_as_the_lumped_model() -> None:
    """Out of the plane, twisted, with a load that follows the tip: both converge, with 1/n.

    At four and eight segments they are 16 mm apart, their limits by Richardson's rule 1.4 mm.
    """
    load = TipLoad(force=(0.5, 0.3, 0.0), moment=(0.0, 0.1, 0.05))
    arm = two_sections().replace(gravity=WEIGHTLESS, tip_load=load)
    pressures = (2e5, 0.0, 1e5, 0.0, 3e5, 0.0)
    coarse, fine = (ArmChain(arm, links).rest(pressures).ends[-1] for links in (4, 8))
    two, four = (arm_rest(arm.replace(segments=n), pressures) for n in (2, 4))
    assert np.abs(four.strains[:, 3]).max() > 0.005
    assert 2.0 * fine - coarse == pytest.approx(2.0 * four.ends[-1] - two.ends[-1], abs=2e-3)


def test_turning_the_chambers_turns_the_rest() -> None:
    pressures = (3e5, 0.0, 1e5)
    plain, other = (
        ArmChain(arm, 8).rest(pressures) for arm in (one_section(), rotated(one_section(), 0.8))
    )
    angle = np.arctan2(*other.ends[0, 1::-1]) - np.arctan2(*plain.ends[0, 1::-1])
    assert np.remainder(angle, 2.0 * np.pi) == pytest.approx(0.8, abs=0.01)
    assert other.ends[0, 2] == pytest.approx(plain.ends[0, 2], abs=2e-3)


def step(_: float) -> Array:
    return np.array([0.0, 3e5, 3e5])


def test_the_motions_of_chain_and_lumped_model_come_together() -> None:
    """A step of 0.3 MPa: the gap halves with twice the segments (their masses are at the ends)."""
    chain = ArmChain(one_section(), 6).move(step, 0.3, timestep=4e-4)
    gaps = []
    for segments in (1, 2):
        lumped = move_arm(one_section(segments), step, 0.3, tolerance=1e-5)
        gaps.append(tip_errors(chain, lumped).max_sectional)
    assert np.ptp(chain.ends[:, 0, 0]) > 0.05
    assert gaps[1] < 0.65 * gaps[0]
    assert gaps[1] < 0.025


def test_a_motion_ends_at_the_rest() -> None:
    arm = one_section()
    chain = ArmChain(arm, 2)
    result = chain.move(step, 1.5, sample=0.1)
    assert isinstance(result, TipRecording)
    assert result.times[-1] == pytest.approx(1.5)
    assert result.ends[-1] == pytest.approx(chain.rest(step(0.0)).ends, abs=2e-4)


def test_what_cannot_be_moved_is_told() -> None:
    chain = ArmChain(one_section(), 8)
    with pytest.raises(DescriptionError, match="duration: expected a time above 0 s, found 0 s"):
        chain.move(step, 0.0)
    for use in (chain.rest, lambda given: chain.move(given, 0.1)):
        with pytest.raises(DescriptionError, match=r"pressures\[0\]: expected 0 to 1e\+06 Pa"):
            use([2e6, 0.0, 0.0])
    far = one_section().replace(tip_load=TipLoad(force=(1e6, 0.0, 0.0)))
    with pytest.raises(
        DivergedError, match=r"its motion has diverged at 0.002 s; a timestep below "
    ):
        ArmChain(far, 2).move(step, 0.1)


def test_ends_and_joints_of_a_row_belong_together() -> None:
    """With long steps too: the bodies of the last step stand where it began."""
    chain = ArmChain(one_section(), 2)
    result = chain.move(step, 0.1, timestep=0.01, integrator="discrete")
    for row, ends in zip(result.joints, result.ends, strict=True):
        chain.data.qpos[:] = row
        mujoco.mj_kinematics(chain.model, chain.data)
        assert chain.ends() == pytest.approx(ends, abs=1e-12)


def test_a_pressure_beyond_its_limit_between_two_rows_is_refused() -> None:
    def spike(time: float) -> Array:
        return np.array([2e6 if 0.012 < time < 0.018 else 0.0, 0.0, 0.0])

    for move in (ArmChain(one_section(), 2).move, partial(move_arm, one_section())):
        with pytest.raises(DescriptionError) as refused:
            move(spike, 0.1, sample=0.05)
        assert str(refused.value) == (
            "pressures[0]: expected 0 to 1e+06 Pa, as its chamber stands, found 2e+06 Pa"
        )
