"""Files that would take the machine are refused in a sentence, before memory is allocated."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from ruamel.yaml import YAML

import softgrasp as sg
from softgrasp.backends.wbt import read_world
from softgrasp.errors import DescriptionError, ResultError, SoftgraspWarning
from softgrasp.io import input_limits, result
from softgrasp.io.grasp_files import read_grasps
from softgrasp.io.input_limits import (
    check_size,
    check_tree,
    json_from,
    loader,
    read_arrays,
    read_json,
    result_loader,
)
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.result import JsonLines
from softgrasp.io.tables import read_table
from softgrasp.io.urdf.xacro import XACRO_ACCESS
from softgrasp.io.urdf.xml import expand, parse
from softgrasp.twin.files import load_flange_samples
from softgrasp.vision.image import read_photo

HAND = '<mujoco><worldbody><body name="palm">{}<geom size=".03"/></body></worldbody></mujoco>'


# Files of all formats


def bomb() -> str:
    """YAML of 10⁹ values once its aliases are expanded."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    return "\n".join(lines)


def using(roots: int, levels: int) -> str:
    """A world in which each group uses the one before ten times."""

    def group(inner: str) -> str:
        return f"Group {{ children [ {inner} ] }}"

    lines = ["#VRML_SIM R2025a utf8", "DEF A0 Group { }"]
    lines += [f"DEF A{n} {group(f'USE A{n - 1} ' * 10)}" for n in range(1, levels + 1)]
    return "\n".join(lines + [group(f"USE A{levels}")] * roots)


BALL = "name: ball\nmass: 0.1\n"
WORLD = "#VRML_SIM R2025a utf8\nSpotLight {{ radius 1e6 }}\n{}"
POINTS = "Shape { geometry IndexedFaceSet { coord Coordinate { point [ 1 2 3, 4 5 6e7 ] } } }"
COPIES = '<replicate count="200">{}</replicate>'
TOO_LARGE: dict[str, tuple[str, str, str]] = {
    "aliases of aliases": ("hand.yaml", bomb(), "at most 500000 values"),
    "an alias of itself": ("hand.yaml", "&r\nname: x\nfingers: *r\n", "no alias of the part"),
    "150 levels": ("hand.yaml", "a: " + "[" * 150 + "]" * 150, "hand.yaml: expected"),
    "20000 levels": ("hand.yaml", "a: " + "[" * 20_000 + "]" * 20_000, "hand.yaml: expected"),
    "digits": ("ball.yaml", f"name: ball\nmass: {'9' * 10_000}\n", "dates and numbers that can"),
    "negative": ("ball.yaml", f"name: ball\nmass: -{'9' * 5_000}\n", "dates and numbers that can"),
    "month 99": ("ball.yaml", "name: ball\nmass: 9999-99-99\n", "dates and numbers that can"),
    "30 February": ("ball.yaml", "name: ball\nmass: 2024-02-30\n", "dates and numbers that can"),
    "radius": ("ball.yaml", "shape: {type: sphere, radius: 1e9}\n" + BALL, ":1: shape.radius"),
    "size": ("ball.yaml", "units: {length: mm}\nshape:\n  type: cuboid\n  size: [30, 2e7, 30]\n"
             + BALL, ":4: shape.size: expected lengths of at most 10000 m, found 20000"),
    "long name": ("ball.yaml", f"name: {'a' * 201}\nmass: 0.1\n", ":1: name"),
    "colour in a name": ("ball.yaml", 'name: "a\\e[31mb"\nmass: 0.1\n', ":1: name"),
    "line in a name": ("ball.yaml", 'name: "a\\nb"\nmass: 0.1\n', ":1: name"),
    "one deep use": ("world.wbt", using(1, 9), "at most 500000 nodes"),
    "many uses": ("world.wbt", using(200, 4), "at most 500000 nodes"),
    "far solid": ("world.wbt", WORLD.format("Solid { translation 0 -1e9 0 }"),
                  "world.wbt:3: Solid.translation"),
    "large ball": ("world.wbt", WORLD.format("Shape { geometry Sphere { radius 2e4 } }"),
                   "world.wbt:3: Sphere.radius"),
    "far point": ("world.wbt", WORLD.format(POINTS), "world.wbt:3: Coordinate.point"),
    "far body": ("hand.xml", HAND.format('<body pos="1e9 0 0"/>'), "at most 10000 m, found 1e9"),
    "large geom": ("hand.xml", HAND.format('<geom size="0.1 nan 1e5"/>'), "10000 m, found 1e5"),
    "copies": ("hand.xml", HAND.format('<replicate count="1000000"><geom size=".1"/></replicate>'),
               "at most 10000 copies"),
    "copies of copies": ("hand.xml", HAND.format(COPIES.format(COPIES.format('<geom size=".1"/>'))),
                         "at most 10000 copies, found 40000"),
    "flex": ("hand.xml", HAND.format('<flexcomp count="300 300 1" name="f"/>'), "found 90000"),
    "elements": ("hand.xml", HAND.format("<geom/>" * 20_001), "geom: expected at most 20000"),
    "copied elements": ("hand.xml", HAND.format(
        '<replicate count="9000"><geom/><geom/></replicate>'), "replicate: expected at most 20000"),
    "deep XML": ("hand.xml", HAND.format("<body>" * 1100 + "</body>" * 1100), "expected XML"),
    "links": ("long.urdf", '<robot name="long">' + "".join(
        f'<link name="l{number}"/>' for number in range(1001)) + "</robot>", "link 'l1000'"),
    "far mesh": ("far.obj", "v 0 0 0\nv 1e9 0 0\nv 0 1 0\nf 1 2 3\n", "at most 1e+07, found 1e+09"),
}  # fmt: skip
"""File, its text, and a part of the sentence, by what is too large."""


