"""Kinematics of segments: those of pcc, and their derivatives by central differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.paper003.lumped_motion import move_arm
from examples.paper003.segment_model import (
    LumpedModel,
    arc_numbers,
    arm_motion,
    bend_motion,
    lumped_model,
)
from examples.paper003.statics import arm_rest, tangent_stiffness
from softgrasp.continuum import load_path
from softgrasp.continuum.pcc import arc_functions, bend_jacobian, bend_transform
from softgrasp.description.bendable import TipLoad
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.hydraulics.description import HydraulicArm, SectionDamping
from softgrasp.mechanics.transforms import Array, rotate_about
from tests.hydraulics.arms import (
    WEIGHTLESS,
    one_section,
    rotated,
    two_sections,
    undamped,
    with_sections,
)

STEP = 1e-5


def random_motion(seed: int, segments: int = 3) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    strains = random.normal(size=(segments, 4)) * [1.0, 1.0, 0.02, 0.5]
    strains[:, 2] += 0.4
    return strains, random.normal(size=(segments, 4)) * [3.0, 3.0, 0.1, 2.0]


@settings(max_examples=40)
@given(st.floats(-4.0, 4.0), st.floats(-4.0, 4.0), st.floats(-2.0, 2.0))
def test_frames_and_jacobian_are_those_of_constant_curvature(u: float, v: float, t: float) -> None:
    result = bend_motion(np.array([u, v, 0.4, t]), np.zeros(4))
    frame = bend_transform(u, v, 0.4) @ rotate_about("z", t)
    assert result.frame == pytest.approx(frame, abs=1e-14)
    assert result.jacobian[:, :3] == pytest.approx(bend_jacobian(u, v, 0.4), abs=1e-13)
    assert result.jacobian[3:, 3] == pytest.approx(frame[:3, 2], abs=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.05, 0.099, 0.101, 0.5, 0.999, 1.001, 3.0, 6.0])
def test_the_functions_of_one_angle_are_those_of_pcc(angle: float) -> None:
    target = [float(part) for part in arc_functions(angle)]
    assert arc_numbers(angle)[:5] == pytest.approx(target, abs=3e-14)


@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_accelerations_are_derivatives(seed: int) -> None:
    strains, rates = random_motion(seed)
    before, now, after = (arm_motion(strains + k * STEP * rates, rates) for k in (-1, 0, 1))
    positions = (after.frames[:, :3, 3] - before.frames[:, :3, 3]) / (2.0 * STEP)
    assert now.velocity == pytest.approx(positions, abs=1e-7)
    assert np.einsum("nix,x->ni", now.linear, rates.ravel()) == pytest.approx(now.velocity)
    assert np.einsum("nix,x->ni", now.local_angular, rates.ravel()) == pytest.approx(now.local_spin)
    speeds = (after.velocity - before.velocity) / (2.0 * STEP)
    assert now.acceleration == pytest.approx(speeds, rel=1e-7, abs=1e-7)
    rotations = now.frames[:, :3, :3]
    tumbling = (after.frames - before.frames)[:, :3, :3] / (2.0 * STEP)
    spins = tumbling @ rotations.transpose(0, 2, 1)
    spin = np.einsum("nij,nj->ni", rotations, now.local_spin)
    for row, column, axis in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        assert spins[:, row, column] == pytest.approx(spin[:, axis], abs=1e-7)
    # in the turning frame the derivative of ω is the same vector: ω × ω = 0
    faster = (after.local_spin - before.local_spin) / (2.0 * STEP)
    assert now.local_angular_acceleration == pytest.approx(faster, rel=1e-7, abs=1e-7)


def test_the_printed_angular_velocity_is_wrong_where_the_plane_rotates() -> None:
    """Eq 5 and 6: the rate of the rotation vector; right in a plane, 53 % off at 60 degrees."""
    theta = np.radians(60.0)
    for rate, target in (((1.0, 0.0), 0.0), ((0.0, theta), 0.53)):
        motion = bend_motion(np.array([theta, 0.0, 0.4, 0.0]), np.array([*rate, 0.0, 0.0]))
        omega = motion.jacobian[3:, :2] @ rate
        off = np.linalg.norm(np.array([-rate[1], rate[0], 0.0]) - omega) / np.linalg.norm(omega)
        assert off == pytest.approx(target, abs=0.005)


# --------------------
# The lumped model: conservation, symmetry, limits, and beams that bend a little.


PRESSURES = np.array([2.0e5, 0.5e5, 0.0, 1.0e5, 3.0e5, 0.0])


def random_state(model: LumpedModel, seed: int = 3) -> tuple[Array, Array]:
    """Strains and rates in three dimensions, twist included."""
    random = np.random.default_rng(seed)
    shape = (model.segments, 4)
    strains = model.straight + random.normal(size=shape) * [0.5, 0.5, 1e-3, 0.1]
    return strains, random.normal(size=shape) * [2.0, 2.0, 0.01, 0.5]


@pytest.mark.slow
def test_without_damping_the_energy_stays() -> None:
    """Drift below 1e-8 J over 0.5 s from a random state in three dimensions."""
    # a softer axis than the shipped one: its vibration would need ten times the steps
    load = TipLoad(force=(0.3, -0.2, 0.1), frame="base")
    arm = with_sections(undamped(two_sections()), axial_stiffness=100.0).replace(tip_load=load)
    model = lumped_model(arm)
    pressures = 0.1 * PRESSURES
    strains, rates = random_state(model)
    motion = move_arm(
        arm,
        pressures,
        0.5,
        strains=strains,
        rates=rates,
        method="DOP853",
        tolerance=1e-10,
        sample=0.1,
    )
    energies = [
        model.energy(at, moving, pressures)
        for at, moving in zip(motion.strains, motion.rates, strict=True)
    ]
    assert np.ptp(motion.ends[:, 1], axis=0).min() > 0.05  # it moves in all three directions
    assert np.ptp(energies) < 1e-8


@pytest.mark.parametrize("damping", ["bending", "axial", "torsion", "drag", "rotational_drag"])
def test_every_damping_takes_energy(damping: str) -> None:
    arm = with_sections(two_sections(), damping=SectionDamping(**{damping: 0.05}))
    free, model = lumped_model(undamped(arm)), lumped_model(arm)
    strains, rates = random_state(model)
    motion = arm_motion(strains, rates)
    slowed = model.accelerations(strains, rates, PRESSURES)
    slowed = slowed - free.accelerations(strains, rates, PRESSURES)
    assert rates.ravel() @ model.mass_matrix(motion) @ slowed.ravel() < 0.0


def test_drag_is_that_of_its_equation() -> None:
    """Eq 24: the power lost is d_v v² and d_ω ω², summed over the segments."""
    arm = with_sections(two_sections(), damping=SectionDamping(drag=0.4, rotational_drag=0.01))
    arm = arm.replace(segments=2)
    free, model = lumped_model(undamped(arm)), lumped_model(arm)
    strains, rates = random_state(model)
    motion = arm_motion(strains, rates)
    slowed = model.accelerations(strains, rates, PRESSURES)
    slowed = slowed - free.accelerations(strains, rates, PRESSURES)
    power = rates.ravel() @ model.mass_matrix(motion) @ slowed.ravel()
    target = 0.5 * (0.4 * (motion.velocity**2).sum() + 0.01 * (motion.local_spin**2).sum())
    assert power == pytest.approx(-target, rel=1e-9)


def test_chambers_do_work_on_their_volumes() -> None:
    """Virtual work of a chamber: pressure · area · change of l − r (u cos α + v sin α)."""
    arm = two_sections()
    model, change = lumped_model(arm), np.random.default_rng(1).normal(size=(2, 4))
    chamber = arm.sections[1].chambers[2]
    u, v, length, _ = change[1]
    longer = length - chamber.radius * (u * np.cos(chamber.angle) + v * np.sin(chamber.angle))
    pressures = np.zeros(6)
    pressures[5] = 4.0e5
    work = float((model.chamber_forces(pressures) * change).sum())
    assert work == pytest.approx(4.0e5 * chamber.area * longer, rel=1e-12)


@pytest.mark.parametrize("angle", [0.7, -2.0])
def test_rotating_the_chambers_rotates_the_rest(angle: float) -> None:
    plain, other = (
        arm_rest(arm, PRESSURES) for arm in (two_sections(), rotated(two_sections(), angle))
    )
    assert other.ends == pytest.approx(plain.ends @ rotate_about("z", angle)[:3, :3].T, abs=1e-9)
    assert other.bends == pytest.approx(plain.bends, abs=1e-9)


def test_without_pressure_it_hangs_straight_and_its_weight_lengthens_it() -> None:
    arm = two_sections()
    result = arm_rest(arm, np.zeros(6))
    first, second = arm.sections
    weights = np.array([first.mass + second.mass, second.mass]) * arm.gravity[2]
    longer = weights * first.length / first.axial_stiffness
    assert result.bends == pytest.approx([0.0, 0.0], abs=1e-12)
    assert result.lengths - first.length == pytest.approx(longer, rel=1e-6)
    assert result.stable
    assert (result.radii > 1e9).all()


def test_an_arm_that_stands_too_soft_buckles() -> None:
    """A segment (u, l) with its mass at the end, z = l sin u / u: K = EI/l₀ − m g l/3 at u = 0."""
    standing = with_sections(one_section(), mass=3.0).replace(gravity=(0.0, 0.0, -9.81))
    section, rest = standing.sections[0], arm_rest(standing, np.zeros(3))
    critical = 3.0 * section.bending_stiffness / (section.length**2 * section.mass * 9.81)
    assert rest.buckling_factor == pytest.approx(critical, rel=1e-3)
    assert rest.stable
    assert rest.bends[0] > 1.0
    assert not arm_rest(standing, np.zeros(3), start=lumped_model(standing).straight).stable
    hanging = arm_rest(standing.replace(gravity=(0.0, 0.0, 9.81)), np.zeros(3))
    assert hanging.stable
    assert np.isnan(hanging.buckling_factor)


def bent_aside(segments: int, load: TipLoad) -> tuple[HydraulicArm, float]:
    """The arm without weight, and how far a load at its tip moves it aside [m]."""
    arm = one_section(segments).replace(gravity=WEIGHTLESS, tip_load=load)
    return arm, float(arm_rest(arm, np.zeros(3)).ends[-1, 0])


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_a_small_force_bends_it_as_a_beam(segments: int) -> None:
    """F l³/3EI (1 − 1/4n²): a beam in the limit; paper 003's balance of moments has F l³/2EI."""
    fraction = (1.0 - 0.25 / segments**2) / 3.0
    arm, aside = bent_aside(segments, TipLoad(force=(1e-4, 0.0, 0.0)))
    section = arm.sections[0]
    target = fraction * 1e-4 * section.length**3 / section.bending_stiffness
    assert aside == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("segments", [1, 3])
