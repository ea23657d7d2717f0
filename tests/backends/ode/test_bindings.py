"""Where ODE is looked for."""

from __future__ import annotations

import ctypes
import ctypes.util

import pytest

from softgrasp.backends.ode import bindings
from softgrasp.errors import BackendUnavailable

SENTENCE = (
    "no ODE library found (looked for libode.so.8, libode.so, libode.dylib and panda3d): "
    "apt install libode8, or pip install 'softgrasp[ode]'; or set SOFTGRASP_ODE_LIB"
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A look-up of its own; the library of other tests stays loaded."""
    monkeypatch.setattr(bindings, "_load", bindings._load.__wrapped__)
    monkeypatch.delenv(bindings.VARIABLE, raising=False)
    return monkeypatch


def test_the_library_reports_its_version_and_precision(ode_library: bindings.OdeLibrary) -> None:
    assert ode_library.describe() == f"{ode_library.version} {ode_library.precision}"
    assert f"ODE_{ode_library.precision}_precision" in ode_library.configuration
    assert ode_library.version
    real = bindings.Ode(ode_library).types.real
    assert ctypes.sizeof(real) == {"double": 8, "single": 4}[ode_library.precision]


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
    monkeypatch.setattr(bindings, "_loaded_file", lambda _: file)
    assert bindings._version_of_file(ctypes.CDLL(None)) == version


def test_a_missing_library_is_one_sentence(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(bindings, "SYSTEM_NAMES", ("a.so", "b.so", "c.so"))
    fresh.setattr(ctypes.util, "find_library", lambda _: None)
    fresh.setattr(bindings.util, "find_spec", lambda _: None)
    sentence = SENTENCE.replace("libode.so.8, libode.so, libode.dylib", "a.so, b.so, c.so")
    with pytest.raises(BackendUnavailable) as caught:
        bindings.load_library()
    assert str(caught.value) == sentence


def test_the_named_library_comes_first_and_has_to_be_ode(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv(bindings.VARIABLE, "libc.so.6")
    with pytest.raises(BackendUnavailable) as caught:
        bindings.load_library()
    assert str(caught.value) == "SOFTGRASP_ODE_LIB: expected ODE's shared library, found libc.so.6"


def test_a_library_can_be_named(
    ode_library: bindings.OdeLibrary, fresh: pytest.MonkeyPatch
) -> None:
    fresh.setenv(bindings.VARIABLE, ode_library.path)
    assert bindings.load_library().configuration == ode_library.configuration


def test_a_function_that_is_not_in_the_table_is_reported(ode_library: bindings.OdeLibrary) -> None:
    with pytest.raises(AttributeError) as caught:
        bindings.load().BodyDance(1)
    assert str(caught.value) == "ODE's dBodyDance is not in the table of functions"
