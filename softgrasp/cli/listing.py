"""``softgrasp list`` and ``softgrasp new``: contents of the library, and templates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from softgrasp import assets
from softgrasp.assets import YAML_SUFFIXES
from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out
from softgrasp.extensions import LISTS as EXTENSION_LISTS
from softgrasp.extensions import load

Row = dict[str, Any]
"""A listed item; the keys are the heads of the table."""
FINGER = "paper000"
"""Finger of the sample photographs."""


ListedKind = Literal[
    "hands", "objects", "scenes", "robots", "hydraulic-arms", "fingers", "arms", "twins",
    "pressure-fits", "register-maps", "robot-programs", "problems", "criteria", "backends",
    "closures", "contact-models", "sensors",
]  # fmt: skip
"""Kinds that can be listed."""
KINDS: dict[ListedKind, str] = {
    "hands": "shipped hands, for grasp, view, plan and sweep",
    "objects": "shipped objects",
    "scenes": "shipped scenes: a hand, an object and their settings",
    "robots": "robots in U(C)RDF",
    "hydraulic-arms": "arms of soft sections with hydraulic drives",
    "fingers": "soft fingers, for --finger and calibrate",
    "arms": "arms that a hand is mounted on",
    "twins": "digital twins, for twin run",
    "pressure-fits": "bending of a twin's finger against pressure",
    "register-maps": "registers of pressure controllers on Modbus TCP",
    "robot-programs": "motions of the simulated robot of a twin",
    "problems": "calibration problems",
    "criteria": "success criteria, for --criterion",
    "backends": "engines, for --backend",
    "closures": "closing motions of a hand, for --closure",
    "contact-models": "contact models, for --contact-model",
    "sensors": "sensors, for --sensor",
}
"""Description of each kind."""
STORED: tuple[ListedKind, ...] = ("hands", "objects", "scenes", "robots")
"""Kinds whose rows are stored, as reading their files takes seconds."""
LISTS_FILE = "lists.json"
"""File in ``assets/`` with the rows of these kinds; ``assets/make_lists.py`` writes it."""


def list_(
    kind: Annotated[ListedKind | None, typer.Argument(help="Kind to list; else all kinds.")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """List the names that commands accept, one line each."""
    rows = _kinds() if kind is None else _rows(kind)
    if out is not None:
        terminal.save_json(rows, out / f"{kind or 'kinds'}.json")
    if json:
        terminal.put_json(rows)
        return
    heads = list(rows[0]) if rows else []
    texts = [[_text(head, row[head]) for head in heads] for row in rows]
    terminal.put_table([_head(head) for head in heads], texts)


def _rows(kind: ListedKind) -> list[Row]:
    stored = list_stored(kind) if kind in STORED else None
    return compute_rows(kind) if stored is None else stored


def list_stored(kind: ListedKind) -> list[Row] | None:
    """Return the cached list in ``assets/lists.json``; None where shipped files have changed."""
    try:
        text = (assets.root() / "assets" / LISTS_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    entry = loads(text)[kind]
    rows: list[Row] = entry["rows"]
    return rows if entry["sha256"] == files_digest(kind) else None


def files_digest(kind: ListedKind) -> str:
    """Return the SHA-256 of all shipped files of a kind, with their names."""
    digest = hashlib.sha256()
    for name in assets.names(kind):
        content = assets.find(kind, name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def compute_rows(kind: ListedKind) -> list[Row]:
    """Compute the list entries of a kind, of the core or of an extension, from its files."""
    function = LISTS[kind] if kind in LISTS else load(EXTENSION_LISTS[kind])
    rows: list[Row] = function()
    return rows


def _kinds() -> list[Row]:
    return [{"kind": kind, "what": what} for kind, what in KINDS.items()]


def _hands() -> list[Row]:
    from softgrasp.io.load import load_hand

    return [
        {
            "name": name,
            "fingers": len(hand.fingers) + len(hand.soft_fingers),
            "joints": len(hand.joints),
            "soft": len(hand.soft_fingers),
            "source": hand.source,
        }
        for name in assets.names("hands")
        for hand in [load_hand(name)]
    ]


def _objects() -> list[Row]:
    from softgrasp.io.load import load_object
    from softgrasp.model.object import object_mass
    from softgrasp.model.shapes import extent

    return [
        {
            "name": name,
            "shape": obj.shape.type,
            "size_m": [round(float(edge), 6) for edge in extent(obj.shape)],
            "mass_kg": float(f"{object_mass(obj):.4g}"),
            "source": obj.source,
        }
        for name in assets.names("objects")
        for obj in [load_object(name)]
    ]


def _scenes() -> list[Row]:
    from softgrasp.io.scene import is_release

    names = assets.names("scenes")
    return [_release(name) if is_release(name) else _scene(name) for name in names]


def _scene(name: str) -> Row:
    from softgrasp.io.scene import load_scene

    scene = load_scene(name)
    return {
        "name": name,
        "hand": scene.hand.name,
        "object": " + ".join(scene.object_names),
        "grasp": scene.grasp,
        "joints": scene.actuation,
        "source": scene.source,
    }


def _release(name: str) -> Row:
    """Return list entry of a finger release, which has neither hand nor object."""
    from softgrasp.io.scene import load_release

    release = load_release(name)
    return {
        "name": name,
        "hand": f"finger {release.finger.name}",
        "object": f"{1e3 * release.tip_mass:g} g",
        "grasp": "release",
        "joints": "free",
        "source": release.source,
    }


def _robots() -> list[Row]:
    from softgrasp.checks.robot import total_mass
    from softgrasp.io.load import load_robot

    return [
        {
            "name": name,
            "bendables": len(robot.bendables),
            "rigid_joints": len(robot.joints),
            "mass_kg": float(f"{total_mass(robot):.4g}"),
            "source": robot.source,
        }
        for name in assets.names("robots")
        for robot in [load_robot(name)]
    ]


def _fingers() -> list[Row]:
    from softgrasp.io.hand import load_finger

    return [
        {
            "name": name,
            "joints": len(finger.joints),
            "mass_kg": float(f"{sum(link.mass for link in finger.links):.4g}"),
            "source": finger.source,
        }
        for name in assets.names("fingers")
        for finger in [load_finger(name)]
    ]


def _arms() -> list[Row]:
    """Return the list entries of arms of rigid links."""
    from softgrasp.io.arm import load_arm

    return [
        {"name": name, "joints": len(arm.chain.phalanges), "source": arm.source}
        for name in assets.names("arms")
        for arm in [load_arm(name)]
    ]


def _problems() -> list[Row]:
    from softgrasp.calibration.files import load_problem
    from softgrasp.description.calibration import CalibrationProblem

    return [
        {
            "name": name,
            "finger": problem.finger.name,
            "weights": len(problem.hung),
            "releases": len(problem.releases),
            "forces": len(problem.forces),
        }
        if isinstance(problem, CalibrationProblem)
        else {"name": name, **problem.properties}
        for name in assets.names("problems")
        for problem in [load_problem(name).problem]
    ]


def _criteria() -> list[Row]:
    from softgrasp.io.scene import load_criterion
    from softgrasp.report.grasp_text import criterion_text, limits_text

    return [
        {
            "name": name,
            "test": criterion_text(criterion),
            "passes": limits_text(criterion),
            "source": criterion.source,
        }
        for name in assets.names("criteria")
        for criterion in [load_criterion(name)]
    ]


def _backends() -> list[Row]:
    from softgrasp.errors import BackendUnavailable
    from softgrasp.sim.engines import engine_named, engine_names

    rows: list[Row] = []
    for name in engine_names():
        try:
            version_text = engine_named(name).version()
        except BackendUnavailable as error:
            version_text = str(error)
        rows.append({"name": name, "version": version_text})
    return rows


def _closures() -> list[Row]:
    from softgrasp.cli.scene_args import parameters
    from softgrasp.description.closure import CLOSURES

    return [
        {
            "name": name,
            "description": (kind.__doc__ or "").split("\n", maxsplit=1)[0],
            "parameters": parameters(kind),
        }
        for name, kind in CLOSURES.items()
    ]


def _contact_models() -> list[Row]:
    from softgrasp.cli.scene_args import CONTACT_MODELS

    return [{"name": name, "description": text} for name, text in CONTACT_MODELS.items()]


def _sensors() -> list[Row]:
    from softgrasp.cli.scene_args import SENSORS

    return [{"name": name, "description": text} for name, (text, _) in SENSORS.items()]


LISTS: dict[ListedKind, Callable[[], list[Row]]] = {
    "hands": _hands,
    "objects": _objects,
    "scenes": _scenes,
    "robots": _robots,
    "fingers": _fingers,
    "arms": _arms,
    "problems": _problems,
    "criteria": _criteria,
    "backends": _backends,
    "closures": _closures,
    "contact-models": _contact_models,
    "sensors": _sensors,
}


def _head(field: str) -> str:
    named = {
        "size_m": "size [mm]",
        "mass_kg": "mass [g]",
        "pressures_kpa": "pressures [kPa]",
    }
    return named.get(field, field)


def _text(field: str, value: Any) -> str:
    if field == "size_m":
        return " × ".join(f"{1e3 * edge:.4g}" for edge in value)
    if field == "pressures_kpa":
        return " … ".join(f"{pressure:g}" for pressure in value)
    if field == "mass_kg":
        return f"{1e3 * value:.4g}"
    if field == "parameters":
        return ", ".join(f"{name}={_plain(default)}" for name, default in value.items())
    return str(value)


def _plain(value: Any) -> str:
    """Format a default value as ``--set`` accepts it."""
    texts = {None: "…", True: "true", False: "false"}
    return texts[value] if value is None or isinstance(value, bool) else str(value)


def new(
    kind: Annotated[
        Literal["hand", "object", "scene", "photos"],
        typer.Argument(help="What to describe, or photos."),
    ],
    name: Annotated[str, typer.Argument(help="Name of the new item.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR|FILE", help="Directory, or .yaml file."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented template that works unchanged; existing files are never overwritten.

    photos: a directory with photographs of the finger paper000 under weights and its tip forces,
    all simulated, to try calibrations on.
    """
    from softgrasp.io.files import write_template

    if kind == "photos":
        _photos((out or Path()) / name, json=json)
        return
    target = out or Path()
    file = write_template(
        kind, name, target if target.suffix in YAML_SUFFIXES else target / f"{name}.yaml"
    )
    if json:
        terminal.put_json({"file": str(file)})
        return
    run = {
        "hand": f"softgrasp grasp {file} sphere",
        "object": f"softgrasp grasp four_finger {file}",
        "scene": f"softgrasp grasp {file}",
    }
    terminal.put(f"wrote {file}; try it: {run[kind]}")


def _photos(directory: Path, *, json: bool) -> None:
    from softgrasp.calibration.synthetic import write_sample
    from softgrasp.io.files import listening
    from softgrasp.io.hand import load_finger

    with terminal.progress_bar() as update, listening(update):
        files = write_sample(load_finger(FINGER), directory)
    if json:
        terminal.put_json({"files": [str(file) for file in files]})
        return
    terminal.put(
        f"wrote {len(files) - 2} photographs and {directory / 'forces.csv'}; try them: softgrasp "
        f"calibrate --finger {FINGER} --photos {directory / 'photos'} "
        f"--forces {directory / 'forces.csv'} --set gain_model=uniform; the true values "
        f"are in {directory / 'truth.csv'}"
    )
