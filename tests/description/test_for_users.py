"""What users of an editor, a notebook and Python's prompt see of descriptions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.assets import names
from softgrasp.description.base import Description, field_docs

MISTAKES = {
    "sg.Contact(stiffnes=1e5)": "stiffnes",
    'sg.GraspScene(hand="x", object=strawberry)': "hand",
    "sg.GraspScene(hand=hand, object=3)": "object",
    "sg.GraspScene(hand=hand)": "object",
    'sg.GraspScene(hand=hand, object=strawberry, grasp="pinch")': "grasp",
    "sg.Contact().stiffness = 1.0": "stiffness",
    "sg.Sphere(0.02)": "positional",
    "sg.Pose(position=(0.0, 0.0))": "position",
    "sg.simulate(3)": "simulate",
    "sg.sweep(scene)": "sweep",
    "result.helt": "helt",
    'sg.load_hnd("four_finger")': "load_hnd",
}
"""Mistakes of a user, with a word of the message that names them."""
RIGHT = """import softgrasp as sg

hand, strawberry = sg.load_hand("four_finger"), sg.load_object("strawberry")
contact = sg.Contact(stiffness=1e5, damping=300)
scene = sg.GraspScene(hand=hand, object=strawberry, contact=contact, gravity=True)
changed: sg.GraspScene = scene.replace(gravity=9.81)
gravity: tuple[float, float, float] = scene.gravity
result: sg.GraspResult = sg.simulate("demo")
"""


def complaints(command: list[str], path: Path) -> dict[int, str]:
    """Run a type checker on a file; return its errors by line."""
    done = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, timeout=300, check=False
    )
    errors: dict[int, str] = {}
    for line in done.stdout.splitlines():
        if "error" in line and f"{path.name}:" in line:
            number = int(line.split(f"{path.name}:")[1].split(":")[0])
            errors[number] = errors.get(number, "") + line
    return errors


def checker(name: str) -> list[str]:
    """Return the command of a type checker, which reads the package of this interpreter."""
    if name == "mypy":
        return [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; pip install {name}")
    return [found, "--pythonpath", sys.executable]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_a_type_checker_names_every_mistake(name: str, tmp_path: Path) -> None:
    command, script = checker(name), tmp_path / "script.py"
    script.write_text(RIGHT + "\n".join(MISTAKES) + "\n", "utf-8")
    errors = complaints(command, script)
    first = RIGHT.count("\n") + 1
    assert sorted(errors) == list(range(first, first + len(MISTAKES))), errors
    for number, word in enumerate(MISTAKES.values(), start=first):
        assert word in errors[number], errors[number]


@pytest.mark.parametrize(
    ("hand", "described"),
    [("four_finger", "strawberry"), (Path("hands/four_finger.yaml"), "strawberry")],
)
def test_a_scene_takes_names_and_files(hand: str | Path, described: str) -> None:
    expected = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("strawberry"))
    assert sg.GraspScene(hand=hand, object=described) == expected  # type: ignore[arg-type]
    with pytest.raises(sg.DescriptionError, match="did you mean 'four_finger'"):
        sg.GraspScene(hand="four_fingr", object=described)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["hand", "object"])
def test_a_wrong_type_names_what_loads_the_right_one(field: str) -> None:
    right = {"hand": sg.load_hand("four_finger"), "object": sg.load_object("strawberry")}
    with pytest.raises(sg.DescriptionError) as caught:
        sg.GraspScene(**right | {field: 3})
    assert (caught.value.field, caught.value.actual) == (field, 3)
    assert f"softgrasp.load_{field}" in str(caught.value)


@pytest.mark.parametrize("verb", [sg.simulate, sg.resolve, sg.compile_model, sg.sweep])
def test_verbs_refuse_what_is_no_scene(verb) -> None:
    for wrong in (sg.load_hand("four_finger"), 3, None):
        with pytest.raises(sg.DescriptionError, match="expected a"):
            verb(wrong)


def test_verbs_take_the_name_of_a_scene() -> None:
    assert sg.resolve("demo").scene.hand == sg.load_scene("demo").replace(adapt_grasp=False).hand
    assert sg.compile_model("demo").nbody == sg.compile_model(sg.load_scene("demo")).nbody


def test_gravity_is_a_vector_a_size_or_a_switch() -> None:
    scene = sg.load_scene("demo")
    for value in (True, 9.81, -9.81, (0.0, 0.0, -9.81)):
        assert scene.replace(gravity=value).gravity == (0.0, 0.0, -9.81)
    assert scene.replace(gravity=False).gravity == (0.0, 0.0, 0.0)


def test_representations_are_short() -> None:
    shown = [sg.load_hand(name) for name in names("hands")]
    shown += [sg.load_object(name) for name in names("objects")]
    shown += [sg.load_scene(name) for name in names("scenes") if name != "paper000_release"]
    for item in shown:
        assert len(repr(item)) <= 200
        assert item.name in repr(item)
    assert repr(sg.Contact(stiffness=2e4)) == "Contact(stiffness=20000.0)"
    pose = sg.Pose(position=(1.0, 2.0, 3.0))
    assert eval(repr(pose), {"Pose": sg.Pose}) == pose


def test_every_field_is_described_in_the_json_schema() -> None:
    schema = sg.GraspScene.model_json_schema()
    kinds = {subclass.__name__: subclass for subclass in subclasses(Description)}
    for name, part in {"GraspScene": schema, **schema["$defs"]}.items():
        documented = field_docs(kinds[name])
        for field, entry in part.get("properties", {}).items():
            assert "description" in entry or field not in documented, (name, field)
    assert schema["properties"]["timestep"]["description"].startswith("Physics step [s]")


def subclasses(kind: type) -> list[type]:
    return [kind, *(subclass for sub in kind.__subclasses__() for subclass in subclasses(sub))]


def test_poses_from_matrices_and_angles_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for rotation in Rotation.random(100, rng):
        expected = rotation.as_quat()[[3, 0, 1, 2]]
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = rotation.as_matrix(), rng.standard_normal(3)
        pose = sg.Pose.from_matrix(matrix)
        assert abs(np.dot(pose.quaternion, expected)) == pytest.approx(1.0, abs=1e-12)
        assert pose.position == pytest.approx(matrix[:3, 3])
        euler = rng.uniform(-3.0, 3.0, 3)
        expected = Rotation.from_euler("ZYX", euler[::-1]).as_quat()[[3, 0, 1, 2]]
        for pose in (
            sg.Pose.from_euler(euler),
            sg.Pose.from_euler(np.degrees(euler), degrees=True),
        ):
            assert abs(np.dot(pose.quaternion, expected)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("matrix", [np.diag([1.0, 1.0, -1.0]), 2.0 * np.eye(3), np.eye(2), [[1.0]]])
def test_what_is_no_rotation_is_no_pose(matrix) -> None:
    with pytest.raises(sg.DescriptionError, match=r"expected a (rotation|matrix)"):
        sg.Pose.from_matrix(matrix)
