"""Several fingers of one mould: mean, scatter and the next finger recovered from drawn ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.pooling import _Mould, pool_fingers
from softgrasp.errors import DescriptionError
from softgrasp.io.finger_ensemble import load_finger_ensemble, save_finger_ensemble
from softgrasp.mechanics.transforms import Array
from tests.calibration.problems import FINGER

JOINTS = 7
KIND = ("stiffness",) * JOINTS


def mould(
    fingers: int, common: float, joint: float, error: float, seed: int
) -> tuple[_Mould, Array, Array]:
    """Posteriors of fingers of a mould, with its mean and another of its fingers."""
    rng = np.random.default_rng(seed)
    center = rng.normal(-1.5, 0.3, JOINTS)
    factors = common * rng.standard_normal((fingers + 1, 1))
    true = center + factors + joint * rng.standard_normal((fingers + 1, JOINTS))
    root = error * (0.8 * np.eye(JOINTS) + 0.2)
    covariance = root @ root.T
    means = true[:-1] + rng.multivariate_normal(np.zeros(JOINTS), covariance, size=fingers)
    return _Mould(means, np.tile(covariance, (fingers, 1, 1)), KIND), center, true[-1]


def contained(drawn: Array, true: Array) -> Array:
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return (low <= true) & (true <= high)


@pytest.mark.slow
def test_intervals_contain_mean_and_next_finger() -> None:
    """Of 30 moulds: two standard deviations of a share of 95 % with joints that move together."""
    center_hits, next_hits = [], []
    for seed in range(30):
        posteriors, center, following = mould(4, 0.1, 0.08, 0.05, seed)
        _, centers, fingers = posteriors.draw(200, np.random.default_rng(seed))
        center_hits.append(contained(centers, center))
        next_hits.append(contained(fingers, following))
    assert np.mean(center_hits) > 0.88
    assert np.mean(next_hits) > 0.88


def test_scatter_is_recovered_from_many_fingers() -> None:
    posteriors, _, _ = mould(40, 0.2, 0.06, 0.02, 1)
    scatters, _, _ = posteriors.draw(200, np.random.default_rng(0))
    common, joint = np.median(scatters[:, 0], axis=0)
    assert common == pytest.approx(0.2, rel=0.3)
    assert joint == pytest.approx(0.06, rel=0.15)


def test_the_mean_of_exact_fingers_is_their_geometric_mean() -> None:
    posteriors, _, _ = mould(5, 0.1, 0.1, 1e-5, 2)
    center, covariance = posteriors.mean(posteriors.between(np.array([0.1, 0.1])))
    np.testing.assert_allclose(center, posteriors.means.mean(axis=0), atol=1e-5)
    expected = posteriors.between(np.array([0.1, 0.1])) / 5
    np.testing.assert_allclose(covariance, expected, atol=1e-9)


def test_a_finger_that_is_measured_better_counts_more() -> None:
    posteriors, _, _ = mould(2, 0.0, 0.0, 0.1, 3)
    errors = posteriors.errors * np.array([1.0, 1e-4])[:, None, None]
    center, _ = _Mould(posteriors.means, errors, KIND).mean(np.zeros((JOINTS, JOINTS)))
    np.testing.assert_allclose(center, posteriors.means[1], atol=1e-3)


def written(directory: Path, factor: float, seed: int, gain: float = 8e-7) -> Path:
    """A calibrated finger with its ensemble: stiffness times a factor, one gain of all joints."""
    rng = np.random.default_rng(seed)
    joints = tuple(
        joint.replace(stiffness=factor * joint.stiffness, pressure_gain=gain)
        for joint in FINGER.joints
    )
    finger = FINGER.replace(joints=joints)
    columns = {
        f"stiffness_{index}": joint.stiffness * np.exp(0.05 * rng.standard_normal(200))
        for index, joint in enumerate(joints, 1)
    }
    gains = gain * np.exp(0.03 * rng.standard_normal(200))
    columns |= {f"gain_{index}": gains for index in range(1, len(joints) + 1)}
    save_finger_ensemble(finger, columns, sg.io.save_finger(finger, directory / "finger.yaml"))
    return directory


def test_pooled_files_are_those_of_a_calibration(tmp_path: Path) -> None:
    """The mean is between the fingers, the ensemble is read back, gains of joints stay equal."""
    factors = (0.9, 1.0, 1.15)
    directories = [written(tmp_path / f"{i}", factor, i) for i, factor in enumerate(factors)]
    pooled = pool_fingers(directories)
    pooled.save(tmp_path / "pool")
    ensemble = load_finger_ensemble(tmp_path / "pool" / "finger.yaml")
    assert ensemble.size == 400
    np.testing.assert_array_equal(ensemble.columns["gain_1"], ensemble.columns["gain_7"])
    ratios = [
        a.stiffness / b.stiffness for a, b in zip(pooled.finger.joints, FINGER.joints, strict=True)
    ]
    np.testing.assert_allclose(ratios, np.prod(factors) ** (1 / 3), rtol=0.05)
    document = json.loads((tmp_path / "pool" / "pool.json").read_text("utf-8"))
    assert document["fingers"] == 3
    low, high = document["parameters"]["stiffness_1"]["next_finger_interval"]
    assert low < 0.9 * FINGER.joints[0].stiffness
    assert high > 1.15 * FINGER.joints[0].stiffness
    np.testing.assert_allclose(pool_fingers(directories[::-1]).mean, pooled.mean, rtol=0.03)


def test_what_is_no_mould_is_refused(tmp_path: Path) -> None:
    first = written(tmp_path / "one", 1.0, 0)
    with pytest.raises(
        DescriptionError, match="at least two calibrated fingers of a mould, found 1"
    ):
        pool_fingers([first, first])
    second = written(tmp_path / "other", 1.0, 1)
    columns = dict(load_finger_ensemble(second / "finger.yaml").columns)
    del columns["gain_7"]
    save_finger_ensemble(sg.io.load_finger(second / "finger.yaml"), columns, second / "finger.yaml")
    with pytest.raises(DescriptionError, match=r"expected the parameters of .*, found 13"):
        pool_fingers([first, second])
