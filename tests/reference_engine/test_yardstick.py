"""Default contacts of MuJoCo against the reference engine, in grasps of shipped primitives.

Targets: sums of normal forces within 5 % and displacements within 5 % or 50 µm. At a time step of
0.1 ms they are within 1 %; at the default step of 1 ms the sums of two grasps are 5.0 and 5.1 % too
high (decision 0019).
"""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from tests.reference_engine.backend import ReferenceEngine


def closed(scene: sg.GraspScene, backend: str | ReferenceEngine = "mujoco") -> tuple[float, float]:
    """Return the sum of normal forces [N] and the displacement [m] at the end of the closure."""
    result = sg.simulate(scene, backend=backend)
    assert result.status is sg.GraspStatus.CLOSED
    moved = result.object_position[-1] - result.object_position[0]
    return float(result.normal_force[-1].sum()), float(np.linalg.norm(moved))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["sphere", "cuboid", "cylinder"])
def test_default_contacts_are_near_the_reference(shape: str) -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object(shape), grasp="precision"
    )
    force, distance = closed(scene, ReferenceEngine())
    for step, tolerance in ((1e-4, 0.01), (1e-3, 0.055)):
        sum_of_forces, moved = closed(scene.replace(timestep=step))
        assert sum_of_forces == pytest.approx(force, rel=tolerance)
        assert moved == pytest.approx(distance, rel=0.05, abs=5e-5)
