"""JSON schemas of YAML files, made from the descriptions, so that editors complete and check them.

pydantic writes the schema of a description in SI. ``schema_of`` adds the documentation of the
fields and what the readers accept besides: ``units``, names and files in the place of fields, Euler
angles and matrices as poses, common fields of phalanges. Lengths and angles have no bounds but 0,
so that any unit fits. What depends on several fields at once only softgrasp itself checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from softgrasp.description.arm import Arm
from softgrasp.description.base import LARGEST
from softgrasp.description.calibration import CalibrationProblem, FingerRelease
from softgrasp.description.contact import Bellows
from softgrasp.description.finger import Convention
from softgrasp.description.grasps import GraspSet
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.description.sweep import SweepPlan
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.units import ANGLE_UNITS, LENGTH_UNITS

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
THREE: Schema = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
MATRIX: Schema = {
    "description": "Rotation and position in rows of four numbers.",
    "type": "array",
    "items": {"type": "array", "items": NUMBER, "minItems": 4, "maxItems": 4},
    "minItems": 3,
    "maxItems": 4,
}
CONVENTION: Schema = {
    "description": "Convention of the Denavit–Hartenberg parameters.",
    "enum": [*get_args(Convention)],
}
UNITS: Schema = {
    "description": "Units of lengths and angles in this file; m and rad by default.",
    "type": "object",
    "properties": {"length": {"enum": [*LENGTH_UNITS]}, "angle": {"enum": [*ANGLE_UNITS]}},
    "additionalProperties": False,
}


class _Generator(GenerateJsonSchema):
    """Writes schemas of fields that one number may stand for (``Rates``)."""

    def chain_schema(self, schema: core_schema.ChainSchema) -> Schema:
        """Return the schema of the values in a chain of functions, or of one value."""
        values = next(step for step in schema["steps"] if step["type"] != "function-plain")
        return _or(NUMBER, self.generate_inner(values))


def schema_of(kind: str) -> Schema:
    """Return the JSON schema (draft 2020-12) of a kind of YAML file.

    Args:
        kind: One of ``KINDS``.

    Raises:
        DescriptionError: There is no such kind.
    """
    if kind not in KINDS:
        raise DescriptionError(f"no kind of file '{kind}'; {did_you_mean(kind, KINDS)}")
    model, about = KINDS[kind]
    definitions = _definitions(model)
    for name, change in CHANGES.items():
        if name in definitions and kind != "grasps":  # JSON that holds nothing else
            change(definitions[name])
    return {
        "$schema": DIALECT,
        "title": f"softgrasp {kind}",
        "description": about,
        **_reference(model.__name__),
        "$defs": dict(sorted(definitions.items())),
    }


def _definitions(model: type[BaseModel]) -> dict[str, Schema]:
    """Return the schemas of a description and of all that it holds, by their names."""
    schema = model.model_json_schema(schema_generator=_Generator)
    definitions: dict[str, Schema] = schema.pop("$defs", {})
    definitions[model.__name__] = schema
    for part in definitions.values():
        for field in part.get("properties", {}).values():
            _shorten(field)
    _choose_by_type(definitions, definitions)
    return definitions


def _shorten(schema: Any) -> None:
    """Remove generated titles, and the bounds that all numbers have."""
    if isinstance(schema, dict):
        schema.pop("title", None)
        for bound in ("minimum", "maximum"):
            if abs(schema.get(bound, 0.0)) == LARGEST:
                del schema[bound]
        schema = [part for key, part in schema.items() if key not in ("default", "description")]
    for part in schema if isinstance(schema, list) else ():
        _shorten(part)


def _choose_by_type(schema: Any, definitions: dict[str, Schema]) -> None:
    """Write unions of kinds as conditions on their ``type``, so that errors concern one kind.

    Unions in which it may be left out have no ``discriminator``; their first kind is the default.
    """
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            _choose_by_type(part, definitions)
    if not (isinstance(schema, dict) and "oneOf" in schema):
        return
    kinds = schema.pop("oneOf")
    types = [definitions[kind["$ref"].split("/")[-1]]["properties"]["type"] for kind in kinds]
    words = [item["const"] for item in types]
    if "discriminator" in schema:
        del schema["discriminator"]
        schema["required"] = ["type"]
    else:
        kinds, words = [*kinds, kinds[0]], [*words, None]
    schema["type"], schema["properties"] = "object", {"type": {"enum": words[: len(types)]}}
    schema["allOf"] = []
    for word, kind in zip(words, kinds, strict=True):
        stated = {"properties": {"type": {"const": word}}, "required": ["type"]}
        condition = {"not": {"required": ["type"]}} if word is None else stated
        schema["allOf"].append({"if": condition, "then": kind})


# Forms that the readers accept besides the fields of a description.
def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or(*schemas: Schema) -> Schema:
    return {"anyOf": [*schemas]}


def _mapping(properties: Schema, *required: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _with(schema: Schema, **forms: Schema) -> None:
    """Allow other forms of fields, whose documentation is kept, and further fields."""
    fields = schema["properties"]
    for name, form in forms.items():
        about = fields.get(name, form).get("description")
        fields[name] = {**form, "description": about} if about else form


def _pose(schema: Schema) -> None:
    fields = {**schema}
    schema.clear()
    euler = {**THREE, "description": "Angles about the fixed axes x, y and z, for the quaternion."}
    _with(fields, euler=euler)
    schema["anyOf"] = [fields, MATRIX]


def _hand(schema: Schema) -> None:
    """A hand has fingers, or is joined of hands, or changes a file that ``model`` names."""
    fields, rows = {**schema}, {"$ref": "#/$defs/Phalanx", "description": "Of all phalanges."}
    schema.clear()
    forms = [{"type": "object"}, fields["properties"]["preshapes"]]
    _with(fields, units=UNITS, defaults=rows, convention=CONVENTION, preshapes=_or(*forms))
    part = _mapping({"hand": TEXT, "name": TEXT, "pose": _reference("Pose")}, "hand", "name")
    joined = {key: fields["properties"][key] for key in ("name", "source", "units")}
    joined["grasps"] = _reference("Grasps")
    joined["hands"] = {"type": "array", "items": part, "minItems": 1}
    schema["if"] = {"required": ["hands"]}
    schema["then"] = _mapping(joined, "hands")
    of_model = {"type": "object", "required": ["model"], "properties": {"model": TEXT}}
    schema["else"] = {"if": of_model, "then": {"type": "object"}, "else": fields}


def _phalanx(schema: Schema) -> None:
    """Other fields are from ``defaults``; bellows stand for their joints."""
    bellows = Bellows.model_json_schema()
    _shorten(bellows)
    _with(schema, bellows=bellows | {"description": "Bellows before the link, as passive joints."})
    schema["required"] = []


def _phases(schema: Schema) -> None:
    """The type of a phase is a phase with its defaults."""
    schema["items"] = _or(schema["items"]["properties"]["type"], schema["items"])


def _criterion(schema: Schema) -> None:
    _phases(schema["properties"]["motion"])
    _with(schema, units=UNITS)


def _object_of_scene() -> Schema:
    named = {"mass": NUMBER, "density": NUMBER, "elasticity": _reference("Elasticity")}
    named |= {"library": TEXT, "lock_joints": {"type": "boolean"}}
    form = {"if": {"required": ["library"]}, "then": _mapping(named), "else": _reference(OBJECT)}
    return _or(TEXT, {"type": "object", **form})


def _scene(schema: Schema) -> None:
    fields = schema["properties"]
    _phases(fields["sequence"])
    arm = {"type": "object"}  # of the table of an extension, or a serial arm
    _with(
        schema,
        units=UNITS,
        hand=_or(TEXT, _reference("Hand")),
        object=_object_of_scene(),
        gravity=_or({"type": "boolean"}, fields["gravity"]),
        success=_or(TEXT, fields["success"]),
        arm=_or(TEXT, arm, {"type": "null"}),
    )


def _arm(schema: Schema) -> None:
    """An arm has the fields of its chain, or names a robot file as its ``model``."""
    chain = {**schema["properties"], "units": UNITS}
    chain.pop("chain")
    start = {"type": "array", "items": NUMBER, "description": "Start targets of its joints."}
    rows = {"type": "array", "items": _reference("Phalanx"), "minItems": 1}
    schema["properties"] = chain | {
        "model": {**TEXT, "description": "URDF or xacro file, in the place of a chain."},
        "tool_link": {**TEXT, "description": "Link of that file which carries the hand."},
        "start": start,
        "convention": {**CONVENTION},
        "defaults": {**_reference("Phalanx"), "description": "Fields of all its joints."},
        "base": {**_reference("Pose"), "description": "Pose of its base."},
        "phalanges": {**rows, "description": "Its joints and links, from the base on."},
    }
    schema["required"] = []


def _plan(schema: Schema) -> None:
    axis = _reference("Axis")
    values = _or(axis, {"type": "array", "minItems": 1}, NUMBER, TEXT)
    axes = {"type": "object", "additionalProperties": values}
    _with(schema, scene=_or(TEXT, _reference("GraspScene")), axes=axes)


def _axis(schema: Schema) -> None:
    """The path of an axis is its key."""
    schema["properties"].pop("path")
    schema["required"] = []


def _release(schema: Schema) -> None:
    _with(schema, finger=_or(TEXT, _reference("SoftFinger")))


def _calibration(schema: Schema) -> None:
    """Measurements are in tables, or listed; photographs and videos are in directories."""
    names = ("hung", "releases", "forces", "bends")
    measured = {name: _or(TEXT, schema["properties"][name]) for name in names}
    directory = _or(TEXT, {"type": "object", "properties": {"folder": TEXT}})
    numbers = {"type": "array", "items": NUMBER}
    pair = {**numbers, "minItems": 2, "maxItems": 2}
    held_out = _mapping(dict.fromkeys(measured, numbers))
    bounds = _mapping(dict.fromkeys(("stiffness", "damping", "gain"), pair))
    only = "Weights [g] and pressures [kPa] that only check the result."
    _with(
        schema,
        finger=TEXT,
        photos={**directory, "description": "Photographs under weights, and how they are read."},
        videos={**directory, "description": "Videos of releases, and how they are read."},
        traces={"type": "object", "description": "Table of a tracked tip by mass [g]."},
        held_out={**held_out, "description": only},
        bounds={**bounds, "description": "Lowest and highest values."},
        **measured,
    )
    fields = {**schema}
    schema.clear()
    schema |= {"if": {"required": ["arm"]}, "then": {"type": "object"}, "else": fields}


OBJECT = "GraspObject"
CHANGES: dict[str, Callable[[Schema], None]] = {
    "Pose": _pose,
    "Phalanx": _phalanx,
    "Finger": lambda schema: schema.update(required=["name", "phalanges"]),
    "MountedSoftFinger": _release,
    "SoftFinger": lambda schema: _with(schema, units=UNITS),
    "SuccessCriterion": _criterion,
    OBJECT: lambda schema: _with(schema, units=UNITS),
    "PlacedObject": lambda schema: _with(schema, object=_object_of_scene()),
    "Hand": _hand,
    "Arm": _arm,
    "GraspScene": _scene,
    "SweepPlan": _plan,
    "Axis": _axis,
    "FingerRelease": _release,
    "CalibrationProblem": _calibration,
}
"""What the readers of ``softgrasp.io`` accept besides, by description."""
KINDS: dict[str, tuple[type[BaseModel], str]] = {
    "hand": (Hand, "A hand: fingers, or several hands, or a robot file with changes."),
    "object": (GraspObject, "An object to be grasped."),
    "scene": (GraspScene, "A hand at an object: how it closes, what happens, how it is assessed."),
    "finger": (SoftFinger, "A soft finger: rigid links with springs between them."),
    "criterion": (SuccessCriterion, "When a grasp counts as held."),
    "arm": (Arm, "A serial arm that carries a hand."),
    "grasps": (GraspSet, "Grasps of a hand, in JSON (softgrasp-grasps, version 1)."),
    "sweep": (SweepPlan, "Many scenes that differ along axes."),
    "release": (FingerRelease, "A loaded soft finger that is let go."),
    "calibration": (CalibrationProblem, "Measurements of a soft finger, and how they are fitted."),
}
"""Description and sentence of every kind of file."""