def test_a_moment_bends_it_to_one_arc(segments: int) -> None:
    """θ = M l / EI at any size, in every number of segments."""
    arm, aside = bent_aside(segments, TipLoad(moment=(0.0, 2.0, 0.0)))
    section = arm.sections[0]
    theta = 2.0 * section.length / section.bending_stiffness
    assert aside == pytest.approx(section.length / theta * (1.0 - np.cos(theta)), rel=1e-9)


def test_a_moment_along_the_axis_twists_it() -> None:
    arm = one_section(2).replace(gravity=WEIGHTLESS, tip_load=TipLoad(moment=(0.0, 0.0, 0.1)))
    section = arm.sections[0]
    twist = arm_rest(arm, np.zeros(3)).strains[:, 3].sum()
    assert twist == pytest.approx(0.1 * section.length / section.torsion_stiffness, rel=1e-9)


def test_a_load_that_follows_the_tip_differs_from_one_that_does_not() -> None:
    follows, stays = (
        bent_aside(4, TipLoad(force=(8.0, 0.0, 0.0), frame=frame))[1] for frame in ("tip", "base")
    )
    small = [
        bent_aside(4, TipLoad(force=(1e-5, 0.0, 0.0), frame=frame))[1] for frame in ("tip", "base")
    ]
    assert small[0] == pytest.approx(small[1], rel=1e-6)
    assert abs(follows - stays) > 0.01


