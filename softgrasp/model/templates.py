"""Compiled models that are changed to those of scenes that differ in numbers only.

A sweep compiles one model: rows that differ in the numbers of object and contact are written into a
copy, which is equal bit for bit to one compiled from its spec and takes a tenth of the time.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable, Mapping
from copy import copy
from typing import Any, NamedTuple

import mujoco

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Sphere
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled, put_object, set_statistics
from softgrasp.model.contact_pairs import Pair, PairParameters, set_pairs
from softgrasp.model.names import scene_label
from softgrasp.model.object import add_body, add_object, arrange_items
from softgrasp.model.visual import FLOOR_NAME

MAX_TEMPLATES = 4
"""Number of compiled models that are kept to be changed."""
PATCHED = ("object", "contact", "object_position", "object_euler", "seed", "source")
"""Fields of a scene whose values are written into a compiled model, or are not in it."""
PATCHED_OF_OBJECT = ("shape", "mass", "density", "material", "source")
"""The same of its object."""
COMPILER_LIMITS = ("boundmass", "boundinertia", "balanceinertia")
"""Settings of the compiler that change masses."""
INERTIAL = {
    int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIA),
    int(mujoco.mjtSameFrame.mjSAMEFRAME_INERTIAROT),
}
"""Marks of geoms in the frame of their body's inertia."""
PRIMITIVES = (Sphere, Cuboid, Cylinder, Capsule, Ellipsoid)


class Templates(threading.local):
    """Compiled models of a thread, by what they have in common with the scenes they serve."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, Template] = {}

    def keep(self, key: Hashable, template: Template) -> None:
        """Keep a template instead of the oldest one."""
        while len(self.kept) >= MAX_TEMPLATES:
            del self.kept[next(iter(self.kept))]
        self.kept[key] = template


TEMPLATES = Templates()
"""Those of this thread."""


def template_key(scene: GraspScene, timestep: float) -> Hashable:
    """Return all that a model depends on besides the patched numbers; None for a fresh build.

    Fresh are scenes with surroundings or further objects, whose contacts and heights depend on the
    object, and objects that do not move freely.
    """
    described = scene.object
    if scene.objects or scene.surroundings or described.elasticity is not None:
        return None
    if scene.object_mount != "free":
        return None
    kind: Hashable = described.shape
    if isinstance(described.shape, PRIMITIVES):
        kind = type(described.shape)
    other = [n for n in type(described).model_fields if n not in PATCHED_OF_OBJECT]
    fields = [n for n in type(scene).model_fields if n not in PATCHED]
    values = (*(getattr(described, n) for n in other), *(getattr(scene, n) for n in fields))
    return (timestep, kind, *values, scene.requested_contact.converted)


class ObjectAlone(NamedTuple):
    """The object of a scene compiled alone, to be written into compiled models."""

    model: mujoco.MjModel
    geoms: list[str]
    """Names of its geoms; none where they are those of the template."""

    @classmethod
    def of(cls, scene: GraspScene, limits: Mapping[str, Any]) -> ObjectAlone:
        """Compile the object of a scene with limits of the compiler."""
        spec, placed = mujoco.MjSpec(), arrange_items(scene)[0]
        for name, value in limits.items():
            setattr(spec.compiler, name, value)
        if isinstance(placed.object.shape, PRIMITIVES):
            geoms = add_object(spec, placed.object, placed.pose, placed.mount, placed.body)
            return cls(compiled(spec, scene_label(scene)), geoms)
        add_body(spec, placed.object, placed.pose, placed.body)
        return cls(compiled(spec, scene_label(scene)), [])

    def fits(self, model: mujoco.MjModel) -> bool:
        """Return whether a model with it has the same structure, which depends on its frames."""
        body, its = (m.body(names.OBJECT).id for m in (model, self.model))
        if model.body_bvhnum[body] or model.body_simple[body] != self.model.body_simple[its]:
            return False
        if model.body_sameframe[body] != self.model.body_sameframe[its]:
            return False
        if not self.geoms:  # none of its geoms is in the frame of the inertia, which may rotate
            frames = model.geom_sameframe[model.geom_bodyid == body].tolist()
            return not INERTIAL & {*frames}
        frames = [m.geom(g).sameframe[0] for g in self.geoms for m in (model, self.model)]
        return bool(frames[::2] == frames[1::2])

    def put_into(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Write the object into a model, with a state of it."""
        put_object(model, data, self.model, names.OBJECT, self.geoms)


class SelfPairs(NamedTuple):
    """Pairs of the hand with itself, and the warning about those that overlap."""

    pairs: list[Pair]
    warning: str

    def warn(self) -> None:
        """Repeat the warning."""
        if self.warning:
            warnings.warn(self.warning, SoftgraspWarning, stacklevel=3)


class Template(NamedTuple):
    """Compiled models of a scene, changed to those of scenes that differ in numbers only."""

    bare: mujoco.MjModel
    """Without contact pairs; changed by every use."""
    data: mujoco.MjData
    """State of it."""
    model: mujoco.MjModel
    """The whole scene, not changed."""
    bodies: list[str]
    self_pairs: SelfPairs
    limits: dict[str, Any]
    """``COMPILER_LIMITS`` of its spec, which may be those of an imported hand."""
    pairs: dict[Pair, int]
    """Indices of the contact pairs in the whole scene."""
    state: mujoco.MjData
    """State of the whole scene."""

    def has(self, parameters: list[PairParameters]) -> bool:
        """Whether the model has the same pairs."""
        return self.pairs.keys() == {parameter.pair for parameter in parameters}

    def model_of(
        self,
        alone: ObjectAlone,
        parameters: list[PairParameters],
        start: Array,
        floor_height: float,
    ) -> mujoco.MjModel:
        """Return the model of a scene, equal bit for bit to one compiled from its spec.

        Args:
            alone: Its object.
            parameters: All pairs.
            start: ``qpos`` at the start, (nq,).
            floor_height: World z of the floor [m].
        """
        model = copy(self.model)
        set_pairs(model, parameters, [self.pairs[parameter.pair] for parameter in parameters])
        model.geom_pos[model.geom(FLOOR_NAME).id, 2] = floor_height
        alone.put_into(model, self.state)
        set_statistics(model, self.state)
        model.key_qpos[0] = start
        return model
