"""Data that does not travel with the project: ``$SOFTGRASP_TESTDATA`` names its folder."""

import os
from pathlib import Path

import pytest


def outside_file(name: str) -> Path:
    """A file or folder of the outside data; skips the test where it is not there."""
    directory = os.environ.get("SOFTGRASP_TESTDATA")
    if not directory:
        pytest.skip(f"{name} is found through SOFTGRASP_TESTDATA, which is not set")
    path = Path(directory) / name
    if not path.exists():
        pytest.skip(f"SOFTGRASP_TESTDATA does not name a folder with {name}")
    return path
