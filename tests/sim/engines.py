"""Engines that tests run in: ODE has to be there where the environment says so."""

from __future__ import annotations

import os

import pytest

from softgrasp.backends.ode.bindings import load_library
from softgrasp.backends.webots.launcher import find_webots
from softgrasp.errors import BackendUnavailable


def require_engine(name: str) -> None:
    """Skip a test without its engine; without ODE it fails where SOFTGRASP_REQUIRE_ODE is set."""
    try:
        if name == "ode":
            load_library()
        if name == "webots":
            find_webots()
    except BackendUnavailable as error:
        if name == "ode" and os.environ.get("SOFTGRASP_REQUIRE_ODE"):
            pytest.fail(str(error))
        pytest.skip(str(error))
