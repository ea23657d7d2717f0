"""Features of worlds that others wrote: PROTO nodes, devices, older versions, hidden fields."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softgrasp.backends.ode import player
from softgrasp.backends.wbt import Node, parse_world, problems, read_world, value, world_text
from softgrasp.errors import DescriptionError, SimulationError
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
HINGED = """#VRML_SIM {version} utf8
{declarations}
WorldInfo {{ }}
Viewpoint {{ }}
DEF HAND Robot {{
  children [ {link} {{ name "tip" length 0.2 shape Sphere {{ radius 0.05 }} }} {link} {{ }} ]
}}
"""
LINK = """#VRML_SIM R2022b utf8
# a comment before the PROTO
EXTERNPROTO "Skin.proto"
PROTO Link [
  field SFString{"tip", "link"} name "link"
  field SFFloat length 0.1
  unconnectedField SFVec3f axis 0 1 0
  vrmlField MFNode{Shape{}} more [ Pose { children [ Shape { geometry Box { } } ] } ]
  field SFNode shape Cylinder { height 0.1 radius 0.01 }
] {
  HingeJoint {
    jointParameters HingeJointParameters { axis IS axis }
    endPoint DEF LINK Solid {
      name IS name
      boundingObject IS shape
      children IS more
      physics Physics { density -1 mass IS length }
    }
  }
}
"""


def world_of(tmp_path: Path, version: str, declarations: str = "", **files: str) -> Path:
    """Write a world and PROTO files as a project has them."""
    for directory in ("worlds", "protos"):
        (tmp_path / directory).mkdir()
    for name, text in files.items():
        (tmp_path / "protos" / f"{name}.proto").write_text(text, encoding="utf-8")
    path = tmp_path / "worlds" / "hinged.wbt"
    text = HINGED.format(version=version, declarations=declarations, link="Link")
    path.write_text(text, encoding="utf-8")
    return path


def plain(nodes: list[Node]) -> list[object]:
    """Types, names and fields of nodes, without lines."""

    def content(held: object) -> object:
        if isinstance(held, Node):
            return (held.type, held.name, {key: content(one) for key, one in held.fields.items()})
        return [content(one) for one in held] if isinstance(held, list) else held

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


@pytest.mark.parametrize(
    ("version", "declarations"), [("R2023b", 'EXTERNPROTO "../protos/Link.proto"'), ("R2021b", "")]
)
def test_a_proto_beside_the_world_is_expanded(
    version: str, declarations: str, tmp_path: Path
) -> None:
    world = read_world(world_of(tmp_path, version, declarations, Link=LINK))
    assert world.notes == []
    first, second = world.of_type("HingeJoint")
    tip, link = first.node("endPoint"), second.node("endPoint")
    assert (tip.fields["name"], link.fields["name"]) == ("tip", "link")
    assert [solid.node("physics").fields["mass"] for solid in (tip, link)] == [0.2, 0.1]
    assert [solid.node("boundingObject").type for solid in (tip, link)] == ["Sphere", "Cylinder"]
    assert [node.type for node in link.nodes("children")] == ["Pose"]
    assert value(first.node("jointParameters"), "axis") == (0.0, 1.0, 0.0)
    assert list(world.opaque()) == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (LINK.replace("axis IS axis", "axis %<= 1 >% 0 0"), "{path} is a template"),
        (LINK.replace("IS length", "IS lenght"), "{path}:17: Physics.mass: the PROTO has no field "
         "'lenght'; did you mean 'length'? known: axis, length, more, name, shape"),
        ("#VRML_SIM R2022b utf8\nSolid { }", "{path}:2: expected a PROTO, found 'Solid'"),
    ],
)  # fmt: skip
def test_a_proto_that_cannot_be_expanded_stays_opaque(text: str, note: str, tmp_path: Path) -> None:
    world = read_world(world_of(tmp_path, "R2021b", Link=text))
    assert [node.type for node in world.opaque()] == ["Link", "Link"]
    path = tmp_path / "worlds" / ".." / "protos" / "Link.proto"
    directory = tmp_path / "protos" / "Link.proto"
    expected = {f"Link is not expanded: {note.format(path=one)}" for one in (path, directory)}
    assert len(world.notes) == 1
    assert world.notes[0] in expected


def test_a_proto_that_contains_itself_ends(tmp_path: Path) -> None:
    text = "#VRML_SIM R2022b utf8\nPROTO Link [ ] { Solid { children [ Link { } ] } }"
    assert len(list(read_world(world_of(tmp_path, "R2021b", Link=text)).opaque())) == 2


def test_transforms_stand_where_poses_came_later() -> None:
    text = "#VRML_SIM {} utf8\nSolid {{ boundingObject Transform {{ children [ Box {{ }} ] }} }}"
    assert parse_world(text.format("R2022b")).nodes[0].node("boundingObject").type == "Transform"
    with pytest.raises(DescriptionError, match=r"found 'Transform'$"):
        parse_world(text.format("R2023b"))


def test_shapes_of_older_axes_are_a_problem() -> None:
    text = "#VRML_SIM {} utf8\nWorldInfo {{ }}\nViewpoint {{ }}\nShape {{ geometry Plane {{ }} }}"
    assert [one.sentence for one in problems(parse_world(text.format("R2021b")))] == [
        "expected a Plane of a world of R2022a or newer, found one of R2021b, whose axis is y; "
        "save the world with a newer Webots"
    ]
    assert problems(parse_world(text.format("R2022a"))) == []


def test_ode_refuses_nodes_that_it_would_leave_out(golden: Golden) -> None:
    golden.refused(
        lambda: player._check(parse_world(ARENA, "arena.wbt")), "arena.wbt", SimulationError
    )
