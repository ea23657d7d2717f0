"""Grasps of results and of other programs: one value, one file, and what each format keeps."""

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import softgrasp as sg
from softgrasp.checks.json_schema import schema_of
from softgrasp.description.grasps import Grasp, GraspSet
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.exports import grasp_set, load_grasps, save_grasps
from softgrasp.exports.grasps import APPROACH_DISTANCE
from softgrasp.mechanics.transforms import transform
from softgrasp.model.shapes import center_in_file
from softgrasp.sweeps.imported_grasps import hand_joints_of, import_grasps
from tests.support.mjcf_hands import WRIST, written
from tests.support.scenes import ball, pinch


def scene_of_mesh() -> sg.GraspScene:
    rotated = sg.Pose(position=(0.1, -0.2, 0.4), quaternion=(0.8, 0.0, 0.6, 0.0))
    test = sg.SuccessCriterion(hold_time=0.05)
    strawberry, euler = sg.load_object("strawberry"), (0.4, -0.7, 0.9)
    return pinch(object=strawberry, hand_pose=rotated, object_euler=euler, success=test)


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    return sg.simulate(scene_of_mesh())


@pytest.fixture(scope="module")
def grasps(result: sg.GraspResult) -> GraspSet:
    return grasp_set({"first": result})


def matrix(pose: sg.Pose) -> np.ndarray:
    return transform(pose.position, pose.quaternion)


def test_the_pose_is_that_of_the_hand_in_the_frame_of_the_mesh(result, grasps):
    """The frame of a mesh file is where the file has it; the model's is at the centre of mass."""
    (grasp,) = grasps.grasps
    center = np.append(center_in_file(result.scene.object.shape), 1.0)
    in_model = transform(result.object_position[0], result.object_quat_wxyz[0])
    in_world = matrix(result.scene.hand_pose) @ np.linalg.inv(matrix(grasp.pregrasp.pose)) @ center
    np.testing.assert_allclose(in_world[:3], in_model[:3, 3], atol=1e-9)
    assert grasp.object.mesh == result.scene.object.shape.file
    assert grasp.success is result.held
    assert grasp.quality["epsilon"] == result.quality["epsilon"]


def test_contacts_lie_where_the_run_ended(result, grasps):
    (grasp,) = grasps.grasps
    center = center_in_file(result.scene.object.shape)
    end = transform(result.object_position[-1], result.object_quat_wxyz[-1])
    points = [item.point_m for item in result.contacts if item.point_m is not None]
    assert len(points) == len(grasp.contacts) > 0
    for known, contact in zip(points, grasp.contacts, strict=True):
        world = end[:3, :3] @ (np.array(contact.point_m) - center) + end[:3, 3]
        np.testing.assert_allclose(world, known, atol=1e-9)


def test_the_targets_press_beyond_the_joints(grasps):
    (grasp,) = grasps.grasps
    assert grasp.pregrasp is not None
    assert list(grasp.squeeze.joints) == list(grasp.grasp.joints)
    opened, closed, pressed = (
        np.array(list(item.joints.values()))
        for item in (grasp.pregrasp, grasp.grasp, grasp.squeeze)
    )
    motion = closed - opened
    moving = np.abs(motion) > 0.05
    assert moving.sum() >= 4
    assert ((pressed - closed) * np.sign(motion))[moving].min() > 0.0


def test_the_approach_is_that_of_the_fingers_where_the_hand_stands(grasps):
    (grasp,) = grasps.grasps
    assert grasp.approach.distance_m is None
    to_center = -np.array(grasp.grasp.pose.position)
    assert np.dot(grasp.approach.direction, to_center) > 0.9 * np.linalg.norm(to_center)


@pytest.mark.slow
def test_a_hand_that_comes_to_the_object_states_its_direction_and_distance():
    moved = sg.simulate(sg.load_scene("sequence_strawberry"))
    (grasp,) = grasp_set({"moved": moved}).grasps
    assert grasp.approach.distance_m is not None
    assert grasp.approach.distance_m > 0.01


