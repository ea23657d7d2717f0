"""Where ODE is looked for."""

from __future__ import annotations

import ctypes
import ctypes.util
from pathlib import Path

import pytest

from softgrasp.backends.ode import bindings
from softgrasp.errors import BackendUnavailable
from tests.conftest import Golden

SENTENCE = (
    "no ODE library of double precision found (looked for libode.so.8, libode.so, libode.dylib and "
    "dartpy): "
    "apt install libode8, or pip install 'softgrasp[ode]'; or set SOFTGRASP_ODE_LIB"
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A look-up of its own; the library of other tests stays loaded."""
    monkeypatch.setattr(bindings, "_load", bindings._load.__wrapped__)
    monkeypatch.delenv(bindings.VARIABLE, raising=False)
    return monkeypatch


def test_the_library_has_a_version_and_double_precision(ode_library: bindings.OdeLibrary) -> None:
    assert ode_library.describe() == f"{ode_library.version} double"
    assert "ODE_double_precision" in ode_library.configuration
    assert ode_library.version


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("/usr/lib/libode.so.8.0.2", "0.16.2"),
        ("/usr/lib/libode.so.0.16.5", "0.16.5"),
        ("/opt/libode.0.16.3.dylib", "0.16.3"),
        ("/opt/libode.so", "libode.so"),
    ],
)
def test_the_name_of_the_file_reports_the_version(
    file: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bindings, "_load_file", lambda _: file)
    assert bindings._version_of_file(ctypes.CDLL(None)) == version


def test_a_missing_library_is_one_sentence(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(bindings, "SYSTEM_NAMES", ("a.so", "b.so", "c.so"))
    fresh.setattr(ctypes.util, "find_library", lambda _: None)
    fresh.setattr(bindings, "WHEEL", "no-such-wheel")
    sentence = SENTENCE.replace("libode.so.8, libode.so, libode.dylib", "a.so, b.so, c.so")
    sentence = sentence.replace("dartpy", "no-such-wheel")
    with pytest.raises(BackendUnavailable) as caught:
        bindings.load_library()
    assert str(caught.value) == sentence


def test_the_named_library_comes_first_and_has_to_be_ode(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv(bindings.VARIABLE, "libc.so.6")
    with pytest.raises(BackendUnavailable) as caught:
        bindings.load_library()
    assert str(caught.value) == "SOFTGRASP_ODE_LIB: expected ODE's shared library, found libc.so.6"


def single_precision(path: str, _: object) -> bindings.OdeLibrary:
    words = frozenset({"ODE", "ODE_single_precision"})
    return bindings.OdeLibrary(ctypes.CDLL(None), path, words, "0.16.2")


def test_a_named_library_of_single_precision_is_refused(
    fresh: pytest.MonkeyPatch, golden: Golden
) -> None:
    fresh.setattr(bindings, "_open", single_precision)
    fresh.setenv(bindings.VARIABLE, "/opt/libode.so")
    golden.refused(bindings.load_library, "SOFTGRASP_ODE_LIB", BackendUnavailable)


def test_a_library_of_single_precision_in_the_system_is_passed_over(
    ode_library: bindings.OdeLibrary, fresh: pytest.MonkeyPatch
) -> None:
    fresh.setattr(bindings, "_open", single_precision)
    fresh.setattr(bindings, "_from_wheel", lambda: ode_library)
    assert bindings.load_library() is ode_library


@pytest.mark.parametrize(
    "file",
    [
        "libode-07037d6d.so.8.2.0",  # Linux
        "libode.8.2.0.dylib",  # macOS
        "ode_double-015d28533f414d12210367a6979e2b41.dll",  # Windows
    ],
)
def test_the_wheel_has_its_library_under_the_name_of_the_system(
    file: str, fresh: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = ["tests/unit/dynamics/test_body_node.py", "libs/libode_notes.txt", f"libs/{file}"]
    wheel = tmp_path / "dartpy-6.20.0.dist-info"
    wheel.mkdir()
    (wheel / "METADATA").write_text("Metadata-Version: 2.1\nName: dartpy\nVersion: 6.20.0\n")
    (wheel / "RECORD").write_text("".join(f"{path},,\n" for path in paths))
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    opened = []
    fresh.setattr(bindings, "_open", lambda path, version: opened.append((path, version(None))))
    fresh.syspath_prepend(tmp_path)
    assert bindings._from_wheel() is None  # as what opens it returns
    assert opened == [(str(tmp_path / "libs" / file), "dartpy 6.20.0")]


def test_a_library_can_be_named(
    ode_library: bindings.OdeLibrary, fresh: pytest.MonkeyPatch
) -> None:
    fresh.setenv(bindings.VARIABLE, ode_library.path)
    assert bindings.load_library().configuration == ode_library.configuration


def test_a_function_that_is_not_in_the_table_is_reported(ode_library: bindings.OdeLibrary) -> None:
    with pytest.raises(AttributeError) as caught:
        bindings.load().BodyDance(1)
    assert str(caught.value) == "ODE's dBodyDance is not in the table of functions"
