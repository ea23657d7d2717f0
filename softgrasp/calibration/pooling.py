"""Several calibrated fingers of one mould: their mean, how much they differ, and the next finger.

The logarithms θᵢ of the parameters of finger i are normal about a mean µ with the covariance T
between fingers; the posterior of each calibration, N(yᵢ, Sᵢ), is what its measurements say of them.
T has two scatters a kind of parameter: a factor that all joints of a finger share, as of its batch
of silicone, and one of each joint. They are estimated by the restricted likelihood of yᵢ, which is
normal with Sᵢ + T, and a weak prior; samples of scatters, mean and finger in turn are the posterior
of the next finger of the mould (Gelman et al., *Bayesian Data Analysis*, 3rd ed., 2013, ch. 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.io.files import json_text, plain_data, write_text
from softgrasp.io.finger_ensemble import (
    FIELDS,
    FingerEnsemble,
    load_finger_ensemble,
    save_finger_ensemble,
)
from softgrasp.io.hand import save_finger
from softgrasp.mechanics.transforms import Array

USUAL_SCATTER, SCATTER_WIDTH = 0.1, 1.0
"""Median of the prior of a scatter [–], and standard deviation of its logarithm [–]."""
SAMPLES = 400
"""Fingers of the posterior of the next one."""
CURVATURE_STEP = 0.05
"""Step of second differences by the logarithms of scatters [–]."""


@dataclass(frozen=True)
class Pool:
    """Fingers of one mould together.

    Args:
        names: Parameters that were measured, such as ``stiffness_1``.
        fingers: Number of fingers.
        mean: Mean of the mould, geometric, (p,).
        mean_interval: 95 % interval of it, (p, 2).
        next_interval: 95 % interval of the next finger, (p, 2).
        scatter: Scatter between fingers of each kind, relative: that of the factor of a finger, and
            that of each joint [–].
        samples: Fingers of the posterior of the next one, (s, p).
        finger: Finger with the mean.
    """

    names: tuple[str, ...]
    fingers: int
    mean: Array
    mean_interval: Array
    next_interval: Array
    scatter: dict[str, tuple[float, float]]
    samples: Array
    finger: SoftFinger

    def save(self, directory: str | Path) -> list[Path]:
        """Write ``pool.json``, ``finger.yaml`` and the ensemble of the next finger beside it.

        Raises:
            ResultError: A file cannot be written.
        """
        target = Path(directory)
        columns = dict(zip(self.names, self.samples.T, strict=True))
        finger_file = save_finger(self.finger, target / "finger.yaml")
        return [
            write_text(target / "pool.json", json_text(self.document())), finger_file,
            save_finger_ensemble(self.finger, columns, finger_file),
        ]  # fmt: skip

    def document(self) -> dict[str, Any]:
        """Return mean, scatter and intervals as plain data."""
        rows = zip(self.names, self.mean, self.mean_interval, self.next_interval, strict=True)
        whole: dict[str, Any] = plain_data({
            "fingers": self.fingers,
            "scatter": {
                kind: {"finger": common, "joint": joint}
                for kind, (common, joint) in self.scatter.items()
            },
            "parameters": {
                name: {"mean": mean, "mean_interval": ends, "next_finger_interval": following}
                for name, mean, ends, following in rows
            },
        })  # fmt: skip
        return whole


def pool_fingers(finger_files: Sequence[str | Path], *, seed: int = 0) -> Pool:
    """Pool calibrated fingers of one mould.

    Args:
        finger_files: ``finger.yaml`` of each calibration, or its directory; the ensemble beside it
            is its posterior.
        seed: Seed of the samples.

    Raises:
        DescriptionError: There are fewer than two, or they have other joints or parameters.
    """
    files = [Path(file) for file in finger_files]
    files = [file / "finger.yaml" if file.is_dir() else file for file in files]
    if len(set(files)) < 2:
        raise DescriptionError(
            f"expected at least two calibrated fingers of a mould, found {len(set(files))}"
        )
    ensembles = [load_finger_ensemble(file) for file in files]
    _check_alike(files, ensembles)
    names = [
        name for name in ensembles[0].columns
        if all((ensemble.columns[name] > 0.0).all() for ensemble in ensembles)
    ]  # fmt: skip
    logarithms = [np.log([ensemble.columns[name] for name in names]).T for ensemble in ensembles]
    # parameters without copies, as of a gain that joints share, and which of them each is
    together = np.concatenate(logarithms)
    _, first, copies = np.unique(together, axis=1, return_index=True, return_inverse=True)
    kept, spread = np.sort(first), np.argsort(np.argsort(first))[copies.ravel()]
    means = np.array([logarithm[:, kept].mean(axis=0) for logarithm in logarithms])
    errors = np.array(
        [np.cov(logarithm[:, kept].T).reshape(len(kept), -1) for logarithm in logarithms]
    )
    kinds = tuple(names[index].partition("_")[0] for index in kept)
    pooled = _Mould(means, errors + 1e-4**2 * np.eye(len(kept)), kinds)
    scatters, centers, drawn = pooled.draw(SAMPLES, np.random.default_rng(seed))
    ends = [np.exp(np.quantile(x, [0.025, 0.975], axis=0).T)[spread] for x in (centers, drawn)]
    mean = np.exp(np.median(centers, axis=0))[spread]
    middle = map(tuple, np.median(scatters, axis=0).tolist())
    return Pool(
        names=tuple(names),
        fingers=len(files),
        mean=mean,
        mean_interval=ends[0],
        next_interval=ends[1],
        scatter=dict(zip(pooled.present, middle, strict=True)),
        samples=np.exp(drawn)[:, spread],
        finger=_with_parameters(ensembles[0].finger, dict(zip(names, mean.tolist(), strict=True))),
    )


def _check_alike(files: list[Path], ensembles: list[FingerEnsemble]) -> None:
    first = ensembles[0]
    joints = [joint.position for joint in first.finger.joints]
    for file, ensemble in zip(files, ensembles, strict=True):
        if ensemble.columns.keys() != first.columns.keys():
            raise DescriptionError(
                f"expected the parameters of {files[0]} ({len(first.columns)}), as of one mould, "
                f"found {len(ensemble.columns)}",
                file=file,
            )
        if not np.allclose([joint.position for joint in ensemble.finger.joints], joints):
            raise DescriptionError(
                f"expected joints where {files[0]} has them, as of one mould, found others",
                file=file,
            )


def _with_parameters(finger: SoftFinger, values: dict[str, float]) -> SoftFinger:
    """Return the finger with parameters by their columns."""
    joints = list(finger.joints)
    for name, value in values.items():
        kind, _, joint = name.partition("_")
        changed = joints[int(joint) - 1].replace(**{FIELDS[kind]: float(f"{value:.6g}")})
        joints[int(joint) - 1] = changed
    return finger.replace(joints=tuple(joints))


@dataclass(frozen=True)
class _Mould:
    """Posterior means (n, p) and covariances (n, p, p) of fingers, and kinds of parameters."""

    means: Array
    errors: Array
    kinds: tuple[str, ...]

    @property
    def present(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.kinds))

    def between(self, scatters: Array) -> Array:
        """Return the covariance between fingers, (p, p), of scatters, a pair for each kind."""
        covariance = np.zeros((len(self.kinds), len(self.kinds)))
        for kind, (common, joint) in zip(self.present, scatters.reshape(-1, 2), strict=True):
            which = np.array([item == kind for item in self.kinds], dtype=float)
            covariance += common**2 * np.outer(which, which) + joint**2 * np.diag(which)
        return covariance

    def mean(self, between: Array) -> tuple[Array, Array]:
        """Return the mean of the mould, (p,), and its covariance, by generalised least squares."""
        weights = np.linalg.inv(self.errors + between)
        covariance = np.linalg.inv(weights.sum(axis=0))
        return covariance @ np.einsum("ijk,ik->j", weights, self.means), covariance

    def surprise(self, logarithms: Array) -> float:
        """Return minus the logarithm of restricted likelihood and prior of scatters."""
        between = self.between(np.exp(logarithms))
        center, covariance = self.mean(between)
        total = self.errors + between
        left = self.means - center
        squares = np.einsum("ij,ijk,ik", left, np.linalg.inv(total), left)
        determinants = np.linalg.slogdet(total)[1].sum() - np.linalg.slogdet(covariance)[1]
        away = (logarithms - math.log(USUAL_SCATTER)) / SCATTER_WIDTH
        return float(0.5 * (squares + determinants + away @ away))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Draw scatters (s, k, 2), means of the mould (s, p) and next fingers (s, p).

        Scatters are drawn from a Gaussian of their logarithms at the maximum, and corrected by
        importance.
        """
        size = 2 * len(self.present)
        best = minimize(self.surprise, np.full(size, math.log(USUAL_SCATTER)), method="BFGS").x
        covariance = np.linalg.inv(self._curvature(best))
        proposed = rng.multivariate_normal(best, 2.0 * covariance, size=4 * count)
        away = proposed - best
        wide = 0.25 * np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away)
        weights = wide - np.array([self.surprise(item) for item in proposed])
        weights = np.exp(weights - weights.max())
        chosen = proposed[rng.choice(len(proposed), count, p=weights / weights.sum())]
        centers, fingers = [], []
        for scatters in np.exp(chosen):
            between = self.between(scatters)
            centers.append(rng.multivariate_normal(*self.mean(between)))
            fingers.append(rng.multivariate_normal(centers[-1], between))
        return np.exp(chosen).reshape(count, -1, 2), np.array(centers), np.array(fingers)

    def _curvature(self, best: Array) -> Array:
        """Return the second derivative of the surprise by logarithms of scatters, made positive."""
        steps = CURVATURE_STEP * np.eye(len(best))
        second = np.array([
            [
                self.surprise(best + a + b) - self.surprise(best + a - b)
                - self.surprise(best - a + b) + self.surprise(best - a - b)
                for b in steps
            ]
            for a in steps
        ]) / (4.0 * CURVATURE_STEP**2)  # fmt: skip
        values, vectors = np.linalg.eigh(0.5 * (second + second.T))
        return np.asarray((vectors * np.maximum(values, 0.25 / SCATTER_WIDTH**2)) @ vectors.T)
