"""Scenes and runs in USD, opened by its own library: poses, shapes, masses and joints."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.exports import write_usd
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.pipeline import compile_model
from tests.support.mjcf_hands import WRIST, written
from tests.support.scenes import ball, pinch

pxr = pytest.importorskip("pxr", reason="usd-core is the extra 'usd'")
from pxr import Usd, UsdGeom, UsdPhysics  # noqa: E402

FPS = 50


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    rotated = sg.Pose(position=(0.1, -0.2, 0.4), quaternion=(0.8, 0.0, 0.6, 0.0))
    test = sg.SuccessCriterion(hold_time=0.05)
    strawberry = sg.load_object("strawberry")
    return sg.simulate(pinch(object=strawberry, hand_pose=rotated, success=test))


@pytest.fixture(scope="module")
def stage(result: sg.GraspResult, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Usd.Stage.Open(str(write_usd(result, tmp_path_factory.mktemp("usd") / "run.usdc", FPS)))


def prim_of(stage: Any, body: str) -> Any:
    (found,) = [prim for prim in stage.Traverse() if prim.GetName() == body]
    return found


def world(stage: Any, prim: Any, time: float) -> Array:
    return np.array(UsdGeom.XformCache(Usd.TimeCode(time)).GetLocalToWorldTransform(prim)).T


def samples(result: sg.GraspResult) -> list[float]:
    last = int(result.time[-1] * FPS) / FPS
    return [0.0, 5 / FPS, 12 / FPS, last]


def test_bodies_are_where_mujoco_has_them(stage, result):
    """Time codes are seconds, and every sample is a pose of the run."""
    replay = ReplayedResult(result)
    assert stage.GetTimeCodesPerSecond() == 1.0
    moved = 0.0
    for time in samples(result):
        data = replay.pose(time)
        for body in range(1, replay.model.nbody):
            pose = world(stage, prim_of(stage, replay.model.body(body).name), time)
            expected = transform(data.xpos[body], data.xquat[body])
            np.testing.assert_allclose(pose, expected, atol=1e-9)
            moved = max(
                moved,
                np.abs(
                    pose - world(stage, prim_of(stage, replay.model.body(body).name), 0.0)
                ).max(),
            )
    assert moved > 0.1


def test_shapes_have_the_vertices_of_mujoco(stage, result):
    """Bounds of every shape in the world, from USD's own extents."""
    replay = ReplayedResult(result)
    model, data = replay.model, replay.pose(0.0)
    boxes = UsdGeom.BBoxCache(Usd.TimeCode(0.0), [UsdGeom.Tokens.default_, UsdGeom.Tokens.guide])
    compared = 0
    for geom in range(model.ngeom):
        if int(model.geom_type[geom]) != mujoco.mjtGeom.mjGEOM_MESH:
            continue
        mesh = int(model.geom_dataid[geom])
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        vertices = model.mesh_vert[first : first + count]
        points = vertices @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        prim = prim_of(stage, f"geom{geom}")
        bounds = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get())
        in_world = bounds @ world(stage, prim, 0.0)[:3, :3].T + world(stage, prim, 0.0)[:3, 3]
        np.testing.assert_allclose(in_world, points, atol=1e-6)
        assert not boxes.ComputeWorldBound(prim).GetRange().IsEmpty()
        compared += 1
    assert compared > 0


def test_rigid_bodies_have_the_masses_of_mujoco(stage, result):
    model = ReplayedResult(result).model
    for body in range(1, model.nbody):
        prim = prim_of(stage, model.body(body).name)
        is_rigid = prim.HasAPI(UsdPhysics.RigidBodyAPI)
        assert is_rigid == bool(model.body_weldid[body])
        if is_rigid:
            mass = UsdPhysics.MassAPI(prim)
            assert mass.GetMassAttr().Get() == pytest.approx(model.body_mass[body], rel=1e-6)
            inertia = np.array(mass.GetDiagonalInertiaAttr().Get())
            np.testing.assert_allclose(inertia, model.body_inertia[body], rtol=1e-6)
    colliders = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.CollisionAPI)]
    assert len(colliders) >= 13


def test_joint_frames_meet_at_every_time(stage, result):
    assert hinges_that_meet(stage, result) == 12
    roots = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.ArticulationRootAPI)]
    assert len(roots) == 1


@pytest.mark.filterwarnings("ignore:hand.xml:softgrasp.SoftgraspWarning")
def test_joints_with_offsets_and_references_meet_too(tmp_path):
    """A joint off the origin of its body, one with a reference, and two on one body."""
    beside = WRIST.replace('<joint name="ffj1"', '<joint name="ffj1" pos="0 0 .003"')
    hand = sg.load_hand(written(tmp_path, beside))
    run = sg.simulate(sg.GraspScene(hand=hand, object=ball(0.02), duration=0.3))
    stage = Usd.Stage.Open(str(write_usd(run, tmp_path / "it.usda", FPS)))
    assert hinges_that_meet(stage, run) == 5
    (generic,) = [prim for prim in stage.Traverse() if prim.GetTypeName() == "PhysicsJoint"]
    locked = [name.rpartition(":")[2] for name in generic.GetAppliedSchemas()]
    assert locked == ["transX", "transY", "transZ", "rotZ"]
    for name in locked:
        limit = UsdPhysics.LimitAPI(generic, name)
        assert limit.GetLowAttr().Get() > limit.GetHighAttr().Get()