def lowest_frequency(segments: int) -> float:
    """Of small bending vibrations of the weightless arm [rad/s]."""
    arm = one_section(segments).replace(gravity=WEIGHTLESS)
    model = lumped_model(with_sections(arm, radius=0.022 + 1e-9))
    still = np.zeros((segments, 4))
    scale = np.sqrt(model.stiffness.ravel())
    stiffness = tangent_stiffness(model, model.straight, np.zeros(3)) * np.outer(scale, scale)
    mass = model.mass_matrix(arm_motion(model.straight, still))
    return float(np.sqrt(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real.min()))


def test_small_vibrations_are_those_of_a_beam() -> None:
    """Lowest ω = 3.516 √(EI / m l³); masses at the ends of segments come near it as 1/n."""
    section = one_section().sections[0]
    beam = 3.51602 * np.sqrt(section.bending_stiffness / (section.mass * section.length**3))
    coarse, fine = lowest_frequency(8), lowest_frequency(16)
    assert abs(fine - beam) < 0.6 * abs(coarse - beam)
    assert 2.0 * fine - coarse == pytest.approx(beam, rel=0.01)


def test_a_rest_without_solution_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_path, "MAX_STEPS", 0)
    with pytest.raises(SimulationError, match="found none beyond 0 % of them"):
        arm_rest(one_section(), np.zeros(3))


