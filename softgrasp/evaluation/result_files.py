"""Save and load results: ``GraspResult`` as ``result.json`` and ``trajectory.npz``.

``io.result`` writes and reads the files; this module converts the values in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from softgrasp._version import __version__
from softgrasp.description.resolved import ResolvedScene, ResolvedValue
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, ResultError, did_you_mean
from softgrasp.evaluation.diagnostics import ReachedForce
from softgrasp.evaluation.outcome import GraspStatus
from softgrasp.evaluation.put_down import PutDown
from softgrasp.evaluation.quality_log import QualityLog
from softgrasp.evaluation.result import (
    ADDED_KEYS,
    TRAJECTORY_KEYS,
    BodyContact,
    ContactModel,
    GraspResult,
    HoldTest,
    ObjectMotion,
    OtherContact,
    PeakForce,
    PhaseSpan,
    SoftFingerEnd,
)
from softgrasp.io.files import RESULT_FILE
from softgrasp.io.input_limits import result_loader
from softgrasp.io.load import current_hashes, find_changed_input, input_hashes, list_described_files
from softgrasp.io.result import read_document, read_result, write_result
from softgrasp.sim.run_record import ContactEvent
from softgrasp.sim.suction import SuctionEvent

SCHEMA_VERSION = 3
SERIES = ("directions", "pulls", "parts")
"""Parts of a hold test that are absent where they are empty."""

T = TypeVar("T", bound=BaseModel)


def save_result(result: GraspResult, directory: str | Path) -> list[Path]:
    """Write ``result.json`` and ``trajectory.npz`` into a directory and return their paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    log = {} if result.quality_log is None else result.quality_log.arrays()
    content = document(result)
    if inputs := input_hashes(list_described_files(result.scene)):
        content["inputs"] = inputs
    return write_result(Path(directory), content, result.trajectory() | log)


def require_scene_files(directory: Path) -> None:
    """Refuse files of a result's scene that have changed since it was written.

    Raises:
        DescriptionError: One has changed, or is missing; names it.
        ResultError: ``result.json`` is missing or invalid.
    """
    before = read_document(directory / RESULT_FILE).get("inputs", {})
    now = current_hashes(before)
    if (name := find_changed_input(before, now)) is not None:
        raise DescriptionError(
            f"expected the file with SHA-256 {before[name]}, found {now[name] or 'none'}: it has "
            "changed",
            file=name,
        )


@result_loader
def load_result(directory: str | Path) -> GraspResult:
    """Read a grasp result from its directory.

    Raises:
        ResultError: A file is missing, damaged, or of another version; the trajectory is not
            the one that ``result.json`` belongs to.
    """
    directory = Path(directory)
    document_data, arrays = read_result(directory)
    version = document_data["schema_version"]
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        maker = document_data.get("softgrasp_version", "of unknown version")
        hint = (
            f"softgrasp {maker} wrote it, this is {__version__}: update it"
            if newer
            else "an older softgrasp wrote it, with other field names: simulate its scene again"
        )
        raise ResultError(
            f"{directory}: expected schema_version {SCHEMA_VERSION}, found {version}; {hint}"
        )
    missing = set(TRAJECTORY_KEYS) - set(arrays)
    if missing:
        raise ResultError(
            f"{directory}: trajectory.npz: missing arrays: {', '.join(sorted(missing))}"
        )
    try:
        result = _from_document(document_data, arrays)
    except KeyError as error:
        raise ResultError(
            f"{directory}: result.json: expected a field {error}, found none"
        ) from None
    except (DescriptionError, ValueError, TypeError, AttributeError) as error:
        raise ResultError(f"{directory}: result.json: damaged: {error}") from error
    digest = str(document_data.get("trajectory_sha256"))
    if result.trajectory_sha256 != digest:
        raise ResultError(
            f"{directory}: expected a trajectory with hash {digest[:12]}…, found "
            f"{result.trajectory_sha256[:12]}…; the two files are not of one run"
        )
    return result


