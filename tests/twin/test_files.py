"""Files of twins: cameras, twins, fits, angles, flange poses; round trips and errors."""

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.twin.description import GripperMount, Twin
from softgrasp.twin.files import (
    PieceAngles,
    json_object,
    load_camera,
    load_piece_angles,
    load_pressure_fit,
    load_twin,
    save_camera,
    save_piece_angles,
    save_pressure_fit,
)
from softgrasp.twin.piecewise_bending import angles_at, fit_pressures, reversals
from tests.twin.robots import apart, robot

CAMERA = PinholeCamera(
    name="bench", fx=690.5, fy=690.0, cx=640.0, cy=360.25, k1=0.09, p2=-5e-4, width=1280, height=720
)


def test_a_camera_round_trips(tmp_path):
    assert load_camera(save_camera(CAMERA, tmp_path / "cam.yaml")) == CAMERA


def test_errors_name_the_line(tmp_path):
    path = tmp_path / "cam.yaml"
    path.write_text("fx: 690\nfy: -690\ncx: 640\ncy: 360\nwidth: 1280\nheight: 720\n")
    with pytest.raises(DescriptionError, match=r"cam\.yaml:2: fy: expected .*, found -690"):
        load_camera(path)
    path.write_text("fx: 690\nfy: 690\ncx: 640\ncy: 360\nwidht: 1280\nheight: 720\n")
    with pytest.raises(DescriptionError, match="widht"):
        load_camera(path)
    with pytest.raises(DescriptionError, match=r"expected a \.yaml file, found"):
        save_camera(CAMERA, tmp_path / "cam.json")


TEXT = """\
units: {length: mm, angle: deg}
finger: four_piece
finger_radius: 7
phis: [12, 8.8, 6, 3.3]
gripper:
  mount: {position: [0, 0, 10], euler: [0, 0, 90]}
  fingers: {count: 3, radius: 30, height: 40, tilt: 5}
controller: {port: 5021, map: softgrasp_default}
flange: {type: robot, program: pick_and_place}
"""


def written(directory: Path, text: str = TEXT) -> Path:
    path = directory / "mine.yaml"
    path.write_text(text)
    return path


def test_parts_have_names_and_dimensions_have_units(tmp_path):
    twin = load_twin(written(tmp_path))
    assert twin.name == "mine"
    assert twin.finger == load_pressure_fit("four_piece")
    assert twin.finger_radius == pytest.approx(7e-3)
    np.testing.assert_allclose(twin.phis, np.radians([12, 8.8, 6, 3.3]))
    assert twin.gripper == GripperMount.around_axis(
        3, 0.03, height=0.04, tilt=np.radians(5.0), mount=twin.gripper.mount
    )
    assert twin.gripper.mount.position == pytest.approx((0.0, 0.0, 0.01))
    assert twin.gripper.mount.quaternion == pytest.approx((0.5**0.5, 0.0, 0.0, 0.5**0.5))
    assert twin.controller.port == 5021


def test_a_part_may_be_a_file_beside_it(tmp_path):
    fit = load_pressure_fit("four_piece").replace(name="own")
    save_pressure_fit(fit, tmp_path / "own.yaml")
    twin = load_twin(written(tmp_path, TEXT.replace("four_piece", "own.yaml")))
    assert twin.finger == fit


def test_fingers_may_have_individual_poses(tmp_path):
    poses = "fingers: [{position: [10, 0, 0]}, {position: [-10, 0, 0], euler: [0, 0, 180]}]"
    circle = "fingers: {count: 3, radius: 30, height: 40, tilt: 5}"
    twin = load_twin(written(tmp_path, TEXT.replace(circle, poses)))
    assert [finger.position[0] for finger in twin.gripper.fingers] == [0.01, -0.01]


def test_the_shipped_twin_round_trips_through_json():
    twin = load_twin()
    assert Twin.model_validate_json(twin.model_dump_json()) == twin


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("finger: four_piece", "finger: five_piece", "2: finger: no pressure fit 'five_piece'"),
        ("finger: four_piece", "finger: 4", "2: finger: expected a name or a file, found 4"),
        ("phis: [12, 8.8, 6, 3.3]", "phis: [12]", "4: phis: expected one for each of the 4 pieces"),
        ("count: 3, ", "", "7: gripper.fingers.count: expected a number, found no value"),
        ("count: 3", "count: 0", "count: expected 1 to 100 fingers, found 0"),
        ("count: 3", "count: 4294967295", "count: expected 1 to 100 fingers, found 4294967295"),
        ("radius: 30", "radius: thirty", "7: gripper.fingers.radius: expected a number"),
        ("finger: four_piece", "1: 2\nfinger: four_piece", "expected a name, found the key 1"),
        ("tilt: 5", "tilt: .inf", "7: gripper.fingers.tilt: expected a number, found inf"),
        ("port: 5021", "port: 5021, timeout: 3.0", "expected at most stale_after (0.5 s), found 3"),
        ("tilt: 5", "tlit: 5", "7: gripper.fingers.tlit: no such field; did you mean 'tilt'?"),
        ("port: 5021", "port: 0", "8: controller.port: expected a number at least 1, found 0"),
        ("map: softgrasp_default", "map: rochu", "8: controller.map: no register map 'rochu'"),
        ("pick_and_place", "dance", "9: flange.program: no robot program 'dance'"),
        ("controller:", "rate: 0\ncontroller:", "8: rate: expected a number at least 1, found 0"),
    ],
)  # fmt: skip
def test_errors_name_the_field(tmp_path, old, new, sentence):
    with pytest.raises(DescriptionError) as message:
        load_twin(written(tmp_path, TEXT.replace(old, new)))
    assert sentence in str(message.value)
    assert "mine.yaml" in str(message.value)


