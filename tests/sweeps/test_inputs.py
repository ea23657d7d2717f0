"""A sweep is resumed with the files it began with, whatever their depth."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import trimesh
from PIL import Image

import softgrasp as sg
from softgrasp.description.sweep import Axis, GraspPlan, SweepPlan
from softgrasp.io.input_limits import record_inputs
from softgrasp.io.load import find_changed_input, input_hashes, list_described_files
from softgrasp.io.scene import load_plan
from softgrasp.sweeps import synthesis
from softgrasp.sweeps.executors import Rows
from softgrasp.sweeps.parameters import files_of
from softgrasp.sweeps.run import Shard, merge, sweep
from softgrasp.sweeps.storage import PLAN, SweepStore, require_inputs
from softgrasp.sweeps.table import make_failed_row
from tests.support.mjcf_hands import MOTORS

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")

XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
LINK = """<link name="l"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="link.stl"/></geometry></collision></link>"""
TEXTS = {
    "plan.yaml": "scene: scene.yaml\naxes: {object: [ball.yaml, o.urdf.xacro, bare.stl, m.xml]}\n"
    "method: list\n",
    "scene.yaml": "hand: hand.yaml\nobject: {name: b, shape: {type: mesh, file: inline.obj,"
    " collision: parts, parts: pieces.obj}, density: 700}\n",
    "hand.yaml": "model: hand.xml\n",
    "hand.xml": MOTORS.replace(
        "<worldbody>",
        '<include file="first.xml"/><asset><mesh name="m" file="seen.stl"/><texture name="t" '
        'type="2d" file="skin.png"/><material name="t" texture="t"/><model name="tip" '
        'file="tip.xml"/></asset><worldbody>',
    ).replace(
        '<body name="a"',
        '<geom type="mesh" mesh="m" material="t" contype="0" conaffinity="0" mass="0"/>'
        '<frame pos="0 0 .3"><attach model="tip" body="tip" prefix="tip_"/></frame><body name="a"',
    ),
    "first.xml": '<mujoco><include file="second.xml"/></mujoco>',
    "second.xml": '<mujoco><option timestep="0.002"/></mujoco>',
    "tip.xml": '<mujoco><include file="second_of_tip.xml"/><asset><mesh name="m" file="tip.stl"/>'
    '</asset><worldbody><body name="tip"><geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
    "</body></worldbody></mujoco>",
    "second_of_tip.xml": '<mujoco><option timestep="0.002"/></mujoco>',
    "ball.yaml": "name: ball\nshape: {type: mesh, file: cup.stl}\ndensity: 500\n",
    "o.urdf.xacro": f'<robot name="o" {XACRO}><xacro:include filename="one.xacro"/></robot>',
    "one.xacro": f'<robot {XACRO}><xacro:include filename="two.xacro"/></robot>',
    "two.xacro": f"<robot {XACRO}>{LINK}</robot>",
    "m.xml": '<mujoco><include file="body.xml"/></mujoco>',
    "body.xml": '<mujoco><asset><mesh name="m" file="body.stl"/></asset><worldbody><body name="m">'
    '<freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>',
}
MESHES = ("inline.obj", "pieces.obj", "seen.stl", "tip.stl", "cup.stl", "link.stl", "bare.stl",
          "body.stl")  # fmt: skip


def written(directory: Path) -> Path:
    """Write a plan whose files name others, and return its directory."""
    directory.mkdir()
    for name, text in TEXTS.items():
        (directory / name).write_text(text, encoding="utf-8")
    for name in MESHES:
        trimesh.creation.icosphere(subdivisions=1, radius=0.03).export(directory / name)
    Image.new("RGB", (4, 4)).save(directory / "skin.png")
    return directory


def read(directory: Path) -> tuple[SweepPlan, list[Path]]:
    """Return the plan and the files that were read for it."""
    with record_inputs() as files:
        plan = load_plan(directory / "plan.yaml")
    return plan, files


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Directory of the plan, in which the process is: axes name files relative to it."""
    pytest.importorskip("xacro", reason="xacro is an extra")
    monkeypatch.chdir(written(tmp_path / "files"))
    return tmp_path / "files"


