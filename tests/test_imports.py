"""The core imports no satellite: hydraulics, digital twin, Webots and ODE, continuum control."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from softgrasp import extensions
from softgrasp.errors import SoftgraspError

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
    named = {name: value for name, value in vars(extensions).items() if name.isupper()}
    tables = [value for value in named.values() if isinstance(value, dict)]
    entries = [entry for table in tables for entry in table.values()]
    result = [entry for entry in entries if isinstance(entry, str) and ":" in entry]
    result += (*extensions.HARDWARE_CHECKS, extensions.WORLD_PROPERTIES, extensions.WORLD_WRITER)
    for entry in (*extensions.CARRIERS.values(), *extensions.CALIBRATIONS.values()):
        result += [part for part in entry if isinstance(part, str)]
    return result


@pytest.mark.parametrize("reference", sorted(set(references())))
def test_every_reference_leads_to_something_callable(reference: str) -> None:
    assert callable(extensions.load(reference))


@pytest.mark.parametrize("table", ["CARRIERS", "CALIBRATIONS"])
def test_kinds_are_the_names_of_required_fields(table: str) -> None:
    for kind, entry in getattr(extensions, table).items():
        described = extensions.load(entry[0])
        assert described.kind == kind
        assert described.model_fields[kind].is_required()


@pytest.mark.parametrize("reference", ["", "softgrasp.errors", "softgrasp.errors:Nothing"])
def test_a_wrong_reference_is_refused(reference: str) -> None:
    with pytest.raises(SoftgraspError, match=r"expected a reference|has no 'Nothing'"):
        extensions.load(reference)
