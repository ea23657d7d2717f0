"""``softgrasp list``, ``new`` and ``schema``: library, templates, JSON schemas of YAML files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

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
HEADS = {"size_m": "size [mm]", "mass_kg": "mass [g]", "pressures_kpa": "pressures [kPa]"}
"""Heads of columns whose unit on the terminal is another."""
LISTS: dict[str, Callable[[], list[Row]]] = {}
"""Functions that compute the rows of a kind of the core."""
LISTS_FILE = "lists.json"
"""File in ``assets/`` with the rows of these kinds; ``assets/make_lists.py`` writes it."""


def list_(
    kind: Annotated[ListedKind | None, Argument(help="Kind to list; else all kinds.")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """List the names that commands accept, one line each."""
    if kind is None:
        rows = [{"kind": name, "what": what} for name, what in KINDS.items()]
    else:
        stored = list_stored(kind) if kind in STORED else None
        rows = compute_rows(kind) if stored is None else stored
    if out is not None:
        terminal.save_json(rows, out / f"{kind or 'kinds'}.json")
    if json:
        terminal.put_json(rows)
        return
    heads = list(rows[0]) if rows else []
    texts = [[_text(head, row[head]) for head in heads] for row in rows]
    terminal.put_table([HEADS.get(head, head) for head in heads], texts)


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


def _listed(kind: ListedKind, loader: str) -> Callable[[Callable[[Any], Row]], None]:
    """Register a function that makes the row of a shipped file from what its loader returns."""

    def register(row: Callable[[Any], Row]) -> None:
        LISTS[kind] = lambda: [
            {"name": name} | row(load(loader)(name)) for name in assets.names(kind)
        ]

    return register


@_listed("hands", "softgrasp.io.load:load_hand")
def _hand(hand: Any) -> Row:
    return {
        "fingers": len(hand.fingers) + len(hand.soft_fingers),
        "joints": len(hand.joints),
        "soft": len(hand.soft_fingers),
        "source": hand.source,
    }


@_listed("objects", "softgrasp.io.load:load_object")
def _object(obj: Any) -> Row:
    from softgrasp.model.object import object_mass
    from softgrasp.model.shapes import extent

    return {
        "shape": obj.shape.type,
        "size_m": [round(float(edge), 6) for edge in extent(obj.shape)],
        "mass_kg": _rounded(object_mass(obj)),
        "source": obj.source,
    }


def _rounded(mass: float) -> float:
    return float(f"{mass:.4g}")


def load_any_scene(name: str) -> Any:
    """Load a scene, or a release of a finger, which has neither hand nor object."""
    from softgrasp.io.scene import is_release, load_release, load_scene

    return load_release(name) if is_release(name) else load_scene(name)


@_listed("scenes", "softgrasp.cli.listing:load_any_scene")
def _scene(scene: Any) -> Row:
    from softgrasp.description.calibration import FingerRelease

    if isinstance(scene, FingerRelease):
        hand, item = f"finger {scene.finger.name}", f"{1e3 * scene.tip_mass:g} g"
        grasp, joints = "release", "free"
    else:
        hand, item = scene.hand.name, " + ".join(scene.object_names)
        grasp, joints = scene.grasp, scene.actuation
    return {"hand": hand, "object": item, "grasp": grasp, "joints": joints, "source": scene.source}


@_listed("robots", "softgrasp.io.load:load_robot")
def _robot(robot: Any) -> Row:
    from softgrasp.checks.robot import total_mass

    return {
        "bendables": len(robot.bendables),
        "rigid_joints": len(robot.joints),
        "mass_kg": _rounded(total_mass(robot)),
        "source": robot.source,
    }


@_listed("fingers", "softgrasp.io.hand:load_finger")
def _finger(finger: Any) -> Row:
    mass = _rounded(sum(link.mass for link in finger.links))
    return {"joints": len(finger.joints), "mass_kg": mass, "source": finger.source}


@_listed("arms", "softgrasp.io.hand:load_arm")
def _arm(arm: Any) -> Row:
    return {"joints": len(arm.chain.phalanges), "source": arm.source}


@_listed("problems", "softgrasp.calibration.files:load_problem")
def _problem(loaded: Any) -> Row:
    from softgrasp.description.calibration import CalibrationProblem

    problem = loaded.problem
    if not isinstance(problem, CalibrationProblem):
        return dict(problem.properties)
    return {
        "finger": problem.finger.name,
        "weights": len(problem.hung),
        "releases": len(problem.releases),
        "forces": len(problem.forces),
    }


@_listed("criteria", "softgrasp.io.scene:load_criterion")
def _criterion(criterion: Any) -> Row:
    from softgrasp.report.grasp_text import criterion_text, limits_text

    test, passes = criterion_text(criterion), limits_text(criterion)
    return {"test": test, "passes": passes, "source": criterion.source}


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

    rows = []
    for name, kind in CLOSURES.items():
        text = (kind.__doc__ or "").split("\n", maxsplit=1)[0]
        rows.append({"name": name, "description": text, "parameters": parameters(kind)})
    return rows


def _contact_models() -> list[Row]:
    from softgrasp.cli.scene_args import CONTACT_MODELS

    return [{"name": name, "description": text} for name, text in CONTACT_MODELS.items()]


def _sensors() -> list[Row]:
    from softgrasp.cli.scene_args import SENSORS

    return [{"name": name, "description": text} for name, (text, _) in SENSORS.items()]


LISTS |= {
    "backends": _backends,
    "closures": _closures,
    "contact-models": _contact_models,
    "sensors": _sensors,
}


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
        Literal["hand", "object", "scene", "photos"], Argument(help="What to describe, or photos.")
    ],
    name: Annotated[str, Argument(help="Name of the new item.")],
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR|FILE", help="Directory, or .yaml file.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented template that works unchanged; existing files are never overwritten.

    photos: a directory with photographs of the finger paper000 under weights and its tip forces,
    all simulated, to try calibrations on.
    """
    from softgrasp.io.files import write_template

    if kind == "photos":
        _write_photos((out or Path()) / name, json=json)
        return
    target = out or Path()
    target = target if target.suffix in YAML_SUFFIXES else target / f"{name}.yaml"
    file = write_template(kind, name, target)
    if json:
        terminal.put_json({"file": str(file)})
        return
    words = {"hand": f"{file} sphere", "object": f"four_finger {file}", "scene": file}
    terminal.put(f"wrote {file}; try it: softgrasp grasp {words[kind]}")


