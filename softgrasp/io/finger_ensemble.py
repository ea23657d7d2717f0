"""Ensemble of a calibrated finger: fingers of its posterior, in a table beside its file.

The table ``finger_ensemble.csv`` beside ``finger.yaml`` has a row a finger and a column a number of
a joint, such as ``stiffness_1``, in SI. Its first line has a hash of the calibrated finger, so that
the table of another finger is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.io.files import write_text
from softgrasp.io.hand import load_finger
from softgrasp.io.input_limits import check_size, loader
from softgrasp.io.tables import Column, column_names, read_table
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
        return FingerEnsemble(
            self.finger, {key: column[rows] for key, column in self.columns.items()}
        )


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
    with path.open(encoding="utf-8") as file:
        first = file.readline().rstrip("\n")
    if first != HEAD + finger_hash(finger):
        content = "that of another finger" if first.startswith(HEAD) else "no hash of a finger"
        raise DescriptionError(
            f"{path}:1: expected the ensemble of the finger '{finger.name}' in {finger_file} "
            f"(sha256 {finger_hash(finger)[:12]}…), found {content}; if the finger was changed by "
            "hand, calibrate it again"
        )
    joints = range(1, len(finger.joints) + 1)
    known = [f"{kind}_{joint}" for kind in FIELDS for joint in joints]
    heads = column_names(path)
    for head in heads:
        if head not in known:
            raise DescriptionError(
                f"{path}:2: expected columns {known[0]} … {known[-1]}, found '{head}'"
            )
    return FingerEnsemble(finger, dict(read_table(path, [Column(head) for head in heads]).columns))