MAKER = assets.root() / "assets" / "pressure_fits" / "make_four_piece.py"
HEAD = "pressure_kpa,angle_1_deg,angle_2_deg"


def test_a_fit_round_trips(tmp_path):
    fit = load_pressure_fit("four_piece")
    path = save_pressure_fit(fit, tmp_path / "fit.yaml", comment="two\nlines")
    assert load_pressure_fit(path) == fit
    assert path.read_text("utf-8").startswith("# two\n# lines\n")


def test_a_fit_may_have_the_units_of_the_paper(tmp_path):
    path = tmp_path / "fit.yaml"
    path.write_text(
        "units: {length: mm, angle: deg, pressure: kPa}\nlengths: [14]\nscale: 1\n"
        "pressures: [-90, 120]\ncoefficients: [[0, 0.2, 0, 0]]\nresiduals: [0.3]\n",
        encoding="utf-8",
    )
    fit = load_pressure_fit(path)
    assert fit.name == "fit"
    assert fit.lengths == (0.014,)
    assert fit.pressures == (-90e3, 120e3)
    assert np.degrees(angles_at(fit, 100e3)) == pytest.approx([20.0])
    assert np.degrees(fit.residuals) == pytest.approx([0.3])


def test_missing_fits():
    with pytest.raises(DescriptionError, match=r"no pressure fit 'four'; .*four_piece"):
        load_pressure_fit("four")
    with pytest.raises(DescriptionError, match=r"expected a \.yaml file, found 'fit\.txt'"):
        save_pressure_fit(load_pressure_fit("four_piece"), "fit.txt")
    with pytest.raises(DescriptionError, match="no table of angles 'for_piece'; did you mean"):
        load_piece_angles("for_piece")


def test_measured_angles_round_trip(tmp_path):
    random = np.random.default_rng(0)
    table = PieceAngles(random.uniform(-9e4, 1e5, 7), random.normal(0.0, 0.4, (7, 3)))
    path = save_piece_angles(table, tmp_path / "t.csv", remarks="a remark")
    again = load_piece_angles(path)
    assert again.pressures == pytest.approx(table.pressures, rel=1e-14)
    assert again.angles == pytest.approx(table.angles, rel=1e-14)
    assert path.read_text("utf-8").splitlines()[:2] == [
        "# a remark",
        "pressure_kpa,angle_1_deg,angle_2_deg,angle_3_deg",
    ]


@pytest.mark.skipif(not MAKER.exists(), reason="the scripts of assets are not in a wheel")
def test_the_shipped_fit_is_made_by_its_script(tmp_path):
    """And its curves are nearer than 0.4 σ to the finger without noise."""
    made = runpy.run_path(str(MAKER))
    made["make"](tmp_path)
    shipped = assets.directory("pressure_fits")
    table, remade = load_piece_angles("four_piece"), load_piece_angles(tmp_path / "four_piece.csv")
    assert remade.angles == pytest.approx(table.angles, abs=np.radians(0.0101))
    assert "not measured" in (shipped / "four_piece.csv").read_text("utf-8")
    fit = load_pressure_fit("four_piece")
    assert fit.lengths == (14e-3, 14e-3, 12.32e-3, 15.39e-3)
    assert fit.pressures == (-90e3, 120e3)
    report = fit_pressures(table.pressures, table.angles, fit.lengths, sigma=made["NOISE"])
    assert np.array(report.fit.coefficients) == pytest.approx(np.array(fit.coefficients))
    assert report.accepted
    some = table.pressures[::3]
    truth = np.array([made["true_angles"](pressure) for pressure in some])
    errors = np.sqrt(((angles_at(fit, some) - truth) ** 2).mean(axis=0))
    assert (errors < 0.4 * made["NOISE"]).all()
    # of the order of the paper's finger, and bent back by suction
    assert ((np.degrees(angles_at(fit, 1e5)) > 10) & (np.degrees(angles_at(fit, 1e5)) < 25)).all()
    assert (np.degrees(angles_at(fit, -9e4)) < -5).all()
    assert reversals(fit) == ()


FLANGE_HEAD = "time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz\n"
ROW = "0,100,0,500,1,0,0,0\n"


