"""Error messages of quality functions: argument, expected value, value found."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from tests.quality.grasps import disc, equator

quality = sg.quality
POINTS, NORMALS = equator(0, 120, 240)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"normals": NORMALS * [[1], [1], [1.001]]},
            "normals: expected unit normals that point into the object; found length 1.001 at "
            "contact 2",
        ),
        (
            {"normals": NORMALS * [[1], [0], [1]]},
            "normals: expected unit normals that point into the object; found length 0 at "
            "contact 1",
        ),
        (
            {"points": POINTS[:, :2]},
            "normals: expected a normal for each point, (3, 2); found (3, 3)",
        ),
        (
            {"normals": NORMALS[:2]},
            "normals: expected a normal for each point, (3, 3); found (2, 3)",
        ),
        (
            {"points": np.zeros((0, 3)), "normals": np.zeros((0, 3))},
            "points: expected one row a contact, (n, 3), or (n, 2) in the plane, with n at least "
            "1; found the shape (0, 3)",
        ),
        (
            {"points": [1.0, 0.0, 0.0]},
            "points: expected one row a contact, (n, 3), or (n, 2) in the plane, with n at least "
            "1; found the shape (3,)",
        ),
        (
            {"points": POINTS * [[1], [np.nan], [1]]},
            "points: expected finite numbers, found nan at (1, 0)",
        ),
        ({"points": "ring"}, "points: expected rows of numbers, found something else"),
        ({"points": [[1, 2], [3]]}, "points: expected rows of numbers, found something else"),
        ({"mu": -0.1}, "mu: expected a number at least 0, found -0.1"),
        ({"mu": np.inf}, "mu: expected finite numbers, found inf"),
        (
            {"mu": [0.5, 0.6]},
            "mu: expected one number, or one a contact, (3,); found the shape (2,)",
        ),
        ({"edges": 2}, "edges: expected a whole number, at least 3; found 2"),
        ({"edges": 8.0}, "edges: expected a whole number, at least 3; found 8.0"),
        ({"norm": "Linfinity"}, "norm: no norm 'Linfinity'; did you mean 'Linf'? known: L1, Linf"),
        (
            {"edge_norm": "unti"},
            "edge_norm: no edge_norm 'unti'; did you mean 'unit'? known: normal, unit",
        ),
        ({"torque_scale": 0.0}, "torque_scale: expected a number above 0, found 0"),
        ({"center": (0.0, 1.0)}, "center: expected the shape (3), found (2,)"),
        ({"torsion": -1.0}, "torsion: expected a number at least 0, found -1"),
        ({"torsion": 0.1, "mu": 0.0}, "torsion: expected 0 without friction, found 0.1"),
        (
            {"tangents": NORMALS},
            "tangents: expected directions across the normals, found one along it at contact 0",
        ),
    ],
)  # fmt: skip
def test_wrong_contacts_and_options(changed: dict[str, object], message: str) -> None:
    arguments = {"points": POINTS, "normals": NORMALS, "mu": 0.5, **changed}
    for function in (quality.wrench_space, quality.epsilon, quality.volume):
        with pytest.raises(sg.DescriptionError) as text:
            function(**arguments)
        assert str(text.value) == message


def test_normals_within_tolerance_are_accepted() -> None:
    rough = NORMALS * (1 + 9e-7)
    assert quality.epsilon(POINTS, rough, 0.5) == pytest.approx(
        quality.epsilon(POINTS, NORMALS, 0.5), rel=1e-9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: quality.grasp_matrix(POINTS, NORMALS, "sofft"),
            "model: no model 'sofft'; did you mean 'soft'? known: complete, frictionless, hard, "
            "soft",
        ),
        (
            lambda: quality.grasp_matrix(*disc(0, 90), "soft"),
            "model: expected a planar contact model, which has no spin about the normal; found "
            "'soft'; known: complete, frictionless, hard",
        ),
        (
            lambda: quality.epsilon(*disc(0, 90), 0.5, torsion=0.1),
            "torsion: expected 0 in the plane, found 0.1",
        ),
        (
            lambda: quality.contact_frames(disc(0, 90)[1], [(1, 0), (0, 1)]),
            "tangents: expected none in the plane, where the normal determines the tangent; "
            "found some",
        ),
        (
            lambda: quality.hand_jacobian(np.zeros((3, 3, 2)), NORMALS, "soft"),
            "jacobians: expected angular rows too, as the model 'soft' transmits moments; found "
            "linear rows only",
        ),
        (
            lambda: quality.hand_jacobian(np.zeros((3, 4, 2)), NORMALS),
            "jacobians: expected 3 rows of linear velocity, or 6 with the angular ones, for each "
            "contact; found 4",
        ),
        (
            lambda: quality.epsilon_bounds(POINTS, NORMALS, 0.5, tolerance=0.0),
            "tolerance: expected a number above 0, found 0",
        ),
        (
            lambda: quality.volume(*equator(*range(0, 360, 30)), 0.5, norm="Linf"),
            "norm: the wrench space of 12 contacts with 8 edges has more than 150 vertices in the "
            "norm 'Linf'; expected fewer contacts or edges, or norm='L1'",
        ),
        (
            lambda: quality.friction_margin([[1, 0, 0, 0.1]], 0.5),
            "torsion: expected a number above 0 for forces with spin moments, found 0",
        ),
        (
            lambda: quality.force_distribution([[1, 0, 0], [-2, 0, 0]]),
            "forces: expected normal forces at least 0, found -2 N at contact 1",
        ),
        (
            lambda: quality.cone_distance([[1, 0, 0, 0]], 0.5),
            "forces: expected (normal, t1, t2), or (normal, t1) in the plane; found 4 columns",
        ),
    ],
)
def test_wrong_input_of_other_functions(call: object, message: str) -> None:
    with pytest.raises(sg.DescriptionError) as text:
        call()
    assert str(text.value) == message


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
