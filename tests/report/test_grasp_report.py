"""Report files: complete, self-contained, consistent with the result; embedded images."""

import base64
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest
from PIL import Image

import softgrasp as sg
from softgrasp.rendering.video import render_video
from softgrasp.report import (
    contact_figures,
    final_poses,
    grasp_report,
    grasp_tables,
    grasp_text,
    overlay_objects,
    style,
    time_series,
)
from softgrasp.report.contact_figures import draw_contacts
from softgrasp.report.grasp_report import LARGE, embed_image
from softgrasp.report.style import DPI, WIDTH, figure
from softgrasp.report.time_series import draw_joints, draw_object

FILES = [
    "result.json", "trajectory.npz", "contacts.png", "contacts.csv", "joints.png", "joints.csv",
    "object.png", "object.csv", "quality.png", "quality.csv", "strip.png", "grasp.mp4",
    "report.html",
]  # fmt: skip
FINE, COARSE = style.DPI, 60
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects what a page refers to and says; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", self.words)


@pytest.fixture(scope="module", autouse=True)
def _small_pictures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grasp_report, "render_video", partial(render_video, size=(96, 72), fps=4))
        patch.setattr(contact_figures, "SIZE", (146, 160))
        patch.setattr(style, "DPI", COARSE)
        yield


@pytest.fixture(scope="module")
def written(
    held: sg.GraspResult, tmp_path_factory: pytest.TempPathFactory, _small_pictures: None
) -> Path:
    """The report of a held grasp."""
    directory = tmp_path_factory.mktemp("report") / "a grasp"
    message: list[tuple[str, float]] = []
    paths = grasp_report.write_report(
        held,
        directory,
        renderer="raycast",
        progress=lambda file, done: message.append((file, done)),
    )
    assert [path.name for path in paths] == FILES
    drawn = {file for file in FILES[2:] if not file.endswith(".csv")}
    assert {file for file, done in message if done == 1.0} == drawn
    return directory


@pytest.mark.slow
def test_all_files_are_there_and_no_other(written):
    assert sorted(path.name for path in written.iterdir()) == sorted(FILES)
    assert all(path.stat().st_size > 0 for path in written.iterdir())
    assert (written / "report.html").stat().st_size < 5e6


@pytest.mark.slow
def test_figures_are_fine_enough_for_print(written):
    assert FINE >= 300
    for name in ("contacts.png", "joints.png", "object.png"):
        assert imageio.imread(written / name).shape[1] == style.WIDTH * COARSE


def test_the_report_holds_its_files_and_needs_no_other(written):
    html = (written / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert len(page.references) == 6
    assert all(reference.startswith("data:") for reference in page.references)
    assert not re.search(r"https?:|file:|url\(|@import|<script|<link", html)
    contents = {base64.b64decode(reference.split(",", 1)[1]) for reference in page.references}
    target = {(written / name).read_bytes() for name in FILES if name.endswith((".png", ".mp4"))}
    assert contents == target
    for name in ("contacts", "joints", "object", "quality"):
        assert f"{name}.png, {name}.csv" in page.text
    assert "strip.png" in page.text
    assert "strip.csv" not in page.text


def test_the_report_states_what_the_result_holds(written, held):
    text = Page((written / "report.html").read_text(encoding="utf-8")).text
    assert grasp_text.summary(held) in text
    assert "four_finger grasps ball" in text
    assert held.trajectory_sha256 in text
    assert "softgrasp rerun 'a grasp'" in text
    assert "drawn by the built-in ray caster" in text
    for event in held.events:
        assert f"{event.time_s:.4f}" in text
    assert sg.load_result(written).trajectory_sha256 == held.trajectory_sha256
    assert json.loads((written / "result.json").read_text())["held"] is True


@pytest.mark.slow
def test_without_images(held, tmp_path):
    paths = grasp_report.write_report(held, tmp_path, renderer="none")
    assert [path.name for path in paths] == [*FILES[:10], "report.html"]
    result = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(result.references) == 4


@pytest.mark.slow
def test_without_the_report(held, tmp_path):
    paths = grasp_report.write_report(held, tmp_path, renderer="raycast", report=False)
    assert [path.name for path in paths] == [*FILES[:2], "grasp.mp4"]


@pytest.mark.slow
def test_an_image_of_an_earlier_run_does_not_get_into_the_report(held, tmp_path):
    (tmp_path / "strip.png").write_bytes(b"another run")
    grasp_report.write_report(held, tmp_path, renderer="none")
    assert "Key frames" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no_contact", "diverged"])
def test_a_run_that_failed_has_a_report(kind, request, tmp_path):
    result: sg.GraspResult = request.getfixturevalue(kind)
    grasp_report.write_report(result, tmp_path, renderer="raycast")
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert grasp_text.summary(result) in text
    assert "nan" not in text.lower().split()
    assert result.message[1:] in text  # the verdict, with what to do where there is advice
    assert result.outcome.name.capitalize() in text


@pytest.mark.slow
def test_names_cannot_break_the_report(held, tmp_path):
    scene = held.scene.replace(name="<script>alert('x')</script>", source="a < b & c")
    grasp_report.write_report(
        replace(held, scene=scene, warnings=("1 < 2",)), tmp_path, renderer="none"
    )
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    text = Page(html).text
    assert "<script>alert('x')</script>: four_finger grasps ball" in text
    assert "a < b & c" in text
    assert "1 < 2" in text


@pytest.mark.parametrize("draw", [draw_contacts, draw_joints, draw_object])
def test_a_hand_of_24_joints_is_drawn(draw, tmp_path):
    result = sg.simulate(
        sg.GraspScene(
            hand=sg.load_hand("human_24dof"),
            object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), density=700),
            duration=0.02,
        )
    )
    assert imageio.imread(draw(result, tmp_path / "a.png")).shape[1] == style.WIDTH * COARSE


