"""Features of worlds that others wrote: PROTO nodes, devices, hidden fields."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.backends.ode import player
from softgrasp.backends.wbt import Node, parse_world, problems, world_text
from softgrasp.errors import SimulationError
from tests.conftest import Golden

PROTOS = "https://raw.githubusercontent.com/cyberbotics/webots/R2023b/projects"
ARENA = f"""#VRML_SIM R2023b utf8

EXTERNPROTO "{PROTOS}/objects/floors/protos/RectangleArena.proto"
IMPORTABLE EXTERNPROTO "{PROTOS}/robots/gctronic/e-puck/protos/E-puck.proto"
EXTERNPROTO "webots://projects/appearances/protos/Parquetry.proto"

WorldInfo {{
  info [ "two" "lines" ]
  contactProperties [ ContactProperties {{ material1 "wheel" }} ]
}}
Viewpoint {{ orientation -0.5 0.5 0.7 1.6 position 0 0 2 }}
RectangleArena {{
  floorSize 2 1.5
  floorAppearance Parquetry {{ type "light strip" IBLStrength 0.5 }}
  wallThickness 0.01
}}
DEF EPUCK E-puck {{
  hidden position_0_0 7.5e-3
  hidden rotation_2 0 1 0 0.25
  translation 0.1 0 0
  emitter_range [ 0.4 0.8 ]
  window TRUE
  turretSlot [
    Camera {{ width 64 lens Lens {{ center 0.5 0.5 }} }}
    Solid {{ rotation 0 0.0004 1 0.5 name "top" boundingObject DEF TOP Box {{ size 0.1 0.1 0.1 }} }}
  ]
  bodySlot NULL
}}
Solid {{
  name "table"
  children [ DistanceSensor {{ lookupTable [ 0 0 0, 1 1000 0.1 ] }} USE EPUCK ]
  boundingObject USE TOP
  hidden linearVelocity_0 0 0 1
}}
DirectionalLight {{ color 255 0.5 0 }}
"""


def plain(nodes: list[Node]) -> list[object]:
    """Types, names and fields of nodes, without lines."""

    def content(held: object) -> object:
        if isinstance(held, Node):
            return (
                held.type,
                held.name,
                {key: content(field) for key, field in held.fields.items()},
            )
        return [content(item) for item in held] if isinstance(held, list) else held

    return [content(node) for node in nodes]


def test_proto_nodes_and_devices_are_kept() -> None:
    world = parse_world(ARENA, "arena.wbt")
    arena, puck = (node for node in world.nodes if node.type in ("RectangleArena", "E-puck"))
    assert arena.fields["floorSize"] == (2.0, 1.5)
    assert arena.node("floorAppearance").fields["type"] == "light strip"
    assert puck.fields["hidden rotation_2"] == (0.0, 1.0, 0.0, 0.25)
    assert puck.fields["emitter_range"] == [0.4, 0.8]
    assert puck.fields["window"] is True
    assert puck.fields["bodySlot"] is None
    assert [node.type for node in puck.nodes("turretSlot")] == ["Camera", "Solid"]
    assert sorted({node.type for node in world.opaque()}) == [
        "Camera", "DistanceSensor", "E-puck", "Lens", "Parquetry", "RectangleArena",
    ]  # fmt: skip
    assert len(world.externprotos) == 3
    assert problems(world) == []


def test_what_is_kept_is_written_and_read_again() -> None:
    world = parse_world(ARENA, "arena.wbt")
    text = world_text(world.nodes, world.version, world.externprotos)
    assert plain(parse_world(text).nodes) == plain(world.nodes)


def test_axes_are_normalised_and_colours_clipped() -> None:
    world = parse_world(ARENA, "arena.wbt")
    top, light = next(world.of_type("Solid")), next(world.of_type("DirectionalLight"))
    axis = np.array([0.0, 0.0004, 1.0])
    np.testing.assert_allclose(top.fields["rotation"][:3], axis / np.linalg.norm(axis), atol=1e-15)
    assert top.fields["rotation"][3] == 0.5
    (view,) = world.of_type("Viewpoint")
    assert np.linalg.norm(view.fields["orientation"][:3]) == pytest.approx(1.0, abs=1e-15)
    assert light.fields["color"] == (1.0, 0.5, 0.0)
    assert world.notes == [
        "line 35: DirectionalLight.color: expected numbers from 0 to 1, found 255 0.5 0; they are "
        "clipped, as by Webots"
    ]


def test_ode_refuses_nodes_that_it_would_leave_out(golden: Golden) -> None:
    golden.refused(
        lambda: player._check(parse_world(ARENA, "arena.wbt")), "arena.wbt", SimulationError
    )
