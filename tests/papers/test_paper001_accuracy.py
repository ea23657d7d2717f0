"""Paper 001, Table I: E = ‖tip − reference‖ / Σℓ at −90, 50, 100 and 120 kPa.

Protocol: 43 samples, one every 5 kPa from −90 to 120 kPa; at each the finger is imaged, its pieces'
angles are picked, a cubic fit is made, and the model of constant curvatures is posed by the fit.
The paper's finger was real and its reference a motion capture system; ours is a simulated chain of
41 links, imaged with 1 px of noise in every pick and 2 mm in every depth. So the paper's numbers
(2.3, 0.8, 1.5, 3.4 %) are not reproduced; its claim, E < 4 %, is what is tested.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

pytest.importorskip("cv2", reason="OpenCV is an extra")

from examples.paper001.accuracy import (
    LIMIT,
    PAPER,
    accuracy_study,
    constant_curvature_axis,
    driving_pressure,
    protocol_pressures,
    reference_finger,
    shape_at,
)
from examples.paper001.pieces import LENGTHS, rigid_pieces
from softgrasp.model.soft_finger import finger_model
from softgrasp.twin.piecewise_bending import angles_at

FEW = (-90e3, -55e3, -20e3, 15e3, 50e3, 85e3, 100e3, 120e3)


def test_the_protocol_has_43_samples() -> None:
    pressures = protocol_pressures()
    assert len(pressures) == 43
    np.testing.assert_array_equal(np.diff(pressures), 5e3)
    assert set(PAPER) <= set(pressures.tolist())


def test_the_reference_is_a_chain_in_mujoco_at_rest() -> None:
    reference = reference_finger()
    assert len(reference.links) >= 32
    assert sum(LENGTHS) == pytest.approx(0.05571)
    shape = shape_at(reference, 100e3)
    model = finger_model(reference)
    data = mujoco.MjData(model)
    data.qpos[:] = shape.joint_angles
    mujoco.mj_forward(model, data)
    moments = [joint.pressure_gain for joint in reference.joints]
    actuator = driving_pressure(100e3) * np.array(moments)
    left = data.qfrc_passive + actuator - data.qfrc_bias
    assert np.abs(left).max() < 1e-9 * actuator.max() + 1e-12
    np.testing.assert_allclose(data.site("tip").xpos, shape.tip, atol=1e-12)


@pytest.mark.slow
def test_the_reference_is_not_the_model() -> None:
    """Its pieces are no arcs, it sags, and its angles are no polynomial of the pressure."""
    reference = reference_finger()
    for pressure in PAPER:
        shape = shape_at(reference, pressure)
        tip = constant_curvature_axis(shape.piece_angles)[-1]
        assert 0.001 < np.linalg.norm(tip - shape.tip) / sum(LENGTHS) < 0.01
    assert np.degrees(shape_at(reference, 0.0).piece_angles.sum()) > 0.5
    pressures = protocol_pressures()[::3]
    angles = np.array([shape_at(reference, pressure).piece_angles for pressure in pressures])
    line = np.polynomial.Polynomial.fit(pressures, angles.sum(axis=1), 1)(pressures)
    assert np.degrees(np.abs(line - angles.sum(axis=1)).max()) > 3.0


def test_the_chain_has_enough_links() -> None:
    tips = [shape_at(reference_finger(joints), 120e3).tip for joints in (10, 20)]
    assert np.linalg.norm(tips[0] - tips[1]) < 0.001 * 0.05571


def test_the_model_lies_in_the_frame_of_the_finger() -> None:
    axis = constant_curvature_axis([0.0, 0.0, 0.0, np.pi / 2], points=3)
    assert axis.shape == (13, 3)
    straight, radius = sum(LENGTHS[:3]), LENGTHS[3] / (np.pi / 2)
    np.testing.assert_allclose(axis[9], [straight, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(axis[-1], [straight + radius, 0.0, -radius], atol=1e-15)


@pytest.mark.slow
def test_eight_samples_stay_below_four_percent() -> None:
    study = accuracy_study(FEW, image_pressures=(), seed=3)
    assert study.errors.max() < LIMIT
    again = accuracy_study(FEW, image_pressures=(), seed=3)
    np.testing.assert_array_equal(again.errors, study.errors)
    assert (accuracy_study(FEW, image_pressures=(), seed=4).errors != study.errors).all()


def test_rigid_pieces_would_not_stay_below_four_percent() -> None:
    """The parent and child model of III-C2 turns whole pieces: the same angles, another tip."""
    shape = shape_at(reference_finger(), 120e3)
    x, _, z = rigid_pieces(shape.piece_angles, np.zeros(4), LENGTHS)[-1, :3, 3]
    assert np.linalg.norm(np.array([z, 0.0, -x]) - shape.tip) / sum(LENGTHS) > LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_43_samples_stay_below_four_percent(edges: bool, seed: int) -> None:
    study = accuracy_study(edges=edges, image_pressures=(), seed=seed)
    assert len(study.samples) == 43
    # 0.2 to 0.4 % was measured with four seeds and both ways to pick
    assert study.errors.max() < 0.01
    off = angles_at(study.report.fit, study.pressures) - study.true_angles
    assert np.degrees(np.sqrt((off**2).mean(axis=0))).max() < (0.3 if edges else 2.0)


@pytest.mark.slow
def test_drawn_images_agree_with_projected_marks() -> None:
    study = accuracy_study(FEW, image_pressures=(120e3,), seed=0)
    assert [sample.image is not None for sample in study.samples] == [False] * 7 + [True]
    assert study.errors.max() < LIMIT
    last = study.samples[-1]
    off = last.measured.angles - last.shape.piece_angles
    assert np.abs(off / last.measured.sigmas).max() < 4.0