def test_the_file_gives_the_same_value_and_obeys_its_schema(grasps, tmp_path):
    (file,) = save_grasps(grasps, tmp_path / "grasps.json")
    assert load_grasps(file) == grasps
    content = json.loads(file.read_text("utf-8"))
    schema = Draft202012Validator(schema_of("grasps"))
    schema.validate(content)
    content["grasps"][0]["grasp"]["pose"]["euler"] = [0, 0, 0]
    assert [*schema.iter_errors(content)]
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(sg.DescriptionError) as refused:
        load_grasps(file)
    assert refused.value.file == file
    assert refused.value.field == "grasps[0].grasp.pose.euler"


def kept_by(to: str, grasp: Grasp) -> Grasp:
    """What a format holds of a grasp."""
    changes: dict[str, object] = {"contacts": (), "outcome": None, "success": None}
    changes["object"] = grasp.object.replace(mass_kg=None)
    score = {"confidence": grasp.score}
    match to:
        case "dexgraspbench":
            changes |= {"name": "grasp_0", "approach": None, "quality": {}}
        case "isaac":
            changes |= {"approach": None, "squeeze": None, "quality": score}
    return grasp.replace(**changes)


@pytest.mark.parametrize(("to", "name"), [("dexgraspbench", "npy"), ("isaac", "it.yaml")])
def test_other_formats_return_what_they_hold(to, name, grasps, tmp_path):
    save_grasps(grasps, tmp_path / name, to)
    (read,) = load_grasps(tmp_path / name).grasps
    (grasp,) = grasps.grasps
    expected = kept_by(to, grasp)
    poses = [grasp.pregrasp, grasp.grasp, grasp.squeeze]
    if to != "dexgraspbench":  # one pose for all postures
        poses = [grasp.grasp] * 3
    for part, at in zip(("pregrasp", "grasp", "squeeze"), poses, strict=True):
        first, second = getattr(read, part), getattr(expected, part)
        assert (first is None) == (second is None), part
        if first is not None:
            assert first.joints == pytest.approx(second.joints)
            assert list(first.joints) == list(second.joints)
            np.testing.assert_allclose(matrix(first.pose), matrix(at.pose), atol=1e-12)
    assert read.name == expected.name
    assert read.object.scale == expected.object.scale
    assert read.object.mesh == expected.object.mesh
    assert read.quality == pytest.approx(expected.quality)


