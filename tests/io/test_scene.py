"""Releases in YAML: read, written, and told apart from scenes."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.scene import is_release
from tests.support.scenes import ball, pinch

RELEASES = [name for name in assets.names("scenes") if is_release(name)]


def test_the_shipped_release_is_table_one_of_paper_000():
    assert RELEASES == ["paper000_release"]
    result = sg.io.load_release("paper000_release")
    assert result.finger == sg.io.load_finger("paper000")
    assert (result.tip_mass, result.webots_timestep, result.timestep) == (0.02, 1e-3, 1e-3)
    assert result.source


@pytest.mark.parametrize("name", RELEASES)
def test_every_shipped_release_comes_back_equal(name, tmp_path):
    result = sg.io.load_release(name)
    assert sg.io.load_release(sg.io.save_release(result, tmp_path / f"{name}.yaml")) == result


def test_a_changed_finger_is_written_out_and_a_nameless_release_is_called_as_its_file(tmp_path):
    finger = sg.io.load_finger("paper000")
    stiffer = finger.replace(
        joints=tuple(joint.replace(stiffness=2 * joint.stiffness) for joint in finger.joints)
    )
    made = sg.description.FingerRelease(finger=stiffer, tip_mass=0.05)
    result = sg.io.load_release(sg.io.save_release(made, tmp_path / "stiff.yaml"))
    assert result == made.replace(name="stiff")


def test_a_finger_file_lies_beside_the_release(tmp_path):
    sg.io.save_finger(sg.io.load_finger("paper000").replace(name="own"), tmp_path / "own.yaml")
    (tmp_path / "r.yaml").write_text("finger: own.yaml\ntip_mass: 0.01\n")
    assert sg.io.load_release(tmp_path / "r.yaml").finger.name == "own"


def test_a_release_is_no_scene(tmp_path, golden):
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_scene("paper000_release")
    golden(refused.value, "expected a scene with a hand and an object")


# Scenes in YAML: names, parts written out, round trips.


def test_a_scene_comes_back_equal(tmp_path):
    scene = pinch(
        name="s",
        contact=sg.Contact(stiffness=1e6, damping=1e3),
        success=sg.SuccessCriterion(),
        gravity=True,
        closure=sg.PositionIncrementClosure(rates=(1.0, 0.5, 0.2), samples=5),
        hand_pose=sg.Pose(position=(0.1, 0.2, 0.3)),
    )
    assert sg.load_scene(sg.save_scene(scene, tmp_path / "s.yaml")) == scene


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.floats(1e-3, 1.0),
    st.sampled_from(["free", "fixed", "planar"]),
    st.tuples(*[st.floats(-3, 3)] * 3),
    st.integers(0, 2**31),
)
def test_any_numbers_come_back_equal(tmp_path_factory, radius, mount, euler, seed):
    scene = pinch(
        name="any", object=ball(radius), object_mount=mount, object_euler=euler, seed=seed
    )
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    assert sg.load_scene(sg.save_scene(scene, path)) == scene


def test_a_shipped_hand_is_written_by_name_and_a_changed_one_in_full(tmp_path):
    scene = pinch(name="s")
    assert "hand: four_finger\n" in sg.save_scene(scene, tmp_path / "s.yaml").read_text()
    changed = scene.replace(hand=scene.hand.replace(source="mine"))
    path = sg.save_scene(changed, tmp_path / "s.yaml")
    assert "fingers:" in path.read_text()
    assert sg.load_scene(path) == changed


def test_the_units_of_a_scene_hold_for_all_its_fields(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\nhand: four_finger\nobject: sphere\n"
        "closure: {rates: [60, 6, 3]}\nobject_position: [0, 0, -85]\n"
        "success: {max_drop: 0.5, max_rotation: 5}\ncontact: {torsional_friction: 3}\n"
        f"hand_pose: {{position: [0, 0, 100], euler: [{math.degrees(0.5)}, 0, 0]}}\n"
    )
    scene = sg.load_scene(path)
    rotated = sg.Pose(position=(0, 0, 0.1), quaternion=(math.cos(0.25), math.sin(0.25), 0, 0))
    assert scene.hand_pose.position == rotated.position
    assert scene.hand_pose.quaternion == pytest.approx(rotated.quaternion)
    assert scene.closure.rates == pytest.approx([math.radians(rate) for rate in (60, 6, 3)])
    assert scene.object_position == (0, 0, -0.085)
    assert scene.success == sg.SuccessCriterion(max_drop=5e-4, max_rotation=math.radians(5))
    assert scene.contact.specified == {"torsional_friction": 0.003}


def test_a_shipped_object_with_another_density(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("hand: four_finger\nobject: {library: sphere, density: 123}\n")
    assert sg.load_scene(path).object == sg.load_object("sphere", density=123)


GRASP = "hand: four_finger\nobject: sphere\n"
MISTAKES = [
    ("hand: four_fingers\nobject: sphere\n", "1: hand"),
    ("hand: four_finger\nobject: sphare\n", "2: object"),
    ("object: sphere\n", "hand"),
    ("hand: four_finger\nobject: [sphere]\n", "2: object"),
    (GRASP + "hand_pose: {eulr: [1, 0, 0]}\n", "3: the hand: hand_pose.eulr"),
    (GRASP + "object_position: [0, 0]\n", "3: object_position"),
    (GRASP + "control_period: 1e-6\nduration: 10\n", "3: control_period"),
    ("hand: four_finger\nobject: {library: sphere, colour: red}\n", "2: object"),
    ("hand: four_finger\nobject:\n  name: b\n  shape: {type: sphere, radius: 0}\n  mass: 1\n",
     "4: object.shape.radius"),
    (GRASP + "duration: -1\n", "3: duration"),
    (GRASP + "objects: [sphere]\n", "3: objects"),
    (GRASP + "objects:\n  - {object: sphare, position: [1, 0, 0]}\n", "4: objects[0].object"),
    (GRASP + "objects:\n  - {position: [1, 0, 0]}\n", "4: objects[0].object"),
    (GRASP + "objects:\n  - {object: sphere}\n", "4: objects[0].position"),
    (GRASP + "objects:\n  - object: sphere\n    position: [1, 0]\n", "5: objects[0].position"),
    (GRASP + "surroundings:\n  - {type: wall, point: [0, 0, 0], normal: [1, 0]}\n",
     "4: surroundings[0].normal"),
    (GRASP + "surroundings:\n  - type: block\n    position: [0, 0, 0]\n    size: [1, 2, -3]\n",
     "6: surroundings[0].size[2]"),
]  # fmt: skip
MISTAKES_OF_RELEASES = [
    ("finger: paper00\ntip_mass: 0.02\n", "1: finger"),
    ("finger: paper000\ntip_mass: -1\n", "2: tip_mass"),
    ("finger: [1]\ntip_mass: 0.02\n", "1: finger"),
    ("finger: paper000\n", "tip_mass"),
    ("tip_mass: 0.02\n", "finger"),
    ("finger:\n  joints: []\n  links: []\n  tip: [0, 0, 0]\ntip_mass: 0.02\n", "2: finger.joints"),
    (GRASP, "expected the release of a finger (finger, tip_mass)"),
]


@pytest.mark.parametrize(
    ("load", "text", "part"),
    [
        *((sg.load_scene, *case) for case in MISTAKES),
        *((sg.io.load_release, *case) for case in MISTAKES_OF_RELEASES),
    ],
)
def test_mistakes_are_reported_with_file_line_and_field(load, text, part, tmp_path, golden):
    (tmp_path / "s.yaml").write_text(text)
    golden.refused(lambda: load(tmp_path / "s.yaml"), part)


@pytest.mark.parametrize("name", [name for name in assets.names("scenes") if not is_release(name)])
def test_every_shipped_scene_loads_and_comes_back_equal(name, tmp_path):
    scene = sg.load_scene(name)
    assert sg.load_scene(sg.save_scene(scene, tmp_path / f"{name}.yaml")) == scene


# Further objects and surroundings in scene files: names, units, round trips, mistakes.


NUMBER = st.floats(-2, 2)
PLACE = st.tuples(NUMBER, NUMBER, NUMBER)
EDGE = st.floats(1e-3, 1.0)
CONTACT = st.sampled_from([None, sg.Contact(static_friction=0.2)])

PARTS = st.one_of(
    st.builds(sg.Table, height=NUMBER, center=st.one_of(st.none(), st.tuples(NUMBER, NUMBER)),
              size=st.tuples(EDGE, EDGE), contact=CONTACT),
    st.builds(
        sg.description.Wall, point=PLACE, normal=PLACE.filter(lambda n: max(map(abs, n)) > 1e-3),
        size=st.tuples(EDGE, EDGE), thickness=EDGE, contact=CONTACT,
    ),
    st.builds(sg.description.Block, position=PLACE, euler=PLACE, size=st.tuples(EDGE, EDGE, EDGE),
              contact=CONTACT),
)  # fmt: skip
OBJECTS = st.builds(
    sg.description.PlacedObject,
    object=st.sampled_from([ball(), sg.load_object("cuboid")]),
    position=PLACE,
    euler=PLACE,
    mount=st.sampled_from(["free", "fixed", "planar"]),
    contact=CONTACT,
)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(OBJECTS, max_size=3), st.lists(PARTS, max_size=4))
def test_any_objects_and_surroundings_come_back_equal(tmp_path_factory, objects, parts):
    scene = pinch(name="any", objects=tuple(objects), surroundings=tuple(parts))
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    assert sg.load_scene(sg.save_scene(scene, path)) == scene


def test_objects_are_named_or_written_out_and_units_hold_for_them(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\nhand: four_finger\nobject: sphere\n"
        "objects:\n"
        "  - {object: cuboid, position: [50, 0, -85], euler: [0, 0, 90], mount: fixed}\n"
        "  - {object: {library: sphere, density: 123}, position: [0, 100, 0]}\n"
        # an object that is written out has units of its own, as the one to be grasped
        "  - object: {name: bar, shape: {type: capsule, radius: 0.005, length: 0.06}, mass: 0.1}\n"
        "    position: [0, 0, 200]\n"
        "surroundings:\n"
        "  - {height: -120}\n"
        "  - {type: wall, point: [-50, 0, 0], normal: [1, 0, 0], size: [200, 100], thickness: 10}\n"
        "  - {type: block, position: [0, 0, -300], size: [10, 20, 30], euler: [0, 0, 45]}\n",
        encoding="utf-8",
    )
    scene = sg.load_scene(path)
    box, second, bar = scene.objects
    assert box.object == sg.load_object("cuboid")
    assert box.position == (0.05, 0, -0.085)
    assert box.euler == pytest.approx((0, 0, math.pi / 2))
    assert box.mount == "fixed"
    assert second.object == sg.load_object("sphere", density=123)
    assert bar.object.shape == sg.description.Capsule(radius=0.005, length=0.06)
    assert scene.object_names == ("sphere", "cuboid", "sphere2", "bar")
    table, wall, block = scene.surroundings
    assert table == sg.Table(height=-0.12)
    assert wall == sg.description.Wall(
        point=(-0.05, 0, 0), normal=(1, 0, 0), size=(0.2, 0.1), thickness=0.01
    )
    assert isinstance(block, sg.description.Block)
    assert block.size == pytest.approx((0.01, 0.02, 0.03))
    assert block.euler == pytest.approx((0, 0, math.pi / 4))


def test_a_shipped_further_object_is_written_by_its_name(tmp_path):
    other = sg.description.PlacedObject(object=sg.load_object("cuboid"), position=(1, 0, 0))
    text = sg.save_scene(pinch(name="s", objects=(other,)), tmp_path / "s.yaml").read_text()
    assert "object: cuboid\n" in text
    assert "mount" not in text