def begun(out: Path, plan: SweepPlan, files: Sequence[Path] = ()) -> Path:
    """Write the directory of a sweep with one finished row."""
    with SweepStore(out, plan, files=files) as store:
        store.add([Rows(plan).inputs(0) | make_failed_row("none")])
    return out


def resumed(out: Path, plan: SweepPlan, files: Sequence[Path] = ()) -> list[int]:
    """Return the rows that a sweep goes on from."""
    with SweepStore(out, plan, files=files) as store:
        return list(store.finished())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_change_of_any_file_at_any_depth_is_refused(inside: Path, tmp_path: Path) -> None:
    plan, files = read(inside)
    out = begun(tmp_path / "out", plan, files)
    for file in sorted(inside.iterdir()):
        before = file.read_bytes()
        file.write_bytes(before + b"\n")
        sentence = (
            f"{out}: expected the files with which this sweep began, found another content of "
            f"{file}; bring the old one back, or choose another directory"
        )
        with pytest.raises(sg.ResultError, match=f"^{re.escape(sentence)}$"):
            resumed(out, plan, files)
        with pytest.raises(sg.ResultError, match=f"^{re.escape(sentence)}$"):
            require_inputs(out)
        file.write_bytes(before)
        assert resumed(out, plan, files) == [0]
    for file in sorted(inside.iterdir()):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(sg.ResultError, match="found another content of "):
            resumed(out, plan, files)
        file.write_bytes(content)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_files_of_a_plan_do_not_depend_on_what_was_read_before(inside: Path) -> None:
    plan, files = read(inside)
    assert {"plan.yaml", "hand.yaml", "second.xml", "tip.stl", "skin.png"} <= {
        file.name for file in files
    }
    first = input_hashes(files_of(plan))
    for _ in range(2):
        assert input_hashes(files_of(load_plan(inside / "plan.yaml"))) == first
    names = {Path(name).name for name in first}
    assert names == {path.name for path in inside.iterdir()} - {
        "plan.yaml", "scene.yaml", "hand.yaml",
    }  # fmt: skip


def test_a_moved_directory_of_equal_files_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = written_plan(tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    out = begun(tmp_path / "out", plan)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    shutil.rmtree(tmp_path / "old")
    assert resumed(out, plan) == [0]
    for name, other in (("ball.yaml", "cup.yaml"), ("cup.yaml", "ball.yaml")):
        Path(f"new_{name}").write_bytes(Path(other).read_bytes())
    for name in ("ball.yaml", "cup.yaml"):
        Path(f"new_{name}").replace(name)
    with pytest.raises(sg.ResultError, match=r"found another content of .*new/ball"):
        resumed(out, plan)


def written_plan(directory: Path) -> SweepPlan:
    """Write two objects, and return a plan that names them in an axis."""
    directory.mkdir()
    for name, radius in (("ball", 0.03), ("cup", 0.04)):
        text = f"name: {name}\nshape: {{type: sphere, radius: {radius}}}\ndensity: 500\n"
        (directory / f"{name}.yaml").write_text(text, encoding="utf-8")
    ball = sg.GraspObject(name="b", shape=sg.Sphere(radius=0.03), density=700)
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball, duration=0.02)
    return SweepPlan(scene=scene, axes=(Axis(path="object", values=("ball.yaml", "cup.yaml")),))


def mesh_plan(directory: Path) -> SweepPlan:
    """Write a mesh and a plan with an object of it, and return the plan."""
    directory.mkdir()
    trimesh.creation.icosphere(subdivisions=1, radius=0.03).export(directory / "ball.obj")
    (directory / "plan.yaml").write_text(
        "scene: {hand: four_finger, object: {name: b, shape: {type: mesh, file: ball.obj}, "
        "density: 700}, duration: 0.01}\n"
        "axes: {contact.static_friction: {low: 0.3, high: 0.9, steps: 4}}\n",
        encoding="utf-8",
    )
    return load_plan(directory / "plan.yaml")


