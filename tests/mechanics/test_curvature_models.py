"""Curvature models by name: the same frames as their own functions, and what is no state."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.curvature_models import CURVATURE_MODELS, frames_along, segment_frames
from softgrasp.description.bendable import Bendable
from softgrasp.mechanics.transforms import rotate_about

SHARES = np.array([0.2, 0.6, 1.0])


def test_every_model_of_a_bendable_is_known() -> None:
    assert set(CURVATURE_MODELS) == set(get_args(Bendable.model_fields["model"].annotation))


@pytest.mark.parametrize("frame", ["bishop", "webster"])
def test_pcc_is_the_closed_form(frame: str) -> None:
    result = frames_along("pcc", 0, frame, (4.0, 0.7), 0.3, [0.0, *SHARES])  # type: ignore[arg-type]
    target = sg.pcc.segment_transform(4.0, 0.7, 0.3 * SHARES, frame)  # type: ignore[arg-type]
    assert result[1:] == pytest.approx(target, abs=1e-15)
    rotation = rotate_about("z", 0.7 if frame == "webster" else 0.0)
    assert result[0] == pytest.approx(rotation, abs=1e-15)


def test_ppc_of_degree_0_is_pcc_in_both_frames() -> None:
    for frame in ("bishop", "webster"):
        one, other = (frames_along(m, 0, frame, (4.0, 0.7), 0.3, SHARES) for m in CURVATURE_MODELS)
        assert one == pytest.approx(other, abs=1e-14)


def test_ppc_is_a_polynomial() -> None:
    result = frames_along("ppc", 2, "bishop", (4.0, -3.0, 2.0, 0.7), 0.3, SHARES)
    assert result == pytest.approx(segment_frames([4.0, -3.0, 2.0], 0.7, 0.3, SHARES), abs=0.0)


@pytest.mark.parametrize(
    ("model", "state", "length", "sentence"),
    [
        ("ppcc", (1.0, 0.0), 0.3, "model: no curvature model 'ppcc'; did you mean 'ppc'? "
         "known: pcc, ppc"),
        ("pcc", (1.0, 2.0, 0.0), 0.3, "state: expected 2 numbers of a pcc state of degree 0, "
         "found 3"),
        ("pcc", (1.0, 0.0), -0.3, "state: expected finite numbers and a length above 0, found "
         "(1.0, 0.0), -0.3, [0.2 0.6 1. ]"),
        ("pcc", (np.nan, 0.0), 0.3, "state: expected finite numbers and a length above 0, found "
         "(nan, 0.0), 0.3, [0.2 0.6 1. ]"),
    ],
)  # fmt: skip
def test_what_is_no_state(
    model: str, state: tuple[float, ...], length: float, sentence: str
) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        frames_along(model, 0, "bishop", state, length, SHARES)
    assert str(caught.value) == sentence