def test_only_what_touched_has_a_panel(held, tmp_path):
    touched = {contact.body for contact in held.contacts if contact.first_touch_s is not None}
    cells = contact_figures._cells(held, touched)
    assert set(cells.values()) == {body for body in touched if held.contact_of(body).finger}
    rows, columns = zip(*cells, strict=True)
    # no row and no column is empty
    assert set(rows) == set(range(max(rows) + 1))
    assert set(columns) == set(range(max(columns) + 1))
    assert len(grasp_tables.untouched(held)) == len(held.contacts) - len(touched)


def test_phalanges_of_the_same_number_stand_below_one_another():
    hand = sg.load_hand("allegro_right")
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), duration=0.005)
    result = sg.simulate(scene)
    cells = contact_figures._cells(result, {"index_P2", "thumb_P1", "thumb_P2"})
    assert cells == {(0, 1): "index_P2", (1, 0): "thumb_P1", (1, 1): "thumb_P2"}


@pytest.mark.slow
def test_what_never_touched_is_one_panel(no_contact, tmp_path):
    drawn = draw_contacts(no_contact, tmp_path / "a.png")
    height, width = imageio.imread(drawn).shape[:2]
    assert height < 0.25 * width


def test_free_fall_does_not_set_the_scale_of_motion(held, tmp_path):
    late = len(held.time) - 20
    force = held.normal_force.copy()
    force[late:] = 0.0
    fall = held.tracks[0][0].copy()
    fall[late:, 2] -= 10.0
    lost = replace(held, held=False, normal_force=force, object_position=fall)
    assert grasp_text.out_of_hand(lost)
    assert not grasp_text.out_of_hand(held)
    assert grasp_text.let_go_s(held) is None
    assert grasp_text.let_go_s(lost) == held.time[late - 1]
    with style.figure(tmp_path / "a.png", 2.0) as (figure, _):
        axes = figure.add_subplot()
        time_series._draw_run(
            axes, lost, time_series.displacement_mm(lost), time_series.TRANSLATIONS, " mm"
        )
        assert max(map(abs, axes.get_ylim())) < 1e3
        assert not any("10000" in text.get_text() for text in axes.get_legend().get_texts())


def test_runs_are_compared(held, no_contact, tmp_path):
    results, labels = [held, no_contact], ["held", "not touched"]
    overlay = overlay_objects(results, labels, tmp_path / "overlay.png")
    poses = final_poses(results, labels, tmp_path / "poses.png", renderer="raycast")
    assert imageio.imread(overlay).shape[1] == style.WIDTH * COARSE
    assert imageio.imread(poses).shape[1] == 2 * (146 + 12) + 12


