"""Bodies of a compiled model → Solid nodes, with joints and touch sensors between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.webots.frames import Frame, body_frame, set_pose
from softgrasp.build.webots.geometry import seen, touched
from softgrasp.build.webots.joint_laws import JointLaw
from softgrasp.build.webots.joints import joint_node
from softgrasp.build.webots.mass import (
    LIGHT_FRACTION,
    Inertia,
    body_inertia,
    heaviest_in_group,
    physics,
)
from softgrasp.formats.wbt.node import Node, Value

STATIC_SENSOR = Inertia(1e-4, np.zeros(3), 1e-8 * np.eye(3))
"""A touch sensor on what does not move; Webots wants it to have a mass, and measures its weight."""


def body_define(body: int) -> str:
    """DEF of the solid of a body that the controller has to find."""
    return f"BODY_{body}"


def touch_name(body: str) -> str:
    """The touch sensor of a body."""
    return f"{body}_touch"


class SolidWriter:
    """Writes the bodies of one model, poses as they are at the start."""

    def __init__(
        self,
        model: mujoco.MjModel,
        start: mujoco.MjData,
        laws: Sequence[JointLaw],
        sensing: Sequence[str],
        touching: set[int],
        max_faces: int | None = None,
    ) -> None:
        """Look at a model.

        Args:
            model: The compiled scene.
            start: Its state at the start.
            laws: Of its joints.
            sensing: Bodies that have a touch sensor.
            touching: Geoms that can touch.
            max_faces: Meshes with more triangles are made coarser; none where not given.
        """
        self._model, self._start, self._max_faces = model, start, max_faces
        self._laws = {model.joint(law.name).id: law for law in laws}
        self._sensing = {model.body(name).id for name in sensing}
        self._touching = touching
        self._donated = self._light_solids()

    def carried(self, body: int, parent: Frame, material: str) -> Node:
        """A body with all that hangs from it: welded to its parent, or behind its joints.

        Args:
            body: The body.
            parent: Frame of the solid that carries it.
            material: Its contact material.

        Returns:
            A Solid, or the first joint.
        """
        first, count = int(self._model.body_jntadr[body]), int(self._model.body_jntnum[body])
        frame = body_frame(self._start, body)
        # a free joint has no law: Webots lets go of what stands in the world without a joint
        laws = [self._laws[j] for j in range(first, first + count) if j in self._laws]
        node = self._solid(body, frame if laws else parent, material)
        for index in reversed(range(len(laws))):
            if index == 0:
                set_pose(node, frame.inside(parent))
            carrier = parent if index == 0 else frame
            has_devices = (
                laws[index].name not in PLANAR_JOINTS
            )  # the object is no part of the robot
            node = joint_node(
                self._model, self._start, laws[index], carrier, node, devices=has_devices
            )
            if index > 0:
                node = self._between(body, laws[index - 1].name, node)
        return node

    def _solid(self, body: int, parent: Frame, material: str) -> Node:
        """The solid of a body and of all that hangs from it."""
        frame = body_frame(self._start, body)
        node = Node("Solid", name=self._define(body))
        set_pose(node, frame.inside(parent))
        geoms = [int(g) for g in np.flatnonzero(self._model.geom_bodyid == body)]
        bounds = touched(
            self._model,
            self._start,
            [geom for geom in geoms if geom in self._touching],
            self._max_faces,
        )
        children: list[Value] = list(
            seen(self._model, self._start, self._visible(geoms), self._max_faces)
        )
        if body in self._sensing and bounds is not None:
            children.append(self._sensor(body, bounds, material))
            bounds = None
        children += [
            self.carried(child, frame, material)
            for child in np.flatnonzero(self._model.body_parentid == body).tolist()
            if child != body
        ]
        node.fields["children"] = children
        node.fields["name"] = self._model.body(body).name
        node.fields["contactMaterial"] = material
        node.fields["boundingObject"] = bounds
        node.fields["physics"] = self._physics(body)
        return node

    def _between(self, body: int, joint: str, carried: Node) -> Node:
        """The light solid between two joints of one body, behind the one that is named."""
        light = heaviest_in_group(self._model, self._start, body).times(LIGHT_FRACTION)
        return Node(
            "Solid",
            {
                "children": [carried],
                "name": f"{joint}_carrier",
                "physics": physics(light),
            },
        )

    def _sensor(self, body: int, bounds: Node, material: str) -> Node:
        """The skin of a body as a sensor of force; it has to be a child, not an end of a joint."""
        light = STATIC_SENSOR
        if self._moves(body):
            light = heaviest_in_group(self._model, self._start, body).times(LIGHT_FRACTION)
        return Node(
            "TouchSensor",
            {
                "name": touch_name(self._model.body(body).name),
                "contactMaterial": material,
                "boundingObject": bounds,
                "physics": physics(light),
                "type": "force-3d",
                "lookupTable": [],  # the default one multiplies by ten
            },
        )

    def _physics(self, body: int) -> Node | None:
        if not self._moves(body):
            return None
        inertia = body_inertia(self._model, body)
        if inertia.mass <= 0.0:
            light = heaviest_in_group(self._model, self._start, body)
            return physics(light.times(LIGHT_FRACTION))
        return physics(inertia.times(1.0 - LIGHT_FRACTION * self._donated[body]))

    def _define(self, body: int) -> str:
        name: str = self._model.body(body).name
        if name == OBJECT:
            return OBJECT
        return body_define(body) if self._model.body_gravcomp[body] and self._moves(body) else ""

    def _moves(self, body: int) -> bool:
        return bool(self._model.body_weldid[body] != 0)

    def _light_solids(self) -> Counter[int]:
        """How many light solids have their mass from each body."""
        donations: Counter[int] = Counter()
        model = self._model
        for body in range(1, model.nbody):
            group = np.flatnonzero(model.body_weldid == model.body_weldid[body])
            donor = int(group[model.body_mass[group].argmax()])
            if self._moves(body):
                joints = int(model.body_jntnum[body])
                donations[donor] += max(joints - 1, 0)
                donations[donor] += int(body in self._sensing) + int(model.body_mass[body] <= 0.0)
        return donations

    def _visible(self, geoms: list[int]) -> list[int]:
        """Geoms to be seen: those that only touch stand for others, or for a skin."""
        model = self._model
        shown = [g for g in geoms if model.geom_group[g] in (0, 2) and model.geom_rgba[g, 3] > 0]
        return shown or [geom for geom in geoms if geom in self._touching]
