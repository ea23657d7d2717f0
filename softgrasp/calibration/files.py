"""Read calibration problems: YAML files with a finger and its measurements.

Measurements are listed in the file, or lie beside it as CSV tables, photographs and videos.
Columns of tables carry their units, such as ``mass_g`` or ``q1_deg``; values are converted to
SI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.continuum.settling import settling
from softgrasp.description.base import Description, error_at
from softgrasp.description.calibration import (
    CalibrationProblem,
    ExtensionProblem,
    FreeBend,
    HungAngles,
    Release,
    TipForce,
)
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import CALIBRATIONS
from softgrasp.io.hand import load_finger
from softgrasp.io.input_limits import loader
from softgrasp.io.tables import Column, column_names, read_table
from softgrasp.io.yaml_files import Tree, YamlFile, yaml_path
from softgrasp.mechanics.transforms import Array
from softgrasp.units import TABLE_PRESSURES

if TYPE_CHECKING:
    from softgrasp.vision.joint_angles import PhotoMeasurement
    from softgrasp.vision.photo_series import PhotoSeries
    from softgrasp.vision.tip_tracking import TipTrack


TIMES = {"s": 1.0, "ms": 1e-3}
LENGTHS = {"mm": 1e-3, "m": 1.0}
ANGLE_UNITS = {"deg": math.pi / 180.0, "rad": 1.0}
"""SI values of the units of columns, the preferred one first."""
TIME = Column("time", TIMES)
MASS = Column("mass", {"g": 1e-3, "kg": 1.0})
PRESSURE = Column("pressure", TABLE_PRESSURES)
ANGLES = Column("q", ANGLE_UNITS, numbered=True)
TABLES: dict[str, tuple[type[Description], dict[str, Column]]] = {
    "hung": (HungAngles, {"mass": MASS, "angles": ANGLES}),
    "releases": (Release, {"mass": MASS, "overshoots": Column("overshoots"),
                           "settling_time": Column("settling", TIMES)}),
    "forces": (TipForce, {"pressure": PRESSURE, "force": Column("force", {"N": 1.0, "mN": 1e-3})}),
    "bends": (FreeBend, {"pressure": PRESSURE, "angles": ANGLES}),
}  # fmt: skip
"""Type of the rows of a table, and the column of each of their fields; one without a unit counts.
Repeated readings are separate rows."""
BOUNDS = ("stiffness", "damping", "gain")
PHOTO_OPTIONS = ("tip", "colour", "scale", "tilt", "notches", "flip", "joints", "empty", "rest",
                 "markers", "lens")  # fmt: skip
"""Options of photographs, see ``vision.photo_series.PhotoOptions``."""
VIDEO_OPTIONS = ("frame_rate", "pixel_size", "finger_length", "tip_side", "first_frame",
                 "last_frame")  # fmt: skip
"""Options of videos, see ``vision.tip_tracking.track_tip``."""
HELD_OUT = {"hung": ("mass", 1e-3), "releases": ("mass", 1e-3), "forces": ("pressure", 1e3),
            "bends": ("pressure", 1e3)}  # fmt: skip
"""Quantity that selects held-out measurements, and SI value of its unit in the file: g and kPa."""
FILE_MASS = re.compile(r"(\d+(?:\.\d+)?)[ _-]?(k?)g(?![a-z])", re.IGNORECASE)
GRAMS = re.compile(r"\d+(\.\d+)?")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".heic", ".heif")
MAX_SAMPLES = 400
"""Largest number of samples of a tracked tip in a problem."""


@dataclass(frozen=True)
class LoadedProblem:
    """A calibration problem with the photographs and videos that it was read from.

    Args:
        problem: Calibration problem of a finger or of an extension.
        photos: Masses [kg] and measured photographs.
        tracks: Masses [kg] and tracked tips.
        warnings: What is doubtful about photographs and videos.
    """

    problem: CalibrationProblem | ExtensionProblem
    photos: tuple[tuple[float, PhotoMeasurement], ...]
    tracks: tuple[tuple[float, TipTrack], ...]
    warnings: tuple[str, ...] = ()


@loader
def load_problem(path: str | Path, changes: Mapping[str, Any] | None = None) -> LoadedProblem:
    """Load a problem from a YAML file, or a shipped one by name; tables and images lie beside it.

    Args:
        path: File or name.
        changes: Fields that replace those of the file.

    Raises:
        DescriptionError: Something cannot be read or is inconsistent; names the file and the
            line.
        BackendUnavailable: There are photographs or videos, and OpenCV is not installed.
    """
    file = yaml_path("problems", path)
    return YamlFile(file).read(lambda data: problem_from(data | dict(changes or {}), file.parent))


def problem_from(data: dict[str, Tree], directory: Path) -> LoadedProblem:
    """Make a problem from a YAML tree.

    Args:
        data: ``finger``; ``hung``, ``releases``, ``forces`` and ``bends`` with tables;
            ``traces`` with a table per mass [g]; ``photos`` and ``videos`` with directories;
            ``held_out``, ``bounds``; fields of ``CalibrationProblem``. A tree with the field of
            an extension, such as ``arm``, is read by that extension; see
            ``extensions.CALIBRATIONS``.
        directory: Directory of the files that it names.

    Raises:
        DescriptionError: Something cannot be read, or is inconsistent.
        BackendUnavailable: There are photographs or videos, and OpenCV is not installed.
    """
    for kind in CALIBRATIONS:
        if kind in data:
            return LoadedProblem(CALIBRATIONS.load(kind, "reader")(data, directory), (), ())
    tree: dict[str, Any] = dict(data)
    finger = tree.pop("finger", None)
    if not isinstance(finger, str):
        raise DescriptionError(
            f"expected a finger's name or file, found {finger!r}", field="finger"
        )
    beside = directory / finger
    described = load_finger(beside if beside.is_file() else finger)
    tree |= {name: _measure(name, tree.get(name, ()), directory) for name in TABLES}
    zero, rule = str(tree.get("zero", "design")), str(tree.get("release_rule", "paper000"))
    series = _photos(tree.pop("photos", None), described, directory, zero)
    photos = series.photos if series else ()
    if zero == "unloaded":
        tree["hung"] = _beyond_unloaded(tree["hung"])
    bounds = _entries(tree, "bounds", BOUNDS, "bounds of", "[low, high]")
    tree |= {f"{name}_bounds": ends for name, ends in bounds.items()}
    tracks = _videos(tree.pop("videos", None), directory)
    doubts = _video_findings(tracks, described, tree)
    tree["hung"] += tuple(
        HungAngles(mass=mass, angles=tuple(p.angles.tolist()))
        for mass, p in photos
        if mass > 0.0 or zero != "unloaded"
    )
    tree["releases"] += (
        *(_release(mass, t.path, t.time, t.height, rule) for mass, t in tracks),
        *_traces(tree.pop("traces", None), directory, rule),
    )
    _mark_held_out(tree)
    warnings = (*(series.warnings if series else ()), *doubts)
    return LoadedProblem(CalibrationProblem(finger=described, **tree), photos, tracks, warnings)


def _measure(name: str, entry: Any, directory: Path) -> tuple[Any, ...]:
    """Read measurements from a table, or those listed in the file itself.

    Raises:
        DescriptionError: It is neither, the table cannot be read, or a column or a number is wrong;
            names file, line and column.
    """
    kind, columns = TABLES[name]
    if not isinstance(entry, str):
        is_list = isinstance(entry, list | tuple)
        if not is_list or not all(isinstance(item, dict | kind) for item in entry):
            raise error_at(
                f"expected the name of a table, or a list of measurements, found {entry!r}", name
            )
        return tuple(kind(**item) if isinstance(item, dict) else item for item in entry)
    if name == "hung" and any(map(TIME.parse, column_names(directory / entry))):
        columns = columns | {"time": TIME}  # under load
    table = read_table(directory / entry, list(columns.values()))
    measured = []
    for index, line in enumerate(table.lines):
        row = {field: table[column.name][index].tolist() for field, column in columns.items()}
        for field, column in columns.items():
            if not column.units and row[field].is_integer():
                row[field] = int(row[field])
        try:
            measured.append(kind(**row))
        except DescriptionError as error:
            raise error.located(file=directory / entry, line=line) from None
    return tuple(measured)


def _beyond_unloaded(hung: tuple[HungAngles, ...]) -> tuple[HungAngles, ...]:
    """Return angles beyond those without a weight, for weights above 0."""
    if not hung:
        return ()
    unloaded = [reading.angles for reading in hung if reading.mass == 0.0]
    count = min((len(item) for item in unloaded), default=0)
    if any(len(reading.angles) > count for reading in hung):
        raise DescriptionError(
            "expected a row with 0 g and all joints for zero: unloaded, found "
            + (f"one with {count} angles" if count else "none"),
            field="zero",
        )
    zero = [sum(angles) / len(unloaded) for angles in zip(*unloaded, strict=False)]
    return tuple(
        reading.replace(angles=tuple(q - q0 for q, q0 in zip(reading.angles, zero, strict=False)))
        for reading in hung
        if reading.mass > 0.0
    )


def _photos(entry: Any, finger: SoftFinger, directory: Path, zero: str) -> PhotoSeries | None:
    """Measure the photographs of a directory; ``empty`` and ``rest`` may lie in it."""
    if entry is None:
        return None
    from softgrasp.io.scene import load_camera
    from softgrasp.vision.checkerboard import Checkerboard
    from softgrasp.vision.photo_series import PhotoOptions, measure_series
    from softgrasp.vision.segmentation import FingerColour, colour_of

    path, options = _directory_and_options(entry, "photos", directory, PHOTO_OPTIONS)
    tilt = options.get("tilt", 0.0)
    is_number = isinstance(tilt, int | float) and not isinstance(tilt, bool)
    if tilt != "base" and not (is_number and math.isfinite(tilt)):
        raise error_at(f"expected base or an angle in rad, found {tilt!r}", "photos", "tilt")
    for name in ("flip", "tip"):
        if not isinstance(options.get(name), bool | None):
            message = f"expected true or false, found {options[name]!r}"
            raise error_at(message, "photos", name)
    kinds = {"colour": FingerColour, "scale": Checkerboard, "markers": FingerColour}
    for name, kind in kinds.items():
        if isinstance(options.get(name), dict):
            options[name] = kind(**options[name])
        elif name == "markers" and options.get(name) not in (None, "auto"):
            options[name] = colour_of(str(options[name]))
    if options.get("lens") is not None:
        options["lens"] = load_camera(directory / str(options["lens"]))
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in IMAGE_SUFFIXES]
    for name in ("empty", "rest"):
        special = [file for file in files if file.stem.lower() == name]
        files = [file for file in files if file not in special]
        if options.get(name) is not None:
            options[name] = directory / str(options[name])
            files = [file for file in files if file.resolve() != options[name].resolve()]
        elif special:
            options[name] = special[0]
    return measure_series(_by_mass(path, files), finger, PhotoOptions(**options | {"zero": zero}))


def _directory_and_options(
    entry: Any, field: str, directory: Path, known: Iterable[str]
) -> tuple[Path, dict[str, Any]]:
    options = dict(entry) if isinstance(entry, dict) else {"folder": entry}
    name = options.pop("folder", None)
    if not isinstance(name, str):
        raise error_at(f"expected a directory, found {name!r}", field)
    path = directory / name
    if not path.is_dir():
        raise error_at(f"expected a directory, found none at '{path}'", field)
    _refuse_unknown(options, known, "option", field)
    return path, options


def _entries(
    tree: dict[str, Any], field: str, known: Iterable[str], noun: str, value: str
) -> dict[str, Any]:
    """Take the mapping of a field out of a tree, and refuse unknown keys."""
    entries = tree.pop(field, None) or {}
    if not isinstance(entries, dict):
        *names, last = known
        expected = f"expected {', '.join(names)} or {last} with {value}"
        raise error_at(f"{expected}, found {entries!r}", field)
    _refuse_unknown(entries, known, noun, field)
    return entries


def _refuse_unknown(names: Iterable[str], known: Iterable[str], noun: str, field: str) -> None:
    for name in names:
        if name not in known:
            raise error_at(f"no {noun} '{name}'; {did_you_mean(name, known)}", field, name)


def _by_mass(path: Path, files: list[Path]) -> list[tuple[float, Path]]:
    """Map files to the mass [kg] in their names, the lightest first."""
    if not files:
        raise DescriptionError("expected images or videos, found none", file=path)
    files_by_mass = []
    for file in files:
        match = FILE_MASS.search(file.stem)
        if match is None:
            raise DescriptionError(
                "expected a mass in the name, such as 'finger_20g.png', found none", file=file
            )
        files_by_mass.append((float(match[1]) * (1.0 if match[2] else 1e-3), file))
    return sorted(files_by_mass)


def _videos(entry: Any, directory: Path) -> tuple[tuple[float, TipTrack], ...]:
    if entry is None:
        return ()
    from softgrasp.vision.tip_tracking import track_tip

    path, options = _directory_and_options(entry, "videos", directory, VIDEO_OPTIONS)
    files = [file for file in sorted(path.iterdir()) if not file.name.startswith(".")]
    videos = [file for file in files if file.is_dir() or file.suffix.lower() != ".csv"]
    return tuple((mass, track_tip(file, **options)) for mass, file in _by_mass(path, videos))


def _video_findings(
    tracks: Iterable[tuple[float, TipTrack]], finger: SoftFinger, tree: Mapping[str, Any]
) -> list[str]:
    """Check tracked videos against the finger within the bounds of its stiffness."""
    from softgrasp.calibration.track_checks import check_video

    bounds = {name: tree[name] for name in ("stiffness_bounds",) if name in tree}
    ends = CalibrationProblem(finger=finger, **bounds).stiffness_bounds
    return [
        text
        for _, item in tracks
        for text in check_video(
            item.path, item.frame_rate, item.height, item.pixels, item.likeness, finger, ends
        )
    ]


def _release(mass: float, path: Path, time: Array, height: Array, rule: str) -> Release:
    settled = settling(time, height, rule)
    if not settled.time > 0.0:
        raise DescriptionError(
            "expected a video that shows the finger until it settles, found a shorter one",
            file=path,
        )
    every = -(-len(time) // MAX_SAMPLES)
    return Release(
        mass=mass,
        overshoots=settled.overshoots,
        settling_time=settled.time,
        times=tuple(time[::every].tolist()),
        heights=tuple(height[::every].tolist()),
    )


def _traces(entry: Any, directory: Path, rule: str) -> list[Release]:
    """Read tables of tracked tip heights by released mass [g]."""
    if entry is None:
        return []
    if not isinstance(entry, dict) or not all(GRAMS.fullmatch(str(grams)) for grams in entry):
        raise error_at(
            f"expected tables by mass in g, such as {{40: track.csv}}, found {entry!r}", "traces"
        )
    releases = []
    for grams, name in entry.items():
        path, mass = directory / str(name), 1e-3 * float(grams)
        table = read_table(path, [TIME, Column("height", LENGTHS)])
        releases.append(_release(mass, path, table["time"], table["height"], rule))
    return releases


def _mark_held_out(tree: dict[str, Any]) -> None:
    """Take the values of held-out measurements out of a tree, and mark them there."""
    entries = _entries(tree, "held_out", HELD_OUT, "measurements", "[values]")
    for kind, values in entries.items():
        is_list = isinstance(values, list | tuple)
        if not is_list or not all(isinstance(value, int | float) for value in values):
            raise error_at(f"expected a list of numbers, found {values!r}", "held_out", kind)
        field, unit = HELD_OUT[kind]
        there = [getattr(item, field) for item in tree[kind]]
        marked: set[int] = set()
        for value in values:
            same = {i for i, x in enumerate(there) if abs(value * unit - x) <= 1e-6 * unit}
            if not same:
                shown = ", ".join(f"{item / unit:g}" for item in sorted(set(there)))
                raise error_at(
                    f"expected a {field} that was measured ({shown}), found {value:g}",
                    "held_out",
                    kind,
                )
            marked |= same
        tree[kind] = tuple(
            element.replace(held_out=i in marked) for i, element in enumerate(tree[kind])
        )
