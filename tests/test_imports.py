"""The core imports no satellite: hydraulics, digital twin, Webots and ODE, continuum control."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from softgrasp import extensions
from softgrasp.errors import SoftgraspError
from softgrasp.extensions import Extensions

ROOT = Path(__file__).resolve().parents[1]

SATELLITE = re.compile(
    r"softgrasp\.(backends|continuum_control|control|hydraulics|twin)(\.|$)"
    r"|\.(webots|ode|wbt|chamber_path|carrier_rest|arm_calibration)(\.|$)"
    r"|\.(hydraulic|twin_)"
)
CORE = ("softgrasp.description.bendable", "softgrasp.io.urdf.reader")
"""Modules of the core, for robot files, whose names look like those of a satellite."""
EXTRAS = ("coacd", "cv2", "dm_control", "gymnasium", "numba", "pandas", "pyswarms", "viser")
"""Optional libraries; without them a grasp runs and the command line starts."""
RIGID_GRASP = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # as if they were not installed
import softgrasp as sg
sg.simulate(sg.load_scene("paper004_power_sphere"))
print(*sorted(name for name in sys.modules if name.startswith("softgrasp")), sep="\\n")
import softgrasp.cli.app
"""


def satellites_in(code: str) -> list[str]:
    """Modules of satellites that are loaded when some code has run in a new process."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    names = ran.stdout.split()
    assert "softgrasp.pipeline" in names
    return [name for name in names if SATELLITE.search(name) and name not in CORE]


def test_a_rigid_grasp_imports_no_satellite() -> None:
    result = satellites_in(RIGID_GRASP)
    assert not result, f"imported for a rigid grasp: {', '.join(result)}"


def references() -> list[str]:
    """All references of the table of extensions."""
    tables = [value for name, value in vars(extensions).items() if name.isupper()]
    whole = [value for value in tables if isinstance(value, str)]
    return whole + [
        item for table in tables if not isinstance(table, str) for item in table.values()
    ]


@pytest.mark.parametrize("reference", sorted(set(references())))
def test_every_reference_leads_to_something_callable(reference: str) -> None:
    extension = extensions.load(reference)
    parts = extension if isinstance(extension, tuple) else (extension,)
    for part in parts:
        assert not isinstance(part, str) or callable(extensions.load(part))
        assert isinstance(part, str | tuple) or callable(part)


@pytest.mark.parametrize(
    ("table", "part"),
    [(extensions.CARRIERS, "description"), (extensions.CALIBRATIONS, "problem")],
    ids=["carriers", "calibrations"],
)
def test_kinds_are_the_names_of_required_fields(table: Extensions, part: str) -> None:
    for kind in table:
        described = table.load(kind, part)
        assert described.kind == kind
        assert described.model_fields[kind].is_required()


METADATA = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"
ENTRY_POINTS = """
[softgrasp.demos]
twin = other:wrong
spin = other:spin
[softgrasp.commands]
spin = other:spin
"""
OTHER = """
def spin():
    \"\"\"Spin a hand.\"\"\"
    print("spinning")
"""


@pytest.fixture
def other_distribution(tmp_path: Path) -> dict[str, str]:
    """Environment in which a distribution with a demonstration and a verb is installed."""
    directory = tmp_path / "other-1.0.dist-info"
    directory.mkdir()
    (directory / "METADATA").write_text(METADATA)
    (directory / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "other.py").write_text(OTHER)
    return os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}


def softgrasp(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from softgrasp import extensions; from softgrasp.cli import main;"
        "code = main(sys.argv[1:]);"
        "print('scanned', extensions._entry_points.cache_info().currsize); sys.exit(code)"
    )
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_verb_of_another_distribution_runs(other_distribution: dict[str, str]) -> None:
    ran = softgrasp(other_distribution, "spin")
    assert (ran.returncode, ran.stdout.splitlines()) == (0, ["spinning", "scanned 1"])
    shown = softgrasp(other_distribution, "spin", "--help")
    assert "Spin a hand." in shown.stdout


def test_names_of_another_distribution_come_after_those_of_the_satellites(
    other_distribution: dict[str, str],
) -> None:
    code = "from softgrasp.extensions import DEMOS; print(sorted(DEMOS), DEMOS['twin'], len(DEMOS))"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(
        command, env=other_distribution, capture_output=True, text=True, check=True
    )
    names = ["hydraulic", "spin", "twin"]
    assert ran.stdout.strip() == f"{names} softgrasp.twin.cli:run_twin_demo 3"
    ran = softgrasp(other_distribution, "demo", "spn")
    assert "no demonstration 'spn'; did you mean 'spin'?" in ran.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "list hands", "twin --help"])
def test_entry_points_are_read_for_unknown_names_only(words: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    assert softgrasp(environment, *words.split()).stdout.endswith("scanned 0\n")


@pytest.mark.parametrize("reference", ["", "softgrasp.errors", "softgrasp.errors:Nothing"])
def test_a_wrong_reference_is_refused(reference: str) -> None:
    with pytest.raises(SoftgraspError, match=r"expected a reference|has no 'Nothing'"):
        extensions.load(reference)
