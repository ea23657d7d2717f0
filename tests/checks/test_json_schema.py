"""JSON schemas accept what the readers accept, and refuse misspelt fields and wrong kinds."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import softgrasp as sg
from softgrasp import assets
from softgrasp.calibration.files import load_problem
from softgrasp.checks.json_schema import KINDS, schema_of
from softgrasp.io.hand import load_arm, load_finger, save_finger, save_hand
from softgrasp.io.scene import (
    is_release,
    load_criterion,
    load_plan,
    load_release,
    save_release,
    save_scene,
)
from softgrasp.io.yaml_files import ANGLES, LENGTHS, YamlFile, dump
from tests.conftest import Run

FOLDERS = {
    "hand": "hands",
    "object": "objects",
    "finger": "fingers",
    "criterion": "criteria",
    "arm": "arms",
    "calibration": "problems",
}
READERS = {
    "hand": sg.load_hand,
    "object": sg.load_object,
    "scene": sg.load_scene,
    "finger": load_finger,
    "criterion": load_criterion,
    "arm": load_arm,
    "sweep": load_plan,
    "release": load_release,
    "calibration": load_problem,
}
PLAN = """
scene: demo
axes:
  object.density: [160, 700]
  contact.static_friction: {low: 0.3, high: 0.9, steps: 3}
  seed: 3
method: grid
"""


@cache
def validator(kind: str) -> Draft202012Validator:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def shipped() -> list[tuple[str, Path]]:
    """Every shipped YAML file, with its kind."""
    files = [
        (kind, assets.find(folder, name))
        for kind, folder in FOLDERS.items()
        for name in assets.names(folder)
    ]
    scenes = [assets.find("scenes", name) for name in assets.names("scenes")]
    return files + [("release" if is_release(file) else "scene", file) for file in scenes]


FILES = {f"{kind}-{file.stem}": (kind, file) for kind, file in shipped()}


@pytest.mark.parametrize("name", FILES)
def test_every_shipped_file_is_valid(name: str) -> None:
    kind, file = FILES[name]
    validator(kind).validate(YamlFile(file).data)


@pytest.mark.parametrize("kind", ["hand", "object", "scene"])
def test_templates_are_valid(kind: str) -> None:
    path = assets.root() / "assets" / "templates" / f"{kind}.yaml"
    validator(kind).validate(YamlFile(path).data)


def test_plans_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN, "utf-8")
    assert len(load_plan(file).axes) == 3
    validator("sweep").validate(YamlFile(file).data)


@pytest.mark.slow
def test_saved_descriptions_are_valid(tmp_path: Path) -> None:
    """All digits, no defaults, everything in SI: the other way to write a file."""
    file = tmp_path / "saved.yaml"
    for name in assets.names("hands"):
        save_hand(sg.load_hand(name), file)
        validator("hand").validate(YamlFile(file).data)
    for name in ("sequence_strawberry", "corner", "two_hands_ball", "demo_soft", "santello_sphere"):
        save_scene(sg.load_scene(name), file)
        validator("scene").validate(YamlFile(file).data)
    save_finger(load_finger("paper000"), file)
    validator("finger").validate(YamlFile(file).data)
    save_release(load_release("paper000_release"), file)
    validator("release").validate(YamlFile(file).data)


def trees(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All parts of a tree with their paths."""
    yield path, tree
    for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(part, dict | list):
            yield from trees(part, (*path, key))
        else:
            yield (*path, key), part


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def damaged(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tree with an unknown field in each mapping, and with a text for each number."""
    for path, part in trees(tree):
        changed = deepcopy(tree)
        if isinstance(part, dict):
            at(changed, path)["colur"] = 1
        elif isinstance(part, int | float) and not isinstance(part, bool):
            at(changed, path[:-1])[path[-1]] = "many"
        else:
            continue
        yield ".".join(map(str, path)), changed


def is_refused(kind: str, tree: dict[str, Any], file: Path) -> bool:
    file.write_text(dump(tree), "utf-8")
    try:
        READERS[kind](file)
    except sg.errors.SoftgraspError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "hand-two_finger_planar",
        "hand-soft_gripper",
        "object-sphere",
        "finger-paper000",
        "criterion-pull_out",
        "arm-irb120",
        "scene-sequence_dropped",
        "scene-corner",
        "release-paper000_release",
    ],
)
def test_what_a_reader_refuses_the_schema_refuses(name: str, tmp_path: Path) -> None:
    kind, file = FILES[name]
    tree, beside = YamlFile(file).data, tmp_path / file.name
    cases = list(damaged(tree))
    refused = {
        path: changed
        for path, changed in cases[:: max(1, len(cases) // 60)]
        if is_refused(kind, changed, beside)
    }
    assert len(refused) >= 5
    assert [path for path, tree in refused.items() if validator(kind).is_valid(tree)] == []


def test_wrong_calibration_fields_are_refused() -> None:
    tree = YamlFile(assets.find("problems", "paper000")).data
    for wrong in ({"forse_objective": "squares"}, {"bounds": {"stifness": [0, 1]}}, {"hung": 3}):
        assert not validator("calibration").is_valid(tree | wrong)


def test_every_field_is_documented() -> None:
    missing = set()
    for kind in KINDS:
        for name, definition in schema_of(kind)["$defs"].items():
            for path, part in trees(definition):
                if path[-2:-1] == ("properties",) and path[-1] not in ("type", "name"):
                    within = path[-3] if len(path) > 2 else ""
                    of_field = within in ("then", "items", "if", "units", "bounds", "held_out")
                    if not (of_field or isinstance(within, int) or part.get("description")):
                        missing.add(f"{name}.{path[-1]}")
    assert missing == set()


def test_lengths_and_angles_are_bounded_by_zero_only() -> None:
    """A file may have any unit."""
    for kind in KINDS:
        for path, part in trees(schema_of(kind)):
            if str(path[-1] if path else "").lower().endswith("imum"):
                assert part == 0 or not (LENGTHS | ANGLES) & set(path), path


def test_the_command_prints_writes_and_lists(run: Run) -> None:
    assert run("schema").out.splitlines()[1].split()[0] == "hand"
    assert [*run("schema", "--json").json] == [*KINDS]
    assert run("schema", "object").json == schema_of("object")
    written = run("schema", "scene", "--out", "scene.json")
    assert written.out == ("begin a scene file with: # yaml-language-server: $schema=scene.json\n")
    wrong = run("schema", "scenes")
    assert wrong.code == 2
    assert wrong.err == (
        "softgrasp: error: no kind of file 'scenes'; did you mean 'scene'? known: arm, "
        "calibration, criterion, finger, grasps, hand, object, release, scene, sweep\n"
    )
