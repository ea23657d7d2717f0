"""Error messages of quality functions: argument, expected value, value found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import softgrasp as sg
from tests.conftest import Golden
from tests.quality.grasps import disc, equator

quality = sg.quality
POINTS, NORMALS = equator(0, 120, 240)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"normals": NORMALS * [[1], [1], [1.001]]}, "normals"),
        ({"normals": NORMALS * [[1], [0], [1]]}, "normals"),
        ({"points": POINTS[:, :2]}, "normals"),
        ({"normals": NORMALS[:2]}, "normals"),
        ({"points": np.zeros((0, 3)), "normals": np.zeros((0, 3))}, "points"),
        ({"points": [1.0, 0.0, 0.0]}, "points"),
        ({"points": POINTS * [[1], [np.nan], [1]]}, "points"),
        ({"points": "ring"}, "points"),
        ({"points": [[1, 2], [3]]}, "points"),
        ({"mu": -0.1}, "mu: expected a number at least 0, found -0.1"),
        ({"mu": np.inf}, "mu: expected finite numbers, found inf"),
        ({"mu": [0.5, 0.6]}, "mu: expected one number, or one a contact, (3,)"),
        ({"edges": 2}, "edges"),
        ({"edges": 8.0}, "edges"),
        ({"norm": "Linfinity"}, "norm"),
        ({"edge_norm": "unti"}, "edge_norm"),
        ({"torque_scale": 0.0}, "torque_scale"),
        ({"center": (0.0, 1.0)}, "center"),
        ({"torsion": -1.0}, "torsion"),
        ({"torsion": 0.1, "mu": 0.0}, "torsion"),
        ({"tangents": NORMALS}, "tangents"),
    ],
)
def test_wrong_contacts_and_options(
    changed: dict[str, object], message: str, golden: Golden
) -> None:
    arguments = {"points": POINTS, "normals": NORMALS, "mu": 0.5, **changed}
    for function in (quality.wrench_space, quality.epsilon, quality.volume):
        golden.refused(partial(function, **arguments), message)


def test_normals_within_tolerance_are_accepted() -> None:
    rough = NORMALS * (1 + 9e-7)
    assert quality.epsilon(POINTS, rough, 0.5) == pytest.approx(
        quality.epsilon(POINTS, NORMALS, 0.5), rel=1e-9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quality.grasp_matrix(POINTS, NORMALS, "sofft"), "model"),
        (lambda: quality.grasp_matrix(*disc(0, 90), "soft"), "model"),
        (lambda: quality.epsilon(*disc(0, 90), 0.5, torsion=0.1), "torsion"),
        (lambda: quality.contact_frames(disc(0, 90)[1], [(1, 0), (0, 1)]), "tangents"),
        (lambda: quality.hand_jacobian(np.zeros((3, 3, 2)), NORMALS, "soft"), "jacobians"),
        (lambda: quality.hand_jacobian(np.zeros((3, 4, 2)), NORMALS), "jacobians"),
        (lambda: quality.epsilon_bounds(POINTS, NORMALS, 0.5, tolerance=0.0), "tolerance"),
        (
            lambda: quality.volume(*equator(*range(0, 360, 30)), 0.5, norm="Linf"),
            "norm: the wrench space of 12 contacts with 8 edges has",
        ),
        (lambda: quality.friction_margin([[1, 0, 0, 0.1]], 0.5), "torsion"),
    ],
)
def test_wrong_input_of_other_functions(call: object, message: str, golden: Golden) -> None:
    golden.refused(call, message)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("norm", ["L1", "Linf"])
def test_degenerate_grasps_have_a_reason(count: int, mu: float, norm: str) -> None:
    points = np.zeros((count, 3))  # all at the centre, so nothing resists a torque
    normals = np.tile([0.0, 0.0, 1.0], (count, 1))
    result = quality.wrench_space(points, normals, mu, norm=norm)
    assert (result.epsilon, result.volume) == (0.0, 0.0)
    assert result.rank == (3 if mu else 1)
    assert f"rank {result.rank} of 6, the contacts resist nothing along" in result.reason
    assert quality.epsilon(points, normals, mu, norm=norm) == 0.0
    assert quality.epsilon_bounds(points, normals, mu, norm=norm) == (0.0, 0.0)
