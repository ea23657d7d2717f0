"""Resolved scenes: every value that a run depends on, concrete, with who states it and why.

``resolution.resolve`` makes a ``ResolvedScene`` from a ``GraspScene``, which holds only what was
stated. Its ``scene`` has all values that are searched or computed: grasp, posture and place of the
object, closure, heights of tables. ``values`` is the table of all of them with their sources, as
``softgrasp explain`` prints it and ``result.json`` holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from softgrasp.description.base import Description
from softgrasp.description.contact import Contact, Source, resolve_fields
from softgrasp.description.object import Surrounding
from softgrasp.description.scene import GraspScene

WHOLE_FIELDS = (
    *("grasp", "preshape", "hand_pose", "object_position", "object_euler", "object_mount"),
    *("gravity", "actuation", "control_period", "duration", "self_contact"),
    *("allow_softer_contact", "seed"),
)
"""Fields of a scene that are one value each."""
OBJECT_FIELDS = ("mass", "density", "upright")
"""Fields of the object that a run depends on, besides its shape."""
LONGEST = 60
"""Largest number of characters of a value in a table."""
PRESET_FIELDS = ("center", "object_euler", "upright_euler", "start", "pressure")
"""Fields of the grasp of the hand, besides its rates."""


class Origin(NamedTuple):
    """Who states a value, and why it is this one."""

    source: Source
    reason: str = ""


class ResolvedValue(Description):
    """A concrete value of a scene, and its origin."""

    field: str
    """Path in the scene, such as ``closure.samples``; contacts by what touches: ``contact of ball``
    (with the hand and other objects), ``contact of ball and table``."""
    value: Any = None
    """As plain data; None where the field is not set."""
    source: Source
    reason: str = ""
    """Why it is this value, where it was computed."""

    @property
    def is_set(self) -> bool:
        """Whether the field is set: neither none nor an empty text or list."""
        return self.value not in (None, "", [])

    @property
    def row(self) -> list[str]:
        """Field, value as text, source and reason, for a table."""
        text = _text(self.value)
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        return [self.field, short, self.source, self.reason]


@dataclass(frozen=True, eq=False)
class ResolvedScene:
    """A scene whose values are all concrete; equal ones give equal runs, bit for bit."""

    described: GraspScene
    """What was stated."""
    scene: GraspScene
    """The same with every value that was open."""
    timestep: float
    """Time step of the model [s]."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Origins of values that were computed, by their fields."""
    warnings: tuple[str, ...] = ()
    """What the user should know about the choices."""
    saved: tuple[ResolvedValue, ...] = ()
    """``values`` of a scene that was read from a result, which has no ``origins``."""

    @cached_property
    def values(self) -> tuple[ResolvedValue, ...]:
        """All values with their origins, in the order of hand, object, contacts, control, tests."""
        return self.saved or tuple(self._values())

    def value(self, name: str) -> ResolvedValue:
        """Return the value of a field by its path in ``values``.

        Raises:
            KeyError: There is no such field.
        """
        return {value.field: value for value in self.values}[name]

    def _values(self) -> Iterator[ResolvedValue]:
        scene, described = self.scene, self.described
        yield ResolvedValue(field="hand", value=scene.hand.name, source="said")
        yield ResolvedValue(field="object", value=scene.object.name, source="said")
        yield from self._filed(scene.object, "object.", OBJECT_FIELDS, "object file")
        yield from self._fields(scene, described, "", WHOLE_FIELDS)
        yield from self._preset()
        yield from self._heights()
        yield from self._contacts()
        yield from self._closure()
        yield self._entry("timestep", self.timestep, Origin("said"))
        yield from self._solver()
        yield from self._tests()

    def _entry(self, name: str, value: Any, origin: Origin) -> ResolvedValue:
        """Return a value with the origin of its computation, or else the one given."""
        source, reason = self.origins.get(name, origin)
        return ResolvedValue(field=name, value=_plain(value), source=source, reason=reason)

    def _fields(
        self, part: Description, described: Description, prefix: str, names: tuple[str, ...] = ()
    ) -> Iterator[ResolvedValue]:
        for name in names or type(part).model_fields:
            stated = name in described.model_fields_set and getattr(described, name) is not None
            usual = getattr(part, name) == type(part).model_fields[name].get_default()
            origin = Origin("said" if stated else "default" if usual else "computed")
            yield self._entry(prefix + name, getattr(part, name), origin)

    def _filed(
        self, part: Description, prefix: str, names: tuple[str, ...], file: Source
    ) -> Iterator[ResolvedValue]:
        """Yield values of a description that was read from a file, unless somebody states them."""
        for name in names:
            value = getattr(part, name)
            usual = value == type(part).model_fields[name].get_default()
            source: Source = "said" if name in part.model_fields_set else file
            yield self._entry(prefix + name, value, Origin("default" if usual else source))

    def _preset(self) -> Iterator[ResolvedValue]:
        prefix, preset = f"hand.grasps.{self.scene.grasp}", self.scene.preset
        computed = self.origins.get(prefix)
        for item in self._filed(preset, f"{prefix}.", PRESET_FIELDS, "hand file"):
            changed = computed is not None and item.source in ("said", "hand file")
            yield item.choose(**computed._asdict()) if computed and changed else item
        rates = Origin("said") if self.described.closure.rates is not None else computed
        yield self._entry("rates", self.scene.rates, rates or Origin("hand file"))

    def _heights(self) -> Iterator[ResolvedValue]:
        parts = zip(self.scene.surroundings, self.scene.surrounding_names, strict=True)
        for part, name in parts:
            if hasattr(part, "height"):
                yield self._entry(f"{name}.height", part.height, Origin("said"))

    def _contacts(self) -> Iterator[ResolvedValue]:
        for index, name in enumerate(self.scene.object_names):
            yield from self._contact(index, f"contact of {name}", None)
            around = zip(self.scene.surroundings, self.scene.surrounding_names, strict=True)
            for part, other in around:
                if part.contact.specified:
                    yield from self._contact(index, f"contact of {name} and {other}", part)

    def _contact(self, index: int, label: str, part: Surrounding | None) -> Iterator[ResolvedValue]:
        merged = resolve_fields(self.scene.contact_sources(index, part))
        contact = Contact(**{name: item.value for name, item in merged.items()})
        for name in _acting(contact):
            value, origin = getattr(contact, name), Origin(merged[name].source)
            if name == "dynamic_friction" and value is None:
                value, origin = contact.kinetic_friction, Origin(merged["static_friction"].source)
            yield self._entry(f"{label}.{name}", value, origin)
        geoms: dict[float, list[str]] = {}
        for geom, contact in self.scene.geom_contacts(index, part).items():
            geoms.setdefault(contact.static_friction, []).append(geom)
        for value, geom_names in geoms.items():
            listed = f"{label}.static_friction of {', '.join(geom_names)}"
            yield self._entry(listed, value, Origin("hand file"))

    def _closure(self) -> Iterator[ResolvedValue]:
        closure, described = self.scene.closure, self.described.closure
        stated = self.described.specifies_closure
        yield self._entry("closure.type", closure.name, Origin("said" if stated else "default"))
        names = tuple(name for name in type(closure).model_fields if name not in ("type", "rates"))
        for item in self._fields(closure, described, "closure.", names):
            if item.value == "hand":  # the grip force of the hand
                yield self._entry(item.field, self.scene.hand.grip_force, Origin("hand file"))
            else:
                yield item

    def _solver(self) -> Iterator[ResolvedValue]:
        scene, described = self.scene, self.described.solver
        for item in self._fields(scene.solver, described, "solver."):
            name = item.field.removeprefix("solver.")
            if item.value is None and name in ("integrator", "impedance"):
                yield self._entry(item.field, getattr(scene, name), Origin("default"))
            else:
                yield item

    def _tests(self) -> Iterator[ResolvedValue]:
        for name in ("success", "lift"):
            part, described = getattr(self.scene, name), getattr(self.described, name)
            if part is None:
                yield self._entry(name, None, Origin("default"))
            else:
                yield from self._fields(part, described, f"{name}.")


def _acting(contact: Contact) -> tuple[str, ...]:
    """Return the fields of a contact that act in its model."""
    unused = {
        "compliant": {"patch", "native"},
        "soft-finger": {"torsional_friction", "native"},
        "native": {"stiffness", "damping", "patch"},
    }[contact.model]
    return tuple(name for name in Contact.model_fields if name not in unused)


def _text(value: Any) -> str:
    """Return a value as text, numbers with four digits."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{value:g}" if value == round(value) else f"{value:.4g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
    return str(value)


def _plain(value: Any) -> Any:
    """Return a value as plain data."""
    if isinstance(value, Description):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
