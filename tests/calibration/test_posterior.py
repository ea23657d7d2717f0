"""The joint estimate: recovered parameters, coverage of intervals, and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.joint_model import STEP, JointModel, Priors
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.posterior import Posterior, joint_posterior, next_measurements
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import rest
from softgrasp.description.calibration import CalibrationProblem, HungAngles
from softgrasp.io.finger_ensemble import load_finger_ensemble
from softgrasp.io.hand import load_finger
from tests.calibration.draws import DRAWS, TRUE, truth
from tests.calibration.problems import hung
from tests.calibration.test_creep import crept
from tests.calibration.test_stiffening import measured
from tests.calibration.wrong_inputs import GAIN, Bench, good, true_finger, with_angles, with_forces


def posterior(problem: CalibrationProblem, **options) -> Posterior:
    return joint_posterior(problem, VirtualExperiments(problem), **options)


def contained(found: Posterior, true: np.ndarray = TRUE) -> np.ndarray:
    return (found.low <= true) & (found.high >= true)


@pytest.mark.slow
def test_intervals_of_webots_hold_table_1_and_forces_fit() -> None:
    """paper000_webots: k7, which no angle shows, no longer spoils the forces."""
    problem = sg.calibration.load_problem("paper000_webots").problem
    result = sg.calibrate(problem, stages=["springs", "torques"])
    table = finger_values(load_finger("paper000"), "stiffness")
    for index, stiffness in enumerate(table, start=1):
        low, high = result.intervals[f"k{index}"]
        assert low <= stiffness <= high
    assert result.residual["torques"] <= 0.007  # without tare and friction of the plate
    apart = sg.calibrate(problem, "least-squares", stages=["springs", "torques"])
    assert apart.residual["torques"] > 0.03


def test_exact_measurements_are_recovered() -> None:
    bench = Bench(true_finger())
    found = posterior(with_angles(bench.problem(), bench.angles()))
    np.testing.assert_allclose(found.values[:5], TRUE[:5], rtol=0.05)
    assert contained(found).all()


def test_priors_alone_where_nothing_is_measured() -> None:
    """A stiffness that no measurement shows stays near the mean of the others."""
    found = posterior(sg.calibration.load_problem("paper000").problem.replace(forces=()))
    assert 0.1 < found.values[6] < 0.6
    assert found.errors[6] / found.values[6] == pytest.approx(Priors().joints, rel=0.3)


def test_model_at_the_prior_mean_equals_the_virtual_experiments() -> None:
    problem = good(0)
    experiments = VirtualExperiments(problem)
    model = JointModel(problem, experiments, Priors())
    z = np.zeros((1, model.size))
    k, alpha = model.parameters(z)
    angles = np.concatenate(experiments.hung(k, problem.hung), axis=-1)
    forces = experiments.forces(k, np.broadcast_to(alpha, k.shape), problem.forces)
    np.testing.assert_allclose(model.simulate(z), np.hstack([angles, forces]), atol=1e-12)


@pytest.mark.parametrize(
    ("problem_of", "scale", "step"),
    [
        (good, 0.3, 1e-5),
        (lambda _: crept(0.06), 0.3, 10.0 * STEP),
        (lambda _: measured(), 0.1, 10.0 * STEP),
    ],
    ids=["", "creep", "stiffens"],
)
def test_slopes_equal_finite_differences(
    problem_of: Callable[[int], CalibrationProblem], scale: float, step: float
) -> None:
    model = JointModel(problem := problem_of(0), VirtualExperiments(problem), Priors())
    z, steps = (
        scale * np.random.default_rng(0).standard_normal(model.size),
        step * np.eye(model.size),
    )
    values, slopes = model.linearized(z)
    ahead, behind = np.split(model.simulate(np.concatenate([z + steps, z - steps])), 2)
    np.testing.assert_allclose(values, model.simulate(z[None])[0], rtol=1e-9, atol=1e-12)
    atol = 1e-7 if problem_of is good else 1e-4 * np.abs(slopes).max()
    np.testing.assert_allclose(slopes, (ahead - behind).T / (2.0 * step), atol=atol)


@pytest.mark.slow
def test_angles_without_systematic_errors_are_predicted_like_by_least_squares() -> None:
    """Tilt and offsets that the angles do not show are taken as small."""
    errors: dict[str, list[float]] = {"map": [], "least-squares": []}
    for seed in range(4):
        for method, left in errors.items():
            result = sg.calibrate(hung(seed), method)
            left.append(np.degrees(result.stages[0].held_out_residual))
    assert np.mean(errors["map"]) < 1.5 * np.mean(errors["least-squares"])


@pytest.mark.slow
def test_offsets_are_estimated() -> None:
    problem = good(1)
    offset = np.radians([0.0, 0.0, 0.0, 2.5, 0.0, 0.0])
    moved = with_angles(problem, [np.array(item.angles) + offset for item in problem.hung])
    found = posterior(moved)
    largest = max(
        (name for name in found.nuisances if name.startswith("offset")),
        key=lambda name: abs(found.nuisances[name][0]),
    )
    assert largest == "offset of joint 4"
    apart = sg.calibrate(moved, "least-squares", stages=["springs"])
    error = abs(np.log(found.values[3] / TRUE[3]))
    assert error < 0.6 * abs(np.log(apart.parameters["k4"] / TRUE[3]))


@pytest.mark.parametrize("clamp", [True, False])
def test_tilted_clamp_and_rolled_camera_are_not_distinguished(clamp: bool) -> None:
    """The tilt stays uncertain, and the warning names what distinguishes the two."""
    angle = np.radians(4.0)
    problem = replace(Bench(true_finger(), seed=1), tilt=angle * clamp).problem()
    rolled = angle * (not clamp) * np.eye(6)[0]
    found = posterior(with_angles(problem, [np.array(x.angles) + rolled for x in problem.hung]))
    assert found.inclination[0] == pytest.approx(angle, abs=np.radians(1.0))
    assert found.tilt_deviation > 3.0 * found.inclination[1]
    (warning,) = found.warnings
    assert "the clamp is tilted or the camera rolled. These angles cannot distinguish" in warning
    assert "a plumb line in a photograph distinguishes them" in warning


@pytest.mark.slow
@pytest.mark.parametrize("gap", [4e-3, 8e-3])
def test_a_gap_that_nobody_states_is_estimated(gap: float) -> None:
    """It no longer passes for a soft last joint; a problem that states its gap keeps it."""
    problem = Bench(true_finger(), seed=3).problem()
    k, alpha = (finger_values(true_finger(), kind)[None] for kind in ("stiffness", "gain"))
    exact = VirtualExperiments(problem).forces(k, alpha, problem.forces, gap)[0]
    noise = 0.005 * np.random.default_rng(3).standard_normal(len(exact))
    moved = with_forces(problem, exact + noise)
    found = posterior(moved)
    assert contained(found).all()
    assert found.gap[0] == pytest.approx(gap, abs=3.0 * found.gap[1])
    assert any("farther from the tip at rest than described" in text for text in found.warnings)
    stated = posterior(moved.replace(plate_gap=gap))
    assert contained(stated).all()
    assert abs(stated.gap[0]) < 1e-3
    assert (stated.errors / stated.values)[6] < 1.1 * (found.errors / found.values)[6]


@pytest.mark.slow
def test_friction_of_the_plate_lowers_forces_as_equilibria_with_it() -> None:
    """The tip is held back by µ·F: moments µ·F·dx/dq in the equilibrium, iterated to rest."""
    problem = Bench(true_finger(), seed=0).problem()
    experiments = VirtualExperiments(problem)
    chain = experiments.chain
    k, alpha = (finger_values(true_finger(), kind) for kind in ("stiffness", "gain"))
    pressures = sorted({item.pressure for item in problem.forces})
    forces = [problem.forces[0].replace(pressure=pressure) for pressure in pressures]
    share = experiments.friction_effect(k, alpha, forces)
    free = rest(k[None], chain.weight, np.zeros(1))
    step, friction = 1e-6 * np.eye(len(k)), 0.02

    def pressing(sign: float, pressure: float) -> float:
        moments = pressure * alpha
        for _ in range(30):
            state = experiments._pressed(k[None], free, moments[None, None])
            angles, force = state.angles[0, 0], float(state.force[0, 0])
            along = (chain.tip(angles + step) - chain.tip(angles - step))[:, 0] / 2e-6
            moments = pressure * alpha + sign * friction * force * along
        return force

    ends = [[pressing(sign, pressure) for sign in (1.0, -1.0)] for pressure in pressures]
    expected = [(more - less) / (friction * (more + less)) for more, less in ends]
    np.testing.assert_allclose(share, expected, rtol=5e-3)
    assert (share < 0.0).all()


@pytest.mark.slow
def test_level_clamp_causes_no_warning() -> None:
    assert all(posterior(good(seed)).warnings == () for seed in range(3))


@pytest.mark.slow
def test_samples_repeat_and_have_the_errors() -> None:
    first, again = posterior(good(2), seed=5), posterior(good(2), seed=5)
    np.testing.assert_array_equal(first.samples, again.samples)
    spread = np.log(first.samples).std(axis=0)
    np.testing.assert_allclose(spread[:3], (first.errors / first.values)[:3], rtol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
def test_coverage_of_intervals(name: str) -> None:
    """Of 8 parameters each; benchmarks/calibration_coverage.py measures it with 200 draws."""
    problems = [DRAWS[name](seed) for seed in range(25)]
    hits = [
        contained(posterior(problem, seed=seed), truth(problem))
        for seed, problem in enumerate(problems)
    ]
    assert np.mean(hits) >= (0.93 if name == "noise" else 0.9)


def test_map_refuses_what_it_cannot_fit() -> None:
    problem = good(0)
    with pytest.raises(sg.DescriptionError, match="expected angles with method map, found heights"):
        sg.calibrate(problem.replace(static_objective="heights"))


def test_problem_without_angles_is_fitted_by_least_squares() -> None:
    result = sg.calibrate(good(0).replace(hung=(), releases=()))
    assert result.posterior is None
    assert result.parameters["alpha"] == pytest.approx(GAIN, rel=0.02)


@pytest.mark.slow
def test_ensemble_lies_beside_the_finger(tmp_path) -> None:
    result = sg.calibrate(good(0), stages=["springs", "torques"])
    sg.calibration.save_calibration(result, tmp_path)
    known = load_finger_ensemble(tmp_path / "finger.yaml")
    assert known.size == 200
    assert known.columns["stiffness_1"].mean() == pytest.approx(result.parameters["k1"], rel=0.1)
    assert known.columns["gain_1"].std() > 0.0


@pytest.mark.slow
def test_warning_for_a_swarm_that_has_not_converged() -> None:
    from softgrasp.calibration.optimizers import Swarm

    result = sg.calibrate(good(0), "pso", stages=["springs"], swarm=Swarm(iterations=5))
    assert any("the swarm has not converged" in text for text in result.warnings)


@pytest.mark.slow
def test_advice_predicts_the_error_that_the_measurement_leaves() -> None:
    """A photograph that shows all seven joints determines k7, as much as advised."""
    problem = sg.calibration.load_problem("paper000_webots").problem
    experiments = VirtualExperiments(problem)
    best = next_measurements(problem, experiments, joint_posterior(problem, experiments))[0]
    assert best.measurement == "a photograph with 100 g that shows all 7 joints"
    assert best.parameter == "k7"
    table = finger_values(load_finger("paper000"), "stiffness")[None]
    requested = HungAngles(mass=0.1, angles=(0.0,) * 7)
    whole = requested.replace(angles=tuple(experiments.hung(table, [requested])[0][0].tolist()))
    measured = posterior(problem.replace(hung=(*problem.hung, whole)))
    left = measured.errors[6] / measured.values[6]
    assert left == pytest.approx(best.then, rel=0.5)
    assert left < 0.5 * best.now


def test_more_measurements_never_lose_information() -> None:
    problem = good(4)
    experiments = VirtualExperiments(problem)
    found = next_measurements(problem, experiments, joint_posterior(problem, experiments))
    assert len(found) == 14
    assert all(item.information >= -1e-9 and item.then <= item.now * (1 + 1e-9) for item in found)
    assert [item.information for item in found] == sorted(
        (item.information for item in found), reverse=True
    )
