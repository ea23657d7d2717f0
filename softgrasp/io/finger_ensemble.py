"""Ensemble of a calibrated finger: fingers of its posterior, in a table beside its file.

The table ``finger_ensemble.csv`` beside ``finger.yaml`` has a row a finger and a column a number of
a joint, such as ``stiffness_1``, in SI. Its first line has a hash of the calibrated finger, so that
the table of another finger is refused.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.io.files import write_text
from softgrasp.io.hand import load_finger
from softgrasp.io.input_limits import check_size, loader
from softgrasp.mechanics.transforms import Array

FIELDS = {"stiffness": "stiffness", "damping": "damping", "gain": "pressure_gain"}
"""Field of a joint by the first word of a column."""
HEAD = "# fingers of the posterior of the finger with sha256 "


class FingerEnsemble(NamedTuple):
    """Calibrated finger and fingers of its posterior."""

    finger: SoftFinger
    """Calibrated finger."""
    columns: dict[str, Array]
    """Numbers of a joint, (n,) each, by field and joint from 1, such as ``stiffness_1``."""

    @property
    def size(self) -> int:
        """Number of fingers."""
        return len(next(iter(self.columns.values())))

    def path_in_finger(self, column: str) -> str:
        """Return the field of a finger that a column has, such as ``joints[0].stiffness``."""
        kind, _, joint = column.partition("_")
        return f"joints[{int(joint) - 1}].{FIELDS[kind]}"

    def drawn(self, count: int, seed: int = 0) -> FingerEnsemble:
        """Return some of the fingers, drawn without replacement.

        Raises:
            DescriptionError: There are fewer fingers, or fewer than 2 are requested.
        """
        if not 2 <= count <= self.size:
            raise DescriptionError(
                f"expected 2 to {self.size} fingers of the ensemble, found {count}", field="size"
            )
        rows = np.random.default_rng(seed).permutation(self.size)[:count]
        return FingerEnsemble(self.finger, {key: one[rows] for key, one in self.columns.items()})


def ensemble_path(finger: str | Path) -> Path:
    """Return the path of the ensemble beside the file of a finger."""
    path = Path(finger)
    return path.with_name(f"{path.stem}_ensemble.csv")


def finger_hash(finger: SoftFinger) -> str:
    """Return a hash of all numbers of a finger; its source does not matter."""
    return hashlib.sha256(finger.model_dump_json(exclude={"source", "mesh"}).encode()).hexdigest()


def save_finger_ensemble(
    finger: SoftFinger, columns: Mapping[str, Array], finger_file: str | Path
) -> Path:
    """Write columns, (n,) each, by field and joint from 1, beside the file of their finger.

    Raises:
        ResultError: The file cannot be written.
    """
    rows = [",".join(f"{x:.9g}" for x in row) for row in np.array(list(columns.values())).T]
    lines = [HEAD + finger_hash(finger), ",".join(columns), *rows, ""]
    return write_text(ensemble_path(finger_file), "\n".join(lines))


@loader
def load_finger_ensemble(finger_file: str | Path) -> FingerEnsemble:
    """Load a calibrated finger, ``finger.yaml``, and the ensemble beside its file.

    Raises:
        DescriptionError: There is no ensemble beside it, it belongs to another finger, or a number
            is wrong.
    """
    finger, path = load_finger(finger_file), ensemble_path(finger_file)
    if not path.is_file():
        raise DescriptionError(
            f"expected an ensemble of the finger '{finger.name}', as softgrasp calibrate writes it "
            f"beside finger.yaml with its default method, found no file {path}"
        )
    check_size(path)
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != HEAD + finger_hash(finger):
        known = "that of another finger" if first.startswith(HEAD) else "no hash of a finger"
        raise DescriptionError(
            f"{path}:1: expected the ensemble of the finger '{finger.name}' in {finger_file} "
            f"(sha256 {finger_hash(finger)[:12]}…), found {known}; if the finger was changed by "
            "hand, calibrate it again"
        )
    heads, *rows = list(csv.reader(lines)) or [[]]
    joints = range(1, len(finger.joints) + 1)
    columns = [f"{kind}_{joint}" for kind in FIELDS for joint in joints]
    if not heads or not set(heads) <= set(columns):
        unknown = next((f"'{head}'" for head in heads if head not in columns), "none")
        raise DescriptionError(
            f"{path}:2: expected columns {columns[0]} … {columns[-1]}, found {unknown}"
        )
    numbers = [_numbers(row, heads, path, line) for line, row in enumerate(rows, start=3)]
    if not numbers:
        raise DescriptionError(f"{path}: expected a row for each finger, found none")
    return FingerEnsemble(finger, dict(zip(heads, np.array(numbers).T, strict=True)))


def _numbers(row: list[str], heads: list[str], path: Path, line: int) -> list[float]:
    try:
        numbers = [float(cell) for cell in row]
    except ValueError:
        numbers = []
    if len(numbers) != len(heads) or not all(map(math.isfinite, numbers)):
        raise DescriptionError(f"{path}:{line}: expected {len(heads)} numbers, found {row}")
    return numbers
