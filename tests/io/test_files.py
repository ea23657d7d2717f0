"""Files of runs, full disks, and templates from which users start."""

import json
import os
import signal
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.io.files import (
    KINDS,
    MARKER,
    delayed_interrupt,
    other_files,
    remove_written,
    start_run,
    template,
    write_bytes,
    write_template,
    write_text,
)
from softgrasp.io.result import JsonLines
from tests.conftest import limited_file_size, usual_ctrl_c

LOAD = {"hand": sg.load_hand, "object": sg.load_object, "scene": sg.load_scene}


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_loads_under_its_new_name(kind, tmp_path):
    file = write_template(kind, "a_new-1", tmp_path / "any.yaml")
    assert LOAD[kind](file).name == "a_new-1"
    assert "NAME" not in file.read_text("utf-8")


def test_the_scene_template_is_a_grasp_that_holds(tmp_path):
    scene = sg.load_scene(write_template("scene", "mine", tmp_path / "mine.yaml"))
    assert scene.success == sg.SuccessCriterion()
    assert sg.simulate(scene).held


@pytest.mark.parametrize("name", ["", "2x", "a b", "a/b", "a: b", "ä.b"])
def test_a_name_must_do_as_a_file_name(name, golden):
    golden.refused(lambda: template("hand", name), "expected a name of letters, digits, _ and -")


def test_an_unknown_kind_is_reported(golden):
    golden.refused(lambda: template("hnad", "x"), "no template of a 'hnad'; did you mean 'hand'")


def test_a_file_that_exists_is_not_overwritten(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("mine")
    with pytest.raises(sg.ResultError, match="expected no file, found one; it is not overwritten"):
        write_template("hand", "x", file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_files_have_the_mode_of_the_umask(mask, tmp_path):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "a.txt", "a")
        write_bytes(tmp_path / "a.txt", b"replaced")
        JsonLines(tmp_path / "b.jsonl").append([{}])
        JsonLines(tmp_path / "b.jsonl").replace(["{}\n"])
    finally:
        os.umask(before)
    for name in ("a.txt", "b.jsonl"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~mask


# Files of runs


def test_a_run_replaces_and_removes_its_files_only(tmp_path):
    start_run(tmp_path / "out")
    mine = write_text(tmp_path / "out" / "deep" / "down" / "result.json", "1")
    assert json.loads((tmp_path / "out" / MARKER).read_text().splitlines()[0])["run"]
    write_text(mine, "2")
    foreign = tmp_path / "out" / "deep" / "film.mp4"
    foreign.write_text("film")
    with pytest.raises(sg.ResultError, match=r"film.mp4: expected no file or one that a run of"):
        write_text(foreign, "3")
    assert remove_written(tmp_path / "out", ("deep", "*.mp4"))
    assert [path.name for path in (tmp_path / "out").rglob("[!.]*")] == ["deep", "film.mp4"]
    assert foreign.read_text() == "film"


def test_a_file_that_was_changed_after_the_run_is_kept(tmp_path, golden):
    start_run(tmp_path)
    path = write_text(tmp_path / "a.json", "1234")
    path.write_text("5678")  # of the same size
    os.utime(path, ns=(1, 1))
    assert other_files(tmp_path, ("*.json",)) == [path]
    assert not remove_written(tmp_path, ("*",))
    golden.refused(lambda: write_text(path, "9"), "it is not overwritten", sg.ResultError)


def test_a_journal_grows_and_stays_a_file_of_its_run(tmp_path):
    start_run(tmp_path)
    for number in range(3):
        JsonLines(tmp_path / "rows.jsonl").append([{"number": number}])
    assert other_files(tmp_path, ("*.jsonl",)) == []


def test_outside_output_directories_nothing_is_marked(tmp_path):
    write_text(tmp_path / "hand.yaml", "name: a")
    (tmp_path / "b.txt").write_text("mine")
    write_text(tmp_path / "b.txt", "new")  # as everywhere: the caller names the file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt", "hand.yaml"]


@pytest.mark.parametrize("line", ["{", "[]", '{"file": 3}', '{"run": "x"}', "[" * 9999])
def test_a_damaged_marker_owns_nothing(tmp_path, line):
    (tmp_path / MARKER).write_text(line + "\n")
    (tmp_path / "a.json").write_text("1")
    assert other_files(tmp_path, ("*",)) == [tmp_path / "a.json"]


def test_a_full_disk_is_one_sentence_and_leaves_the_earlier_file(tmp_path):
    path = write_text(tmp_path / "a.json", "before")
    with (
        limited_file_size(1000),
        pytest.raises(sg.ResultError, match=r"a.json: expected space for the file, found: File"),
    ):
        write_text(path, "x" * 2000)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_while_the_temporary_file_is_created_leaves_none(tmp_path, monkeypatch):
    usual = Path.touch

    def touch(path: Path, mode: int, exist_ok: bool) -> None:
        usual(path, mode, exist_ok)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "table.csv", "a,b")
    assert list(tmp_path.iterdir()) == []


def pressed_in_block(times: int, *, let_through: bool) -> list[str]:
    """Steps of a block of delayed_interrupt that were done before KeyboardInterrupt."""
    done = []
    with usual_ctrl_c():
        try:
            with delayed_interrupt() as deliver:
                for number in range(times):
                    signal.raise_signal(signal.SIGINT)
                    done.append(f"after press {number + 1}")
                if let_through:
                    deliver()
                done.append("end of block")
        except KeyboardInterrupt:
            return done
    pytest.fail("Ctrl-C was lost")


def test_ctrl_c_is_delayed_to_the_end_of_the_block_or_to_where_it_is_let_through():
    assert pressed_in_block(1, let_through=False) == ["after press 1", "end of block"]
    assert pressed_in_block(1, let_through=True) == ["after press 1"]


def test_a_second_ctrl_c_is_not_delayed():
    assert pressed_in_block(2, let_through=False) == ["after press 1"]


@pytest.mark.parametrize("name", ["", ".", "directory", "pipe"])
def test_what_is_no_file_is_not_replaced_by_one(name, tmp_path, monkeypatch):
    """A pipe stands for the devices in ``/dev``, which a rename would replace."""
    monkeypatch.chdir(tmp_path)
    Path("directory").mkdir()
    os.mkfifo("pipe")
    with pytest.raises(sg.ResultError, match="expected a path of a file"):
        write_text(name, "x")
    assert Path("pipe").is_fifo()
    assert {entry.name for entry in tmp_path.iterdir()} == {"directory", "pipe"}