def test_only_components_that_move_are_drawn(held, tmp_path, monkeypatch):
    notes: list[str] = []
    monkeypatch.setattr(style, "footnote", lambda figure, text: notes.append(
        f"{', '.join(axes.get_title(loc='left') for axes in figure.axes)}; {text}"))  # fmt: skip
    moves = np.zeros((len(held.time), 6))
    moves[:, 2] = np.linspace(0.0, 5.0, len(held.time))
    monkeypatch.setattr(time_series, "displacement_mm", lambda result: moves[:, :3])
    monkeypatch.setattr(time_series, "rotation_deg", lambda result: moves[:, 3:])
    path = overlay_objects([held], ["a"], tmp_path / "a.png")
    moves[:, 2] = 0.0
    overlay_objects([held], ["a"], tmp_path / "b.png")
    titles = [heading.removeprefix("a: ") for heading in path.with_suffix(".csv").read_text(
        "utf-8").splitlines()[0].split(",")[1:]]  # fmt: skip
    assert len(titles) == 6  # the table has all
    assert notes == [
        f"{titles[2]}; Below 0.1 in all runs: {', '.join(titles[:2] + titles[3:])}.",
        f"{', '.join(titles[:3])}; Below 0.1 in all runs: {', '.join(titles[3:])}.",
    ]


def test_a_figure_that_fails_leaves_no_file(held, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises((OSError, sg.ResultError), match="No space left on device"):
        draw_object(held, tmp_path / "object.png")
    assert list(tmp_path.iterdir()) == []


def test_figures_leave_no_trace_in_matplotlib(held, tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw_object(held, tmp_path / "object.png")
    assert dict(mpl.rcParams) == before


TEMPLATES = sorted(
    path.name
    for path in files("softgrasp.report").joinpath("templates").iterdir()
    if path.name.endswith(".html.j2") and path.name not in ("base.html.j2", "parts.html.j2")
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_report_has_the_head_and_the_style_of_all(name):
    source = files("softgrasp.report").joinpath("templates", name).read_text("utf-8")
    assert source.startswith('{% extends "base.html.j2" %}')
    # one head, one style, one way to show a figure; and nothing from the network
    assert not re.search(r"<head|<style|<img|https?:|<script|<link|@import", source)


def test_the_style_knows_night_paper_and_phones():
    directory = files("softgrasp.report").joinpath("templates")
    css = directory.joinpath("report.css").read_text("utf-8")
    for media in ("(prefers-color-scheme: dark)", "print", "(max-width: 720px)"):
        assert f"@media {media} {{" in css
    # figures are white, so their card and its caption stay so by night
    assert ".card { background: #fff;" in css
    assert not re.search(r"https?:|url\(|@import", css)
    base = directory.joinpath("base.html.j2").read_text("utf-8")
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in base


# Embedded images.


def inside(source: str) -> Image.Image:
    """The picture of a data URL."""
    return Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2])))


@pytest.fixture
def photograph(tmp_path: Path) -> Path:
    """With noise, as cameras make it, which PNG cannot make small."""
    noise = np.random.default_rng(0).integers(90, 140, (600, 800, 3)).astype(np.uint8)
    path = tmp_path / "photo.png"
    Image.fromarray(noise).save(path)
    assert path.stat().st_size > LARGE
    return path


def test_photographs_go_into_a_report_smaller_and_unchanged(photograph):
    shown = embed_image(photograph)
    assert shown.source.startswith("data:image/webp;base64,")
    assert len(shown.source) < 0.5 * photograph.stat().st_size
    mean = [np.asarray(image).mean() for image in (Image.open(photograph), inside(shown.source))]
    assert mean[0] == pytest.approx(mean[1], abs=1.0)
    assert (shown.fraction, shown.files) == (1.0, "photo.png")


@pytest.mark.parametrize(("width", "fraction"), [(WIDTH, 1.0), (0.4 * WIDTH, 0.4)])
def test_figures_keep_their_bytes_and_their_width(tmp_path, width, fraction):
    path = tmp_path / "line.png"
    with figure(path, 2.0, width) as (drawn, table):
        table.plot(drawn.subplots(), [0.0, 1.0], [0.0, 1.0], "force [N]")
    shown = embed_image(path)
    assert base64.b64decode(shown.source.partition(",")[2]) == path.read_bytes()
    assert shown.fraction == pytest.approx(fraction, abs=1.0 / (DPI * WIDTH))
    assert shown.files == "line.png, line.csv"


def test_reports_with_many_figures_have_them_smaller(photograph):
    assert inside(embed_image(photograph, smaller=2).source).size == (400, 300)
