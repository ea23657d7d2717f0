"""Meshes: laws of mass properties, every bad file's sentence, what is mended and said."""

import contextlib
import os
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.geometry import Mesh
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.convex_decomposition import union_volume
from softgrasp.io.mesh import MeshBody, load_mesh
from softgrasp.io.mesh_files import lacks_reader, read_groups
from softgrasp.io.mesh_repair import hull_of, make_solid, signed_volume
from softgrasp.units import LENGTH_UNITS
from tests.support.solids import l_solid

READABLE = [name for name in MESH_SUFFIXES if not lacks_reader(f"mesh{name}")]
BOX = trimesh.creation.box((0.04, 0.05, 0.06))
CUBE_VOLUME = 0.04 * 0.05 * 0.06


def written(mesh: trimesh.Trimesh, directory: Path, name: str = "thing.stl") -> Mesh:
    file = directory / name
    mesh.export(file)
    return Mesh(file=str(file))


def raw(vertices: object, faces: object) -> trimesh.Trimesh:
    return trimesh.Trimesh(np.asarray(vertices, float), np.asarray(faces), process=False)


def quietly(shape: Mesh) -> tuple[MeshBody, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        body = load_mesh(shape)
    assert [str(result.message) for result in caught] == list(body.warnings)
    assert all(result.category is SoftgraspWarning for result in caught)
    return body, list(body.warnings)


def refusal(shape: Mesh, **options: Path) -> str:
    with pytest.raises(DescriptionError) as caught:
        load_mesh(shape, **options)
    return str(caught.value)


# Laws


@pytest.mark.parametrize("suffix", READABLE)
def test_a_box_has_the_volume_and_inertia_of_a_box(tmp_path, suffix):
    moved = BOX.copy()
    moved.apply_translation([0.3, -0.2, 0.1])
    body = load_mesh(written(moved, tmp_path, f"box{suffix}"))
    a, b, c = 0.04, 0.05, 0.06
    squares = [b * b + c * c, a * a + c * c, a * a + b * b]
    assert body.volume == pytest.approx(CUBE_VOLUME, rel=1e-6)
    np.testing.assert_allclose(body.center_of_mass, [0.3, -0.2, 0.1], atol=1e-7)
    np.testing.assert_allclose(
        body.inertia_per_density,
        np.diag(squares) * CUBE_VOLUME / 12,
        atol=1e-6 * CUBE_VOLUME * a * a,
    )
    np.testing.assert_allclose(np.ptp(body.vertices, axis=0), [a, b, c], atol=1e-7)
    np.testing.assert_allclose(body.vertices.mean(axis=0), 0, atol=1e-7)
    assert len(body.parts) == 1
    assert len(body.parts[0][0]) == 8
    assert body.warnings == ()


finite = st.floats(-1, 1)


@settings(max_examples=30, deadline=None)
@given(
    offset=st.tuples(finite, finite, finite),
    axis=st.tuples(finite, finite, finite).filter(lambda v: np.linalg.norm(v) > 0.1),
    angle=st.floats(-3, 3),
)
def test_moving_and_rotating_a_solid_moves_and_rotates_its_mass_properties(offset, axis, angle):
    mesh = l_solid()
    rotation = trimesh.transformations.rotation_matrix(angle, axis)[:3, :3]
    before = make_solid(mesh.vertices, mesh.faces)
    after = make_solid(mesh.vertices @ rotation.T + offset, mesh.faces)
    assert before.volume == pytest.approx(5 * 0.02**3, rel=1e-9)
    assert after.volume == pytest.approx(before.volume, rel=1e-9)
    np.testing.assert_allclose(
        after.center_of_mass, before.center_of_mass @ rotation.T + offset, atol=1e-9
    )
    np.testing.assert_allclose(after.inertia, rotation @ before.inertia @ rotation.T, atol=1e-15)


@pytest.mark.parametrize("name", ["strawberry", "pear", "screwdriver", "mug"])
def test_mass_properties_are_those_of_mujocos_exact_mesh_inertia(name):
    body = load_mesh(shipped(name))
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(
        name="m", uservert=body.vertices.ravel(), userface=body.faces.ravel().astype(int)
    )
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_EXACT
    held = spec.worldbody.add_body()
    held.add_freejoint()
    held.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m", density=1000)
    model = spec.compile()
    assert model.body_mass[1] == pytest.approx(1000 * body.volume, rel=1e-6)
    np.testing.assert_allclose(model.body_ipos[1], 0, atol=1e-8)
    principal = np.sort(np.linalg.eigvalsh(body.inertia_per_density)) * 1000
    np.testing.assert_allclose(np.sort(model.body_inertia[1]), principal, rtol=1e-6)


def shipped(name: str) -> Mesh:
    return Mesh(file=f"objects/meshes/{name}.obj", parts=f"objects/meshes/{name}_parts.obj")


def test_arrays_are_locked_and_reading_again_is_free(tmp_path):
    shape = written(BOX, tmp_path)
    body = load_mesh(shape)
    with pytest.raises(ValueError, match="read-only"):
        body.vertices[0, 0] = 1.0
    assert load_mesh(shape) is body


def test_a_file_that_was_written_again_is_read_again(tmp_path):
    shape = written(BOX, tmp_path)
    first = load_mesh(shape)
    written(trimesh.creation.box((0.04, 0.05, 0.07)), tmp_path)
    os.utime(shape.file, ns=(1, 1))
    assert load_mesh(shape).volume == pytest.approx(first.volume * 7 / 6, rel=1e-6)


# COLLADA

COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>{up}</up_axis></asset><library_geometries>{shapes}
</library_geometries><library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
COLLADA_SHAPE = """<geometry id="g{n}"><mesh><source id="p{n}">
<float_array id="a{n}" count="{count}">
{numbers}</float_array><technique_common>
<accessor source="#a{n}" count="{third}" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v{n}"><input semantic="POSITION" source="#p{n}"/></vertices>
<triangles count="{faces}"><input semantic="VERTEX" source="#v{n}" offset="0"/><p>{corners}</p>
</triangles></mesh></geometry>"""


def collada(unit: float, up: str, parts: list[tuple[trimesh.Trimesh, np.ndarray]]) -> str:
    """A COLLADA file of meshes, each in a node with its matrix."""
    shapes, nodes = "", ""
    for n, (mesh, matrix) in enumerate(parts):
        numbers = " ".join(repr(float(value)) for value in np.ravel(mesh.vertices))
        corners = " ".join(map(str, np.ravel(mesh.faces)))
        shapes += COLLADA_SHAPE.format(
            n=n, count=3 * len(mesh.vertices), third=len(mesh.vertices), faces=len(mesh.faces),
            numbers=numbers, corners=corners,
        )  # fmt: skip
        entries = " ".join(repr(float(value)) for value in np.ravel(matrix))
        nodes += f'<node><matrix>{entries}</matrix><instance_geometry url="#g{n}"/></node>'
    return COLLADA.format(unit=unit, up=up, shapes=shapes, nodes=nodes)


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
@pytest.mark.parametrize("unit", [1.0, 0.001, 0.0254])
def test_collada_is_the_same_mesh_in_its_unit(unit, up, tmp_path):
    """Nodes are placed by their matrices, one of which mirrors; the axis does not matter."""
    pytest.importorskip("collada")
    turned = trimesh.transformations.euler_matrix(0.3, -0.2, 0.5)
    turned[:3, 3] = np.array([0.1, 0.02, -0.03]) / unit
    mirrored = np.diag([-1.0, 1.0, 1.0, 1.0])
    inner = l_solid()
    inner.apply_scale(1.0 / unit)
    file = tmp_path / "mesh.dae"
    file.write_text(collada(unit, up, [(inner, turned), (inner, mirrored)]))
    both = []
    for matrix in (turned, mirrored):
        copy = inner.copy()
        copy.apply_transform(matrix)
        copy.apply_scale(unit)
        both.append(copy)
    baked = written(trimesh.util.concatenate(both), tmp_path, "mesh.stl")
    expected, theirs = quietly(baked.replace(collision="hull"))
    body, sentences = quietly(Mesh(file=str(file), collision="hull"))
    assert sentences == [text.replace(".stl", ".dae") for text in theirs]
    assert body.volume == pytest.approx(expected.volume, rel=1e-5)
    np.testing.assert_allclose(body.center_of_mass, expected.center_of_mass, atol=1e-7)
    inertia = expected.inertia_per_density
    np.testing.assert_allclose(body.inertia_per_density, inertia, atol=1e-5 * inertia.max())


# Units, scale, names


@pytest.mark.parametrize(
    ("units", "scale"),
    [("m", (-1.0, 1.0, 1.0)), ("m", (-1e-3, -2e-3, -1e-3)), ("mm", (-1.0, 1.0, -1.0))],
)
@pytest.mark.parametrize("collision", ["link", "hull", "decompose"])
def test_a_negative_scale_mirrors(units, scale, collision, tmp_path):
    """A mesh scaled in the description, and by its unit, is the mesh scaled in the file."""
    mesh, factor = l_solid(), LENGTH_UNITS[units] * np.array(scale)
    mesh.apply_scale(1.0 / abs(factor[0]))
    vertices, faces = np.asarray(mesh.vertices) * factor, np.asarray(mesh.faces)
    baked = raw(vertices, faces[:, ::-1] if np.prod(factor) < 0.0 else faces)
    options = {"collision": collision, "decomposition_threshold": 0.05}
    expected, theirs = quietly(written(baked, tmp_path, "baked.ply").replace(**options))
    mirrored = written(mesh, tmp_path, "mesh.ply").replace(units=units, scale=scale, **options)
    body, sentences = quietly(mirrored)
    assert [text.replace("baked", "mesh") for text in theirs] == sentences
    assert body.volume == pytest.approx(expected.volume, rel=1e-6)
    np.testing.assert_allclose(body.center_of_mass, expected.center_of_mass, atol=1e-8)
    inertia = expected.inertia_per_density
    np.testing.assert_allclose(body.inertia_per_density, inertia, atol=1e-6 * inertia.max())
    assert union_volume(body.parts) == pytest.approx(union_volume(expected.parts), rel=1e-2)
    for points, triangles in [(body.vertices, body.faces), *body.parts]:
        assert signed_volume(points, triangles) > 0.0


def test_a_scale_of_zero_is_refused():
    with pytest.raises(DescriptionError, match="scale: expected factors that are not 0"):
        Mesh(file="a.stl", scale=(1.0, 0.0, 1.0))


TWICE = "was it converted from millimetres twice? With `scale: 1000` it is 60 mm"


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1e3, "60 m, more than 2 m; is the file in mm? With `units: mm` (--units mm) it is 60 mm"),
        (1e-3, f"0.06 mm, less than 2 mm; {TWICE}"),
        (1e6, "6e+04 m, more than 2 m; check `units` and `scale`"),
    ],
)
def test_a_wrong_unit_is_guessed(tmp_path, factor, text):
    wrong = BOX.copy()
    wrong.apply_scale(factor)
    _, result = quietly(written(wrong, tmp_path))
    assert result == [f"thing.stl: the largest extent is {text}"]


