"""Objects from URDF and MJCF files and from directories: mass, parts, names and refusals."""

import re
import struct
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

import softgrasp as sg
from softgrasp.description.geometry import Compound, Mesh
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.object import expand_directories, object_file
from softgrasp.model.object import object_mass
from softgrasp.model.shapes import bounds, compound_center, convex_parts, extent, mass_properties

BOX = "<collision><origin xyz='{x} 0 0'/><geometry><box size='{a} {b} {c}'/></geometry></collision>"
MESH = "<geometry><mesh filename='{file}'/></geometry>"


def urdf(*links: str, joints: str = "") -> str:
    inside = "".join(f"<link name='link{k}'>{text}</link>" for k, text in enumerate(links))
    return f"<robot name='thing'>{inside}{joints}</robot>"


def box(x: float = 0.0, size: tuple[float, float, float] = (0.04, 0.05, 0.06)) -> str:
    return BOX.format(x=x, a=size[0], b=size[1], c=size[2])


def inertial(mass: float, *moments: float, x: float = 0.0) -> str:
    parts = "".join(
        f" {name}='{m}'" for name, m in zip(("ixx", "iyy", "izz"), moments, strict=True)
    )
    return (
        f"<inertial><origin xyz='{x} 0 0'/><mass value='{mass}'/>"
        f"<inertia{parts} ixy='0' ixz='0' iyz='0'/></inertial>"
    )


def joint(kind: str = "fixed", x: float = 0.1) -> str:
    return (
        f"<joint name='j' type='{kind}'><parent link='link0'/><child link='link1'/>"
        f"<origin xyz='{x} 0 0'/><axis xyz='1 0 0'/><limit lower='0.02' upper='0.2' effort='1' "
        "velocity='1'/></joint>"
    )


def written(directory: Path, text: str, name: str = "thing.urdf") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def compound(obj: GraspObject) -> Compound:
    assert isinstance(obj.shape, Compound)
    return obj.shape


def test_links_on_fixed_joints_are_one_body(tmp_path):
    cube = (0.02, 0.02, 0.02)
    moment = 1.0 * 2 * 0.02**2 / 12
    link = box(size=cube) + inertial(1.0, moment, moment, moment)
    obj = sg.load_object(written(tmp_path, urdf(link, link, joints=joint())))
    assert obj.name == "thing"
    assert obj.mass == 2.0
    np.testing.assert_allclose(compound_center(compound(obj)), (0.05, 0, 0), atol=1e-15)
    assert extent(obj.shape) == pytest.approx((0.12, 0.02, 0.02))
    volume, unit = mass_properties(obj.shape)
    expected = np.diag([2 * moment, 2 * moment + 2 * 0.05**2, 2 * moment + 2 * 0.05**2])
    np.testing.assert_allclose(unit * 2.0 / volume, expected, rtol=1e-12)


@pytest.mark.parametrize("density", [None, 500.0])
def test_another_mass_scales_the_stated_inertia(tmp_path, density):
    path = written(tmp_path, urdf(box() + inertial(1.0, 4e-4, 5e-4, 6e-4)))
    mass = None if density else 0.3
    obj = sg.load_object(path, mass=mass, density=density)
    expected = mass or 500.0 * 0.04 * 0.05 * 0.06
    assert object_mass(obj) == pytest.approx(expected)
    volume, unit = mass_properties(obj.shape)
    moments = np.diag(unit) * expected / volume
    np.testing.assert_allclose(moments, np.array([4e-4, 5e-4, 6e-4]) * expected)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            (0.066, 1e-3, 1e-3, 1e-3),
            r"the stated moment of inertia 0\.001 kg·m² is above 0\.000101",
        ),
        ((1.0, 1e-4, 1e-4, 5e-4), r"principal moments of inertia .* are those of no body"),
    ],
)
def test_an_inertia_that_no_such_body_has_is_replaced(tmp_path, stated, message):
    path = written(tmp_path, urdf(box() + inertial(*stated)))
    with pytest.warns(SoftgraspWarning, match=message):
        obj = sg.load_object(path)
    volume, unit = mass_properties(obj.shape)
    across = np.array([0.05**2 + 0.06**2, 0.04**2 + 0.06**2, 0.04**2 + 0.05**2]) / 12
    np.testing.assert_allclose(np.diag(unit) / volume, across)


