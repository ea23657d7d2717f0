"""Hands, objects and robots by name and by file."""

import math

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.load import load_robot
from softgrasp.io.urdf import write_robot
from tests.support.scenes import pinch

NAMES = assets.names("robots")
TETRAHEDRON = "v 0 0 0\nv 40 0 0\nv 0 40 0\nv 0 0 40\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def test_a_mesh_file_in_millimetres(tmp_path):
    path = tmp_path / "corner.obj"
    path.write_text(TETRAHEDRON)
    obj = sg.load_object(path, density=1000, units="mm")
    model = sg.compile_model(pinch(object=obj))
    assert model.body("object").mass[0] == pytest.approx(1000 * 0.04**3 / 6)


def test_a_mesh_file_needs_a_mass(tmp_path, golden):
    path = tmp_path / "corner.obj"
    path.write_text(TETRAHEDRON)
    golden.refused(lambda: sg.load_object(path), "expected exactly one of mass and density")


@pytest.mark.parametrize(("name", "sentence"), [("a.xml", "a.xml"), ("some/hand", "some/hand")])
def test_files_of_other_kinds_are_refused(name, sentence, golden):
    golden.refused(lambda: sg.load_hand(name), sentence)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_robot_by_name_by_bare_file_name_and_by_path(name):
    robot = load_robot(name)
    assert robot.name == name
    assert robot.source
    assert load_robot(f"{name}.ucrdf") == robot
    assert load_robot(assets.find("robots", name)) == robot


def test_a_file_here_comes_before_a_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_robot(load_robot("soft_gripper_two"), "three_segment_arm.ucrdf")
    assert load_robot("three_segment_arm.ucrdf").name == "soft_gripper_two"
    assert load_robot("three_segment_arm").name == "three_segment_arm"


def test_the_arm_has_the_dimensions_of_paper_002():
    arm = load_robot("three_segment_arm")
    for part in arm.bendables:
        assert (part.backbone.length, 2 * part.backbone.radius) == (0.316, 0.154)
        assert part.theta_max == math.radians(60)
        angles = sorted(actuator.angle for actuator in part.actuation)
        assert angles == pytest.approx([-math.tau / 3, 0, math.tau / 3])
    assert math.fsum(part.backbone.length for part in arm.bendables) == pytest.approx(0.948)


@pytest.mark.parametrize(
    ("name", "finger"), [("soft_gripper_two", "left_finger"), ("rigid_soft_finger", "finger")]
)
def test_the_largest_pressure_bends_a_finger_to_its_limit(name, finger):
    """As the comments of the files say: κ = p·A·r/EI."""
    part = load_robot(name).bendable(finger)
    chamber = part.actuation[0]
    assert chamber.type == "chamber"
    assert chamber.pressure_max is not None
    assert part.backbone.bending_stiffness is not None
    moment = chamber.pressure_max * chamber.area * chamber.radius
    assert moment / part.backbone.bending_stiffness == pytest.approx(part.kappa_max)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("three_segment_arn", "no robot 'three_segment_arn'"),
        ("three_segment_arn.ucrdf", "three_segment_arn.ucrdf"),
        ("robots/arm", "robots/arm"),
        ("arm.sdl", "arm.sdl"),
    ],
)
def test_no_such_robot(name, sentence, tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    golden.refused(lambda: load_robot(name), sentence)


def test_a_model_of_gazebo_is_refused_with_its_cure(tmp_path):
    path = tmp_path / "gripper.sdf"
    path.write_text('<sdf version="1.7"><model name="m"/></sdf>')
    for load in (sg.load_hand, sg.load_object):
        with pytest.raises(sg.DescriptionError, match="SDFormat, which is not read; load the URDF"):
            load(path)