@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_is_too_large_is_refused(case, tmp_path, golden):
    name, text, part = TOO_LARGE[case]
    readers = {"ball.yaml": sg.load_object, "world.wbt": read_world, "far.obj": read_triangles}
    (tmp_path / name).write_text(text)
    with pytest.raises(DescriptionError) as caught:
        readers.get(name, sg.load_hand)(tmp_path / name)
    golden(str(caught.value).partition(", found: ")[0], part)  # without what libraries say


# YAML and JSON


def test_aliases_within_the_limit_are_read(tmp_path):
    text = "name: ball\nshape: &s {type: sphere, radius: 0.03}\nmass: 0.1\n"
    (tmp_path / "ball.yaml").write_text(text)
    assert sg.load_object(tmp_path / "ball.yaml").mass == 0.1


@pytest.mark.parametrize("row", ["k{0}: 1\n", "- &a{0} {0}\n", "{0}, "])
def test_yaml_of_many_parts_is_refused_before_it_is_parsed(row, tmp_path, monkeypatch):
    monkeypatch.setattr(YAML, "load", lambda *_: pytest.fail("parsed"))
    rows = "".join(row.format(number) for number in range(input_limits.MAX_PARTS + 1))
    (tmp_path / "ball.yaml").write_text(f"name: [{rows}]" if row.endswith(", ") else rows)
    with pytest.raises(
        DescriptionError, match=r"expected at most 50000 lines and commas, found 50"
    ):
        sg.load_object(tmp_path / "ball.yaml")


def test_shared_parts_are_counted_once_each_time_they_occur(monkeypatch, golden):
    monkeypatch.setattr(input_limits, "MAX_NODES", 9)
    part = [1, 2, 3]
    check_tree([part, part])
    golden.refused(lambda: check_tree([part, part, part]), "at most 9 values")


def test_deep_json_is_refused(tmp_path):
    text = '{"a":' * 100_000 + "1" + "}" * 100_000
    with pytest.raises(ValueError, match="nesting that is too deep"):
        json_from(text)
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ResultError, match="expected JSON, found: nesting that is too deep"):
        sg.load_result(tmp_path)


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    file = tmp_path / "large.json"
    file.write_text(json.dumps("x" * 2000))
    check_size(file)
    monkeypatch.setattr(input_limits.check_size, "__defaults__", (1000,))
    with pytest.raises(ValueError, match=r"at most 0\.001 MB, found 0\.002002 MB"):
        read_json(file)
    for name in ("large.yaml", "large.urdf", "large.xml"):
        (tmp_path / name).write_text("x" * 2000)
        with pytest.raises(DescriptionError, match=rf"{name}: expected a file of at most"):
            sg.load_hand(tmp_path / name)


@pytest.mark.parametrize("suffix", [".yaml", ".urdf", ".wbt", ".json"])
@pytest.mark.parametrize("endless", ["pipe", "link to a device"])
def test_only_regular_files_are_read(suffix, endless, tmp_path):
    file = tmp_path / f"endless{suffix}"
    os.mkfifo(file) if endless == "pipe" else file.symlink_to("/dev/zero")
    for limit in (1000, 10**12):
        with pytest.raises(DescriptionError, match="expected a regular file, found a pipe"):
            check_size(file, limit)
    readers = {".wbt": (read_world, DescriptionError), ".json": (read_json, ValueError)}
    read, error = readers.get(suffix, (sg.load_hand, DescriptionError))
    with pytest.raises(error, match="expected a regular file"):
        read(file)