def document(result: GraspResult) -> dict[str, Any]:
    """Return the content of ``result.json``; values that were not computed are absent."""
    values: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "backend": result.backend,
        "scene": result.scene,
        "resolved": None if result.resolved is None else _resolve(result.resolved),
        "status": result.status.name,
        "outcome": result.outcome.name,
        "message": result.message,
        "held": result.held,
        "success_criterion": result.success_criterion,
        "simulated_time_s": result.simulated_time,
        "wall_time_s": result.wall_time,
        "contacts": result.contacts,
        "other_contacts": result.other_contacts or None,
        "closing_contacts": result.closing_contacts or None,
        "hand_contacts": result.hand_contacts or None,
        "events": result.events,
        "object": result.object,
        "objects": result.objects,
        "joints": result.joints,
        "contact_model": result.contact_model,
        "soft_fingers": result.soft_fingers or None,
        "suction_events": result.suction_events or None,
        "phases": result.phases or None,
        "quality": result.quality,
        "hold": None if result.hold is None else _hold(result.hold),
        "put_down": result.put_down,
        "reached_forces": result.reached_forces or None,
        "peak_forces": tuple(
            peak.model_dump(mode="json", exclude_none=True) | {"resolved": peak.resolved}
            for peak in result.peaks
        )
        or None,
        "warnings": result.warnings,
        "trajectory_sha256": result.trajectory_sha256,
    }
    always = ("held",)
    return {k: _plain(v) for k, v in values.items() if v is not None or k in always}


def _resolve(resolved: ResolvedScene) -> dict[str, Any]:
    values = [value.model_dump(mode="json", exclude_defaults=True) for value in resolved.values]
    return {"timestep_s": resolved.timestep, "values": values}


def _hold(hold: HoldTest) -> dict[str, Any]:
    values = hold.model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in values.items() if value or key not in SERIES}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _from_document(document_data: dict[str, Any], arrays: dict[str, Any]) -> GraspResult:
    status = _status(document_data["status"])
    scene = _make(GraspScene, document_data["scene"])
    return GraspResult(
        scene=scene,
        resolved=_resolve_of(scene, document_data.get("resolved")),
        backend=document_data["backend"],
        status=status,
        held=document_data["held"],
        simulated_time=document_data["simulated_time_s"],
        wall_time=document_data["wall_time_s"],
        contacts=tuple(_make(BodyContact, part) for part in document_data["contacts"]),
        other_contacts=_each(OtherContact, document_data, "other_contacts"),
        closing_contacts=_each(OtherContact, document_data, "closing_contacts"),
        hand_contacts=_each(OtherContact, document_data, "hand_contacts"),
        events=tuple(_make(ContactEvent, part) for part in document_data["events"]),
        objects=tuple(_make(ObjectMotion, part) for part in document_data["objects"]),
        contact_model=_make(ContactModel, document_data["contact_model"]),
        hold=_make(HoldTest, document_data["hold"]) if "hold" in document_data else None,
        put_down=_make(PutDown, document_data["put_down"]) if "put_down" in document_data else None,
        reached_forces=_each(ReachedForce, document_data, "reached_forces"),
        peaks=tuple(_peak_of(part) for part in document_data.get("peak_forces", ())),
        soft_fingers=_each(SoftFingerEnd, document_data, "soft_fingers"),
        suction_events=_each(SuctionEvent, document_data, "suction_events"),
        phases=_each(PhaseSpan, document_data, "phases"),
        quality_log=QualityLog.of_arrays(arrays),
        warnings=tuple(document_data["warnings"]),
        advice=_advice(document_data["message"], status),
        **{key: arrays[key] for key in TRAJECTORY_KEYS},
        **{key: arrays[key] for key in ADDED_KEYS if key in arrays},
    )


def _resolve_of(scene: GraspScene, saved: Any) -> ResolvedScene | None:
    if saved is None:
        return None
    values = tuple(_make(ResolvedValue, item) for item in saved["values"])
    return ResolvedScene(scene, scene, float(saved["timestep_s"]), saved=values)


def _peak_of(value: dict[str, Any]) -> PeakForce:
    return _make(PeakForce, {key: part for key, part in value.items() if key != "resolved"})


def _each(model: type[T], document_data: dict[str, Any], name: str) -> tuple[T, ...]:
    return tuple(_make(model, part) for part in document_data.get(name, ()))


def _advice(message: str, status: GraspStatus) -> str:
    """Return what follows the sentence of the status, where the message begins with it."""
    sentence = f"{status.value}: "
    return message.removeprefix(sentence) if message.startswith(sentence) else ""


def _status(name: Any) -> GraspStatus:
    if name not in GraspStatus.__members__:
        hint = did_you_mean(str(name), GraspStatus.__members__)
        raise DescriptionError(f"no such status, found {name!r}; {hint}", field="status")
    return GraspStatus[name]


def _make(model: type[T], value: Any) -> T:
    if not isinstance(value, dict):
        raise DescriptionError(f"expected the fields of a {model.__name__}, found {value!r}")
    return model(**value)
