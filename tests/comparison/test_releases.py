"""Releases in MuJoCo and in a second engine that is made up: what a comparison says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.comparison.compare import arrays
from softgrasp.extensions import ENGINES
from softgrasp.mechanics.transforms import Array
from softgrasp.sim import soft_dynamics
from softgrasp.sim.engines import MujocoEngine

RELEASE = [
    "static_pose", "trajectory", "without_hk", "frequency", "damping_ratio", "settling_time",
]  # fmt: skip


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a second engine: MuJoCo with another finger or another time step."""

    def make(factor: float = 1.0, field: str = "damping", fraction: float = 1.0) -> None:
        def message(
            finger: sg.SoftFinger, start: Array, backend: str, step: float, period: float, n: int
        ) -> Any:
            joints = tuple(
                joint.replace(**{field: factor * getattr(joint, field)}) for joint in finger.joints
            )
            changed = finger.replace(joints=joints)
            motion = soft_dynamics.free_motion(
                changed, start, "mujoco", timestep=fraction * step, sample_period=period, samples=n
            )
            engine = motion.engine._replace(name=backend, version="made up")
            return motion.angles, engine

        monkeypatch.setattr(soft_dynamics, "_simulate", message)
        monkeypatch.setitem(ENGINES, "twin", MujocoEngine)

    return make


def compared(**options: Any) -> sg.comparison.CrosscheckResult:
    release = sg.io.load_release("paper000_release")
    return sg.comparison.crosscheck(release, ("mujoco", "twin"), **options)


@pytest.mark.slow
def test_an_engine_agrees_with_itself(twin: Callable[..., None], tmp_path: Path) -> None:
    twin()
    result = compared()
    assert result.passed
    assert [finding.name for finding in result.findings] == [
        *RELEASE, "convergence_order", "convergence_limit",
    ]  # fmt: skip
    assert result.summary == "mujoco, twin: all 7 differences are within their tolerances"
    assert result.finding("static_pose").difference < 1e-6
    assert result.finding("trajectory").difference == 0.0
    assert result.finding("convergence_order").values["mujoco"] == pytest.approx(1.0, abs=0.02)
    assert result.finding("without_hk").difference > 0.3
    mode = result.finding("frequency")
    assert mode.values["mujoco"] == pytest.approx(mode.values["linear mode"], rel=5e-3)
    files = sg.comparison.save_crosscheck(result, tmp_path) + sg.comparison.write_crosscheck_report(
        result, tmp_path
    )
    assert [file.name for file in files] == [
        "crosscheck.json", "crosscheck.npz", "crosscheck_release.png", "crosscheck_release.csv",
        "report.html",
    ]  # fmt: skip
    assert arrays(result.runs)["twin.0.000125.joint_angles"].shape == (1001, 7)


def test_half_the_time_step_moves_alike_to_a_tenth_of_a_degree(twin: Callable[..., None]) -> None:
    twin(fraction=0.5)
    result = compared(quick=True)
    assert result.warnings == ("quick: other time steps than that of the release were skipped",)
    assert [finding.name for finding in result.findings] == RELEASE
    assert 0.01 < result.finding("trajectory").difference < 0.1
    assert [finding.name for finding in result.failed] == ["trajectory", "frequency"]
    assert result.summary == (
        "mujoco, twin: 2 of 5 differences are beyond tolerance: trajectory, frequency"
    )
    loose = sg.comparison.Tolerances(trajectory_deg=0.1, frequency_percent=1.0)
    assert compared(quick=True, tolerances=loose).passed


def test_a_softer_spring_is_beyond_the_tolerance_of_statics(twin: Callable[..., None]) -> None:
    twin(factor=0.999, field="stiffness")
    static = compared(quick=True).finding("static_pose")
    assert not static.passed
    assert static.worst == "twin"
    assert static.sentence.startswith(
        f"Pose at rest under 20 g: {static.difference:.3g} deg apart in twin, beyond the tolerance "
        "of 0.001 deg; "
    )


def test_damping_without_h_k_is_detected(twin: Callable[..., None]) -> None:
    # about what is missing where c of Table I is taken for all of the damping
    twin(factor=0.72, field="damping")
    result = compared(quick=True)
    names = [finding.name for finding in result.failed]
    assert names == ["trajectory", "frequency", "damping_ratio", "settling_time"]
    assert result.finding("damping_ratio").difference == pytest.approx(28.0, abs=2.0)


def test_a_motion_that_is_too_short_for_its_mode_is_not_passed(twin: Callable[..., None]) -> None:
    twin()
    short = sg.io.load_release("paper000_release").replace(duration=0.2)
    result = sg.comparison.crosscheck(short, ("mujoco", "twin"), quick=True)
    mode = result.finding("frequency")
    assert not mode.passed
    assert mode.sentence == (
        "Frequency of the first mode: could not be compared in twin; expected a vibration of more "
        "than a period in the recording, found none"
    )
    assert not result.finding("settling_time").passed
