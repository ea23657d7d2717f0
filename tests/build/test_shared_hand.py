"""What grasps of a sweep share changes no model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model import contact_pairs
from softgrasp.model.arm import carried_hand
from softgrasp.model.scene import build


def content(scene: sg.GraspScene) -> bytes:
    """All bytes of a scene's model."""
    model = build(scene).model
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@pytest.mark.parametrize("hand", ["four_finger", "human_24dof", "soft_gripper"])
def test_models_are_the_same_bytes_whatever_was_built_before(hand: str) -> None:
    scenes = [
        sg.GraspScene(hand=sg.load_hand(hand), object=sg.load_object(obj), gravity=gravity)
        for obj in ("sphere", "cuboid", "cylinder")
        for gravity in (True, False)
    ]
    fresh = []
    for scene in scenes:
        contact_pairs._KNOWN.clear()
        carried_hand.cache_clear()
        fresh.append(content(scene))
    assert [content(scene) for scene in scenes] == fresh
    assert len(set(fresh)) == len(fresh)