@pytest.mark.filterwarnings("ignore:.*the hand moves between:softgrasp.SoftgraspWarning")
@pytest.mark.parametrize("name", ["grasps.json", "npy"])
def test_the_planner_takes_the_grasp_as_it_was(name, grasps, result, tmp_path):
    save_grasps(grasps, tmp_path / name, "softgrasp" if name.endswith("json") else "dexgraspbench")
    (imported,) = import_grasps(result.scene, tmp_path / name)
    hand = matrix(result.scene.hand_pose)
    in_world = hand @ matrix(imported.object_pose)
    last = int(np.searchsorted(result.time, result.hold.start_s - 1e-9))
    np.testing.assert_allclose(in_world[:3, 3], result.object_position[last], atol=1e-9)
    variables = hand_joints_of(result.scene).variables(np.array(imported.squeeze))
    (grasp,) = grasps.grasps
    assert variables == pytest.approx(np.array([*grasp.squeeze.joints.values()]), abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:hand.xml:softgrasp.SoftgraspWarning")
def test_poses_and_joints_are_those_of_the_file_of_the_hand(tmp_path):
    """A forearm beside the frame of its file, in a scene that prefixes its names."""
    hand = sg.load_hand(written(tmp_path, WRIST))
    assert hand.model.prefix
    pose = sg.Pose(position=(0.1, -0.2, 0.4), quaternion=(0.8, 0.0, 0.6, 0.0))
    scene = sg.GraspScene(hand=hand, object=ball(0.02), duration=0.1, hand_pose=pose)
    result = sg.simulate(scene)
    grasps = grasp_set({"first": result})
    assert grasps.hand_frame == hand.model.file
    (grasp,) = grasps.grasps
    assert list(grasp.grasp.joints) == [
        "wrist", "bend", "ffj1", "ffj2", "thj0", "thj1", "thj2",
    ]  # fmt: skip
    model = ReplayedResult(result)
    forearm = model.pose(0.0).body(f"{hand.model.prefix}forearm")
    in_file = transform((0.0, 0.0, 0.1), (0.0, 1.0, 0.0, 0.0))
    of_file = transform(forearm.xpos, forearm.xquat) @ np.linalg.inv(in_file)
    in_world = transform(result.object_position[0], result.object_quat_wxyz[0])
    np.testing.assert_allclose(in_world @ matrix(grasp.pregrasp.pose), of_file, atol=1e-9)
    save_grasps(grasps, tmp_path / "it.json")
    (imported,) = import_grasps(result.scene, tmp_path / "it.json")
    end = transform(result.object_position[-1], result.object_quat_wxyz[-1])
    np.testing.assert_allclose(
        matrix(result.scene.hand_pose) @ matrix(imported.object_pose), end, atol=1e-9
    )
    assert imported.squeeze == pytest.approx(result.joint_target[-1], abs=1e-6)


def test_moveit_messages_have_the_fields_of_ros(grasps, tmp_path):
    (file,) = save_grasps(grasps, tmp_path / "it.json", "moveit")
    (message,) = json.loads(file.read_text("utf-8"))
    assert set(message) == {
        "id", "pre_grasp_posture", "grasp_posture", "grasp_pose", "grasp_quality",
        "pre_grasp_approach", "post_grasp_retreat", "post_place_retreat", "max_contact_force",
        "allowed_touch_objects",
    }  # fmt: skip
    posture = message["grasp_posture"]
    assert set(posture) == {"header", "joint_names", "points"}
    assert set(posture["points"][0]) == {
        "positions", "velocities", "accelerations", "effort", "time_from_start",
    }  # fmt: skip
    assert message["grasp_pose"]["header"]["frame_id"] == "strawberry"
    there, back = (
        message[item]["direction"]["vector"]
        for item in ("pre_grasp_approach", "post_grasp_retreat")
    )
    assert {axis: -value for axis, value in there.items()} == back
    (grasp,) = grasps.grasps
    assert tuple(there.values()) == grasp.approach.direction
    assert message["pre_grasp_approach"]["desired_distance"] == APPROACH_DISTANCE
    assert dict(zip(posture["joint_names"], posture["points"][0]["positions"], strict=True)) == (
        grasp.squeeze.joints
    )
    assert tuple(message["grasp_pose"]["pose"]["position"].values()) == grasp.grasp.pose.position


ISAAC = """
format: isaac_grasp
format_version: 1.0
object_frame: /World/mug
gripper_frame: /World/hand
grasps:
  grasp_0:
    confidence: 0.0
    position: [0.1, 0.0, 0.2]
    orientation: {w: 0.0, xyz: [0.0, 0.0, 2.0]}
    cspace_position: {finger: 0.01}
    bite_point: [0, 0, 0]
"""


def test_a_file_of_the_grasp_editor_is_read(tmp_path):
    file = tmp_path / "mug.yaml"
    file.write_text(ISAAC, "utf-8")
    read = load_grasps(file)
    (grasp,) = read.grasps
    assert (read.hand, grasp.name, grasp.object.name) == ("hand", "grasp_0", "mug")
    assert grasp.grasp.pose.quaternion == (0.0, 0.0, 0.0, 1.0)
    assert grasp.pregrasp.joints == grasp.grasp.joints == {"finger": 0.01}
    assert grasp.success is False
    file.write_text(ISAAC.replace("xyz", "xy"), "utf-8")
    with pytest.raises(sg.DescriptionError) as refused:
        load_grasps(file)
    assert refused.value.field == "grasps.grasp_0.xyz"
    assert refused.value.file == file


@pytest.mark.parametrize("text", ["{}", '{"format": "other"}', "3", "{"])
def test_other_json_is_refused(text, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(text, "utf-8")
    with pytest.raises(sg.DescriptionError) as refused:
        load_grasps(file)
    assert refused.value.file == file


def test_a_version_of_tomorrow_is_refused(grasps, tmp_path):
    (file,) = save_grasps(grasps, tmp_path / "grasps.json")
    file.write_text(file.read_text("utf-8").replace('"version": 1', '"version": 2'), "utf-8")
    with pytest.raises(sg.DescriptionError) as refused:
        load_grasps(file)
    assert refused.value.field == "version"


def test_grasps_at_two_objects_do_not_fit_one_isaac_file(grasps, tmp_path):
    (grasp,) = grasps.grasps
    other = grasp.replace(name="other", object=grasp.object.replace(scale=2.0))
    both = grasps.replace(grasps=(grasp, other))
    with pytest.raises(sg.DescriptionError, match="isaac_grasp: expected grasps at one object"):
        save_grasps(both, tmp_path / "it.yaml", "isaac")


def test_results_of_two_hands_are_no_set(result):
    with pytest.raises(sg.DescriptionError, match="results of one hand, found none"):
        grasp_set({})


def test_convert_goes_from_a_result_to_other_programs_and_back(result, grasps, run, tmp_path):
    result.save(tmp_path / "first")
    ran = run("convert", tmp_path / "first", tmp_path / "first.json", "--json")
    assert ran.json == {"file": str(tmp_path / "first.json"), "kind": "result"}
    assert load_grasps(tmp_path / "first.json") == grasps
    for source, target, to in (
        ("first.json", "npy", "dexgraspbench"),
        ("npy", "again.json", "softgrasp"),
        ("again.json", "it.yaml", "isaac"),
    ):
        assert run("convert", tmp_path / source, tmp_path / target, "--to", to).code == 0
    (last,) = load_grasps(tmp_path / "it.yaml").grasps
    assert last.grasp.joints == pytest.approx(grasps.grasps[0].grasp.joints)


@pytest.mark.parametrize(
    ("quality", "success", "score"),
    [
        ({}, None, 1.0),
        ({"epsilon": 0.2}, True, 0.2),
        ({"epsilon": 0.0}, True, 1.0),  # a suction cup
        ({"epsilon": 0.2, "confidence": 0.7}, True, 0.7),
        ({"confidence": 0.0}, None, 0.0),
        ({"epsilon": 0.2}, False, 0.0),
    ],
)
def test_only_a_failed_grasp_scores_nothing(quality, success, score, grasps):
    assert grasps.grasps[0].replace(quality=quality, success=success).score == score


def test_an_unknown_format_is_not_written(grasps, tmp_path):
    with pytest.raises(sg.DescriptionError, match="found 'isac'; did you mean 'isaac'") as refused:
        save_grasps(grasps, tmp_path / "grasps", "isac")
    assert refused.value.field == "to"
    assert not [*tmp_path.iterdir()]


def test_two_grasps_of_one_name_are_no_set(grasps):
    """Formats that hold grasps by name would lose one of them."""
    with pytest.raises(sg.DescriptionError, match=f"found '{grasps.grasps[0].name}' twice"):
        grasps.replace(grasps=(grasps.grasps[0],) * 2)


def test_postures_of_other_joints_do_not_fit_dexgraspbench(grasps, tmp_path):
    first = grasps.grasps[0]
    second = first.replace(pregrasp=first.grasp.replace(joints={"other": 0.0}))
    with pytest.raises(sg.DescriptionError, match="expected the same joints in all postures"):
        save_grasps(grasps.replace(grasps=(second,)), tmp_path / "npy", "dexgraspbench")