def test_a_centre_of_mass_outside_is_replaced(tmp_path):
    path = written(tmp_path, urdf(box() + inertial(0.1, 1e-5, 1e-5, 1e-5, x=0.03)))
    with pytest.warns(SoftgraspWarning, match="centre of mass is 10 mm outside the object"):
        obj = sg.load_object(path)
    np.testing.assert_allclose(compound_center(compound(obj)), 0.0, atol=1e-15)


def test_movable_joints_are_refused_or_locked(tmp_path, golden):
    path = written(tmp_path, urdf(box() + inertial(1, 4e-4, 5e-4, 6e-4), box(),
                                  joints=joint("prismatic")))  # fmt: skip
    golden.refused(lambda: sg.load_object(path), "1: robot 'thing'")
    obj = sg.load_object(path, lock_joints=True)
    # 0.1 m of the origin and 0.02 m, the limit nearest to 0
    assert compound(obj).parts[1].pose.position == pytest.approx((0.12, 0, 0))


def test_a_mass_comes_from_the_file_or_the_caller(tmp_path, golden):
    empty = "<inertial><origin xyz='0 0 0'/></inertial>"  # of DexGraspNet's files
    path = written(tmp_path, urdf(box() + empty))
    golden.refused(lambda: sg.load_object(path), "expected a mass, found none in the file: give")
    assert sg.load_object(path, mass=0.2).mass == 0.2


def test_what_pybullet_writes_is_read(tmp_path):
    """XML 0.0, stray text, friction, an absent visual mesh, convex groups, no useful name."""
    groups = trimesh.Scene()
    for index, x in enumerate((0.0, 0.031)):
        part = trimesh.creation.box((0.03, 0.02, 0.02))
        part.apply_translation((x, 0, 0))
        groups.add_geometry(part, geom_name=f"hull{index}", node_name=f"hull{index}")
    folder = tmp_path / "YcbBanana"
    folder.mkdir()
    text = "".join(
        f"o {name}\n" + "".join(f"v {x} {y} {z}\n" for x, y, z in part.vertices)
        + "".join(f"f {a + k} {b + k} {c + k}\n" for a, b, c in part.faces)
        for (name, part), k in zip(groups.geometry.items(), (1, 9), strict=True)
    )  # fmt: skip
    (folder / "collision_vhacd.obj").write_text(text)
    contact = (
        "<contact><lateral_friction value='0.8'/><rolling_friction value='0.001'/>g\n</contact>"
    )
    visual = f"<visual>{MESH.format(file='textured.obj')}</visual>"
    collision = f"<collision>{MESH.format(file='collision_vhacd.obj')}</collision>"
    link = contact + inertial(0.066, 1e-5, 1e-5, 1e-5) + visual + collision
    robot = urdf(link).replace("'thing'", "'model.urdf'")
    written(folder, f'<?xml version="0.0" ?>\n{robot}', "model.urdf")
    with pytest.warns(SoftgraspWarning, match=r"left out: <visual> 'textured.obj' .*no such file"):
        obj = sg.load_object(folder)
    assert (obj.name, obj.mass) == ("YcbBanana", 0.066)
    assert obj.material.static_friction == 0.8
    (part,) = compound(obj).parts
    assert isinstance(part.shape, Mesh)
    assert part.shape.collision == "parts"
    assert extent(obj.shape) == pytest.approx((0.061, 0.02, 0.02))


# MJCF


NUT = """
<mujoco model="nut">
  <asset><texture name="steel" type="2d" file="missing.png"/>
    <material name="steel" texture="steel"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="object" pos="0 0 1">{joint}
      <geom type="box" size=".01 .02 .01" pos=".04 0 0" friction=".95 .3 .1" material="steel"/>
      <geom type="cylinder" size=".01 .02" pos="-.04 0 0" euler="90 0 0" density="500"/>
      <geom type="sphere" size=".005" contype="0" conaffinity="0" mass="0"/>
      {inside}
    </body>
  </worldbody>
</mujoco>
"""


def nut(directory: Path, joint: str = "<freejoint/>", inside: str = "") -> Path:
    return written(directory, NUT.format(joint=joint, inside=inside), "nut.xml")


def test_an_mjcf_object_has_the_mass_and_inertia_of_mujoco(tmp_path):
    path = nut(tmp_path)
    obj = sg.load_object(path)
    text = path.read_text("utf-8").replace(
        'file="missing.png"', 'builtin="flat" width="8" height="8"'
    )
    model = mujoco.MjModel.from_xml_string(text)
    body = model.body("object")
    assert obj.mass == pytest.approx(body.mass[0])
    np.testing.assert_allclose(compound_center(compound(obj)), body.ipos)
    volume, unit = mass_properties(obj.shape)
    moments = np.linalg.eigvalsh(unit * obj.mass / volume)
    np.testing.assert_allclose(moments, np.sort(body.inertia), rtol=1e-9)
    assert (len(compound(obj).parts), len(compound(obj).visuals)) == (2, 1)
    assert obj.material.static_friction == 0.95