def test_metres_taken_for_millimetres_are_guessed(tmp_path, golden):
    _, result = quietly(written(BOX, tmp_path).replace(units="mm"))
    golden(*result, "thing.stl: the largest extent is 0.06 mm, less than 2 mm")


def test_files_are_located_beside_the_description(tmp_path):
    written(BOX, tmp_path)
    body = load_mesh(Mesh(file="thing.stl"), relative_to=tmp_path)
    assert body.volume == pytest.approx(CUBE_VOLUME, rel=1e-6)


def test_a_changed_file_is_refused(tmp_path):
    shape = written(BOX, tmp_path)
    known = load_mesh(shape).sha256
    assert load_mesh(shape.replace(sha256=known)).sha256 == known
    text = refusal(shape.replace(sha256="0" * 64))
    assert text.startswith(f"{shape.file}: expected the file with SHA-256 000")
    assert text.endswith("it has changed")


# Bad files


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("gone.stl", None, "expected a mesh file, found no such file"),
        ("empty.obj", b"", "expected a mesh"),
        ("notes.txt", b"x", "expected a mesh file (STL, OBJ, PLY, GLB, OFF, DAE)"),
        ("mesh", b"x", "expected a mesh file (STL, OBJ, PLY, GLB, OFF, DAE)"),
        ("points.obj", b"v 0 0 0\nv 1 0 0\n", "expected triangles, found none in the file"),
        ("other.glb", b"solid thing", "expected a mesh in GLB format"),
        ("other.ply", b"solid thing", "expected a mesh in PLY format"),
        ("other.off", b"solid thing", "expected a mesh in OFF format"),
        ("other.stl", b"\x00" * 90, "expected"),
        ("nan.obj", b"v 0 0 0\nv 1 0 nan\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n",
         "expected finite coordinates"),
        ("far.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "expected"),
    ],
)  # fmt: skip
def test_a_bad_file_gives_one_sentence(tmp_path, name, content, text, golden):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = refusal(Mesh(file=str(tmp_path / name)))
    golden(result, text)
    assert "\n" not in result