def test_a_load_that_would_invert_it_is_refused() -> None:
    arm = one_section().replace(tip_load=TipLoad(force=(0.0, 0.0, -1e5), frame="base"))
    with pytest.raises(SimulationError, match="leave its segments some length, found a rest with"):
        arm_rest(arm, np.zeros(3))


def test_a_rest_near_its_start_is_the_same() -> None:
    pressures = (2.0e5, 0.0, 4.0e5)
    whole = arm_rest(one_section(2), pressures)
    again = arm_rest(one_section(2), pressures, start=whole.strains + 0.01)
    assert again.strains == pytest.approx(whole.strains, abs=1e-9)


def test_states_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DescriptionError, match=r"start: .* shape \(1, 4\), found shape \(3,\)"):
        arm_rest(one_section(), np.zeros(3), start=np.zeros(3))
    with pytest.raises(DescriptionError, match=r"rates: expected four finite numbers a segment"):
        move_arm(one_section(), np.zeros(3), 1.0, rates=np.full((1, 4), np.nan))


def test_pressures_beyond_the_limit_are_refused() -> None:
    with pytest.raises(
        DescriptionError,
        match=r"pressures\[1\]: expected 0 to 1e\+06 Pa, as its chamber stands, found 1.2e\+06 Pa",
    ):
        arm_rest(one_section(), [0.0, 1.2e6, 0.0])
    with pytest.raises(DescriptionError, match=r"pressures\[2\].*found -5 Pa"):
        move_arm(one_section(), lambda t: [0.0, 0.0, -500.0 * t], 1.0)
    with pytest.raises(
        DescriptionError, match=r"one pressure per chamber \(3\), found shape \(2,\)"
    ):
        arm_rest(one_section(), [0.0, 0.0])
    with pytest.raises(DescriptionError, match="expected a time above 0 s, found -1 s"):
        move_arm(one_section(), np.zeros(3), -1.0)