def test_a_record_round_trips(tmp_path):
    samples = [robot().sample_at(0.02 * index) for index in range(200)]
    path = sg.twin.save_flange_samples(samples, tmp_path / "record.csv")
    result = sg.twin.load_flange_samples(path)
    assert len(result) == len(samples)
    for sample, other in zip(samples, result, strict=True):
        assert max(apart(sample, other)) < 1e-15
    again = sg.twin.save_flange_samples(result, tmp_path / "again.csv")
    assert sg.twin.load_flange_samples(again) == pytest.approx(result)


def test_csv_in_another_order_with_remarks(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("# mine\nqw,qx,qy,qz, z_mm,y_mm,x_mm,time_s\n1,0,0,0,500,0,100,0\n\n", "utf-8")
    assert sg.twin.load_flange_samples(path)[0].position == pytest.approx((0.1, 0.0, 0.5))


POSES = sg.twin.load_flange_samples


@pytest.mark.parametrize(
    ("load", "name", "text", "part"),
    [
        (load_pressure_fit, "f.yaml", "units: {pressure: torr}", "f.yaml:1: units.pressure"),
        (load_pressure_fit, "f.yaml", "lengths: [0.01]\npressures: [0, 1]", "f.yaml: coefficients"),
        (load_pressure_fit, "f.yaml", "lengths: [0.01, 0.02]\npressures: [0, 1]\n"
         "coefficients: [[0, 1, 0, 0]]", "f.yaml:3: coefficients"),
        (load_pressure_fit, "f.yaml", "lengths: [0.01]\npressures: [1, 0]\n"
         "coefficients: [[0, 1, 0, 0]]", "f.yaml:2: pressures"),
        (load_pressure_fit, "f.yaml", "lenghts: [0.01]", "f.yaml:1: lenghts"),
        (load_piece_angles, "t.csv", "pressure,angle_1_deg\n0,0", "t.csv:1: no column 'pressure'"),
        (load_piece_angles, "t.csv", "pressure_kpa\n0", "t.csv:1: expected the columns"),
        (load_piece_angles, "t.csv", HEAD, "t.csv: expected lines of numbers"),
        (load_piece_angles, "t.csv", f"{HEAD}\n0,1,x", "t.csv:2: angle_2_deg"),
        (load_piece_angles, "t.csv", f"{HEAD}\n# gap\n0,,1", "t.csv:3: angle_1_deg"),
        (load_piece_angles, "t.csv", f"{HEAD}\n0,1", "t.csv:2: expected 3 cells, found 2"),
        (POSES, "a.csv", "", "a.csv: expected a line of names"),
        (POSES, "a.csv", FLANGE_HEAD, "a.csv: expected lines of numbers"),
        (POSES, "a.csv", "time_s,x_mm\n", "a.csv:1: expected the columns"),
        (POSES, "a.csv", "time_s,x\n", "a.csv:1: no column 'x'"),
        (POSES, "a.csv", FLANGE_HEAD + "0,1\n", "a.csv:2: expected 8 cells"),
        (POSES, "a.csv", FLANGE_HEAD + ROW + ROW, "a.csv:3: time_s"),
        (POSES, "a.csv", FLANGE_HEAD + "0,one,0,500,1,0,0,0\n", "a.csv:2: x_mm"),
        (POSES, "a.csv", FLANGE_HEAD + "nan,1,0,500,1,0,0,0\n", "a.csv:2: time_s"),
        (POSES, "a.csv", FLANGE_HEAD + "0,1,0,500,1,1,0,0\n", "a.csv:2: quaternion"),
        (POSES, "a.txt", "", "expected a file of flange poses that ends in .csv"),
    ],
    ids=range(21),
)  # fmt: skip
def test_mistakes(load, name, text, part, tmp_path, golden):
    (tmp_path / name).write_text(text, encoding="utf-8")
    golden.refused(lambda: load(tmp_path / name), part)


def test_a_missing_file(tmp_path):
    with pytest.raises(sg.DescriptionError, match=r"none\.csv: .*, found: no such file"):
        sg.twin.load_flange_samples(tmp_path / "none.csv")


def test_nothing_is_written_under_a_wrong_name(tmp_path):
    with pytest.raises(sg.DescriptionError, match=r"ends in \.csv"):
        sg.twin.save_flange_samples([robot().sample_at(0.0)], tmp_path / "record.dat")
    assert list(tmp_path.iterdir()) == []


def message(make: Callable[[], object]) -> object:
    """What is made, or the sentence that refuses."""
    try:
        return make()
    except sg.DescriptionError as error:
        return str(error)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_text_gives_an_object_or_an_error(text):
    result = message(lambda: json_object(text))
    assert isinstance(result, dict) or str(result).startswith("expected a JSON object, found")


@given(st.text(max_size=120))
def test_any_csv_gives_samples_or_an_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(FLANGE_HEAD.encode() + text.encode("utf-8", "surrogatepass"))
    with pytest.raises(sg.DescriptionError):
        sg.twin.load_flange_samples(path)


def test_deeply_nested_json_is_refused():
    with pytest.raises(sg.DescriptionError, match="expected a JSON object"):
        json_object("[" * 100_000)
