"""Paper 000 (Hadi et al. 2025): releases in Webots, from Table I, with nothing fitted.

Protocol: at rest under a weight at the tip, which is taken away at once; rule of the public
repository; damping c + h·k with h = 1 ms, the basic time step in Webots. Published: 8, 9, 10
overshoots and 0.414, 0.463,
0.511 s at 40, 60, 100 g. Tolerance: counts exact, times within 3 % of the reference's 0.408, 0.456,
0.504 s (within 1.5 % of the published ones). At 20 g Webots counts 7 and we count 6.
"""

from __future__ import annotations

import numpy as np
import pytest
from ruamel.yaml import YAML

import softgrasp as sg
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, Release
from tests.support.outside import outside_file


def test_overshoots_and_settling_times_of_released_fingers() -> None:
    finger = sg.io.load_finger("paper000")
    data = YAML(typ="safe").load(outside_file("hadi2025_measurements.yaml"))["release"]["webots"]
    releases = tuple(
        Release(mass=1e-3 * grams, overshoots=count, settling_time=time)
        for grams, (count, time) in data.items()
    )
    problem = CalibrationProblem(finger=finger, releases=releases, damping_timestep=1e-3)
    own = np.array([[joint.stiffness, joint.damping] for joint in finger.joints]).T
    times, counts = VirtualExperiments(problem).settled(own[:1], own[1:], releases)
    assert counts[0].tolist() == [6, 8, 9, 10]
    assert times[0, 1:] == pytest.approx([0.408, 0.456, 0.504], rel=0.03)
    assert times[0, 1:] == pytest.approx([data[g][1] for g in (40, 60, 100)], rel=0.015)
