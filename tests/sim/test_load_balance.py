"""Load balance of hold tests: Newton's laws, who bears what, and the word that follows."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.base import Vec3
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.evaluation.hold_result import commanded_acceleration
from softgrasp.pipeline import compile_scene
from softgrasp.report.grasp_tables import load_rows
from softgrasp.sim import grasp_run
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.load_balance import (
    Bearer,
    LoadBalance,
    LoadSampler,
    borne_by_hand,
    first_unborne,
    load_balance,
)
from softgrasp.sim.motion_plan import MountTrajectory
from softgrasp.sweeps.table import row_of
from tests.conftest import Golden
from tests.reference_engine.backend import ReferenceEngine
from tests.sim.engines import require_engine
from tests.support.pads import on_a_stand, pads
from tests.support.scenes import ball, pinch

Outcome = sg.Outcome
G = 9.81
TEST = sg.SuccessCriterion(ramp_time=0.1, hold_time=0.3)
SMOOTH = sg.Contact(static_friction=0.0)
FALL = {"type": "move", "displacement": (0, 0, -0.1)}


@cache
def stood(friction: float, mass: float = 0.08, **changes: Any) -> sg.GraspResult:
    """Two pads beside a ball that lies on a block."""
    contact = sg.Contact(static_friction=friction)
    success = TEST.replace(**changes)
    heavy = ball().weighing(mass=mass)
    return sg.simulate(pads(2, object=heavy, contact=contact, success=success, **on_a_stand()))


def last(result: sg.GraspResult) -> LoadBalance:
    """The balance of the last part before pushes."""
    balance = result.hold.parts[-1].balance
    assert balance is not None
    return balance


def fractions(balance: LoadBalance) -> dict[str, float]:
    return {bearer.name: bearer.fraction for bearer in balance.bearers}


# Laws.


@pytest.mark.parametrize("mass", [0.01, 0.08, 0.64])
def test_pads_bear_the_whole_weight_whatever_it_is(mass: float) -> None:
    result = sg.simulate(pads(2, object=ball().weighing(mass=mass), success=TEST))
    assert last(result).load_N == pytest.approx((0.0, 0.0, -mass * G), abs=1e-6 * mass)
    assert fractions(last(result)) == pytest.approx({"hand": 1.0}, abs=1e-3)
    assert row_of(result)["hold_hand_fraction"] == pytest.approx(1.0, abs=1e-3)
    assert result.outcome is Outcome.HELD


def test_a_stand_bears_all_where_nothing_sticks() -> None:
    smooth = stood(0.0)
    assert fractions(last(smooth)) == pytest.approx({"hand": 0.0, "stand": 1.0}, abs=1e-3)
    (hand, stand) = last(smooth).bearers
    assert (hand.kind, stand.kind) == ("hand", "surroundings")
    assert stand.force_N == pytest.approx((0.0, 0.0, 0.08 * G), abs=1e-4)
    assert smooth.message == (
        "the object is within all limits, but not borne by the hand: 'stand' carries 100 % of the "
        f"load ({0.08 * G:.4g} of {0.08 * G:.4g} N), the hand 0 %"
    )


@pytest.mark.parametrize("friction", [0.02, 0.1, 0.5])
def test_fractions_of_a_free_object_sum_to_one(friction: float) -> None:
    assert sum(fractions(last(stood(friction))).values()) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("across", [3.0, 9.0])
def test_the_mount_of_a_planar_object_bears_what_is_across_its_plane(across: float) -> None:
    hand = sg.load_hand("two_finger_planar")
    criterion = TEST.replace(gravity=(0.0, -across, -9.0))
    scene = pinch(hand=hand, object_mount="planar", success=criterion)
    expected = across**2 / (across**2 + 81.0)
    balance = last(result := sg.simulate(scene))
    assert fractions(balance) == pytest.approx(
        {"hand": 1.0 - expected, "mount": expected}, abs=1e-3
    )
    # 0.1 and 0.5 of the load
    allowed = sg.simulate(scene.replace(success=criterion.replace(max_support=expected + 0.01)))
    assert (result.outcome, allowed.outcome) == (
        Outcome.SUPPORTED if expected > 0.1 else Outcome.HELD,
        Outcome.HELD,
    )


def test_every_push_has_a_balance() -> None:
    pushes: tuple[Vec3, ...] = ((5.0, 0.0, 0.0), (0.0, 0.0, -3.0))
    result = sg.simulate(pads(2, success=TEST.replace(directions=pushes, direction_time=0.2)))
    mass = result.hold.weight_N / G
    for push, test in zip(pushes, result.hold.directions, strict=True):
        assert test.balance.load_N == pytest.approx(mass * np.add(push, (0.0, 0.0, -G)), abs=1e-4)
        assert test.balance.hand_fraction == pytest.approx(1.0, abs=1e-3)
    assert result.hold.load_m_s2 == pytest.approx(G + 3.0)


def test_a_push_onto_the_stand_is_borne_by_it() -> None:
    motion = ({"type": "hold", "time": 0.05},)
    criterion = sg.SuccessCriterion(
        gravity=None, motion=motion, directions=((0.0, 0.0, -5.0),), direction_time=0.2,
        max_drop=1e-3,
    )  # fmt: skip
    scene = pads(2, contact=SMOOTH, success=criterion, **(on_a_stand() | {"gravity": False}))
    result = sg.simulate(scene)
    (push,) = result.hold.directions
    assert push.balance is not None
    assert fractions(push.balance) == pytest.approx({"hand": 0.0, "stand": 1.0}, abs=1e-2)
    assert (push.held, result.outcome) == (True, Outcome.SUPPORTED)
    assert result.message.endswith(", at the end of '-z'")


@pytest.mark.parametrize("upward", [0.0, 0.3, 2.0])
def test_inertia_is_part_of_the_load(upward: float) -> None:
    scene = pinch(object_position=(1.0, 0.0, 0.0), gravity=True, object=ball().weighing(mass=0.1))
    model = compile_scene(scene).model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    sampler = LoadSampler(scene, ContactReader(model))
    data.xfrc_applied[model.body("object").id, 2] = upward
    sampler.start(data)
    for _ in range(5):
        mujoco.mj_step(model, data, round(scene.control_period / model.opt.timestep))
        sampler.sample(data)
    record = sampler.record(data, 5)
    # nothing touches it: what is applied accelerates it, and nothing is left to be borne
    assert record.load == pytest.approx(np.zeros(3), abs=1e-9)
    assert not load_balance(model, scene, record).is_loaded


def test_action_is_reaction() -> None:
    top = sg.description.PlacedObject(object=ball(), position=(1.0, 0, 0.06), name="top")
    scene = pinch(
        object_position=(1.0, 0.0, 0.0), objects=(top,), surroundings=(sg.Table(),), gravity=True
    )
    model = compile_scene(scene).model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, 50)
    reader = ContactReader(model)
    below, above = (reader.forces_on(data, name) for name in ("object", "object2"))
    assert below["object2"] == pytest.approx(-above["object"], abs=1e-12)
    assert above["object"][2] > 0.0 > below["object2"][2]
    assert set(below) == {"object2", "table"}


def test_without_forces_the_hand_bears_what_the_mount_cannot() -> None:
    scene = pinch(hand=sg.load_hand("two_finger_planar"), object_mount="planar")
    model = compile_scene(scene).model
    balance = load_balance(model, scene, borne_by_hand(model, scene, 3, np.array((0, -2.0, -4.0))))
    assert fractions(balance) == pytest.approx({"hand": 0.8, "mount": 0.2})
    assert not balance.measured


@pytest.mark.parametrize("window", [1, 7, 20])
def test_reading_the_forces_changes_no_bit(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    push = TEST.replace(
        directions=((1.0, 0, 0),), direction_time=0.2, motion=({"type": "lift", "time": 0.2},)
    )
    scene = pinch(success=push)
    monkeypatch.setattr(grasp_run, "WINDOW", window)
    result = sg.simulate(scene)

    def plainly(run: Any, samples: int) -> Any:
        yield from run.advancing(samples)

    monkeypatch.setattr(grasp_run.ClosureRun, "weighed", plainly)
    assert result.trajectory_sha256 == sg.simulate(scene).trajectory_sha256


@pytest.mark.slow
def test_the_reference_engine_agrees() -> None:
    scene = pads(2, contact=sg.Contact(static_friction=0.02), success=TEST, **on_a_stand())
    ours, theirs = sg.simulate(scene), sg.simulate(scene, ReferenceEngine())
    assert theirs.outcome is ours.outcome is Outcome.SUPPORTED
    assert fractions(last(theirs)) == pytest.approx(fractions(last(ours)), abs=1e-3)


# The word.


def share(part: float) -> LoadBalance:
    """A load of 10 N, of which the hand bears a part and a table the rest."""
    bearers = [("hand", "hand", part), ("table", "surroundings", 1.0 - part)]
    made = (
        Bearer(name=name, kind=kind, force_N=(0, 0, 10 * item), fraction=item)
        for name, kind, item in bearers
    )
    return LoadBalance(load_N=(0.0, 0.0, -10.0), bearers=tuple(made))


NO_LOAD = LoadBalance(
    load_N=(0.0, 0.0, 0.0),
    bearers=(Bearer(name="hand", kind="hand", force_N=(0, 0, 0), fraction=0.0),),
)


@pytest.mark.parametrize(
    ("parts", "pushes", "held"),
    [
        ([0.91], [], True),
        ([0.89], [], False),
        ([0.0, 1.0], [], True),  # it stands on the table until it is lifted
        ([0.0, 1.0, 0.0], [], False),  # and is put on it again
        ([1.0], [1.0, 0.91], True),
        ([1.0], [1.0, 0.89], False),
        ([], [0.0], False),
        ([None], [], None),
        ([None], [0.5], False),
        ([None, 1.0], [], True),
    ],
)
def test_the_hand_has_to_bear_ninety_per_cent(
    parts: list[float | None], pushes: list[float], held: bool | None
) -> None:
    balances = [None if part is None else share(part) for part in parts]
    borne, against = first_unborne(balances, [share(part) for part in pushes], 0.1)
    assert borne is held
    assert (against is None) is (held is not False)
    assert first_unborne(balances, [share(part) for part in pushes], 1.0) == (True, None)
    assert first_unborne([*balances, NO_LOAD], [share(p) for p in pushes], 0.1)[0] is held


def test_a_wall_that_pushes_along_the_load_bears_none_of_it() -> None:
    assert share(2.3).support == 0.0
    assert first_unborne([share(2.3)], [], 0.0) == (True, None)
    # and one that bears does, however much the hand pulls on another one
    pulled = share(1.9)
    left = Bearer(name="left", kind="surroundings", force_N=(0, 0, -13.0), fraction=-1.3)
    right = Bearer(name="right", kind="surroundings", force_N=(0, 0, 4.0), fraction=0.4)
    jammed = pulled.replace(bearers=(pulled.bearers[0], left, right))
    assert jammed.support == pytest.approx(0.4)
    assert first_unborne([jammed], [], 0.3)[0] is False


@pytest.mark.parametrize(("margin", "expected"), [(0.01, Outcome.HELD), (-0.01, Outcome.SUPPORTED)])
def test_a_scene_may_allow_support(margin: float, expected: sg.Outcome) -> None:
    allowed = min(last(stood(0.0, 0.5)).support + margin, 1.0)
    assert stood(0.0, 0.5, max_support=allowed).outcome is expected


def test_only_what_is_named_is_removed() -> None:
    names: tuple[str, ...] = ("other",)
    wall = sg.description.Wall(name="other", point=(-0.5, 0, 0), normal=(1, 0, 0))
    stand = on_a_stand()["surroundings"]
    for removes, expected in ((names, Outcome.SUPPORTED), (("all",), Outcome.DROPPED)):
        scene = pads(
            2, contact=SMOOTH, gravity=True, surroundings=(*stand, wall),
            success=TEST.replace(removes=removes),
        )  # fmt: skip
        result = sg.simulate(scene)
        assert result.outcome is expected
        replayed = ReplayedResult(result)
        block = [float(replayed.pose(t).body("block").xpos[2]) for t in (0.0, result.time[-1])]
        assert (block[0] == block[1]) is (expected is Outcome.SUPPORTED)
    with pytest.raises(
        sg.DescriptionError, match=r"success\.removes: no surrounding 'stan' in the"
    ):
        scene.replace(success=TEST.replace(removes=("stan",)))


@pytest.mark.parametrize("backend", [ReferenceEngine(), "ode"], ids=["reference", "ode"])
def test_other_engines_refuse_to_remove(backend: ReferenceEngine | str, golden: Golden) -> None:
    if isinstance(backend, str):
        require_engine(backend)
    scene = pads(2, success=TEST.replace(removes=("all",)), **on_a_stand())
    golden.refused(lambda: sg.simulate(scene, backend), "success", sg.BuildError)


@pytest.mark.slow
def test_an_engine_without_force_vectors_leaves_it_open() -> None:
    require_engine("ode")
    scene = pads(2, contact=sg.Contact(static_friction=0.02), success=TEST)
    unknown = sg.simulate(scene.replace(**on_a_stand()), "ode")
    assert (unknown.held, unknown.outcome) == (None, Outcome.CLOSED)
    assert "does not measure what the surroundings bear" in unknown.message
    assert any("does not measure" in text for text in unknown.warnings)
    firm = sg.simulate(pads(2, success=TEST), "ode")
    assert firm.outcome is Outcome.HELD
    assert fractions(last(firm)) == {"hand": 1.0}


def test_a_test_on_a_table_is_saved_and_shown(tmp_path: Path) -> None:
    result = stood(0.0)
    result.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert (loaded.outcome, loaded.message) == (result.outcome, result.message)
    assert last(loaded) == last(result)
    assert [row["Borne by"] for row in load_rows(loaded)] == ["hand", "stand"]
    assert load_rows(loaded)[1]["Of it|[%]"] == "100"
    assert loaded.closing_contacts == result.closing_contacts != ()


def test_a_result_without_a_balance_is_still_read(tmp_path: Path) -> None:
    sg.simulate(pads(2, success=TEST)).save(tmp_path)
    file = tmp_path / "result.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    for name in ("parts", "load_m_s2", "inertia_m_s2", "within_limits", "lag_m"):
        content["hold"].pop(name, None)
    file.write_text(json.dumps(content), encoding="utf-8")
    assert sg.load_result(tmp_path).outcome is Outcome.HELD


# Motions of the wrist.


def test_a_motion_into_a_table_is_not_carried_out() -> None:
    scene = pinch(
        gravity=True, surroundings=(sg.Table(height=-0.15),), sequence=({"type": "close"}, FALL),
        success=sg.SuccessCriterion(gravity=None, max_drop=0.5, max_rotation=3.0),
    )  # fmt: skip
    result = sg.simulate(scene)
    (move,) = result.hold.parts
    assert move.miss_m is not None
    assert move.wrist_force_N is not None
    lowest = result.joint_position[-1, list(result.joint_names).index("wrist_z")]
    assert move.miss_m == pytest.approx(0.1 + lowest, rel=1e-2)
    gain = sg.compile_model(scene).actuator("wrist_z").gainprm[0]
    assert move.wrist_force_N == pytest.approx(gain * move.miss_m, rel=0.05)
    text = f"the motion 'move' was not carried out: at its end the palm is {1e3 * move.miss_m:.3g}"
    assert text in result.message
    assert any(text in warning for warning in result.warnings)


def test_a_motion_that_is_carried_out_lags_and_does_not_sag() -> None:
    lift = {"type": "lift", "height": 0.1, "time": 0.5}
    result = sg.simulate(pinch(success=sg.SuccessCriterion(gravity=None, motion=(lift,))))
    (part,) = result.hold.parts
    assert part.miss_m is None
    assert part.sag_m is not None
    assert part.lag_m is not None
    assert part.sag_m < 0.1 * part.lag_m
    assert (result.hold.sag_m, result.hold.lag_m) == (part.sag_m, part.lag_m)


PHASES: list[dict[str, Any]] = [
    {"type": "lift", "height": 0.1, "time": 0.7},
    {"type": "move", "displacement": (0.1, -0.2, 0.05), "time": 0.4},
    {"type": "shake", "amplitude": 0.02, "frequency": 5.0, "cycles": 6},
]


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase["type"])
def test_the_largest_acceleration_is_that_of_the_path(phase: dict[str, Any]) -> None:
    scene = pinch(success=sg.SuccessCriterion(gravity=None, motion=(phase,)))
    motion, samples = scene.phases[-1], 2000
    path = MountTrajectory(scene).through(motion, samples)[:, :3]
    accelerations = np.linalg.norm(np.diff(path, 2, axis=0), axis=1) / (motion.time / samples) ** 2
    # the envelope of a shake adds a tenth to the amplitude of its sine
    envelope = 1.12 if phase["type"] == "shake" else 1.0
    assert 0.98 < accelerations.max() / commanded_acceleration(scene) < 1.02 * envelope


@pytest.mark.parametrize("rotation", [(0.0, 0.0, 0.5), (0, 0.5, 0.0)])
def test_a_rotation_counts_with_its_arc(rotation: tuple[float, ...]) -> None:
    scene, reach = pinch(), 0.2
    about = tuple((np.array(scene.preset.center) + np.array((reach, 0.0, 0.0))).tolist())
    move = {"type": "move", "time": 0.5, "about": about, "rotation_vector": rotation}
    scene = scene.replace(success=sg.SuccessCriterion(gravity=None, motion=(move,)))
    tangential = 10.0 / math.sqrt(3.0) * 0.5 * reach / 0.5**2
    assert commanded_acceleration(scene) == pytest.approx(tangential)


@pytest.mark.parametrize("name", ["two_spheres", "up_the_wall"])
def test_shipped_scenes_whose_hand_bears_the_load(name: str) -> None:
    result = sg.simulate(sg.load_scene(name))
    assert result.outcome is Outcome.HELD
    assert last(result).hand_fraction > 1.0
    assert sum(fractions(last(result)).values()) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", ["against_wall", "corner"])
def test_shipped_scenes_that_lean_allow_it(name: str) -> None:
    scene = sg.load_scene(name)
    assert scene.success.max_support == 1.0
    strict = scene.replace(success=scene.success.replace(max_support=0.1))
    assert sg.simulate(strict).outcome is Outcome.SUPPORTED