@pytest.mark.parametrize("suffix", [".step", ".STP", ".iges"])
def test_a_cad_file_names_the_conversion(tmp_path, suffix):
    result = refusal(Mesh(file=str(tmp_path / f"pear{suffix}")))
    assert "found a CAD file; convert it first: export STL from FreeCAD, or run" in result
    assert f"`gmsh pear{suffix} -2 -o pear.stl`" in result


def test_a_directory_is_refused(tmp_path):
    (tmp_path / "a.stl").mkdir()
    assert refusal(Mesh(file=str(tmp_path / "a.stl"))).endswith(
        "expected a mesh file, found a directory"
    )


def test_a_flat_mesh_is_refused(tmp_path, golden):
    shape = written(raw([[0, 0, 0], [0.1, 0, 0], [0, 0.2, 0]], [[0, 1, 2]]), tmp_path)
    golden(refusal(shape), "expected a solid")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=200), suffix=st.sampled_from(READABLE))
def test_rubbish_gives_a_description_error(tmp_path, content, suffix):
    headers = {".ply": b"ply\nformat ascii 1.0\nelement vertex 3\n", ".off": b"OFF\n3 1 0\n"}
    for start in (b"", headers.get(suffix, b"v 1 2 3\n")):
        file = tmp_path / f"rubbish{suffix}"
        file.write_bytes(start + content)
        with contextlib.suppress(DescriptionError):
            read_groups(file)


