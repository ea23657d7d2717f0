"""What ``tests.backends.webots.proof`` does with a real Webots, and with a stub of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softgrasp.backends.webots.launcher import VERSION, Webots, find_webots, with_screen
from softgrasp.errors import BackendUnavailable
from tests.backends.webots import proof
from tests.backends.webots.fake_webots import installed
from tests.backends.webots.proof import (
    DAMPING,
    INERTIA,
    START,
    STEP,
    STEPS,
    STIFFNESS,
    TOLERANCE_DEG,
    grasp_check,
    spring_check,
    webots_report,
)

# Stands in for the module of Webots, and for its physics.
STUB = f"""
class Supervisor:
    def __init__(self):
        self.steps, self.position, self.speed = 0, {START}, 0.0

    def getDevice(self, name):
        assert name == "angle"
        return self

    def enable(self, period):
        assert period == 1

    def getTime(self):
        return self.steps * {STEP}

    def getValue(self):
        return self.position

    def step(self, period):
        h, k, c, inertia = {STEP}, {STIFFNESS}, {DAMPING}, {INERTIA}
        torque = -k * self.position - (c + h * k) * self.speed
        self.speed += torque * h / (inertia + h * (c + h * k))
        self.position += h * self.speed
        self.steps += 1

    def simulationQuit(self, status):
        assert status == 0 and self.steps == {STEPS} + 1
"""


@pytest.fixture
def webots() -> Webots:
    """The real one."""
    try:
        webots = find_webots()
        with_screen([])
    except BackendUnavailable as error:
        pytest.skip(str(error))
    return webots


@pytest.mark.webots
def test_the_version_can_be_read(webots: Webots) -> None:
    assert VERSION.fullmatch(webots.version)


@pytest.mark.webots
def test_all_checks_of_the_report_pass(webots: Webots) -> None:
    report = webots_report(webots)
    assert report["passed"], json.dumps(report, indent=1)


def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str = STUB) -> Webots:
    """A program that runs the controller with a stub of Webots' module and physics."""
    monkeypatch.setenv("DISPLAY", ":7")
    (tmp_path / "controller.py").write_text(module)
    body = f"""
        program = project / "controllers" / "release" / "release.py"
        result = world.read_text().partition('controllerArgs [ "')[2].partition('"')[0]
        variables = {{**os.environ, "PYTHONPATH": {str(tmp_path)!r}}}
        sys.exit(subprocess.call([sys.executable, str(program), result], env=variables))
    """
    return installed(tmp_path / "home", body)


def test_the_same_project_with_a_stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """World, controller and comparison hold together; says nothing about Webots."""
    check = spring_check(stub(monkeypatch, tmp_path))
    assert check["passed"]
    assert len(check["angles_rad"]) == STEPS
    assert check["warnings"] == []


def test_the_report_has_what_went_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spring that damps less fails its check; the error of a check is in the report."""

    def broken() -> dict[str, object]:
        raise ValueError("a grasp that ends")

    weaker = STUB.replace("(c + h * k)) ", "c) ").replace("+ h * (c + h * k)", "+ h * c")
    webots = stub(monkeypatch, tmp_path, weaker)
    monkeypatch.setattr(proof, "grasp_check", broken)
    monkeypatch.setattr(proof, "find_webots", lambda: webots)
    path = tmp_path / "report.json"
    assert proof.main([str(path)]) == 1
    report = json.loads(path.read_text("utf-8"))
    spring, grasp = report["checks"]
    assert (report["passed"], spring["passed"], grasp["passed"]) == (False, False, False)
    assert spring["largest_difference_deg_by_lag"]["0"] > TOLERANCE_DEG
    assert grasp["error"].endswith("ValueError: a grasp that ends\n")
    assert capsys.readouterr().out.startswith("spring: FAILED\ngrasp: FAILED\nwrote ")


@pytest.mark.slow
def test_the_grasp_is_compared() -> None:
    """ODE stands in for Webots."""
    check = grasp_check("ode")
    assert check["passed"], check
    assert min(check["largest_forces_n"].values()) > 0.1


def test_without_webots_there_is_no_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WEBOTS_HOME", raising=False)
    assert proof.main([str(tmp_path / "report.json")]) == 3
    assert capsys.readouterr().err.startswith("no Webots found")
    assert list(tmp_path.iterdir()) == []
