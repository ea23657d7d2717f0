"""Pneumatic fingers of many shapes are read from meshes in any position."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from softgrasp.errors import SoftgraspWarning
from softgrasp.io.soft_finger.finger import SlicedFinger, slice_finger
from tests.support.pneunet_mesh import FingerCase, random_finger

FEW = 6
"""Fingers of the fast test."""
STUBBY = {69: False, 81: True, 123: True, 148: False, 186: False}
"""Seeds of fingers of 19 to 42 mm that are hardly longer than wide; whether a warning says so."""


class Reading(NamedTuple):
    """Whether a finger was read right, and which directions the warnings name."""

    right: bool
    named: frozenset[str]


def read(case: FingerCase, path: Path, given: frozenset[str] = frozenset()) -> Reading:
    """Read a finger with the directions ``given``, and which options its warnings name."""
    x, _, z = case.pose[:3, :3].T
    stated = {"base": tuple(case.pose[:3, 3]), "up": tuple(z), "axis": tuple(x)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SoftgraspWarning)
        sliced = slice_finger(path, units=case.units, **{name: stated[name] for name in given})
    named = {name for name in stated if any(f"--{name}" in str(item.message) for item in caught)}
    return Reading(is_right(sliced, case), frozenset(named))


def read_as_advised(case: FingerCase, path: Path) -> Reading:
    """State what the mesh does not show, then what the warnings name."""
    needed = {"base": case.needs_base, "up": case.needs_up}
    first = read(case, path, frozenset(name for name in needed if needed[name]))
    needed |= dict.fromkeys(first.named, True)
    again = read(case, path, frozenset(name for name in needed if needed[name]))
    return Reading(again.right, first.named)


def is_right(sliced: SlicedFinger, case: FingerCase) -> bool:
    """Return whether joints, base and bending side are those of the finger."""
    valleys, turned = case.shape.valleys, sliced.transform[:3, :3].T @ case.pose[:3, :3]
    if len(sliced.joints) != len(valleys) or turned[0, 0] < 0.98 or turned[2, 2] < 0.97:
        return False
    error = np.abs(sliced.joints[:, 0] - valleys).max()
    return bool(error < max(5e-4, 0.02 * case.shape.length))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW))
def test_a_finger_is_read_wherever_it_lies(seed, tmp_path):
    case = random_finger(seed)
    assert read_as_advised(case, case.export(tmp_path, "finger")).right


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "doubted"), STUBBY.items())
def test_short_fingers_are_read_or_doubted(seed, doubted, tmp_path):
    """A finger hardly longer than wide is read by its flat side, or a warning names --axis."""
    case = random_finger(seed)
    path = case.export(tmp_path, "finger")
    alone = read(case, path)
    assert alone.right or alone.named
    assert ("axis" in alone.named) == doubted
    assert read_as_advised(case, path).right


@pytest.mark.slow
def test_many_fingers_are_read_and_none_is_wrong_in_silence(tmp_path):
    cases = [random_finger(seed) for seed in range(200)]
    results = [read_as_advised(case, case.export(tmp_path, "finger")) for case in cases]
    assert all(result.right for result in results)
    assert sum("axis" in result.named for result in results) <= 3
