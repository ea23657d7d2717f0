"""What a contact can carry: the contact models and their selection matrices."""

from __future__ import annotations

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import known
from softgrasp.mechanics.transforms import Array

MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1, 2),
    "soft": (0, 1, 2, 3),
    "complete": (0, 1, 2, 3, 4, 5),
}
"""Parts of (fn, f1, f2, mn, m1, m2) in the contact frame that a contact carries."""
PLANAR_MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1),
    "complete": (0, 1, 2),
}
"""Parts of (fn, f1, m) that a contact in the plane carries."""


def selection_matrix(model: str = "hard", *, planar: bool = False) -> Array:
    """Which parts of force and moment a contact carries: the matrix H, (k, 6) or planar (k, 3).

    Rows pick from (fn, f1, f2, mn, m1, m2) in the contact frame (normal, t1, t2), planar from
    (fn, f1, m): frictionless 1, hard finger 3 (planar 2), soft finger 4, complete 6 (planar 3)
    (Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, table 38.2).

    Raises:
        DescriptionError: No such model; a soft finger in the plane, where the moment about the
            normal does not exist.
    """
    if planar and model == "soft":
        raise DescriptionError(
            "expected a model of the plane, where nothing spins about the normal; found 'soft'; "
            "known: complete, frictionless, hard",
            field="model",
        )
    models = PLANAR_MODELS if planar else MODELS
    return np.eye(3 if planar else 6)[list(models[known(model, models, "model")])]