def test_several_free_bodies_are_no_object(tmp_path):
    second = "</body><body name='other'><freejoint/><geom size='.01'/>"
    with pytest.raises(DescriptionError, match=r"expected one object, found 2 bodies that move .*"
                       r"freely: 'object', 'other'"):  # fmt: skip
        sg.load_object(nut(tmp_path, inside=second))


def test_an_articulated_mjcf_object_is_refused_or_locked(tmp_path, golden):
    lid = "<body name='lid' pos='0 0 .03'><joint name='hinge'/><geom size='.01'/></body>"
    path = nut(tmp_path, inside=lid)
    golden.refused(lambda: sg.load_object(path), "found the movable joint 'hinge'; --lock-joints")
    assert len(compound(sg.load_object(path, lock_joints=True)).parts) == 3


def test_a_mesh_of_mjcf_stays_where_its_file_has_it(tmp_path):
    mesh = trimesh.creation.cone(0.02, 0.05, sections=16)
    mesh.apply_translation((0.3, 0.2, 0.1))
    mesh.export(tmp_path / "cone.stl")
    inside = "<geom type='mesh' mesh='cone' pos='0 0 .05' euler='0 30 0'/>"
    path = nut(tmp_path, inside=inside)
    text = path.read_text("utf-8").replace(
        "<asset>", '<asset><mesh name="cone" file="cone.stl" scale=".5 .5 .5"/>'
    )
    written(tmp_path, text, "nut.xml")
    obj = sg.load_object(path)
    angle = np.radians(30)
    rotation = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    points = 0.5 * mesh.vertices @ rotation.T + (0, 0, 0.05)
    part = compound(obj).parts[-1]
    np.testing.assert_allclose(part.pose.position, (0, 0, 0.05), atol=1e-7)
    scene_size = np.ptp(np.vstack([points, [[0.05, 0.02, 0.01], [-0.05, -0.02, -0.01]]]), axis=0)
    np.testing.assert_allclose(extent(obj.shape), scene_size, atol=2e-5)


def test_binary_meshes_of_mujoco_are_read(tmp_path):
    cube = trimesh.creation.box((0.01, 0.02, 0.03))
    counts = struct.pack("<4i", 8, 0, 0, 12)
    content = counts + cube.vertices.astype("<f4").tobytes() + cube.faces.astype("<i4").tobytes()
    (tmp_path / "cube.msh").write_bytes(content)
    vertices, faces = read_triangles(tmp_path / "cube.msh")
    assert trimesh.Trimesh(vertices, faces).volume == pytest.approx(6e-6)
    (tmp_path / "cut.msh").write_bytes(content[:-4])
    with pytest.raises(DescriptionError, match="expected a mesh in MSH format, found something"):
        read_triangles(tmp_path / "cut.msh")


# Directories


