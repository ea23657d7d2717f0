"""Why a grasp has no force closure, in a sentence."""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.quality.cones import Cones
from softgrasp.mechanics.quality.hull import FLAT
from softgrasp.mechanics.quality.reach import Nearest
from softgrasp.mechanics.transforms import Array

MIN_CONTACTS = {(3, 0): 4, (3, 1): 2, (6, 0): 7, (6, 2): 3, (6, 3): 2}
"""Contacts that force closure needs at least, by dimension and friction directions (Murray, Li and
Sastry, A Mathematical Introduction to Robotic Manipulation, ch. 5; Markenscoff and others 1990)."""
KIND = {0: "without friction", 1: "with friction", 2: "of hard fingers", 3: "of soft fingers"}


def shortcoming(cones: Cones, near: Nearest) -> str:
    """Why zero is not inside the wrench space of cones.

    Args:
        cones: Of the grasp.
        near: Its shortest reach, at most zero.
    """
    count, friction = len(cones.axes), cones.across.shape[1]
    required = MIN_CONTACTS[cones.dimension, friction]
    few = ""
    if count < required:
        few = f"{_contacts(count)} {KIND[friction]}, where at least {required} are needed: "
    if near.flat and abs(near.upper) <= FLAT * cones.size * cones.dimension:
        wrenches = np.concatenate([cones.axes[:, None], cones.across], axis=1)
        rank = int(
            np.linalg.matrix_rank(wrenches.reshape(-1, cones.dimension), tol=FLAT * cones.size)
        )
        return (
            f"{few}rank {rank} of {cones.dimension}, the contacts resist nothing along "
            f"{_wrench_text(_positive(near.direction))}"
        )
    if near.upper < -FLAT * cones.size:
        return f"{few}all forces that friction allows push to one side, {_wrench_text(-near.direction)}"
    return f"{few}no forces that friction allows push along {_wrench_text(near.direction)}"


def _contacts(count: int) -> str:
    return f"{count} contact" if count == 1 else f"{count} contacts"


def _positive(line: Array) -> Array:
    """A direction whose sign means nothing, its first large part positive."""
    first = int(np.argmax(np.abs(line) > 0.1 * np.abs(line).max()))
    return line if line[first] > 0.0 else -line


def _wrench_text(wrench: Array) -> str:
    split = 2 if len(wrench) == 3 else 3
    rounded = np.round(wrench / np.abs(wrench).max(), 3) + 0.0
    parts = [
        " ".join(f"{value:g}" for value in part) for part in (rounded[:split], rounded[split:])
    ]
    return f"force ({parts[0]}), moment ({parts[1]})"
