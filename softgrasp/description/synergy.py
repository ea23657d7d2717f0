"""Synergies: joint variables that move together, q = q_m + S z (Santello et al. 1998)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, FieldError, Number
from softgrasp.description.finger import JointName


class Synergies(Description):
    """A mean posture and the directions in which joints move together.

    The columns of ``matrix`` need be neither orthogonal nor of length 1.
    """

    joints: Annotated[tuple[JointName, ...], Field(min_length=1)]
    """Joints, as the model calls them: ``index_MCP_flex``."""
    mean: tuple[Number, ...]
    """Posture q_m at z = 0, one a joint [rad or m]."""
    matrix: tuple[tuple[Number, ...], ...]
    """S, a row a joint and a column a synergy [rad or m, for a z of 1]."""
    opened: tuple[Number, ...] = ()
    """Weights z of the open hand, from which it closes; those that are not given are zero."""
    source: str = ""
    """Where the numbers come from."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        joints = len(self.joints)
        if len(self.mean) != joints:
            raise FieldError(
                f"expected {joints} values, one a joint, found {len(self.mean)}", "mean"
            )
        widths = {len(row) for row in self.matrix}
        if len(self.matrix) != joints or len(widths) != 1 or 0 in widths:
            columns = " or ".join(str(width) for width in sorted(widths)) or "0"
            raise FieldError(
                f"expected a matrix of {joints} rows, one a joint, each with one number a synergy, "
                f"found {len(self.matrix)} × {columns}",
                "matrix",
            )
        if len(self.opened) > self.count:
            raise FieldError(
                f"expected at most {self.count} values, one a synergy, found {len(self.opened)}",
                "opened",
            )
        for column in range(self.count):
            if not any(row[column] for row in self.matrix):
                raise FieldError(
                    f"expected synergies that move a joint, found column {column + 1} all zero",
                    "matrix",
                )
        return self

    @property
    def count(self) -> int:
        """Number of synergies."""
        return len(self.matrix[0])

    def posture(self, weights: Sequence[float]) -> dict[str, float]:
        """Joint variables by name at q_m + S z [rad or m].

        Args:
            weights: z, one a synergy.

        Raises:
            ValueError: There are not as many as synergies.
        """
        return {
            joint: mean + sum(part * weight for part, weight in zip(row, weights, strict=True))
            for joint, mean, row in zip(self.joints, self.mean, self.matrix, strict=True)
        }
