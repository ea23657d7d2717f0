"""Paper 000 (Hadi et al. 2025): the loaded finger in Webots, from Table I, with nothing fitted.

Protocol: the finger lies level, base clamped, weights of 0 … 100 g at the end of its mesh; the six
observed joint angles at rest are those that the authors' simulation published. Tolerance: 0.1° root
mean square over all 66 angles (0.099° measured; 0.30° at most, at 100 g in the fifth joint). The
seventh angle was not observed.
"""

from __future__ import annotations

import numpy as np
import pytest
from ruamel.yaml import YAML

import softgrasp as sg
from tests.support.outside import outside_file


def published() -> dict[int, list[float]]:
    """Angles [deg] of joints 1 to 6 by load [g]."""
    data = YAML(typ="safe").load(outside_file("hadi2025_measurements.yaml"))
    return data["static_webots_joint_angles_deg"]


def test_the_66_angles_of_the_loaded_finger() -> None:
    finger = sg.io.load_finger("paper000")
    errors = []
    for grams, angles in published().items():
        rest = sg.equilibrium(finger, tip_mass=1e-3 * grams)
        assert rest.converged
        errors += (np.degrees(rest.joint_angles[:6]) - angles).tolist()
    assert len(errors) == 66
    assert np.sqrt(np.mean(np.square(errors))) < 0.1
    assert np.abs(errors).max() < 0.31


def test_the_shipped_table_is_the_published_one() -> None:
    data = YAML(typ="safe").load(outside_file("hadi2025_measurements.yaml"))["table_1"]
    joints = sg.io.load_finger("paper000").joints
    assert [joint.stiffness for joint in joints] == data["k_Nm_per_rad"]
    assert [joint.damping for joint in joints] == pytest.approx(data["c_Nms_per_rad"], rel=1e-12)
    assert [joint.pressure_gain for joint in joints] == pytest.approx(data["alpha_m3"], rel=1e-12)