# Mended, and said


def test_a_small_hole_is_closed_and_reported(tmp_path, golden):
    ball = trimesh.creation.icosphere(3, radius=0.03)
    body, text = quietly(written(raw(ball.vertices, ball.faces[1:]), tmp_path))
    assert body.volume == pytest.approx(ball.volume, rel=1e-3)
    golden(*text, "thing.stl: not watertight: 3 edges belong to one face only")


def test_a_large_hole_falls_back_to_the_hull_with_a_warning(tmp_path):
    ball = trimesh.creation.icosphere(3, radius=0.03)
    bowl = ball.faces[ball.triangles_center[:, 2] < 0.0]
    body, text = quietly(written(raw(ball.vertices, bowl), tmp_path))
    assert body.volume == pytest.approx(ball.volume / 2, rel=0.1)
    assert text[0].endswith("1 hole (37 % of the surface)")
    assert text[1].startswith(
        "thing.stl: holes above 20 % of the surface are too large to close: mass properties and "
        "collision are those of the convex hull; volume "
    )
    assert len(body.parts) == 1


AGAINST = np.where(np.isin(np.arange(12), (2, 7))[:, None], BOX.faces[:, ::-1], BOX.faces)


@pytest.mark.parametrize(
    ("faces", "sentence"),
    [
        (BOX.faces[:, ::-1], "the surface was inside out (negative volume)"),
        (AGAINST, "2 of 12 faces had inconsistent winding"),
        (np.vstack([BOX.faces, BOX.faces[:, ::-1]]), "the surface is double-sided"),
        (
            np.vstack([BOX.faces, BOX.faces[:3]]),
            "3 faces are duplicates or folds of zero thickness",
        ),
    ],
)
def test_faces_are_repaired_and_reported(faces, sentence, tmp_path, golden):
    body, text = quietly(written(raw(BOX.vertices, faces), tmp_path))
    assert body.volume == pytest.approx(CUBE_VOLUME, rel=1e-6)
    golden(*text, sentence)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("distance", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("collision", ["auto", "hull", "link"])
def test_stray_faces_change_nothing(tmp_path, collision, distance, count):
    corners = np.random.default_rng(count).normal(scale=0.001, size=(count, 3, 3))
    corners += distance * np.eye(3)[:count, None]
    strays = [raw(triangle, [[0, 1, 2]]) for triangle in corners]
    shape = written(trimesh.util.concatenate([BOX, *strays]), tmp_path).replace(collision=collision)
    body, notes = quietly(shape)
    clean, _ = quietly(written(BOX, tmp_path, "clean.stl").replace(collision=collision))
    assert sum("left out" in note for note in notes) == 1
    for name in ("vertices", "volume", "center_of_mass", "inertia_per_density"):
        np.testing.assert_allclose(getattr(body, name), getattr(clean, name), atol=1e-9)
    np.testing.assert_allclose(body.parts[0][0], clean.parts[0][0], atol=1e-9)


def test_flat_pieces_that_are_much_of_a_surface_are_kept():
    fin = raw([[0.1, 0, 0], [0.15, 0, 0], [0.1, 0.05, 0]], [[0, 1, 2]])
    both = trimesh.util.concatenate([BOX, fin])
    solid = make_solid(both.vertices, both.faces)
    assert np.ptp(solid.vertices, axis=0)[0] == pytest.approx(0.17)


def test_a_closed_cavity_is_kept():
    vertices = np.vstack([BOX.vertices, BOX.vertices / 2])
    faces = np.vstack([BOX.faces, (BOX.faces + 8)[:, ::-1]])
    solid = make_solid(vertices, faces)
    assert solid.volume == pytest.approx(CUBE_VOLUME * 7 / 8, rel=1e-9)
    assert solid.notes == ()
    rotated = make_solid(vertices, faces[:, ::-1])
    assert rotated.volume == pytest.approx(solid.volume, rel=1e-9)


def test_one_of_two_pieces_inside_out_is_flipped():
    vertices = np.vstack([BOX.vertices, BOX.vertices + np.array([0.2, 0, 0])])
    solid = make_solid(vertices, np.vstack([BOX.faces, (BOX.faces + 8)[:, ::-1]]))
    assert solid.volume == pytest.approx(2 * CUBE_VOLUME, rel=1e-9)
    assert solid.notes == ("1 of 2 separate pieces were inside out; turned outward",)


def test_space_counted_twice_falls_back_to_the_hull():
    vertices = np.vstack([BOX.vertices, BOX.vertices + np.array([0.004, 0, 0])])
    solid = make_solid(vertices, np.vstack([BOX.faces, BOX.faces + 8]))
    assert solid.volume == pytest.approx(1.1 * CUBE_VOLUME, rel=1e-9)
    assert solid.notes[0].startswith(
        "the surface encloses space twice (1.82 x the volume of its hull)"
    )


# What touches


def test_the_hull_of_a_hollow_object_is_a_warning_with_numbers(tmp_path, golden):
    body, text = quietly(written(l_solid(), tmp_path).replace(collision="hull"))
    assert len(body.parts) == 1
    golden(*text, "thing.stl: the convex hull fills 56 cm³ where the mesh")


def two_boxes(directory: Path, gap: float = 0.0) -> Mesh:
    """The L, with its two arms as convex parts."""
    shape = written(l_solid(), directory, "l.obj")
    arms = {"long": ((0, 0, 0), (3, 1, 1)), "short": ((0, 1, 0), (1, 2, 1))}
    scene = trimesh.Scene()
    for name, (corner, size) in arms.items():
        arm = trimesh.creation.box(np.array(size) * 0.02)
        arm.apply_translation((np.array(corner) + np.array(size) / 2) * 0.02 + gap)
        scene.add_geometry(arm, geom_name=name, node_name=name)
    scene.export(directory / "arms.obj", include_normals=False)
    scene.export(directory / "arms.glb")
    return shape


@pytest.mark.parametrize("suffix", [".obj", ".glb"])
def test_parts_from_a_file_stand_in_the_frame_of_the_mesh(tmp_path, suffix):
    shape = two_boxes(tmp_path).replace(parts=str(tmp_path / f"arms{suffix}"))
    body = load_mesh(shape)
    assert [len(vertices) for vertices, _ in body.parts] == [8, 8]
    assert union_volume(body.parts) == pytest.approx(body.volume, rel=0.01)
    corners = np.vstack([vertices for vertices, _ in body.parts])
    np.testing.assert_allclose(corners.min(axis=0), body.vertices.min(axis=0), atol=1e-7)
    assert body.warnings == ()


def test_parts_in_another_frame_are_a_warning(tmp_path):
    shape = two_boxes(tmp_path, gap=0.03).replace(parts=str(tmp_path / "arms.obj"))
    _, text = quietly(shape)
    assert text == [
        ("l.obj: the convex parts end 30 mm from where the mesh ends; are they in its frame?")
    ]


def test_a_part_that_is_not_convex_is_refused(tmp_path):
    shape = written(l_solid(), tmp_path, "l.obj")
    text = refusal(shape.replace(collision="parts", parts=shape.file))
    assert text.endswith("expected a convex surface, found faces 6.67 mm inside its hull")
    assert f"{shape.file}: part '" in text


@pytest.mark.parametrize(
    ("collision", "sentence"),
    [("parts", "expected a file with convex parts, found none: give `parts`"),
     ("hull", "expected no `parts` beside `collision: hull`")],
)  # fmt: skip
def test_parts_and_the_collision_shape_must_fit(collision, sentence, tmp_path):
    shape = written(BOX, tmp_path).replace(collision=collision)
    parts = None if collision == "parts" else shape.file
    assert sentence in refusal(shape.replace(parts=parts))


def test_parts_that_are_too_small_are_a_warning(tmp_path, golden):
    shape = written(BOX, tmp_path, "box.obj")
    small = BOX.copy()
    small.apply_scale(0.93)
    small.export(tmp_path / "small.obj")
    _, text = quietly(shape.replace(parts=str(tmp_path / "small.obj")))
    golden(*text, "box.obj: the convex part fills 96.5 cm³ where the mesh")


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.04, 0.08])
def test_the_volume_of_a_union_counts_overlap_once(shift):
    boxes = [hull_of(BOX.vertices)[:2], hull_of(BOX.vertices + np.array([shift, 0, 0]))[:2]]
    exact = CUBE_VOLUME * (1 + min(shift / 0.04, 1))
    assert union_volume(boxes) == pytest.approx(exact, rel=0.01)
