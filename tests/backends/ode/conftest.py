"""These tests need ODE: apt install libode8, or pip install 'softgrasp[ode]'."""

from __future__ import annotations

import os

import pytest

from softgrasp.backends.ode.bindings import OdeLibrary, load_library
from softgrasp.errors import BackendUnavailable


@pytest.fixture(scope="session")
def ode_library() -> OdeLibrary:
    """Fails where there is no ODE but SOFTGRASP_REQUIRE_ODE=1 says that there has to be."""
    try:
        return load_library()
    except BackendUnavailable as error:
        if os.environ.get("SOFTGRASP_REQUIRE_ODE") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def digits() -> float:
    """Relative rounding of double precision, with what a few thousand steps add to it."""
    return 1e-12