def grown(directory: Path) -> None:
    """Replace the mesh by a larger one."""
    trimesh.creation.icosphere(subdivisions=1, radius=0.04).export(directory / "ball.obj")


def test_a_killed_sweep_mixes_no_two_meshes(tmp_path: Path) -> None:
    plan, out = mesh_plan(tmp_path / "files"), tmp_path / "out"
    before = (tmp_path / "files/ball.obj").read_bytes()

    def killed(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(plan, out, workers=1, progress=killed)
    grown(tmp_path / "files")
    with pytest.raises(sg.ResultError, match=r"found another content of .*files/ball\.obj; bring"):
        sweep(plan, out, workers=1)
    (tmp_path / "files/ball.obj").write_bytes(before)
    hashes = [sweep(plan, where, workers=1)["trajectory_sha256"].tolist() for where in (out, None)]
    assert hashes[0] == hashes[1]
    assert "" not in hashes[0]


def test_a_mesh_that_changes_while_the_sweep_runs_is_reported(tmp_path: Path) -> None:
    plan, out = mesh_plan(tmp_path / "files"), tmp_path / "out"
    with pytest.raises(sg.ResultError, match=r"found another content of .*files/ball\.obj; bring"):
        sweep(plan, out, workers=1, progress=lambda *_: grown(tmp_path / "files"))
    assert not (out / "sweep.csv").exists()


def test_shards_of_other_meshes_are_not_merged(tmp_path: Path) -> None:
    plan, out = mesh_plan(tmp_path / "files"), tmp_path / "out"
    sweep(plan, out, workers=1, shard=Shard(1, 2))
    grown(tmp_path / "files")
    sweep(plan, out, workers=1, shard=Shard(2, 2))
    with pytest.raises(sg.ResultError, match=r"shard-2-of-2: .* content of .*files/ball\.obj"):
        merge(out)
    shutil.rmtree(out / "shard-1-of-2")
    sweep(plan, out, workers=1, shard=Shard(1, 2))
    (tmp_path / "files/ball.obj").unlink()  # shards are merged where the files are not
    assert len(merge(out)) == 4


def test_a_journal_without_hashes_of_its_files_is_not_resumed(tmp_path: Path) -> None:
    plan = mesh_plan(tmp_path / "files")
    out = begun(tmp_path / "out", plan)
    content = json.loads((out / PLAN).read_text("utf-8"))
    del content["inputs"]
    (out / PLAN).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(sg.ResultError, match=r"found another content of .*files/ball\.obj"):
        resumed(out, plan)


def test_postures_of_another_mesh_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = GraspPlan(scene=mesh_plan(tmp_path / "files").scene, method="synthesis", candidates=1)
    calls: list[GraspPlan] = []
    monkeypatch.setattr(synthesis, "arrange_postures", lambda plan: calls.append(plan) or [])
    for _ in range(2):
        synthesis.keep_postures(plan, tmp_path / "out")
    assert len(calls) == 1
    grown(tmp_path / "files")
    synthesis.keep_postures(plan, tmp_path / "out")
    assert len(calls) == 2


def test_files_are_compared_by_order_and_content() -> None:
    before = {"a": "1", "b": "2"}
    assert find_changed_input(before, {"x": "1", "y": "2"}) is None
    assert find_changed_input(before, {"x": "2", "y": "1"}) == "x"
    assert find_changed_input(before, {"x": "1"}) == "b"
    assert find_changed_input(before, {"x": "1", "y": "2", "z": ""}) == "z"
    assert find_changed_input({}, {}) is None


def test_a_missing_file_is_an_input_too(tmp_path: Path) -> None:
    shape = sg.description.Mesh(file=str(tmp_path / "none.stl"))
    files = list(list_described_files(sg.GraspObject(name="o", shape=shape, mass=0.1)))
    assert input_hashes(files) == {str(tmp_path / "none.stl"): ""}
