"""Families of a sweep plan: rows that differ in weight and contact share one compiled model.

Rows are grouped by the values of all other axes. Each group is resolved and compiled once, when its
first row is computed (``model.family``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import SoftgraspError
from softgrasp.io.files import json_text
from softgrasp.model.family import FIELDS, Family, has_family
from softgrasp.model.scene import CompiledScene
from softgrasp.resolution.resolve import resolve
from softgrasp.sweeps.parameters import SHORT, combinations, scene_of


class _Member(NamedTuple):
    """Where a combination of values belongs."""

    group: str
    row: int
    """Row of the family."""


class FamilyRows(NamedTuple):
    """Rows of a plan that differ in weight and contact only, with one time step."""

    family: Family
    members: list[int]
    """Their numbers in the family, (n,)."""
    rows: list[int]
    """Their numbers in the plan."""


class PlanFamilies:
    """Compiled scenes of the rows of a plan."""

    def __init__(self, plan: SweepPlan, *, exact: bool = True) -> None:
        """Group the rows of a plan.

        Args:
            plan: The plan.
            exact: Whether models have to be equal bit for bit to those of rows that are built by
                themselves.
        """
        self._plan, self._exact = plan, exact
        self.combinations = combinations(plan)
        """Values of all rows by the paths of the plan's axes, without repeats."""
        paths = [axis.path for axis in plan.axes]
        self._fields = {path: SHORT.get(path, path) for path in paths}
        self._shared = [path for path in paths if self._fields[path] not in FIELDS]
        self._groups: dict[str, list[int]] = {}
        self._members: list[_Member] = []
        if not plan.noise.position and not plan.noise.rotation:
            for index, values in enumerate(self.combinations):
                group = json_text([values[path] for path in self._shared])
                members = self._groups.setdefault(group, [])
                self._members.append(_Member(group, len(members)))
                members.append(index)
        self._families: dict[str, Family | None] = {}

    def compiled(self, row: int) -> CompiledScene | None:
        """Return the compiled scene of a row; None for one that has to be built by itself."""
        family, member = self._member(row)
        return None if family is None else family.compiled(member)

    def divided(self, rows: Iterable[int]) -> tuple[list[FamilyRows], list[int]]:
        """Divide rows into those of families, by time step, and those built by themselves."""
        parts: dict[tuple[int, float], FamilyRows] = {}
        alone = []
        for row in rows:
            family, member = self._member(row)
            if family is None:
                alone.append(row)
                continue
            key = (id(family), float(family.timestep[member]))
            part = parts.setdefault(key, FamilyRows(family, [], []))
            part.members.append(member)
            part.rows.append(row)
        return list(parts.values()), alone

    def _member(self, row: int) -> tuple[Family | None, int]:
        """Return the family of a row, None without one, and its number there."""
        if not self._members:
            return None, 0
        member = self._members[row // self._plan.repeats]
        if member.group not in self._families:
            self._families[member.group] = self._family(self._groups[member.group])
        family = self._families[member.group]
        return None if family is None or family.alone[member.row] else family, member.row

    def _family(self, members: Sequence[int]) -> Family | None:
        """Return the family of some combinations; None where they have none."""
        rows = [self.combinations[index] for index in members]
        varied = [path for path in self._fields if path not in self._shared]
        numbers = all(
            isinstance(row[path], int | float) and not isinstance(row[path], bool)
            for row in rows for path in varied
        )  # fmt: skip
        if len(rows) * self._plan.repeats < 2 or not numbers:
            return None
        fields = {
            self._fields[path]: np.array([row[path] for row in rows], dtype=float)
            for path in varied
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are in the resolved scene
                scene = scene_of(self._plan, rows[0], None)
                if not (has_family(scene) and _chooses_alike(scene)):
                    return None
                family = Family(resolve(scene), fields, exact=self._exact)
        except SoftgraspError:  # each row reports it
            return None
        return family if family.is_exact or not self._exact else None


def _chooses_alike(scene: GraspScene) -> bool:
    """Return whether what is chosen for a scene does not depend on weight and contact."""
    closure = scene.specifies_closure or scene.hand.model is None
    return closure and not (scene.adapts_grasp or scene.preset.per_object)