def _write_photos(directory: Path, *, json: bool) -> None:
    from softgrasp.calibration.synthetic import write_sample
    from softgrasp.io.files import listening
    from softgrasp.io.hand import load_finger

    with terminal.progress_bar() as update, listening(update):
        files = write_sample(load_finger(FINGER), directory)
    if json:
        terminal.put_document({}, files)
        return
    terminal.put(
        f"wrote {len(files) - 2} photographs and {directory / 'forces.csv'}; try them: softgrasp "
        f"calibrate --finger {FINGER} --photos {directory / 'photos'} "
        f"--forces {directory / 'forces.csv'} --set gain_model=uniform; the true values "
        f"are in {directory / 'truth.csv'}"
    )


def schema(
    kind: Annotated[
        str | None, Argument(metavar="KIND", help="Kind of file; none lists them.")
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE", help="Write it to a file.")
    ] = None,
    json: Json = False,
) -> None:
    """Print or write the JSON schema of a kind of YAML file."""
    from softgrasp.checks import json_schema

    if kind is None:
        kinds = {name: about for name, (_, about) in json_schema.KINDS.items()}
        if json:
            terminal.put_json(kinds)
        else:
            terminal.put_table(["kind", "file"], [list(row) for row in kinds.items()])
        return
    document = json_schema.schema_of(kind)
    if out is None:
        terminal.put_json(document)
        return
    terminal.save_json(document, out)
    if json:
        terminal.put_json(document)
    else:
        # as editors with that language server read it
        terminal.put(f"begin a {kind} file with: # yaml-language-server: $schema={out}")
