"""softgrasp view: what it names, where the page is, what is wrong, and how it ends."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import softgrasp as sg
from tests.conftest import files_in
from tests.support.scenes import pinch

FILES = ["run", "run/result.json", "run/trajectory.npz"]


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A short run on disk."""
    sg.simulate(pinch(duration=0.05)).save(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes as soon as the page is there; no browser is opened."""

    def interrupt(step: object) -> None:
        raise KeyboardInterrupt

    for position in ("views",):
        monkeypatch.setattr(f"softgrasp.viewer.{position}.serve", interrupt)
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port in use."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_what_is_shown_is_saved_as_one_file(run, stored):
    ran = run("view", "two_finger_planar", "sphere", "--save", "hand.html")
    assert (ran.code, ran.out, ran.err) == (0, "wrote hand.html\n", "")
    assert 5e5 < Path("hand.html").stat().st_size < 5e6
    assert files_in(stored.parent) == ["hand.html", *FILES]


@pytest.mark.slow
def test_a_result_is_saved_as_one_file(run, stored):
    assert run("view", stored, "--out", "run.html", "--json").json == {"files": ["run.html"]}
    assert 5e5 < Path("run.html").stat().st_size < 5e6
    assert files_in(stored.parent) == ["run", "run.html", *FILES[1:]]


@pytest.mark.slow
@pytest.mark.usefixtures("ended")
def test_ctrl_c_ends_the_page_well(run, stored):
    for words in (("two_finger_planar",), (stored,), (stored / "result.json",)):
        ran = run("view", *words, "--no-browser", "--port", "0")
        assert ran.code == 0
        assert ran.out.startswith("open http://127.0.0.1:")
        assert ran.out.endswith(" in a browser; Ctrl-C ends it\n")
        assert ran.err == "softgrasp: closed the page\n"


@pytest.mark.usefixtures("ended")
def test_a_port_in_use_is_passed_over_and_reported(run, stored, taken):
    ran = run("view", stored, "--no-browser", "--port", str(taken))
    assert ran.code == 0
    assert ran.out.startswith(f"port {taken} is in use; open http://127.0.0.1:")


@pytest.mark.slow
@pytest.mark.usefixtures("ended")
def test_a_browser_is_opened_where_there_is_a_screen(run, stored, monkeypatch):
    ran = run("view", stored, "--port", "0", "--json")
    port = ran.json["port"]
    assert ran.json["url"] == f"http://127.0.0.1:{port}"
    assert ran.err.splitlines() == [
        "softgrasp: found no screen here; from another machine: "
        f"ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}, then open "
        f"http://127.0.0.1:{port} there",
        "softgrasp: closed the page",
    ]
    opened: list[str] = []
    monkeypatch.setattr("softgrasp.cli.view.has_display", lambda: True)
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    ran = run("view", stored, "--port", "0", "--json")
    assert opened == [ran.json["url"]]
    assert ran.err == "softgrasp: closed the page\n"
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert run("view", stored, "--port", "0").err.startswith(
        "softgrasp: found no browser that could be opened; --no-browser leaves it closed\n"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("four_fingr", "no hand, object, scene or robot 'four_fingr'"),
        ("sphere", "sphere"),
        ("demo", "demo"),
        ("out/none", "out/none/result.json"),
        ("four_finger spher", "no object 'spher'"),
        ("four_finger --density 3", "--density"),
        ("four_finger --save a.mp4", "--save"),
        ("four_finger --save nowhere/a.html", "--save"),
        ("run sphere", "run: expected nothing after the directory of a result"),
    ],
)
def test_mistakes(words, sentence, run, stored, golden):
    ran = run("view", *words.split())
    assert ran.code == 2
    assert ran.out == ""
    golden(ran.err.partition("known:")[0], sentence)
    assert ran.err.count("\n") == 1


def test_a_result_of_a_newer_softgrasp_is_refused(run, stored, golden):
    file = stored / "result.json"
    document = json.loads(file.read_text()) | {"schema_version": 7, "softgrasp_version": "9.1"}
    file.write_text(json.dumps(document))
    ran = run("view", stored)
    assert ran.code == 2
    golden(ran.err, "expected schema_version 3")


def test_what_is_missing_reports_how_to_get_it(run, stored, monkeypatch):
    monkeypatch.setattr("softgrasp.viewer.page.find_spec", lambda name: None)
    ran = run("view", stored)
    assert ran.code == 3
    assert "pip install 'softgrasp[view]'" in ran.err