READERS: dict[str, Callable[[Path], object]] = {
    "photo.png": read_photo,
    "table.csv": lambda path: read_table(path, []),
    "poses.csv": load_flange_samples,
    "grasps.npy": read_grasps,
    "mesh.stl": read_triangles,
}


@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_for_a_pipe(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(sg.SoftgraspError, match=r"expected a regular file|no such file"):
        READERS[name](tmp_path / name)


def test_a_large_world_is_not_read(tmp_path, golden):
    file = tmp_path / "large.wbt"
    with file.open("wb") as stream:
        stream.truncate(10**9)
    golden.refused(lambda: read_world(file), "large.wbt: expected a file of at most 16 MB")


def test_the_limit_of_lengths_is_in_metres(tmp_path):
    text = "units: {length: mm}\nname: hall\nmass: 1\nshape: {type: sphere, radius: 20000}\n"
    (tmp_path / "hall.yaml").write_text(text)
    assert sg.load_object(tmp_path / "hall.yaml").shape.radius == 20.0


def test_a_long_line_of_a_journal_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(result, "MAX_LINE", 10)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": [1, 2, 3, 4, 5, 6, 7]}\n{"a": 2}\n{"a": 3333333333')
    journal = JsonLines(path)
    assert list(journal.lines()) == ['{"a": 1}\n', '{"a": [1, \n', '{"a": 2}\n']
    with pytest.warns(SoftgraspWarning, match="1 damaged or foreign lines.*line 2"):
        assert journal.checked(lambda row: row["a"], repair=False) == [1, 2]


def test_the_cut_line_at_the_end_is_removed(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    for block in (1, 3, 100):
        monkeypatch.setattr(result, "BLOCK", block)
        for before, after in (("{}\n[]\n{12345", "{}\n[]\n"), ("{}\n", "{}\n"), ("{12", "")):
            path.write_text(before)
            JsonLines(path).drop_cut_line()
            assert path.read_text() == after


# XML


def test_a_height_field_that_is_too_large_is_refused():
    with pytest.raises(DescriptionError, match="at most 4000000 heights, found 1e\\+10"):
        parse(b'<mujoco><asset><hfield nrow="100000" ncol="100000"/></asset></mujoco>')


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ('memory="1000G"', r"size\.memory: expected at most 4 GB, found 1000G"),
        ('memory="5000000000"', r"size\.memory: expected at most 4 GB"),
        ('nstack="600m"', r"size\.nstack: expected at most 4 GB"),
        ('nuserdata="2000000000"', r"size\.nuserdata: expected at most 100000"),
        ('nkey="1M"', r"size\.nkey: expected at most 100000"),
    ],
)
def test_a_model_that_reserves_too_much_is_refused(size, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        parse(f"<mujoco>\n<size {size}/></mujoco>".encode())


def test_memory_that_public_models_reserve_is_accepted():
    sizes = ('memory="100M"', 'memory="-1"', 'nstack="3000000"', 'njmax="8000" nconmax="500"')
    for size in sizes:
        parse(f"<mujoco><size {size}/></mujoco>".encode())


@pytest.mark.parametrize("name", ["hand.xml", "./hand.xml", "sub/../hand.xml"])
def test_a_model_that_includes_itself_is_refused(name, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "hand.xml").write_text(f'<mujoco>\n<include file="{name}"/>\n</mujoco>')
    with pytest.raises(DescriptionError) as refused:
        sg.load_hand(tmp_path / "hand.xml")
    assert (refused.value.line, refused.value.field) == (2, "include.file")


ATTACHED = (
    '<mujoco><asset>{}</asset><worldbody><body name="palm"><geom size=".03"/><joint/>'
    "{}</body></worldbody></mujoco>"
)


def attaching(file: str, times: int = 1) -> str:
    """Return a model that attaches a model from a file several times."""
    models = "".join(f'<model name="m{n}" file="{file}"/>' for n in range(times))
    attach = '<attach model="m{0}" body="palm" prefix="p{0}_"/>'
    return ATTACHED.format(models, "".join(attach.format(n) for n in range(times)))


def test_a_model_that_attaches_itself_is_refused(tmp_path):
    (tmp_path / "a.xml").write_text(attaching("b.xml"))
    (tmp_path / "b.xml").write_text(attaching("a.xml"))
    with pytest.raises(DescriptionError, match="expected a model that does not attach itself"):
        sg.load_hand(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("times", "sentence"),
    [(2, "at most 1000 attached models"), (500, "at most 20000 elements in attached models")],
)
def test_models_that_multiply_by_attaching_are_refused(times, sentence, tmp_path):
    for level in range(30):
        (tmp_path / f"{level}.xml").write_text(attaching(f"{level + 1}.xml", times))
    (tmp_path / "30.xml").write_text(ATTACHED.format("", ""))
    with pytest.raises(DescriptionError, match=sentence) as refused:
        sg.load_hand(tmp_path / "0.xml")
    assert refused.value.field == "model.file"


def test_a_file_that_is_included_twice_is_refused_as_by_mujoco(tmp_path):
    inner = '<mujocoinclude><option timestep="0.001"/></mujocoinclude>'
    (tmp_path / "part.xml").write_text(inner)
    (tmp_path / "hand.xml").write_text(
        HAND.format("").replace(
            "<worldbody>", '<include file="part.xml"/><include file="part.xml"/><worldbody>'
        )
    )
    with pytest.raises(DescriptionError, match=r"part\.xml again"):
        sg.load_hand(tmp_path / "hand.xml")
    with pytest.raises(ValueError, match="already included"):
        mujoco.MjModel.from_xml_path(str(tmp_path / "hand.xml"))


XACRO = '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">{}<link name="a"/></robot>'


@pytest.mark.parametrize(
    "content",
    [
        '<link name="$(env HOME)"/>',
        '<link name="$(optenv HOME x)"/>',
        "<link name=\"${load_yaml('/etc/hosts')}\"/>",
        '<xacro:include filename="/etc/passwd"/>',
        '<xacro:include filename="inner.xacro"/>',
    ],
)
def test_macros_read_neither_environment_nor_files(content, tmp_path, monkeypatch):
    pytest.importorskip("xacro")
    (tmp_path / "inner.xacro").write_text(XACRO.format('<link name="$(env HOME)"/>'))
    (tmp_path / "x.xacro").write_text(XACRO.format(content))
    with pytest.raises(DescriptionError, match=r"trust-xacro permits|no package"):
        expand(tmp_path / "x.xacro")
    monkeypatch.setenv(XACRO_ACCESS, "trusted")  # then xacro itself reads what it can
    if "etc" not in content:
        assert expand(tmp_path / "x.xacro").find("link") is not None


# Arrays


def archive(path: Path, shape: tuple[int, ...], stored: int) -> None:
    """Write an array file whose header states a shape, with fewer bytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", header.getvalue() + b"\0" * stored)


def test_arrays_larger_than_what_is_stored_are_refused(tmp_path):
    archive(tmp_path / "lie.npz", (10**12,), 800)
    with pytest.raises(ValueError, match=r"array 'a\.npy' of shape \(1000000000000,\), larger"):
        read_arrays(tmp_path / "lie.npz")


def test_arrays_beyond_the_limit_are_refused(tmp_path, monkeypatch):
    archive(tmp_path / "zeros.npz", (10**5,), 8 * 10**5)
    assert read_arrays(tmp_path / "zeros.npz")["a"].shape == (10**5,)
    monkeypatch.setattr(input_limits, "MAX_ARRAYS", 10**5)
    with pytest.raises(ValueError, match=r"arrays of 0\.0008 GB, more than 0\.0001 GB"):
        read_arrays(tmp_path / "zeros.npz")


# Errors that nobody expected


def test_any_other_exception_names_the_file_and_asks_for_a_report(golden):
    @loader
    def load(name: str = "default.yaml") -> None:
        raise KeyError("joint")

    for call, file in ((lambda: load("mine.yaml"), "mine"), (load, "default")):
        golden.refused(call, f"{file}.yaml")

    @loader
    def greedy(name: str) -> None:
        raise MemoryError

    golden.refused(lambda: greedy("big.stl"), "big.stl: expected a file for which memory")
    with pytest.raises(TypeError):
        load(1, 2, 3)


# Names, meshes and copies


def test_a_message_quotes_no_control_characters_and_no_whole_file():
    text = str(DescriptionError("expected a number, found \x1b[31m" + "x" * 10_000))
    assert text.startswith(r"expected a number, found \x1b[31mxxx")
    assert len(text) < 1600


def test_any_other_exception_of_a_result_is_an_error_of_results():
    @result_loader
    def read(path: str) -> None:
        raise KeyError("x")

    with pytest.raises(ResultError, match="a/b: expected content that can be read, found: K"):
        read("a/b")