def mesh_at(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box((0.03, 0.04, 0.05)).export(path)
    return path


@pytest.mark.parametrize(
    "layout",
    ["google_16k/textured.obj", "google_16k/nontextured.ply", "tsdf/textured.obj",
     "object/textured.obj", "poisson/nontextured.stl", "textured.obj"],
)  # fmt: skip
def test_every_layout_of_the_ycb_set_is_read(tmp_path, layout):
    mesh = mesh_at(tmp_path / "025_mug" / layout)
    (tmp_path / "025_mug" / "clouds").mkdir()
    (tmp_path / "025_mug" / "clouds" / "merged_cloud.ply").write_text("ply")
    assert object_file(tmp_path / "025_mug") == mesh
    for name in (tmp_path / "025_mug", mesh):
        obj = sg.load_object(name)
        assert (obj.name, obj.mass) == ("025_mug", 0.118)
    assert sg.load_object(mesh, density=1000.0).mass is None


def test_a_directory_without_an_object_lists_what_it_has(tmp_path):
    (tmp_path / "clouds").mkdir()
    (tmp_path / "clouds" / "merged_cloud.ply").write_text("ply")
    expected = r"found point clouds such as clouds.merged_cloud.ply, which have no surface"
    with pytest.raises(DescriptionError, match=expected):
        sg.load_object(tmp_path)
    for name in ("025_mug", "016_pear"):
        mesh_at(tmp_path / name / "google_16k" / "textured.obj")
    with pytest.raises(
        DescriptionError, match=r"directories of objects \(2\): 016_pear, 025_mug; "
    ):
        sg.load_object(tmp_path)


def test_several_meshes_are_no_choice(tmp_path):
    for name in ("a.obj", "b.stl"):
        mesh_at(tmp_path / name)
    with pytest.raises(
        DescriptionError, match=re.escape("expected one mesh, found 2: a.obj, b.stl")
    ):
        sg.load_object(tmp_path, mass=0.1)


# Scale and simulation


def test_a_scaled_compound_scales_its_volume_and_inertia(tmp_path):
    path = written(tmp_path, urdf(box() + inertial(1.0, 4e-4, 5e-4, 6e-4, x=0.01), box(0.05),
                                  joints=joint(x=0.05)))  # fmt: skip
    shape = compound(sg.load_object(path))
    small = shape.replace(scale=0.5)
    np.testing.assert_allclose(extent(small), np.array(extent(shape)) / 2)
    np.testing.assert_allclose(compound_center(small), compound_center(shape) / 2)
    whole, half = mass_properties(shape), mass_properties(small)
    assert half.volume == pytest.approx(whole.volume / 8)
    np.testing.assert_allclose(half.inertia, whole.inertia / 32)


def test_convex_parts_have_the_extent_of_the_compound(tmp_path):
    path = written(tmp_path, urdf(box() + inertial(1.0, 4e-4, 5e-4, 6e-4, x=0.01), box(0.05),
                                  joints=joint(x=0.05)))  # fmt: skip
    shape = compound(sg.load_object(path)).replace(scale=2.0)
    points = np.vstack([vertices for vertices, _ in convex_parts(shape)])
    for ends, expected in zip((points.min(axis=0), points.max(axis=0)), bounds(shape), strict=True):
        np.testing.assert_allclose(ends, expected)


def test_a_compound_of_one_box_falls_like_the_box(tmp_path):
    """A part that is drawn and one that is not, in a grasp, against the cuboid itself."""
    size = (0.05, 0.05, 0.05)
    moment = 0.1 * 2 * 0.05**2 / 12
    path = written(tmp_path, urdf(box(size=size) + inertial(0.1, moment, moment, moment)))
    results = []
    for obj in (
        GraspObject(name="thing", shape={"type": "cuboid", "size": size}, mass=0.1),
        sg.load_object(path),
    ):
        scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=obj, duration=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SoftgraspWarning)
            results.append(sg.simulate(scene))
    first, second = (result.trajectory()["object_position"] for result in results)
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_directories_of_a_sweep_axis_are_objects_or_meshes(tmp_path):
    for name in ("ycb/025_mug/google_16k/textured.obj", "ycb/016_pear/tsdf/textured.obj",
                 "meshes/a.stl", "meshes/b.stl", "YcbBanana/visual.obj"):  # fmt: skip
        mesh_at(tmp_path / name)
    written(tmp_path / "YcbBanana", urdf(box() + inertial(1.0, 4e-4, 5e-4, 6e-4)), "model.urdf")
    values: list[object] = ["ycb", "ycb/025_mug", "meshes", "YcbBanana", "sphere", 3]
    expanded = expand_directories("object", values, tmp_path)
    assert expanded == [
        *(str(tmp_path / "ycb" / name) for name in ("016_pear", "025_mug", "025_mug")),
        *(str(tmp_path / "meshes" / name) for name in ("a.stl", "b.stl")),
        str(tmp_path / "YcbBanana"), "sphere", 3,
    ]  # fmt: skip


@pytest.mark.slow
def test_a_hand_without_grasps_takes_a_compound_where_it_takes_the_box(tmp_path):
    size = (0.05, 0.05, 0.05)
    moment = 0.1 * 2 * 0.05**2 / 12
    path = written(tmp_path, urdf(box(size=size) + inertial(0.1, moment, moment, moment)))
    hand = Path(__file__).parents[1] / "first_hour" / "trigrip.urdf"
    starts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        for obj in (
            GraspObject(name="thing", shape={"type": "cuboid", "size": size}, mass=0.1),
            sg.load_object(path),
        ):
            scene = sg.GraspScene(hand=sg.load_hand(hand), object=obj, duration=0.02)
            starts.append(sg.simulate(scene).trajectory()["object_position"][0])
    np.testing.assert_allclose(*starts, atol=1e-6)
