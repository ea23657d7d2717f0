"""Kept choices of grasps: equal content, no new search; other content, another one."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.resolution import object_grasp
from softgrasp.resolution.object_grasp import keep_choice, read_choice

BALL = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), density=300.0)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path / "cache"))
    object_grasp._choose.cache_clear()
    return tmp_path / "cache" / "choices"


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[sg.GraspScene]:
    """Scenes that were tried."""
    tried, trial = [], object_grasp.displacement_in_trial

    def counted(scene: sg.GraspScene) -> float:
        tried.append(scene)
        return trial(scene)

    monkeypatch.setattr(object_grasp, "displacement_in_trial", counted)
    return tried


def scene(described: sg.GraspObject = BALL) -> sg.GraspScene:
    return sg.GraspScene(hand=sg.load_hand("underactuated_1"), object=described, adapt_grasp=True)


def resolved(item: sg.GraspScene) -> sg.GraspScene:
    object_grasp._choose.cache_clear()  # as in another process
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sg.resolve(item).scene


@pytest.mark.slow
def test_a_second_call_reads_the_choice_of_the_first(
    trials: list[sg.GraspScene], directory: Path
) -> None:
    first = resolved(scene())
    count = len(trials)
    assert count > 1
    other_words = scene().replace(contact={"damping": 200.0}, seed=4, name="another")
    assert resolved(other_words).hand == first.hand
    assert resolved(scene()) == first
    assert len(trials) == count
    (kept,) = directory.iterdir()
    kept.write_text("{", encoding="utf-8")  # cut off: it is searched again
    assert resolved(scene()) == first
    assert len(trials) == 2 * count


def test_a_choice_belongs_to_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"grasp": "power", "preset": {}}
    keep_choice(scene(), kept)
    assert read_choice(scene()) == kept
    assert read_choice(scene().replace(source="elsewhere")) == kept
    assert read_choice(scene(BALL.weighing(density=301.0))) is None
    assert read_choice(scene().replace(grasp="precision")) is None
    monkeypatch.setattr(object_grasp, "_code", lambda: "other code")
    assert read_choice(scene()) is None


def test_files_count_by_content_and_not_by_path(tmp_path: Path) -> None:
    first, second = tmp_path / "a.obj", tmp_path / "b" / "c.obj"
    second.parent.mkdir()
    source = sg.assets.root() / "objects" / "meshes" / "pear.obj"
    shutil.copy(source, first)
    shutil.copy(source, second)
    item, other = (
        scene(sg.load_object(file, density=300.0).replace(name="it")) for file in (first, second)
    )
    keep_choice(item, {"grasp": "power", "preset": {}})
    assert read_choice(other) is not None
    second.write_bytes(second.read_bytes() + b"\n")
    assert read_choice(scene(sg.load_object(second, density=300.0).replace(name="it"))) is None


def test_a_directory_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path / "file" / "below"))
    keep_choice(scene(), {"grasp": "power", "preset": {}})
    assert read_choice(scene()) is None


@pytest.mark.slow
def test_a_kept_choice_has_the_origins_of_a_new_one() -> None:
    """Origins of values are the same whether the choice was searched or read."""

    def origins() -> dict[str, tuple[str, str]]:
        object_grasp._choose.cache_clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = sg.resolve(scene()).values
        return {item.field: (item.source, item.reason) for item in values}

    searched = origins()
    assert origins() == searched
    assert "said" not in {
        source for field, (source, _) in searched.items() if field.startswith("hand.grasps")
    }
