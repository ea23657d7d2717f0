"""Pneumatic fingers of many shapes are read from meshes in any position."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from softgrasp.errors import SoftgraspWarning
from softgrasp.io.soft_finger.finger import SlicedFinger, slice_finger
from tests.support.pneunet_mesh import FingerCase, random_finger

FEW = 12
"""Fingers of the fast test."""


def read(case: FingerCase, path: Path) -> SlicedFinger:
    """Read a finger; state what the mesh does not show and the warnings request."""
    stated = {"base": tuple(case.pose[:3, 3]), "up": tuple(case.pose[:3, 2])}
    needed = {"base": case.needs_base, "up": case.needs_up}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SoftgraspWarning)
        sliced = slice_finger(
            path, units=case.units, **{name: stated[name] for name in needed if needed[name]}
        )
    for name in needed:
        needed[name] |= any(f"--{name}" in str(warning.message) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        chosen = {name: stated[name] for name in needed if needed[name]}
        return slice_finger(path, units=case.units, **chosen) if chosen else sliced


def is_right(sliced: SlicedFinger, case: FingerCase) -> bool:
    """Return whether joints, base and bending side are those of the finger."""
    valleys, turned = case.shape.valleys, sliced.transform[:3, :3].T @ case.pose[:3, :3]
    if len(sliced.joints) != len(valleys) or turned[0, 0] < 0.98 or turned[2, 2] < 0.97:
        return False
    error = np.abs(sliced.joints[:, 0] - valleys).max()
    return bool(error < max(5e-4, 0.02 * case.shape.length))


@pytest.mark.parametrize("seed", range(FEW))
def test_a_finger_is_read_wherever_it_lies(seed: int, tmp_path: Path) -> None:
    case = random_finger(seed)
    assert is_right(read(case, case.export(tmp_path, "finger")), case)


@pytest.mark.slow
def test_nearly_all_of_many_fingers_are_read(tmp_path: Path) -> None:
    cases = [random_finger(seed) for seed in range(200)]
    right = [is_right(read(case, case.export(tmp_path, "finger")), case) for case in cases]
    assert np.mean(right) >= 0.95