def hinges_that_meet(stage: Any, result: sg.GraspResult) -> int:
    """Parent frame, rotated about x by the joint variable, is the child frame."""
    replay = ReplayedResult(result)
    model = replay.model
    hinges = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.RevoluteJoint)]
    for time in samples(result):
        data = replay.pose(time)
        for prim in hinges:
            joint = UsdPhysics.RevoluteJoint(prim)
            (child,) = joint.GetBody1Rel().GetTargets()
            parents = joint.GetBody0Rel().GetTargets()
            outer = frame(joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get())
            inner = frame(joint.GetLocalPos1Attr().Get(), joint.GetLocalRot1Attr().Get())
            if parents:
                outer = world(stage, stage.GetPrimAtPath(parents[0]), time) @ outer
            number = int(model.body(child.name).jntadr[0])
            rotated = np.eye(4)
            angle = data.qpos[model.jnt_qposadr[number]] - model.qpos0[model.jnt_qposadr[number]]
            rotated[:3, :3] = Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix()
            in_child = world(stage, stage.GetPrimAtPath(child), time) @ inner
            np.testing.assert_allclose(outer @ rotated, in_child, atol=2e-6)
            assert joint.GetAxisAttr().Get() == "X"
            low = model.jnt_range[number][0] - model.qpos0[model.jnt_qposadr[number]]
            assert joint.GetLowerLimitAttr().Get() == pytest.approx(np.degrees(low), rel=1e-5)
    return len(hinges)


def frame(position: Any, rotation: Any) -> Array:
    return transform(list(position), [rotation.GetReal(), *rotation.GetImaginary()])


def test_the_stage_has_metres_and_gravity(run, tmp_path):
    assert run("convert", "demo", "scene.usda", "--out", tmp_path).code == 0
    stage = Usd.Stage.Open(str(tmp_path / "scene.usda"))
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    assert stage.GetDefaultPrim().GetName() == "World"
    model = compile_model(sg.load_scene("demo"))
    physics = UsdPhysics.Scene(stage.GetPrimAtPath("/World/physics"))
    size = physics.GetGravityMagnitudeAttr().Get()
    assert size == pytest.approx(np.linalg.norm(model.opt.gravity))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    pose = world(stage, prim_of(stage, "object"), 0.0)
    np.testing.assert_allclose(pose[:3, 3], data.body("object").xpos, atol=1e-9)


def test_a_hand_on_a_wrist_keeps_its_six_freedoms(tmp_path):
    file = write_usd(sg.load_scene("sequence_strawberry"), tmp_path / "it.usda")
    stage = Usd.Stage.Open(str(file))
    generic = [p for p in stage.Traverse() if p.GetTypeName() == "PhysicsJoint"]
    model = compile_model(sg.load_scene("sequence_strawberry"))
    several = [body for body in range(model.nbody) if model.body_jntnum[body] > 1]
    assert len(generic) == len(several) > 0
    for prim, body in zip(generic, several, strict=True):
        locked = [name for name in prim.GetAppliedSchemas() if "LimitAPI" in name]
        assert len(locked) == 6 - model.body_jntnum[body]


@pytest.mark.parametrize("name", ["demo", "demo_soft", "corner"])
def test_the_validators_of_usd_find_nothing(name, tmp_path):
    """Among them those of rigid bodies, colliders, joints and articulations."""
    validation = pytest.importorskip("pxr.UsdValidation", reason="usd-core 25.5 and newer")
    file = write_usd(sg.load_scene(name), tmp_path / "it.usdc")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    names = {validator.GetMetadata().name for validator in validators}
    assert "usdPhysicsValidators:ArticulationChecker" in names
    errors = validation.ValidationContext(validators).Validate(Usd.Stage.Open(str(file)))
    assert [error.GetMessage() for error in errors] == []


def test_a_deformable_object_is_refused(tmp_path):
    with pytest.raises(sg.DescriptionError, match="expected rigid objects in USD"):
        write_usd(sg.load_scene("foam_cube"), tmp_path / "it.usda")


@pytest.mark.parametrize("name", ["it.obj", "it"])
def test_another_ending_is_refused(name, tmp_path):
    with pytest.raises(
        sg.DescriptionError, match=r"expected a name ending in \.usda, \.usdc, \.usd"
    ):
        write_usd(pinch(), tmp_path / name)


def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(result, tmp_path, monkeypatch):
    path = tmp_path / "run.usda"
    path.write_text("earlier")

    def failing(_: object, file: str) -> None:
        Path(file).write_text("half", encoding="utf-8")
        raise KeyError("cut off")

    monkeypatch.setattr(Usd.Stage, "Export", failing)
    with pytest.raises(KeyError):
        write_usd(result, path, FPS)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]
