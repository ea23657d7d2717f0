"""A YAML file beside a model: what it says replaces what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import GraspPreset, Grasps, Hand
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.mjcf.hand import mjcf_hand
from softgrasp.formats.pose_tree import pose_tree
from softgrasp.formats.yaml_file import Tree, scaled, take_units, to_si

FIELDS = ("model", "name", "source", "pose", "fingers", "grasps", "contact", "units")
GRASPS = ("power", "precision")


def hand_beside(data: dict[str, Tree], directory: Path) -> Hand:
    """A hand from a model and what a YAML tree says besides.

    Args:
        data: ``model`` and any of ``name``, ``source``, ``pose`` (the world of the file in the
            hand's frame), ``fingers`` (new names by the found ones), ``grasps`` (fields of one or
            both presets) and ``contact``.
        directory: Where the model lies.

    Raises:
        DescriptionError: Something in the tree or the model is wrong; knows its location.
    """
    for key in data:
        if key not in FIELDS:
            raise DescriptionError(
                f"no such field beside a model; {did_you_mean(key, FIELDS)}",
                field=key,
                location=(key,),
            )
    rest, length, angle = take_units(data)
    pose = None
    if "pose" in rest:
        pose = Pose(**pose_tree(rest["pose"], length, angle, ("pose",), "the hand"))
    hand = mjcf_hand(directory / str(rest["model"]), pose=pose)
    changes: dict[str, Any] = {key: rest[key] for key in ("name", "source") if key in rest}
    if "contact" in rest:
        changes["contact"] = Contact(**rest["contact"])
    if "grasps" in rest:
        changes["grasps"] = _grasps(hand, rest["grasps"], length, angle)
    if "fingers" in rest:
        changes["fingers"] = _renamed(hand, rest["fingers"])
    return hand.replace(**changes) if changes else hand


def _renamed(hand: Hand, names: Tree) -> tuple[Any, ...]:
    known = [finger.name for finger in hand.fingers]
    if not isinstance(names, dict):
        raise DescriptionError(
            f"expected new names by the found ones ({', '.join(known)}), found {names!r}",
            field="fingers",
            location=("fingers",),
        )
    for name in names:
        if name not in known:
            raise DescriptionError(
                f"no finger '{name}'; {did_you_mean(name, known)}",
                field=f"fingers.{name}",
                location=("fingers", name),
            )
    return tuple(f.replace(name=names.get(f.name, f.name)) for f in hand.fingers)


def _grasps(hand: Hand, fields: Tree, length: float, angle: float) -> Grasps:
    if not isinstance(fields, dict) or not set(fields) <= set(GRASPS):
        raise DescriptionError(
            f"expected power, precision or both, found {fields!r}",
            field="grasps",
            location=("grasps",),
        )
    units = [{"rad": angle, "m": length}.get(actuator.unit, 1.0) for actuator in hand.actuators]
    presets = {}
    for name in GRASPS:
        preset: GraspPreset = getattr(hand.grasps, name)
        changes = fields.get(name, {})
        if not isinstance(changes, dict):
            raise DescriptionError(
                f"expected fields of a grasp, found {changes!r}",
                field=f"grasps.{name}",
                location=("grasps", name),
            )
        changes = to_si(
            {key: value for key, value in changes.items() if key not in ("rates", "start")},
            length,
            angle,
        ) | {key: _by_actuator(changes[key], units) for key in ("rates", "start") if key in changes}
        try:
            presets[name] = preset.replace(**changes)
        except DescriptionError as error:
            where = ("grasps", name, *error.location)
            field = f"grasps.{name}.{error.field}" if error.field else f"grasps.{name}"
            raise DescriptionError(
                error.message, field=field, location=where, value=error.actual
            ) from None
    return Grasps(**presets)


def _by_actuator(value: Tree, units: list[float]) -> Tree:
    """One number for all drives, or one a drive, in SI."""
    if not isinstance(value, list):
        return scaled(value, units[0])
    return [scaled(number, unit) for number, unit in zip(value, units, strict=False)] + value[
        len(units) :
    ]
